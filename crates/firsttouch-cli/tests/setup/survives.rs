//! What is written for the next boot, held against the programs that read it.

use crate::tree::Machine;
use crate::{Case, Outcome, skip};
use std::process::Command;

pub(crate) fn tests() -> Vec<Case> {
    vec![
        ("systemd takes the units", units),
        ("systemd-tmpfiles takes the settings", settings),
        ("who is heeded in place of what is written is told", rivals),
    ]
}

fn units() -> Outcome {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return skip("there is no command `systemd-analyze`");
    }
    let machine = Machine::new();
    machine.setup(&["pages", "2m=1024", "1g=2", "--persist", "--apply"]).ends(0);
    let folder = machine.folder.path().join("etc/systemd/system");
    for unit in ["firsttouch-pages.service", "dev-hugepages1G.mount"] {
        // Pages of the manual are installed with the command.
        let output = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(folder.join(unit))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{unit}: {said}");
    }
    Ok(())
}

fn settings() -> Outcome {
    let machine = Machine::new();
    machine.setup(&["thp", "madvise", "thp-defrag=defer", "--persist", "--apply"]).ends(0);
    let output = Command::new("systemd-tmpfiles")
        .args(["--create", "--root"])
        .arg(machine.folder.path())
        .arg(machine.folder.path().join("etc/tmpfiles.d/firsttouch.conf"))
        .output();
    let Ok(output) = output else { return skip("there is no command `systemd-tmpfiles`") };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let line = machine.thp("enabled");
    assert!(line.starts_with("madvise"), "systemd-tmpfiles has written what the kernel would take: {line}");
    Ok(())
}

/// The file of another, which has the same setting, is told, and it is the one that is heeded.
fn rivals() -> Outcome {
    let machine = Machine::new();
    let told = |words: &[&str]| {
        let planned = machine.setup(&[words, &["--persist", "--json"]].concat()).ends(0).json();
        planned["notes"].to_string()
    };
    for words in
        [&["thp", "madvise"][..], &["limits", "max-map-count=100000"], &["limits", "memlock=unlimited"]]
    {
        assert!(!told(words).contains("holds in place of"), "{words:?}");
    }
    machine
        .write("etc/tmpfiles.d/before.conf", "w /sys/kernel/mm/transparent_hugepage/enabled - - - - never\n");
    machine.write("usr/lib/sysctl.d/99-after.conf", "vm.max_map_count = 65530\n");
    machine.write("etc/security/limits.d/games.conf", "root hard memlock 64\n");
    assert!(told(&["thp", "madvise"]).contains("/etc/tmpfiles.d/before.conf sets never for"));
    assert!(
        told(&["limits", "max-map-count=100000"]).contains("/usr/lib/sysctl.d/99-after.conf sets 65530 for")
    );
    let memlock = told(&["limits", "memlock=unlimited"]);
    assert!(memlock.contains("/etc/security/limits.d/games.conf sets 64 for root memlock"), "{memlock}");

    machine.setup(&["thp", "madvise", "--persist", "--apply"]).ends(0);
    let tmpfiles = Command::new("systemd-tmpfiles")
        .args(["--create", "--prefix=/sys", "--root"])
        .arg(machine.folder.path())
        .output();
    if tmpfiles.is_err() {
        return skip("there is no command `systemd-tmpfiles`");
    }
    let line = machine.thp("enabled");
    assert!(line.starts_with("never"), "systemd-tmpfiles heeds the first by name: {line}");
    Ok(())
}
