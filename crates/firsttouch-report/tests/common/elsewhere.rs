//! Decisions about what was measured elsewhere.

use super::runs::Noise;
use firsttouch_documents::DecisionReport;
use firsttouch_report::measured::{DecideOptions, decide, read};

/// A table of this many blocks: two that differ by a fifth, and one in between that is noisier.
fn table(noise: &mut Noise, blocks: u32, gain: f64) -> String {
    let mut rows = "block,configuration,value\n".to_owned();
    for block in 0..blocks {
        let times = [("old", 2.0, 0.01), ("new", 2.0 / gain, 0.01), ("a|<b>", 1.95, 0.06)];
        for (name, time, spread) in times {
            rows.push_str(&format!("{block},{name},{:.4}\n", time * (1.0 + spread * noise.normal())));
        }
    }
    rows
}

fn decided(files: &[(&str, String)], higher_is_better: bool) -> DecisionReport {
    let files =
        files.iter().map(|(name, text)| ((*name).to_owned(), read(text.as_bytes()).expect("a table")));
    let options = DecideOptions { baseline: None, higher_is_better, same_band: 0.02, by_file: false };
    decide(files.collect(), &options).expect("a decision")
}

/// Three sessions, which differ.
pub fn three_sessions() -> DecisionReport {
    let mut noise = Noise::new(5);
    let mut table = |gain| table(&mut noise, 12, gain);
    decided(&[("monday.csv", table(1.21)), ("tuesday.csv", table(1.19)), ("friday.csv", table(1.23))], false)
}

/// One session, of which more is better.
pub fn one_session() -> DecisionReport {
    decided(&[("rates.csv", table(&mut Noise::new(6), 12, 1.2))], true)
}
