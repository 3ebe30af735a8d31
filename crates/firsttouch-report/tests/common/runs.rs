//! Runs made by hand, with noise that is the same every time, and the figures that follow from them.

use firsttouch_experiment::{
    Confirmation, ConfirmationState, Decided, Meanwhile, Ratio, SessionRun, TimedRun, Verdict,
};
use firsttouch_placement::{ConfigurationReport, TuneReport};
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;

/// Noise that is the same every time: a linear congruential generator (the constants of Knuth's MMIX), as a
/// roughly normal number by the sum of twelve.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Noise(seed)
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// How the runs of a configuration are to look.
pub struct Shape {
    pub wall_s: f64,
    pub spread: f64,
    pub faults: u64,
    pub counters: bool,
}

pub fn run(noise: &mut Noise, shape: &Shape, block: u32, order: u32) -> SessionRun {
    // Micros, so that golden files do not hang on the last bit.
    let wall_s = (shape.wall_s * (1.0 + shape.spread * noise.normal()) * 1e6).round() / 1e6;
    let faults = (shape.faults as f64 * (1.0 + 0.01 * noise.normal())) as u64;
    let mut counters = BTreeMap::new();
    if shape.counters {
        counters.insert("cycles".to_owned(), (wall_s * 2.9e9) as u64);
        counters.insert("dTLB-load-misses".to_owned(), faults * 410);
        counters.insert("page-walk-cycles".to_owned(), faults * 16_000);
    }
    SessionRun {
        block,
        order,
        timed: TimedRun {
            wall_s,
            user_s: (wall_s * 0.62 * 1e3).round() / 1e3,
            system_s: (wall_s * 0.36 * 1e3).round() / 1e3,
            max_rss_bytes: 812 * MIB + faults * 64,
            minor_faults: faults,
            major_faults: u64::from(block == 0),
            context_switches: 40 + u64::from(block) * 3,
            counters,
            judged: None,
            meanwhile: Meanwhile::default(),
        },
        outlier: false,
    }
}

/// Gives the configurations their runs, blocks in a shuffled order, and the figures that follow from them.
pub fn fill(configurations: &mut [ConfigurationReport], shapes: &[Shape], blocks: u32, noise: &mut Noise) {
    let mut order = 0;
    for block in 0..blocks {
        let mut turn: Vec<usize> = (0..configurations.len()).collect();
        for last in (1..turn.len()).rev() {
            turn.swap(last, (noise.uniform() * (last + 1) as f64) as usize);
        }
        for index in turn {
            if configurations[index].proved.decided.is_some_and(|decided| block >= decided.blocks) {
                continue;
            }
            configurations[index].proved.runs.push(run(noise, &shapes[index], block, order));
            order += 1;
        }
    }
    let baseline = configurations[0].proved.runs.clone();
    for configuration in configurations {
        let walls: Vec<f64> = configuration.proved.runs.iter().map(|run| run.timed.wall_s).collect();
        (configuration.proved.mean_wall_s, configuration.proved.deviation_wall_s) = described(&walls);
        if configuration.name != "baseline" {
            configuration.proved.ratio = ratio(&baseline, &configuration.proved.runs);
        }
    }
}

/// Mean and standard deviation.
pub fn described(values: &[f64]) -> (f64, Option<f64>) {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    if values.len() < 2 {
        return (mean, None);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (values.len() - 1) as f64).sqrt();
    (mean, Some((deviation * 1e6).round() / 1e6))
}

/// What was decided after so many blocks, by the ratio that there is.
pub fn decided(verdict: Verdict, ratio: Ratio) -> Decided {
    Decided { verdict, blocks: 4, ratio, e_value: 31.5 }
}

fn ratio(baseline: &[SessionRun], runs: &[SessionRun]) -> Option<Ratio> {
    let logs: Vec<f64> = baseline
        .iter()
        .filter_map(|base| {
            let run = runs.iter().find(|run| run.block == base.block)?;
            Some((base.timed.wall_s / run.timed.wall_s).ln())
        })
        .collect();
    // Near enough for documents made by hand.
    let (mean, deviation) = described(&logs);
    let half = 3.2 * deviation? / (logs.len() as f64).sqrt();
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    Some(Ratio {
        value: rounded(mean.exp()),
        low: rounded((mean - half).exp()),
        high: rounded((mean + half).exp()),
    })
}

/// Fresh blocks of what is recommended and of the baseline, after the runs of the search.
pub fn confirm(
    report: &mut TuneReport,
    recommended: &str,
    shapes: [&Shape; 2],
    blocks: u32,
    noise: &mut Noise,
) {
    let orders = report
        .configurations
        .iter()
        .flat_map(|configuration| &configuration.proved.runs)
        .map(|run| run.order);
    let mut order = orders.max().map_or(0, |last| last + 1);
    let (mut baseline_runs, mut recommended_runs) = (Vec::new(), Vec::new());
    for block in 0..blocks {
        for (runs, shape) in [(&mut baseline_runs, shapes[0]), (&mut recommended_runs, shapes[1])] {
            runs.push(run(noise, shape, block, order));
            order += 1;
        }
    }
    report.best = vec![recommended.to_owned()];
    report.recommended = Some(recommended.to_owned());
    report.confirmation = Some(Confirmation {
        ratio: ratio(&baseline_runs, &recommended_runs),
        state: ConfirmationState::Confirmed,
        forecast: None,
        baseline_runs,
        recommended_runs,
    });
}
