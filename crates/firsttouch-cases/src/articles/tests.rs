//! Of the format what reads and what does not, and of the files that they have what the documents print.

use super::*;
use crate::find;

fn table(name: &str) -> (&'static str, ArticleTable<'static>) {
    let all = articles().expect("the files read");
    let mut tables = all
        .into_iter()
        .flat_map(|(document, article)| article.tables.into_iter().map(move |table| (document, table)));
    tables.find(|(_, table)| table.name == name).unwrap_or_else(|| panic!("no table {name}"))
}

/// The value of a way on a system, by the beginnings of their names.
fn value(of: &str, system: &str, way: &str) -> Option<f64> {
    let (_, table) = table(of);
    let ways: Vec<usize> =
        (0..table.ways.len()).filter(|at| table.ways[*at].label.starts_with(way)).collect();
    let of_system = table.systems.iter().filter(|(name, _)| name.contains(system));
    let values: Vec<f64> = of_system.filter_map(|(_, values)| values[*ways.first()?]).collect();
    (values.len() == 1).then(|| values[0])
}

#[test]
fn all_files_read_and_tables_are_told_apart() {
    let all = articles().expect("the files read");
    let tables = || all.iter().flat_map(|(_, article)| &article.tables);
    for table in tables() {
        assert_eq!(tables().filter(|other| other.name == table.name).count(), 1, "{}", table.name);
        assert!(document_names().all(|name| name != table.name), "{}", table.name);
        let Some(case) = table.case() else { continue };
        let about = find(case).unwrap_or_else(|| panic!("{}: no case {case}", table.name)).about();
        for word in table.ways.iter().filter_map(|way| way.which).flat_map(str::split_whitespace) {
            let Some((name, value)) = word.split_once('=') else { continue };
            let is_known = match name {
                "variant" => about.variant(value).is_some(),
                "threads" | "groups" => true,
                "ranks" => find(case).is_some_and(|case| case.over_ranks().is_some()),
                _ => about.parameters.iter().any(|parameter| parameter.name == name),
            };
            assert!(is_known, "{}: {word}", table.name);
        }
    }
    for name in document_names() {
        assert!(all.iter().any(|(document, _)| *document == name), "{name}");
    }
}

/// What `DIGEST.md` of the documents has in its tables, and what the documents have themselves.
#[test]
fn what_the_documents_print_is_there() {
    let r = [
        ("qr-1000", "Opteron 275", 15.209, 5.987),
        ("qr-1000", "Vista", 22.74, 10.12),
        ("qr-1024", "Opteron 275", 58.296, 42.988),
        ("qr-1024", "E5430", 27.438, 114.259),
        ("qr-1024", "G5", 166.487, 113.136),
        ("fft-1e7", "Opteron 275", 19.104, 18.234),
        ("fft-2-24", "Opteron 275", 39.119, 47.023),
        ("lm", "Opteron 275", 216.756, 67.126),
        ("lm", "E5430", 30.493, 28.005),
    ];
    for (of, system, without, with) in r {
        assert_eq!(value(of, system, "without"), Some(without), "{of} {system}");
        assert_eq!(value(of, system, "with ISM"), Some(with), "{of} {system}");
    }
    let balancers = ["no", "NumaLB", "Greedy", "Metis", "RecBipart", "Scotch"];
    let balance: [(&str, &str, [f64; 6]); 6] = [
        ("kneighbor", "NUMA16", [32.0, 22.4, 22.1, 21.5, 22.8, 22.1]),
        ("kneighbor", "NUMA32", [26.9, 14.9, 13.5, 17.9, 16.9, 16.1]),
        ("lb-test", "NUMA16", [1.01, 0.83, 0.93, 0.84, 0.83, 0.88]),
        ("lb-test", "NUMA32", [0.60, 0.43, 0.51, 0.46, 0.47, 0.43]),
        ("jacobi2d", "NUMA16", [1.74, 1.03, 1.24, 1.31, 1.21, 1.11]),
        ("jacobi2d", "NUMA32", [0.42, 0.27, 0.36, 0.40, 0.39, 0.29]),
    ];
    for (of, system, values) in balance {
        for (way, published) in balancers.into_iter().zip(values) {
            assert_eq!(value(of, system, way), Some(published), "{of} {system} {way}");
        }
        let moved = format!("{of}-moved");
        let of_numa = value(&moved, system, "NumaLB").expect("a value");
        for way in &balancers[2..] {
            assert!(value(&moved, system, way).is_some_and(|others| others > 2.0 * of_numa), "{moved} {way}");
        }
    }
    let others = [
        ("groups", "Opteron", "6x4", 193.426),
        ("groups", "Opteron", "3x8", 196.382),
        ("groups", "Opteron", "2x12", 194.565),
        ("groups", "Opteron", "1x24, not", 268.190),
        ("threads", "Opteron", "hugepage/affinity", 24.053),
        ("threads", "X5550", "hugepage/affinity", 7.733),
        ("ny", "Opteron", "unpinned", 685.0),
        ("ny", "Opteron", "a process", 633.0),
        ("ny", "Opteron", "pinned threads, huge", 601.0),
        ("ny-best", "X5550", "huge pages and", 1298.830),
        ("ny-best-rate", "Opteron", "huge pages and", 322.7969),
        ("n30", "X5550, two", "make", 820.822),
        ("page-2g", "T7", "of which", 320.0),
        ("page-2g", "T7", "co-processors", 31.0),
        ("page-2g", "T7", "co-processors, and", 29.0),
        ("techniques", "2 GB", "work queues", 5.0),
        ("hybrid", "T7", "memset", 6504.0),
        ("hybrid", "T7", "and 1/8", 746.0),
        ("k-means", "Xeon", "original", 111.50),
        ("k-means", "Xeon", "optimized", 20.48),
        ("log-log", "Phi", "serial", 2_874.419_779_062_271),
        ("parity", "Tencent", "gen_xor_avx in", 2000.0),
        ("hash-usage", "as printed", "one", 42.0),
        ("gram-schmidt-2.5m", "the most", "classic", 2.5),
    ];
    for (of, system, way, published) in others {
        assert_eq!(value(of, system, way), Some(published), "{of} {system} {way}");
    }
}

#[test]
fn every_kernel_of_the_issue_is_run() {
    let all = articles().expect("the files read");
    let cases: Vec<&str> =
        all.iter().flat_map(|(_, article)| &article.tables).filter_map(ArticleTable::case).collect();
    for case in [
        "hilbert",
        "fft",
        "lm",
        "sort",
        "balance",
        "sssp",
        "creation",
        "dgemm",
        "wave3d",
        "gram-schmidt",
        "hash",
        "deflate",
        "parity",
        "reed-solomon",
        "k-means",
        "pca",
        "vecmath",
    ] {
        assert!(cases.contains(&case), "{case}");
    }
}

/// By hand: seven systems with and without of two sizes; and of one benchmark of three, times of six balancers and moves of five on two
/// machines.
#[test]
fn values_belong_to_the_cases_that_repeat_them() {
    let of = |case: &str, chosen: &[(&str, &str)]| {
        let about = find(case).expect("a case").about();
        let chosen: Vec<_> =
            chosen.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        published(about, &Arguments::of(about, &chosen, false).expect("values")).expect("the files read")
    };
    assert_eq!(of("hilbert", &[("order", "500")]).len(), 2 * 2 * 7);
    let balance = of("balance", &[("benchmark", "lb_test")]);
    assert_eq!(balance.len(), 2 * (6 + 5));
    assert!(balance.iter().any(|one| one.what == "NumaLB, NUMA16" && one.value == 0.83 && one.unit == "s"));
    assert!(balance.iter().all(|one| one.source.contains("lb_test")), "{balance:?}");
    assert!(of("demo", &[]).is_empty());
}

#[test]
fn lines_say_what_they_are() {
    let text = "# told\narticle A | somebody\ntable t | what | s\nrun stream --quick\ntake rate # GB/s\nway one | plain\n\
                way other | thp/2m\nway third | - | for a reason\n= here | 2 | - | 1e-3\nnote and so on\n";
    let articles = parse(text).expect("it reads");
    let [table] = &articles[0].tables[..] else { panic!("{articles:?}") };
    assert_eq!((articles[0].title, articles[0].by), ("A", "somebody"));
    assert_eq!((table.case(), table.take), (Some("stream"), Some(("rate ", " GB/s"))));
    assert_eq!(table.ways[1].which, Some("thp/2m"));
    assert_eq!((table.ways[2].which, table.ways[2].cannot), (None, Some("for a reason")));
    assert_eq!(table.systems, [("here", vec![Some(2.0), None, Some(1e-3)])]);
    assert_eq!((table.notes.as_slice(), table.higher_is_better()), (["and so on"].as_slice(), Some(false)));
}

#[test]
fn what_does_not_read_is_told_by_its_line() {
    const HEAD: &str = "article A | somebody\ntable t | what | s\nrun stream\nway one\n";
    for (text, line, part) in [
        ("note early", 1, "no table"),
        ("table t | what | s", 1, "no article"),
        ("article A", 1, "article TITLE"),
        ("article A | ", 1, "empty"),
        ("article", 1, "nothing stands"),
        ("article A | b\ntable t | what", 2, "either"),
        ("article A | b\ntable t | what\nrun x\ncannot y", 4, "either"),
        ("article A | b\ntable t | what\nrun x\ntable t | again", 4, "this name"),
        ("article A | b\ntable t | what\nrun x\nway w\n= s | 1", 5, "no unit"),
        (&format!("{HEAD}= s | 1 | 2"), 5, "each way"),
        (&format!("{HEAD}= s | x"), 5, "no number"),
        (&format!("{HEAD}= s | 1\nway two"), 6, "before"),
        (&format!("{HEAD}take nothing"), 5, "`#`"),
        (&format!("{HEAD}needs much"), 5, "a size"),
        (&format!("{HEAD}other words"), 5, "expected article"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.line == line && error.what.contains(part), "{text}: {error}");
    }
}
