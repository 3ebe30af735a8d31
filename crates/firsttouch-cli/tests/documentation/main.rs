//! The pages of the documentation: every command in them runs, or says why it does not; every link leads somewhere; the book has
//! every page.
//!
//! A fenced block of `console` or `sh` is a part of its page's session of the shell: all blocks of a page run one after the other,
//! in a folder of its own that has small inputs ([`session`]). What is to be known about a block stands in comments right before it,
//! which no reader sees:
//!
//! ```text
//! <!-- first: firsttouch graph generate streets 20 usa.gr -->       lines for the shell that are run before it
//! <!-- not run: needs Slurm -->                                     why none of it runs
//! <!-- not run (cargo, pip): builds for minutes -->                 why the commands that begin with these words do not
//! <!-- ends with 0 or 3: what this machine is found to be -->       other exit statuses than 0, and why
//! ```
//!
//! Of what does not run, the words for `firsttouch` are read by it all the same.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod pages;
mod session;
#[path = "../../../../tests/skipped.rs"]
mod skipped;

use pages::Page;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

#[test]
fn every_command_runs_or_says_why_not() {
    let files = tempfile::tempdir().unwrap();
    session::prepare(files.path());
    // The longest first, so that none is left when all others are done.
    let mut pages: Vec<Page> = pages::all().into_iter().filter(|page| !page.blocks().is_empty()).collect();
    pages.sort_by_key(|page| page.blocks().len());
    let (queue, wrong) = (Mutex::new(pages), Mutex::new(Vec::new()));
    let next = || queue.lock().unwrap().pop();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            // What is skipped is told by the name of the thread.
            let named = std::thread::Builder::new().name("every_command_runs_or_says_why_not".to_owned());
            let work = || {
                while let Some(page) = next() {
                    let told = session::run(&page, files.path());
                    wrong.lock().unwrap().extend(told);
                }
            };
            named.spawn_scoped(scope, work).unwrap();
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    for page in pages::all() {
        for (line, link) in page.links() {
            if link.starts_with("https://") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let file = if path.is_empty() { page.path() } else { page.path().parent().unwrap().join(path) };
            if !file.exists() {
                wrong.push(format!("{}:{line}: there is no {path}", page.name()));
            } else if !heading.is_empty() && !pages::read(&file).headings().contains(heading) {
                wrong.push(format!("{}:{line}: {} has no heading #{heading}", page.name(), file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_book_has_every_page_once() {
    let docs = pages::workspace().join("docs");
    let summary = pages::read(&docs.join("SUMMARY.md"));
    let listed: Vec<String> = summary.links().into_iter().map(|(_, link)| link).collect();
    let once: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice: {listed:?}");
    let there: BTreeSet<String> = pages::below(&docs)
        .iter()
        .map(|path| path.strip_prefix(&docs).unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "SUMMARY.md")
        .collect();
    assert_eq!(once, there.iter().map(String::as_str).collect());
}

/// What mdBook is given: the pages of the repository, whose links are right there, too, and a reference of every command and kind of
/// document.
#[test]
fn the_site_has_what_it_links_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut make = Command::new(pages::workspace().join("packaging/site"));
    make.args(["--command", env!("CARGO_BIN_EXE_firsttouch"), "--sources"]).arg(folder.path());
    let output = make.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sources = folder.path().join("src");
    let summary = pages::read(&sources.join("SUMMARY.md"));
    let listed: BTreeSet<PathBuf> = summary.links().into_iter().map(|(_, link)| sources.join(link)).collect();
    let there: BTreeSet<PathBuf> =
        pages::below(&sources).into_iter().filter(|path| path.file_name().unwrap() != "SUMMARY.md").collect();
    assert_eq!(listed, there);
    for path in &there {
        for (line, link) in pages::read(path).links().iter().filter(|(_, link)| !link.starts_with("https://"))
        {
            let file = path.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(file.exists(), "{}:{line}: there is no {link}", path.display());
        }
    }
    let commands = pages::read(&sources.join("docs/reference/commands.md")).headings();
    let manual = folder.path().join("manual");
    let written = Command::new(env!("CARGO_BIN_EXE_firsttouch")).args(["man", "--all"]).arg(&manual).output();
    assert!(written.unwrap().status.success());
    for page in fs::read_dir(manual).unwrap() {
        let page = page.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(commands.contains(&page), "{page} is not told of: {commands:?}");
    }
    let schemas = pages::read(&sources.join("docs/reference/schemas.md")).headings();
    assert!(["tune", "receipt", "doctor"].iter().all(|kind| schemas.contains(*kind)), "{schemas:?}");
}
