//! `doctor` on several hosts: in network namespaces with sshd, by mpirun, and from documents.

use crate::{assert_code, assert_said, firsttouch, json, json_of, run, skipped, stdout};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// The command on a host, which looks at its machine and has the measured values written: they are the test's, not the machine's.
const WRAPPER: &str = r#"#!/bin/sh
measured='{}'
left=$#
while [ "$left" -gt 0 ]; do
    word=$1
    shift
    left=$((left - 1))
    case $word in
        --measure) measured='{ "bandwidth_bytes_per_s": BANDWIDTH, "latency_ps": 90000 }' ;;
        --tolerance) shift; left=$((left - 1)) ;;
        *) set -- "$@" "$word" ;;
    esac
done
COMMAND "$@" | sed -e "s/\"measured\": {}/\"measured\": $measured/" EDIT
"#;

/// Hosts in namespaces.
struct Cluster {
    folder: TempDir,
}

impl Cluster {
    /// `None` where they cannot be made, which is said.
    fn new() -> Option<Cluster> {
        for (tool, option) in [("/usr/sbin/sshd", "-V"), ("ssh", "-V"), ("ip", "-V"), ("bash", "--version")] {
            if Command::new(tool).arg(option).output().is_err() {
                skipped(&format!("there is no {tool}"));
                return None;
            }
        }
        let namespaces =
            ["--net", "--mount", "--uts", "--pid", "--fork", "mount", "-t", "tmpfs", "none", "/run"];
        if !Command::new("unshare").args(namespaces).output().unwrap().status.success() {
            skipped("no mount namespace or network namespace can be made here");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("hosts")).unwrap();
        Some(Cluster { folder })
    }

    /// A host, on which nobody answers where there is no command.
    fn host(&self, name: &str, command: Option<&str>) {
        let host = self.folder.path().join("hosts").join(name);
        fs::create_dir(&host).unwrap();
        let Some(text) = command else { return };
        fs::create_dir(host.join("bin")).unwrap();
        if !text.is_empty() {
            let file = host.join("bin/firsttouch");
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// `doctor` with these options, on a machine that reaches the hosts.
    fn doctor(&self, arguments: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/cluster/cluster.sh");
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"]);
        command.arg(script).arg(self.folder.path()).arg(firsttouch().get_program());
        command.env("COLUMNS", "200").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        let ssh = format!("ssh -F '{}'", self.file("config"));
        command.args(["doctor", "--ssh", &ssh]).args(arguments).output().unwrap()
    }
}

fn wrapper(bandwidth: &str, edit: &str) -> String {
    let command = firsttouch().get_program().to_str().unwrap().to_owned();
    WRAPPER.replace("BANDWIDTH", bandwidth).replace("COMMAND", &command).replace("EDIT", edit)
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// The fact that differs, if it does.
fn differing<'a>(document: &'a Value, fact: &str) -> Option<&'a Value> {
    document["compared"]["differing"].as_array().unwrap().iter().find(|one| one["fact"] == fact)
}

#[test]
fn another_setting_a_slow_one_another_version_and_those_that_do_not_answer_are_found_and_named() {
    let Some(cluster) = Cluster::new() else { return };
    let Ok(setting) = fs::read_to_string(THP) else {
        return skipped("this machine gives no transparent huge pages");
    };
    let (mode, line) = match setting.contains("[never]") {
        true => ("madvise", "always [madvise] never\n"),
        false => ("never", "always madvise [never]\n"),
    };
    let good = wrapper("20000000000", "");
    cluster.host("good", Some(&good));
    cluster.host("setting", Some(&good));
    fs::write(cluster.folder.path().join("hosts/setting/thp"), line).unwrap();
    cluster.host("slow", Some(&wrapper("5000000000", "")));
    let edit = r#"-e 's/"version": "[^"]*"/"version": "0.0.1"/'"#;
    cluster.host("version", Some(&wrapper("19500000000", edit)));
    cluster.host("down", None);
    cluster.host("nonsense", Some("#!/bin/sh\necho hello; echo there is no such thing >&2\n"));
    cluster.host("newer", Some(&wrapper("1", r#"-e 's/"schema_version": 1/"schema_version": 99/'"#)));
    cluster.host("bare", Some(""));

    // A profile that lies on this side alone, and a host that is named twice.
    let profile = cluster.file("mine.toml");
    fs::write(&profile, format!("[expect]\nthp = \"{mode}\"\n")).unwrap();
    let hosts = cluster.file("list");
    fs::write(&hosts, "good\nsetting # new\nslow\nversion\ngood\ndown\nnonsense\nnewer\nbare\n").unwrap();
    let (page, table) = (cluster.file("page.html"), cluster.file("table.md"));
    let options = ["--hosts", &hosts, "--measure", "--profile", &profile, "--strict", "--json"];
    let output = cluster.doctor(&[&options[..], &["--export-html", &page, "--export-md", &table]].concat());
    assert_code(&output, 3);
    let document = json(&stdout(&output));
    assert_eq!(names(&document["hosts"]), ["good", "setting", "slow", "version"], "{document:#}");
    let missing = &document["missing"];
    assert_eq!(names(missing), ["down", "nonsense", "newer", "bare"]);
    for (one, why) in missing.as_array().unwrap().iter().zip([
        "10.99.0.", // The address, to which there is no way.
        "`hello`; there is no such thing (exit status 0)",
        "schema_version 99; this version of firsttouch reads 1",
        "not found (exit status 127)",
    ]) {
        assert!(one["why"].as_str().unwrap().contains(why), "{one}");
    }
    let others = |fact: &str| differing(&document, fact).map(|one| one["others"].clone());
    assert_eq!(others("firsttouch"), Some(serde_json::json!({ "0.0.1": ["version"] })));
    assert_eq!(others(THP), Some(serde_json::json!({ mode: ["setting"] })));
    assert_eq!(differing(&document, THP).unwrap()["hosts"], 3);
    let slow = document["compared"]["slow"].as_array().unwrap();
    assert_eq!(slow.len(), 1, "{slow:?}");
    let [host, quantity] = ["host", "quantity"].map(|key| slow[0][key].as_str().unwrap());
    assert_eq!((host, quantity), ("slow", "bandwidth_bytes_per_s"));
    assert_eq!(slow[0]["value"], 5_000_000_000_u64);
    // The profile was heeded there: what it expects is found where it is not.
    for host in document["hosts"].as_array().unwrap() {
        let ids = host["findings"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap());
        let expected =
            ids.into_iter().any(|id| id == "expected-thp" || id == "thp-always" || id == "thp-never");
        assert!(expected || host["name"] == "setting", "{host:#}");
    }

    let text = stdout(&run(&["report", &page]));
    for line in [
        "4 of 8 hosts answered; ",
        "\nno document\n",
        &format!("  {THP}: "),
        &format!("{mode}: setting\n"),
        "(3 hosts); 0.0.1: version\n",
        "  slow: bandwidth of memory 5.0 GB/s; the median of 4 hosts is 19.5 GB/s, and below ",
        "\nthe same on all hosts\n",
        "  kernel: ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let table = fs::read_to_string(&table).unwrap();
    for line in [
        "\n## Not the same on all hosts\n",
        "| `slow` | bandwidth of memory 5.0 GB/s; ",
        "\n## No document\n",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }

    // What these hosts said, put together again, is the same; and hosts that are alike differ in nothing.
    let (all, one) = (cluster.file("all.json"), cluster.file("one.json"));
    fs::write(&all, stdout(&output)).unwrap();
    let again = json(&stdout(&run(&["doctor", "--merge", &all, "--json"])));
    assert_eq!((&again["hosts"], &again["compared"]), (&document["hosts"], &document["compared"]));
    assert_eq!(&again["missing"], missing);
    let mut alone = document.clone();
    alone["hosts"].as_array_mut().unwrap().truncate(1);
    alone["missing"] = Value::Array(Vec::new());
    fs::write(&one, alone.to_string()).unwrap();
    let twice = json(&stdout(&run(&["doctor", "--merge", &one, &one, "--json"])));
    assert_eq!(names(&twice["hosts"])[1], format!("good ({one})"));
    assert_eq!(twice["compared"], serde_json::json!({ "differing": [], "slow": [] }));

    // Later: who has its name in an earlier document is held against itself, and who has not, against most.
    let earlier = |measured: &[(&str, u64)]| {
        let host = |(name, gb): &(&str, u64)| {
            let mut host = document["hosts"][0].clone();
            host["name"] = (*name).into();
            host["measured"]["bandwidth_bytes_per_s"] = (gb * 1_000_000_000).into();
            host
        };
        let mut earlier = document.clone();
        earlier["hosts"] = measured.iter().map(host).collect();
        fs::write(&one, earlier.to_string()).unwrap();
    };
    let low = |held: &Output| {
        let document = json(&stdout(held));
        let of = |host: &Value| {
            let findings = host["findings"].as_array().unwrap();
            let low = findings.iter().find(|finding| finding["id"] == "bandwidth-low")?;
            let [source, text] = ["source", "text"].map(|key| low["evidence"][1][key].as_str().unwrap());
            Some(format!("{} than {text} of {source}", host["name"].as_str().unwrap()))
        };
        document["hosts"].as_array().unwrap().iter().filter_map(of).collect::<Vec<_>>()
    };
    earlier(&[("slow", 5), ("a", 20), ("b", 20), ("c", 40)]);
    let words = ["--hosts", "slow,version", "--measure", "--json", "--against", &one];
    assert_eq!(low(&cluster.doctor(&words)), [""; 0]);
    earlier(&[("slow", 10), ("a", 30), ("b", 30), ("good", 20)]);
    let slow = format!("slow than 10000000000 of {one}, slow");
    assert_eq!(low(&cluster.doctor(&words)), [slow.as_str()]);
    earlier(&[("slow", 10), ("a", 30), ("b", 30), ("good", 20), ("c", 30)]);
    let most = |name| format!("{name} than 30000000000 of the median of 5 machines");
    let merged = run(&["doctor", "--merge", &all, "--against", &one, "--json"]);
    assert_eq!(low(&merged), [most("setting"), slow, most("version")]);
}

#[test]
fn a_host_that_never_ends_is_missing_with_the_reason() {
    let Some(cluster) = Cluster::new() else { return };
    cluster.host("endless", Some("#!/bin/sh\necho waiting >&2; exec tail -f /dev/null\n"));
    let output = cluster.doctor(&["--hosts", "endless", "--host-limit", "3s"]);
    assert_code(&output, 1);
    let text = stdout(&output);
    assert!(
        text.contains("0 of 1 host answered") && text.contains("endless: no answer within 3 s"),
        "{text}"
    );
}

#[test]
fn mpirun_says_which_hosts_there_are_and_reaches_them() {
    let version = Command::new("mpirun").arg("--version").output();
    if !version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("Open MPI")) {
        return skipped("there is no mpirun of Open MPI");
    }
    let command = firsttouch().get_program().to_str().unwrap().to_owned();
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    // Two ranks are on this machine, which is one host.
    let mpi = "--mpi=mpirun --allow-run-as-root --oversubscribe";
    let two_ranks = format!("{mpi} --map-by ppr:2:node");
    let document = json_of(&run(&["doctor", &two_ranks, "--remote", &command, "--json"]));
    assert_eq!(names(&document["hosts"]), [name.as_str()], "{document:#}");
    // All of the machine is looked at, and not the core that a rank would have.
    let cpus = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let alone = json(&stdout(&run(&["doctor", "--json"])));
    assert_eq!(document["hosts"][0]["facts"]["CPUs"], alone["hosts"][0]["facts"]["CPUs"], "{cpus}");
    // By two of its names it is two hosts, which differ in nothing that lasts.
    let hosts = format!("{name},localhost");
    let output = run(&["doctor", mpi, "--remote", &command, "--hosts", &hosts, "--json"]);
    let document = json_of(&output);
    assert_eq!(names(&document["hosts"]), [name.as_str(), "localhost"], "{document:#}");
    assert_eq!(differing(&document, "kernel"), None);
    // MPICH's takes the same options.
    if Command::new("mpirun.mpich").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let output = run(&["doctor", "--mpi=mpirun.mpich", "--remote", &command, "--json"]);
        assert_eq!(names(&json_of(&output)["hosts"]), [name.as_str()]);
    }
    // A command that is not there is told, and nobody is left.
    let output = run(&["doctor", mpi, "--remote", "/no/such/firsttouch", "--hosts", &name]);
    assert_code(&output, 1);
    assert!(stdout(&output).contains("\nno document\n"), "{}", stdout(&output));
}

#[test]
fn a_launcher_that_a_pipe_kills_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = (folder.path().join("mpirun"), folder.path().join("log"));
    let command = firsttouch().get_program().to_str().unwrap().to_owned();
    // Dies so many times of each of its commands, and then does it.
    let text = |dies: u32| {
        format!(
            "#!/bin/sh\necho \"$*\" >> {log}\n[ \"$(grep -cxF -- \"$*\" {log})\" -gt {dies} ] || kill -PIPE $$\n\
             while [ \"$1\" != uname ] && [ \"$1\" != {command} ]; do shift; done\nexec \"$@\"\n",
            log = log.display()
        )
    };
    let doctor = |dies: u32| {
        fs::write(&file, text(dies)).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        fs::write(&log, "").unwrap();
        run(&["doctor", &format!("--mpi={}", file.display()), "--remote", &command, "--json"])
    };
    let output = doctor(1);
    assert_code(&output, 0);
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(names(&json(&stdout(&output))["hosts"]), [name.trim()]);
    let starts = fs::read_to_string(&log).unwrap();
    assert_eq!(starts.lines().filter(|line| *line == "uname -n").count(), 2, "{starts}");
    assert_eq!(starts.lines().count(), 4, "{starts}");
    assert_said(&doctor(1000), 1, &["nobody names the hosts: signal 13"]);
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 5);
}

#[test]
fn slurm_names_the_nodes_and_srun_runs_on_each() {
    // Slurm's own commands, as far as they matter here: what they are told is written down, and a node of two is down.
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    };
    script("sinfo", "printf 'n1 idle\\nn2 down*\\nn1 idle\\n'");
    script("scontrol", "echo n1");
    let command = firsttouch().get_program().to_str().unwrap().to_owned();
    let log = folder.path().join("log");
    script(
        "srun",
        &format!(
            "echo \"$@\" >> {}; while [ \"$1\" != {command} ]; do shift; done; exec \"$@\"",
            log.display()
        ),
    );
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let doctor = |in_job: bool| {
        let mut asked = firsttouch();
        asked.env("PATH", &path).env_remove("SLURM_JOB_ID").env_remove("SLURM_JOB_NODELIST");
        if in_job {
            asked.env("SLURM_JOB_ID", "1").env("SLURM_JOB_NODELIST", "n1");
        }
        asked.args(["doctor", "--slurm=srun --quiet", "--remote", &command, "--json"]).output().unwrap()
    };
    let document = json_of(&doctor(false));
    assert_eq!((names(&document["hosts"]), names(&document["missing"])), (vec!["n1"], vec!["n2"]));
    assert_eq!(document["missing"][0]["why"], "Slurm says: down*");
    let output = doctor(true);
    assert_eq!(names(&json(&stdout(&output))["hosts"]), ["n1"]);
    let told = fs::read_to_string(&log).unwrap();
    let words = "--quiet --nodes=1 --ntasks=1 --nodelist n1 --cpu-bind=none";
    assert_eq!(told, format!("{words} {command} doctor --json\n{words} --overlap {command} doctor --json\n"));
}

#[test]
fn what_names_no_host_and_what_cannot_be_asked_together_is_refused() {
    for hosts in ["-oProxyCommand=touch /tmp/x", "a;b", "n[2-1]", ""] {
        assert_said(&run(&["doctor", &format!("--hosts={hosts}")]), 2, &["hint: "]);
    }
    let contradictions: [&[&str]; 4] = [
        &["--hosts", "a", "--root", "/"],
        &["--slurm", "--mpi"],
        &["--ssh", "ssh"],
        &["--merge", "x.json", "--measure"],
    ];
    for words in contradictions {
        assert_code(&run(&[&["doctor"], words].concat()), 2);
    }
    assert_said(&run(&["doctor", "--mpi=false"]), 1, &["nobody names the hosts: exit status 1"]);
}

#[test]
fn a_file_that_is_no_document_is_told_and_does_not_cost_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = file("good.json", &stdout(&run(&["doctor", "--json"])));
    let status = file("status.json", &stdout(&run(&["status", "--json"])));
    let broken = file("broken.json", "{");
    let document = json_of(&run(&["doctor", "--merge", &good, &status, &broken, "/no/such/file", "--json"]));
    assert_eq!(document["hosts"].as_array().unwrap().len(), 1);
    assert_eq!(names(&document["missing"]), [status.as_str(), &broken, "/no/such/file"]);
    assert_code(&run(&["doctor", "--merge", &broken]), 1);
}

/// Four hosts of which there are documents of `measure` and `bench`, as the command writes them, with values of the test's; of the first
/// there is one of `doctor`, too.
#[test]
fn what_was_measured_and_what_ran_is_put_together_by_host() {
    let folder = tempfile::tempdir().unwrap();
    let keep = |name: &str, document: &Value| {
        let path = folder.path().join(name);
        fs::write(&path, document.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let by = |words: &[&str]| json_of(&run(words));
    let mut looked_at = by(&["doctor", "--json"]);
    let mut measured = by(&["measure", "--quick", "--size", "16M", "--json", "--no-save"]);
    let tiny = ["--set", "table=64K", "--set", "reads=1000", "--max-runs", "2", "--steps", "1", "--json"];
    let mut ran = by(&[&["bench", "gather"], &tiny[..]].concat());
    let kernel = measured["machine"]["kernel"].as_str().unwrap().to_owned();
    looked_at["hosts"][0]["name"] = "n1".into();
    let mut files = vec![keep("of-doctor.json", &looked_at)];
    let node = measured["nodes"][0]["id"].clone();
    for (host, latency_ns, read_gbps, seconds) in [
        ("n1", 100.0, 20.0, 1.0e-3),
        ("n2", 103.0, 19.8, 1.01e-3),
        ("n3", 98.0, 20.1, 0.99e-3),
        ("n4", 400.0, 8.0, 3.0e-3),
    ] {
        measured["latency_ns"][0][0] = latency_ns.into();
        measured["read_gbps"][0][0] = read_gbps.into();
        measured["machine"]["kernel"] = if host == "n2" { "0.1".into() } else { kernel.as_str().into() };
        files.push(keep(&format!("{host}.measure.json"), &measured));
        ran["cases"][0]["parameters"]["table"] = if host == "n3" { "1M" } else { "64K" }.into();
        let configurations = &mut ran["cases"][0]["comparisons"][0]["session"]["configurations"];
        for one in configurations.as_array_mut().unwrap() {
            one["judged"] = serde_json::json!({ "mean": seconds, "deviation": null });
        }
        files.push(keep(&format!("{host}.gather.json"), &ran));
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let (table, all) = (folder.path().join("table.md"), [&["doctor", "--merge"], &files[..]].concat());
    let document = by(&[&all[..], &["--json", "--export-md", table.to_str().unwrap()]].concat());
    assert_eq!(names(&document["hosts"]), ["n1", "n2", "n3", "n4"], "{document:#}");
    assert!(document["missing"].is_null(), "{document:#}");
    // What `doctor`, `measure` and `bench` wrote of it is one host.
    let first = &document["hosts"][0];
    assert_eq!(
        (&first["findings"], &first["version"]),
        (&looked_at["hosts"][0]["findings"], &looked_at["hosts"][0]["version"])
    );
    let [latency, read] = [("latency", "ps"), ("read", "bytes_per_s")]
        .map(|(what, unit)| format!("{what}_node{node}_from_node{node}_{unit}"));
    let ran_words: Vec<&str> = first["measured"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .filter(|word| word.starts_with("bench gather "))
        .collect();
    assert!(!ran_words.is_empty(), "{first:#}");
    assert_eq!(
        (&first["measured"][&latency], &first["measured"][&read]),
        (&100_000.into(), &20_000_000_000_u64.into())
    );
    assert_eq!(document["hosts"][3]["measured"][ran_words[0]], 3_000_000_000_u64);

    // Most have one kernel and ran by the same parameters; what only one was looked at for differs from nobody.
    let differing: Vec<(&str, &Value, &Value)> =
        (document["compared"]["differing"].as_array().unwrap().iter())
            .map(|one| (one["fact"].as_str().unwrap(), &one["hosts"], &one["others"]))
            .collect();
    let parameters = |table| format!("reads=1000 table={table}");
    assert_eq!(
        differing,
        [
            ("bench gather", &3.into(), &serde_json::json!({ parameters("1M"): ["n3"] })),
            ("kernel", &3.into(), &serde_json::json!({ "0.1": ["n2"] })),
        ]
    );
    // One is slow in all that the test has set.
    let slow = document["compared"]["slow"].as_array().unwrap();
    let of = |word: &str| {
        slow.iter().find(|one| one["quantity"] == word).unwrap_or_else(|| panic!("{word}: {slow:?}"))
    };
    for word in [&latency[..], &read, ran_words[0]] {
        assert_eq!((&of(word)["host"], &of(word)["hosts"]), (&"n4".into(), &4.into()));
    }
    assert_eq!((&of(&latency)["value"], &of(&latency)["median"]), (&400_000.into(), &103_000.into()));
    assert!(slow.iter().all(|one| one["host"] == "n4"), "{slow:?}");

    let strict = run(&[&all[..], &["--strict"]].concat());
    assert_code(&strict, 3);
    let table = fs::read_to_string(&table).unwrap();
    for line in [
        "4 hosts; 2 things differ; slower than the others: n4; ".to_owned(),
        format!("n4: {latency} 400.0 ns; the median of 4 hosts is 103.0 ns, and above "),
        format!("n4: {read} 8.0 GB/s; the median of 4 hosts is 19.8 GB/s, and below "),
        "0.1: n2".to_owned(),
    ] {
        assert!(stdout(&strict).contains(&line), "{line}: {}", stdout(&strict));
    }
    assert!(table.contains(" 400.0 ns; the median of 4 hosts is 103.0 ns"), "{table}");
    assert!(table.contains(" | 1.01 ms | 3.00 ms on n4 | 990.0 µs on n3 |"), "{table}");
}
