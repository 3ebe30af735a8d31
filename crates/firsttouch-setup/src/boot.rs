//! The kernel's command line: what can only be had, or is surest to be had, before anything runs.

use crate::SetupError;
use crate::asked::{key_value, page_size};
use crate::draft::Draft;
use crate::lines::Lines;
use firsttouch_linux::cpulist::{format_list, parse_list};
use firsttouch_linux::sysinfo::kernel_version;
use firsttouch_machine::page_word;
use firsttouch_placement::parse_size;

/// Debian's `grub-mkconfig` reads the files in it; that of others does not, and has no such folder.
const GRUB_FOLDER: &str = "/etc/default/grub.d";
const GRUB: &str = "/etc/default/grub.d/90-firsttouch.cfg";
const USAGE: &str =
    "firsttouch setup boot [1g=2] [2m=512] [--node 0=1] [thp=always|madvise|never] [isolcpus=LIST]";

pub(crate) fn plan(plan: &mut Draft<'_>) -> Result<(), SetupError> {
    let wrong = |what: String| SetupError::words(what, USAGE);
    // Each with the piece by which an older one of the same meaning is known.
    let mut parameters: Vec<(String, String)> = Vec::new();
    for word in &plan.asked.words {
        let (key, value) = key_value(word);
        match (key, value) {
            ("thp", Some(mode @ ("always" | "madvise" | "never"))) => {
                parameters.push(("transparent_hugepage=".to_owned(), format!("transparent_hugepage={mode}")));
            }
            ("thp", _) => return Err(wrong("a mode is always, madvise or never".to_owned())),
            ("isolcpus", Some(list)) => {
                let cpus = parse_list(list).filter(|cpus| !cpus.is_empty());
                let cpus = cpus.ok_or_else(|| wrong(format!("`{list}` is no list of CPUs")))?;
                isolated(plan, &cpus, &mut parameters)?;
            }
            _ => {
                let bytes = page_size(key)
                    .ok_or_else(|| wrong(format!("`{word}` is no parameter of the kernel here")))?;
                parameters.push(pages(plan, bytes, value)?);
            }
        }
    }
    if parameters.is_empty() {
        return Err(wrong("nothing is asked for".to_owned()));
    }
    let kernel = plan.machine.kernel.as_deref();
    if let Some(kernel) =
        kernel.filter(|kernel| kernel_version(kernel).is_some_and(|version| version < (5, 16)))
        && !plan.asked.nodes.is_empty()
    {
        plan.report.notes.push(format!(
            "counts by node are read from Linux 5.16 on: {kernel}, which runs here, would reserve nothing by them"
        ));
    }
    let line = parameters.iter().map(|(_, parameter)| parameter.as_str()).collect::<Vec<_>>().join(" ");
    if plan.site.has(GRUB_FOLDER) {
        let assignment = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT ";
        let lines = parameters.iter().map(|(known_by, parameter)| {
            (format!("{assignment}{known_by}"), format!("{assignment}{parameter}\""))
        });
        let template = format!("{}# The entry for recovery boots without.\n", crate::texts::HEAD);
        let file = Lines { path: GRUB, template: &template, before: None, lines: lines.collect() };
        plan.file(&file, "GRUB hands it to the kernel from the next boot on")?;
        plan.report.next.push("sudo update-grub   # after --undo, too".to_owned());
        return Ok(());
    }
    plan.report.notes.push(format!(
        "there is no {GRUB_FOLDER} here, whose files Debian's GRUB reads: the parameters have to be given to the boot loader there is, by one of \
         the lines below"
    ));
    plan.report.next.extend([
        format!("sudo grubby --update-kernel=ALL --args=\"{line}\"   # Fedora and its like"),
        format!("GRUB_CMDLINE_LINUX_DEFAULT=\"… {line}\" in /etc/default/grub, then: sudo grub2-mkconfig -o /boot/grub2/grub.cfg   # SUSE"),
        format!("{line}   # systemd-boot: at the end of /etc/kernel/cmdline, then: sudo kernel-install add-all"),
    ]);
    Ok(())
}

/// Pages of a size, on each of some nodes (Linux 5.16) or wherever the kernel spreads them, evenly.
fn pages(plan: &Draft<'_>, bytes: u64, count: Option<&str>) -> Result<(String, String), SetupError> {
    let wrong = |what: String| SetupError::words(what, USAGE);
    let word = page_word(bytes);
    let number = |text: &str| {
        let pages = text
            .parse()
            .ok()
            .or_else(|| parse_size(text).filter(|all| all % bytes == 0).map(|all| all / bytes));
        pages.ok_or_else(|| wrong(format!("`{text}` is no number of {word} pages")))
    };
    let nodes = &plan.asked.nodes;
    let count: String = match count {
        Some(count) if nodes.is_empty() => number(count)?.to_string(),
        None if !nodes.is_empty() => {
            let parts = nodes.iter().map(|text| match key_value(text) {
                (node, Some(count)) if node.parse::<u32>().is_ok() => {
                    Ok(format!("{node}:{}", number(count)?))
                }
                _ => Err(wrong(format!("`{text}`: so many pages on one node are NODE=COUNT"))),
            });
            parts.collect::<Result<Vec<_>, _>>()?.join(",")
        }
        _ => return Err(wrong("pages are counted either by size or by node".to_owned())),
    };
    let size = format!("hugepagesz={} ", word.to_uppercase());
    Ok((size.clone(), format!("{size}hugepages={count}")))
}

/// CPUs for who is bound there by number: without load balancing, clock tick and RCU work, and with few interrupts.
fn isolated(
    plan: &Draft<'_>,
    cpus: &[u32],
    parameters: &mut Vec<(String, String)>,
) -> Result<(), SetupError> {
    let online: Vec<u32> = plan.machine.cpus.iter().map(|cpu| cpu.id).collect();
    if !online.is_empty() && online.iter().all(|cpu| cpus.contains(cpu)) {
        let what = "no CPU would be left for everything else";
        return Err(SetupError::words(what, format!("leave one out of {}", format_list(&online))));
    }
    let list = format_list(cpus);
    for (name, value) in [
        ("isolcpus=", format!("managed_irq,domain,{list}")),
        ("nohz_full=", list.clone()),
        ("rcu_nocbs=", list.clone()),
    ] {
        parameters.push((name.to_owned(), format!("{name}{value}")));
    }
    Ok(())
}
