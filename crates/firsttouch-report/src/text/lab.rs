//! Programs on emulated machines, in the terminal.

use super::page::Page;
use crate::number::seconds;
use crate::style::{Style, Tone};
use crate::visible::visible;
use firsttouch_documents::{LabList, LabReport};

/// What ran where, how it ended, and what it wrote.
pub fn lab(report: &LabReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    page.paragraph("program    ", &crate::shell::command(&report.command), Some(Tone::Strong));
    page.paragraph("machine    ", &format!("{}, Linux {}", report.machine, report.kernel), None);
    let ended = match report.signal {
        Some(signal) => format!("by signal {signal}"),
        None => format!("with status {}", report.exit_code),
    };
    let times = format!("booted in {}, ran {}", seconds(report.boot_s), seconds(report.program_s));
    page.paragraph("ended      ", &format!("{ended}; {times}"), None);
    for file in &report.copied_out {
        page.line("file       ", file);
    }
    for (name, written) in [("stdout", &report.stdout), ("stderr", &report.stderr)] {
        if written.is_empty() {
            continue;
        }
        page.heading(name);
        written.lines().for_each(|line| page.line("  ", line));
    }
    page.text
}

/// The machines that `lab` knows.
pub fn lab_list(list: &LabList) -> String {
    let width = list.machines.iter().map(|machine| machine.name.len()).max().unwrap_or(0);
    let line = |machine: &firsttouch_documents::LabMachine| {
        format!("{:width$}  {}\n", visible(&machine.name), visible(&machine.about))
    };
    list.machines.iter().map(line).collect()
}
