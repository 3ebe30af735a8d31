//! `bench --documents`: the tables and figures of the source documents, repeated by runs of cases, theirs beside ours.

use super::RANKS;
use super::session::{self, Progress, Surroundings, compare, jobs};
use crate::args::{self, Cli, Command};
use crate::exit::INTERRUPTED;
use crate::output::{Failure, Outcome};
use crate::{clock, export, paths, reading};
use clap::Parser as _;
use firsttouch_cases::articles::{ArticleTable as Table, articles, document_names};
use firsttouch_cases::{Case, find};
use firsttouch_documents::{
    AnyDocument, ArticleFigure, ArticleReport, ArticleRow, ArticleTable, BenchReport, CaseReport,
    PublishedValue,
};
use firsttouch_experiment::Ratio;
use firsttouch_launch::Dimension;
use firsttouch_machine::StatusReport;
use firsttouch_placement::{CaseFigure, ConfigurationReport, Placement, format_bytes};
use std::time::Instant;

/// What of the words of a run depends on the machine.
#[derive(Clone, Debug)]
struct Here {
    cpus: usize,
    /// Kinds of huge pages that there are, as lists of placements name them.
    huge: String,
    /// Kinds of pages that memory can be created of.
    pages: String,
    quick: bool,
}

/// Free reserved pages of so many bytes are enough for what `{pages}` stands in.
const ENOUGH_BYTES: u64 = 1 << 30;

/// A run that repeats tables, and what it needs.
struct Run {
    /// The words in the file: tables that have the same share the run.
    words: &'static str,
    case: &'static dyn Case,
    args: args::Bench,
    settings: Vec<Vec<(String, String)>>,
    vary: Vec<Dimension>,
    /// What repeats it alone.
    command: Vec<String>,
    /// Why it is not run.
    reason: Option<String>,
    /// Where its report is.
    at: Option<u32>,
}

pub(super) fn run(args: &args::Bench, names: &[String]) -> Outcome {
    export::check(args.export.document.json, args.export.files())?;
    let (began, started) = (Instant::now(), clock::now());
    let surroundings = Surroundings::new()?;
    let status = &surroundings.status;
    let here = Here::of(args, status)?;
    let chosen = chosen(names)?;
    let mut runs = runs(args, &chosen, &here, status)?;
    let mut sizes = Vec::new();
    for run in runs.iter_mut().filter(|run| run.reason.is_none()) {
        match jobs(&run.args, &[run.case], &run.settings, &run.vary, status) {
            Ok(jobs) => sizes.extend(jobs.iter().map(session::Job::size)),
            Err(failure) if failure.is_usage() => return Err(failure),
            Err(failure) => run.reason = Some(failure.with_hint()),
        }
    }
    let mut progress = Progress::new(args, began, sizes.into_iter().sum());
    let bench = surroundings.bench(args)?;
    let mut cases: Vec<CaseReport> = Vec::new();
    for run in runs.iter_mut().filter(|run| !args.list && run.reason.is_none()) {
        if surroundings.interrupt.asked() {
            run.reason = Some("it was interrupted before".to_owned());
            continue;
        }
        for job in jobs(&run.args, &[run.case], &run.settings, &run.vary, status)? {
            let mut report = compare(job, &bench, &mut progress)?;
            if report.comparisons.is_empty() {
                run.reason = Some("its runs failed".to_owned());
            }
            // The tables have them, each where it belongs.
            report.published.clear();
            run.at = Some(u32::try_from(cases.len())?);
            cases.push(report);
        }
    }
    let mut reports: Vec<ArticleReport> = Vec::new();
    for (document, title, by, table) in &chosen {
        if reports.last().is_none_or(|last| last.title != *title) {
            let (title, by) = ((*title).to_owned(), (*by).to_owned());
            reports.push(ArticleReport { document: (*document).to_owned(), title, by, tables: Vec::new() });
        }
        let run = runs.iter().find(|run| Some(run.words) == table.run);
        if let Some(last) = reports.last_mut() {
            last.tables.push(repeated(table, run, &cases, &here));
        }
    }
    let document = BenchReport {
        started,
        quick: args.quick,
        machine: serde_json::to_value(&status.machine)?,
        cases,
        articles: reports,
        interrupted: surroundings.interrupt.asked(),
    };
    let code = if document.interrupted { INTERRUPTED } else { progress.code };
    export::show(&AnyDocument::Bench(Box::new(document)), args.export.document.json, &args.export.chosen())?;
    Ok(code)
}

/// A table with its document, its article and who wrote it.
type Chosen = (&'static str, &'static str, &'static str, Table<'static>);

/// The tables of these names, and all of documents of these names; without names all there are.
fn chosen(names: &[String]) -> Outcome<Vec<Chosen>> {
    let all = articles()?.into_iter().flat_map(|(document, article)| {
        let of = (document, article.title, article.by);
        article.tables.into_iter().map(move |table| (of.0, of.1, of.2, table))
    });
    let all: Vec<Chosen> = all.collect();
    let is = |name: &String, (document, _, _, table): &Chosen| name == document || name == table.name;
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|one| is(name, one))) {
        let documents: Vec<&str> = document_names().collect();
        return Err(Failure::message(format!("there is no document or table `{unknown}`")).usage().hint(
            format!(
                "documents are {}; firsttouch bench --documents --list has their tables",
                documents.join(", ")
            ),
        ));
    }
    Ok(all.into_iter().filter(|one| names.is_empty() || names.iter().any(|name| is(name, one))).collect())
}

/// The runs that these tables need, each once.
fn runs(args: &args::Bench, chosen: &[Chosen], here: &Here, status: &StatusReport) -> Outcome<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for (_, _, _, table) in chosen {
        let Some((words, case)) = table.run.zip(table.case().and_then(find)) else { continue };
        if runs.iter().any(|run| run.words == words) {
            continue;
        }
        let (expanded, mut reason) = match here.expand(words) {
            Ok(expanded) => (expanded, None),
            Err(what) => (vec![case.about().name.to_owned()], Some(what)),
        };
        let mut own = parsed(&expanded)?;
        let memory = status.machine.memory_bytes.filter(|memory| *memory < table.needs_bytes && !args.quick);
        if let Some(memory) = memory {
            let (needs, has) = (format_bytes(table.needs_bytes), format_bytes(memory));
            reason = Some(format!(
                "it needs {needs} of memory, of which there are {has}; --quick has a small one"
            ));
        }
        if own.vary.iter().any(|dimension| dimension.name() == RANKS)
            && let Err(failure) = paths::mpi_is_there()
        {
            reason = Some(failure.with_hint());
        }
        (own.quick, own.steps) = (args.quick, args.steps.or(own.steps));
        let of_case = |(name, _): &&(String, String)| {
            let (only, name) =
                name.split_once('.').map_or((None, name.as_str()), |(case, name)| (Some(case), name));
            let about = case.about();
            only.is_none_or(|only| only == about.name) && about.parameters.iter().any(|one| one.name == name)
        };
        let set: Vec<(String, String)> = args.set.iter().filter(of_case).cloned().collect();
        let set_words = set.iter().flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")]);
        let command = ["firsttouch", "bench"].into_iter().map(str::to_owned).chain(expanded).chain(set_words);
        let command = command.chain(args.quick.then(|| "--quick".to_owned())).collect();
        own.set.extend(set);
        let settings = session::settings(&own, &[case])?;
        let vary = session::varied(&own, status)?;
        runs.push(Run { words, case, args: own, settings, vary, command, reason, at: None });
    }
    // What none of them has is refused as elsewhere.
    session::settings(args, &runs.iter().map(|run| run.case).collect::<Vec<_>>())?;
    Ok(runs)
}

/// The options of `firsttouch bench` with these words after it.
fn parsed(words: &[String]) -> Outcome<args::Bench> {
    let all = ["firsttouch", "bench"].into_iter().chain(words.iter().map(String::as_str));
    match Cli::try_parse_from(all)?.command {
        Command::Bench(bench) => Ok(*bench),
        _ => Err(Failure::message("the words are those of another command")),
    }
}

impl Here {
    fn of(args: &args::Bench, status: &StatusReport) -> Outcome<Here> {
        let huge = session::placements(args, status, "").0.join(" ");
        let has = |(_, bytes): &(&str, u64)| {
            let pool = status.machine.pool(*bytes);
            pool.and_then(|pool| pool.free).is_some_and(|free| free.saturating_mul(*bytes) >= ENOUGH_BYTES)
        };
        let reserved = [("2m", 2 << 20), ("1g", 1 << 30)].into_iter().filter(has).map(|(word, _)| word);
        let pages = ["4k", "thp"].into_iter().chain(reserved).collect::<Vec<_>>().join(",");
        Ok(Here { cpus: reading::usable()?.len(), huge, pages, quick: args.quick })
    }

    /// A word with what is here in the places of what depends on it.
    fn fill(&self, word: &str) -> String {
        let (cpus, ends) = (self.cpus.to_string(), if self.cpus > 1 { "1,{cpus}" } else { "1" });
        let word = word.replace("{ends}", ends).replace("{cpus}", &cpus);
        word.replace("{huge}", &self.huge).replace("{pages}", &self.pages)
    }

    /// The words of a run, or what is missing for it.
    fn expand(&self, words: &str) -> Result<Vec<String>, String> {
        let size = |word: &str| {
            let Some((whole, quick)) = word.split_once('~') else { return word.to_owned() };
            let name = &whole[..whole.rfind('=').map_or(0, |at| at + 1)];
            if self.quick { format!("{name}{quick}") } else { whole.to_owned() }
        };
        let words: Vec<String> = words.split_whitespace().map(|word| self.fill(&size(word))).collect();
        match words.iter().any(String::is_empty) {
            true => Err("this machine gives no huge pages at this moment: firsttouch status".to_owned()),
            false => Ok(words),
        }
    }
}

/// A table with what was run of it.
fn repeated(table: &Table<'_>, run: Option<&Run>, cases: &[CaseReport], here: &Here) -> ArticleTable {
    let at = run.and_then(|run| run.at);
    let case = at.and_then(|at| cases.get(at as usize));
    let mut all: Vec<Ran<'_>> = case.map_or_else(Vec::new, ran);
    let mut rows: Vec<ArticleRow> = Vec::new();
    // Ratios are of the first way where that is what the others were compared with, or where no way is anything here.
    let is_any = |which: &str| all.iter().any(|one| one.is(&here.fill(which)));
    let mut is_first_baseline = !table.ways.iter().filter_map(|way| way.which).any(is_any);
    for (place, way) in table.ways.iter().enumerate() {
        let which = way.which.map(|which| here.fill(which));
        let (mut figures, mut has_baseline) = (Vec::new(), false);
        for one in all.iter_mut().filter(|one| which.as_deref().is_some_and(|which| one.is(which))) {
            one.is_told = true;
            has_baseline |= one.is_baseline;
            figures.push(&*one);
        }
        is_first_baseline |= place == 0 && has_baseline;
        let published = table.systems.iter().filter_map(|(system, values)| {
            Some(PublishedValue { system: (*system).to_owned(), value: (*values.get(place)?)? })
        });
        let is_known = !figures.is_empty();
        let figures = figures.into_iter().filter_map(|one| one.figure(table, is_first_baseline));
        let figures: Vec<ArticleFigure> = figures.collect();
        let reason = way.cannot.map(str::to_owned).or_else(|| {
            let which = which.as_deref().filter(|_| figures.is_empty())?;
            Some(missing(which, case?, is_known))
        });
        rows.push(ArticleRow {
            way: way.label.to_owned(),
            published: published.collect(),
            here: figures,
            reason,
        });
    }
    for one in all.iter().filter(|one| !one.is_told) {
        let here: Vec<ArticleFigure> = one.figure(table, is_first_baseline).into_iter().collect();
        if !here.is_empty() {
            let way = one.name().to_owned();
            rows.push(ArticleRow { way, published: Vec::new(), here, reason: None });
        }
    }
    ArticleTable {
        name: table.name.to_owned(),
        shows: table.shows.to_owned(),
        unit: table.unit.to_owned(),
        higher_is_better: table.higher_is_better(),
        command: run.map_or_else(Vec::new, |run| run.command.clone()),
        case: at,
        reason: table.cannot.map(str::to_owned).or_else(|| run?.reason.clone()),
        rows,
        notes: table.notes.iter().map(|note| (*note).to_owned()).collect(),
    }
}

/// Why there is no figure of a way: its variant lacks something, no run of it was had, or there is nothing like it.
fn missing(which: &str, case: &CaseReport, is_known: bool) -> String {
    let variant = which.split_whitespace().find_map(|word| word.strip_prefix("variant="));
    match case.missing.iter().find(|one| Some(one.variant.as_str()) == variant) {
        Some(missing) => format!("{}; {}", missing.reason, missing.remedy),
        None if is_known => "no run of it ended within the time; allow more (--budget)".to_owned(),
        None => "no run here is like it".to_owned(),
    }
}

/// A configuration that was run.
struct Ran<'a> {
    configuration: &'a ConfigurationReport,
    is_baseline: bool,
    /// A way of the table has it.
    is_told: bool,
}

fn ran(case: &CaseReport) -> Vec<Ran<'_>> {
    let mut all = Vec::new();
    for comparison in &case.comparisons {
        for (place, configuration) in comparison.session.configurations.iter().enumerate() {
            all.push(Ran { configuration, is_baseline: place == 0, is_told: false });
        }
    }
    all
}

impl Ran<'_> {
    /// Whether these words are of it.
    fn is(&self, which: &str) -> bool {
        let Some(case) = self.configuration.case.as_deref() else { return false };
        let placement = self.configuration.asked.as_ref().map(Placement::to_string);
        which.split_whitespace().all(|word| match (word.split_once('='), &placement) {
            (Some(("variant", value)), _) => case.variant == value,
            (Some((name, value)), _) => {
                let varied = self.configuration.varied.get(name).or_else(|| case.parameters.get(name));
                varied.is_some_and(|is| is == value)
            }
            (None, None) => word == "plain",
            (None, Some(placement)) => word.split('/').any(|one| one == placement),
        })
    }

    /// What it is called where the article has no name for it.
    fn name(&self) -> &str {
        let name = &self.configuration.name;
        match name.strip_prefix("baseline") {
            Some("") => "as it is",
            Some(values) => values.trim_start(),
            None => name,
        }
    }

    /// Its figure: the one that the table is of.
    fn figure(&self, table: &Table<'_>, with_ratio: bool) -> Option<ArticleFigure> {
        let case = self.configuration.case.as_deref()?;
        let (figure, unit) = match table.take {
            None => (case.figure?, case.unit.clone()),
            Some((before, after)) => {
                let value = case.notes.iter().find_map(|note| number(note, before, after))?;
                (CaseFigure { value, low: None, high: None }, table.unit.to_owned())
            }
        };
        let is_judged = with_ratio && table.take.is_none();
        let proved = &self.configuration.proved;
        let is_finite = |ratio: &Ratio| [ratio.value, ratio.low, ratio.high].into_iter().all(f64::is_finite);
        Some(ArticleFigure {
            configuration: self.configuration.name.clone(),
            figure,
            unit,
            ratio: proved.ratio.filter(|ratio| is_judged && is_finite(ratio)),
            verdict: proved.verdict().filter(|_| is_judged),
        })
    }
}

/// The number that stands in a note after one text and before another.
fn number(note: &str, before: &str, after: &str) -> Option<f64> {
    let rest = note.strip_prefix(before)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[end..].starts_with(after).then(|| rest[..end].parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(quick: bool) -> Here {
        Here { cpus: 24, huge: "thp 2m".to_owned(), pages: "4k,thp".to_owned(), quick }
    }

    /// By the definition of the command itself, in both sizes, with every case, variant and value as the case knows it.
    #[test]
    fn every_run_of_the_documents_is_a_command_line() {
        let status = StatusReport::examine(&firsttouch_machine::Root::live()).expect("a machine");
        let mut seen = 0;
        for (_, _, _, table) in chosen(&[]).expect("tables") {
            let Some(words) = table.run else { continue };
            for quick in [false, true] {
                let words = here(quick).expand(words).expect("huge pages");
                let mut args = parsed(&words).unwrap_or_else(|failure| panic!("{words:?}: {failure}"));
                args.quick = quick;
                assert!(args.export.files().next().is_none() && args.cases.len() == 1, "{words:?}");
                let case = find(&args.cases[0]).unwrap_or_else(|| panic!("no case {words:?}"));
                let settings = session::settings(&args, &[case]).expect("settings");
                for set in &settings {
                    let taken = firsttouch_cases::Arguments::of(case.about(), set, quick);
                    assert!(taken.is_ok(), "{words:?}: {taken:?}");
                }
                for variant in &args.variants {
                    assert!(case.about().variant(variant).is_some(), "{words:?}: {variant}");
                }
                let vary =
                    session::varied(&args, &status).unwrap_or_else(|failure| panic!("{words:?}: {failure}"));
                for dimension in vary.iter().filter(|one| !super::super::TEAM.contains(&one.name())) {
                    for value in dimension.values() {
                        let set = [(dimension.name().to_owned(), value.to_string_lossy().into_owned())];
                        let taken = firsttouch_cases::Arguments::of(case.about(), &set, quick);
                        assert!(taken.is_ok(), "{words:?}: {taken:?}");
                    }
                }
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen}");
    }

    #[test]
    fn sizes_and_what_is_here_are_filled_in() {
        let words =
            "x --set n=4096~480 --vary threads={ends} --vary chunk=64,256~64 --configs {huge} --set p=q";
        assert_eq!(
            here(true).expand(words).expect("words").join("|"),
            "x|--set|n=480|--vary|threads=1,24|--vary|chunk=64|--configs|thp 2m|--set|p=q"
        );
        assert!(here(false).expand(words).expect("words").contains(&"chunk=64,256".to_owned()));
        let none = Here { huge: String::new(), ..here(false) };
        assert!(none.expand(words).is_err_and(|what| what.contains("huge pages")));
        let one = Here { cpus: 1, ..here(false) };
        assert_eq!(one.fill("threads={ends}"), "threads=1");
    }

    #[test]
    fn figures_are_found_in_notes() {
        assert_eq!(number("consumer thread usage: 42.5 %", "consumer thread usage: ", " %"), Some(42.5));
        assert_eq!(number("12 moves of 200 tasks; 3 %", "", " moves of"), Some(12.0));
        assert_eq!(number("200 tasks stay where they are", "", " moves of"), None);
        assert_eq!(number("ratio 2.34 (1 MB)", "ratio ", ""), Some(2.34));
        assert_eq!(number("ratio x", "ratio ", ""), None);
    }

    #[test]
    fn what_is_asked_for_has_to_be_there() {
        let names = |of: &[&str]| chosen(&of.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert!(names(&["ism"]).is_ok_and(|all| all.len() == 6));
        assert!(names(&["groups", "lm"]).is_ok_and(|all| all.len() == 2));
        let failure = names(&["nothing"]).expect_err("there is none");
        assert!(failure.is_usage() && failure.to_string().contains("nothing"), "{failure}");
    }
}
