//! What a control group gives is what is planned with: in groups made here, and in written ones of version 1.

#[path = "../shared/group.rs"]
mod group;

use crate::{assert_code, assert_said, firsttouch, json, json_of, run, skipped, stdout, text_of};
use group::ControlGroup;
use std::fs;
use std::process::{Command, Output};

/// The command in a control group.
struct Group(ControlGroup);

impl Group {
    /// One with this limit, whose files in version 1 and 2 are given. `None` where there is no such group, which is said.
    fn with(controller: &str, files: [&str; 2], value: &str) -> Option<Group> {
        ControlGroup::with(controller, files, value).map(Group).map_err(|why| skipped(&why)).ok()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let command = firsttouch();
        let mut inside = Command::new("sh");
        inside.args(["-c", &format!("{} && exec \"$@\"", self.0.enter()), "sh"]);
        inside.arg(command.get_program()).args(arguments);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside.output().unwrap()
    }
}

#[test]
fn the_memory_of_the_group_is_what_there_is() {
    const LIMIT: u64 = 512 << 20;
    let files = ["memory.limit_in_bytes", "memory.max"];
    let Some(group) = Group::with("memory", files, &LIMIT.to_string()) else { return };
    let status = json(&stdout(&group.run(&["status", "--json"])));
    assert_eq!(status["machine"]["limits"]["cgroup_memory"]["limit_bytes"], LIMIT, "{status:#}");
    let found = stdout(&group.run(&["doctor"]));
    assert!(found.contains("\ncgroup-memory\n"), "{found}");

    let scratch = tempfile::tempdir().unwrap();
    let graph = scratch.path().join("graph.ftg");
    let graph = graph.to_str().unwrap();
    assert_code(&run(&["graph", "generate", "streets", "8", graph]), 0);
    let estimate = json(&stdout(&group.run(&["sssp", graph, "--sources", "1", "--dry-run", "--json"])));
    let available = estimate["available_bytes"].as_u64().unwrap();
    assert!(available <= LIMIT, "{available}");
    let output = group.run(&["fill", "--quick", "--size", "512M", "--pages", "4k"]);
    assert_said(&output, 1, &["two regions of that size"]);
}

#[test]
fn the_cpus_of_the_group_are_the_ones_there_are() {
    let allowed = json(&stdout(&run(&["status", "--json"])));
    let allowed: Vec<u64> =
        serde_json::from_value(allowed["machine"]["limits"]["allowed_cpus"].clone()).unwrap();
    let [first, .., last] = allowed.as_slice() else { return skipped("there is one CPU") };
    let Some(group) = Group::with("cpuset", ["cpuset.cpus"; 2], &last.to_string()) else { return };
    let status = json(&stdout(&group.run(&["status", "--json"])));
    assert_eq!(status["machine"]["limits"]["cpuset_cpus"], serde_json::json!([last]), "{status:#}");
    let found = stdout(&group.run(&["doctor"]));
    assert!(found.contains("\ncpuset-cpus\n"), "{found}");
    assert_eq!(text_of(&group.run(&["run", "--threads", "compact", "--", "nproc"])), "1\n");
    assert_code(&group.run(&["run", "-C", &first.to_string(), "--", "true"]), 125);
}

/// The machine is the live one all the same.
#[test]
fn a_group_without_room_for_a_child_is_told_of() {
    let Some(group) = Group::with("pids", ["pids.max"; 2], "1") else { return };
    let output = group.run(&["doctor", "--json"]);
    let unseen = &json_of(&output)["hosts"][0]["unseen"];
    let (topic, why) = (&unseen[0]["topic"], unseen[0]["why"].as_str().unwrap_or_default());
    assert!(topic == "calls of the kernel" && why.starts_with("no process could be started"), "{unseen:#}");
    assert!(!unseen.to_string().contains("record"), "{unseen:#}");
    let output = group.run(&["explain", "-m", "0", "--json", "--", "true"]);
    assert_code(&output, 0);
    let explanation = json(&stdout(&output));
    let findings = explanation["findings"].as_array().unwrap();
    let untried = findings.iter().find(|one| one["id"] == "untried-calls");
    assert!(untried.is_some_and(|one| one["remedy"].to_string().contains("pids.max")), "{explanation:#}");
}

#[test]
fn the_reserved_pages_of_the_group_are_what_there_is() {
    let files = ["hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.max"];
    let Some(group) = Group::with("hugetlb", files, "4194304") else { return };
    let status = json(&stdout(&group.run(&["status", "--json"])));
    let limits = status["machine"]["limits"]["cgroup_hugetlb"].as_array().unwrap();
    assert!(
        limits.iter().any(|one| one["page_bytes"] == 2 << 20 && one["limit_bytes"] == 4 << 20),
        "{limits:?}"
    );
}

#[test]
fn groups_of_version_1_are_read_where_they_are_written() {
    let scratch = tempfile::tempdir().unwrap();
    let hierarchy =
        |one: &str| format!("1 0 0:1 /docker/9f /sys/fs/cgroup/{one} rw - cgroup cgroup rw,{one}\n");
    let files = [
        ("proc/cpuinfo", "processor : 0\nmodel name : Test\n\nprocessor : 1\nmodel name : Test\n"),
        ("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"),
        ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t1\nMems_allowed_list:\t0\n"),
        ("proc/self/cgroup", "5:hugetlb:/docker/9f\n4:memory:/docker/9f\n3:cpuset:/docker/9f\n"),
        ("proc/self/mountinfo", &["memory", "cpuset", "hugetlb"].map(hierarchy).concat()),
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n"),
        ("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "1\n"),
        ("sys/fs/cgroup/cpuset/cpuset.effective_mems", "0\n"),
        ("sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes", "2097152\n"),
        ("sys/fs/cgroup/hugetlb/hugetlb.2MB.usage_in_bytes", "0\n"),
    ];
    for (file, text) in files {
        let path = scratch.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let text = stdout(&run(&["doctor", "--root", scratch.path().to_str().unwrap()]));
    for id in ["cgroup-memory", "cgroup-hugetlb", "cpuset-cpus"] {
        assert!(text.contains(&format!("\n{id}\n")), "{id}: {text}");
    }
}
