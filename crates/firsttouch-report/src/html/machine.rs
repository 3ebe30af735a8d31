//! The machine sheet. The document carries the machine as free JSON, perhaps of another version: what is known is
//! put in words, every other plain value is listed under its key, and nothing is required to be there.

use crate::escape::escape;
use crate::number::plural;
use firsttouch_placement::format_bytes;
use firsttouch_sorted::SortedMap;
use serde_json::Value;

/// A table of the machine; `None` where the document says nothing about it.
pub(super) fn sheet(machine: &Value) -> Option<String> {
    let rows = rows(machine);
    if rows.is_empty() {
        return None;
    }
    let rows: String = rows
        .iter()
        .map(|(label, value)| {
            format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(label), escape(value))
        })
        .collect();
    Some(format!("<div class=\"scroll\">\n<table>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"))
}

/// Keys that the words below tell of already.
const TOLD: [&str; 4] = ["cpu_model", "kernel", "memory_bytes", "cpus_online"];

fn rows(machine: &Value) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |label: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            rows.push((label.to_owned(), value));
        }
    };
    row("processor", plain(machine, "cpu_model"));
    row("CPUs", cpus(machine));
    row("kernel", plain(machine, "kernel"));
    row("memory", bytes(machine, "memory_bytes"));
    row("nodes", each(machine, "nodes", node));
    row(
        "memory tiers",
        each(machine, "tiers", |tier| Some(format!("{}: nodes {}", text(tier, "id")?, text(tier, "nodes")?))),
    );
    row("caches", caches(machine));
    row("transparent huge pages", thp(machine));
    row("pools of huge pages", each(machine, "pools", pool));
    row(
        "traps",
        each(machine, "traps", |trap| Some(format!("{}: {}", text(trap, "name")?, text(trap, "what")?))),
    );
    for (key, value) in machine.as_object().into_iter().flatten() {
        if !TOLD.contains(&key.as_str()) && (value.is_string() || value.is_number() || value.is_boolean()) {
            let value = if key.ends_with("_bytes") { bytes(machine, key) } else { plain(machine, key) };
            row(key.trim_end_matches("_bytes").replace('_', " ").as_str(), value);
        }
    }
    rows
}

/// A plain value as people read it.
fn plain(object: &Value, key: &str) -> Option<String> {
    match object.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A plain value, or the plain values of a list.
fn text(object: &Value, key: &str) -> Option<String> {
    match object.get(key)? {
        Value::Array(list) => {
            let words: Vec<String> =
                list.iter().map(|value| value.as_str().map_or(value.to_string(), str::to_owned)).collect();
            Some(words.join(", "))
        }
        _ => plain(object, key),
    }
}

fn bytes(object: &Value, key: &str) -> Option<String> {
    object.get(key)?.as_u64().map(format_bytes)
}

fn list<'a>(machine: &'a Value, key: &str) -> Option<&'a Vec<Value>> {
    machine.get(key)?.as_array().filter(|list| !list.is_empty())
}

/// The members of a list that can be put in words.
fn each(machine: &Value, key: &str, words: impl Fn(&Value) -> Option<String>) -> Option<String> {
    Some(list(machine, key)?.iter().filter_map(words).collect::<Vec<_>>().join("; "))
}

fn cpus(machine: &Value) -> Option<String> {
    let counted = list(machine, "cpus").map(|cpus| {
        let off = |cpu: &&Value| cpu.get("online").and_then(Value::as_bool) == Some(false);
        cpus.len() - cpus.iter().filter(off).count()
    });
    let online =
        machine.get("cpus_online").and_then(Value::as_u64).map(|online| online as usize).or(counted)?;
    let number_of = |key, noun| list(machine, key).map(|list| plural(list.len(), noun));
    let parts =
        [Some(format!("{online} online")), number_of("cores", "core"), number_of("packages", "package")];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn node(node: &Value) -> Option<String> {
    let size = bytes(node, "size_bytes").or_else(|| bytes(node, "total_bytes"));
    let cpus = list(node, "cpus").map(|cpus| plural(cpus.len(), "CPU"));
    let parts: Vec<String> = [size, cpus].into_iter().flatten().collect();
    Some(format!(
        "{}: {}",
        plain(node, "id")?,
        if parts.is_empty() { "no size known".to_owned() } else { parts.join(", ") }
    ))
}

/// Equal caches are counted, not listed.
fn caches(machine: &Value) -> Option<String> {
    let mut kinds: SortedMap<(String, String, String), usize> = SortedMap::new();
    for cache in list(machine, "caches")? {
        let (Some(level), Some(size)) = (plain(cache, "level"), bytes(cache, "size_bytes")) else { continue };
        let kind = plain(cache, "kind").filter(|kind| kind != "unified").unwrap_or_default();
        *kinds.entry((level, kind, size)).or_default() += 1;
    }
    let words = kinds.into_iter().map(|((level, kind, size), number)| {
        let kind = if kind.is_empty() { kind } else { format!(" {kind}") };
        let times = if number > 1 { format!("{number} × ") } else { String::new() };
        format!("{times}L{level}{kind} {size}")
    });
    Some(words.collect::<Vec<_>>().join("; "))
}

fn thp(machine: &Value) -> Option<String> {
    let thp = machine.get("thp")?;
    let mut words = plain(thp, "enabled")?;
    if let Some(defrag) = plain(thp, "defrag") {
        words.push_str(&format!(", defrag {defrag}"));
    }
    let open = each(thp, "sizes", |size| {
        let mode = plain(size, "enabled").filter(|mode| mode != "never")?;
        Some(format!("{} {mode}", bytes(size, "page_bytes")?))
    });
    if let Some(open) = open.filter(|open| !open.is_empty()) {
        words.push_str(&format!("; sizes: {open}"));
    }
    Some(words)
}

fn pool(pool: &Value) -> Option<String> {
    let number = |key| plain(pool, key).unwrap_or_else(|| "?".to_owned());
    Some(format!("{}: {} pages, {} free", bytes(pool, "page_bytes")?, number("pages"), number("free")))
}

#[cfg(test)]
mod tests {
    use super::rows;
    use serde_json::json;

    #[test]
    fn known_keys_are_put_in_words() {
        let machine = json!({
            "cpus": [{"online": true}, {"online": false}], "cores": [{}],
            "nodes": [{"id": 0, "size_bytes": 1 << 30, "cpus": [0]}, {"id": 1}],
            "caches": [{"level": 2, "kind": "unified", "size_bytes": 1 << 20}, {"level": 2, "size_bytes": 1 << 20}],
            "thp": {"enabled": "madvise", "sizes": [{"page_bytes": 65536, "enabled": "inherit"}, {"page_bytes": 131072, "enabled": "never"}]},
            "pools": [{"page_bytes": 2 << 20, "pages": 4, "free": 1}],
            "free_page_reporting": true,
            "swap_bytes": 4096
        });
        let rows = rows(&machine);
        let value = |label: &str| rows.iter().find(|(key, _)| key == label).map(|(_, value)| value.as_str());
        assert_eq!(value("CPUs"), Some("1 online, 1 core"));
        assert_eq!(value("nodes"), Some("0: 1 GiB, 1 CPU; 1: no size known"));
        assert_eq!(value("caches"), Some("2 × L2 1 MiB"));
        assert_eq!(value("transparent huge pages"), Some("madvise; sizes: 64 KiB inherit"));
        assert_eq!(value("pools of huge pages"), Some("2 MiB: 4 pages, 1 free"));
        assert_eq!(value("free page reporting"), Some("yes"));
        assert_eq!(value("swap"), Some("4 KiB"));
    }

    #[test]
    fn any_other_json_is_survived() {
        for machine in [
            json!(null),
            json!([1]),
            json!("x"),
            json!({"cpus": {}, "nodes": {}, "thp": [], "caches": [1, null]}),
        ] {
            assert!(rows(&machine).is_empty(), "{machine}: {:?}", rows(&machine));
        }
    }
}
