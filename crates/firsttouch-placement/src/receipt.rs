//! Obtained: what the kernel really gave.

use crate::{Placement, ProcessTree, Resolved, ResolvedMemory, Via, format_bytes};
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_memory::Reason;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;

/// Bytes that did not get what was asked, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Shortfall {
    /// One reason of the closed list.
    #[serde(serialize_with = "reason_out", deserialize_with = "reason_in")]
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub reason: Reason,
    /// How many bytes it concerns; 0 where the whole program is concerned and no size is known.
    pub bytes: u64,
    /// The line that mends it.
    pub remedy: String,
}

impl Shortfall {
    /// A shortfall with the remedy of its reason.
    pub fn new(reason: Reason, bytes: u64) -> Self {
        Shortfall { reason, bytes, remedy: reason.remedy().to_owned() }
    }
}

/// One placed block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BlockReport {
    /// Running number of the block in its process, from 1.
    pub id: u64,
    /// Address, in hexadecimal (`0x…`).
    pub address: String,
    /// Bytes the program asked for.
    pub bytes: u64,
    /// Of these, bytes on huge pages; `None` where the kernel does not tell (before Linux 6.7).
    pub huge_bytes: Option<u64>,
}

/// One thread of a program whose threads were to be bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ThreadReport {
    /// In the order of creation; 0 is the main thread.
    pub number: u32,
    /// Its name at the end of the program; `None` if it had ended before.
    pub name: Option<String>,
    /// The CPU it was to run on; `None` if it was skipped, or the program had bound it itself.
    pub cpu_asked: Option<u32>,
    /// The CPUs it could run on at the end of the program, or, if it had ended before, right after it was bound; `None`
    /// if that could not be read.
    pub cpus_obtained: Option<Vec<u32>>,
}

impl ThreadReport {
    /// Whether it was to be bound and ran elsewhere.
    pub fn is_elsewhere(&self) -> bool {
        match (self.cpu_asked, &self.cpus_obtained) {
            (Some(asked), Some(obtained)) => *obtained != [asked],
            _ => false,
        }
    }
}

/// What was obtained, at the moment when placed memory was at its peak.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Obtained {
    /// Resident bytes of placed memory by page size in bytes. Without a way to see multi-size pages they count as base pages.
    pub bytes_by_page_size: BTreeMap<u64, u64>,
    /// Of these, bytes on pages of a pool (`2m`, `1g`), which no other figure tells from transparent huge pages.
    #[serde(default)]
    pub pool_bytes: u64,
    /// Resident bytes of placed memory by NUMA node; `None` if the kernel does not say.
    pub bytes_by_node: Option<BTreeMap<u32, u64>>,
    /// Bytes of placed blocks at that moment.
    pub placed_bytes: u64,
    /// Largest number of bytes in placed blocks at any time.
    pub peak_bytes: u64,
    /// Allocations placed over the life of the program.
    pub placed_blocks: u64,
    /// Bytes that came from recycled blocks instead of the kernel, over the life of the program.
    pub recycled_bytes: u64,
    /// Allocations that were served from recycled blocks, at least in part.
    #[serde(default)]
    pub recycled_blocks: u64,
    /// The most freed bytes that were held for reuse at any time.
    #[serde(default)]
    pub held_bytes: u64,
    /// The threads that were to be bound, in the order of their creation, at most 256 of them; empty where none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadReport>,
    /// The whole process at its end, resident bytes by page size; `None` if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_bytes_by_page_size: Option<BTreeMap<u64, u64>>,
    /// How often the program has set a memory policy itself (set_mempolicy, mbind), as far as the agent saw.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_policies: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Obtained {
    /// Resident placed bytes that lie on other nodes than these; `None` if the kernel does not say where they lie.
    pub fn bytes_outside(&self, nodes: &[u32]) -> Option<u64> {
        let by_node = self.bytes_by_node.as_ref()?;
        Some(by_node.iter().filter(|(node, _)| !nodes.contains(node)).map(|(_, bytes)| bytes).sum())
    }

    /// Resident placed bytes that a memory policy would have put elsewhere: outside of its nodes; and, where the program has policies of its
    /// own, what a node has beyond its share of what is spread.
    fn bytes_elsewhere(&self, memory: &ResolvedMemory) -> Option<u64> {
        let weights: Vec<(u32, u64)> = match memory {
            ResolvedMemory::Interleave(nodes) => nodes.iter().map(|node| (*node, 1)).collect(),
            ResolvedMemory::Weighted { weights, .. } => {
                weights.iter().map(|(node, weight)| (*node, u64::from(*weight))).collect()
            }
            _ => Vec::new(),
        };
        let outside = self.bytes_outside(&memory.nodes())?;
        let all: u64 = weights.iter().map(|(_, weight)| weight).sum();
        if self.own_policies == 0 || all == 0 {
            return Some(outside);
        }
        let by_node = self.bytes_by_node.as_ref()?;
        let sum: u64 = by_node.values().sum();
        let beyond = by_node.iter().map(|(node, bytes)| {
            let weight = weights.iter().find(|(known, _)| known == node).map_or(0, |(_, weight)| *weight);
            bytes.saturating_sub((u128::from(sum) * u128::from(weight) / u128::from(all)) as u64)
        });
        // Spreading is by pages: a few of the largest more or less on a node are nobody's doing.
        let beyond: u64 = beyond.sum();
        Some(if beyond > weights.len() as u64 * PMD_BYTES { beyond } else { outside })
    }

    /// Share of the resident placed bytes that lies on pages of at least `page_bytes`; `None` when nothing is resident.
    pub fn share_on_pages_of(&self, page_bytes: u64) -> Option<f64> {
        let total: u64 = self.bytes_by_page_size.values().sum();
        let there: u64 = self.bytes_by_page_size.range(page_bytes..).map(|(_, bytes)| bytes).sum();
        (total > 0).then(|| there as f64 / total as f64)
    }
}

/// Asked against obtained, for one execution of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Receipt {
    /// The program image that was looked at.
    pub program: String,
    /// What was asked.
    pub asked: Placement,
    /// What was obtained; `None` if nothing could be read (the shortfalls say why).
    pub obtained: Option<Obtained>,
    /// The CPUs that the program's first thread could run on when it was last looked at from outside; absent where no CPUs
    /// were asked for, and where threads were bound one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus_obtained: Option<Vec<u32>>,
    /// The program and what it started, read from outside; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<ProcessTree>,
    /// Reasons for everything that did not get what was asked.
    pub shortfalls: Vec<Shortfall>,
    /// The means that was really used.
    pub via: Via,
    /// The placed blocks of the peak, largest first, at most 64 of them.
    pub blocks: Vec<BlockReport>,
    /// The program ended by itself; false if it was killed, or its end was not seen.
    pub complete: bool,
    /// How it ended, in words; `None` where nobody waited for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<String>,
    /// Remarks that are no shortfalls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What is known of who moved pages while the program ran, beside itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Movers {
    /// What the kernel demoted to slower nodes, of the whole machine's memory.
    pub demoted_bytes: u64,
    /// The nodes that the cpuset leaves in the end; `None` if that is not known.
    pub allowed_nodes: Option<Vec<u32>>,
}

impl Movers {
    /// Why so much lies elsewhere than on these nodes, and what keeps it there.
    fn remedy(&self, nodes: &[u32], bytes: u64) -> String {
        let lost = |node: &&u32| self.allowed_nodes.as_ref().is_some_and(|allowed| !allowed.contains(node));
        let lost: Vec<u32> = nodes.iter().filter(lost).copied().collect();
        if !lost.is_empty() {
            return format!(
                "the cpuset lost node {} while the program ran: widen cpuset.mems of its control group (docker: \
                 --cpuset-mems; systemd: AllowedMemoryNodes=)",
                format_list(&lost)
            );
        }
        // Others' pages may be among them: as many as lie elsewhere say enough.
        if self.demoted_bytes >= bytes {
            return format!(
                "echo 0 | sudo tee /sys/kernel/mm/numa/demotion_enabled   # reclaiming memory, the kernel demoted {} to \
                 slower nodes meanwhile, whatever policy the pages have",
                format_bytes(self.demoted_bytes)
            );
        }
        format!(
            "node {} was full (numactl --hardware shows what is free), or the program has a policy of its own",
            format_list(nodes)
        )
    }
}

impl Receipt {
    /// Notes what a resolved placement expected and did not come about: pages on other nodes, threads on other CPUs.
    pub fn hold_against(&mut self, resolved: &Resolved, movers: &Movers) {
        self.notes.extend(resolved.notes.iter().cloned());
        self.hold_cpus_against(resolved);
        let Some(obtained) = &self.obtained else { return };
        let nodes = resolved.memory.nodes();
        if !nodes.is_empty() {
            let own = own_policies(obtained.own_policies);
            match obtained.bytes_elsewhere(&resolved.memory) {
                None if obtained.placed_bytes == 0 => {}
                None => self.notes.push("the kernel does not say which nodes pages lie on".to_owned()),
                Some(0) => self.notes.extend(own),
                Some(bytes) => self.shortfalls.push(Shortfall {
                    reason: Reason::PolicyOverridden,
                    bytes,
                    remedy: own.unwrap_or_else(|| movers.remedy(&nodes, bytes)),
                }),
            }
        }
        let elsewhere = obtained.threads.iter().filter(|thread| thread.is_elsewhere()).count();
        let own = obtained.threads.iter().filter(|thread| thread.cpu_asked.is_none()).count();
        if elsewhere > 0 {
            self.notes.push(format!(
                "{elsewhere} of {} threads run on other CPUs than asked: the program binds them itself, which counts more \
                 (OMP_PROC_BIND, KMP_AFFINITY, taskset, an MPI launcher?)",
                obtained.threads.len()
            ));
        }
        if own > 0 {
            self.notes.push(format!("{own} threads were skipped, or bound by the program itself"));
        }
    }
}

/// What is told of a program that has set memory policies so often.
fn own_policies(count: u64) -> Option<String> {
    (count > 0).then(|| {
        let calls = if count == 1 { "call" } else { "calls" };
        format!(
            "the program has set a memory policy of its own ({count} {calls} of set_mempolicy or mbind), which counts more \
             for what is touched after that (libnuma, hwloc, numactl in a script?)"
        )
    })
}

impl Receipt {
    /// Keeps the CPUs obtained where they are an answer to what was asked, and notes where they are others.
    fn hold_cpus_against(&mut self, resolved: &Resolved) {
        // A bound thread has one CPU, which says nothing of the program's.
        if resolved.cpus.is_empty() || !resolved.order.is_empty() {
            self.cpus_obtained = None;
        }
        let Some(obtained) = self.cpus_obtained.as_ref().filter(|obtained| **obtained != resolved.cpus)
        else {
            return;
        };
        self.notes.push(format!(
            "the program runs on CPUs {} in place of {}: it has set them itself (taskset, numactl, OMP_PROC_BIND, an MPI \
             launcher?), or its cpuset has changed",
            format_list(obtained),
            format_list(&resolved.cpus)
        ));
    }
}

fn reason_out<S: Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(reason.word())
}

fn reason_in<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reason, D::Error> {
    let word = String::deserialize(deserializer)?;
    Reason::parse(&word).ok_or_else(|| de::Error::custom(format!("`{word}` is not a reason of the list")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Record;

    /// Of a program that was placed as asked, and ended.
    pub(crate) fn receipt(asked: Placement, obtained: Obtained) -> Receipt {
        let record = Record {
            program: "/bin/x".to_owned(),
            complete: true,
            obtained,
            shortfalls: Vec::new(),
            blocks: Vec::new(),
            notes: Vec::new(),
        };
        record.into_receipt(asked)
    }

    fn unasked(obtained: Obtained) -> Receipt {
        receipt(Placement::default(), obtained)
    }

    #[test]
    fn pages_on_other_nodes_are_a_shortfall() {
        let by_node = BTreeMap::from([(0, 10), (1, 30), (2, 2)]);
        let mut receipt = unasked(Obtained { bytes_by_node: Some(by_node), ..Obtained::default() });
        let resolved = Resolved {
            memory: ResolvedMemory::Bind(vec![1]),
            notes: vec!["so".to_owned()],
            ..Resolved::default()
        };
        receipt.hold_against(&resolved, &Movers::default());
        assert_eq!(
            (receipt.shortfalls[0].reason, receipt.shortfalls[0].bytes),
            (Reason::PolicyOverridden, 12)
        );
        assert!(receipt.shortfalls[0].remedy.contains("node 1 was full"), "{}", receipt.shortfalls[0].remedy);
        assert_eq!(receipt.notes, ["so"]);
        receipt.shortfalls.clear();
        receipt.hold_against(
            &Resolved { memory: ResolvedMemory::Interleave(vec![0, 1, 2]), ..Resolved::default() },
            &Movers::default(),
        );
        assert!(receipt.shortfalls.is_empty());
    }

    #[test]
    fn who_moved_pages_is_told_where_it_is_known() {
        let movers =
            |demoted_bytes, allowed: &[u32]| Movers { demoted_bytes, allowed_nodes: Some(allowed.to_vec()) };
        let told = |movers: Movers| movers.remedy(&[0, 1], 4096);
        assert!(told(movers(0, &[0, 1, 2])).starts_with("node 0-1 was full"));
        assert!(told(movers(4095, &[0, 1, 2])).starts_with("node 0-1 was full"));
        assert!(told(movers(4096, &[0, 1, 2])).contains("demoted 4 KiB to slower nodes"));
        assert!(told(movers(4096, &[0, 2])).starts_with("the cpuset lost node 1 while"));
        assert!(told(Movers::default()).starts_with("node 0-1 was full"));
    }

    #[test]
    fn a_policy_of_the_programs_own_is_told() {
        const MIB: u64 = 1 << 20;
        let weights = vec![(0, 3), (1, 1)];
        let weighted = ResolvedMemory::Weighted { weights, by_kernel: false };
        let interleaved = ResolvedMemory::Interleave(vec![0, 1]);
        let held = |memory: &ResolvedMemory, mib: [u64; 2], own_policies| {
            let bytes_by_node = Some((0..).zip(mib.map(|mib| mib * MIB)).collect());
            let mut receipt = unasked(Obtained { bytes_by_node, own_policies, ..Obtained::default() });
            receipt.hold_against(
                &Resolved { memory: memory.clone(), ..Resolved::default() },
                &Movers::default(),
            );
            let short: Vec<_> = receipt
                .shortfalls
                .iter()
                .map(|one| (one.bytes / MIB, one.remedy.contains("2 calls")))
                .collect();
            (short, receipt.notes.iter().any(|note| note.contains("2 calls of set_mempolicy")))
        };
        assert_eq!(held(&interleaved, [64, 0], 2), (vec![(32, true)], false));
        assert_eq!(held(&interleaved, [34, 30], 2), (vec![], true), "a page or two");
        assert_eq!(held(&interleaved, [64, 0], 0), (vec![], false), "nobody knows why");
        assert_eq!(held(&weighted, [48, 16], 2), (vec![], true));
        assert_eq!(held(&weighted, [32, 32], 2), (vec![(16, true)], false));
        assert_eq!(held(&ResolvedMemory::Bind(vec![1]), [8, 56], 2), (vec![(8, true)], false));
        assert_eq!(held(&ResolvedMemory::Inherit, [64, 0], 2), (vec![], false), "nothing was asked");
    }

    #[test]
    fn nodes_that_nobody_tells_are_noted_where_something_was_placed() {
        let notes = |placed_bytes| {
            let mut receipt = unasked(Obtained { placed_bytes, ..Obtained::default() });
            receipt.hold_against(
                &Resolved { memory: ResolvedMemory::Bind(vec![1]), ..Resolved::default() },
                &Movers::default(),
            );
            receipt.notes
        };
        assert_eq!(notes(4096), ["the kernel does not say which nodes pages lie on"]);
        assert!(notes(0).is_empty());
    }

    #[test]
    fn threads_elsewhere_are_told() {
        let thread = |number, cpu_asked, cpus: &[u32]| ThreadReport {
            number,
            name: None,
            cpu_asked,
            cpus_obtained: Some(cpus.to_vec()),
        };
        let threads = vec![thread(0, Some(0), &[0]), thread(1, Some(1), &[0, 1]), thread(2, None, &[3])];
        let mut receipt = unasked(Obtained { threads, ..Obtained::default() });
        receipt.hold_against(&Resolved::default(), &Movers::default());
        assert!(receipt.notes[0].starts_with("1 of 3 threads run on other CPUs"), "{:?}", receipt.notes);
        assert!(receipt.notes[1].starts_with("1 threads were skipped"), "{:?}", receipt.notes);
    }

    #[test]
    fn cpus_are_told_where_they_were_asked_for() {
        let held = |cpus: &[u32], order: &[u32]| {
            let mut receipt = unasked(Obtained::default());
            // Also where the agent has left no record.
            (receipt.obtained, receipt.cpus_obtained) = (None, Some(vec![0, 1]));
            let resolved = Resolved { cpus: cpus.to_vec(), order: order.to_vec(), ..Resolved::default() };
            receipt.hold_against(&resolved, &Movers::default());
            (receipt.cpus_obtained, receipt.notes)
        };
        assert_eq!(held(&[0, 1], &[]), (Some(vec![0, 1]), vec![]));
        assert_eq!(held(&[], &[]), (None, vec![]), "nothing was asked");
        assert_eq!(held(&[0, 1], &[1, 0]), (None, vec![]), "threads tell");
        let (cpus, notes) = held(&[0], &[]);
        assert_eq!(cpus, Some(vec![0, 1]));
        assert!(notes[0].starts_with("the program runs on CPUs 0-1 in place of 0:"), "{notes:?}");
    }
}
