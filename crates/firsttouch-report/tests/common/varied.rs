//! A session that varied something in the program.

use super::runs::{Noise, Shape, confirm, decided, fill};
use super::{configuration, empty};
use firsttouch_experiment::Verdict;
use firsttouch_placement::{ConfigurationReport, TuneReport};
use std::collections::BTreeMap;

/// One and two threads, without and with a placement; the one of this name is confirmed.
pub fn threads(recommended: &str) -> TuneReport {
    let mut noise = Noise::new(5);
    let shapes =
        [4.0, 2.2, 3.1, 1.6].map(|wall_s| Shape { wall_s, spread: 0.01, faults: 10_000, counters: false });
    let words =
        |threads: &str| vec!["env".to_owned(), format!("OMP_NUM_THREADS={threads}"), "./a b".to_owned()];
    let one = |name: &str, asked, threads: &str| ConfigurationReport {
        varied: BTreeMap::from([("threads".to_owned(), threads.to_owned())]),
        command: Some(words(threads)),
        case: None,
        ..configuration(name, asked)
    };
    let mut report = TuneReport { command: words("{threads}"), ..empty() };
    report.configurations = vec![
        one("baseline threads=1", None, "1"),
        one("thp threads=1", Some("thp"), "1"),
        one("threads=2", None, "2"),
        one("thp threads=2", Some("thp"), "2"),
    ];
    fill(&mut report.configurations, &shapes, 6, &mut noise);
    report.configurations[0].proved.ratio = None;
    for one in &mut report.configurations[1..] {
        one.proved.decided = one.proved.ratio.map(|ratio| decided(Verdict::Faster, ratio));
    }
    let index =
        report.configurations.iter().position(|one| one.name == recommended).expect("a configuration");
    confirm(&mut report, recommended, [&shapes[0], &shapes[index]], 3, &mut noise);
    report
}
