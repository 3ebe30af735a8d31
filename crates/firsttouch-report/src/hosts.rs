//! What is wrong with machines: the pieces that every format shows, told once for all hosts that they are true of.

use crate::number::plural;
use crate::sentence::Sentence;
use crate::sheet::{Sheet, SheetColumn, SheetRow, column};
use firsttouch_documents::{
    DifferingFact, DoctorHost, DoctorReport, Finding, Quantity, SlowHost, Weight, folded, is_time,
    less_good_median, measured_words,
};
use firsttouch_sorted::sort_by_key;
use std::collections::{BTreeMap, BTreeSet};

/// A finding, and the hosts that have it.
pub(crate) struct SharedFinding<'a> {
    /// As the first of them tells it.
    pub(crate) finding: &'a Finding,
    pub(crate) hosts: Vec<&'a str>,
}

/// What one or several hosts come to, in a sentence.
pub(crate) fn headline(report: &DoctorReport) -> Sentence {
    let profile =
        report.profile.as_deref().map_or(String::new(), |name| format!(", as the profile {name} weighs it"));
    if let ([host], None) = (report.hosts.as_slice(), &report.compared) {
        return Sentence::new().words(format!(
            "{}: {}{profile}",
            host.name,
            found_words(host.findings.len())
        ));
    }
    let answered = report.hosts.len();
    let all = answered + report.missing.len();
    let mut words = match report.missing.len() {
        0 => plural(all, "host"),
        _ => format!("{answered} of {} answered", plural(all, "host")),
    };
    if let Some(compared) = &report.compared {
        let slow: BTreeSet<&str> = compared.slow.iter().map(|one| one.host.as_str()).collect();
        let differing = compared.differing.len();
        words.push_str(&match differing {
            0 => "; nothing differs".to_owned(),
            1 => "; 1 thing differs".to_owned(),
            several => format!("; {several} things differ"),
        });
        if !slow.is_empty() {
            words.push_str(&format!("; slower than the others: {}", folded(slow)));
        }
    }
    Sentence::new().words(format!("{words}; {}{profile}", found_words(findings(report).len())))
}

pub(crate) fn found_words(findings: usize) -> String {
    match findings {
        // A word on what could not be looked at follows: nothing more may be claimed.
        0 => "no findings".to_owned(),
        findings => plural(findings, "finding"),
    }
}

/// Every finding once, the weightiest first; hosts tell the same one with other numbers. Of several of one word on a host each is compared with
/// the one in its place on the others.
pub(crate) fn findings(report: &DoctorReport) -> Vec<SharedFinding<'_>> {
    let mut all: Vec<SharedFinding<'_>> = Vec::new();
    let mut place: BTreeMap<(Weight, &str, usize), usize> = BTreeMap::new();
    for host in &report.hosts {
        for (index, finding) in host.findings.iter().enumerate() {
            let before = host.findings[..index].iter().filter(|one| one.id == finding.id).count();
            let at = *place.entry((finding.weight, &finding.id, before)).or_insert(all.len());
            match all.get_mut(at) {
                Some(shared) => shared.hosts.push(&host.name),
                None => all.push(SharedFinding { finding, hosts: vec![&host.name] }),
            }
        }
    }
    sort_by_key(&mut all, |shared| shared.finding.weight);
    all
}

/// `all 12 hosts`, or their names.
pub(crate) fn hosts_words(report: &DoctorReport, hosts: &[&str]) -> String {
    if hosts.len() == report.hosts.len() && hosts.len() > 1 {
        return format!("all {} hosts", hosts.len());
    }
    folded(hosts.iter().copied())
}

/// Why hosts are missing, and which.
pub(crate) fn missing(report: &DoctorReport) -> Vec<(String, &str)> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in &report.missing {
        match by_reason.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, names)) => names.push(&one.name),
            None => by_reason.push((&one.why, vec![&one.name])),
        }
    }
    by_reason.into_iter().map(|(why, names)| (folded(names), why)).collect()
}

/// `never: n1, n7; always: n3`.
pub(crate) fn others_words(differing: &DifferingFact) -> String {
    let others = differing.others.iter();
    let words = others.map(|(value, names)| format!("{value}: {}", folded(names.iter().map(String::as_str))));
    words.collect::<Vec<_>>().join("; ")
}

/// `bandwidth of memory 5.0 GB/s; the median of 4 hosts is 20.0 GB/s, and below 18.0 GB/s is an outlier`.
pub(crate) fn slow_words(slow: &SlowHost) -> String {
    let words = |value| measured_words(&slow.quantity, value);
    format!(
        "{} {}; the median of {} hosts is {}, and {} {} is an outlier",
        quantity_words(&slow.quantity),
        words(slow.value),
        slow.hosts,
        words(slow.median),
        if is_time(&slow.quantity) { "above" } else { "below" },
        words(slow.limit),
    )
}

/// What was measured, in words where it has some.
pub(crate) fn quantity_words(word: &str) -> String {
    match Quantity::of(word) {
        Some((quantity, None)) => quantity.what.to_owned(),
        Some((quantity, Some(node))) => format!("{} of node {node}", quantity.what),
        None => word.to_owned(),
    }
}

/// What all hosts have that tell anything; nothing of one host.
pub(crate) fn alike(report: &DoctorReport) -> Vec<(&str, &str)> {
    let mut telling = report.hosts.iter().filter(|host| !host.facts.is_empty());
    let (Some(first), Some(_)) = (telling.next(), &report.compared) else { return Vec::new() };
    let rest: Vec<&DoctorHost> = telling.collect();
    let is_alike = |word: &str, text: &String| rest.iter().all(|host| host.facts.get(word) == Some(text));
    let facts = first.facts.iter().filter(|(word, text)| is_alike(word, text));
    facts.map(|(word, text)| (word.as_str(), text.as_str())).collect()
}

/// What was not looked at, by the reason: the topics, and the hosts.
pub(crate) fn unseen(report: &DoctorReport) -> Vec<(&str, Vec<&str>, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
    for host in &report.hosts {
        for one in &host.unseen {
            match reasons.iter_mut().find(|(why, ..)| *why == one.why) {
                Some((_, topics, hosts)) => {
                    if !topics.contains(&one.topic.as_str()) {
                        topics.push(&one.topic);
                    }
                    if hosts.last() != Some(&host.name.as_str()) {
                        hosts.push(&host.name);
                    }
                }
                None => reasons.push((&one.why, vec![&one.topic], vec![&host.name])),
            }
        }
    }
    reasons
}

/// What was measured of all hosts: of one its value, of several the median, the worst and the best with who has it.
pub(crate) fn measured(report: &DoctorReport) -> Option<Sheet> {
    let mut by_word: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for host in &report.hosts {
        for (word, value) in &host.measured {
            by_word.entry(word).or_default().push((&host.name, *value));
        }
    }
    let several = report.hosts.len() > 1;
    let mut columns = vec![column("", "measured", false)];
    columns.extend(match several {
        true => ["median", "worst", "best"].map(|title| column(title, title, true)).to_vec(),
        false => vec![column("value", "value", true)],
    });
    let row = |(word, values): (&&str, &Vec<(&str, u64)>)| {
        let words = |value| measured_words(word, value);
        let of = |(host, value): (&str, u64)| format!("{} on {host}", words(value));
        let (least, most) = (values.iter().min_by_key(|one| one.1), values.iter().max_by_key(|one| one.1));
        let (worst, best) = if is_time(word) { (most, least) } else { (least, most) };
        let median = less_good_median(values.iter().map(|one| one.1).collect(), !is_time(word));
        let cells = [median.map(words), worst.copied().map(of), best.copied().map(of)];
        plain_row(
            &quantity_words(word),
            cells.into_iter().flatten().take(if several { 3 } else { 1 }).collect(),
        )
    };
    (!by_word.is_empty()).then(|| Sheet { caption: None, columns, rows: by_word.iter().map(row).collect() })
}

fn plain_row(name: &str, cells: Vec<String>) -> SheetRow {
    SheetRow { name: Sentence::new().name(name), is_below: false, cells, verdict: None, is_baseline: true }
}

/// The tables of pages, in the order in which they matter.
pub(crate) fn sheets(report: &DoctorReport) -> Vec<Sheet> {
    let of = |caption: &str, titles: &[&'static str], rows: Vec<SheetRow>| {
        let columns: Vec<SheetColumn> = titles.iter().map(|title| column(title, title, false)).collect();
        (!rows.is_empty()).then(|| Sheet { caption: Some(Sentence::new().words(caption)), columns, rows })
    };
    let several = report.compared.is_some();
    let compared = report.compared.as_ref();
    let missing = missing(report).into_iter().map(|(names, why)| plain_row(&names, vec![why.to_owned()]));
    let differing = compared.into_iter().flat_map(|compared| &compared.differing).map(|one| {
        let most = format!("{} ({})", one.majority, plural(one.hosts as usize, "host"));
        plain_row(&one.fact, vec![most, others_words(one)])
    });
    let slow = compared.into_iter().flat_map(|compared| &compared.slow);
    let slow = slow.map(|one| plain_row(&one.host, vec![slow_words(one)]));
    let findings = findings(report).into_iter().map(|shared| {
        let one = shared.finding;
        let proofs = one.evidence.iter().map(|proof| format!("{}: {}", proof.source, proof.text));
        let mends = [("", &one.remedy), ("for good: ", &one.keep)];
        let mends = mends.iter().filter_map(|(lead, command)| Some(format!("{lead}{}", command.as_ref()?)));
        let mut cells = vec![
            one.weight.word().to_owned(),
            one.what.clone(),
            proofs.collect::<Vec<_>>().join("; "),
            one.effect.clone(),
            mends.collect::<Vec<_>>().join("; "),
        ];
        cells.extend(several.then(|| hosts_words(report, &shared.hosts)));
        plain_row(&one.id, cells)
    });
    let unseen = unseen(report).into_iter().map(|(why, topics, hosts)| {
        let mut cells = vec![why.to_owned()];
        cells.extend(several.then(|| hosts_words(report, &hosts)));
        plain_row(&topics.join(", "), cells)
    });
    let alike = alike(report).into_iter().map(|(word, text)| plain_row(word, vec![text.to_owned()]));
    let finding_titles = ["finding", "weight", "what it is", "where", "what it does", "what mends it", "on"];
    let unseen_titles = ["what", "why", "on"];
    let on = usize::from(several);
    let measured =
        measured(report).map(|sheet| Sheet { caption: Some(Sentence::new().words("Measured")), ..sheet });
    [
        of("No document", &["host", "why"], missing.collect()),
        of("Not the same on all hosts", &["what", "most", "others"], differing.collect()),
        of("Slower than the others", &["host", "what"], slow.collect()),
        of("Findings", &finding_titles[..6 + on], findings.collect()),
        measured,
        of("The same on all hosts", &["what", "value"], alike.collect()),
        of("Not looked at", &unseen_titles[..2 + on], unseen.collect()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
