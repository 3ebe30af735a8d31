//! What the machine does while a run takes place, by what the kernel counts before and after.

use firsttouch_experiment::{Aslr, Meanwhile, TimedRun};
use firsttouch_linux::features::page_bytes;
use firsttouch_linux::process::TICKS_PER_S;
use firsttouch_linux::sysinfo::{CpuTicks, cpu_ticks, meminfo};
use firsttouch_linux::vmstat::parse_vmstat;
use firsttouch_machine::Root;
use firsttouch_sorted::SortedSet;

/// `ADDR_NO_RANDOMIZE` of personality(2), which programs inherit.
const NO_RANDOM_ADDRESSES: u32 = 0x0004_0000;

const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";

/// What has been counted at a moment; it only ever grows, but for free memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    cpus: Option<CpuTicks>,
    /// Pages that a balloon took from us (`balloon_inflate`, Linux 3.18), and that it gave back.
    ballooned: Option<(u64, u64)>,
    free_bytes: Option<u64>,
}

impl Moment {
    /// Reads it: three files, some tens of microseconds on a small machine.
    pub(crate) fn read(root: &Root) -> Moment {
        let text = |file| root.read(file).ok().flatten();
        let vmstat = text("proc/vmstat").unwrap_or_default();
        let counters = parse_vmstat(&vmstat);
        let counter = |name| counters.get(name).copied();
        Moment {
            cpus: text("proc/stat").and_then(|text| cpu_ticks(&text)),
            ballooned: counter("balloon_inflate").zip(counter("balloon_deflate")),
            free_bytes: text("proc/meminfo").and_then(|text| meminfo(&text).free_bytes),
        }
    }

    /// What happened from this moment until now, while a program used that.
    pub(crate) fn until_now(&self, root: &Root, used: &TimedRun) -> Meanwhile {
        // Before anything else: the CPUs slow down as soon as they have nothing to do.
        let frequency_mhz = frequency_mhz(root);
        let now = Moment::read(root);
        let cpus = self.cpus.zip(now.cpus);
        let seconds = |ticks: u64| ticks as f64 / TICKS_PER_S as f64;
        let passed = |of: fn(&CpuTicks) -> Option<u64>| {
            let (before, after) = cpus?;
            Some(seconds(of(&after)?.saturating_sub(of(&before)?)))
        };
        let busy_s = passed(|ticks| Some(ticks.busy));
        let ballooned = self.ballooned.zip(now.ballooned);
        let moved = |of: fn((u64, u64)) -> u64| {
            let (before, after) = ballooned?;
            Some(of(after).saturating_sub(of(before)).saturating_mul(page_bytes() as u64))
        };
        let free = self.free_bytes.zip(now.free_bytes);
        Meanwhile {
            steal_s: passed(|ticks| ticks.steal),
            other_cpu_s: busy_s.map(|busy_s| (busy_s - used.user_s - used.system_s).max(0.0)),
            frequency_mhz,
            governor: governor(root),
            aslr: aslr(root),
            host_taken_bytes: moved(|(taken, _)| taken),
            host_given_bytes: moved(|(_, given)| given),
            free_change_bytes: free.and_then(|(before, after)| {
                i64::try_from(after).ok()?.checked_sub(i64::try_from(before).ok()?)
            }),
        }
    }
}

/// What all CPUs say that share a frequency (`scaling_cur_freq`, `scaling_governor`); nothing where the kernel does not set it.
fn of_policies(root: &Root, file: &str) -> Vec<String> {
    let policies = root.list(CPUFREQ).ok().flatten().unwrap_or_default();
    let read = |policy: &String| root.read(&format!("{CPUFREQ}/{policy}/{file}")).ok().flatten();
    let texts = policies.iter().filter(|name| name.starts_with("policy")).filter_map(read);
    texts.map(|text| text.trim().to_owned()).collect()
}

fn frequency_mhz(root: &Root) -> Option<f64> {
    let kilohertz = of_policies(root, "scaling_cur_freq").into_iter().filter_map(|text| text.parse().ok());
    kilohertz.max().map(|kilohertz: u64| kilohertz as f64 / 1e3)
}

fn governor(root: &Root) -> Option<String> {
    let governors: SortedSet<String> = of_policies(root, "scaling_governor").into_iter().collect();
    let names: Vec<String> = governors.into_iter().filter(|name| !name.is_empty()).collect();
    (!names.is_empty()).then(|| names.join(","))
}

fn aslr(root: &Root) -> Option<Aslr> {
    let text = |file| root.read(file).ok().flatten();
    let personality =
        text("proc/self/personality").and_then(|text| u32::from_str_radix(text.trim(), 16).ok());
    if personality.is_some_and(|personality| personality & NO_RANDOM_ADDRESSES != 0) {
        return Some(Aslr::Off);
    }
    match text("proc/sys/kernel/randomize_va_space")?.trim() {
        "0" => Some(Aslr::Off),
        "1" => Some(Aslr::Partial),
        "2" => Some(Aslr::Full),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn what_passed_is_counted_and_what_is_unknown_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let put = |file: &str, text: &str| write(folder.path(), file, text);
        let used = TimedRun { user_s: 1.0, system_s: 0.5, ..TimedRun::default() };
        let nothing = Moment::read(&root).until_now(&root, &used);
        assert!(nothing.is_unknown(), "{nothing:?}");

        put("proc/stat", "cpu  100 10 50 9000 7 1 2 30 5 0\ncpu0 1 2 3\nintr 7\n");
        put("proc/vmstat", "nr_free_pages 7\nballoon_inflate 10\nballoon_deflate 2\n");
        put("proc/meminfo", "MemTotal: 100 kB\nMemFree: 50 kB\n");
        let before = Moment::read(&root);
        put("proc/stat", "cpu  300 10 150 9900 7 1 2 55 5 0\n");
        put("proc/vmstat", "nr_free_pages 7\nballoon_inflate 13\nballoon_deflate 2\n");
        put("proc/meminfo", "MemTotal: 100 kB\nMemFree: 20 kB\n");
        put("proc/sys/kernel/randomize_va_space", "2\n");
        for (policy, kilohertz, governor) in [(0, 1_800_000, "powersave"), (4, 3_200_000, "powersave")] {
            put(&format!("{CPUFREQ}/policy{policy}/scaling_cur_freq"), &format!("{kilohertz}\n"));
            put(&format!("{CPUFREQ}/policy{policy}/scaling_governor"), &format!("{governor}\n"));
        }
        let expected = Meanwhile {
            steal_s: Some(0.25),
            other_cpu_s: Some(1.5),
            frequency_mhz: Some(3200.0),
            governor: Some("powersave".to_owned()),
            aslr: Some(Aslr::Full),
            host_taken_bytes: Some(3 * page_bytes() as u64),
            host_given_bytes: Some(0),
            free_change_bytes: Some(-30 * 1024),
        };
        assert_eq!(before.until_now(&root, &used), expected);
        // A program may have more than is counted in hundredths of a second, and others then none.
        let busier = TimedRun { user_s: 9.0, ..used.clone() };
        assert_eq!(before.until_now(&root, &busier).other_cpu_s, Some(0.0));
        put("proc/self/personality", "00040000\n");
        put(&format!("{CPUFREQ}/policy4/scaling_governor"), "performance\n");
        put("proc/vmstat", "nr_free_pages 7\n");
        let other = before.until_now(&root, &used);
        assert_eq!((other.aslr, other.host_taken_bytes), (Some(Aslr::Off), None));
        assert_eq!(other.governor.as_deref(), Some("performance,powersave"));
    }

    #[test]
    fn this_machine_tells_of_its_cpus() {
        let root = Root::live();
        let told = Moment::read(&root).until_now(&root, &TimedRun::default());
        assert!(
            told.other_cpu_s.is_some() && told.aslr.is_some() && told.free_change_bytes.is_some(),
            "{told:?}"
        );
    }
}
