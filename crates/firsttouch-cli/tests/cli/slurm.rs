//! Ranks behind Slurm: its daemons are started in a folder, with a configuration and ports of their own, and stopped again.

use crate::jobs::{apart, cpus, shards_find_what_one_finds, show};
use crate::{assert_code, firsttouch, json_file, skipped, stderr};
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A busy machine starts three daemons within this time.
const PATIENCE: Duration = Duration::from_secs(120);

/// One node, this machine, and what runs it.
struct Slurm {
    folder: TempDir,
    daemons: Vec<Child>,
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

impl Slurm {
    /// `None`, which is said, where it cannot be started.
    fn start() -> Option<Slurm> {
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
        let mut slurm = Slurm { folder, daemons: Vec::new() };
        slurm.configure();
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
        slurm.daemon("slurmd", &["-D"], &[]);
        slurm.wait_for(|slurm| {
            let states = slurm.command("sinfo").args(["-h", "-o", "%T"]).output().unwrap();
            states.stdout.starts_with(b"idle")
        });
        Some(slurm)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self) {
        let folder = self.folder.path().display();
        let ports = [0, 0].map(|any| TcpListener::bind(("127.0.0.1", any)).unwrap());
        let [control, node] = ports.map(|port| port.local_addr().unwrap().port());
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim();
        let count = fs::read_to_string("/proc/cpuinfo").unwrap().matches("\nprocessor\t").count() + 1;
        let lines = [
            "ClusterName=test".to_owned(),
            format!("SlurmctldHost={host}(127.0.0.1)"),
            format!("AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={folder}/munge.sock"),
            format!("SlurmUser=root\nSlurmctldPort={control}\nSlurmdPort={node}"),
            format!("StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool"),
            format!("SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.pid"),
            "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/affinity\nMpiDefault=none".to_owned(),
            "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2".to_owned(),
            format!(
                "NodeName={host} NodeAddr=127.0.0.1 CPUs={count}\nPartitionName=all Nodes={host} Default=YES\n"
            ),
        ];
        fs::write(self.path("slurm.conf"), lines.join("\n")).unwrap();
        ["state", "spool"].iter().for_each(|name| fs::create_dir(self.path(name)).unwrap());
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

    fn daemon(&mut self, program: &str, words: &[&str], options: &[(&str, &Path)]) {
        let log = File::create(self.path(&format!("{program}.out"))).unwrap();
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
    assert_code(&too_many, 125);
    assert!(stderr(&too_many).contains("4 ranks have 1 CPU among them"), "{}", stderr(&too_many));

    // A batch script is no rank, and starts some, whose receipts are one document.
    let receipt = slurm.path("receipt.json");
    let script = format!(
        "#!/bin/sh\n\"{own}\" run --ranks auto -- true && exit 9\nsrun --cpu-bind=none \"{own}\" run --pages plain --ranks auto --receipt {} -- true\n",
        receipt.display(),
        own = firsttouch().get_program().display(),
    );
    let file = slurm.path("job.sh");
    fs::write(&file, script).unwrap();
    let mut batch = slurm.command("sbatch");
    batch.args(["--wait", "-n", "2", "-o"]).arg(slurm.path("out")).arg(&file);
    let output = batch.output().unwrap();
    let written = fs::read_to_string(slurm.path("out")).unwrap_or_default();
    assert!(output.status.success(), "{output:?} {written}");
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
    tune.arg("--export-json").arg(&tuned).arg("--sbatch").arg(&script).args([
        "--",
        "srun",
        "-n",
        "2",
        "--overlap",
        "dd",
        "if=/dev/zero",
        "of=/dev/null",
        "bs=64M",
        "count=64",
    ]);
    assert_code(&tune.output().unwrap(), 0);
    let mut batch = slurm.command("sbatch");
    batch.args(["--wait", "-n", "2", "-o"]).arg(slurm.path("tuned.out")).arg(&script);
    let output = batch.output().unwrap();
    let written = fs::read_to_string(slurm.path("tuned.out")).unwrap_or_default();
    assert!(output.status.success(), "{output:?} {written}");
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
