//! The verdict sentence: the one number printed large, or the honest sentence where there is none.

use crate::judged::Judged;
use crate::number::{self, plural, ratio_words};
use crate::sentence::Sentence;
use crate::shell;
use crate::summary::fresh_blocks;
use firsttouch_experiment::{Confirmation, ConfirmationState, Forecast, Ratio, Verdict};
use firsttouch_placement::{ConfigurationReport, Placement, TuneReport};

/// The sentence and what it comes to.
#[derive(Clone, Debug)]
pub(crate) struct Headline {
    pub(crate) sentence: Sentence,
    /// `Some(Faster)` is the only good news; `None` means that nothing was proved either way.
    pub(crate) outcome: Option<Verdict>,
}

impl Headline {
    pub(crate) fn new(outcome: Option<Verdict>) -> Self {
        Headline { sentence: Sentence::new(), outcome }
    }

    pub(crate) fn words(self, words: impl Into<String>) -> Self {
        Headline { sentence: self.sentence.words(words), ..self }
    }

    pub(crate) fn name(self, name: &str) -> Self {
        Headline { sentence: self.sentence.name(name), ..self }
    }
}

/// What to do with the program from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// This command runs it as was confirmed, or as the baseline has it, where that has a placement and nothing is better.
    Use(String),
    /// It is proved that nothing helps: this is the program's own command.
    AsItIs(String),
    /// Nothing is proved either way.
    Open,
}

/// The verdict of the session. The figure in it comes from the confirmation phase, or there is none.
pub(crate) fn headline(report: &TuneReport) -> Headline {
    match (&report.recommended, &report.confirmation) {
        (Some(recommended), Some(confirmation)) => confirmed(report, recommended, confirmation),
        (Some(recommended), None) => {
            let why = if report.interrupted {
                "the session was interrupted before fresh runs could confirm it"
            } else {
                "no fresh runs confirmed it"
            };
            Headline::new(None).words("Not confirmed yet: ").name(recommended).words(format!(
                " is {} than the baseline in the search{}, but {why}.",
                Judged::of(report).better(),
                Judged::of(report).by()
            ))
        }
        (None, _) => without_recommended(report),
    }
}

fn confirmed(report: &TuneReport, recommended: &str, confirmation: &Confirmation) -> Headline {
    let blocks = plural(fresh_blocks(report), "fresh block");
    let judged = Judged::of(report);
    let (better, worse, by) = (judged.better(), judged.worse(), judged.by());
    let figures = |ratio: &Ratio| {
        let (value, low, high) = ratio_words(ratio);
        format!("{value}, 95 % interval {low} to {high}")
    };
    let headline = match (confirmation.state, &confirmation.ratio) {
        (ConfirmationState::Confirmed, Some(ratio)) => {
            let (value, low, high) = ratio_words(ratio);
            let headline = Headline::new(Some(Verdict::Faster)).name(recommended).words(format!(
                " is {value} times {better} than the baseline{by}, 95 % interval {low} to {high} ({blocks})."
            ));
            with_cost(with_spared(headline, report, recommended), report, recommended)
        }
        (ConfirmationState::Refuted, Some(ratio)) if ratio.high < 1.0 => Headline::new(Some(Verdict::Slower))
            .words("Refuted: ")
            .name(recommended)
            .words(format!(
                " is {better} in the search{by}, but {worse} than the baseline on fresh runs: {} times {worse} ({blocks}). \
                 Keep the baseline.",
                figures(&inverse(ratio))
            )),
        (ConfirmationState::Refuted, Some(ratio)) => {
            Headline::new(Some(Verdict::Same)).words("Refuted: ").name(recommended).words(format!(
                " is {better} in the search, but {} on fresh runs: ratio {}, \
                 inside {} ({blocks}). Keep the baseline.",
                as_the_baseline(judged),
                figures(ratio),
                band(report)
            ))
        }
        (_, ratio) => Headline::new(None)
            .words("Not confirmed yet: ")
            .name(recommended)
            .words(format!(
                " is {better} than the baseline in the search{by}, but fresh runs have not decided that"
            ))
            .words(ratio.as_ref().map_or(String::new(), |ratio| format!(": ratio {}", figures(ratio))))
            .words(format!(" ({blocks})."))
            .words(confirmation.forecast.map_or(String::new(), |forecast| {
                format!(" With {} of each they would, nine times in ten.", about(&forecast))
            })),
    };
    headline.words(if report.interrupted { " The session was interrupted." } else { "" })
}

/// What is said of those that are the same.
fn as_the_baseline(judged: Judged<'_>) -> String {
    match judged.by() {
        by if by.is_empty() => "takes the same time as the baseline".to_owned(),
        by => format!("is the same as the baseline{by}"),
    }
}

/// Why what is recommended is not the fastest.
fn with_spared(headline: Headline, report: &TuneReport, recommended: &str) -> Headline {
    let (Some(fastest), Some(spares)) = (report.best.first(), &report.spares) else { return headline };
    headline
        .words(" ")
        .name(fastest)
        .words(" cannot be told apart from it, but ")
        .name(recommended)
        .words(format!(" {spares}."))
}

/// What the gain costs, where that is worth telling.
fn with_cost(headline: Headline, report: &TuneReport, recommended: &str) -> Headline {
    let Some(more) = report.more_memory() else { return headline };
    headline.words(" ").name(recommended).words(format!(" needs {:.0} % more memory.", 100.0 * more))
}

/// The band in which a ratio counts as the same.
pub(crate) fn band(report: &TuneReport) -> String {
    within(report.same_band)
}

/// A band of this half-width.
pub(crate) fn within(same_band: f64) -> String {
    format!("±{} %", number::significant(100.0 * same_band, 1))
}

fn without_recommended(report: &TuneReport) -> Headline {
    let Some((baseline, others)) = report.configurations.split_first() else {
        return Headline::new(None).words("Nothing was measured: no configuration was run.");
    };
    if baseline.proved.runs.is_empty()
        && others.iter().all(|configuration| configuration.proved.runs.is_empty())
    {
        let why = if report.interrupted {
            "the session was interrupted before"
        } else {
            "the session ended without"
        };
        return Headline::new(None).words(format!("Nothing was measured: {why} the first timed run."));
    }
    if others.is_empty() {
        return Headline::new(None)
            .words("Only the baseline was run: there is nothing to compare it with.")
            .words(if report.interrupted { " The session was interrupted." } else { "" })
            .words(if report.skipped.is_empty() {
                ""
            } else {
                " What was skipped, and why, is listed below."
            });
    }
    if report.interrupted {
        return Headline::new(None).words("Nothing is proved: the session was interrupted before a verdict.");
    }
    let judged = Judged::of(report);
    let (better, by) = (judged.better(), judged.by());
    let with = |verdict| others.iter().filter(move |configuration| configuration.proved.verdict() == verdict);
    let open: Vec<_> = with(None).collect();
    let is_placed = report.configurations.first().is_some_and(|baseline| baseline.asked.is_some());
    let opening = if is_placed { "Keep the baseline: " } else { "Nothing helps: " };
    if open.is_empty() && with(Some(Verdict::Same)).count() == others.len() {
        let headline = Headline::new(Some(Verdict::Same)).words(opening);
        return match others {
            [only] => headline.name(&only.name),
            _ => headline.words("every configuration"),
        }
        .words(format!(" {}, within {}.", as_the_baseline(judged), band(report)));
    }
    if open.is_empty() {
        let verdicts: Vec<String> = [
            (Verdict::Same, format!("the same within {}", band(report))),
            (Verdict::Slower, judged.worse().to_owned()),
        ]
        .into_iter()
        .map(|(verdict, words)| (with(Some(verdict)).count(), words))
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{number} {words}"))
        .collect();
        let listed = if verdicts.is_empty() { String::new() } else { format!(" ({})", verdicts.join(", ")) };
        return Headline::new(Some(Verdict::Same))
            .words(format!("{opening}no configuration is {better} than the baseline{by}{listed}."));
    }
    let headline = Headline::new(None)
        .words(format!("Undecided: no configuration is proved {better} than the baseline{by} yet."));
    let first = open.iter().filter_map(|one| one.proved.forecast.map(|forecast| (forecast, &one.name)));
    match first.min_by_key(|(forecast, _)| forecast.runs) {
        Some((forecast, name)) => headline
            .words(" ")
            .name(name)
            .words(format!(" would be decided with {}, nine times in ten.", about(&forecast))),
        None => headline,
    }
}

/// So many more runs, and how long they take.
pub(crate) fn about(forecast: &Forecast) -> String {
    format!("about {} ({})", plural(forecast.runs as usize, "more run"), number::span(forecast.seconds))
}

pub(crate) fn inverse(ratio: &Ratio) -> Ratio {
    Ratio { value: 1.0 / ratio.value, low: 1.0 / ratio.high, high: 1.0 / ratio.low }
}

/// The command that makes use of the session. Only what was confirmed is advised.
pub(crate) fn advice(report: &TuneReport) -> Advice {
    let recommended = match (headline(report).outcome, report.recommended.as_deref()) {
        (Some(Verdict::Faster), Some(recommended)) => recommended,
        (Some(Verdict::Same | Verdict::Slower), _) => {
            return match report.configurations.first() {
                Some(baseline) if baseline.asked.is_some() => Advice::Use(command_to_use(report, baseline)),
                Some(baseline) => Advice::AsItIs(shell::command(report.command_of(baseline))),
                None => Advice::AsItIs(shell::command(&report.command)),
            };
        }
        _ => return Advice::Open,
    };
    match report.configuration(recommended) {
        Some(configuration) => Advice::Use(command_to_use(report, configuration)),
        None => Advice::Open,
    }
}

/// The command that runs the program as it ran in a configuration.
fn command_to_use(report: &TuneReport, configuration: &ConfigurationReport) -> String {
    let command = report.command_of(configuration);
    // Of a job, the launcher's line has it in front of the ranks' program.
    let has_it = |placement: &Placement| {
        let words = [placement.arguments(), vec!["--ranks".to_owned()]].concat();
        command.windows(words.len()).any(|window| window == words)
    };
    let command = command.iter().cloned();
    match configuration.asked.as_ref().filter(|placement| !has_it(placement)) {
        Some(placement) => {
            let words = ["firsttouch".to_owned(), "run".to_owned()].into_iter().chain(placement.arguments());
            let words: Vec<String> = words.chain(["--".to_owned()]).chain(command).collect();
            shell::command(&words)
        }
        None => shell::command(&command.collect::<Vec<_>>()),
    }
}

/// The word for what was decided about a configuration.
pub(crate) fn word(report: &TuneReport, verdict: Option<Verdict>, is_baseline: bool) -> &'static str {
    match verdict {
        Some(verdict) => report.objective.word(verdict),
        None => without_verdict(is_baseline),
    }
}

/// The word where there is no verdict.
pub(crate) fn without_verdict(is_baseline: bool) -> &'static str {
    if is_baseline { "baseline" } else { "undecided" }
}

/// The word for what fresh runs say.
pub(crate) fn state_word(state: ConfirmationState) -> &'static str {
    match state {
        ConfirmationState::Confirmed => "confirmed",
        ConfirmationState::Refuted => "refuted",
        ConfirmationState::NotYet => "not yet",
    }
}

/// What the row of the fresh runs is called, before a name.
pub(crate) fn fresh_label(state: ConfirmationState) -> &'static str {
    if state == ConfirmationState::Confirmed { "confirmed" } else { "on fresh runs" }
}
