//! Machines that are written below a folder: what is planned, made, refused and taken back.

use crate::machine::is_root;
use crate::tree::Machine;
use crate::{Case, Outcome, Said, firsttouch};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;

pub(crate) fn tests() -> Vec<Case> {
    vec![
        ("a dry run says what it would do and does nothing", dry_run),
        ("pages are shared out over nodes", over_nodes),
        ("what would starve the machine is refused", starving),
        ("what is set survives a boot and is taken back to the byte", there_and_back),
        ("what somebody else has changed since is left alone", meddling),
        ("one session after the other, newest first", several),
        ("a topic is taken back, and nothing else", by_topic),
        ("nodes are named by their memory", kinds),
        ("words that mean nothing are refused", wrong_words),
        ("not root: what to type", not_root),
        ("two at a time are one too many", busy),
        ("every command of the page does what it says", page),
    ]
}

const NODE0: &str = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";

fn dry_run() -> Outcome {
    let machine = Machine::new();
    let before = machine.tree();
    let said = machine.setup(&["pages", "2m=1024", "--persist"]).ends(0);
    let disk = machine.folder.path().display();
    for line in [
        format!("{NODE0}\n  now       0\n  becomes   512\n  why       1 GiB as 2m pages on node 0\n"),
        format!("  command   echo 512 | sudo tee {disk}{NODE0}\n"),
        format!("  command   sudo tee {disk}/etc/systemd/system/firsttouch-pages.service <<'END'\n"),
        "nothing was changed: --apply makes these changes, --undo takes them back\n".to_owned(),
    ] {
        assert!(said.stdout.contains(&line), "{line}{}", said.stdout);
    }
    let document = machine.setup(&["thp", "madvise", "--json"]).ends(0).json();
    let change = &document["changes"][0];
    assert_eq!(document["action"], "dry-run");
    assert_eq!(
        (&change["before"], &change["asked"], &change["state"]),
        (&"never".into(), &"madvise".into(), &"planned".into())
    );
    assert_eq!(
        machine.setup(&[]).ends(0).stdout,
        "to know\n  nothing was set up here, or all of it was taken back\n"
    );
    assert!(machine.tree() == before);
    Ok(())
}

/// The commands that are printed do what `--apply` does.
fn over_nodes() -> Outcome {
    let pools = |words: &[&str]| {
        let machine = Machine::new();
        machine.setup(&[&["pages"], words, &["--apply"]].concat()).ends(0);
        [(0, 2048), (1, 2048), (0, 1 << 20), (1, 1 << 20)].map(|(node, kib)| machine.pool(node, kib))
    };
    assert_eq!(pools(&["2m=1025"]), ["513", "512", "0", "0"]);
    assert_eq!(pools(&["2m=1G", "1g=2"]), ["256", "256", "1", "1"]);
    assert_eq!(pools(&["2m=7", "1g=1", "--node", "1"]), ["0", "7", "0", "1"]);
    assert_eq!(pools(&["2m", "--node", "0=64", "--node", "1=1G"]), ["64", "512", "0", "0"]);
    Ok(())
}

fn starving() -> Outcome {
    let machine = Machine::new();
    let before = machine.tree();
    // Two of the 14 GiB have to stay: an eighth of the 16 that there are.
    let said = machine.setup(&["pages", "2m=13G", "--apply"]).ends(1);
    assert!(
        said.stderr
            .contains("13 GiB are asked for, of 14 GiB that the machine has left: 2 GiB have to stay free"),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains("--force"), "{}", said.stderr);
    // A node has 7 GiB, files included.
    let said = machine.setup(&["pages", "2m=8G", "--node", "1", "--apply"]).ends(1);
    assert!(said.stderr.contains("of 7 GiB that node 1 has left"), "{}", said.stderr);
    assert!(machine.tree() == before);
    let said = machine.setup(&["pages", "2m=12G"]).ends(0);
    assert!(
        said.stdout.contains("2 GiB of 14 GiB stay free (at least 2 GiB have to: --rest)"),
        "{}",
        said.stdout
    );
    machine.setup(&["pages", "2m=12G", "--rest", "3G"]).ends(1);
    machine.setup(&["pages", "2m=13G", "--rest", "1G"]).ends(0);
    machine.setup(&["pages", "2m=8G", "--node", "1", "--force", "--apply"]).ends(0);
    assert_eq!(machine.pool(1, 2048), "4096");
    // What shrinks makes room.
    machine.setup(&["pages", "2m=0", "1g=7", "--node", "1", "--apply"]).ends(0);
    assert_eq!((machine.pool(1, 2048), machine.pool(1, 1 << 20)), ("0".to_owned(), "7".to_owned()));
    Ok(())
}

fn there_and_back() -> Outcome {
    let machine = Machine::new();
    machine.write(
        "etc/tmpfiles.d/firsttouch.conf",
        "# mine\nw /sys/kernel/mm/transparent_hugepage/defrag - - - - never\n",
    );
    let before = machine.tree();
    let words = [
        "thp",
        "madvise",
        "thp-defrag=defer",
        "64k=madvise",
        "2m=inherit",
        "khugepaged=off",
        "--persist",
        "--apply",
        "--json",
    ];
    let document = machine.setup(&words).ends(0).json();
    let state = |path: &str| {
        let changes = document["changes"].as_array().unwrap();
        changes.iter().find(|change| change["path"].as_str().unwrap().ends_with(path)).unwrap()["state"]
            .clone()
    };
    assert_eq!((state("hugepage/enabled"), state("2048kB/enabled")), ("obtained".into(), "already".into()));
    assert_eq!(machine.thp("enabled"), "always [madvise] never\n");
    assert_eq!(machine.thp("defrag"), "always [defer] defer+madvise madvise never\n");
    assert_eq!(machine.thp("khugepaged/defrag"), "0\n");
    assert_eq!(
        machine.read("etc/tmpfiles.d/firsttouch.conf"),
        "# mine\nw /sys/kernel/mm/transparent_hugepage/defrag - - - - defer\n\
         w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise\n\
         w /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled - - - - madvise\n\
         w /sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled - - - - inherit\n\
         w /sys/kernel/mm/transparent_hugepage/khugepaged/defrag - - - - 0\n"
    );
    let made = machine.setup(&["pages", "2m=1024", "1g=2", "--persist", "--apply"]).ends(0).stdout;
    let unit = machine.read("etc/systemd/system/firsttouch-pages.service");
    assert_eq!(unit.matches("ExecStart=").count(), 4, "{unit}");
    let link = machine.folder.path().join("etc/systemd/system/sysinit.target.wants/firsttouch-pages.service");
    assert_eq!(fs::read_link(link).unwrap().to_str(), Some("/etc/systemd/system/firsttouch-pages.service"));
    assert!(machine.read("etc/systemd/system/dev-hugepages1G.mount").contains("\nOptions=pagesize=1G\n"));
    let listed = machine.setup(&[]).ends(0).stdout;
    let undo = format!("firsttouch setup --undo --root {}", machine.folder.path().display());
    assert!(made.contains(&format!("\ntaken back by: {undo}   (")), "{made}");
    assert!(
        listed.contains("dev-hugepages1G.mount\n") && listed.contains(&format!("  {undo}\n")),
        "{listed}"
    );
    let document = machine.setup(&["--undo", "--json"]).ends(0).json();
    assert_eq!((&document["action"], &document["journal"]), (&"undo".into(), &serde_json::Value::Null));
    assert!(machine.tree() == before);
    assert!(machine.setup(&["--undo"]).ends(0).stdout.contains("there is nothing to take back"));
    assert!(machine.tree() == before);
    Ok(())
}

fn meddling() -> Outcome {
    let machine = Machine::new();
    let before = machine.tree();
    machine.setup(&["thp", "madvise", "thp-defrag=defer", "--apply"]).ends(0);
    machine
        .write("sys/kernel/mm/transparent_hugepage/defrag", "[always] defer defer+madvise madvise never\n");
    let said = machine.setup(&["--undo"]).ends(1);
    assert!(said.stdout.contains("it is not what was put there"), "{}", said.stdout);
    assert_eq!(machine.thp("defrag"), "[always] defer defer+madvise madvise never\n");
    assert_eq!(machine.thp("enabled"), "always madvise [never]\n");
    machine.setup(&["--undo", "--force"]).ends(0);
    assert!(machine.tree() == before);
    // Nothing but a count of pages has values that are on the way.
    machine.setup(&["limits", "max-map-count=262144", "--apply"]).ends(0);
    machine.setup(&["pages", "2m=64", "--apply"]).ends(0);
    machine.write("proc/sys/vm/max_map_count", "131072\n");
    machine.write(&NODE0[1..], "16\n");
    let said = machine.setup(&["--undo"]).ends(1);
    assert_eq!(said.stdout.matches("it is not what was put there").count(), 2, "{}", said.stdout);
    assert_eq!(
        (machine.read("proc/sys/vm/max_map_count"), machine.pool(0, 2048)),
        ("131072\n".into(), "16".into())
    );
    machine.setup(&["--undo", "--force"]).ends(0);
    assert!(machine.tree() == before);
    // What cannot be restored keeps none of the others from it.
    machine.setup(&["thp", "madvise", "--persist", "--apply"]).ends(0);
    let kept = machine.folder.path().join("etc/tmpfiles.d/firsttouch.conf");
    fs::remove_file(&kept).unwrap();
    fs::create_dir(&kept).unwrap();
    let said = machine.setup(&["--undo"]).ends(1);
    assert!(said.stdout.contains("/etc/tmpfiles.d/firsttouch.conf is no plain file"), "{}", said.stdout);
    assert_eq!(machine.thp("enabled"), "always madvise [never]\n");
    fs::remove_dir(&kept).unwrap();
    machine.setup(&["--undo"]).ends(0);
    assert!(machine.tree() == before);
    // A file where one of ours would be, that is none.
    let link = machine.folder.path().join("etc/tmpfiles.d");
    fs::create_dir(&link).unwrap();
    std::os::unix::fs::symlink("/dev/null", link.join("firsttouch.conf")).unwrap();
    let before = machine.tree();
    let said = machine.setup(&["thp", "madvise", "--persist", "--apply"]).ends(1);
    assert!(said.stderr.contains("/etc/tmpfiles.d/firsttouch.conf is no plain file"), "{}", said.stderr);
    assert!(machine.tree() == before);
    Ok(())
}

fn several() -> Outcome {
    let machine = Machine::new();
    let before = machine.tree();
    for mode in ["madvise", "always", "madvise"] {
        machine.setup(&["thp", mode, "--persist", "--apply"]).ends(0);
        let kept = machine.read("etc/tmpfiles.d/firsttouch.conf");
        assert!(kept.ends_with(&format!("enabled - - - - {mode}\n")) && kept.lines().count() == 2, "{kept}");
    }
    // As it is already: nothing to do, and nothing to take back.
    let listed = machine.setup(&[]).ends(0).stdout;
    assert!(
        machine
            .setup(&["thp", "madvise", "--persist", "--apply"])
            .ends(0)
            .stdout
            .contains("as asked already\n")
    );
    assert_eq!(machine.setup(&[]).ends(0).stdout, listed);
    machine.setup(&["--undo"]).ends(0);
    assert!(machine.tree() == before);
    Ok(())
}

/// A profile that asks for this, in a folder.
fn profile(folder: &Path, placement: &str) -> String {
    let file = folder.join("lm.toml");
    fs::write(&file, format!("schema_version = 1\n[placement]\n{placement}")).unwrap();
    file.to_str().unwrap().to_owned()
}

fn by_topic() -> Outcome {
    let machine = Machine::new();
    let before = machine.tree();
    let folder = tempfile::tempdir().unwrap();
    let kept = "etc/tmpfiles.d/firsttouch.conf";
    // The topic is found among other words, too.
    machine.setup(&["--persist", "--apply", "thp", "always"]).ends(0);
    machine.setup(&["pages", "2m=64", "--persist", "--apply"]).ends(0);
    let both = machine.tree();
    let said = machine.setup(&["boot", "--undo"]).ends(0);
    assert!(said.stdout.contains("there is nothing to take back"), "{}", said.stdout);
    assert!(machine.tree() == both);
    machine.setup(&["thp", "--undo"]).ends(0);
    let never = "always madvise [never]\n".to_owned();
    assert_eq!((machine.pool(0, 2048), machine.thp("enabled")), ("32".to_owned(), never.clone()));
    assert!(!machine.folder.path().join(kept).parent().unwrap().exists());
    machine.setup(&["pages", "--undo"]).ends(0);
    assert!(machine.tree() == before, "the journal goes with the last change");

    // What two topics have changed is taken back from the newer one on.
    machine.setup(&["thp", "always", "--persist", "--apply"]).ends(0);
    let profile = profile(folder.path(), "pages = \"64k\"\n");
    machine.setup(&["for", &profile, "--persist", "--apply"]).ends(0);
    let both = machine.read(kept);
    let said = machine.setup(&["thp", "--undo"]).ends(1);
    assert!(said.stdout.contains("another topic has changed it since"), "{}", said.stdout);
    assert_eq!((machine.read(kept), machine.thp("enabled")), (both, never));
    machine.setup(&["for", "--undo"]).ends(0);
    assert!(machine.read(kept).ends_with("enabled - - - - always\n"));
    machine.setup(&["thp", "--undo"]).ends(0);
    assert!(machine.tree() == before);

    let said = machine.setup(&["pages", "2m=64", "--undo"]).ends(2);
    assert!(said.stderr.contains("hint: firsttouch setup pages --undo"), "{}", said.stderr);
    Ok(())
}

/// A Xeon Phi's second node has no CPUs, and is memory of the package.
fn kinds() -> Outcome {
    let machine = Machine::new();
    machine.write("proc/cpuinfo", "processor : 0\nmodel name : Intel(R) Xeon Phi(TM) CPU 7210\n");
    machine.write("sys/devices/system/node/node0/cpulist", "0-1\n");
    machine.write("sys/devices/system/node/node1/cpulist", "\n");
    let before = machine.tree();
    let pools = || (machine.pool(0, 2048), machine.pool(1, 2048));
    machine.setup(&["pages", "2m=64", "--node", "hbm", "--apply"]).ends(0);
    assert_eq!(pools(), ("0".to_owned(), "64".to_owned()));
    machine.setup(&["--undo"]).ends(0);
    let folder = tempfile::tempdir().unwrap();
    let profile = profile(folder.path(), "pages = \"2m\"\nmemory = \"prefer=hbm\"\n");
    machine.setup(&["for", &profile, "--memory", "64M", "--apply"]).ends(0);
    assert_eq!(pools(), ("0".to_owned(), "32".to_owned()));
    machine.setup(&["--undo"]).ends(0);
    assert!(machine.tree() == before);
    // Without nodes it is the whole pool, of nodes without CPUs, too.
    machine.setup(&["pages", "2m=64", "--node", "1", "--apply"]).ends(0);
    machine.setup(&["pages", "2m=16", "--apply"]).ends(0);
    assert_eq!(pools(), ("16".to_owned(), "0".to_owned()));
    machine.setup(&["--undo"]).ends(0);
    let said = machine.setup(&["pages", "2m=64", "--node", "cxl"]).ends(2);
    assert!(said.stderr.contains("cxl") && said.stderr.contains("hint: "), "{}", said.stderr);
    Ok(())
}

fn wrong_words() -> Outcome {
    let machine = Machine::new();
    for (words, says) in [
        (&["pages"][..], "nothing is asked for"),
        (&["pages", "2x=3"], "`2x` is no size of pages"),
        (&["pages", "16g=1"], "the kernel has no pool of 16g pages"),
        (&["pages", "2m=3M"], "`3M` is no number of 2m pages"),
        (&["pages", "2m=1", "--node", "7"], "there is no pool of 2m pages on node 7"),
        (&["pages", "2m=1", "--node", "0=1"], "pages are counted either by size or by node"),
        (&["pages", "2m=1", "2m=2"], "asked for twice"),
        (&["thp", "madvise", "--node", "0"], "--node says nothing about what is set up here"),
        (&["boot", "1g=1", "--user", "ann"], "--user says nothing"),
        (&["thp", "sometimes"], "the kernel knows no `sometimes` there"),
        (
            &["thp", "128k=madvise"],
            "this kernel has no /sys/kernel/mm/transparent_hugepage/hugepages-128kB/enabled",
        ),
        (&["thp", "colour=red"], "`colour=red` is no setting of transparent huge pages"),
    ] {
        let said = machine.setup(words).ends(2);
        assert!(said.stderr.contains(says) && said.stderr.contains("\nhint: "), "{words:?}: {}", said.stderr);
    }
    Said::of(&mut firsttouch_of(&["--undo", "--apply"])).ends(2);
    fs::remove_dir_all(machine.folder.path().join("sys")).unwrap();
    let said = machine.setup(&["thp", "never"]).ends(2);
    assert!(
        said.stderr.contains("/sys, which tells of transparent huge pages, is not mounted"),
        "{}",
        said.stderr
    );
    Ok(())
}

fn firsttouch_of(words: &[&str]) -> std::process::Command {
    let mut command = firsttouch();
    command.args(words);
    command
}

/// This machine, as somebody who may change nothing of it.
fn not_root() -> Outcome {
    let mut command = firsttouch_of(&["pages", "2m=1", "--rest", "0", "--apply"]);
    let pool =
        || fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages").unwrap_or_default();
    if is_root() {
        const NOBODY: u32 = 65534;
        // The program may lie where only root gets to.
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("firsttouch");
        fs::copy(env!("CARGO_BIN_EXE_firsttouch"), &copy).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), open).unwrap();
        command = std::process::Command::new(copy);
        command
            .args(["setup", "pages", "2m=1", "--rest", "0", "--apply"])
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir("/");
        return told(Said::of(&mut command), &pool);
    }
    told(Said::of(&mut command), &pool)
}

fn told(said: Said, pool: &dyn Fn() -> String) -> Outcome {
    if said.stderr.contains("has no pool") {
        return crate::skip("this machine has no pool of 2 MiB pages");
    }
    let before = pool();
    let said = said.ends(1);
    assert!(said.stdout.contains("| sudo tee /sys/"), "{}", said.stdout);
    assert!(
        said.stderr.contains("hint: sudo firsttouch setup pages 2m=1 --rest 0 --apply"),
        "{}",
        said.stderr
    );
    assert_eq!(pool(), before);
    Ok(())
}

fn busy() -> Outcome {
    let machine = Machine::new();
    let before = machine.tree();
    let journal = machine.folder.path().join("var/lib/firsttouch/setup.jsonl");
    fs::create_dir(journal.parent().unwrap()).unwrap();
    let file = fs::File::create(&journal).unwrap();
    file.lock().unwrap();
    let said = machine.setup(&["thp", "madvise", "--apply"]).ends(1);
    assert!(said.stderr.contains("another firsttouch sets this machine up right now"), "{}", said.stderr);
    drop(file);
    machine.setup(&["thp", "madvise", "--apply"]).ends(0);
    machine.setup(&["--undo"]).ends(0);
    assert!(machine.tree() == before);
    Ok(())
}

/// Each on a machine of its own, which is as before in the end.
fn page() -> Outcome {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/setup.md")).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("$ "));
    let mut run = 0;
    for line in lines {
        let (command, _) = line.split_once(" #").unwrap_or((line, ""));
        let command = command.trim_start_matches("sudo ");
        let words: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(words[..2], ["firsttouch", "setup"], "{line}");
        let machine = Machine::new();
        let before = machine.tree();
        let said = machine.setup(&words[2..]).ends(0);
        assert!(!said.stdout.is_empty() && said.stderr.is_empty(), "{line}: {said:?}");
        assert_eq!(machine.tree() != before, words.contains(&"--apply"), "{line}");
        machine.setup(&["--undo"]).ends(0);
        assert!(machine.tree() == before, "{line}");
        run += 1;
    }
    assert!(run >= 6, "{run} commands");
    Ok(())
}
