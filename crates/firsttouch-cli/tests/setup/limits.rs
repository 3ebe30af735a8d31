//! Limits, the kernel's command line, what profiles need, and what `doctor` proposes.

use crate::tree::Machine;
use crate::{Case, Outcome, Said, firsttouch, machine::is_root, skip};
use std::fs;
use std::process::{Child, Command, Stdio};

pub(crate) fn tests() -> Vec<Case> {
    vec![
        ("limits of users, groups and services", of_people),
        ("limits of the machine survive a boot", of_the_machine),
        ("limits that would lock people out are refused", out_of_reason),
        ("overcommit=2 without room to allocate is refused", overcommit_is_refused_without_room),
        ("limits of a running process, there and back", of_a_process),
        ("the kernel's command line", command_line),
        ("what a profile needs", profile),
        ("what doctor finds its hints mend", doctor),
    ]
}

const LIMITS: &str = "etc/security/limits.d/firsttouch.conf";

fn of_people() -> Outcome {
    let machine = Machine::new();
    let before = machine.tree();
    machine
        .setup(&["limits", "memlock=unlimited", "stack=1G", "--user", "ann", "--group", "ann", "--apply"])
        .ends(0);
    machine.setup(&["limits", "memlock=64G", "--user", "ann", "--apply"]).ends(0);
    let text = machine.read(LIMITS);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(
        lines,
        ["ann - memlock 67108864", "ann - stack 1048576", "@ann - memlock unlimited", "@ann - stack 1048576"]
    );
    // What is counted in KiB is no less than what was asked.
    machine.setup(&["limits", "memlock=1000", "--user", "bob", "--apply"]).ends(0);
    assert!(machine.read(LIMITS).ends_with("\nbob - memlock 1\n"));
    machine.setup(&["limits", "nofile=4096", "--apply"]).ends(0);
    assert!(machine.read(LIMITS).ends_with("\n* - nofile 4096\nroot - nofile 4096\n"));
    machine
        .setup(&["limits", "memlock=unlimited", "nofile=65536", "--service", "postgresql", "--apply"])
        .ends(0);
    let unit = machine.read("etc/systemd/system/postgresql.service.d/90-firsttouch.conf");
    assert!(unit.ends_with("\n[Service]\nLimitMEMLOCK=infinity\nLimitNOFILE=65536\n"), "{unit}");
    for (name, unit) in [("php8.2-fpm", "php8.2-fpm.service"), ("user@1000.service", "user@1000.service")] {
        machine.setup(&["limits", "memlock=1G", "--service", name, "--apply"]).ends(0);
        machine.read(&format!("etc/systemd/system/{unit}.d/90-firsttouch.conf"));
    }
    let said = machine.setup(&["limits", "memlock=1G", "--service", "ssh.socket", "--apply"]).ends(2);
    assert!(said.stderr.contains("`ssh.socket` is no service"), "{}", said.stderr);
    machine.setup(&["--undo"]).ends(0);
    assert!(machine.tree() == before);
    Ok(())
}

fn of_the_machine() -> Outcome {
    let machine = Machine::new();
    machine.write("etc/sysctl.d/90-firsttouch.conf", "vm.max_map_count = 1\nvm.swappiness = 10\n");
    let before = machine.tree();
    machine.setup(&["limits", "max-map-count=262144", "overcommit=1", "--apply", "--persist"]).ends(0);
    assert_eq!(machine.read("proc/sys/vm/max_map_count"), "262144\n");
    assert_eq!(
        machine.read("etc/sysctl.d/90-firsttouch.conf"),
        "vm.max_map_count = 262144\nvm.swappiness = 10\nvm.overcommit_memory = 1\n"
    );
    machine.setup(&["--undo"]).ends(0);
    assert!(machine.tree() == before);
    Ok(())
}

fn out_of_reason() -> Outcome {
    let machine = Machine::new();
    let before = machine.tree();
    for (words, says) in [
        (&["limits", "nofile=unlimited"][..], "at most 1048576"),
        (&["limits", "nofile=2000000"], "at most 1048576"),
        (&["limits", "nofile=0"], "nobody could log in with so little `nofile`: at least 64"),
        (&["limits", "nproc=1", "--group", "hpc"], "so little `nproc`"),
        (&["limits", "stack=4K", "--user", "ann"], "so little `stack`"),
        (&["limits", "as=1M"], "so little `as`"),
        (&["limits", "max-map-count=0"], "max-map-count has to be from 4096 to 2147483647"),
        (&["limits", "max-map-count=99999999999"], "max-map-count has to be from 4096 to 2147483647"),
        (&["limits", "overcommit=7"], "overcommit has to be from 0 to 2"),
        (&["limits", "memlock"], "how much?"),
        (&["limits", "colour=1"], "`colour` is no limit"),
        (&["limits", "memlock=1G", "--user", "a b"], "`a b` is no name"),
        (&["limits", "shmmax=1G", "--user", "ann"], "nobody's in particular"),
        (&["limits", "memlock=1G", "--pid", "1"], "on this machine"),
        (&["limits"], "nothing is asked for"),
    ] {
        let said = machine.setup(&[words, &["--apply"]].concat()).ends(2);
        assert!(said.stderr.contains(says), "{words:?}: {}", said.stderr);
    }
    assert!(machine.tree() == before);
    Ok(())
}

/// `overcommit=2` where the kernel has promised more than it then would is refused, with the figures; where there is room it is set.
fn overcommit_is_refused_without_room() -> Outcome {
    let machine = Machine::new();
    let meminfo = machine.read("proc/meminfo");
    let words = ["limits", "overcommit=2", "--apply"];
    let promised = |kib: u64| format!("{meminfo}CommitLimit:     8388608 kB\nCommitted_AS:   {kib} kB\n");
    for kib in [12582912, 8388608, 8388608 - 1024] {
        machine.write("proc/meminfo", &promised(kib));
        let said = machine.setup(&words).ends(1);
        assert!(said.stderr.contains("promise 8 GiB at most, and has promised"), "{}", said.stderr);
        assert_eq!(machine.read("proc/sys/vm/overcommit_memory"), "0\n");
    }
    machine.write("proc/meminfo", &promised(8388608 - (512 << 10)));
    machine.setup(&words).ends(0);
    assert_eq!(machine.read("proc/sys/vm/overcommit_memory").trim(), "2");
    // What is so already is no change, whatever was promised since.
    machine.write("proc/meminfo", &promised(12582912));
    machine.setup(&words).ends(0);
    Ok(())
}

/// A process of the test's own, which ends with it.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process of the test's own; the journal lies in a view of the file system of the test's own.
fn of_a_process() -> Outcome {
    if !is_root() {
        return skip("only root can change settings of the machine");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut sleep = Command::new("sleep");
    let sleeper = sleep.arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let sleeper = Sleeper(sleeper.unwrap());
    let child = &sleeper.0;
    let row = |pid: u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        text.lines().find(|line| line.starts_with("Max locked memory")).unwrap().to_owned()
    };
    let (pid, before) = (child.id().to_string(), row(child.id()));
    let setup = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", "mount --bind \"$0\" /var/lib && exec \"$@\""])
            .arg(folder.path());
        Said::of(command.arg(env!("CARGO_BIN_EXE_firsttouch")).arg("setup").args(words).env("COLUMNS", "200"))
    };
    let said = setup(&["limits", "memlock=64K", "--pid", &pid]);
    let outcome = if said.stderr.contains("unshare") || said.stderr.contains("mount") {
        skip("no mount namespace can be made here")
    } else {
        let said = said.ends(0);
        assert!(
            said.stdout.contains(&format!("sudo prlimit --pid {pid} --memlock=65536:")),
            "{}",
            said.stdout
        );
        assert_eq!(row(child.id()), before);
        setup(&["limits", "memlock=64K", "--pid", &pid, "--apply"]).ends(0);
        assert_eq!(row(child.id()).split_whitespace().nth(3), Some("65536"));
        setup(&["--undo"]).ends(0);
        assert_eq!(row(child.id()), before);
        setup(&["limits", "memlock=64K", "--pid", &pid, "--apply"]).ends(0);
        Ok(())
    };
    drop(sleeper);
    outcome?;
    // A process that has ended has no limits to take back, and neither has one that got its number.
    let listed = setup(&[]).ends(0);
    assert!(!listed.stdout.contains("prlimit") && listed.stdout.contains("nothing was set up"), "{listed:?}");
    setup(&["--undo"]).ends(0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    Ok(())
}

fn command_line() -> Outcome {
    let machine = Machine::new();
    let before = machine.tree();
    let grub = "etc/default/grub.d/90-firsttouch.cfg";
    let said = machine.setup(&["boot", "1g=2", "2m=64", "thp=madvise", "isolcpus=1", "--apply"]).ends(0);
    assert!(said.stdout.contains("sudo update-grub"), "{}", said.stdout);
    machine.setup(&["boot", "1g", "--node", "0=1", "--node", "1=3", "--apply"]).ends(0);
    for (release, told) in [("5.10.0-28-amd64", true), ("5.16.0", false)] {
        machine.write("proc/version", &format!("Linux version {release} (x) #1 SMP\n"));
        let said = machine.setup(&["boot", "1g", "--node", "0=1"]).ends(0);
        assert_eq!(said.stdout.contains(&format!("{release}, which runs here, would reserve nothing")), told);
        assert!(!machine.setup(&["boot", "1g=1"]).ends(0).stdout.contains("which runs here"));
    }
    fs::remove_file(machine.folder.path().join("proc/version")).unwrap();
    // The shell reads it as GRUB's own does.
    let line = "GRUB_CMDLINE_LINUX_DEFAULT=quiet; . \"$0\"; printf %s \"$GRUB_CMDLINE_LINUX_DEFAULT\"";
    let output =
        Command::new("sh").args(["-c", line]).arg(machine.folder.path().join(grub)).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "quiet hugepagesz=1G hugepages=0:1,1:3 hugepagesz=2M hugepages=64 transparent_hugepage=madvise \
         isolcpus=managed_irq,domain,1 nohz_full=1 rcu_nocbs=1"
    );
    machine.setup(&["--undo"]).ends(0);
    assert!(machine.tree() == before);
    for (words, says) in [
        (&["boot", "isolcpus=0-1"][..], "no CPU would be left"),
        (&["boot", "isolcpus=x"], "`x` is no list of CPUs"),
        (&["boot", "thp=often"], "a mode is always, madvise or never"),
        (&["boot", "quiet"], "`quiet` is no parameter"),
        (&["boot"], "nothing is asked for"),
    ] {
        let said = machine.setup(words).ends(2);
        assert!(said.stderr.contains(says), "{words:?}: {}", said.stderr);
    }
    // Another boot loader: the line, and nothing is changed.
    fs::remove_dir_all(machine.folder.path().join("etc/default")).unwrap();
    let before = machine.tree();
    let said = machine.setup(&["boot", "1g=2", "--apply"]).ends(0);
    assert!(said.stdout.contains("--args=\"hugepagesz=1G hugepages=2\""), "{}", said.stdout);
    assert!(machine.tree() == before);
    Ok(())
}

fn profile() -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lm.toml");
    let file = file.to_str().unwrap();
    let written = |text: &str| fs::write(file, format!("schema_version = 1\n[placement]\n{text}")).unwrap();
    let machine = Machine::new();
    let before = machine.tree();
    let made = |words: &[&str]| machine.setup(&[&["for", file], words, &["--apply"]].concat()).ends(0).stdout;
    written("pages = \"thp\"\n");
    made(&["--persist"]);
    assert_eq!(machine.thp("enabled"), "always [madvise] never\n");
    assert!(machine.read("etc/tmpfiles.d/firsttouch.conf").contains("/enabled - - - - madvise\n"));
    assert!(made(&[]).contains("needs nothing of this machine that it has not"));
    // What is so already is kept over a boot all the same.
    machine.setup(&["--undo"]).ends(0);
    made(&[]);
    made(&["--persist"]);
    assert!(machine.read("etc/tmpfiles.d/firsttouch.conf").contains("/enabled - - - - madvise\n"));
    written("pages = \"64k\"\n");
    made(&[]);
    assert_eq!(machine.thp("hugepages-64kB/enabled"), "always inherit [madvise] never\n");
    written("pages = \"2m\"\nmemory = \"bind=1\"\n");
    let said = machine.setup(&["for", file]).ends(2);
    assert!(said.stderr.contains("hint: --memory SIZE"), "{}", said.stderr);
    made(&["--memory", "1G"]);
    assert_eq!((machine.pool(0, 2048), machine.pool(1, 2048)), ("0".to_owned(), "512".to_owned()));
    // Nothing is taken of a pool in which so many are free, and what is in use is no room.
    let free = "sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages";
    machine.write(free, "512\n");
    assert!(made(&["--memory", "64M"]).contains("as asked already"));
    machine.write(free, "8\n");
    made(&["--memory", "64M"]);
    assert_eq!((machine.pool(0, 2048), machine.pool(1, 2048)), ("0".to_owned(), "536".to_owned()));
    machine.write(free, "0\n");
    written("pages = \"1g\"\n");
    made(&["--memory", "1500M"]);
    assert_eq!((machine.pool(0, 1 << 20), machine.pool(1, 1 << 20)), ("1".to_owned(), "1".to_owned()));
    machine.setup(&["--undo"]).ends(0);
    assert!(machine.tree() == before);
    written("pages = \"huge\"\n");
    assert!(machine.setup(&["for", file]).ends(1).stderr.contains("not a kind of pages"));
    machine.setup(&["for"]).ends(2);
    Ok(())
}

/// Faults that `setup` can mend: each hint is typed as it stands, and the finding is gone.
fn doctor() -> Outcome {
    let machine = Machine::new();
    for (file, text) in [
        ("sys/kernel/mm/transparent_hugepage/defrag", "[always] defer defer+madvise madvise never\n"),
        (
            "sys/kernel/mm/transparent_hugepage/shmem_enabled",
            "always within_size advise never deny [force]\n",
        ),
        ("sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0\n"),
        ("sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "always inherit madvise [never]\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "64\n"),
        ("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "32\n"),
        ("proc/sys/vm/max_map_count", "1000\n"),
        ("proc/sys/vm/overcommit_memory", "2\n"),
        ("proc/sys/kernel/shmmax", "4096\n"),
        ("proc/sys/kernel/shmall", "1\n"),
        ("proc/sys/vm/zone_reclaim_mode", "1\n"),
        ("sys/kernel/mm/ksm/run", "1\n"),
    ] {
        machine.write(file, text);
    }
    let before = machine.tree();
    let findings = || {
        let output = Command::new(env!("CARGO_BIN_EXE_firsttouch"))
            .args(["doctor", "--json", "--root"])
            .arg(machine.folder.path())
            .output()
            .unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = document["hosts"][0]["findings"].as_array().unwrap().clone();
        all.into_iter().map(|one| {
            (
                one["id"].as_str().unwrap().to_owned(),
                one["remedy"].as_str().unwrap_or_default().to_owned(),
                one["keep"].as_str().unwrap_or_default().to_owned(),
            )
        })
    };
    let (found, others): (Vec<_>, Vec<_>) =
        findings().partition(|(_, remedy, _)| remedy.contains("firsttouch setup"));
    let ids: Vec<&str> = found.iter().map(|(id, ..)| id.as_str()).collect();
    for id in [
        "mthp-off",
        "thp-defrag",
        "khugepaged-off",
        "shmem-huge",
        "pool-uneven",
        "shmmax-low",
        "shmall-low",
        "overcommit-strict",
        "max-map-count-low",
        "thp-always",
    ] {
        assert!(ids.contains(&id), "{id}: {ids:?}");
    }
    for (_, remedy, keep) in &found {
        for command in [remedy, keep] {
            let words = command.strip_prefix("sudo firsttouch setup ").unwrap_or_else(|| panic!("{command}"));
            let said = Said::of(firsttouch().args(words.split(' ')).arg("--root").arg(machine.folder.path()));
            said.ends(0);
        }
    }
    // What is typed to keep the others is in nobody's way.
    let kept: Vec<&str> = others
        .iter()
        .filter_map(|(.., keep)| keep.split_once("sudo tee -a /").map(|(_, file)| file))
        .collect();
    assert!(kept.iter().any(|file| file.contains("sysctl.d")), "{others:?}");
    assert!(kept.iter().any(|file| file.contains("tmpfiles.d")), "{others:?}");
    kept.iter().for_each(|file| machine.write(file, "more\n"));
    let left: Vec<String> = findings().map(|(id, ..)| id).filter(|id| ids.contains(&id.as_str())).collect();
    assert!(left.is_empty(), "{left:?}");
    machine.setup(&["--undo"]).ends(0);
    let now = machine.tree();
    let lost: Vec<_> = before.iter().filter(|(file, was)| now.get(*file) != Some(was)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    for file in ["etc/sysctl.d/90-firsttouch.conf", "etc/tmpfiles.d/firsttouch.conf"] {
        assert!(!machine.folder.path().join(file).exists(), "{file}");
    }
    Ok(())
}
