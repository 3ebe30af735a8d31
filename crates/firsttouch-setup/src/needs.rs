//! What a profile of `tune` needs of the machine: its pages, and limits that do not stand in their way.

use crate::draft::Draft;
use crate::{SetupError, pages, thp};
use firsttouch_machine::{Bound, page_word};
use firsttouch_placement::{MemoryPolicy, NodePart, Pages, format_bytes};

pub(crate) fn plan(plan: &mut Draft<'_>) -> Result<(), SetupError> {
    let Some(placement) = plan.asked.placement.as_deref() else {
        return Err(SetupError::words(
            "no profile is named",
            "firsttouch setup for PROFILE.toml --memory 8G",
        ));
    };
    let mut kinds = vec![(placement.pages, &placement.memory)];
    kinds.extend(placement.objects.values().map(|object| (object.pages, &object.memory)));
    if placement.heap {
        kinds.push((Pages::Transparent, &MemoryPolicy::None));
    }
    let mut words = Vec::new();
    if kinds.iter().any(|(pages, _)| matches!(pages, Pages::Transparent | Pages::Auto)) {
        words.extend(transparent(plan));
    }
    for (pages, _) in &kinds {
        if let Pages::Multi(bytes) = pages {
            words.extend(multi(plan, u64::from(*bytes))?);
        }
    }
    words.sort_unstable();
    words.dedup();
    if !words.is_empty() {
        thp::plan(plan, &words)?;
    }
    let mut pools = kinds.iter().filter(|(pages, _)| pages.is_reserved());
    if let Some((first, memory)) = pools.next() {
        reserved(plan, first.bytes() as u64, memory)?;
        if let Some((other, _)) = pools.find(|(pages, _)| pages != first) {
            plan.report.notes.push(format!(
                "the profile asks for {other} pages of named memory, too: firsttouch setup pages {other}=SIZE"
            ));
        }
    }
    if let Some(Bound::Bytes(bytes)) = plan.machine.limits.address_space_bytes {
        plan.report.notes.push(format!(
            "address space is limited to {} here: where the program is started with that limit, blocks may find no room",
            format_bytes(bytes)
        ));
        plan.report.next.push("ulimit -v unlimited   # in the shell that starts the program".to_owned());
    }
    if plan.report.changes.is_empty() {
        plan.report
            .notes
            .push(format!("`--pages {}` needs nothing of this machine that it has not", placement.pages));
    }
    Ok(())
}

/// Words where transparent huge pages are switched off, as a whole or of the processor's own size; and what is kept over a boot.
fn transparent(plan: &Draft<'_>) -> Vec<String> {
    let thp = &plan.machine.thp;
    let mut words = Vec::new();
    match thp.enabled.as_deref() {
        None | Some("never") => words.push("madvise".to_owned()),
        Some(mode) if plan.asked.persist => words.push(mode.to_owned()),
        Some(_) => {}
    }
    let own = thp.sizes.iter().find(|size| Some(size.page_bytes) == thp.hpage_pmd_size_bytes);
    if let Some(size) = own.filter(|size| size.enabled.as_deref() == Some("never")) {
        words.push(format!("{}=inherit", page_word(size.page_bytes)));
    }
    words
}

/// The word for a size that is switched off, or kept over a boot.
fn multi(plan: &Draft<'_>, bytes: u64) -> Result<Option<String>, SetupError> {
    let thp = &plan.machine.thp;
    let word = page_word(bytes);
    let Some(size) = thp.sizes.iter().find(|size| size.page_bytes == bytes && size.enabled.is_some()) else {
        let what = format!("this kernel has no transparent huge pages of {word}");
        return Err(SetupError::words(
            what,
            "they need Linux 6.8; `firsttouch status` shows the sizes there are",
        ));
    };
    Ok(match size.effective(thp) {
        None | Some("never") => Some(format!("{word}=madvise")),
        // What follows the mode is kept as what that is now.
        Some(mode) => plan.asked.persist.then(|| format!("{word}={mode}")),
    })
}

/// As many pages as the program places, beyond those that somebody has.
fn reserved(plan: &mut Draft<'_>, page_bytes: u64, memory: &MemoryPolicy) -> Result<(), SetupError> {
    let word = page_word(page_bytes);
    let Some(bytes) = plan.asked.memory_bytes else {
        let what = format!("the profile asks for {word} pages, and does not say for how much memory");
        return Err(SetupError::words(
            what,
            "--memory SIZE   # what `firsttouch run --receipt` tells as peak_bytes, and some more",
        ));
    };
    // Free ones that are promised to others may be of any node.
    let promised = plan.machine.pool(page_bytes).and_then(|pool| pool.reserved).unwrap_or(0);
    let pages = bytes.div_ceil(page_bytes).saturating_add(promised);
    // `all` names none: pages are shared out over those that have CPUs, too.
    let named = memory.nodes().filter(|nodes| nodes.parts().iter().any(|part| *part != NodePart::All));
    let nodes: Vec<String> = named.map(ToString::to_string).into_iter().collect();
    pages::plan(plan, &[format!("{word}={pages}")], &nodes, true)
}
