//! Ranks behind Slurm: its daemons are started in a folder, with a configuration and ports of their own, and stopped again.

use crate::jobs::{apart, cpus, shards_find_what_one_finds, show};
use crate::{
    assert_code, assert_said, firsttouch, json, json_file, json_of, run, skipped, stderr, stdout, text_of,
    words,
};
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A busy machine starts three daemons within this time.
const PATIENCE: Duration = Duration::from_secs(120);

/// Nodes, all of them this machine, and what runs them.
struct Slurm {
    folder: TempDir,
    nodes: Vec<String>,
    daemons: Vec<Child>,
    plugin: TaskPlugin,
}

/// What holds a task to its CPUs and its memory.
#[derive(Clone, Copy, PartialEq)]
enum TaskPlugin {
    /// The CPUs that its threads may use, and nothing.
    Affinity,
    /// Control groups of version 1: with those of version 2 its daemon wants systemd.
    ControlGroups,
}

impl TaskPlugin {
    fn lines(self) -> &'static str {
        match self {
            TaskPlugin::Affinity => {
                "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/affinity\nSelectTypeParameters=CR_CPU"
            }
            TaskPlugin::ControlGroups => {
                "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup,task/affinity\n\
                 SelectTypeParameters=CR_CPU_Memory"
            }
        }
    }
}

/// The folders of a node in the hierarchies that its daemon uses.
fn groups_of(node: &str) -> Vec<PathBuf> {
    let of = |controller| Path::new("/sys/fs/cgroup").join(controller).join(format!("slurm_{node}"));
    ["cpuset", "devices", "freezer", "memory"].map(of).into()
}

/// Removes a group with all groups in it, as far as they are left by all processes.
fn remove_group(group: &Path) {
    let inside = fs::read_dir(group).into_iter().flatten().flatten().map(|entry| entry.path());
    inside.filter(|path| path.is_dir()).for_each(|path| remove_group(&path));
    let _ = fs::remove_dir(group);
}

fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap()
}

fn processors() -> usize {
    fs::read_to_string("/proc/cpuinfo").unwrap().matches("\nprocessor\t").count() + 1
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        if self.plugin == TaskPlugin::ControlGroups {
            self.nodes.iter().flat_map(|node| groups_of(node)).for_each(|group| remove_group(&group));
        }
    }
}

impl Slurm {
    /// One node of this machine's name; `None`, which is said, where it cannot be started.
    fn start() -> Option<Slurm> {
        Slurm::with(&[host().trim()], TaskPlugin::Affinity, "")
    }

    /// Nodes of these names, and what else there is, in lines of the configuration.
    fn with(nodes: &[&str], plugin: TaskPlugin, others: &str) -> Option<Slurm> {
        for program in ["munged", "slurmctld", "slurmd", "srun", "sbatch"] {
            let found = Command::new("sh").args(["-c", "command -v \"$0\"", program]).output();
            if !found.is_ok_and(|output| output.status.success()) {
                skipped(&format!("there is no {program} (Debian's munge, slurmctld, slurmd, slurm-client)"));
                return None;
            }
        }
        if !fs::read_to_string("/proc/self/status").unwrap().contains("\nUid:\t0\t") {
            skipped("only root starts Slurm's daemons");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        // Its daemons refuse folders that others cannot pass through.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
        let mut slurm = Slurm { folder, nodes: nodes.clone(), daemons: Vec::new(), plugin };
        slurm.configure(others);
        let socket = slurm.path("munge.sock");
        let key = slurm.path("key");
        slurm.daemon(
            "munged",
            &["--force", "--foreground"],
            &[
                ("--socket=", &socket),
                ("--key-file=", &key),
                ("--pid-file=", &slurm.path("munged.pid")),
                ("--log-file=", &slurm.path("munged.log")),
                ("--seed-file=", &slurm.path("seed")),
            ],
        );
        slurm.wait_for(|_| socket.exists());
        slurm.daemon("slurmctld", &["-D"], &[]);
        for node in &nodes {
            let named: &[&str] = if *node == host().trim() { &["-D"] } else { &["-D", "-N", node] };
            slurm.daemon("slurmd", named, &[]);
        }
        slurm.wait_for(|slurm| {
            let states = slurm.said("sinfo", &["-h", "-N", "-o", "%N %T"]);
            nodes.iter().all(|node| states.lines().any(|line| line == format!("{node} idle")))
        });
        Some(slurm)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self, others: &str) {
        let folder = self.folder.path().display();
        let ports: Vec<TcpListener> =
            (0..=self.nodes.len()).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
        let mut ports = ports.iter().map(|port| port.local_addr().unwrap().port());
        let host = host();
        let host = host.trim();
        let mut lines = vec![
            "ClusterName=test".to_owned(),
            format!("SlurmctldHost={host}(127.0.0.1)"),
            format!("AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={folder}/munge.sock"),
            format!("SlurmUser=root\nSlurmctldPort={}", ports.next().unwrap()),
            format!("StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool-%n"),
            format!("SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd-%n.pid"),
            // A batch job begins when it comes, and not some seconds later.
            "SchedulerParameters=batch_sched_delay=0,sched_interval=1".to_owned(),
            format!(
                "MpiDefault=none\nSelectType=select/cons_tres\nReturnToService=2\n{}",
                self.plugin.lines()
            ),
        ];
        for (node, port) in self.nodes.iter().zip(ports) {
            lines.push(format!(
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={} RealMemory=1000",
                processors()
            ));
        }
        lines.push(format!("PartitionName=all Nodes={} Default=YES\n{others}\n", self.nodes.join(",")));
        fs::write(self.path("slurm.conf"), lines.join("\n")).unwrap();
        let groups = "CgroupPlugin=cgroup/v1\nConstrainCores=yes\nConstrainRAMSpace=yes\n";
        fs::write(self.path("cgroup.conf"), groups).unwrap();
        fs::create_dir(self.path("state")).unwrap();
        self.nodes.iter().for_each(|node| fs::create_dir(self.path(&format!("spool-{node}"))).unwrap());
        let mut random = [0; 64];
        std::io::Read::read_exact(&mut File::open("/dev/urandom").unwrap(), &mut random).unwrap();
        fs::write(self.path("key"), random).unwrap();
        fs::set_permissions(self.path("key"), fs::Permissions::from_mode(0o400)).unwrap();
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    /// What one of its commands says.
    fn said(&self, program: &str, words: &[&str]) -> String {
        stdout(&self.command(program).args(words).output().unwrap())
    }

    fn daemon(&mut self, program: &str, words: &[&str], options: &[(&str, &Path)]) {
        // Those of several nodes write one after the other.
        let log = self.path(&format!("{program}.out"));
        let log = File::options().create(true).append(true).open(log).unwrap();
        let mut command = self.command(program);
        command.args(words).args(options.iter().map(|(option, path)| format!("{option}{}", path.display())));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    #[track_caller]
    fn wait_for(&self, is_there: impl Fn(&Slurm) -> bool) {
        let end_of_waiting = Instant::now() + PATIENCE;
        while !is_there(self) {
            if Instant::now() > end_of_waiting {
                let told = ["munged", "slurmctld", "slurmd"]
                    .map(|name| fs::read_to_string(self.path(&format!("{name}.out"))));
                panic!("a daemon is not there: {told:?}");
            }
        }
    }

    /// What a batch script of two tasks wrote, which has to succeed. (`sbatch --wait` looks once in some seconds.)
    #[track_caller]
    fn batch(&self, script: &Path) -> String {
        let out = script.with_extension("out");
        let mut batch = self.command("sbatch");
        let output = batch.args(["--parsable", "-n", "2", "-o"]).arg(&out).arg(script).output().unwrap();
        let job = stdout(&output).trim().to_owned();
        assert!(output.status.success() && !job.is_empty(), "{output:?}");
        let state = || self.said("scontrol", &["--oneliner", "show", "job", &job]);
        let is_over = |state: &str| {
            let goes_on = ["PENDING", "RUNNING", "COMPLETING"].map(|word| format!("JobState={word}"));
            state.contains("JobState=") && !goes_on.iter().any(|word| state.contains(word))
        };
        self.wait_for(|_| is_over(&state()));
        let written = fs::read_to_string(out).unwrap_or_default();
        assert!(state().contains("JobState=COMPLETED"), "{} {written}", state());
        written
    }

    /// `srun` with options, on `firsttouch run` on the program that shows its CPUs.
    fn ranks(&self, options: &[&str], ours: &[&str]) -> Output {
        let mut command = self.command("srun");
        command.args(options);
        show(command, ours)
    }
}

#[test]
fn tasks_of_slurm_are_ranks() {
    let Some(slurm) = Slurm::start() else { return };
    let all = cpus().len();
    if all < 2 {
        return skipped("two ranks need two CPUs");
    }
    let unbound = ["-n", "2", "--cpu-bind=none"];
    assert_eq!(apart(&slurm.ranks(&unbound, &["--ranks", "auto"])).len(), 2);
    // What Slurm bound apart stays.
    let mut bound = apart(&slurm.ranks(&["-n", "2"], &["--ranks", "auto"]));
    let mut own = slurm.command("srun");
    own.args(["-n", "2", "sed", "-n", "s/^Cpus_allowed_list:\\t//p", "/proc/self/status"]);
    let mut slurms_own = apart(&own.output().unwrap());
    bound.sort();
    slurms_own.sort();
    assert_eq!(bound, slurms_own);
    // A step with fewer CPUs than the node has.
    let one = slurm.ranks(&["-n", "1", "-c", "1", "--exact"], &["--ranks", "auto", "--threads", "cores=1x1"]);
    assert_eq!(apart(&one)[0].len(), 1);
    let too_many = slurm.ranks(&["-n", "4", "--overcommit", "--cpu-bind=none"], &["--ranks", "auto"]);
    assert_said(&too_many, 125, &["4 ranks have 1 CPU among them"]);

    // A batch script is no rank, and starts some, whose receipts are one document.
    let receipt = slurm.path("receipt.json");
    let script = format!(
        "#!/bin/sh\n\"{own}\" run --ranks auto -- true && exit 9\nsrun --cpu-bind=none \"{own}\" run --pages plain --ranks auto --receipt {} -- true\n",
        receipt.display(),
        own = firsttouch().get_program().display(),
    );
    let file = slurm.path("job.sh");
    fs::write(&file, script).unwrap();
    let written = slurm.batch(&file);
    assert!(written.contains("Slurm does not say how many ranks run on this machine"), "{written}");
    let job = json_file(&receipt);
    assert_eq!(
        (&job["kind"], &job["launcher"], &job["size"]),
        (&"job".into(), &"Slurm".into(), &2.into()),
        "{job}"
    );
    assert_eq!(job["ranks"].as_array().unwrap().len(), 2, "{job}");

    // A session of `tune` in a batch job of its own.
    let (script, tuned) = (slurm.path("tune.sh"), slurm.path("tuned.json"));
    let mut tune = firsttouch();
    tune.args(["tune", "--job", "--configs", "ranks:plain,cpus=all", "--no-warm", "--max-runs", "2"]);
    tune.arg("--export-json")
        .arg(&tuned)
        .arg("--sbatch")
        .arg(&script)
        .args(words("-- srun -n 2 --overlap dd if=/dev/zero of=/dev/null bs=64M count=64"));
    assert_code(&tune.output().unwrap(), 0);
    slurm.batch(&script);
    let tuned = json_file(&tuned);
    assert_eq!(tuned["configurations"][1]["name"], "ranks", "{tuned}");
    assert_eq!(tuned["skipped"], serde_json::json!([]), "{tuned}");
    // Slurm's daemon starts the ranks, and not srun: they are found all the same.
    let obtained = &tuned["configurations"][1]["obtained"];
    let processes = obtained["tree"]["processes"].as_array().unwrap();
    let programs = processes.iter().filter_map(|process| process["program"].as_str());
    assert_eq!(programs.filter(|program| program.ends_with("/dd")).count(), 2, "{obtained}");

    let mut search = slurm.command("srun");
    search.args(["-n", "2"]);
    shards_find_what_one_finds(search, "srun");
}

/// Each of two nodes is divided among its own ranks, and the job's receipt has those of both. (Both nodes are this machine.)
#[test]
fn ranks_on_several_nodes_divide_each_node_for_itself() {
    if cpus().len() < 2 {
        return skipped("two ranks need two CPUs");
    }
    let Some(slurm) = Slurm::with(&["n1", "n2"], TaskPlugin::Affinity, "") else { return };
    let receipt = slurm.path("receipt.json");
    let words = ["-N", "2", "--ntasks-per-node=2", "--cpu-bind=none", "--label"];
    let shown = slurm.ranks(&words, &["--ranks", "auto", "--receipt", receipt.to_str().unwrap()]);
    let shown = text_of(&shown);
    let of_rank = |rank: &str| {
        let line = shown.lines().find_map(|line| line.trim().strip_prefix(rank)?.strip_prefix(": "));
        firsttouch_linux::cpulist::parse_list(line.unwrap()).unwrap()
    };
    for node in [["0", "1"], ["2", "3"]] {
        let [one, other] = node.map(of_rank);
        assert!(
            !one.is_empty() && !other.is_empty() && one.iter().all(|cpu| !other.contains(cpu)),
            "{shown}"
        );
    }
    let job = json_file(&receipt);
    let ranks = job["ranks"].as_array().unwrap();
    let places = ranks.iter().map(|one| (one["rank"].as_u64().unwrap(), one["local_rank"].as_u64().unwrap()));
    assert_eq!(places.collect::<Vec<_>>(), [(0, 0), (1, 1), (2, 0), (3, 1)], "{job}");
    assert_eq!(job["missing"], serde_json::json!([]), "{job}");
}

/// The CPUs and the memory of a step are those of its control groups, as on most clusters.
#[test]
fn control_groups_of_slurm_are_what_is_planned_with() {
    const NODE: &str = "held";
    const LIMIT_MB: u64 = 300;
    for group in groups_of(NODE) {
        if fs::create_dir(&group).and_then(|()| fs::remove_dir(&group)).is_err() {
            return skipped(&format!("{} cannot be written", group.display()));
        }
    }
    let Some(slurm) = Slurm::with(&[NODE], TaskPlugin::ControlGroups, "") else { return };
    let own = firsttouch();
    let step = |options: &[&str], words: &[&str]| {
        let mut command = slurm.command("srun");
        command.args(["--mem", &LIMIT_MB.to_string(), "--cpu-bind=none"]).args(options);
        command.arg(own.get_program()).args(words).output().unwrap()
    };
    let status = step(&["-n", "1"], &["status", "--json"]);
    let limits = &json_of(&status)["machine"]["limits"];
    assert_eq!(limits["cgroup_memory"]["limit_bytes"], LIMIT_MB << 20, "{limits:#}");
    assert_eq!(limits["allowed_cpus"].as_array().unwrap().len(), 1, "{limits:#}");

    // Who allocates far more than there is and touches little of it lives, with prefaulting too.
    let program = slurm.path("room");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/c/room.c");
    let made = Command::new("cc").args(["-O1", "-pthread", "-o"]).args([&program, &source]).status();
    assert!(made.is_ok_and(|status| status.success()), "a C compiler");
    let receipt = slurm.path("receipt.json");
    let words =
        ["run", "--prefault", "--receipt", receipt.to_str().unwrap(), "--", program.to_str().unwrap()];
    assert_code(&step(&["-n", "1"], &[&words[..], &["private", "1024", "0", "64"]].concat()), 0);
    assert_eq!(json_file(&receipt)["obtained"]["placed_bytes"], 1024 << 20);

    if processors() > 1 {
        let words = ["run", "--pages", "plain", "--ranks", "auto", "--"];
        let show = ["sed", "-n", "s/^Cpus_allowed_list:\\t//p", "/proc/self/status"];
        assert_eq!(apart(&step(&["-n", "2"], &[&words[..], &show].concat())).len(), 2);
        // Two of one CPU are refused.
        let crowded = step(&["-n", "2", "--overcommit", "-c", "1", "--exact"], &[&words[..], &show].concat());
        assert_said(&crowded, 125, &["2 ranks have 1 CPU among them"]);
    }
}

/// Two nodes that run, one that its administrators have taken out, and one that has never answered.
#[test]
fn doctor_asks_the_nodes_of_slurm_and_tells_why_others_are_missing() {
    let others = "NodeName=broken CPUs=1 NodeAddr=127.0.0.1 Port=1 State=DOWN Reason=\"a fan is broken\"\n\
                  NodeName=silent CPUs=1 NodeAddr=127.0.0.1 Port=1\n\
                  PartitionName=more Nodes=n1,broken,silent\nPartitionName=again Nodes=n1,broken,silent";
    let Some(slurm) = Slurm::with(&["n1", "n2"], TaskPlugin::Affinity, others) else { return };
    let own = firsttouch();
    let own = own.get_program().to_str().unwrap();
    let doctor = |launcher: &[&str], words: &[&str]| {
        let mut command = slurm.command(launcher.first().unwrap_or(&own));
        command.args(launcher.iter().skip(1)).args(launcher.first().map(|_| own));
        command.args(["doctor", "--slurm"]).args(words);
        command.output().unwrap()
    };
    let ours = ["--remote", own, "--json"];
    let names = |list: &serde_json::Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };

    // Those of the cluster, and what was found there is what is found here.
    let output = doctor(&[], &ours);
    let document = json_of(&output);
    assert_eq!(names(&document["hosts"]), ["n1", "n2"], "{document:#}");
    assert_eq!(names(&document["missing"]), ["broken", "silent"], "{document:#}");
    let why = |at: usize| document["missing"][at]["why"].as_str().unwrap();
    assert!(why(0).starts_with("Slurm says: down") && why(0).ends_with(" (a fan is broken)"), "{}", why(0));
    assert!(why(1).starts_with("Slurm says: unk"), "{}", why(1));
    let here = json(&stdout(&run(&["doctor", "--json"])));
    let ids = |host: &serde_json::Value| -> Vec<String> {
        let findings = host["findings"].as_array().unwrap().iter();
        findings.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let there = document["hosts"].as_array().unwrap();
    for host in there {
        assert_eq!(host["facts"]["kernel"], here["hosts"][0]["facts"]["kernel"], "{host:#}");
        assert_eq!(ids(host), ids(&here["hosts"][0]), "{host:#}");
    }
    assert_eq!(document["compared"]["differing"], serde_json::json!([]), "{document:#}");
    let kept = slurm.path("all.json");
    fs::write(&kept, stdout(&output)).unwrap();
    let merged = run(&["doctor", "--merge", kept.to_str().unwrap(), "--strict"]);
    assert_code(&merged, 3);
    for line in ["2 of 4 hosts answered; ", "  broken: Slurm says: down"] {
        assert!(stdout(&merged).contains(line), "{line}: {}", stdout(&merged));
    }

    // Those that are named: nobody waits for one that is down, and srun tells of one that nobody knows.
    let output = doctor(&[], &[&ours[..], &["--hosts", "n2,broken,nobody,n2"]].concat());
    let document = json(&stdout(&output));
    assert_eq!(names(&document["hosts"]), ["n2"], "{document:#}");
    assert_eq!(names(&document["missing"]), ["broken", "nobody"], "{document:#}");
    assert!(document["missing"][1]["why"].as_str().unwrap().contains("Invalid node name"), "{document:#}");

    // A command that is not there is what is told, and not that srun saw a task fail.
    let output = doctor(&[], &["--remote", "/no/such/firsttouch", "--hosts", "n1"]);
    assert_code(&output, 1);
    assert!(stdout(&output).contains("/no/such/firsttouch: No such file"), "{}", stdout(&output));

    // Who measures has all of a node; its command says here what it has, and no document.
    let tells = slurm.path("tells");
    fs::write(&tells, "#!/bin/sh\necho \"$(nproc) of all, $2 $3\" >&2; exit 1\n").unwrap();
    fs::set_permissions(&tells, fs::Permissions::from_mode(0o755)).unwrap();
    let output =
        doctor(&[], &["--remote", tells.to_str().unwrap(), "--measure", "--json", "--hosts", "n1,n2"]);
    let document = json(&stdout(&output));
    for one in document["missing"].as_array().unwrap() {
        assert_eq!(one["why"], format!("{} of all, --json --measure (exit status 1)", processors()));
    }

    // In an allocation its nodes are asked, and in a step, which has taken all of them.
    let output = doctor(&["salloc", "--quiet", "-N", "2"], &ours);
    assert_eq!(names(&json(&stdout(&output))["hosts"]), ["n1", "n2"], "{}", stderr(&output));
    let output = doctor(&["srun", "-N", "1", "-w", "n2", "-c", &processors().to_string()], &ours);
    let document = json(&stdout(&output));
    assert_eq!(names(&document["hosts"]), ["n2"], "{document:#}");
    assert!(document["missing"].is_null(), "{document:#}");

    // A node that others have is waited for as long as is asked, and nothing of ours stays in the queue.
    let mut job = slurm.command("srun");
    job.args(["-w", "n2", "-c", &processors().to_string(), "cat"]);
    let mut job = job.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    slurm.wait_for(|slurm| slurm.said("squeue", &["-h", "-o", "%T"]) == "RUNNING\n");
    let output = doctor(&[], &[&ours[..], &["--hosts", "n2", "--host-limit", "2s"]].concat());
    assert_code(&output, 1);
    let why = json(&stdout(&output))["missing"][0]["why"].as_str().unwrap().to_owned();
    assert!(why.starts_with("no answer within 2 s: srun: job ") && why.contains(" queued "), "{why}");
    slurm.wait_for(|slurm| slurm.said("squeue", &["-h", "-o", "%T"]) == "RUNNING\n");
    drop(job.stdin.take());
    assert!(job.wait().unwrap().success());
}
