//! Pools of reserved huge pages, node by node.

use crate::asked::{key_value, page_size};
use crate::draft::Draft;
use crate::{SetupError, Site, texts};
use firsttouch_linux::cpulist::parse_list;
use firsttouch_machine::{Pool, page_word};
use firsttouch_placement::{NodeSet, format_bytes, nodes_of, parse_size};

const NODES: &str = "/sys/devices/system/node";

/// A pool's part, on one node or on none in particular, and how many pages it is to have.
struct Target {
    page_bytes: u64,
    node: Option<u32>,
    file: String,
    before: u64,
    /// Of those of before, the ones in use.
    used: u64,
    pages: u64,
}

/// Plans pools; where so many are to be `free`, beyond those in use, nothing of them is taken.
pub(crate) fn plan(
    plan: &mut Draft<'_>,
    words: &[String],
    nodes: &[String],
    free: bool,
) -> Result<(), SetupError> {
    let mut targets = targets(plan, words, nodes)?;
    if free {
        let all = |target: &Target| target.used.saturating_add(target.pages).max(target.before);
        targets.iter_mut().for_each(|target| target.pages = all(target));
    }
    // What shrinks makes room, and what is largest needs most memory in one piece.
    targets.sort_by_key(|target| (target.pages >= target.before, std::cmp::Reverse(target.page_bytes)));
    let grown =
        |target: &Target| target.pages.saturating_sub(target.before).saturating_mul(target.page_bytes);
    let growth = targets.iter().map(grown).fold(0, u64::saturating_add);
    if growth > 0 && !plan.asked.force {
        may_be_taken(plan, &targets, growth)?;
    }
    let (shrinking, growing): (Vec<_>, Vec<_>) =
        targets.iter().partition(|target| target.pages < target.before);
    set(plan, &shrinking)?;
    if growth > 0 {
        let why = "free memory is brought together, so that there are more huge pages to be had";
        let mut nodes: Vec<Option<u32>> =
            growing.iter().filter(|target| grown(target) > 0).map(|target| target.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes {
            let of_node =
                node.map(|node| format!("{NODES}/node{node}/compact")).filter(|file| plan.site.has(file));
            plan.once(of_node.as_deref().unwrap_or("/proc/sys/vm/compact_memory"), "1", why);
        }
    }
    set(plan, &growing)?;
    if plan.asked.persist {
        let kept: Vec<(String, String)> =
            targets.iter().map(|target| (target.file.clone(), target.pages.to_string())).collect();
        let mut sizes: Vec<u64> = targets.iter().map(|target| target.page_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        texts::keep_pools(plan, &kept, &sizes)?;
    }
    Ok(())
}

fn set(plan: &mut Draft<'_>, targets: &[&Target]) -> Result<(), SetupError> {
    for target in targets {
        let bytes = format_bytes(target.pages.saturating_mul(target.page_bytes));
        let place = target.node.map(|node| format!(" on node {node}")).unwrap_or_default();
        let why = format!("{bytes} as {} pages{place}", page_word(target.page_bytes));
        plan.set(&target.file, &target.pages.to_string(), &why)?;
    }
    Ok(())
}

/// How many pages each part of each pool is to have.
fn targets(plan: &Draft<'_>, words: &[String], nodes: &[String]) -> Result<Vec<Target>, SetupError> {
    const USAGE: &str = "firsttouch setup pages 2m=4096 [1g=2] [--node LIST], or: firsttouch setup pages 2m --node 0=1024 --node 1=512";
    let wrong = |what: String| SetupError::words(what, USAGE);
    if words.is_empty() {
        return Err(wrong("nothing is asked for".to_owned()));
    }
    let (mut counts, mut list) = (Vec::new(), Vec::new());
    for text in nodes {
        let (nodes, count) = key_value(text);
        let nodes = match parse_list(nodes) {
            Some(nodes) => nodes,
            None => by_name(plan, nodes).map_err(|refused| {
                refused.unwrap_or_else(|| wrong(format!("`{nodes}` is no list of nodes")))
            })?,
        };
        match count {
            Some(count) => counts.extend(nodes.into_iter().map(|node| (node, count))),
            None => list.extend(nodes),
        }
    }
    let mut targets: Vec<Target> = Vec::new();
    for word in words {
        let (size, count) = key_value(word);
        let page_bytes = page_size(size).ok_or_else(|| wrong(format!("`{size}` is no size of pages")))?;
        let pool = plan.machine.pool(page_bytes).ok_or_else(|| {
            let sizes: Vec<String> =
                plan.machine.pools.iter().map(|pool| page_word(pool.page_bytes)).collect();
            let what = format!("the kernel has no pool of {size} pages");
            SetupError::words(
                what,
                format!("it has: {}", if sizes.is_empty() { "none".to_owned() } else { sizes.join(", ") }),
            )
        })?;
        let pages = |text: &str| {
            number_of_pages(text, page_bytes)
                .ok_or_else(|| wrong(format!("`{text}` is no number of {size} pages")))
        };
        let parts: Vec<(Option<u32>, u64)> = match count {
            Some(count) if counts.is_empty() => evenly(plan, pool, &list, pages(count)?)?,
            None if words.len() == 1 && !counts.is_empty() && list.is_empty() => counts
                .iter()
                .map(|(node, count)| Ok((Some(*node), pages(count)?)))
                .collect::<Result<_, SetupError>>()?,
            _ => return Err(wrong("pages are counted either by size or by node".to_owned())),
        };
        for (node, pages) in parts {
            targets.push(target(pool, node, pages)?);
        }
    }
    let mut files: Vec<&str> = targets.iter().map(|target| target.file.as_str()).collect();
    files.sort_unstable();
    if files.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(wrong("the same pages are asked for twice".to_owned()));
    }
    Ok(targets)
}

/// Nodes that are named by what they are made of (`hbm`, `dram,cxl`); why there are none, or nothing where the words name no nodes.
fn by_name(plan: &Draft<'_>, names: &str) -> Result<Vec<u32>, Option<SetupError>> {
    let set: NodeSet = names.parse().map_err(|_| None)?;
    nodes_of(&set, plan.machine).map_err(|error| Some(SetupError::words(error.to_string(), error.hint())))
}

/// A count, or an amount with a unit that is a whole number of pages.
fn number_of_pages(text: &str, page_bytes: u64) -> Option<u64> {
    match text.parse() {
        Ok(pages) => Some(pages),
        Err(_) => parse_size(text).filter(|bytes| bytes % page_bytes == 0).map(|bytes| bytes / page_bytes),
    }
}

/// The same number on each node, and one more on the first where it does not come out even. Without a list: on all nodes that
/// have CPUs and ordinary memory, because nobody should get slow memory for a fast kind of pages unasked; what others have goes,
/// because the number is that of the whole pool.
fn evenly(
    plan: &Draft<'_>,
    pool: &Pool,
    list: &[u32],
    pages: u64,
) -> Result<Vec<(Option<u32>, u64)>, SetupError> {
    let with_pool = |node: u32| pool.nodes.iter().any(|part| part.node == node);
    let ordinary = plan.machine.nodes.iter().filter(|node| node.is_ordinary() && !node.cpus.is_empty());
    let nodes: Vec<u32> = match list {
        [] => ordinary.map(|node| node.id).filter(|node| with_pool(*node)).collect(),
        list => list.to_vec(),
    };
    if nodes.is_empty() {
        return Ok(vec![(None, pages)]);
    }
    let count = nodes.len() as u64;
    let part = |index: u64| pages / count + u64::from(index < pages % count);
    let others =
        pool.nodes.iter().filter(|part| list.is_empty() && part.pages.is_some_and(|pages| pages > 0));
    let others =
        others.map(|part| part.node).filter(|node| !nodes.contains(node)).map(|node| (Some(node), 0));
    Ok(nodes.iter().zip(0..).map(|(node, index)| (Some(*node), part(index))).chain(others).collect())
}

fn target(pool: &Pool, node: Option<u32>, pages: u64) -> Result<Target, SetupError> {
    let page_bytes = pool.page_bytes;
    let folder = format!("hugepages-{}kB", page_bytes >> 10);
    let (file, before, free) = match node {
        Some(node) => {
            let part = pool.nodes.iter().find(|part| part.node == node).ok_or_else(|| {
                let nodes: Vec<u32> = pool.nodes.iter().map(|part| part.node).collect();
                SetupError::words(
                    format!("there is no pool of {} pages on node {node}", page_word(page_bytes)),
                    format!("nodes with one: {}", firsttouch_linux::cpulist::format_list(&nodes)),
                )
            })?;
            (format!("{NODES}/node{node}/hugepages/{folder}/nr_hugepages"), part.pages, part.free)
        }
        None => (format!("{}/nr_hugepages", pool.folder()), pool.pages, pool.free),
    };
    let before = before.unwrap_or(0);
    let used = before.saturating_sub(free.unwrap_or(before));
    Ok(Target { page_bytes, node, file, before, used, pages })
}

/// Refuses what would leave the machine, or a node, without memory.
fn may_be_taken(plan: &mut Draft<'_>, targets: &[Target], growth: u64) -> Result<(), SetupError> {
    let shrunk =
        |target: &Target| target.before.saturating_sub(target.pages).saturating_mul(target.page_bytes);
    let given_back = targets.iter().map(shrunk).fold(0, u64::saturating_add);
    let rest = plan.asked.rest_bytes.unwrap_or(plan.machine.rest_bytes());
    if let Some(available) = plan.machine.memory_available_bytes.map(|bytes| bytes.saturating_add(given_back))
    {
        if growth.saturating_add(rest) > available {
            return Err(SetupError::Starves { growth, available, rest });
        }
        plan.report.notes.push(format!(
            "{} of {} stay free (at least {} have to: --rest)",
            format_bytes(available - growth),
            format_bytes(available),
            format_bytes(rest)
        ));
    }
    let mut nodes: Vec<u32> = targets.iter().filter_map(|target| target.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    for node in nodes {
        let on_node = || targets.iter().filter(|target| target.node == Some(node));
        let growth = on_node()
            .map(|target| target.pages.saturating_sub(target.before).saturating_mul(target.page_bytes))
            .fold(0, u64::saturating_add);
        let Some(available) = node_available(plan.site, node) else { continue };
        let available = on_node().map(shrunk).fold(available, u64::saturating_add);
        if growth > available {
            return Err(SetupError::NodeStarves { growth, available, node });
        }
    }
    Ok(())
}

/// Memory of a node that is free, or holds nothing but pages of files.
pub(crate) fn node_available(site: &Site, node: u32) -> Option<u64> {
    let text = site.root().read(&format!("sys/devices/system/node/node{node}/meminfo")).ok()??;
    let row = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().nth(2) == Some(name))?;
        line.split_whitespace().nth(3)?.parse::<u64>().ok()
    };
    let files = ["Active(file):", "Inactive(file):"].iter().filter_map(|name| row(name)).sum::<u64>();
    Some(row("MemFree:")?.saturating_add(files) << 10)
}
