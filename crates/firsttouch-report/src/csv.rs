//! CSV: one line per raw run, in the order they were made, or per sample of a recording (RFC 4180 quoting, lines ending
//! in a newline).

use crate::series::{Panel, Series, panels};
use crate::summary::{Metric, metrics, peak_memory, raw_runs};
use firsttouch_placement::{Recording, TuneReport};
use std::fmt::Write as _;

/// The raw runs of both phases. Counters stand in columns `counter.NAME`, empty where a run has none. `peak_memory_bytes` and its
/// ratio to the baseline's are of the configuration in that phase, the same in each of its rows.
pub fn tune(report: &TuneReport) -> String {
    let counters: Vec<String> = metrics(report)
        .into_iter()
        .filter_map(|metric| match metric {
            Metric::Counter(name) => Some(name),
            _ => None,
        })
        .collect();
    let mut text = String::from(
        "configuration,phase,block,order,wall_s,user_s,system_s,max_rss_bytes,minor_faults,major_faults,\
         context_switches,outlier,peak_memory_bytes,peak_memory_ratio",
    );
    for name in &counters {
        let _ = write!(text, ",{}", field(&format!("counter.{name}")));
    }
    text.push('\n');
    for (name, phase, run) in raw_runs(report) {
        let memory = report.configuration(name).and_then(|c| peak_memory(report, c, phase));
        let _ = write!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            field(name),
            phase.word(),
            run.block,
            run.order,
            run.wall_s,
            run.user_s,
            run.system_s,
            run.max_rss_bytes,
            run.minor_faults,
            run.major_faults,
            run.context_switches,
            run.outlier,
            memory.map_or(String::new(), |memory| memory.bytes.to_string()),
            memory.and_then(|memory| memory.ratio).map_or(String::new(), |ratio| format!("{ratio:.4}")),
        );
        for counter in &counters {
            text.push(',');
            if let Some(value) = run.counters.get(counter) {
                let _ = write!(text, "{value}");
            }
        }
        text.push('\n');
    }
    text
}

/// A recording: one line per sample, with a column for each value of its figures; empty where it was not read.
pub fn recording(recording: &Recording) -> String {
    let panels = panels(recording);
    let series: Vec<(&Panel, &Series)> =
        panels.iter().flat_map(|panel| panel.series.iter().map(move |series| (panel, series))).collect();
    let mut text = String::from("t_s,resident_bytes");
    for (panel, series) in &series {
        let _ = write!(text, ",{}", field(&series.name_in(panel)));
    }
    text.push('\n');
    let mut values: Vec<_> = series.iter().map(|(_, series)| series.points.iter().peekable()).collect();
    for (index, sample) in recording.samples.iter().enumerate() {
        let _ = write!(text, "{},{}", sample.t_s, sample.resident_bytes);
        for points in &mut values {
            text.push(',');
            if let Some(point) = points.next_if(|point| point.sample == index) {
                let _ = write!(text, "{}", point.value);
            }
        }
        text.push('\n');
    }
    text
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_quoted_where_needed() {
        assert_eq!(field("thp"), "thp");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
