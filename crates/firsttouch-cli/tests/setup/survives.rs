//! What is written for the next boot, held against the programs that read it.

use crate::tree::Machine;
use crate::{Case, Outcome, skip};
use std::process::Command;

pub(crate) fn tests() -> Vec<Case> {
    vec![("systemd takes the units", units), ("systemd-tmpfiles takes the settings", settings)]
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
