//! What a region of memory obtained, in the terminal.

use super::page::Page;
use crate::number::{UNKNOWN, bytes};
use crate::style::{Style, Tone};
use firsttouch_documents::RegionReceipt;

/// Asked, obtained, and why it is less.
pub fn region(receipt: &RegionReceipt, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let asked = receipt.asked.as_ref().map_or("nothing".to_owned(), |asked| {
        let node = asked.node.map_or(String::new(), |node| format!(" on node {node}"));
        format!("pages {} for {}{node}", asked.pages, bytes(asked.bytes as f64))
    });
    page.paragraph("asked     ", &asked, Some(Tone::Strong));
    let obtained = receipt.obtained.as_ref().map_or(UNKNOWN.to_owned(), |obtained| {
        let sizes = obtained.bytes_by_page_size.iter().rev();
        let sizes =
            sizes.map(|(page, all)| format!("{} on pages of {}", bytes(*all as f64), bytes(*page as f64)));
        let nodes = obtained.bytes_by_node.iter().flatten();
        let nodes = nodes.map(|(node, all)| format!("{} on node {node}", bytes(*all as f64)));
        sizes.chain(nodes).collect::<Vec<_>>().join(", ")
    });
    page.paragraph("obtained  ", &obtained, None);
    page.missed(&receipt.shortfalls);
    page.text
}
