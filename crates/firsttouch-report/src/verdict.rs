//! The verdict sentence: the one number printed large, or the honest sentence where there is none.

use crate::number::{self, plural, ratio_words};
use crate::sentence::Sentence;
use crate::shell;
use crate::summary::fresh_blocks;
use firsttouch_experiment::{Confirmation, Ratio, Verdict};
use firsttouch_placement::TuneReport;

/// The sentence and what it comes to.
#[derive(Clone, Debug)]
pub(crate) struct Headline {
    pub(crate) sentence: Sentence,
    /// `Some(Faster)` is the only good news; `None` means that nothing was proved either way.
    pub(crate) outcome: Option<Verdict>,
}

impl Headline {
    fn new(outcome: Option<Verdict>) -> Self {
        Headline { sentence: Sentence::new(), outcome }
    }

    fn words(self, words: impl Into<String>) -> Self {
        Headline { sentence: self.sentence.words(words), ..self }
    }

    fn name(self, name: &str) -> Self {
        Headline { sentence: self.sentence.name(name), ..self }
    }
}

/// What to do with the program from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// This command gives it the placement that was confirmed.
    Use(String),
    /// The confirmed winner is not a placement: its own launcher was timed.
    OwnLauncher(String),
    /// It is proved that nothing helps: this is the program's own command.
    AsItIs(String),
    /// Nothing is proved either way.
    Open,
}

/// The verdict of the session. The figure in it comes from the confirmation phase, or there is none.
pub(crate) fn headline(report: &TuneReport) -> Headline {
    match (&report.winner, &report.confirmation) {
        (Some(winner), Some(confirmation)) => confirmed(report, winner, confirmation),
        (Some(winner), None) => {
            let why = if report.interrupted {
                "the session was interrupted before fresh runs could confirm it"
            } else {
                "no fresh runs confirmed it"
            };
            Headline::new(None)
                .words("Nothing is proved: ")
                .name(winner)
                .words(format!(" {} in the search, but {why}.", leads(report)))
        }
        (None, _) => without_winner(report),
    }
}

fn confirmed(report: &TuneReport, winner: &str, confirmation: &Confirmation) -> Headline {
    let blocks = plural(fresh_blocks(report), "fresh block");
    let Some(ratio) = &confirmation.ratio else {
        let why =
            if report.interrupted { "the session was interrupted" } else { "too few fresh runs were made" };
        return Headline::new(None).words("Nothing is proved: ").name(winner).words(format!(
            " {} in the search, but {why} during its confirmation ({blocks}): there is no figure to give.",
            leads(report)
        ));
    };
    let headline = Headline::new(Some(confirmation.verdict));
    let led = led(report);
    let headline = match confirmation.verdict {
        Verdict::Faster => {
            let (value, low, high) = ratio_words(ratio);
            let headline = headline.name(winner).words(format!(
                " is {value} times faster than the baseline, 95 % interval {low} to {high} ({blocks})."
            ));
            with_cost(with_tie(headline, report, winner), report, winner)
        }
        Verdict::Slower => {
            let (value, low, high) = ratio_words(&inverse(ratio));
            headline.words("Nothing helps: ").name(winner).words(format!(
                " {led} in the search, but is {value} times slower than the baseline on fresh runs, \
                 95 % interval {low} to {high} ({blocks})."
            ))
        }
        Verdict::Same => {
            let (value, low, high) = ratio_words(ratio);
            headline.words("Nothing helps: ").name(winner).words(format!(
                " {led} in the search, but takes the same time as the baseline on fresh runs: \
                 ratio {value}, 95 % interval {low} to {high}, inside ±2 % ({blocks})."
            ))
        }
        Verdict::Undecided => {
            let (value, low, high) = ratio_words(ratio);
            let more = report.configuration(winner).and_then(|configuration| configuration.proved.more_runs);
            headline
                .words("Undecided: ")
                .name(winner)
                .words(format!(
                    " {led} in the search, but fresh runs cannot tell it from the baseline: \
                     ratio {value}, 95 % interval {low} to {high} ({blocks})."
                ))
                .words(more.map_or(String::new(), |more| format!(" It would take {}.", about(more))))
        }
    };
    headline.words(if report.interrupted { " The session was interrupted." } else { "" })
}

/// Why what is recommended is not the fastest.
fn with_tie(headline: Headline, report: &TuneReport, winner: &str) -> Headline {
    let Some(tie) = &report.tied_with else { return headline };
    headline
        .words(" ")
        .name(&tie.name)
        .words(format!(" is as fast within {}, but ", within(&tie.ratio)))
        .name(winner)
        .words(format!(" {}.", tie.why))
}

/// What the gain costs, where that is worth telling.
fn with_cost(headline: Headline, report: &TuneReport, winner: &str) -> Headline {
    let Some(more) = report.more_memory() else { return headline };
    headline.words(" ").name(winner).words(format!(" needs {:.0} % more memory.", 100.0 * more))
}

/// The largest difference that an interval around 1 leaves room for, in whole per cent, rounded up.
fn within(ratio: &Ratio) -> String {
    let most = (1.0 - ratio.low).max(ratio.high - 1.0).max(0.0);
    if most.is_finite() {
        format!("{:.0} %", (100.0 * most).ceil().max(1.0))
    } else {
        number::UNKNOWN.to_owned()
    }
}

fn leads(report: &TuneReport) -> &'static str {
    if report.tied_with.is_some() { "ties for the lead" } else { "leads" }
}

fn led(report: &TuneReport) -> &'static str {
    if report.tied_with.is_some() { "tied for the lead" } else { "led" }
}

fn without_winner(report: &TuneReport) -> Headline {
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
    let with =
        |verdict| others.iter().filter(move |configuration| configuration.proved.verdict == Some(verdict));
    let open: Vec<_> = with(Verdict::Undecided).collect();
    if open.is_empty() && with(Verdict::Same).count() == others.len() {
        let headline = Headline::new(Some(Verdict::Same)).words("Nothing helps: ");
        return match others {
            [only] => headline.name(&only.name),
            _ => headline.words("every configuration"),
        }
        .words(" takes the same time as the baseline, within ±2 %.");
    }
    if open.is_empty() {
        let verdicts: Vec<String> = [(Verdict::Same, "the same within ±2 %"), (Verdict::Slower, "slower")]
            .into_iter()
            .map(|(verdict, words)| (with(verdict).count(), words))
            .filter(|(number, _)| *number > 0)
            .map(|(number, words)| format!("{number} {words}"))
            .collect();
        let listed = if verdicts.is_empty() { String::new() } else { format!(" ({})", verdicts.join(", ")) };
        return Headline::new(Some(Verdict::Same))
            .words(format!("Nothing helps: no configuration is faster than the baseline{listed}."));
    }
    let headline = Headline::new(Some(Verdict::Undecided))
        .words("Undecided: no configuration is proved faster than the baseline.");
    match open.iter().filter_map(|c| c.proved.more_runs.map(|more| (more, &c.name))).min() {
        Some((more, name)) => headline.words(" ").name(name).words(format!(" would take {}.", about(more))),
        None => headline,
    }
}

pub(crate) fn about(more: u32) -> String {
    format!("about {}", plural(more as usize, "more run"))
}

fn inverse(ratio: &Ratio) -> Ratio {
    Ratio { value: 1.0 / ratio.value, low: 1.0 / ratio.high, high: 1.0 / ratio.low }
}

/// The command that makes use of the session. Only a confirmed winner is advised.
pub(crate) fn advice(report: &TuneReport) -> Advice {
    let winner = match (headline(report).outcome, report.winner.as_deref()) {
        (Some(Verdict::Faster), Some(winner)) => winner,
        (Some(Verdict::Same | Verdict::Slower), _) => return Advice::AsItIs(shell::command(&report.command)),
        _ => return Advice::Open,
    };
    match report.configuration(winner).map(|configuration| &configuration.asked) {
        Some(Some(placement)) => {
            let words = ["firsttouch".to_owned(), "run".to_owned()].into_iter().chain(placement.arguments());
            let words: Vec<String> =
                words.chain(["--".to_owned()]).chain(report.command.iter().cloned()).collect();
            Advice::Use(shell::command(&words))
        }
        _ => Advice::OwnLauncher(winner.to_owned()),
    }
}

/// The words for an outcome, for places that show the verdict of a row.
pub(crate) fn word(verdict: Option<Verdict>, is_baseline: bool) -> String {
    match verdict {
        Some(verdict) => verdict.to_string(),
        None if is_baseline => "baseline".to_owned(),
        None => number::UNKNOWN.to_owned(),
    }
}
