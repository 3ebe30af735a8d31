//! What several sessions say together.

use super::session::Seen;
use crate::race::ALPHA;
use crate::statistics::closure::adjusted_log_e;
use crate::statistics::forecast::{Question, sessions_to_decide};
use crate::statistics::sessions::Sessions;
use crate::{Ratio, Verdict};
use firsttouch_sorted::sort_by;
use serde::{Deserialize, Serialize};

/// Two ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The lower one.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

/// What sessions say together of one configuration against the baseline: of sessions like these, not only of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AcrossSessions {
    /// The configuration.
    pub name: String,
    /// Sessions that compared it with the baseline.
    pub sessions: u32,
    /// The geometric mean of their ratios, each counting the same, with its 95 % interval, which is read once: the number of sessions
    /// counts as chosen beforehand.
    pub ratio: Ratio,
    /// Where the next session, measured as these were, finds its ratio, nineteen times in twenty.
    pub next_session: Interval,
    /// How much of the variance of a session's ratio lies between sessions; `None` where it cannot be told.
    pub between_share: Option<f64>,
    /// The evidence against no difference that holds after however many looks, with all configurations counted; from 20 on it needs no number of
    /// sessions that was chosen beforehand. Four sessions are the fewest that can reach it.
    pub e_value: f64,
    /// Faster, slower or the same over sessions, with all configurations counted; `None` while it is undecided.
    pub verdict: Option<Verdict>,
    /// When undecided: so many more sessions decide it nine times in ten; `None` of two, which cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_sessions: Option<u32>,
}

/// Puts together what sessions saw of each configuration, in the order in which these are first seen.
pub(super) fn put_together(seen: &[Seen], same_band: f64) -> Vec<AcrossSessions> {
    let mut names: Vec<&str> = Vec::new();
    for one in seen {
        if !names.contains(&one.name.as_str()) {
            names.push(&one.name);
        }
    }
    let of = |name: &str| -> Option<(String, Sessions, Option<f64>)> {
        let own: Vec<&Seen> = seen.iter().filter(|one| one.name == name).collect();
        let sessions = Sessions::of(&own.iter().map(|one| one.log_ratio).collect::<Vec<f64>>())?;
        let errors: Option<Vec<f64>> = own.iter().map(|one| one.standard_error).collect();
        Some((name.to_owned(), sessions, errors.and_then(|errors| sessions.between_share(&errors))))
    };
    let together: Vec<_> = names.into_iter().filter_map(of).collect();
    let alternatives: Vec<Sessions> = together.iter().map(|(_, sessions, _)| *sessions).collect();
    let verdicts = verdicts(&alternatives, same_band);
    let log_e: Vec<f64> = alternatives.iter().map(|sessions| sessions.contrast().log_e()).collect();
    let open = verdicts.iter().filter(|verdict| verdict.is_none()).count();
    let question = Question { alpha: ALPHA / open.max(1) as f64, same_band };
    together
        .into_iter()
        .zip(verdicts)
        .zip(adjusted_log_e(&log_e))
        .map(|(((name, sessions, between_share), verdict), log_e)| {
            let ends = |half_width| Ratio::around(sessions.log_ratio, half_width);
            let next = ends(sessions.next_half_width(ALPHA));
            AcrossSessions {
                name,
                sessions: sessions.sessions,
                ratio: ends(sessions.half_width(ALPHA)),
                next_session: Interval { low: next.low, high: next.high },
                between_share,
                e_value: log_e.exp(),
                verdict,
                more_sessions: verdict
                    .is_none()
                    .then(|| Some(sessions_to_decide(&sessions, &question)? - sessions.sessions))
                    .flatten(),
            }
        })
        .collect()
}

/// Verdicts over sessions. *The same*: two one-sided t tests, shared among those that are not called the same before. *Different*: the t test,
/// shared among all alternatives (S. Holm, "A simple sequentially rejective multiple test procedure", *Scandinavian Journal of Statistics* 6, 1979).
fn verdicts(alternatives: &[Sessions], same_band: f64) -> Vec<Option<Verdict>> {
    let mut verdicts = vec![None; alternatives.len()];
    loop {
        let questions = verdicts.iter().filter(|verdict| verdict.is_none()).count();
        let level = (2.0 * ALPHA / questions.max(1) as f64).min(1.0);
        let is_same = |sessions: &Sessions| {
            let half_width = sessions.half_width(level);
            sessions.log_ratio - half_width >= (-same_band).ln_1p()
                && sessions.log_ratio + half_width <= same_band.ln_1p()
        };
        let next = (0..alternatives.len()).find(|&at| verdicts[at].is_none() && is_same(&alternatives[at]));
        let Some(next) = next else { break };
        verdicts[next] = Some(Verdict::Same);
    }
    let mut ascending: Vec<usize> = (0..alternatives.len()).collect();
    sort_by(&mut ascending, |&left, &right| alternatives[left].p().total_cmp(&alternatives[right].p()));
    for (place, &at) in ascending.iter().enumerate() {
        if alternatives[at].p() * (alternatives.len() - place) as f64 >= ALPHA {
            break;
        }
        let faster = alternatives[at].log_ratio > 0.0;
        verdicts[at] = verdicts[at].or(Some(if faster { Verdict::Faster } else { Verdict::Slower }));
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(log_ratios: &[f64]) -> Sessions {
        Sessions::of(log_ratios).unwrap()
    }

    #[test]
    fn three_verdicts_and_none() {
        let alternatives = [
            sessions(&[0.30, 0.31, 0.29, 0.30]),
            sessions(&[-0.2, -0.21, -0.19, -0.2]),
            sessions(&[0.001, -0.001, 0.0005, 0.0]),
            sessions(&[0.1, -0.05, 0.15, 0.02]),
        ];
        let expected = [Some(Verdict::Faster), Some(Verdict::Slower), Some(Verdict::Same), None];
        assert_eq!(verdicts(&alternatives, 0.02), expected);
    }

    #[test]
    fn many_questions_ask_more_of_each() {
        // Alone p = 0.03; among three that tell nothing it is not enough.
        let clear = sessions(&[0.10, 0.13, 0.20, 0.05]);
        assert!((0.01..0.05).contains(&clear.p()), "{}", clear.p());
        assert_eq!(verdicts(&[clear], 0.02), [Some(Verdict::Faster)]);
        let open = sessions(&[0.5, -0.5, 0.1, -0.1]);
        assert_eq!(verdicts(&[open, clear, open, open], 0.02), [None; 4]);
    }

    #[test]
    fn two_sessions_have_a_wide_interval_and_no_forecast() {
        let seen = |log_ratio| Seen { name: "new".to_owned(), log_ratio, standard_error: Some(0.01) };
        let [together] = &put_together(&[seen(0.10), seen(0.12)], 0.02)[..] else { panic!("one") };
        assert_eq!((together.sessions, together.verdict, together.more_sessions), (2, None, None));
        assert!(together.ratio.low < 1.0 && together.ratio.high > 1.2, "{together:?}");
        assert!(together.next_session.low < together.ratio.low, "{together:?}");
        let share = together.between_share.expect("errors are known");
        assert!((share - 0.5).abs() < 1e-9, "0.0002 in all, 0.0001 of it within: {share}");
        assert!(put_together(&[seen(0.1)], 0.02).is_empty());
    }
}
