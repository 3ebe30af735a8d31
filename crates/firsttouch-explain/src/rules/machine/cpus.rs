//! CPUs: how fast they are let run, which are switched off or set apart, and how they tell the time.

use super::{Found, noted};
use crate::rules::cpus;
use crate::{Finding, Weight};
use firsttouch_linux::cpulist::{format_list, parse_list};
use firsttouch_sorted::SortedMap;

const CPU: &str = "/sys/devices/system/cpu";

pub(super) fn find(found: &mut Found<'_>) {
    governor(found);
    turbo(found);
    smt(found);
    offline(found);
    quota(found);
    set_apart(found);
    clock(found);
}

/// CPUs by a word of theirs in `cpuN/cpufreq/`.
fn by_word(found: &Found<'_>, file: &str) -> SortedMap<String, Vec<u32>> {
    let mut words: SortedMap<String, Vec<u32>> = SortedMap::new();
    for (cpu, word) in
        found.evidence.settings.between("sys/devices/system/cpu/cpu", &format!("/cpufreq/{file}"))
    {
        if let Ok(cpu) = cpu.parse() {
            words.entry(word.to_owned()).or_default().push(cpu);
        }
    }
    words.values_mut().for_each(|cpus| cpus.sort_unstable());
    words
}

/// What keeps CPUs slow means another thing under each driver: where the processor itself decides (`intel_pstate`, `amd-pstate-epp`)
/// `powersave` is the usual governor, and a preference says how much it saves.
fn governor(found: &mut Found<'_>) {
    let drivers = by_word(found, "scaling_driver");
    let decides_itself = drivers.keys().any(|driver| driver == "intel_pstate" || driver == "amd-pstate-epp");
    for (word, cpus) in by_word(found, "scaling_governor") {
        let (slow, weight) = match word.as_str() {
            "powersave" if !drivers.is_empty() && !decides_itself => {
                ("the lowest frequency, always", Weight::Weakens)
            }
            "ondemand" | "conservative" => ("a frequency that follows their load", Weight::Remark),
            _ => continue,
        };
        let what = format!("CPUs {} run at {slow} (governor {word})", format_list(&cpus));
        let file = format!("{CPU}/cpu{}/cpufreq/scaling_governor", cpus[0]);
        found.add(slow_cpus(weight, what, &file, &word));
    }
    for (word, cpus) in by_word(found, "energy_performance_preference") {
        if decides_itself && (word == "power" || word == "balance_power") {
            let what = format!("CPUs {} prefer saving power to speed", format_list(&cpus));
            let file = format!("{CPU}/cpu{}/cpufreq/energy_performance_preference", cpus[0]);
            found.add(slow_cpus(Weight::Weakens, what, &file, &word));
        }
    }
}

fn slow_cpus(weight: Weight, what: String, file: &str, word: &str) -> Finding {
    let effect = "programs take longer, and times differ from run to run with what ran before";
    Finding::new("governor", weight, what, effect)
        .proof(file, word)
        .remedy("sudo cpupower frequency-set -g performance")
        .keep("sudo systemctl enable cpupower   # or: tuned-adm profile throughput-performance")
}

fn turbo(found: &mut Found<'_>) {
    let off = [("intel_pstate/no_turbo", 1, "0"), ("cpufreq/boost", 0, "1")];
    for (file, value, on) in off {
        if found.number(&format!("sys/devices/system/cpu/{file}")) != Some(value) {
            continue;
        }
        let file = format!("{CPU}/{file}");
        let what = "CPUs may not run faster than their nominal frequency (turbo is off)";
        let effect =
            "programs take longer where few CPUs work; times are steadier, which may be why it is off";
        return found.add(noted("turbo-off", what, effect).proof(&file, value.to_string()).set(&file, on));
    }
}

fn smt(found: &mut Found<'_>) {
    let file = format!("{CPU}/smt/control");
    if found.number("sys/devices/system/cpu/smt/active") == Some(1) {
        let what = "cores run several threads each (SMT)";
        let effect = "two threads of one core take turns: each is slower, and how much depends on the other";
        let finding = noted("smt-on", what, effect).proof(format!("{CPU}/smt/active"), "1");
        found.add(finding.set(&file, "off"));
    }
}

fn offline(found: &mut Found<'_>) {
    let cpus = &found.evidence.report.machine.cpus;
    let off: Vec<u32> = cpus.iter().filter(|cpu| !cpu.online).map(|cpu| cpu.id).collect();
    // Somebody who switches SMT off takes the second threads of cores offline.
    let control = found.text("sys/devices/system/cpu/smt/control");
    if off.is_empty() || control.is_some_and(|word| word.contains("off")) {
        return;
    }
    let what = format!("CPUs {} are there and switched off", format_list(&off));
    let effect = "nothing runs on them; CPU lists written for the whole machine name CPUs that are refused";
    let finding = noted("cpus-offline", what, effect).proof(format!("{CPU}/offline"), format_list(&off));
    found.add(finding.remedy(format!("sudo chcpu --enable {}", format_list(&off))));
}

fn quota(found: &mut Found<'_>) {
    let Some(quota) = &found.evidence.settings.cpu_quota else { return };
    let cpus = u64::from(found.evidence.report.machine.cpus_online.unwrap_or(u32::MAX));
    if quota.thousandths >= cpus.saturating_mul(1000) {
        return;
    }
    let (whole, part) = (quota.thousandths / 1000, quota.thousandths % 1000 / 10);
    let what = format!("the control group may use as much time as {whole}.{part:02} CPUs have");
    let effect = "with more threads than that all of them stand still for a part of each period, wherever they are bound";
    found.add(noted("cpu-quota", what, effect).proof(&quota.file, &quota.text).remedy(
        "start no more threads than that, or: docker run --cpus N, systemctl set-property UNIT CPUQuota=",
    ));
}

fn set_apart(found: &mut Found<'_>) {
    let list = |name: &str| {
        let text = found.text(&format!("sys/devices/system/cpu/{name}"));
        text.and_then(parse_list).unwrap_or_default()
    };
    let (isolated, tickless) = (list("isolated"), list("nohz_full"));
    let boot = found.text("proc/cmdline").unwrap_or("(unknown)").to_owned();
    if !isolated.is_empty() {
        let effect =
            "no thread runs there unless it is bound there by number: for other programs they do not exist";
        found.add(cpus::isolated_finding(&isolated, effect));
    }
    let ticking: Vec<u32> = isolated.iter().copied().filter(|cpu| !tickless.contains(cpu)).collect();
    if !ticking.is_empty() && found.text("proc/cmdline").is_some() {
        let cpus = format_list(&ticking);
        let what = format!(
            "CPUs {cpus} are isolated, and still interrupted by the clock tick and by the kernel's RCU work"
        );
        let effect = "the thread that has such a CPU for itself stops many times a second all the same";
        found.add(
            noted("isolcpus-ticks", what, effect)
                .proof("/proc/cmdline", &boot)
                .remedy(format!("sudo firsttouch setup boot isolcpus={} --apply", format_list(&isolated))),
        );
    }
    let shared: Vec<u32> = tickless.iter().copied().filter(|cpu| !isolated.contains(cpu)).collect();
    if !shared.is_empty() {
        let cpus = format_list(&shared);
        let what = format!("CPUs {cpus} may stop their clock tick, and the scheduler puts any program there");
        let effect =
            "as soon as two threads share such a CPU the tick comes back, and system calls cost more there";
        found.add(
            noted("nohz-not-isolated", what, effect)
                .proof(format!("{CPU}/nohz_full"), format_list(&tickless))
                .remedy(format!("sudo firsttouch setup boot isolcpus={} --apply", format_list(&tickless))),
        );
    }
}

/// Clocks that are read by a system call and a slow access to a device.
const SLOW_CLOCKS: [&str; 6] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "xen"];

fn clock(found: &mut Found<'_>) {
    const FOLDER: &str = "sys/devices/system/clocksource/clocksource0";
    let Some(now) = found.text(&format!("{FOLDER}/current_clocksource")) else { return };
    if !SLOW_CLOCKS.contains(&now) {
        return;
    }
    let available = found.text(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    let what = format!("the kernel reads the time from a slow clock ({now})");
    let effect = "each look at the clock is a system call: databases, profilers, tracers and what times itself are slower";
    let file = format!("/{FOLDER}/current_clocksource");
    let finding = noted("clocksource-slow", what, effect).proof(&file, now);
    let finding = finding.proof(format!("/{FOLDER}/available_clocksource"), available);
    let has_tsc = available.split_whitespace().any(|word| word == "tsc");
    found.add(match has_tsc {
        true => finding
            .remedy(format!("echo tsc | sudo tee {file}"))
            .keep("add to the kernel's command line: clocksource=tsc"),
        false => finding.remedy(
            "sudo dmesg | grep -i -e tsc -e clocksource   # says why the kernel gave up the fast one",
        ),
    });
}
