//! Values that a profile expects.

use super::{PROFILE, ProfileError};
use crate::{Finding, MachineEvidence, Weight};
use firsttouch_linux::sysinfo::chosen;
use firsttouch_machine::Bound;
use firsttouch_placement::parse_size;
use toml::{Table, Value};

/// How a value is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compare {
    /// The same word.
    Word,
    /// `on` or `off`, which the file has as a number.
    Switch,
    /// The same number.
    Same,
    AtMost,
    AtLeast,
    /// An amount of memory at least.
    Bytes,
}

use Compare::{AtLeast, AtMost, Bytes, Same, Switch, Word};

const THP: &str = "/sys/kernel/mm/transparent_hugepage";

const NO_TURBO: &str = "sys/devices/system/cpu/intel_pstate/no_turbo";

/// What can be expected: the key, where the value stands, how it is compared, and the findings that say the same.
const KEYS: [(&str, &str, Compare, &[&str]); 21] = [
    ("thp", "/sys/kernel/mm/transparent_hugepage/enabled", Word, &["thp-never", "thp-always"]),
    ("thp-defrag", "/sys/kernel/mm/transparent_hugepage/defrag", Word, &["thp-defrag"]),
    ("shmem-huge", "/sys/kernel/mm/transparent_hugepage/shmem_enabled", Word, &["shmem-huge"]),
    ("numa-balancing", "/proc/sys/kernel/numa_balancing", Switch, &["numa-balancing"]),
    ("zone-reclaim", "/proc/sys/vm/zone_reclaim_mode", Switch, &["zone-reclaim"]),
    ("swappiness", "/proc/sys/vm/swappiness", AtMost, &["swappiness-high"]),
    ("overcommit", "/proc/sys/vm/overcommit_memory", Same, &["overcommit-strict"]),
    ("max-map-count", "/proc/sys/vm/max_map_count", AtLeast, &["max-map-count-low"]),
    ("ksm", "/sys/kernel/mm/ksm/run", Switch, &["ksm-runs"]),
    ("memlock", "/proc/self/limits", Bytes, &["memlock-low"]),
    ("pool-2m", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", AtLeast, &["pool-idle"]),
    ("pool-1g", "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", AtLeast, &["pool-idle"]),
    ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", Word, &["governor"]),
    ("smt", "/sys/devices/system/cpu/smt/active", Switch, &["smt-on"]),
    ("turbo", "/sys/devices/system/cpu/cpufreq/boost", Switch, &["turbo-off"]),
    ("perf-paranoid", "/proc/sys/kernel/perf_event_paranoid", AtMost, &["perf-paranoid"]),
    ("ptrace-scope", "/proc/sys/kernel/yama/ptrace_scope", AtMost, &["ptrace-scope"]),
    ("isolated-cpus", "/sys/devices/system/cpu/isolated", AtLeast, &["isolcpus"]),
    ("cpus", "/sys/devices/system/cpu/online", AtLeast, &[]),
    ("nodes", "/sys/devices/system/node/online", AtLeast, &[]),
    ("memory", "/proc/meminfo", Bytes, &[]),
];

pub(super) fn is_known(key: &str) -> bool {
    KEYS.iter().any(|(one, ..)| *one == key)
}

/// Refuses keys that mean nothing, and values that cannot be compared.
pub(super) fn validate(expected: &Table) -> Result<(), ProfileError> {
    for (key, value) in expected {
        let Some((_, _, compare, _)) = KEYS.iter().find(|(one, ..)| one == key) else {
            let known = KEYS.map(|(key, ..)| key).join(", ");
            return Err(ProfileError::Unknown { what: "expectation", word: key.clone(), known });
        };
        let (good, wanted) = match compare {
            Word => (value.as_str().is_some(), "a word in quotes"),
            Switch => (matches!(value.as_str(), Some("on" | "off")), "\"on\" or \"off\""),
            Same | AtMost | AtLeast => (number(value).is_some(), "a number"),
            Bytes => (bytes(value).is_some(), "an amount of memory such as \"64G\", or \"unlimited\""),
        };
        if !good {
            return Err(ProfileError::Value { key: key.clone(), wanted });
        }
    }
    Ok(())
}

fn number(value: &Value) -> Option<u64> {
    u64::try_from(value.as_integer()?).ok()
}

fn bytes(value: &Value) -> Option<u64> {
    match value.as_str()? {
        "unlimited" => Some(u64::MAX),
        text => parse_size(text),
    }
}

/// Adds what is not as expected, and takes out what is meant to be so. What is not known is neither.
pub(super) fn check(key: &str, value: &Value, evidence: &MachineEvidence, findings: &mut Vec<Finding>) {
    let Some((_, file, compare, same)) = KEYS.into_iter().find(|(one, ..)| *one == key) else { return };
    let Some(found) = actual(key, file, evidence) else { return };
    let found_number = found.parse::<u64>().ok();
    let compared = |test: fn(u64, u64) -> bool| match (found_number, number(value).or_else(|| bytes(value))) {
        (Some(found), Some(wanted)) => Some(test(found, wanted)),
        _ => None,
    };
    let (met, wanted) = match compare {
        Word => (value.as_str().map(|wanted| wanted == found), String::new()),
        Switch => (found_number.map(|found| (found != 0) == (value.as_str() == Some("on"))), String::new()),
        Same => (compared(|found, wanted| found == wanted), String::new()),
        AtMost => (compared(|found, wanted| found <= wanted), "at most ".to_owned()),
        AtLeast | Bytes => (compared(|found, wanted| found >= wanted), "at least ".to_owned()),
    };
    let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = format!("{key} = {value}");
    match met {
        None => {}
        Some(true) => findings.retain(|finding| !same.contains(&finding.id.as_str())),
        Some(false) => {
            // Intel's driver says of turbo that it is off, where others say that it is on.
            let inverted = key == "turbo" && evidence.settings.number(NO_TURBO).is_some();
            let no_turbo = format!("/{NO_TURBO}");
            let (file, found) = match inverted {
                true => (no_turbo.as_str(), if found == "1" { "0" } else { "1" }.to_owned()),
                false => (file, found),
            };
            let setting = match (compare, word.as_str()) {
                (Switch, "on") if inverted => "0",
                (Switch, "off") if inverted => "1",
                (Switch, "on") => "1",
                (Switch, _) => "0",
                _ => &word,
            };
            if let Some(finding) = findings.iter_mut().find(|finding| same.contains(&finding.id.as_str())) {
                *finding = finding.clone().proof(PROFILE, line);
                if settable(key, file) {
                    *finding = finding.clone().set(file, setting);
                }
                finding.weight = finding.weight.min(Weight::Weakens);
                return;
            }
            let what = format!("{key} is {found}, and the profile expects {wanted}{word}");
            let effect = "the machine is not what the profile says that its programs need";
            let finding = Finding::new(&format!("expected-{key}"), Weight::Weakens, what, effect);
            let finding = finding.proof(file, &found).proof(PROFILE, line);
            findings.push(match key {
                _ if settable(key, file) => finding.set(file, setting),
                "memlock" => finding
                    .remedy(format!("sudo firsttouch setup limits memlock={word} --pid $$ --apply"))
                    .keep(format!("sudo firsttouch setup limits memlock={word} --apply")),
                "governor" => finding.remedy(format!("sudo cpupower frequency-set -g {word}")),
                "smt" => {
                    finding.remedy(format!("echo {word} | sudo tee /sys/devices/system/cpu/smt/control"))
                }
                "isolated-cpus" => finding.remedy("sudo firsttouch setup boot isolcpus=LIST --apply"),
                _ => finding,
            });
        }
    }
}

/// Whether writing the expected value to the file makes it so.
fn settable(key: &str, file: &str) -> bool {
    (file.starts_with("/proc/sys/")
        || file.starts_with(THP)
        || file.ends_with("/nr_hugepages")
        || key == "ksm"
        || key == "turbo")
        && file != "/sys/devices/system/cpu/isolated"
}

/// What a machine has, as the text that is compared.
fn actual(key: &str, file: &str, evidence: &MachineEvidence) -> Option<String> {
    let (machine, settings) = (&evidence.report.machine, &evidence.settings);
    let count = |list: &[u32]| Some(list.len().to_string()).filter(|_| !list.is_empty());
    match key {
        "thp" => machine.thp.enabled.clone(),
        "thp-defrag" => machine.thp.defrag.clone(),
        "shmem-huge" => machine.thp.shmem_enabled.clone(),
        "numa-balancing" => machine.numa_balancing.map(|on| u8::from(on).to_string()),
        "perf-paranoid" => machine.perf_event_paranoid.map(|level| level.max(0).to_string()),
        "pool-2m" => machine.pool(2 << 20)?.pages.map(|pages| pages.to_string()),
        "pool-1g" => machine.pool(1 << 30)?.pages.map(|pages| pages.to_string()),
        "memlock" => match machine.limits.memlock_bytes? {
            Bound::Bytes(bytes) => Some(bytes.to_string()),
            Bound::Unlimited => Some(u64::MAX.to_string()),
        },
        "memory" => machine.memory_bytes.map(|bytes| bytes.to_string()),
        "cpus" => machine.cpus_online.map(|cpus| cpus.to_string()),
        "nodes" => Some(machine.nodes.len().to_string()).filter(|_| !machine.nodes.is_empty()),
        "isolated-cpus" => {
            let text = settings.text("sys/devices/system/cpu/isolated")?;
            Some(count(&firsttouch_linux::cpulist::parse_list(text)?).unwrap_or_else(|| "0".to_owned()))
        }
        "turbo" => {
            let off = settings.number(NO_TURBO).map(|off| 1 - off.min(1));
            off.or_else(|| settings.number(file.trim_start_matches('/'))).map(|on| on.to_string())
        }
        _ => {
            let text = settings.text(file.trim_start_matches('/'))?;
            Some(chosen(text).unwrap_or(text).to_owned())
        }
    }
}
