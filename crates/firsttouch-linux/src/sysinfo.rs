//! Parsers of the small texts under `/proc` and `/sys` that describe a machine. Pure functions: text in,
//! values out, `None` for what the text does not say.

/// The fields of `/proc/meminfo` or `/sys/devices/system/node/nodeN/meminfo` that matter here, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meminfo {
    /// All memory the kernel manages.
    pub total_bytes: Option<u64>,
    /// Memory nobody uses.
    pub free_bytes: Option<u64>,
    /// Memory that can be had without swapping (whole machine only).
    pub available_bytes: Option<u64>,
    /// Memory of processes that belongs to no file.
    pub anonymous_bytes: Option<u64>,
    /// Pages of files in memory, and memory that processes share (whole machine only).
    pub cached_bytes: Option<u64>,
    /// Pages of files that nobody has read twice of late: what goes first when memory is wanted.
    pub inactive_file_bytes: Option<u64>,
    /// Swap space (whole machine only).
    pub swap_total_bytes: Option<u64>,
    /// Swap space that nothing lies in (whole machine only).
    pub swap_free_bytes: Option<u64>,
}

/// Reads meminfo, of the whole machine or of a node (whose lines begin with `Node 3 `).
pub fn meminfo(text: &str) -> Meminfo {
    let mut found = Meminfo::default();
    for line in text.lines() {
        let line = match line.strip_prefix("Node ") {
            Some(rest) => rest.trim_start().split_once(' ').map_or("", |(_, rest)| rest),
            None => line,
        };
        let Some((key, value)) = line.split_once(':') else { continue };
        let field = match key.trim() {
            "MemTotal" => &mut found.total_bytes,
            "MemFree" => &mut found.free_bytes,
            "MemAvailable" => &mut found.available_bytes,
            "AnonPages" => &mut found.anonymous_bytes,
            "Cached" => &mut found.cached_bytes,
            "Inactive(file)" => &mut found.inactive_file_bytes,
            "SwapTotal" => &mut found.swap_total_bytes,
            "SwapFree" => &mut found.swap_free_bytes,
            _ => continue,
        };
        *field = kilobytes(value);
    }
    found
}

/// Free pages that each CPU keeps in lists of its own, of all CPUs and zones together, from `/proc/zoneinfo`.
/// [`Meminfo::available_bytes`] is without them. Linux 6.7 and later size these lists by what is freed: on two CPUs with 24 GiB a gigabyte lay on each.
pub fn pages_in_cpu_lists(zoneinfo: &str) -> Option<u64> {
    let counts =
        zoneinfo.lines().filter_map(|line| line.trim_start().strip_prefix("count:")?.trim().parse().ok());
    counts.reduce(u64::saturating_add)
}

fn kilobytes(value: &str) -> Option<u64> {
    let mut words = value.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    match words.next() {
        Some("kB") => number.checked_mul(1024),
        None => Some(number),
        Some(_) => None,
    }
}

/// Processor time of all CPUs together since the start, in ticks of [`TICKS_PER_S`](crate::process::TICKS_PER_S).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTicks {
    /// In programs and in the kernel, interrupts included; neither idle nor waiting for I/O.
    pub busy: u64,
    /// Wanted, and given to others by the host of a virtual machine (Linux 2.6.11).
    pub steal: Option<u64>,
}

/// Reads the first line of `/proc/stat` (proc_stat(5)). Time of guests is in that of the programs that run them.
pub fn cpu_ticks(stat: &str) -> Option<CpuTicks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [user, nice, system, _idle, _iowait, irq, softirq, rest @ ..] = &ticks[..] else { return None };
    let busy =
        [user, nice, system, irq, softirq].into_iter().fold(0_u64, |sum, ticks| sum.saturating_add(*ticks));
    Some(CpuTicks { busy, steal: rest.first().copied() })
}

/// The chosen word of a setting such as `always [madvise] never`; a single bare word is its own choice.
pub fn chosen(text: &str) -> Option<&str> {
    if let Some((_, rest)) = text.split_once('[') {
        return rest.split_once(']').map(|(word, _)| word);
    }
    let mut words = text.split_whitespace();
    words.next().filter(|_| words.next().is_none())
}

/// A size with the suffix that cache files use: `32K`, `1M`, or plain bytes.
pub fn cache_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The name of the processor in `/proc/cpuinfo`: its key differs between architectures.
pub fn cpu_model(cpuinfo: &str) -> Option<String> {
    ["model name", "cpu model", "cpu", "Processor", "uarch"]
        .into_iter()
        .find_map(|wanted| cpuinfo_field(cpuinfo, wanted))
        .map(|model| model.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|model| !model.is_empty())
}

/// Whether `/proc/cpuinfo` lists this flag; `None` when it lists none at all (not x86).
pub fn cpu_flag(cpuinfo: &str, flag: &str) -> Option<bool> {
    cpuinfo_field(cpuinfo, "flags").map(|flags| flags.split_whitespace().any(|word| word == flag))
}

/// The first value of this key in `/proc/cpuinfo`.
pub fn cpuinfo_field<'a>(cpuinfo: &'a str, wanted: &str) -> Option<&'a str> {
    colon_fields(cpuinfo).find(|(key, _)| *key == wanted).map(|(_, value)| value)
}

/// The APIC ids in `/proc/cpuinfo` (x86): pairs of a CPU and its id.
pub fn apic_ids(cpuinfo: &str) -> Vec<(u32, u32)> {
    let mut ids = Vec::new();
    let mut cpu = None;
    for (key, value) in colon_fields(cpuinfo) {
        match key {
            "processor" => cpu = value.parse().ok(),
            "apicid" => ids.extend(cpu.zip(value.parse().ok())),
            _ => {}
        }
    }
    ids
}

/// The value of a field of `/proc/PID/status`, for example `CapEff`.
pub fn status_field<'a>(status: &'a str, wanted: &str) -> Option<&'a str> {
    colon_fields(status).find(|(key, _)| *key == wanted).map(|(_, value)| value)
}

fn colon_fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim()))
}

/// The release in `/proc/version`: `Linux version 6.12.1 (…) …`.
pub fn kernel_release(version: &str) -> Option<&str> {
    version.trim().strip_prefix("Linux version ")?.split_whitespace().next()
}

/// The two leading numbers of a kernel release: `6.18.44-cloud` is (6, 18).
pub fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.trim().splitn(3, '.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse().ok()
    });
    Some((numbers.next()??, numbers.next()??))
}

/// A mask of capabilities as `/proc/PID/status` prints it, in hexadecimal.
pub fn capability_mask(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim(), 16).ok()
}

/// A limit: some number, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many.
    At(u64),
    /// No limit.
    Unlimited,
}

/// The soft limit of a row of `/proc/PID/limits`, for example `Max locked memory`.
pub fn soft_limit(limits: &str, row: &str) -> Option<Limit> {
    let rest = limits.lines().find_map(|line| line.strip_prefix(row))?;
    limit_word(rest.split_whitespace().next()?, "unlimited")
}

/// A limit of a control group. Version 2 says `max`; version 1 says a number near 2^63 for none.
pub fn cgroup_limit(text: &str) -> Option<Limit> {
    match limit_word(text.trim(), "max")? {
        Limit::At(number) if number >= 1 << 62 => Some(Limit::Unlimited),
        limit => Some(limit),
    }
}

fn limit_word(word: &str, none: &str) -> Option<Limit> {
    if word == none {
        return Some(Limit::Unlimited);
    }
    word.parse().ok().map(Limit::At)
}

/// One line of `/proc/PID/cgroup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupLine {
    /// The controllers of a version 1 hierarchy; empty for version 2.
    pub controllers: Vec<String>,
    /// The group's path within its hierarchy.
    pub path: String,
}

/// Reads `/proc/PID/cgroup`.
pub fn cgroups(text: &str) -> Vec<CgroupLine> {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let controllers =
                parts.next()?.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
            Some(CgroupLine { controllers, path: parts.next()?.to_owned() })
        })
        .collect()
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its number, by which `/proc/PID/fdinfo` names it; not in `/proc/mounts`.
    pub id: Option<u32>,
    /// Major and minor number of the file system: those of the block device below it, or with major 0 a made-up number.
    /// Not in `/proc/mounts`.
    pub device: Option<(u32, u32)>,
    /// The folder of the file system that is mounted; `/` unless a part of it is.
    pub part: String,
    /// Where it is mounted.
    pub point: String,
    /// Its type, for example `cgroup2`.
    pub kind: String,
    /// What is mounted, in the file system's own words: a device, or a server and its folder, or a plain word.
    pub source: String,
    /// Its own options: for `cgroup`, the controllers.
    pub options: Vec<String>,
}

/// Reads `/proc/PID/mountinfo`, or `/proc/mounts` of old recordings.
pub fn mounts(text: &str) -> Vec<Mount> {
    text.lines().filter_map(|line| mountinfo_line(line).or_else(|| mounts_line(line))).collect()
}

fn mountinfo_line(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ');
    let (id, device) = (place.next()?.parse().ok(), device_number(place.nth(1)?, 10));
    let (part, point) = (unescape(place.next()?), unescape(place.next()?));
    let mut kind = kind.split(' ');
    let (name, source) = (kind.next()?.to_owned(), unescape(kind.next().unwrap_or_default()));
    let options = comma_words(kind.next().unwrap_or_default());
    Some(Mount { id, device, part, point, kind: name, source, options })
}

fn mounts_line(line: &str) -> Option<Mount> {
    let mut words = line.split(' ');
    let (source, point, kind, options) = (words.next()?, words.next()?, words.next()?, words.next()?);
    Some(Mount {
        id: None,
        device: None,
        part: "/".to_owned(),
        point: unescape(point),
        kind: kind.to_owned(),
        source: unescape(source),
        options: comma_words(options),
    })
}

/// Major and minor number as `8:1`, in decimal (mountinfo) or hexadecimal (maps).
pub(crate) fn device_number(text: &str, radix: u32) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    // from_str_radix would take a sign.
    let number =
        |text: &str| (!text.starts_with(['+', '-'])).then(|| u32::from_str_radix(text, radix).ok())?;
    Some((number(major)?, number(minor)?))
}

fn comma_words(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}

/// The kernel writes blanks, tabs, newlines and backslashes of paths as three octal digits.
fn unescape(text: &str) -> String {
    let mut plain = text.to_owned();
    for (code, character) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(code, character);
    }
    plain
}

/// Whether a feature of a virtio device was agreed upon: its `features` file is a row of digits, bit 0 first.
pub fn virtio_feature(features: &str, bit: usize) -> Option<bool> {
    match features.trim().as_bytes().get(bit)? {
        b'1' => Some(true),
        b'0' => Some(false),
        _ => None,
    }
}

/// The numbers of a node's `distance` file, in the order of the nodes that are online.
pub fn distances(text: &str) -> Option<Vec<u32>> {
    text.split_whitespace().map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_of_machine_and_node() {
        let machine = meminfo("MemTotal: 8 kB\nMemFree:\t4 kB\nMemAvailable: 5 kB\nHugePages_Total: 9\n");
        assert_eq!(machine.total_bytes, Some(8192));
        assert_eq!(machine.available_bytes, Some(5120));
        assert_eq!(machine.swap_total_bytes, None);
        let node = meminfo("\nNode 250 MemTotal:       15728640 kB\nNode 250 MemFree: 1 kB\n");
        assert_eq!((node.total_bytes, node.free_bytes), (Some(15_728_640 << 10), Some(1024)));
        assert_eq!(meminfo("MemTotal: lots kB\nMemFree: 1 parsec"), Meminfo::default());
    }

    #[test]
    fn free_pages_that_cpus_keep() {
        let zones = "Node 0, zone    DMA32\n  pages free     772688\n        min      2118\n  pagesets\n    cpu: 0\n              \
                     count:    1030\n              high:     1034\n              batch: 63\n    cpu: 1\n              count: 99\n\
                     Node 0, zone   Normal\n    cpu: 0\n              count: 400\n              count: none\n";
        assert_eq!(pages_in_cpu_lists(zones), Some(1529));
        assert_eq!(pages_in_cpu_lists("Node 0, zone Movable\n  pages free 0\n"), None);
        let most = format!("count: {}\n", u64::MAX);
        assert_eq!(pages_in_cpu_lists(&most.repeat(2)), Some(u64::MAX));
    }

    #[test]
    fn settings_and_sizes() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("never\n"), Some("never"));
        assert_eq!(chosen("always madvise"), None);
        assert_eq!(cache_size("32K\n"), Some(32768));
        assert_eq!(cache_size("K"), None);
        assert_eq!(cache_size(""), None);
    }

    #[test]
    fn processors_of_three_architectures() {
        assert_eq!(
            cpu_model("model name\t: AMD  Opteron(TM) 6276   \n").as_deref(),
            Some("AMD Opteron(TM) 6276")
        );
        assert_eq!(
            cpu_model("processor\t: 0\ncpu\t\t: POWER9, altivec\n").as_deref(),
            Some("POWER9, altivec")
        );
        assert_eq!(cpu_model("flags : fpu"), None);
        assert_eq!(cpu_flag("flags\t: fpu hypervisor lm", "hypervisor"), Some(true));
        assert_eq!(cpu_flag("cpu : POWER9", "hypervisor"), None);
        let two = "processor : 0\napicid : 0\ninitial apicid : 7\n\nprocessor : 5\napicid : 64\n";
        assert_eq!(apic_ids(two), [(0, 0), (5, 64)]);
        assert_eq!(apic_ids("apicid : 3\n"), []);
    }

    #[test]
    fn kernels_and_limits() {
        assert_eq!(kernel_release("Linux version 5.18.0-rc4 (a@b) #1"), Some("5.18.0-rc4"));
        assert_eq!(kernel_version("6.18.44-cloud"), Some((6, 18)));
        assert_eq!(kernel_version("6.7-rc1"), Some((6, 7)));
        assert_eq!(kernel_version("six"), None);
        let limits = "Limit  Soft\nMax locked memory         8388608   8388608  bytes\nMax address space unlimited unlimited bytes";
        assert_eq!(soft_limit(limits, "Max locked memory"), Some(Limit::At(8_388_608)));
        assert_eq!(soft_limit(limits, "Max address space"), Some(Limit::Unlimited));
        assert_eq!(cgroup_limit("max\n"), Some(Limit::Unlimited));
        assert_eq!(cgroup_limit("9223372036854771712\n"), Some(Limit::Unlimited));
        assert_eq!(cgroup_limit("4096\n"), Some(Limit::At(4096)));
    }

    #[test]
    fn processor_time_of_all() {
        let text = "cpu  10 1 5 900 7 2 3 4 5 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(cpu_ticks(text), Some(CpuTicks { busy: 21, steal: Some(4) }));
        assert_eq!(cpu_ticks("cpu 1 2 3 4 5 6 7\n"), Some(CpuTicks { busy: 19, steal: None }));
        for odd in ["", "cpu0 1 2 3 4 5 6 7 8\n", "cpu  1 2 3\n", "cpu  a b c d e f g\n"] {
            assert_eq!(cpu_ticks(odd), None, "{odd}");
        }
    }

    #[test]
    fn control_groups_and_mounts() {
        let lines = cgroups("9:name=systemd:/\n4:memory,hugetlb:/a:b\n0::/user.slice\nnonsense\n");
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1].controllers, ["memory", "hugetlb"]);
        assert_eq!(lines[1].path, "/a:b");
        assert!(lines[2].controllers.is_empty());
        let found =
            mounts("35 31 0:32 /docker/x /sys/fs/my\\040group rw shared:3 - cgroup cgroup rw,memory\n");
        assert_eq!(found[0].point, "/sys/fs/my group");
        assert_eq!((found[0].part.as_str(), found[0].kind.as_str()), ("/docker/x", "cgroup"));
        assert!(found[0].options.contains(&"memory".to_owned()));
        let old = mounts("none /dev/cpuset cgroup rw,relatime,cpuset,noprefix 0 0\n");
        assert_eq!((old[0].part.as_str(), old[0].point.as_str()), ("/", "/dev/cpuset"));
    }

    #[test]
    fn virtio_bits_count_from_the_left() {
        assert_eq!(virtio_feature("0110010100\n", 5), Some(true));
        assert_eq!(virtio_feature("0110010100\n", 0), Some(false));
        assert_eq!(virtio_feature("01", 5), None);
    }
}
