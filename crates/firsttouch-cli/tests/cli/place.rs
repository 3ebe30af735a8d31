//! `run --memory`, `--threads`, `--near`: what the kernel was told is read back from inside the program, and what it
//! cannot be told is refused before the program starts.

use crate::{
    assert_code, assert_said, firsttouch, json_file, run, skipped, static_program, stderr, stdout, text_of,
    words,
};
use firsttouch_process::{Environment, Launch};
use std::fs;
use std::process::Command;

/// `Mems_allowed_list` or `Cpus_allowed_list` of ours: the first number of it.
pub(crate) fn first_allowed(what: &str) -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix(&format!("{what}:"))).unwrap();
    list.trim().split(['-', ',']).next().unwrap().parse().unwrap()
}

/// The policy that a program sees for its own stack, from numa_maps.
fn policy_under(memory: &str) -> String {
    let output = run(&["run", "--pages", "plain", "--memory", memory, "--", "cat", "/proc/self/numa_maps"]);
    let text = text_of(&output);
    let stack =
        text.lines().find(|line| line.contains(" stack ") || line.contains("stack ")).unwrap_or_default();
    stack.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_program_inherits_the_memory_policy() {
    if fs::read_to_string("/proc/self/numa_maps").is_err() {
        return skipped("the kernel has no NUMA");
    }
    let node = first_allowed("Mems_allowed_list");
    assert_eq!(policy_under(&format!("bind={node}")), format!("bind:{node}"));
    assert_eq!(policy_under(&format!("prefer={node}")), format!("prefer:{node}"));
    assert_eq!(policy_under(&format!("interleave={node}")), format!("interleave:{node}"));
    assert_eq!(policy_under("local"), "local");
    assert!(policy_under("bind=all").starts_with("bind:"));
}

#[test]
fn a_static_program_inherits_it_too() {
    let Some(program) = static_program() else { return };
    let node = first_allowed("Mems_allowed_list");
    let cpu = first_allowed("Cpus_allowed_list");
    let scratch = tempfile::tempdir().unwrap();
    let receipt = scratch.path().join("receipt");
    let placed = format!("run --memory bind={node} --threads {cpu} --receipt {}", receipt.display());
    let output = run(&[&words(&placed)[..], &["--", program]].concat());
    assert_eq!(text_of(&output).trim(), cpu.to_string());
    assert!(stderr(&output).contains("but for memory policy and CPUs"), "{}", stderr(&output));
    let receipt = json_file(&receipt);
    assert_eq!(receipt["shortfalls"][0]["reason"], "static-program");
    assert!(receipt["notes"].to_string().contains("with the memory policy"), "{receipt}");
}

#[test]
fn the_receipt_tells_nodes_asked_and_obtained() {
    let node = first_allowed("Mems_allowed_list");
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let scratch = tempfile::tempdir().unwrap();
    let memory = format!("bind={node}");
    let receipt_of = |pages: &str, reads: &str| {
        let file = scratch.path().join(pages);
        let placed = format!("run --pages {pages} --memory {memory} --receipt {}", file.display());
        let demo = format!("case demo --set table=64M --set reads={reads} --set order=20");
        assert_code(&run(&[&words(&placed)[..], &["--", own], &words(&demo)].concat()), 0);
        let receipt = json_file(&file);
        assert_eq!(receipt["asked"]["memory"], memory);
        receipt
    };
    let bytes = |receipt: &serde_json::Value| {
        receipt["obtained"]["bytes_by_node"][node.to_string()].as_u64().unwrap_or(0)
    };
    for pages in ["thp", "plain"] {
        let mut receipt = receipt_of(pages, "1000000");
        // Without the agent it is looked at from outside, now and then: where others are at work, maybe too early, if it
        // is over soon.
        for reads in ["10000000", "100000000"] {
            if pages == "plain" && bytes(&receipt) < 60 << 20 {
                receipt = receipt_of(pages, reads);
            }
        }
        assert!(bytes(&receipt) >= 60 << 20, "{receipt}");
        let overridden = |shortfall: &serde_json::Value| shortfall["reason"] == "policy-overridden";
        // Pages of the C library are shared with others, and lie wherever those had them.
        let elsewhere = receipt["obtained"]["bytes_by_node"].as_object().unwrap().len() > 1;
        assert_eq!(receipt["shortfalls"].as_array().unwrap().iter().any(overridden), elsewhere, "{receipt}");
    }
}

#[track_caller]
fn refused(options: &[&str], reason: &str, hint: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let mark = scratch.path().join("mark");
    let output = run(&[&["run"][..], options, &["--", "touch", mark.to_str().unwrap()]].concat());
    assert_code(&output, 125);
    let said = stderr(&output);
    assert!(said.starts_with("error: ") && said.contains(reason), "{said}");
    assert!(said.contains("\n\nhint: ") && said.contains(hint), "{said}");
    assert!(!mark.exists(), "the program was started all the same");
}

#[test]
fn what_this_machine_cannot_give_is_refused_before_the_program_starts() {
    refused(&["--memory", "bind=999"], "there is no node 999: this machine has", "firsttouch status");
    refused(&["--memory", "interleave=0-999"], "there is no node", "firsttouch status");
    refused(&["--memory", "bind=pmem"], "no node has memory of the kind `pmem`", "firsttouch status");
    refused(&["--threads", "7000"], "there is no CPU 7000", "firsttouch status");
    refused(&["--threads", "groups=5000x2"], "a group of 5000 cores fits into no node", "groups=");
    refused(&["--threads", "cores=1x5000"], "there are 0 cores with 5000 CPUs", "--threads cores=N");
    refused(&["--threads", "groups=1x5000"], "there is room for", "groups=1x");
    refused(&["-C", "0-7000"], "there is no CPU", "firsttouch status");
    refused(&["-N", "999"], "there is no node 999: this machine has", "firsttouch status");
    refused(&["-m", "999"], "there is no node 999", "firsttouch status");
    refused(&["--node", "999"], "there is no node 999", "firsttouch status");
    refused(&["--near", "no-such-device"], "no-such-device", "firsttouch status");
}

#[test]
fn words_that_do_not_read_are_wrong_usage() {
    for options in [
        ["--memory", "spread"],
        ["--memory", "bind"],
        ["--threads", "close"],
        ["--threads", "groups=6"],
        ["--skip-threads", "x"],
        ["--skip-threads", "1"],
        ["-C", "!1"],
        ["-C", "node=1"],
        ["-N", "x"],
        ["-m", "+1"],
        ["--near", ""],
        ["--near", " "],
        ["--near", "eth0,"],
    ] {
        let output = run(&["run", options[0], options[1], "--", "true"]);
        assert_code(&output, 125);
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
    }
    assert_code(&run(&["run", "--via", "mimalloc", "--threads", "compact", "--", "true"]), 125);
    let output = run(&["run", "--object", "a:thp", "--object", "a:4k", "--", "true"]);
    assert_said(&output, 125, &["`a:4k` decides what is decided before it"]);
    assert_said(&run(&["explain", "--near", "", "--", "true"]), 2, &["names no device"]);
}

#[test]
fn an_affinity_from_outside_is_respected_and_said() {
    let Ok(output) = Command::new("taskset").args(["-c", "0", "true"]).output() else {
        return skipped("taskset is not installed");
    };
    if !output.status.success() || first_allowed("Cpus_allowed_list") != 0 {
        return skipped("CPU 0 may not be used");
    }
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let under = |threads: &str| {
        Command::new("taskset")
            .args(["-c", "0", own, "run", "--threads", threads, "--", "true"])
            .output()
            .unwrap()
    };
    assert_code(&under("compact"), 0);
    if std::thread::available_parallelism().map_or(1, usize::from) > 1 {
        let output = under("0,1");
        assert_said(&output, 125, &["CPU 1 is outside the affinity"]);
        assert!(stderr(&output).contains("hint: start firsttouch without taskset"), "{}", stderr(&output));
    }
}

#[test]
fn a_profile_keeps_nodes_and_threads() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("model.toml");
    let node = first_allowed("Mems_allowed_list");
    let cpu = first_allowed("Cpus_allowed_list");
    let text = format!(
        "schema_version = 1\n[placement]\npages = \"plain\"\nmemory = \"bind={node}\"\nthreads = \"{cpu}\"\n"
    );
    fs::write(&file, text).unwrap();
    let words =
        ["run", "--profile", file.to_str().unwrap(), "--", "grep", "Cpus_allowed_list", "/proc/self/status"];
    assert_eq!(text_of(&run(&words)).split_whitespace().nth(1), Some(cpu.to_string().as_str()));
}

/// CPUs that a status file allows, as the kernel prints them.
fn allowed_list(status: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap_or_else(|| panic!("no mask in {status}")).trim().to_owned()
}

/// The mask that a program sees under `run` with these options.
fn mask_under(options: &[&str]) -> String {
    let output = run(&[&["run"][..], options, &["--", "cat", "/proc/self/status"]].concat());
    assert_code(&output, 0);
    allowed_list(&stdout(&output))
}

#[test]
fn the_options_of_numactl_reach_the_program_as_a_mask_and_a_policy() {
    let ours = allowed_list(&fs::read_to_string("/proc/self/status").unwrap());
    let cpu = first_allowed("Cpus_allowed_list").to_string();
    for options in [["-C", &cpu], ["--physcpubind", &cpu], ["--cpus", &cpu]] {
        assert_eq!(mask_under(&options), cpu, "{options:?}");
    }
    // All that we have, and with threads bound one by one those that they are bound to.
    assert_eq!(mask_under(&["--cpus", "all"]), ours);
    assert_eq!(mask_under(&["-C", &ours]), ours);
    assert_eq!(mask_under(&["--pages", "plain", "-C", &ours]), ours, "without the agent, too");
    assert_eq!(mask_under(&["-C", &ours, "--threads", &cpu]), cpu);
    // Children inherit it.
    let output = run(&["run", "-C", &cpu, "--", "sh", "-c", "cat /proc/self/status; true"]);
    assert_eq!(allowed_list(&stdout(&output)), cpu);

    let Ok(node_cpus) = fs::read_to_string("/sys/devices/system/node/node0/cpulist") else {
        panic!("the kernel of these tests has nodes")
    };
    let node_cpus = firsttouch_linux::cpulist::parse_list(&node_cpus).unwrap();
    let ours = firsttouch_linux::cpulist::parse_list(&ours).unwrap();
    let both: Vec<u32> = node_cpus.into_iter().filter(|cpu| ours.contains(cpu)).collect();
    if both.is_empty() {
        return refused(&["-N", "0"], "none of the CPUs of node 0 may be used", "");
    }
    let expected = firsttouch_linux::cpulist::format_list(&both);
    for options in [&["-N", "0"][..], &["--cpunodebind=0"], &["--cpus", "nodes=0"]] {
        assert_eq!(mask_under(options), expected, "{options:?}");
    }
    if first_allowed("Mems_allowed_list") == 0 {
        assert_eq!(mask_under(&["--node", "0"]), expected);
        for (options, policy) in [
            (&["--node", "0"][..], "bind:0"),
            (&["-m", "0"], "bind:0"),
            (&["-p", "0"], "prefer:0"),
            (&["-i", "0"], "interleave:0"),
            (&["-l"], "local"),
        ] {
            let output =
                run(&[&["run", "--pages", "plain"][..], options, &["--", "cat", "/proc/self/numa_maps"]]
                    .concat());
            let text = text_of(&output);
            let stack = text.lines().find(|line| line.contains(" stack ")).unwrap_or_default().to_owned();
            assert_eq!(stack.split(' ').nth(1), Some(policy), "{options:?}: {text}");
        }
    }
}

#[test]
fn a_static_program_gets_the_mask_and_the_receipt_tells() {
    let Some(program) = static_program() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let cpu = first_allowed("Cpus_allowed_list");
    let file = scratch.path().join("receipt");
    let (number, file_word) = (cpu.to_string(), file.to_str().unwrap());
    assert_eq!(text_of(&run(&["run", "-C", &number, "--receipt", file_word, "--", program])).trim(), number);
    let receipt = json_file(&file);
    assert_eq!(receipt["asked"]["cpus"], number);
    assert_eq!(receipt["cpus_obtained"], serde_json::json!([cpu]), "however soon it ended: {receipt}");
}

/// Ends when the command above has looked at it: between two of its sleeps it looks once, and one look may have begun before.
const LOOKED_AT: &str = "sleeps() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' /proc/$PPID/status; }; \
                         enough=$(($(sleeps) + 4)); while [ $(sleeps) -lt $enough ]; do :; done";

#[test]
fn the_receipt_tells_a_program_that_sets_other_cpus() {
    let ours = fs::read_to_string("/proc/self/status").unwrap();
    let ours = firsttouch_linux::cpulist::parse_list(&allowed_list(&ours)).unwrap();
    let (first, last) = (ours[0].to_string(), ours[ours.len() - 1].to_string());
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt");
    let receipt = |program: &[&str]| {
        let words = ["run", "-C", &first, "--receipt", file.to_str().unwrap(), "--"];
        assert_code(&run(&[&words[..], program].concat()), 0);
        json_file(&file)
    };
    let kept = receipt(&["true"]);
    assert_eq!(kept["cpus_obtained"], serde_json::json!([ours[0]]), "{kept}");
    assert!(!kept["notes"].to_string().contains("in place of"), "{kept}");
    assert!(ours.len() > 1, "the machine of these tests has two CPUs");
    let changed = receipt(&["taskset", "-c", &last, "sh", "-c", LOOKED_AT]);
    assert_eq!(changed["cpus_obtained"], serde_json::json!([ours[ours.len() - 1]]), "{changed}");
    let note = format!("the program runs on CPUs {last} in place of {first}:");
    assert!(changed["notes"].to_string().contains(&note), "{changed}");
    let unasked = scratch.path().join("unasked");
    assert_code(&run(&["run", "--receipt", unasked.to_str().unwrap(), "--", "true"]), 0);
    let unasked = json_file(&unasked);
    assert!(unasked.get("cpus_obtained").is_none() && unasked["asked"].get("cpus").is_none(), "{unasked}");
}

#[test]
fn a_profile_keeps_the_cpus_of_the_program() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("model.toml");
    let cpu = first_allowed("Cpus_allowed_list").to_string();
    let text = format!("schema_version = 1\n[placement]\npages = \"plain\"\ncpus = \"{cpu}\"\n");
    fs::write(&file, text).unwrap();
    let profile = ["--profile", file.to_str().unwrap()];
    assert_eq!(mask_under(&profile), cpu);
    let ours = allowed_list(&fs::read_to_string("/proc/self/status").unwrap());
    assert_eq!(mask_under(&[&profile[..], &["--cpus", "none"]].concat()), ours);
}

/// Milliseconds of a processor that the cheapest of several starts of a program that does nothing took, for each way, taken
/// in turn. Whoever else is at work on the machine makes starts longer, but hardly dearer.
fn cheapest_starts(ways: &[&[&str]]) -> Vec<f64> {
    const ROUNDS: usize = 40;
    let like = firsttouch();
    let mut environment: Environment = std::env::vars_os().collect();
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => environment.set(name, value),
            None => environment.unset(name),
        }
    }
    let launches: Vec<Launch> =
        ways.iter().map(|way| Launch::new(like.get_program(), *way, environment.clone())).collect();
    let mut cheapest = vec![f64::INFINITY; ways.len()];
    for _ in 0..ROUNDS {
        for (launch, cheapest) in launches.iter().zip(&mut cheapest) {
            let finished = launch.measure(&[], None).unwrap();
            assert!(finished.ending.is_success(), "{finished:?}");
            *cheapest = cheapest.min((finished.used.user_s + finished.used.system_s) * 1e3);
        }
    }
    cheapest
}

/// What binding threads adds to the start of a program: two milliseconds at most, most of which is reading the machine.
/// `cargo test --release -p firsttouch-cli --test cli starting -- --nocapture` prints it.
#[test]
fn starting_with_bound_threads_costs_next_to_nothing() {
    let plain: &[&str] = &["run", "--pages", "plain", "--", "true"];
    let bound: &[&str] = &["run", "--pages", "plain", "--threads", "compact", "--", "true"];
    let placed: &[&str] = &["run", "--", "true"];
    let both: &[&str] = &["run", "--threads", "compact", "--", "true"];
    let times = cheapest_starts(&[plain, bound, placed, both]);
    let (alone, beside) = (times[1] - times[0], times[3] - times[2]);
    eprintln!(
        "run {:.2} ms, with --threads {alone:+.2} ms; with placed memory {:.2} ms, {beside:+.2} ms",
        times[0], times[2]
    );
    // Without optimisation our own part is several times slower.
    let limit = if cfg!(debug_assertions) { 20.0 } else { 2.0 };
    assert!(beside < limit, "{beside:.2} ms");
}
