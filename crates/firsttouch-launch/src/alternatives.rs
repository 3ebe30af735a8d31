//! The ways others have of getting huge pages: what to set in the program's environment, and where their
//! libraries lie.

use firsttouch_placement::{Pages, Placement, Prefault, Via};
use std::path::{Path, PathBuf};

/// One variable for the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// Set, in place of what it was.
    Set(&'static str, String),
    /// Put in front of what it was, with a colon.
    Prepend(&'static str, String),
    /// Words put in front of what it was, with a space.
    Words(&'static str, String),
}

/// An allocator that is not installed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{via} is not installed: there is no {file} in {searched}")]
pub struct NotInstalled {
    via: Via,
    file: &'static str,
    searched: String,
}

impl NotInstalled {
    /// The command that installs it.
    pub fn remedy(&self) -> &'static str {
        match self.via {
            Via::Jemalloc => "sudo apt install libjemalloc2",
            _ => "sudo apt install libmimalloc2.0",
        }
    }
}

/// Where the loader looks on common distributions.
pub(crate) fn library_directories() -> Vec<PathBuf> {
    let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
    ["/usr/local/lib", "/usr/lib", "/lib"]
        .iter()
        .map(|base| Path::new(base).join(&triple))
        .chain(["/usr/local/lib", "/usr/lib64", "/lib64", "/usr/lib"].map(PathBuf::from))
        .collect()
}

/// What `placement` sets for the program when its means is another allocator's own; for ours, what takes glibc's heap
/// along.
pub(crate) fn variables(
    placement: &Placement,
    directories: &[PathBuf],
) -> Result<Vec<Variable>, NotInstalled> {
    let tunables =
        |pages, keep| glibc_tunables(pages, keep).map(|text| Variable::Prepend("GLIBC_TUNABLES", text));
    Ok(match placement.via {
        Via::Agent if placement.heap => tunables(Pages::Transparent, false).into_iter().collect(),
        Via::Agent | Via::Supervise => Vec::new(),
        Via::Glibc => tunables(placement.pages, placement.keep).into_iter().collect(),
        Via::Mimalloc => {
            let library = find(
                Via::Mimalloc,
                &["libmimalloc.so.2", "libmimalloc.so.3", "libmimalloc.so"],
                directories,
            )?;
            let mut variables = vec![Variable::Prepend("LD_PRELOAD", library)];
            variables.extend(mimalloc_settings(placement.pages, placement.keep));
            variables
        }
        Via::Jemalloc => {
            let library = find(Via::Jemalloc, &["libjemalloc.so.2", "libjemalloc.so"], directories)?;
            let mut variables = vec![Variable::Prepend("LD_PRELOAD", library)];
            variables.extend(jemalloc_settings(placement.pages, placement.keep));
            variables
        }
        Via::Jvm => vec![Variable::Words("JAVA_TOOL_OPTIONS", jvm_options(placement))],
    })
}

/// `hugetlb` 1 is transparent huge pages, a larger number the size of reserved pages to use.
///
/// Without `mmap_max` all blocks come from the heap, whose free parts are used again, and with a `trim_threshold` above everything the
/// heap never shrinks: M_MMAP_MAX and M_TRIM_THRESHOLD of mallopt(3), "Memory Allocation Tunables" of the GNU C Library's manual. By
/// `mmap_threshold` that would take a size above every block's, and says the same. A heap grows by 128 KiB
/// (`top_pad`) beyond what is asked, or to the next huge page: more saves nothing where blocks are large.
fn glibc_tunables(pages: Pages, keep: bool) -> Option<String> {
    const KEEP: &str = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=9223372036854775807";
    let huge = (pages != Pages::Plain)
        .then(|| format!("glibc.malloc.hugetlb={}", if pages.is_reserved() { pages.bytes() } else { 1 }));
    let all: Vec<String> = huge.into_iter().chain(keep.then(|| KEEP.to_owned())).collect();
    (!all.is_empty()).then(|| all.join(":"))
}

/// `large_os_pages` (since 2.1 `allow_large_os_pages`; versions ignore the name they do not know) takes reserved
/// 2 MiB pages where the pool has them and advises transparent ones otherwise; `allow_thp` exists since 2.2.
///
/// Freed memory is kept since 2.1 by a `purge_delay` below 0, before that without `allow_decommit` ("Environment Options" of its readme,
/// the table in `src/options.c`). 2.0 keeps blocks of more than 32 MiB in memory reserved at its start alone (`src/arena.c`), of
/// which only what is used takes memory; what it reserves it does not advise (2.0.9 with `large_os_pages` had no huge page there).
fn mimalloc_settings(pages: Pages, keep: bool) -> Vec<Variable> {
    let set = |name, value: &str| Variable::Set(name, value.to_owned());
    let mut settings = match pages {
        Pages::Plain => Vec::new(),
        Pages::Huge1G => vec![set("MIMALLOC_RESERVE_HUGE_OS_PAGES", "1")],
        _ => ["MIMALLOC_LARGE_OS_PAGES", "MIMALLOC_ALLOW_LARGE_OS_PAGES", "MIMALLOC_ALLOW_THP"]
            .map(|name| set(name, "1"))
            .into(),
    };
    if keep {
        settings.extend([set("MIMALLOC_PURGE_DELAY", "-1"), set("MIMALLOC_ALLOW_DECOMMIT", "0")]);
        if pages == Pages::Plain {
            settings.push(set("MIMALLOC_RESERVE_OS_MEMORY", "64G"));
        }
    }
    settings
}

/// A decay time of -1 keeps freed memory, and holds for its arena of blocks above 8 MiB, too, which otherwise gives them back at
/// once (`opt.dirty_decay_ms`, `opt.muzzy_decay_ms` in jemalloc(3), 5.2; `arena_choose_huge` in `src/arena.c`). `opt.retain`, which keeps
/// addresses, is on in any case.
fn jemalloc_settings(pages: Pages, keep: bool) -> Option<Variable> {
    let huge = (pages != Pages::Plain).then_some("thp:always,metadata_thp:auto");
    let words: Vec<&str> =
        huge.into_iter().chain(keep.then_some("dirty_decay_ms:-1,muzzy_decay_ms:-1")).collect();
    (!words.is_empty()).then(|| Variable::Set("MALLOC_CONF", words.join(",")))
}

/// The options of HotSpot. It reads the variable before its command line, which so has the last word; other virtual
/// machines than HotSpot may refuse the options.
fn jvm_options(placement: &Placement) -> String {
    let mut options = match placement.pages {
        Pages::Huge2M => "-XX:+UseLargePages".to_owned(),
        Pages::Huge1G => "-XX:+UseLargePages -XX:LargePageSizeInBytes=1g".to_owned(),
        _ => "-XX:+UseTransparentHugePages".to_owned(),
    };
    if placement.prefault != Prefault::No {
        options.push_str(" -XX:+AlwaysPreTouch");
    }
    options
}

fn find(via: Via, names: &[&'static str], directories: &[PathBuf]) -> Result<String, NotInstalled> {
    directories
        .iter()
        .flat_map(|directory| names.iter().map(move |name| directory.join(name)))
        .filter(|path| path.is_file())
        .find_map(|path| path.to_str().map(str::to_owned))
        .ok_or_else(|| NotInstalled {
            via,
            file: names[0],
            searched: directories.iter().map(|d| d.display().to_string()).collect::<Vec<_>>().join(", "),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Placement {
        text.parse().unwrap()
    }

    #[test]
    fn glibc_gets_the_size_it_must_reserve() {
        let variables = variables(&asked("2m,via=glibc"), &[]).unwrap();
        assert_eq!(
            variables,
            [Variable::Prepend("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2097152".to_owned())]
        );
    }

    #[test]
    fn an_allocator_keeps_memory_by_its_own_settings() {
        let glibc = |text: &str| match variables(&asked(text), &[]).unwrap().as_slice() {
            [Variable::Prepend("GLIBC_TUNABLES", tunables)] => tunables.clone(),
            other => panic!("{other:?}"),
        };
        let keep = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=9223372036854775807";
        assert_eq!(glibc("plain,keep,via=glibc"), keep);
        assert_eq!(glibc("thp,keep,via=glibc"), format!("glibc.malloc.hugetlb=1:{keep}"));
        let set = |name, value: &str| Variable::Set(name, value.to_owned());
        assert_eq!(jemalloc_settings(Pages::Plain, false), None);
        let kept = "dirty_decay_ms:-1,muzzy_decay_ms:-1";
        assert_eq!(jemalloc_settings(Pages::Plain, true), Some(set("MALLOC_CONF", kept)));
        let both = format!("thp:always,metadata_thp:auto,{kept}");
        assert_eq!(jemalloc_settings(Pages::Transparent, true), Some(set("MALLOC_CONF", &both)));
        assert_eq!(mimalloc_settings(Pages::Plain, false), []);
        let reserves =
            |pages| mimalloc_settings(pages, true).contains(&set("MIMALLOC_RESERVE_OS_MEMORY", "64G"));
        assert_eq!([Pages::Plain, Pages::Transparent].map(reserves), [true, false]);
    }

    #[test]
    fn java_gets_the_switches_of_its_virtual_machine() {
        let options = |text: &str| variables(&asked(text), &[]).unwrap();
        let words = |text: &str| vec![Variable::Words("JAVA_TOOL_OPTIONS", text.to_owned())];
        assert_eq!(options("thp,via=jvm"), words("-XX:+UseTransparentHugePages"));
        assert_eq!(options("2m,prefault,via=jvm"), words("-XX:+UseLargePages -XX:+AlwaysPreTouch"));
    }

    #[test]
    fn an_allocator_is_found_where_it_lies_and_missed_with_its_package() {
        let empty = tempfile::tempdir().unwrap();
        let full = tempfile::tempdir().unwrap();
        let library = full.path().join("libjemalloc.so.2");
        std::fs::write(&library, "").unwrap();
        let directories = [empty.path().to_owned(), full.path().to_owned()];
        let found = variables(&asked("thp,via=jemalloc"), &directories).unwrap();
        assert_eq!(found[0], Variable::Prepend("LD_PRELOAD", library.to_str().unwrap().to_owned()));
        let missing = variables(&asked("thp,via=mimalloc"), &directories).unwrap_err();
        assert!(missing.to_string().contains("libmimalloc.so.2"));
        assert_eq!(missing.remedy(), "sudo apt install libmimalloc2.0");
    }

    #[test]
    fn our_own_means_sets_nothing_here_but_for_the_heap() {
        assert_eq!(variables(&asked("thp"), &[]), Ok(Vec::new()));
        // Whatever the large blocks lie on: a heap on reserved pages would take the pool from them.
        let tunable = Variable::Prepend("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1".to_owned());
        assert_eq!(variables(&asked("2m,heap"), &[]), Ok(vec![tunable]));
    }
}
