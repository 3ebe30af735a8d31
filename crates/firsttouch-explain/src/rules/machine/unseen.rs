//! What was not looked at, and why.

use super::kernel;
use crate::MachineEvidence;
use firsttouch_documents::Unseen;

pub(crate) fn unseen(evidence: &MachineEvidence) -> Vec<Unseen> {
    let (settings, machine) = (&evidence.settings, &evidence.report.machine);
    let mut list = Vec::new();
    let mut add = |topic: &str, why: String| list.push(Unseen { topic: topic.to_owned(), why });
    let live = !evidence.trials.is_empty() || evidence.untried.is_some();
    if let Some(error) = &evidence.untried {
        add("calls of the kernel", format!("no process could be started to try them: {error}"));
    } else if !live {
        add("calls of the kernel", "a recorded machine's kernel cannot be asked".to_owned());
    }
    let files = [
        ("transparent huge pages", "sys/kernel/mm/transparent_hugepage/"),
        ("limits and reclaim", "proc/sys/vm/"),
        ("fragmentation", "proc/buddyinfo"),
        ("interrupts", "proc/irq/"),
        ("frequencies", "sys/devices/system/cpu/cpu0/cpufreq/"),
        ("links of devices", "sys/bus/pci/devices/"),
        ("modules and errors of memory", "sys/devices/system/edac/mc/mc0/"),
    ];
    for (topic, folder) in files {
        let known =
            settings.has(folder) || (topic.starts_with("transparent") && machine.thp_mode().is_some());
        if !known {
            add(
                topic,
                match live {
                    true if folder.starts_with("sys/") && machine.lacks_sys() => {
                        "/sys is not mounted".to_owned()
                    }
                    true => format!("/{} is not there", folder.trim_end_matches('/')),
                    false => "the recording has no file of it".to_owned(),
                },
            );
        }
    }
    if machine.virtual_machine == Some(true) && settings.has("sys/bus/pci/devices/") {
        add("links of devices", "those of a virtual machine are made up".to_owned());
    }
    // The kernel's own threads are children of process 2, where the list of processes is the machine's.
    match settings.text("proc/2/comm") {
        Some("kthreadd") => {}
        _ if settings.between("proc/", "/comm").is_empty() => {
            add("daemons", "the recording has no file of it".to_owned())
        }
        _ => add("daemons", "this list of processes is a container's, not the machine's".to_owned()),
    }
    if let Some(release) = machine.kernel.as_ref().filter(|release| kernel::own_release(release).is_none()) {
        add(
            "defects of the kernel",
            format!("{release} is numbered by a distributor, who repairs without changing it"),
        );
    }
    for file in settings.unreadable.iter().chain(&machine.unreadable) {
        add("files", file.clone());
    }
    list.dedup();
    list
}
