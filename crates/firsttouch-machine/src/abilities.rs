//! What can be done on a machine, thing by thing, and by which command the rest could.

use crate::features::thp_disabled_by_prctl;
use crate::machine::{NO_SYS, has_sys};
use crate::pages::{self, Pool, ThpSize, page_word};
use crate::reader::Reader;
use crate::{Bound, Features, Limits, Machine, Probe, Root};
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::sysinfo;
use serde::{Deserialize, Serialize};

const HUGE: u64 = 2 << 20;
const GIGANTIC: u64 = 1 << 30;
/// The words of the hugetlb pools that can be asked for, and the size of their pages.
const POOLS: [(&str, u64); 2] = [("2m", HUGE), ("1g", GIGANTIC)];

/// One thing of the vocabulary on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Ability {
    /// The word for it: `thp`, `64k` …, `2m`, `1g`, `collapse`, `supervise`, `receipts`, `prefault`, `bind`,
    /// `weighted`, `counters`.
    pub what: String,
    /// Whether it can be done; `None` when that cannot be told (a recorded machine's kernel cannot be asked).
    pub possible: Option<bool>,
    /// Why, or why not.
    pub why: String,
    /// The command that would allow it, where one exists.
    pub remedy: Option<String>,
}

impl Ability {
    fn new(what: &str, possible: Option<bool>, why: impl Into<String>) -> Ability {
        Ability { what: what.to_owned(), possible, why: why.into(), remedy: None }
    }

    fn yes(what: &str, why: impl Into<String>) -> Ability {
        Ability::new(what, Some(true), why)
    }

    fn no(what: &str, why: impl Into<String>) -> Ability {
        Ability::new(what, Some(false), why)
    }

    fn by(self, command: impl Into<String>) -> Ability {
        Ability { remedy: Some(command.into()), ..self }
    }

    /// A thing that was not tried, or not found: on the live machine that means it is not there.
    fn absent(what: &str, machine: &Machine, is_live: bool, why: &str) -> Ability {
        match is_live {
            true if machine.lacks_sys() => Ability::new(what, None, "/sys, which tells, is not mounted")
                .by("sudo mount -t sysfs none /sys"),
            true => Ability::no(what, why),
            false => Ability::new(what, None, "a recording that does not tell"),
        }
    }
}

/// Whether this machine gives pages of a kind at this moment, by the word for it (`thp`, `64k` …, `2m`, `1g`), on these nodes
/// (none: wherever there are any); `None` for another word. Reads what decides over pages, and asks the kernel nothing else.
pub fn pages_ability(what: &str, nodes: &[u32]) -> Option<Ability> {
    let root = Root::live();
    let reader = Reader::new(&root);
    let memory = reader.text("proc/meminfo").map(|text| sysinfo::meminfo(&text)).unwrap_or_default();
    let machine = Machine {
        thp: pages::thp(&reader),
        pools: pages::pools(&reader),
        features: Features { thp_disabled_by_prctl: thp_disabled_by_prctl(), ..Features::default() },
        limits: Limits::read(&reader, None),
        unreadable: (!has_sys(&root)).then(|| NO_SYS.to_owned()).into_iter().collect(),
        memory_bytes: memory.total_bytes,
        memory_available_bytes: memory.available_bytes,
        ..Machine::default()
    };
    let of_pool = |page_bytes| {
        let anywhere = pool(&machine, what, page_bytes, true);
        let there = machine.pool(page_bytes).filter(|_| anywhere.possible == Some(true));
        match there.and_then(|pool| empty_on(&machine, pool, nodes)) {
            Some((why, remedy)) => Ability { remedy, ..Ability::no(what, why) },
            None => anywhere,
        }
    };
    if let Some((_, page_bytes)) = POOLS.iter().find(|(word, _)| *word == what) {
        return Some(of_pool(*page_bytes));
    }
    match what {
        "thp" => Some(thp(&machine, true)),
        _ => {
            let kibibytes: u64 = what.strip_suffix('k')?.parse().ok()?;
            let of_size = multi_size(&machine, true).into_iter().find(|ability| ability.what == what);
            let why = "transparent huge pages of this size: need Linux 6.8, and a processor that has them";
            (kibibytes > 4).then(|| of_size.unwrap_or_else(|| Ability::no(what, why)))
        }
    }
}

/// Why nodes have no page of a pool that has some elsewhere, and the command that reserves some.
fn empty_on(machine: &Machine, pool: &Pool, nodes: &[u32]) -> Option<(String, Option<String>)> {
    let has_none = |node: &u32| pool.nodes.iter().any(|part| part.node == *node && part.free == Some(0));
    if nodes.is_empty() || pool.overcommit.is_some_and(|pages| pages > 0) || !nodes.iter().all(has_none) {
        return None;
    }
    let list = format_list(nodes);
    let word = page_word(pool.page_bytes);
    let command =
        worthwhile(machine, pool).map(|pages| setup(&format!("pages {word}={pages} --node {}", nodes[0])));
    Some((format!("the pool has no free page on node {list}"), command))
}

pub(crate) fn abilities(machine: &Machine) -> Vec<Ability> {
    let is_live = live(machine);
    let mut list = vec![thp(machine, is_live)];
    list.extend(multi_size(machine, is_live));
    list.extend(POOLS.map(|(word, page_bytes)| pool(machine, word, page_bytes, is_live)));
    list.push(probed(
        "collapse",
        machine.features.madv_collapse.as_ref(),
        "MADV_COLLAPSE makes huge pages of memory in use",
        "MADV_COLLAPSE: needs Linux 6.1 with transparent huge pages",
    ));
    list.push(supervise(machine));
    list.push(probed(
        "receipts",
        machine.features.pagemap_scan.as_ref(),
        "PAGEMAP_SCAN reads back the page sizes",
        "PAGEMAP_SCAN: needs Linux 6.7; smaps is read in its place, which is slower",
    ));
    list.push(probed(
        "prefault",
        machine.features.madv_populate_write.as_ref(),
        "MADV_POPULATE_WRITE creates pages ahead",
        "MADV_POPULATE_WRITE: needs Linux 5.14",
    ));
    list.push(bind(machine));
    list.push(weighted(machine));
    list.push(counters(machine));
    list
}

fn live(machine: &Machine) -> bool {
    machine.features.madv_collapse.is_some()
}

fn probed(what: &str, probe: Option<&Probe>, good: &str, bad: &str) -> Ability {
    match probe {
        None => Ability::new(what, None, "a recorded machine's kernel cannot be asked"),
        Some(probe) if probe.works => Ability::yes(what, good),
        Some(probe) => Ability::no(what, format!("{bad}{}", answer(probe))),
    }
}

fn answer(probe: &Probe) -> String {
    probe.answer.as_ref().map(|answer| format!(" (the kernel answered: {answer})")).unwrap_or_default()
}

fn thp(machine: &Machine, is_live: bool) -> Ability {
    let what = "thp";
    let Some(mode) = machine.thp_mode() else {
        return Ability::absent(
            what,
            machine,
            is_live,
            "the kernel was built without transparent huge pages",
        );
    };
    if machine.features.thp_disabled_by_prctl.as_deref() == Some("yes") {
        return Ability::no(
            what,
            "PR_SET_THP_DISABLE is set for this process, inherited from who started it",
        );
    }
    let own = machine.thp.sizes.iter().find(|size| Some(size.page_bytes) == machine.thp.hpage_pmd_size_bytes);
    match own.and_then(|size| size.effective(&machine.thp)).unwrap_or(mode) {
        "never" => match own.filter(|size| size.enabled.as_deref() == Some("never")) {
            Some(size) => Ability::no(what, "transparent huge pages of this size are switched off")
                .by(setup(&format!("thp {}=inherit", page_word(size.page_bytes)))),
            None => Ability::no(what, "transparent huge pages are switched off (mode never)")
                .by(setup("thp madvise")),
        },
        "madvise" => Ability::yes(what, "mode madvise: memory that asks gets them"),
        mode => Ability::yes(what, format!("mode {mode}: all memory gets them")),
    }
}

/// The command that sets this machine up.
fn setup(words: &str) -> String {
    format!("sudo firsttouch setup {words} --apply")
}

fn multi_size(machine: &Machine, is_live: bool) -> Vec<Ability> {
    let sizes: Vec<&ThpSize> = machine
        .thp
        .sizes
        .iter()
        .filter(|size| (16 << 10..=1 << 20).contains(&size.page_bytes) && size.enabled.is_some())
        .collect();
    if sizes.is_empty() {
        return vec![Ability::absent(
            "64k",
            machine,
            is_live,
            "multi-size transparent huge pages: need Linux 6.8",
        )];
    }
    let ability = |size: &&ThpSize| {
        let what = format!("{}k", size.page_bytes >> 10);
        match size.effective(&machine.thp) {
            Some("never") | None => {
                Ability::no(&what, "this size is switched off").by(setup(&format!("thp {what}=madvise")))
            }
            Some(mode) => Ability::yes(&what, format!("mode {mode}")),
        }
    };
    sizes.iter().map(ability).collect()
}

fn pool(machine: &Machine, what: &str, page_bytes: u64, is_live: bool) -> Ability {
    let Some(pool) = machine.pool(page_bytes) else {
        let others: Vec<String> =
            machine.pools.iter().map(|pool| format!("{} KiB", pool.page_bytes >> 10)).collect();
        return match others.is_empty() {
            true => {
                Ability::absent(what, machine, is_live, "the kernel was built without reserved huge pages")
            }
            false => {
                Ability::no(what, format!("not a page size of this processor ({} are)", others.join(", ")))
            }
        };
    };
    if let Some(limit) = machine.limits.cgroup_hugetlb.iter().find(|limit| limit.page_bytes == page_bytes)
        && let Bound::Bytes(bytes) = limit.limit_bytes
        && bytes.saturating_sub(limit.usage_bytes.unwrap_or(0)) < page_bytes
    {
        return Ability::no(what, "the control group allows no more of them").by(format!(
            "echo {} | sudo tee {}",
            (page_bytes * worthwhile(machine, pool).unwrap_or(1)).max(bytes),
            limit.file
        ));
    }
    match pool.available() {
        None => Ability::absent(what, machine, is_live, "the pool does not say what it has"),
        Some(0) => {
            let why = match pool.pages {
                Some(0) | None => "the pool is empty".to_owned(),
                Some(pages) => format!("all {pages} pages of the pool are in use or promised"),
            };
            let Some(more) = worthwhile(machine, pool) else {
                return Ability::no(what, format!("{why}, and too little memory is available for more"));
            };
            let pages = pool.pages.unwrap_or(0) + more;
            let why = match page_bytes {
                GIGANTIC => format!("{why}; surest at boot, by hugepagesz=1G hugepages={pages}"),
                _ => why,
            };
            Ability::no(what, why).by(setup(&format!("pages {what}={pages}")))
        }
        Some(1) => Ability::yes(what, "1 page can be had"),
        Some(pages) => Ability::yes(what, format!("{pages} pages can be had")),
    }
}

/// Pages to propose: a quarter of what is available, so that the machine still breathes, at most 16 GiB, and at
/// least one page; `None` where `setup` would refuse even that one.
fn worthwhile(machine: &Machine, pool: &Pool) -> Option<u64> {
    let in_nodes = machine.nodes.iter().map(|node| node.size_bytes).sum::<Option<u64>>();
    let in_nodes = in_nodes.filter(|_| !machine.nodes.is_empty());
    let bytes = [machine.memory_available_bytes, in_nodes].into_iter().flatten().min();
    let pages = bytes.map_or(1, |bytes| ((bytes / 4).min(16 * GIGANTIC) / pool.page_bytes).max(1));
    let spare = machine.memory_available_bytes.map(|bytes| bytes.saturating_sub(machine.rest_bytes()));
    Some(spare.map_or(pages, |spare| pages.min(spare / pool.page_bytes))).filter(|pages| *pages > 0)
}

fn supervise(machine: &Machine) -> Ability {
    let what = "supervise";
    let Some(probe) = &machine.features.process_madvise else {
        return Ability::new(what, None, "a recorded machine's kernel cannot be asked");
    };
    if probe.works {
        return Ability::yes(what, "process_madvise may collapse pages of other programs");
    }
    let refused = matches!(probe.errno, Some(ERRNO_NOT_PERMITTED | ERRNO_ACCESS));
    match machine.has_capability("CAP_SYS_NICE") {
        Some(false) if refused => {
            let why = "collapsing pages of other programs needs CAP_SYS_NICE";
            return match possible(machine, "CAP_SYS_NICE") {
                Some(false) => Ability::no(what, format!("{why}, which this container was started without"))
                    .by(SUPERVISING_CONTAINER),
                _ => Ability::no(what, why).by(setcap(machine, "cap_sys_nice")),
            };
        }
        // The probe asks about the parent process; one of another user is out of reach, our own children are not.
        Some(true) if probe.errno == Some(ERRNO_ACCESS) => {
            return Ability::yes(what, "process_madvise may collapse pages of programs of the same user");
        }
        Some(true) if probe.errno == Some(ERRNO_NOT_PERMITTED) => {
            let why = "collapsing pages of other programs is refused in spite of CAP_SYS_NICE: by a sandbox (seccomp), or the capability holds in \
                       a namespace of users alone";
            return Ability::no(what, why).by(SUPERVISING_CONTAINER);
        }
        _ => {}
    }
    let why = "collapsing pages of other programs by process_madvise: needs Linux 6.1 and CAP_SYS_NICE";
    Ability::no(what, format!("{why}{}", answer(probe)))
}

/// The kernel asks for the first, and the filters of Docker and Podman let process_madvise(2) through for the second.
const SUPERVISING_CONTAINER: &str = "docker run --cap-add SYS_NICE --cap-add SYS_PTRACE IMAGE";
const ERRNO_NOT_PERMITTED: i32 = 1;
const ERRNO_ACCESS: i32 = 13;

fn possible(machine: &Machine, capability: &str) -> Option<bool> {
    machine.capabilities_possible.as_ref().map(|names| names.iter().any(|name| name == capability))
}

fn setcap(machine: &Machine, capability: &str) -> String {
    let program = machine.own_program.as_deref().unwrap_or("\"$(command -v firsttouch)\"");
    format!("sudo setcap {capability}+ep {program}")
}

fn bind(machine: &Machine) -> Ability {
    let what = "bind";
    let with_memory: Vec<u32> =
        machine.nodes.iter().filter(|node| node.is_ordinary()).map(|node| node.id).collect();
    let allowed =
        |node: &&u32| machine.limits.allowed_nodes.as_ref().is_none_or(|nodes| nodes.contains(node));
    match (with_memory.len(), with_memory.iter().filter(allowed).count()) {
        (0, _) => Ability::new(what, None, "the nodes are unknown"),
        (1, _) => Ability::no(what, "there is one memory node, and so no other place for memory"),
        (all, 1) => Ability::no(what, format!("the cpuset (cpuset.mems) allows one of {all} memory nodes")),
        (_, usable) => Ability::yes(what, format!("{usable} memory nodes to choose from")),
    }
}

fn weighted(machine: &Machine) -> Ability {
    let one_place = bind(machine);
    if one_place.possible == Some(false) {
        return Ability { what: "weighted".to_owned(), ..one_place };
    }
    let probe = machine.features.weighted_interleave.as_ref();
    probed(
        "weighted",
        probe,
        "the kernel interleaves by weight",
        "interleaving by weight: needs Linux 6.9 with NUMA",
    )
}

fn counters(machine: &Machine) -> Ability {
    let what = "counters";
    let Some(probe) = &machine.features.hardware_counters else {
        return Ability::new(what, None, "a recorded machine's kernel cannot be asked");
    };
    if probe.works {
        return Ability::yes(what, "the processor counts");
    }
    let paranoid = machine.perf_event_paranoid.is_some_and(|level| level > 2);
    let refused = matches!(probe.errno, Some(ERRNO_NOT_PERMITTED | ERRNO_ACCESS));
    if refused && paranoid {
        return Ability::no(what, "kernel.perf_event_paranoid keeps counters from ordinary users")
            .by("sudo sysctl kernel.perf_event_paranoid=2");
    }
    let nothing_to_count = probe.errno.is_none();
    if nothing_to_count && machine.virtual_machine == Some(true) {
        let why = "the hypervisor gives this guest no counters (on the host: QEMU with -cpu host,pmu=on)";
        return Ability::no(what, why);
    }
    Ability::no(what, format!("hardware counters{}", answer(probe)))
}
