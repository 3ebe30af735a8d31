//! What a control group gives is what is planned with: in groups made here, and in written ones of version 1.

use crate::{assert_code, firsttouch, json, run, skipped, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = "/sys/fs/cgroup";

/// A control group with one limit, which vanishes with this value, and the controller that had to be let into such groups.
struct Group {
    folder: PathBuf,
    let_in: Option<String>,
}

impl Group {
    /// `files` are the limit's in version 1 and 2. `None` where there is no such group, which is said.
    fn with(controller: &str, files: [&str; 2], value: &str) -> Option<Group> {
        let name = format!("firsttouch-{controller}-{}", std::process::id());
        let first = Path::new(ROOT).join(controller);
        // A folder that is no hierarchy has no such file, and takes none.
        let is_group = |folder: &Path| folder.join("cgroup.procs").exists();
        // Beside hierarchies of version 1 the one of version 2 has the controllers that are left.
        let second = [Path::new(ROOT).to_owned(), Path::new(ROOT).join("unified")];
        let second = second.into_iter().find(|folder| is_group(folder)).unwrap_or_default();
        let is_first = is_group(&first);
        let (top, file) = if is_first { (first, files[0]) } else { (second, files[1]) };
        let folder = top.join(&name);
        if !is_group(&top) || fs::create_dir(&folder).is_err() {
            skipped(&format!("control groups of {controller} cannot be made here: {ROOT} cannot be written"));
            return None;
        }
        let mut group = Group { folder, let_in: None };
        if !is_first && !group.folder.join(file).exists() {
            // As root of the machine; else the limit cannot be written, which is said.
            let control = top.join("cgroup.subtree_control");
            let is_let_in = fs::write(control, format!("+{controller}")).is_ok();
            group.let_in = is_let_in.then(|| controller.to_owned());
        }
        if is_first && controller == "cpuset" {
            // Version 1 lets nobody in before both are set.
            let nodes = fs::read(top.join("cpuset.mems")).unwrap();
            fs::write(group.folder.join("cpuset.mems"), nodes).unwrap();
        }
        if fs::write(group.folder.join(file), value).is_err() {
            skipped(&format!("{controller} is not for groups here: {file} cannot be written"));
            return None;
        }
        Some(group)
    }

    /// The command in the group.
    fn run(&self, arguments: &[&str]) -> Output {
        let command = firsttouch();
        let mut inside = Command::new("sh");
        inside
            .args(["-c", "echo $$ > \"$1\" && shift && exec \"$@\"", "sh"])
            .arg(self.folder.join("cgroup.procs"));
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

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
        if let (Some(controller), Some(top)) = (&self.let_in, self.folder.parent()) {
            let _ = fs::write(top.join("cgroup.subtree_control"), format!("-{controller}"));
        }
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
    assert_code(&output, 1);
    assert!(stderr(&output).contains("two regions of that size"), "{}", stderr(&output));
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
    let output = group.run(&["run", "--threads", "compact", "--", "nproc"]);
    assert_code(&output, 0);
    assert_eq!(stdout(&output), "1\n");
    assert_code(&group.run(&["run", "-C", &first.to_string(), "--", "true"]), 125);
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
