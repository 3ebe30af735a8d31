//! What pages are made of: their style, their sections and lists, and the marks around the document in them.

use crate::escape::escape;
use crate::sentence::Sentence;
use std::fmt::Write as _;

pub(super) const DATA_OPENS: &str = "<script type=\"application/json\" id=\"firsttouch-data\">";
pub(super) const DATA_CLOSES: &str = "</script>";

const STYLE: &str = "
:root{color-scheme:light dark}
body{max-width:60rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;color:#1b1f24;background:#fff}
h1{font-size:1rem;font-weight:600;opacity:.75;margin:0}
h2{font-size:1.15rem;margin:2.5rem 0 .5rem;padding-top:.75rem;border-top:1px solid #8884}
.verdict{font-size:1.7rem;line-height:1.3;font-weight:600;margin:1rem 0;padding-left:1rem;border-left:.35rem solid #808080}
.faster{border-color:#2f7fc1}.slower{border-color:#d55e00}.undecided{border-color:#a67c00}
pre{background:#8881;padding:.7rem .9rem;border-radius:.4rem;white-space:pre-wrap;overflow-wrap:anywhere}
code{font-family:ui-monospace,monospace;font-size:.92em;overflow-wrap:break-word}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.84rem;font-variant-numeric:tabular-nums;line-height:1.35}
caption{text-align:left;opacity:.75;padding-bottom:.3rem}
th,td{padding:.3rem .7rem .3rem 0;border-bottom:1px solid #8883;text-align:left;vertical-align:top}
thead th{font-weight:600;vertical-align:bottom;border-bottom:2px solid #8886}
tbody th{font-weight:inherit}
.below{padding-left:1.5em}
.n{text-align:right;white-space:nowrap}
h3{font-size:.95rem;margin:1.2rem 0 .3rem}
.raw th,.raw td{text-align:right;white-space:nowrap}
.recommended{font-weight:600}
figure{margin:0;overflow-x:auto;break-inside:avoid}
figcaption{font-size:.84rem;opacity:.8;max-width:46rem}
svg{max-width:100%;height:auto}
summary{cursor:pointer}
.warnings{padding:.6rem 1rem .6rem 2rem;border-left:.35rem solid #a67c00;background:#a67c0018}
@media (prefers-color-scheme:dark){body{color:#e4e6e9;background:#14171c}}
@media print{body{max-width:none;margin:0;font-size:11pt;color:#000;background:#fff}pre{border:1px solid #888}h2{break-after:avoid}}
";

/// The beginning of a page, up to the verdicts in its header.
pub(super) fn opened(title: &str, heading: &str) -> String {
    let mut page = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    let (title, heading) = (escape(title), escape(heading));
    let _ = writeln!(
        page,
        "<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{heading}</h1>"
    );
    page
}

/// The end of a page, with its document: `data`, in which no string can end the block.
pub(super) fn closed(page: &mut String, data: &str) {
    let _ = writeln!(page, "</main>\n{DATA_OPENS}{data}{DATA_CLOSES}\n</body>\n</html>");
}

/// A sentence, names as code.
pub(super) fn written(sentence: &Sentence) -> String {
    sentence.written(escape, |name| format!("<code>{}</code>", escape(name)))
}

pub(super) fn section(page: &mut String, heading: &str, content: &str) {
    let _ = writeln!(page, "<section>\n<h2>{heading}</h2>\n{content}</section>");
}

pub(super) fn section_of(page: &mut String, heading: &str, content: Option<String>) {
    if let Some(content) = content {
        section(page, heading, &content);
    }
}

pub(super) fn list(page: &mut String, heading: &str, class: &str, items: &[Sentence]) {
    if !items.is_empty() {
        let items: String = items.iter().map(|item| format!("<li>{}</li>\n", written(item))).collect();
        section(page, heading, &format!("<ul{class}>\n{items}</ul>\n"));
    }
}

pub(super) fn items(page: &mut String, heading: &str, class: &str, texts: &[String]) {
    if !texts.is_empty() {
        let items: String = texts.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
        section(page, heading, &format!("<ul{class}>\n{items}</ul>\n"));
    }
}
