//! CSV: one line per raw run, in the order they were made, or per sample of a recording (RFC 4180 quoting, lines ending
//! in a newline).

use crate::bench;
use crate::series::{Panel, Series, panels};
use crate::summary::{MEANWHILE, Metric, counters, peak_memory, raw_runs, varied};
use csv::{Writer, WriterBuilder};
use firsttouch_documents::{BenchReport, DecisionReport, Recording};
use firsttouch_placement::TuneReport;

/// The raw runs of both phases, with what the machine did meanwhile. `judged` is what was judged, where that is not the wall time. Counters
/// stand in columns `counter.NAME`, empty where a run has none, and what was varied in columns `varied.NAME`. `peak_memory_bytes` and
/// its ratio to the baseline's are of the configuration in that phase, the same in each of its rows.
pub fn tune(report: &TuneReport) -> String {
    let (counters, varied) = (counters(report), varied(report));
    let titles = ["configuration", "phase", "block", "order"].into_iter();
    let titles = titles.chain(Metric::PLAIN.map(|metric| metric.key));
    let titles = titles.chain((!report.objective.is_wall()).then_some("judged"));
    let titles = titles.chain(["outlier", "peak_memory_bytes", "peak_memory_ratio"]);
    let titles = titles.chain(MEANWHILE.map(|(key, _)| key)).map(str::to_owned);
    let titles = titles.chain(counters.iter().map(|counter| format!("counter.{}", counter.key)));
    let mut table = Table::new(titles.chain(varied.iter().map(|(name, _)| format!("varied.{name}"))));
    for (name, phase, run) in raw_runs(report) {
        let configuration = report.configuration(name);
        let memory = configuration.and_then(|c| peak_memory(report, c, phase));
        let ratio = memory.and_then(|memory| memory.ratio);
        let whose = [name.to_owned(), phase.word().to_owned(), run.block.to_string(), run.order.to_string()];
        let judged = [
            run.outlier.to_string(),
            or_empty(memory.map(|memory| memory.bytes)),
            or_empty(ratio.map(|ratio| format!("{ratio:.4}"))),
        ];
        let value = (!report.objective.is_wall()).then(|| or_empty(report.objective.value(&run.timed)));
        let fields = whose.into_iter().chain(Metric::PLAIN.map(|metric| metric.cell(run)));
        let meanwhile = MEANWHILE.map(|(_, told)| told(&run.timed.meanwhile));
        let fields = fields.chain(value).chain(judged).chain(meanwhile);
        let values = varied.iter().map(|(name, _)| or_empty(configuration.and_then(|c| c.varied.get(*name))));
        table.row(fields.chain(counters.iter().map(|counter| counter.cell(run))).chain(values));
    }
    table.text()
}

/// The raw runs of all comparisons of cases: the time of a step of each, and its case, variant and placement.
pub fn bench(report: &BenchReport) -> String {
    let titles = [
        "case",
        "comparison",
        "configuration",
        "variant",
        "placement",
        "phase",
        "block",
        "order",
        "seconds",
        "parameters",
    ];
    let mut table = Table::new(titles.map(str::to_owned));
    for (case, comparison) in
        report.cases.iter().flat_map(|case| case.comparisons.iter().map(move |one| (case, one)))
    {
        // One case may come several times, by what is not varied.
        let parameters: Vec<String> =
            case.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        for (name, phase, run) in raw_runs(&comparison.session) {
            let configuration = comparison.session.configuration(name);
            let variant = configuration.and_then(|one| one.case.as_ref()).map(|case| case.variant.clone());
            let asked = configuration.and_then(|one| one.asked.as_ref());
            table.row([
                case.name.clone(),
                bench::axis_word(comparison.of).to_owned(),
                name.to_owned(),
                or_empty(variant),
                or_empty(asked),
                phase.word().to_owned(),
                run.block.to_string(),
                run.order.to_string(),
                or_empty(comparison.session.objective.value(&run.timed)),
                parameters.join(" "),
            ]);
        }
    }
    table.text()
}

/// What was measured elsewhere: a line for each value, which is read again as it is written. Columns that no value has are left out.
pub fn decision(report: &DecisionReport) -> String {
    let sessions = &report.comparison.sessions;
    let runs = || sessions.iter().flat_map(|session| &session.configurations).flat_map(|one| &one.runs);
    let [blocks, orders] = [runs().any(|run| run.block.is_some()), runs().any(|run| run.order.is_some())];
    let row = |fixed: [String; 3], block: String, order: String| {
        let optional = [(blocks, block), (orders, order)].into_iter().filter(|(is_there, _)| *is_there);
        fixed.into_iter().chain(optional.map(|(_, field)| field))
    };
    let titles = ["session", "configuration", "value"].map(str::to_owned);
    let mut table = Table::new(row(titles, "block".to_owned(), "order".to_owned()));
    for session in sessions {
        for configuration in &session.configurations {
            for run in &configuration.runs {
                let fixed = [session.name.clone(), configuration.name.clone(), run.value.to_string()];
                table.row(row(fixed, or_empty(run.block), or_empty(run.order)));
            }
        }
    }
    table.text()
}

/// A recording: one line per sample, with a column for each value of its figures; empty where it was not read.
pub fn recording(recording: &Recording) -> String {
    let panels = panels(recording);
    let series: Vec<(&Panel, &Series)> =
        panels.iter().flat_map(|panel| panel.series.iter().map(move |series| (panel, series))).collect();
    let titles = ["t_s", "resident_bytes"].map(str::to_owned).into_iter();
    let mut table = Table::new(titles.chain(series.iter().map(|(panel, series)| series.name_in(panel))));
    let mut values: Vec<_> = series.iter().map(|(_, series)| series.points.iter().peekable()).collect();
    for (index, sample) in recording.samples.iter().enumerate() {
        let of_sample = [sample.t_s.to_string(), sample.resident_bytes.to_string()].into_iter();
        let values = values
            .iter_mut()
            .map(|points| or_empty(points.next_if(|point| point.sample == index).map(|point| point.value)));
        table.row(of_sample.chain(values));
    }
    table.text()
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// Rows of one length, written into memory, which refuses nothing.
struct Table(Writer<Vec<u8>>);

impl Table {
    fn new(titles: impl IntoIterator<Item = String>) -> Table {
        // What begins as comments do is quoted, so that whoever skips comments reads it.
        let mut table = Table(WriterBuilder::new().comment(Some(b'#')).from_writer(Vec::new()));
        table.row(titles);
        table
    }

    fn row(&mut self, fields: impl IntoIterator<Item = String>) {
        let written = self.0.write_record(fields);
        debug_assert!(written.is_ok(), "{written:?}");
    }

    fn text(self) -> String {
        self.0.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    }
}
