//! Workers of the runtime over time: busy, idle, balancing, migrating; and what part of their time was work.

use super::frame::WIDTH;
use crate::number::{bytes, percent, plural, seconds};
use crate::scale::Scale;
use crate::svg::{Anchor, Shape, Svg, colour};
use firsttouch_documents::{Account, Balancing, Step};

/// Where the plotted area begins, after the names of the workers, and where it ends.
const AREA: (f64, f64) = (150.0, 880.0);
const LEGEND: f64 = 34.0;
/// Workers beyond so many get narrower lanes.
const MOST_WIDE: usize = 32;
const LANES: f64 = 20.0;
/// Height of the figure of efficiency, and the space above it.
const EFFICIENCY: f64 = 110.0;
const BETWEEN: f64 = 56.0;
/// Bars that would be nearer than this on paper are drawn as shares of columns of that width.
const COLUMN: f64 = 1.5;

/// A figure of its own, which a browser shows in light or in dark.
pub(crate) fn figure(account: &Account, title: &str) -> String {
    let workers = account.cpus.len();
    let lane = if workers <= MOST_WIDE { LANES } else { LANES * MOST_WIDE as f64 / workers as f64 };
    let top = LEGEND + 30.0;
    let bottom = top + lane * workers as f64;
    let under = bottom + BETWEEN;
    let mut svg = Svg::new(WIDTH, under + EFFICIENCY + 40.0);
    svg.strong((8.0, 18.0), Anchor::Start, title);
    legend(&mut svg);
    let time = Scale::linear(0.0, end_s(account), AREA);
    for (tick, label) in time.ticks(8) {
        let x = time.at(tick);
        svg.grid((x, top), (x, bottom));
        svg.grid((x, under), (x, under + EFFICIENCY));
        svg.note((x, under + EFFICIENCY + 15.0), Anchor::Middle, &label);
    }
    svg.note((AREA.1, under + EFFICIENCY + 32.0), Anchor::End, "seconds since the program began");
    for (worker, cpu) in account.cpus.iter().enumerate() {
        let y = top + lane * worker as f64;
        if lane >= 11.0 || worker % 8 == 0 {
            let name = format!("worker {worker}, CPU {cpu}");
            svg.note((AREA.0 - 10.0, y + lane / 2.0 + 4.0), Anchor::End, &name);
        }
        lane_of(&mut svg, account, worker, &time, (y + 1.0, lane - 2.0));
    }
    for balancing in &account.balancings {
        decision(&mut svg, balancing, &time, (top, bottom));
        for span in &balancing.migrating {
            let y = top + lane * f64::from(span.worker) + 1.0;
            let words = format!("worker {} migrating, {}", span.worker, seconds(span.ended_s - span.begun_s));
            bar(&mut svg, &time, (span.begun_s, span.ended_s), (y, lane - 2.0), colour::VERMILION, &words);
        }
    }
    efficiency(&mut svg, account, &time, under);
    let style = "<style>svg{color:#1b1f24;background:#fff}@media (prefers-color-scheme:dark){svg{color:#e4e6e9;\
                 background:#14171c}}</style>";
    let text = svg.finish(title).replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    // Behind the opening tag, so that the figure carries it wherever it goes.
    text.replacen(">\n", &format!(">\n{style}\n"), 1)
}

fn end_s(account: &Account) -> f64 {
    let steps = account.steps.iter().map(|step| step.ended_s);
    steps.chain(account.balancings.iter().map(|balancing| balancing.ended_s)).fold(0.0, f64::max)
}

fn legend(svg: &mut Svg) {
    let entries = [("busy", colour::BLUE), ("balancing", colour::OCHRE), ("migrating", colour::VERMILION)];
    let mut x = AREA.0 + 6.0;
    for (name, ink) in entries {
        svg.mark(Shape::Square, (x, LEGEND), 5.0, ink, "");
        svg.note((x + 10.0, LEGEND + 4.0), Anchor::Start, name);
        x += 90.0;
    }
    svg.bar((x - 5.0, LEGEND - 5.0), (10.0, 10.0), colour::GREY, "0.25", "");
    svg.note((x + 10.0, LEGEND + 4.0), Anchor::Start, "idle");
}

/// A bar from one time to another, wide enough to be seen.
fn bar(svg: &mut Svg, time: &Scale, span: (f64, f64), (y, height): (f64, f64), ink: &str, words: &str) {
    let (from, to) = (time.at(span.0), time.at(span.1));
    svg.bar((from, y), ((to - from).max(1.0), height), ink, "1", words);
}

fn lane_of(svg: &mut Svg, account: &Account, worker: usize, time: &Scale, (y, height): (f64, f64)) {
    let steps = &account.steps;
    let Some((first, last)) = steps.first().zip(steps.last()) else { return };
    let (from, to) = (time.at(first.begun_s), time.at(last.ended_s));
    svg.bar((from, y), (to - from, height), colour::GREY, "0.25", "");
    let busy = |step: &Step| step.workers.get(worker).map(|own| (own.begun_s, own.ended_s));
    if (to - from) / steps.len() as f64 >= 2.0 * COLUMN {
        for (step, span) in steps.iter().filter_map(|step| Some((step, busy(step)?))) {
            let (took, all) = (span.1 - span.0, step.wall_s());
            let words =
                format!("step {}: worker {worker} busy {} of {}", step.step, seconds(took), seconds(all));
            bar(svg, time, span, (y, height), colour::BLUE, &words);
        }
        return;
    }
    let columns = ((to - from) / COLUMN).ceil().max(1.0);
    let width = (to - from) / columns;
    let mut shares = vec![0.0; columns as usize];
    for (begun, ended) in steps.iter().filter_map(busy) {
        let (begun, ended) = ((time.at(begun) - from) / width, (time.at(ended) - from) / width);
        let mut at = begun.max(0.0);
        while at < ended && (at as usize) < shares.len() {
            let until = (at.floor() + 1.0).min(ended);
            shares[at as usize] += until - at;
            at = until;
        }
    }
    for (column, share) in shares.iter().enumerate() {
        let opacity = format!("{:.2}", share.min(1.0));
        svg.bar((from + column as f64 * width, y), (width, height), colour::BLUE, &opacity, "");
    }
}

/// A balancing concerns all workers.
fn decision(svg: &mut Svg, balancing: &Balancing, time: &Scale, (top, bottom): (f64, f64)) {
    let words = format!(
        "{} after step {}: imbalance {} to {} expected, {} moved, {} of memory made anew, {}",
        balancing.strategy,
        balancing.after_step,
        percent(balancing.imbalance_before),
        percent(balancing.imbalance_after),
        plural(balancing.moved, "task"),
        bytes(balancing.bytes as f64),
        seconds(balancing.ended_s - balancing.begun_s)
    );
    bar(svg, time, (balancing.begun_s, balancing.decided_s), (top, bottom - top), colour::OCHRE, &words);
}

fn efficiency(svg: &mut Svg, account: &Account, time: &Scale, top: f64) {
    let bottom = top + EFFICIENCY;
    let y = Scale::linear(0.0, 1.0, (bottom, top));
    svg.strong(
        (AREA.0, top - 10.0),
        Anchor::Start,
        "efficiency: processor time of tasks over time of workers",
    );
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        svg.grid((AREA.0, y.at(share)), (AREA.1, y.at(share)));
        svg.note((AREA.0 - 8.0, y.at(share) + 4.0), Anchor::End, &format!("{:.0} %", share * 100.0));
    }
    for balancing in &account.balancings {
        let x = time.at(balancing.begun_s);
        svg.dashed((x, top), (x, bottom));
    }
    // Steps are as long as they are: each is a level from its beginning to its end.
    let points: Vec<(f64, f64)> = account
        .steps
        .iter()
        .flat_map(|step| {
            let level = y.at(step.efficiency());
            [(time.at(step.begun_s), level), (time.at(step.ended_s), level)]
        })
        .collect();
    if !points.is_empty() {
        svg.polyline(&points, colour::GREEN, 1.5, 1.0, "efficiency of each step");
    }
}
