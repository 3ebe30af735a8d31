//! A small reader of markup that insists on balance: every element closed in order, every attribute quoted and
//! given once, no stray `<` or `&` in text.

use std::collections::BTreeMap;

/// An element's opening tag.
#[derive(Debug)]
pub struct Tag {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
}

const VOID: [&str; 2] = ["meta", "br"];

/// The opening tags of a page in order, or what is wrong with it.
pub fn tags(page: &str) -> Result<Vec<Tag>, String> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap_or(page);
    while let Some(at) = rest.find('<') {
        text(&rest[..at])?;
        rest = &rest[at + 1..];
        let end = tag_end(rest)?;
        let (inside, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = inside.strip_prefix('/') {
            let last = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("</{name}> closes {last:?}"));
            }
            continue;
        }
        let closed = inside.ends_with('/');
        let tag = opening(inside.trim_end_matches('/'))?;
        if !closed && !VOID.contains(&tag.name.as_str()) {
            open.push(tag.name.clone());
        }
        // What browsers read as raw text ends at the closing tag, whatever stands in it.
        if tag.name == "script" || tag.name == "style" {
            let close = format!("</{}>", tag.name);
            rest = &rest[rest.find(&close).ok_or(format!("no {close}"))?..];
        }
        found.push(tag);
    }
    text(rest)?;
    // Fragments of a page may begin inside elements, but must not leave any open.
    if open.is_empty() { Ok(found) } else { Err(format!("left open: {open:?}")) }
}

fn tag_end(text: &str) -> Result<usize, String> {
    let mut quoted = false;
    for (index, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return Ok(index),
            '<' => return Err(format!("`<` inside <{}", &text[..index])),
            _ => {}
        }
    }
    Err("a tag without end".to_owned())
}

fn opening(inside: &str) -> Result<Tag, String> {
    let (name, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(format!("<{inside}> has no name"));
    }
    let mut attributes = BTreeMap::new();
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"").ok_or(format!("<{inside}>: an attribute without value"))?;
        let (value, after) = after.split_once('"').ok_or(format!("<{inside}>: an open quote"))?;
        text(value)?;
        if attributes.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(format!("<{inside}>: {key} twice"));
        }
        rest = after.trim_start();
    }
    Ok(Tag { name: name.to_owned(), attributes })
}

/// Text and attribute values: no control characters, and `&` only in the references the report writes.
fn text(text: &str) -> Result<(), String> {
    if let Some(c) = text.chars().find(|c| c.is_control() && *c != '\n') {
        return Err(format!("control character {c:?}"));
    }
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        if !known.iter().any(|reference| text[at..].starts_with(reference)) {
            return Err(format!("a bare & in {:?}", &text[at..]));
        }
    }
    Ok(())
}
