//! Files of others that say something else of what a file of ours sets, and are heeded in its place.

use crate::draft::Draft;
use firsttouch_machine::Root;
use firsttouch_sorted::SortedMap;

/// Where systemd looks for files that are read at a boot. Of several with one name it reads that of the first place.
const PLACES: [&str; 5] = ["etc", "run", "usr/local/lib", "usr/lib", "lib"];

/// Who reads the file: it decides which of several lines holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The last line, by the names of the files; `sysctl --system` reads /etc/sysctl.conf at the end.
    Sysctl,
    /// The first line, by the names of the files; it says of others that they are duplicates.
    Tmpfiles,
    /// The last line of one domain and item.
    PamLimits,
}

/// A file, and what it sets.
#[derive(Debug, PartialEq, Eq)]
struct Rival {
    path: String,
    value: String,
}

/// Notes who is heeded in place of the line of `ours` that gives `name` this value.
pub(crate) fn tell(plan: &mut Draft<'_>, reader: Reader, ours: &str, name: &str, value: &str) {
    if let Some(Rival { path, value }) = reader.rival(plan.site.root(), ours, name, value) {
        plan.report.notes.push(format!(
            "{path} sets {value} for {name}, which holds in place of what {ours} says: it has to go, or to say the same"
        ));
    }
}

impl Reader {
    /// Who is heeded in place of the line of `ours` that gives `name` this value, where that is another value.
    fn rival(self, root: &Root, ours: &str, name: &str, value: &str) -> Option<Rival> {
        let own = ours.rsplit('/').next().unwrap_or_default();
        let before_ours = self == Reader::Tmpfiles;
        let mut found = self.files(root).into_iter().filter(|(file, _)| match before_ours {
            true => file.as_str() < own,
            false => file.as_str() > own,
        });
        let set_in = |(_, path): (String, String)| {
            let text = root.read(&path).ok().flatten()?;
            let mut values = text.lines().filter_map(|line| self.value(line, name));
            let value = if before_ours { values.next() } else { values.next_back() }?;
            Some(Rival { path: format!("/{path}"), value })
        };
        let rival = if before_ours { found.find_map(set_in) } else { found.filter_map(set_in).next_back() };
        rival.filter(|rival| rival.value != value)
    }

    /// The files in the order in which they are read, with their paths.
    fn files(self, root: &Root) -> Vec<(String, String)> {
        let (places, folder) = match self {
            Reader::Sysctl => (&PLACES[..], "sysctl.d"),
            Reader::Tmpfiles => (&PLACES[..], "tmpfiles.d"),
            Reader::PamLimits => (&["etc/security"][..], "limits.d"),
        };
        let mut files: SortedMap<String, String> = SortedMap::new();
        for place in places {
            let folder = format!("{place}/{folder}");
            for name in root.list(&folder).ok().flatten().unwrap_or_default() {
                if name.ends_with(".conf") && !files.contains_key(&name) {
                    files.insert(name.clone(), format!("{folder}/{name}"));
                }
            }
        }
        let mut files: Vec<(String, String)> = files.into_iter().collect();
        if self == Reader::Sysctl {
            files.push(("sysctl.conf".to_owned(), "etc/sysctl.conf".to_owned()));
        }
        files
    }

    /// The value that a line gives `name`, if it does.
    fn value(self, line: &str, name: &str) -> Option<String> {
        let line = line.trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match self {
            _ if line.starts_with(['#', ';']) => None,
            Reader::Sysctl => {
                let (key, value) = line.split_once('=')?;
                let key = key.trim().trim_start_matches('-').replace('/', ".");
                (key == name).then(|| value.trim().to_owned())
            }
            Reader::Tmpfiles => match words[..] {
                [kind, path, _, _, _, _, value] if kind.starts_with('w') && path == name => {
                    Some(value.to_owned())
                }
                _ => None,
            },
            Reader::PamLimits => match words[..] {
                [domain, _, item, value, ..] if format!("{domain} {item}") == name => Some(value.to_owned()),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_line_that_holds_is_found_whatever_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let root = Root::at(folder.path());
        let rival = |reader: Reader, ours: &str, name: &str, value: &str| {
            reader.rival(&root, ours, name, value).map(|rival| (rival.path, rival.value))
        };
        let sysctl =
            |value| rival(Reader::Sysctl, "/etc/sysctl.d/90-firsttouch.conf", "vm.max_map_count", value);
        assert_eq!(sysctl("9"), None);
        put("usr/lib/sysctl.d/10-early.conf", "vm.max_map_count = 1\n");
        put("usr/lib/sysctl.d/99-late.conf", "vm.max_map_count = 2\n");
        put("etc/sysctl.d/99-late.conf", "# vm.max_map_count = 3\nvm.swappiness=4\n");
        assert_eq!(sysctl("9"), None);
        put("etc/sysctl.d/95-late.conf", "vm.max_map_count=5\n-vm/max_map_count = 6\n");
        let late = Some(("/etc/sysctl.d/95-late.conf".to_owned(), "6".to_owned()));
        assert_eq!((sysctl("9"), sysctl("6")), (late, None));
        put("etc/sysctl.conf", "vm.max_map_count = 7\n");
        assert_eq!(sysctl("9"), Some(("/etc/sysctl.conf".to_owned(), "7".to_owned())));

        let thp = |value| rival(Reader::Tmpfiles, "/etc/tmpfiles.d/firsttouch.conf", "/sys/thp", value);
        put("etc/tmpfiles.d/zz.conf", "w /sys/thp - - - - never\n");
        assert_eq!(thp("always"), None);
        put("etc/tmpfiles.d/b.conf", "w! /sys/thp - - - - madvise\n");
        put("run/tmpfiles.d/c.conf", "w /sys/thp - - - - never\n");
        assert_eq!(thp("always"), Some(("/etc/tmpfiles.d/b.conf".to_owned(), "madvise".to_owned())));

        let limit =
            |name| rival(Reader::PamLimits, "/etc/security/limits.d/firsttouch.conf", name, "unlimited");
        put("etc/security/limits.d/zz.conf", "*\thard\tmemlock 64 # little\nann - nofile 5\n");
        assert_eq!(limit("* memlock"), Some(("/etc/security/limits.d/zz.conf".to_owned(), "64".to_owned())));
        assert_eq!((limit("ann memlock"), limit("* nofile")), (None, None));
    }
}
