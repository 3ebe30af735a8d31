//! Limits: of users, groups and services when they start the next time, of a running process at once, and of the machine.

use crate::SetupError;
use crate::asked::key_value;
use crate::draft::{Draft, change};
use crate::lines::Lines;
use crate::rivals::{self, Reader};
use crate::texts::{self, HEAD};
use firsttouch_documents::{SetupChange, SetupKind};
use firsttouch_linux::process::Stat;
use firsttouch_placement::parse_size;
use std::ops::RangeInclusive;

/// Limits of processes: the word of ours, of limits.conf and of prlimit; the row of /proc/PID/limits; in how many bytes
/// limits.conf counts, 0 where it is no amount; and the least with which a login, its shell and `sudo` still work.
const PROCESS: [(&str, &str, u64, u64); 5] = [
    ("memlock", "Max locked memory", 1024, 0),
    ("as", "Max address space", 1024, 256 << 20),
    ("stack", "Max stack size", 1024, 1 << 20),
    ("nofile", "Max open files", 0, 64),
    ("nproc", "Max processes", 0, 64),
];
/// Limits of the machine: the word, the file, what the kernel takes and programs can live with (with 0 mappings none starts, and
/// nothing takes that back), and what it is good for.
const MACHINE: [(&str, &str, RangeInclusive<u64>, &str); 4] = [
    (
        "max-map-count",
        "/proc/sys/vm/max_map_count",
        4096..=i32::MAX as u64,
        "how many mappings a program may have",
    ),
    (
        "shmmax",
        "/proc/sys/kernel/shmmax",
        0..=u64::MAX,
        "how large a segment of System V shared memory may be",
    ),
    ("shmall", "/proc/sys/kernel/shmall", 0..=u64::MAX, "how many pages all of them together may have"),
    (
        "overcommit",
        "/proc/sys/vm/overcommit_memory",
        0..=2,
        "how much more memory is promised than there is (0: some, 1: any, 2: none)",
    ),
];
/// The value of `overcommit` with which no more memory is promised than there is.
const STRICT: u64 = 2;
const LIMITS_CONF: &str = "/etc/security/limits.d/firsttouch.conf";
/// Kinds of units that are no services.
const OTHER_UNITS: [&str; 10] =
    ["socket", "slice", "scope", "mount", "automount", "swap", "target", "timer", "path", "device"];
const USAGE: &str = "firsttouch setup limits memlock=unlimited [--user NAME] [--group NAME] [--service UNIT] [--pid PID]; \
                     also as, stack (amounts), nofile, nproc, and of the machine max-map-count, shmmax, shmall, overcommit";

/// A limit that is asked for; `None`: there is to be none.
struct Limit {
    word: &'static str,
    row: &'static str,
    unit: u64,
    least: u64,
    value: Option<u64>,
}

pub(crate) fn plan(plan: &mut Draft<'_>) -> Result<(), SetupError> {
    let wrong = |what: String| SetupError::words(what, USAGE);
    let (mut limits, mut settings) = (Vec::new(), Vec::new());
    for word in &plan.asked.words {
        let (key, value) = key_value(word);
        let value = value.ok_or_else(|| wrong(format!("`{word}` is no limit: how much?")))?;
        if let Some((_, file, range, why)) = MACHINE.iter().find(|(name, ..)| *name == key) {
            let number = parse_size(value).ok_or_else(|| wrong(format!("`{value}` is no number")))?;
            if !range.contains(&number) {
                return Err(wrong(format!("{key} has to be from {} to {}", range.start(), range.end())));
            }
            let Some(before) = plan.site.value(SetupKind::Setting, file)? else {
                return Err(wrong(format!("there is no {file} here")));
            };
            if key == "overcommit" && number == STRICT && before.trim() != value {
                room_to_allocate(plan)?;
            }
            plan.set(file, &number.to_string(), why)?;
            settings.push(((*file).to_owned(), number.to_string()));
            continue;
        }
        let (name, row, unit, least) = PROCESS
            .into_iter()
            .find(|(name, ..)| *name == key)
            .ok_or_else(|| wrong(format!("`{key}` is no limit")))?;
        let value = match value {
            "unlimited" => None,
            text => Some(
                parse_size(text)
                    .ok_or_else(|| wrong(format!("`{text}` is neither a number nor `unlimited`")))?,
            ),
        };
        within_reason(plan, name, value)?;
        limits.push(Limit { word: name, row, unit, least, value });
    }
    let asked = plan.asked;
    let named = !asked.users.is_empty()
        || !asked.groups.is_empty()
        || !asked.services.is_empty()
        || asked.pid.is_some();
    match (limits.is_empty(), settings.is_empty(), named) {
        (true, true, _) => return Err(wrong("nothing is asked for".to_owned())),
        (true, false, true) => {
            return Err(wrong("limits of the machine are nobody's in particular".to_owned()));
        }
        _ => {}
    }
    if asked.persist && !settings.is_empty() {
        texts::keep_settings(plan, &settings)?;
    }
    if limits.is_empty() {
        return Ok(());
    }
    let mut who: Vec<String> = asked.users.iter().map(|name| (*name).clone()).collect();
    who.extend(asked.groups.iter().map(|name| format!("@{name}")));
    if !named {
        // The pattern does not hold for root.
        who = vec!["*".to_owned(), "root".to_owned()];
    }
    at_login(plan, &limits, &who)?;
    for unit in &asked.services {
        of_service(plan, &limits, unit)?;
    }
    match asked.pid {
        Some(pid) => of_process(plan, &limits, pid),
        None => Ok(()),
    }
}

/// Where programs were promised more than the kernel then counts with, no program gets memory any more, nor does the one that would take the
/// setting back.
fn room_to_allocate(plan: &Draft<'_>) -> Result<(), SetupError> {
    /// What a login, its shell and `sudo` take; the same as is left of an address space.
    const LEAST: u64 = 256 << 20;
    let text = plan.site.root().read("proc/meminfo").ok().flatten().unwrap_or_default();
    let amount = |key: &str| {
        let row = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(row.strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
    };
    let (Some(most), Some(promised)) = (amount("CommitLimit:"), amount("Committed_AS:")) else {
        return Ok(());
    };
    let room = most.saturating_sub(promised);
    if room < LEAST { Err(SetupError::Overcommitted { most, promised, least: LEAST }) } else { Ok(()) }
}

/// Nobody can log in whose limit of files is above what the kernel allows at all.
fn within_reason(plan: &Draft<'_>, word: &str, value: Option<u64>) -> Result<(), SetupError> {
    let most = plan
        .site
        .value(SetupKind::Setting, "/proc/sys/fs/nr_open")?
        .and_then(|text| text.parse::<u64>().ok());
    if word == "nofile" && value.is_none_or(|value| most.is_some_and(|most| value > most)) {
        let most = most.map_or("what fs.nr_open says".to_owned(), |most| most.to_string());
        let what = format!(
            "more open files than the kernel allows at all would keep everybody from logging in: at most {most}"
        );
        return Err(SetupError::words(what, format!("firsttouch setup limits nofile={most}")));
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.@-*:\\".contains(c))
        && !name.starts_with('-')
}

/// Of users and groups, by `pam_limits`.
fn at_login(plan: &mut Draft<'_>, limits: &[Limit], who: &[String]) -> Result<(), SetupError> {
    let mut lines = Vec::new();
    for name in who {
        if !is_name(name) {
            return Err(SetupError::words(format!("`{name}` is no name of a user or group"), USAGE));
        }
        for limit in limits {
            let Limit { word, least, .. } = limit;
            if limit.value.is_some_and(|value| value < *least) {
                let what = format!("nobody could log in with so little `{word}`: at least {least}");
                return Err(SetupError::words(what, format!("firsttouch setup limits {word}={least}")));
            }
            let known_by = format!("{name} - {word} ");
            let value = limit
                .value
                .map_or("unlimited".to_owned(), |value| value.div_ceil(limit.unit.max(1)).to_string());
            rivals::tell(plan, Reader::PamLimits, LIMITS_CONF, &format!("{name} {word}"), &value);
            lines.push((known_by.clone(), known_by + &value));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    if !plan.site.has("/etc/security") {
        plan.report
            .notes
            .push("there is no /etc/security here: without pam_limits nobody reads the file".to_owned());
    }
    plan.report.next.push("log in again   # limits are those of the next login".to_owned());
    let file = Lines { path: LIMITS_CONF, template: HEAD, before: None, lines };
    plan.file(&file, "pam_limits sets it at each login; services do not log in")
}

/// Of a service, by a drop-in of its unit.
fn of_service(plan: &mut Draft<'_>, limits: &[Limit], unit: &str) -> Result<(), SetupError> {
    if !is_name(unit) {
        return Err(SetupError::words(format!("`{unit}` is no name of a unit"), USAGE));
    }
    // A name may have a point of its own, as `php8.2-fpm` has.
    let unit = match unit.rsplit_once('.') {
        Some((_, "service")) => unit.to_owned(),
        Some((_, kind)) if OTHER_UNITS.contains(&kind) => {
            return Err(SetupError::words(format!("`{unit}` is no service"), USAGE));
        }
        _ => format!("{unit}.service"),
    };
    let path = format!("/etc/systemd/system/{unit}.d/90-firsttouch.conf");
    let lines = limits.iter().map(|limit| {
        let known_by = format!("Limit{}=", limit.word.to_uppercase());
        let value = limit.value.map_or("infinity".to_owned(), |value| value.to_string());
        (known_by.clone(), known_by + &value)
    });
    let template = format!("{HEAD}[Service]\n");
    let file = Lines { path: &path, template: &template, before: None, lines: lines.collect() };
    plan.file(&file, "systemd sets it when the service starts")?;
    plan.report.next.push(format!("sudo systemctl daemon-reload && sudo systemctl restart {unit}"));
    Ok(())
}

/// Of a process that runs, and of all that it starts from now on.
fn of_process(plan: &mut Draft<'_>, limits: &[Limit], pid: u32) -> Result<(), SetupError> {
    if !plan.site.root().is_live() {
        return Err(SetupError::words(
            "a process runs on this machine, and not on one that is written",
            USAGE,
        ));
    }
    let stat = Stat::read(plan.site.root(), pid);
    let gone = || {
        SetupError::words(
            format!("there is no process {pid}"),
            "firsttouch setup limits memlock=unlimited --pid $$",
        )
    };
    let stat = stat.map_err(|_| gone())?;
    for limit in limits {
        let path = format!("/proc/{pid}/limits#{}", limit.word);
        let before = plan.site.value(SetupKind::Limit, &path)?.ok_or_else(gone)?;
        let hard = before.split_once(':').and_then(|(_, hard)| hard.parse::<u64>().ok());
        let text = |value: Option<u64>| value.map_or("unlimited".to_owned(), |value| value.to_string());
        // The hard limit rises where it has to, and never sinks.
        let highest = limit.value.zip(hard).map(|(value, hard)| value.max(hard));
        let asked = format!("{}:{}", text(limit.value), text(highest));
        let made = change(plan.site, SetupKind::Limit, &path, Some(before), Some(asked));
        plan.report.changes.push(SetupChange {
            why: format!(
                "{} of process {pid} ({}), and of what it starts from now on",
                limit.row.to_lowercase(),
                stat.command
            ),
            start_ticks: Some(stat.start_ticks),
            ..made
        });
    }
    Ok(())
}

/// The row of `/proc/PID/limits` of a word.
pub(crate) fn row_of(word: &str) -> Option<&'static str> {
    PROCESS.into_iter().find(|(name, ..)| *name == word).map(|(_, row, ..)| row)
}
