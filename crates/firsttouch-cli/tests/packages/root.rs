//! A system of its own below a folder: copies of packages that are installed here, with all that they depend on, and nothing else.

use crate::said;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where dpkg keeps what it knows.
const KNOWN: &str = "var/lib/dpkg";

pub(crate) struct Root {
    folder: tempfile::TempDir,
}

impl Root {
    /// A root with these packages; or why there is none.
    pub(crate) fn new(wanted: &[&str]) -> Result<Root, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("not root, who alone may change roots".to_owned());
        }
        if !Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success()) {
            return Err("no mount namespace".to_owned());
        }
        let packages = closure(wanted)?;
        let root = Root { folder: tempfile::tempdir().unwrap() };
        let path = root.path();
        // As on every Debian of today, whose packages do not bring these links.
        for name in ["bin", "sbin", "lib", "lib64"] {
            fs::create_dir_all(path.join("usr").join(name)).unwrap();
            std::os::unix::fs::symlink(format!("usr/{name}"), path.join(name)).unwrap();
        }
        for name in ["dev", "proc", "sys", "tmp", "root", "etc", "var/log"] {
            fs::create_dir_all(path.join(name)).unwrap();
        }
        fs::write(
            path.join("etc/passwd"),
            "root:x:0:0::/root:/bin/sh\nman:x:6:12::/var/cache/man:/bin/false\n",
        )
        .unwrap();
        fs::write(path.join("etc/group"), "root:x:0:\nman:x:12:\n").unwrap();
        root.copy_files(&packages);
        root.copy_knowledge(&packages);
        root.run("ldconfig");
        Ok(root)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What a line of the shell says that is run inside.
    pub(crate) fn run(&self, line: &str) -> String {
        // The mounts are this process's own, and end with it.
        let enter = r#"cd "$1" && for at in dev proc sys; do mount --rbind /$at $at || exit; done && exec chroot . /bin/sh -ec "$2""#;
        let mut inside = Command::new("unshare");
        inside.args(["--mount", "--fork", "sh", "-c", enter, "sh"]).arg(self.path()).arg(line);
        inside.env_clear().envs([
            ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
            ("HOME", "/root"),
            ("LC_ALL", "C.UTF-8"),
            ("DEBIAN_FRONTEND", "noninteractive"),
        ]);
        said(&mut inside)
    }

    /// Every file that is there, with what it is like; but for what dpkg and the linker note about what they did.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let entry = entry.unwrap();
                let (path, about) = (entry.path(), entry.metadata().unwrap());
                let name = path.strip_prefix(self.path()).unwrap().to_str().unwrap().to_owned();
                let is_note =
                    [KNOWN, "var/log/", "var/cache/ldconfig/", "etc/ld.so.cache", "dev/", "proc/", "sys/"]
                        .iter()
                        .any(|note| name.starts_with(note));
                if is_note {
                    continue;
                }
                if about.is_dir() {
                    files.insert(format!("{name}/ {:o}", about.mode()));
                    folders.push(path);
                } else {
                    files.insert(format!("{name} {:o} {} {}", about.mode(), about.len(), about.mtime()));
                }
            }
        }
        files
    }

    /// The files that dpkg has about packages of a name.
    pub(crate) fn known_of(&self, package: &str) -> Vec<String> {
        let names = fs::read_dir(self.path().join(KNOWN).join("info")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(package)).collect()
    }

    fn copy_files(&self, packages: &BTreeSet<String>) {
        let listed = said(Command::new("dpkg-query").arg("-L").args(packages));
        // Paths of files that came another way now, or were left out when this system was made, are passed over.
        let files: BTreeSet<&str> = listed
            .lines()
            .filter(|line| line.starts_with('/') && fs::symlink_metadata(line).is_ok())
            .filter(|line| !["/.", "/bin", "/sbin", "/lib", "/lib64"].contains(line))
            .collect();
        let files = files.into_iter().fold(String::new(), |all, file| all + file + "\n");
        let list = self.path().join("tmp/files");
        fs::write(&list, files).unwrap();
        let mut pack = Command::new("tar");
        pack.args(["--create", "--no-recursion", "--absolute-names", "--files-from"]).arg(&list);
        let mut packing = pack.stdout(Stdio::piped()).spawn().unwrap();
        let mut unpack = Command::new("tar");
        unpack.args(["--extract", "--keep-directory-symlink", "--directory"]).arg(self.path());
        said(unpack.stdin(packing.stdout.take().unwrap()));
        // 1: a folder such as /tmp was written to meanwhile, whose own entry is all that is packed of it.
        assert!(matches!(packing.wait().unwrap().code(), Some(0 | 1)));
        fs::remove_file(list).unwrap();
    }

    fn copy_knowledge(&self, packages: &BTreeSet<String>) {
        let known = self.path().join(KNOWN);
        for folder in ["info", "updates", "triggers", "parts"] {
            fs::create_dir_all(known.join(folder)).unwrap();
        }
        let mut status = fs::File::create(known.join("status")).unwrap();
        for package in packages {
            writeln!(status, "{}", said(Command::new("dpkg-query").arg("-s").arg(package))).unwrap();
        }
        for entry in fs::read_dir(Path::new("/").join(KNOWN).join("info")).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            if stem == "format" || packages.contains(stem) {
                fs::copy(&path, known.join("info").join(path.file_name().unwrap())).unwrap();
            }
        }
        // Whom a new library is told to.
        fs::write(known.join("triggers/ldconfig"), "libc-bin\n").unwrap();
    }
}

/// The packages, with all that they depend on, as dpkg calls them.
fn closure(wanted: &[&str]) -> Result<BTreeSet<String>, String> {
    let format =
        "${Package}\t${binary:Package}\t${db:Status-Abbrev}\t${Provides}\t${Pre-Depends}, ${Depends}\n";
    let query = Command::new("dpkg-query").args(["-W", "-f", format]).output();
    let Ok(query) = query else { return Err("there is no command `dpkg-query`".to_owned()) };
    let listed = String::from_utf8(query.stdout).unwrap();
    // By each name under which something is to be had, its own before those that it provides.
    let mut by_name = BTreeMap::new();
    let mut provided = Vec::new();
    for line in listed.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[name, full, status, provides, depends] = fields.as_slice() else { continue };
        if !status.starts_with("ii") {
            continue;
        }
        by_name.insert(name, (full, depends));
        provided.extend(names(provides).map(|name| (name, (full, depends))));
    }
    for (name, package) in provided {
        by_name.entry(name).or_insert(package);
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = wanted.to_vec();
    while let Some(group) = open.pop() {
        let mut alternatives = group.split('|').flat_map(names);
        let package = alternatives.find_map(|name| by_name.get(name));
        let &(full, depends) =
            package.ok_or_else(|| format!("the package {} is not installed", group.trim()))?;
        if found.insert(full.to_owned()) {
            open.extend(depends.split(',').filter(|group| !group.trim().is_empty()));
        }
    }
    Ok(found)
}

/// The names in a list of packages, without versions and architectures.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .filter_map(|part| part.trim().split([' ', ':', '(']).next())
        .filter(|name| !name.is_empty())
}
