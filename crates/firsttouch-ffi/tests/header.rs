//! The header is what the functions say, and the list of versioned symbols is what the header says.
//!
//! `UPDATE_EXPECT=1 cargo test -p firsttouch-ffi --test header` writes the header anew; read the difference.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, Language, RenameRule, Style};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn generated() -> String {
    let config = Config {
        language: Language::C,
        cpp_compat: true,
        include_guard: Some("FIRSTTOUCH_H".to_owned()),
        header: Some(
            "/* libfirsttouch: huge pages inside a running session, regions of memory with receipts, fills in the background, \
             teams of\n * bound threads. Made of the functions themselves by cbindgen; see docs/authors.md. */"
                .to_owned(),
        ),
        usize_is_size_t: true,
        style: Style::Both,
        documentation_style: DocumentationStyle::C,
        enumeration: EnumConfig {
            prefix_with_name: true,
            rename_variants: RenameRule::ScreamingSnakeCase,
            ..EnumConfig::default()
        },
        ..Config::default()
    };
    let names = [
        ("FirsttouchIsmStatus", "firsttouch_session"),
        ("FirsttouchBlock", "firsttouch_block"),
        ("FirsttouchVia", "firsttouch_via"),
        ("FirsttouchReceipt", "firsttouch_receipt"),
        ("FirsttouchRegion", "firsttouch_region"),
        ("FirsttouchResult", "firsttouch_result"),
        ("FirsttouchFiller", "firsttouch_filler"),
        ("FirsttouchKnowledge", "firsttouch_knowledge"),
        ("FirsttouchRange", "firsttouch_range"),
        ("FirsttouchFill", "firsttouch_fill"),
        ("FirsttouchStock", "firsttouch_stock"),
        ("FirsttouchPool", "firsttouch_pool"),
        ("FirsttouchTeam", "firsttouch_team"),
        ("FirsttouchMember", "firsttouch_member"),
        ("FirsttouchSchedule", "firsttouch_schedule"),
        ("FirsttouchWork", "firsttouch_work"),
        ("FirsttouchPart", "firsttouch_part"),
    ];
    let mut builder = Builder::new().with_config(config);
    for (rust, c) in names {
        builder = builder.rename_item(rust, c);
    }
    for source in ["result", "status", "ism", "serving", "receipt", "region", "fill", "pool", "team"] {
        builder = builder.with_src(here().join("src").join(source).with_extension("rs"));
    }
    let mut text = Vec::new();
    for item in ["FirsttouchVia", "FirsttouchSchedule"] {
        builder = builder.include_item(item);
    }
    builder.generate().unwrap().write(&mut text);
    // The words of Rust's documentation, in those of C.
    let mut text = String::from_utf8(text).unwrap().replace(" # Safety\n", " It is up to the caller that:\n");
    // The longest first, because one may be the beginning of another.
    let mut words: Vec<(&str, &str)> = names.into();
    words.sort_by_key(|(rust, _)| std::cmp::Reverse(rust.len()));
    for (rust, c) in words {
        text = text.replace(rust, c);
    }
    for (rust, c) in [("Busy", "BUSY"), ("BadArgument", "BAD_ARGUMENT"), ("InUse", "IN_USE"), ("Ok", "OK")] {
        text = text.replace(&format!("`{rust}`"), &format!("`FIRSTTOUCH_RESULT_{c}`"));
    }
    text
}

#[test]
fn the_header_is_fresh() {
    let path = here().join("include/firsttouch.h");
    let now = generated();
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &now).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), now, "UPDATE_EXPECT=1 writes it anew");
}

#[test]
fn every_function_has_a_version() {
    let names = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let mut names: Vec<String> =
            words.filter(|word| word.starts_with("firsttouch_")).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    };
    let header = generated();
    // A function's name is what stands before an opening parenthesis.
    let functions: String = header
        .lines()
        .filter(|line| !line.starts_with(" *"))
        .filter_map(|line| line.split_once('('))
        .fold(String::new(), |all, (before, _)| {
            let name = before.rsplit([' ', '*']).next().unwrap_or("");
            all + " " + name
        });
    assert_eq!(names(&fs::read_to_string(here().join("firsttouch.map")).unwrap()), names(&functions));
}
