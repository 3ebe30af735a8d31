//! One session of values that were measured elsewhere.

use super::ComparisonRules;
use crate::history::History;
use crate::race::{ALPHA, BASELINE};
use crate::session::inspect;
use crate::statistics::contrast::{Contrast, contrasts};
use crate::statistics::forecast::{Question, blocks_to_decide};
use crate::statistics::sample::{mean, standard_deviation};
use crate::statistics::unpaired::unpaired_contrasts;
use crate::{Decided, Decider, MeasuredRun, MeasuredSession, Plan, Ratio, SessionRun, TimedRun, warnings};
use firsttouch_sorted::SortedMap;
use firsttouch_sorted::sort_by_key;
use serde::{Deserialize, Serialize};

/// So many blocks are looked at one by one; of more, a look is taken when there is a hundredth more of them. Fewer looks are as valid.
const LOOKS_IN_TURN: usize = 1000;

/// Of more runs the groups and the typical ratio are not looked for: that takes the square of their number.
const MOST_EXAMINED: usize = 2000;

/// A session, decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ComparedSession {
    /// What it is called.
    pub name: String,
    /// The runs are in blocks. Without, all runs of a configuration were made before those of the next.
    pub paired: bool,
    /// The baseline first, then the others in their order.
    pub configurations: Vec<ComparedConfiguration>,
    /// Things that make the figures less sure, each with what to do.
    pub warnings: Vec<String>,
}

/// What a session says of one configuration against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ComparedConfiguration {
    /// Its name.
    pub name: String,
    /// What was measured.
    pub runs: Vec<MeasuredRun>,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation; `None` of one run.
    pub deviation: Option<f64>,
    /// How many times better than the baseline, with its 95 % interval, which holds at all looks together; `None` for the baseline
    /// itself, and where nothing can be excluded yet.
    pub ratio: Option<Ratio>,
    /// What was decided; `None` for the baseline, and while it is undecided. Of runs without blocks, `blocks` are runs of the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<Decided>,
    /// When undecided: so many more runs, and as many of the baseline, decide it nine times in ten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_runs: Option<u32>,
    /// The values fall into more than one group (dip test, 5 % level).
    #[serde(default)]
    pub bimodal: bool,
}

/// What a session hands on to be put together with others.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) log_ratio: f64,
    /// `None` of a single block, or run.
    pub(super) standard_error: Option<f64>,
}

/// The state of the questions of a session, by the configurations' places.
struct Judged {
    decider: Decider,
    contrasts: Vec<Option<Contrast>>,
    /// Mean logarithms of the ratios, also where there is no contrast yet.
    log_ratios: Vec<Option<f64>>,
    /// Ratios of the sums.
    of_sums: Vec<Option<f64>>,
}

/// Decides a session; without the baseline nothing is compared in it.
pub(super) fn judge(session: &MeasuredSession, rules: &ComparisonRules) -> (ComparedSession, Vec<Seen>) {
    let mut configurations: Vec<_> = session.configurations.iter().collect();
    sort_by_key(&mut configurations, |configuration| configuration.name != rules.baseline);
    let names: Vec<String> = configurations.iter().map(|configuration| configuration.name.clone()).collect();
    let plan = Plan { objective: rules.objective(), same_band: rules.same_band, ..Plan::new(names, 0) };
    let paired = session.is_paired();
    let all: Vec<&[MeasuredRun]> = configurations.iter().map(|one| &one.runs[..]).collect();
    let mut history = history(&plan, &all, paired, session.is_ordered());
    let mut told = Vec::new();
    let judged = if paired {
        told.extend(warnings::drifting(&plan, "session", &history));
        told.extend(warnings::persistent(&plan, &history));
        told.extend(session.is_ordered().then(|| warnings::carried(&plan, &history)).flatten());
        in_blocks(&history, rules.same_band)
    } else {
        told.extend(warnings::drifting_in_series(&plan, &history.runs));
        let series: Vec<Vec<f64>> = (0..all.len()).map(|place| log_losses(&plan, &history, place)).collect();
        told.extend(warnings::persistent_in_series(&plan.configurations, &series));
        in_series(&series, rules.same_band)
    };
    let has_baseline = plan.configurations.first() == Some(&rules.baseline);
    let places = 0..plan.configurations.len();
    let compared: Vec<ComparedConfiguration> = places
        .clone()
        .map(|place| {
            let decision = place
                .checked_sub(1)
                .and_then(|alternative| judged.decider.decisions()[alternative])
                .filter(|_| has_baseline);
            let contrast = judged.contrasts[place].filter(|_| has_baseline);
            let of_verdict = decision.map(|decision| decision.contrast).or(contrast);
            let ratio = of_verdict.and_then(|contrast| Ratio::of(&contrast, ALPHA));
            let name = &plan.configurations[place];
            let values: Vec<f64> = all[place].iter().map(|run| run.value).collect();
            let mut bimodal = false;
            if let Some((ratio, of_sums)) = ratio.zip(judged.of_sums[place]) {
                let typical = (paired && values.len() <= MOST_EXAMINED)
                    .then(|| warnings::far_from_normal(name, ratio, &history.log_ratios(place)));
                told.extend(typical.flatten());
                told.extend(warnings::means_disagree(&plan, name, ratio, of_sums));
            }
            if values.len() <= MOST_EXAMINED {
                bimodal = inspect(&plan, name, &mut history.runs[place], &mut told);
            }
            ComparedConfiguration {
                name: name.clone(),
                runs: all[place].to_vec(),
                mean: mean(&values).unwrap_or(0.0),
                deviation: standard_deviation(&values),
                ratio,
                decided: decision.and_then(|decision| Decided::of(&decision)),
                more_runs: contrast
                    .filter(|_| decision.is_none())
                    .and_then(|contrast| more_blocks(&judged.decider, &contrast, rules.same_band)),
                bimodal,
            }
        })
        .collect();
    let runs: Vec<&[SessionRun]> = history.runs.iter().map(|runs| &runs[..]).collect();
    told.extend(warnings::slow_in_one(&plan, &runs));
    let seen = |place: usize| {
        let log_ratio = judged.log_ratios[place].filter(|_| has_baseline && place != BASELINE)?;
        let standard_error = judged.contrasts[place].map(|contrast| contrast.standard_error);
        Some(Seen { name: plan.configurations[place].clone(), log_ratio, standard_error })
    };
    let seen = places.filter_map(seen).collect();
    (ComparedSession { name: session.name.clone(), paired, configurations: compared, warnings: told }, seen)
}

/// The runs as those of a session of `tune`.
fn history(plan: &Plan, all: &[&[MeasuredRun]], paired: bool, ordered: bool) -> History {
    let mut history = History::new(plan, (0..all.len()).collect());
    let blocks = all.iter().copied().flatten().filter_map(|run| run.block);
    // Numbers without gaps.
    let mut numbers: SortedMap<u32, u32> = blocks.map(|block| (block, 0)).collect();
    numbers.values_mut().zip(0..).for_each(|(number, place)| *number = place);
    if paired {
        history.blocks = vec![vec![None; all.len()]; numbers.len()];
    }
    let mut series = 0;
    for (place, runs) in all.iter().enumerate() {
        for (run, at) in runs.iter().zip(0..) {
            let block = run.block.and_then(|block| numbers.get(&block).copied()).unwrap_or(at);
            let order = match run.order.filter(|_| ordered) {
                Some(order) => order,
                None if paired => block,
                None => series + at,
            };
            let timed = TimedRun { judged: Some(run.value), ..TimedRun::default() };
            if let Some(entries) = history.blocks.get_mut(block as usize).filter(|_| paired) {
                entries[place] = plan.objective.log_loss(&timed);
            }
            history.runs[place].push(SessionRun { block, order, timed, outlier: false });
        }
        series += runs.len() as u32;
    }
    history
}

fn log_losses(plan: &Plan, history: &History, place: usize) -> Vec<f64> {
    history.runs[place].iter().filter_map(|run| plan.objective.log_loss(&run.timed)).collect()
}

fn in_blocks(history: &History, same_band: f64) -> Judged {
    let places = 0..history.participants.len();
    let mut decider = Decider::new(places.len().saturating_sub(1), ALPHA, same_band);
    let mut looked = 0;
    while looked < history.blocks.len() {
        looked = (looked + 1 + looked.saturating_sub(LOOKS_IN_TURN) / 100).min(history.blocks.len());
        decider.look(&history.blocks[..looked]);
    }
    Judged {
        contrasts: with_places(contrasts(&history.blocks, BASELINE), places.len()),
        log_ratios: places.clone().map(|place| mean(&history.log_ratios(place))).collect(),
        of_sums: places.map(|place| history.ratio_of_sums(place)).collect(),
        decider,
    }
}

fn in_series(series: &[Vec<f64>], same_band: f64) -> Judged {
    let mut decider = Decider::new(series.len().saturating_sub(1), ALPHA, same_band);
    let contrasts = unpaired_contrasts(series, BASELINE);
    decider.judge(contrasts.get(1..).unwrap_or(&[]), series.first().map_or(0, Vec::len) as u32);
    let beside = |place: usize, of: &dyn Fn(usize) -> Option<f64>| Some((of(BASELINE)?, of(place)?));
    Judged {
        log_ratios: (0..series.len())
            .map(|place| beside(place, &|place| mean(&series[place])).map(|(base, own)| base - own))
            .collect(),
        of_sums: (0..series.len())
            .map(|place| beside(place, &|place| mean_loss(&series[place])).map(|(base, own)| base / own))
            .collect(),
        contrasts,
        decider,
    }
}

/// What a run takes in the mean; of rates, what equal work does.
fn mean_loss(log_losses: &[f64]) -> Option<f64> {
    mean(&log_losses.iter().map(|log_loss| log_loss.exp()).collect::<Vec<f64>>())
}

/// One entry for each place, also where blocks tell of none.
fn with_places(mut contrasts: Vec<Option<Contrast>>, places: usize) -> Vec<Option<Contrast>> {
    contrasts.resize(places, None);
    contrasts
}

/// So many more blocks decide what is open, probably.
fn more_blocks(decider: &Decider, contrast: &Contrast, same_band: f64) -> Option<u32> {
    let open = decider.decisions().iter().filter(|decision| decision.is_none()).count();
    let question = Question { alpha: ALPHA / open.max(1) as f64, same_band };
    Some(blocks_to_decide(contrast, &question)? - contrast.blocks)
}
