//! What makes the figures of a session less sure or dearer than they look, in words.

use super::TuneRequest;
use crate::configurations::Configuration;
use crate::here::Here;
use crate::probe::Probe;
use crate::surroundings::needs_warming;
use firsttouch_placement::{Pages, TuneReport, format_bytes};

/// A baseline with this share of its memory on huge pages leaves little to gain.
const HUGE_BASELINE: f64 = 0.5;

/// What was taken out of the environment.
pub(super) fn of_openblas(taken: &[&str]) -> Option<String> {
    (!taken.is_empty()).then(|| {
        format!(
            "{} taken out of the environment for every configuration, the baseline included: left in, the choice of \
             OpenBLAS would have been somebody's and not the processor's; unset {}",
            taken.join(", "),
            taken.join(" ")
        )
    })
}

/// Measurements of this machine that do not read: placements over several nodes go by what the firmware states, or are left out.
pub(super) fn of_unread(here: &Here) -> Option<String> {
    let error = here.unread().filter(|_| here.machine().nodes.len() > 1)?;
    Some(format!("what was measured before is not used: {error}; {}", error.hint()))
}

/// A plain baseline may have huge pages already: then little is to be expected, and the reader should know.
pub(super) fn of_baseline(
    configuration: &Configuration,
    probe: &Probe,
    thp_mode: Option<&str>,
) -> Option<String> {
    let obtained = probe.receipt.obtained.as_ref().filter(|_| configuration.placement().is_none())?;
    let share = obtained.share_on_pages_of(Pages::Transparent.bytes() as u64)?;
    // Elsewhere than in mode `always` only who asks has them: NumPy does, jemalloc and Java can.
    let why = match thp_mode {
        Some("always") => "the machine gives them unasked (transparent huge pages: always)",
        _ => "the program, or a library in it, asks for them itself",
    };
    (share >= HUGE_BASELINE).then(|| {
        format!(
            "{:.0} % of the baseline's {} lie on huge pages already: {why}, so there is less to gain",
            share * 100.0,
            format_bytes(obtained.placed_bytes)
        )
    })
}

/// Untimed runs that the budget had no time for.
pub(super) fn of_untimed(done: u32, asked: u32) -> Option<String> {
    (done < asked).then(|| {
        format!(
            "the budget is short: each configuration had {done} of {asked} untimed runs, as one more of each would end after a quarter of it; \
             raise --budget if caches need them"
        )
    })
}

/// Where memory gets cold between the runs, what is done about it: so many bytes are kept warm.
pub(super) fn of_warming(request: &TuneRequest<'_>, bytes: u64) -> Option<String> {
    let machine = &request.status.machine;
    let trap = machine.traps.iter().find(|trap| trap.name == "free-page-reporting")?;
    let done = of_warmth(request.warm_up.is_some(), bytes);
    needs_warming(machine).then(|| format!("on this machine {}: {}; {done}", trap.what, trap.effect))
}

/// What was kept warm of what was `wanted`.
fn of_warmth(wanted: bool, bytes: u64) -> String {
    match bytes {
        // No run has told how much memory there is to be warmed.
        0 if wanted => "no run was warmed up: the session ended before".to_owned(),
        0 => "runs were not warmed up; leave --no-warm out".to_owned(),
        bytes => format!("{} were kept warm for every run", format_bytes(bytes)),
    }
}

/// A gain that is paid in memory, which other programs may need.
pub(super) fn of_memory(report: &TuneReport) -> Option<String> {
    let more = report.more_memory()?;
    let (recommended, baseline) = report.confirmed_memory_bytes()?;
    Some(format!(
        "{} needs {:.0} % more memory at its peak than the baseline ({} instead of {}, medians): where memory is scarce, try it \
         with a larger min-size, or without prefault and heap",
        report.recommended.as_deref()?,
        100.0 * more,
        format_bytes(recommended),
        format_bytes(baseline)
    ))
}

#[cfg(test)]
mod tests {
    use super::of_warmth;

    #[test]
    fn only_who_left_the_warm_up_out_is_told_of_the_option() {
        assert!(of_warmth(false, 0).contains("--no-warm"));
        assert!(!of_warmth(true, 0).contains("--no-warm"));
        assert_eq!(of_warmth(true, 1 << 20), "1 MiB were kept warm for every run");
    }
}
