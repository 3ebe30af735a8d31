//! Settings of a machine as texts: what rules over the machine look at beyond [`Machine`](crate::Machine).

use crate::cgroup::Cgroups;
use crate::reader::Reader;
use firsttouch_linux::root::Root;
use firsttouch_sorted::SortedMap;

/// The files that are read, one a line. A step `*` stands for every name, `name#` for `name` and a number.
const FILES: &str = "\
proc/#/comm
proc/buddyinfo
proc/cmdline
proc/interrupts
proc/irq/#/effective_affinity_list
proc/meminfo
proc/modules
proc/self/mountinfo
proc/self/status
proc/sys/kernel/hostname
proc/sys/kernel/shmall
proc/sys/kernel/shmmax
proc/sys/kernel/yama/ptrace_scope
proc/sys/vm/max_map_count
proc/sys/vm/overcommit_memory
proc/sys/vm/overcommit_ratio
proc/sys/vm/swappiness
proc/sys/vm/zone_reclaim_mode
sys/bus/pci/devices/*/class
sys/bus/pci/devices/*/current_link_speed
sys/bus/pci/devices/*/current_link_width
sys/bus/pci/devices/*/max_link_speed
sys/bus/pci/devices/*/max_link_width
sys/bus/pci/devices/*/msi_irqs/#
sys/bus/pci/devices/*/numa_node
sys/class/infiniband/*/device/numa_node
sys/class/infiniband/*/ports/#/phys_state
sys/class/infiniband/*/ports/#/state
sys/class/infiniband_verbs/uverbs#/ibdev
sys/devices/system/clocksource/clocksource0/available_clocksource
sys/devices/system/clocksource/clocksource0/current_clocksource
sys/devices/system/cpu/cpu#/cpufreq/energy_performance_preference
sys/devices/system/cpu/cpu#/cpufreq/scaling_driver
sys/devices/system/cpu/cpu#/cpufreq/scaling_governor
sys/devices/system/cpu/cpufreq/boost
sys/devices/system/cpu/intel_pstate/no_turbo
sys/devices/system/cpu/isolated
sys/devices/system/cpu/nohz_full
sys/devices/system/cpu/smt/active
sys/devices/system/cpu/smt/control
sys/devices/system/edac/mc/mc#/ce_count
sys/devices/system/edac/mc/mc#/dimm#/size
sys/devices/system/edac/mc/mc#/size_mb
sys/devices/system/edac/mc/mc#/ue_count
sys/kernel/mm/ksm/pages_sharing
sys/kernel/mm/ksm/run
sys/kernel/mm/numa/demotion_enabled
sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan";

/// Texts of files below a root, by their paths without a slash in front. What is missing is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    files: SortedMap<String, String>,
    /// The control group that leaves us the fewest CPUs' time.
    pub cpu_quota: Option<CpuQuota>,
    /// Files that exist and could not be read, with the kernel's answer.
    pub unreadable: Vec<String>,
}

/// A control group's share of the CPUs' time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuQuota {
    /// The file that holds it.
    pub file: String,
    /// What stands there.
    pub text: String,
    /// As many thousandths of one CPU.
    pub thousandths: u64,
}

impl Settings {
    /// Reads them below a root; of recordings that are no files (XML, descriptions) there is nothing to read.
    pub fn read(root: &Root) -> Settings {
        let reader = Reader::new(root);
        let mut files = SortedMap::new();
        for line in FILES.lines() {
            let steps: Vec<&str> = line.split('/').collect();
            collect(&reader, String::new(), &steps, &mut files);
        }
        let cpu_quota = cpu_quota(&reader);
        Settings { files, cpu_quota, unreadable: reader.into_unreadable() }
    }

    /// Whether there were files to read at all.
    pub fn is_read(&self) -> bool {
        !self.files.is_empty()
    }

    /// The text of a file, without white space at its ends.
    pub fn text(&self, file: &str) -> Option<&str> {
        self.files.get(file).map(|text| text.trim())
    }

    /// A file that holds a number.
    pub fn number(&self, file: &str) -> Option<u64> {
        self.text(file)?.parse().ok()
    }

    /// The files whose paths begin so and end so, with what stands between and their texts, in the order of their paths.
    pub fn between<'a>(&'a self, start: &str, end: &str) -> Vec<(&'a str, &'a str)> {
        let files = self.files.iter();
        files
            .filter_map(|(file, text)| Some((file.strip_prefix(start)?.strip_suffix(end)?, text.trim())))
            .collect()
    }

    /// Whether there is any file below a folder.
    pub fn has(&self, folder: &str) -> bool {
        self.files.from_key(folder).first().is_some_and(|(file, _)| file.starts_with(folder))
    }
}

fn collect(reader: &Reader<'_>, done: String, steps: &[&str], files: &mut SortedMap<String, String>) {
    let Some((step, rest)) = steps.split_first() else {
        // Processes and devices come and go while we read, and some files answer errors of their own: of a whole group of them
        // one that cannot be read is no news.
        if let Ok(Some(text)) = reader.root.read(&done) {
            files.insert(done, text);
        }
        return;
    };
    let next = |name: &str| if done.is_empty() { name.to_owned() } else { format!("{done}/{name}") };
    let Some(prefix) = step.strip_suffix(['*', '#']) else {
        let path = next(step);
        if rest.is_empty() && !done.is_empty() {
            if let Some(text) = reader.text(&path) {
                files.insert(path, text);
            }
        } else {
            collect(reader, path, rest, files);
        }
        return;
    };
    let any = step.ends_with('*');
    let is_meant = |name: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|end| any || (!end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit())))
    };
    for name in reader.root.list(&done).ok().flatten().unwrap_or_default() {
        if is_meant(&name) {
            collect(reader, next(&name), rest, files);
        }
    }
}

fn cpu_quota(reader: &Reader<'_>) -> Option<CpuQuota> {
    let group = Cgroups::of_process(reader, "self").of("cpu")?;
    let quotas = group.folders.iter().filter_map(|folder| {
        let (file, text) = match group.version {
            1 => {
                let (quota, period) = (format!("{folder}/cpu.cfs_quota_us"), "cpu.cfs_period_us");
                let text =
                    format!("{} {}", reader.word(&quota)?, reader.word(&format!("{folder}/{period}"))?);
                (quota, text)
            }
            _ => (format!("{folder}/cpu.max"), reader.word(&format!("{folder}/cpu.max"))?),
        };
        // `max` in version 2 and -1 in version 1 mean none.
        let (quota, period) = text.split_once(' ')?;
        let (quota, period) = (quota.parse::<u64>().ok()?, period.trim().parse::<u64>().ok()?);
        let thousandths = quota.checked_mul(1000)?.checked_div(period)?;
        Some(CpuQuota { file: format!("/{file}"), text, thousandths })
    });
    quotas.min_by_key(|quota| quota.thousandths)
}
