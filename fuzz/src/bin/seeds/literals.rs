//! Texts between quotes in a source of Rust.

/// All of them, as the program has them. Enough of the grammar for sources that compile: comments, characters, raw strings,
/// escapes.
pub(crate) fn of(source: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '\'', '/', 'r']) {
        let (before, here) = rest.split_at(at);
        let follows_word = before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        rest = &here[1..];
        if here.starts_with("//") {
            rest = here.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(text) = here.strip_prefix('"') {
            let (text, behind) = quoted(text);
            texts.push(text);
            rest = behind;
        } else if here.starts_with('\'') {
            rest = behind_character(here);
        } else if here.starts_with('r') && (!follows_word || before.ends_with('b')) {
            let marks = rest.len() - rest.trim_start_matches('#').len();
            if let Some(text) = rest[marks..].strip_prefix('"') {
                let end = format!("\"{}", "#".repeat(marks));
                let (text, behind) = text.split_once(&end).unwrap_or((text, ""));
                texts.push(text.to_owned());
                rest = behind;
            }
        }
    }
    texts
}

/// What follows a character between quotes; behind the mark only, where it is that of a lifetime.
fn behind_character(here: &str) -> &str {
    let inside = &here[1..];
    match inside.strip_prefix('\\') {
        Some(escape) => {
            let escaped = escape.chars().next().map_or(0, char::len_utf8);
            escape[escaped..].split_once('\'').map_or("", |(_, rest)| rest)
        }
        None => {
            let one = inside.chars().next().map_or(0, char::len_utf8);
            inside[one..].strip_prefix('\'').unwrap_or(inside)
        }
    }
}

/// The text up to the next quote that is not escaped, and what follows it.
fn quoted(source: &str) -> (String, &str) {
    let mut text = String::new();
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        match next {
            '"' => break,
            '\\' => rest = escaped(rest, &mut text),
            other => text.push(other),
        }
    }
    (text, rest)
}

fn escaped<'a>(source: &'a str, text: &mut String) -> &'a str {
    let Some(kind) = source.chars().next() else { return "" };
    let rest = &source[kind.len_utf8()..];
    match kind {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        '0' => text.push('\0'),
        // The end of the line and what is blank before the next word.
        '\n' => return rest.trim_start(),
        'u' => {
            let (digits, rest) = rest.split_once('}').unwrap_or((rest, ""));
            let number = u32::from_str_radix(digits.trim_start_matches('{'), 16).ok();
            text.extend(number.and_then(char::from_u32));
            return rest;
        }
        'x' => {
            let (digits, rest) = rest.split_at_checked(2).unwrap_or((rest, ""));
            text.extend(u8::from_str_radix(digits, 16).ok().map(char::from));
            return rest;
        }
        other => text.push(other),
    }
    rest
}
