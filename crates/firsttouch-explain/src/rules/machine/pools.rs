//! Reserved huge pages: who has them, on which nodes, and whether there could be more.

use super::{Found, noted};
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::sysinfo;
use firsttouch_machine::{Machine, Pool, page_word};
use firsttouch_placement::format_bytes;

pub(super) fn find(found: &mut Found<'_>) {
    let machine = &found.evidence.report.machine;
    for pool in &machine.pools {
        idle(found, machine, pool);
        uneven(found, machine, pool);
    }
    unmounted(found, machine);
    fragmented(found, machine);
}

/// A sixteenth of the memory, that nobody uses and nobody else can have.
fn idle(found: &mut Found<'_>, machine: &Machine, pool: &Pool) {
    let (Some(pages), Some(free), Some(memory)) = (pool.pages, pool.free, machine.memory_bytes) else {
        return;
    };
    let bytes = free.saturating_mul(pool.page_bytes);
    if pages == 0 || free < pages || pool.reserved.unwrap_or(0) > 0 || bytes < memory / 16 {
        return;
    }
    let size = format_bytes(pool.page_bytes);
    let what = format!("{} are reserved as {size} pages, and nobody uses one", format_bytes(bytes));
    let effect = "no other program can have that memory; good if one that wants it is yet to start";
    let file = format!("{}/nr_hugepages", pool.folder());
    let text = format!("{pages}, free_hugepages {free}");
    found.add(noted("pool-idle", what, effect).proof(&file, text).set(&file, "0"));
}

fn uneven(found: &mut Found<'_>, machine: &Machine, pool: &Pool) {
    let ordinary = |node: u32| {
        machine.nodes.iter().any(|one| one.id == node && one.is_ordinary() && !one.cpus.is_empty())
    };
    let parts: Vec<(u32, u64)> = pool
        .nodes
        .iter()
        .filter(|part| ordinary(part.node))
        .filter_map(|part| Some((part.node, part.pages?)))
        .collect();
    let most = parts.iter().map(|part| part.1).max().unwrap_or(0);
    let Some(&(node, least)) = parts.iter().min_by_key(|part| part.1) else { return };
    if parts.len() < 2 || least >= most.div_ceil(2) {
        return;
    }
    let size = format_bytes(pool.page_bytes);
    let each =
        parts.iter().map(|(node, pages)| format!("node {node}: {pages}")).collect::<Vec<_>>().join(", ");
    let file = format!(
        "/sys/devices/system/node/node{node}/hugepages/hugepages-{}kB/nr_hugepages",
        pool.page_bytes >> 10
    );
    let what = format!("the {size} pages are reserved unevenly over nodes");
    let effect =
        format!("programs bound to node {node} run out of them first, and get those of another node or none");
    let finding = noted("pool-uneven", what, effect).proof(&file, each);
    let growth = (most - least).saturating_mul(pool.page_bytes);
    let spare = machine.memory_available_bytes.map(|bytes| bytes.saturating_sub(machine.rest_bytes()));
    let free = machine.nodes.iter().find(|one| one.id == node).and_then(|one| one.free_bytes);
    let fits = [spare, free].into_iter().flatten().all(|bytes| growth <= bytes);
    // Where memory is short, what one has too many of goes to the other.
    let all: u64 = parts.iter().map(|part| part.1).sum();
    let nodes: Vec<u32> = parts.iter().map(|part| part.0).collect();
    let evened = format!("pages {}={all} --node {}", page_word(pool.page_bytes), format_list(&nodes));
    found.add(if fits { finding.set(&file, &most.to_string()) } else { finding.setup(&evened) });
}

/// Programs that map files for reserved pages need the file system; those that ask by a flag do not.
fn unmounted(found: &mut Found<'_>, machine: &Machine) {
    let Some(mounts) = found.text("proc/self/mountinfo").map(sysinfo::mounts) else { return };
    let pages: u64 = machine.pools.iter().filter_map(|pool| pool.pages).sum();
    if pages == 0 || mounts.is_empty() || mounts.iter().any(|mount| mount.kind == "hugetlbfs") {
        return;
    }
    let what = "pages are reserved, and the file system hugetlbfs is mounted nowhere";
    let effect = "programs that want reserved pages as files (DPDK, libhugetlbfs, QEMU) find none";
    found.add(
        noted("hugetlbfs-unmounted", what, effect)
            .proof("/proc/self/mountinfo", "no hugetlbfs")
            .remedy("sudo mkdir -p /dev/hugepages && sudo mount -t hugetlbfs none /dev/hugepages")
            .keep("sudo systemctl enable dev-hugepages.mount"),
    );
}

/// Free memory of a node, of which hardly any is whole: at least this much must be free for the share to say anything.
const LEAST_FREE: u64 = 1 << 30;

fn fragmented(found: &mut Found<'_>, machine: &Machine) {
    let Some(huge) = machine.thp.hpage_pmd_size_bytes.or(machine.pools.first().map(|pool| pool.page_bytes))
    else {
        return;
    };
    let Some(text) = found.text("proc/buddyinfo").map(str::to_owned) else { return };
    for (node, blocks) in free_blocks(&text) {
        let free = |from: usize| {
            blocks.iter().enumerate().skip(from).map(|(order, count)| count << order).sum::<u64>()
        };
        let pages = free(0);
        let of_node = machine.nodes.iter().find(|one| one.id == node).and_then(|one| one.free_bytes);
        let Some(page_bytes) = of_node.and_then(|bytes| page_size(bytes, pages)) else { continue };
        let order = (huge / page_bytes).max(1).ilog2() as usize;
        // The allocator keeps no larger blocks than its last column: a page larger than that is always compacted for.
        let whole = free(order).saturating_mul(page_bytes);
        if order >= blocks.len()
            || pages.saturating_mul(page_bytes) < LEAST_FREE
            || whole > pages * page_bytes / 10
        {
            continue;
        }
        let size = format_bytes(huge);
        let what = format!("the free memory of node {node} is in pieces smaller than {size}");
        let effect = format!(
            "{size} pages are made by moving others, if at all: pools cannot grow, first touches of transparent ones are slow"
        );
        let text = format!(
            "node {node}: {} free, {} of it in blocks of {size} and more",
            format_bytes(pages * page_bytes),
            format_bytes(whole)
        );
        found.add(
            noted("memory-fragmented", what, effect)
                .proof("/proc/buddyinfo", text)
                .remedy("echo 1 | sudo tee /proc/sys/vm/compact_memory")
                .keep("sudo firsttouch setup boot 2m=N --apply   # before memory is in pieces"),
        );
    }
}

/// Free blocks of each node by order, all zones together.
fn free_blocks(text: &str) -> Vec<(u32, Vec<u64>)> {
    let mut nodes: Vec<(u32, Vec<u64>)> = Vec::new();
    for line in text.lines() {
        let Some((node, rest)) = line.strip_prefix("Node ").and_then(|rest| rest.split_once(", zone "))
        else {
            continue;
        };
        let Ok(node) = node.trim().parse() else { continue };
        let counts: Vec<u64> =
            rest.split_whitespace().skip(1).filter_map(|count| count.parse().ok()).take(32).collect();
        match nodes.iter_mut().find(|(one, _)| *one == node) {
            Some((_, sums)) if sums.len() == counts.len() => {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
            }
            Some(_) => {}
            None => nodes.push((node, counts)),
        }
    }
    // More than any machine has is no count.
    nodes.retain(|(_, counts)| counts.iter().all(|count| *count < 1 << 28));
    nodes
}

/// The size of a base page, which no file states: free memory by its free pages.
fn page_size(bytes: u64, pages: u64) -> Option<u64> {
    let exact = bytes.checked_div(pages)?;
    [4 << 10, 16 << 10, 64 << 10].into_iter().find(|size| (size / 4 * 3..size * 3 / 2).contains(&exact))
}
