//! Files that are read at a boot or a login: what of a change survives.

use crate::SetupError;
use crate::draft::{Draft, change};
use crate::lines::Lines;
use crate::rivals::{self, Reader};
use firsttouch_documents::{SetupChange, SetupKind};
use firsttouch_machine::page_word;

const SYSTEMD: &str = "/etc/systemd/system";
const SYSCTL: &str = "/etc/sysctl.d/90-firsttouch.conf";
const TMPFILES: &str = "/etc/tmpfiles.d/firsttouch.conf";
/// How files of ours begin.
pub(crate) const HEAD: &str = "# Written by `firsttouch setup`; `firsttouch setup --undo` takes it back.\n";

/// Settings at each boot. Those below `/proc/sys` by sysctl.d; those below `/sys` by tmpfiles.d: `systemd-tmpfiles` writes them before
/// any service starts, needs no unit, and passes over a file that a newer kernel has no more.
pub(crate) fn keep_settings(plan: &mut Draft<'_>, settings: &[(String, String)]) -> Result<(), SetupError> {
    let sysctl = |file: &str| file.strip_prefix("/proc/sys/").map(|name| name.replace('/', "."));
    let (mut by_sysctl, mut by_tmpfiles) = (Vec::new(), Vec::new());
    for (file, value) in settings {
        match sysctl(file) {
            Some(name) => {
                rivals::tell(plan, Reader::Sysctl, SYSCTL, &name, value);
                by_sysctl.push((format!("{name} = "), format!("{name} = {value}")));
            }
            None => {
                rivals::tell(plan, Reader::Tmpfiles, TMPFILES, file, value);
                by_tmpfiles.push((format!("w {file} "), format!("w {file} - - - - {value}")));
            }
        }
    }
    for (path, lines, why) in [
        (SYSCTL, by_sysctl, "systemd-sysctl, or sysctl --system, sets it at each boot"),
        (TMPFILES, by_tmpfiles, "systemd-tmpfiles sets it at each boot"),
    ] {
        if !lines.is_empty() {
            plan.file(&Lines { path, template: HEAD, before: None, lines }, why)?;
        }
    }
    Ok(())
}

/// Pools at each boot, by a unit that comes before everything that takes memory; and the file systems of other sizes than the
/// default one, which systemd mounts by itself.
pub(crate) fn keep_pools(
    plan: &mut Draft<'_>,
    pools: &[(String, String)],
    sizes: &[u64],
) -> Result<(), SetupError> {
    let unit = format!("{SYSTEMD}/firsttouch-pages.service");
    let lines = pools.iter().map(|(file, pages)| {
        let known_by = format!("> {file}'");
        (known_by.clone(), format!("ExecStart=-/bin/sh -c 'echo {pages} {known_by}"))
    });
    let file = Lines { path: &unit, template: UNIT, before: Some(""), lines: lines.collect() };
    plan.file(&file, "the pages are reserved at each boot, before memory is in pieces")?;
    enable(plan, &unit, "sysinit.target")?;
    let default = plan.site.root().read("proc/meminfo").ok().flatten().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("Hugepagesize:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    for bytes in sizes.iter().filter(|bytes| default != Some(**bytes >> 10)) {
        let word = page_word(*bytes).to_uppercase();
        let path = format!("{SYSTEMD}/dev-hugepages{word}.mount");
        let text = MOUNT.replace("SIZE", &word);
        plan.file(
            &Lines { path: &path, template: &text, before: None, lines: Vec::new() },
            "programs that want such pages as files find them there",
        )?;
        enable(plan, &path, "sysinit.target")?;
    }
    plan.report.next.push("sudo systemctl daemon-reload".to_owned());
    if !plan.site.has("/usr/lib/systemd") && !plan.site.has("/lib/systemd") {
        plan.report.notes.push(
            "there is no systemd here: have the lines behind ExecStart= of firsttouch-pages.service run at boot".to_owned(),
        );
    }
    Ok(())
}

/// What `systemctl enable` does.
fn enable(plan: &mut Draft<'_>, unit: &str, target: &str) -> Result<(), SetupError> {
    let name = unit.rsplit('/').next().unwrap_or_default();
    let path = format!("{SYSTEMD}/{target}.wants/{name}");
    plan.folder_of(&path)?;
    let before = plan.site.value(SetupKind::Link, &path)?;
    let link = change(plan.site, SetupKind::Link, &path, before, Some(unit.to_owned()));
    plan.report.changes.push(SetupChange { why: "it is started at each boot".to_owned(), ..link });
    Ok(())
}

/// A node that is not there at a later boot must not keep the others from their pages: hence the minus of `ExecStart`.
const UNIT: &str = "\
# Written by `firsttouch setup`; `firsttouch setup --undo` takes it back.
[Unit]
Description=Huge pages reserved by firsttouch setup
Documentation=man:firsttouch-setup(1)
DefaultDependencies=no
Before=sysinit.target dev-hugepages.mount
ConditionPathExists=/sys/kernel/mm/hugepages
[Service]
Type=oneshot
RemainAfterExit=yes

[Install]
WantedBy=sysinit.target
";

const MOUNT: &str = "\
# Written by `firsttouch setup`; `firsttouch setup --undo` takes it back.
[Unit]
Description=Huge pages of SIZE as files
Documentation=man:firsttouch-setup(1)
DefaultDependencies=no
Before=sysinit.target
ConditionPathExists=/sys/kernel/mm/hugepages
[Mount]
What=hugetlbfs
Where=/dev/hugepagesSIZE
Type=hugetlbfs
Options=pagesize=SIZE

[Install]
WantedBy=sysinit.target
";
