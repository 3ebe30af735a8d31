//! Control groups that tests make.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";

/// A control group with one limit, which vanishes with this value.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    folder: PathBuf,
    /// The controller that had to be let into groups.
    let_in: Option<String>,
}

impl ControlGroup {
    /// `files` are the limit's in version 1 and 2; fails with why there can be no such group.
    pub(crate) fn with(controller: &str, files: [&str; 2], value: &str) -> Result<ControlGroup, String> {
        let name = format!("firsttouch-{controller}-{}", std::process::id());
        let root = Path::new(ROOT);
        // Beside hierarchies of version 1 the one of version 2 has the controllers that are left.
        let (first, second) = (root.join(controller), root.join("unified"));
        let tops = [(first, files[0]), (root.to_owned(), files[1]), (second, files[1])];
        // What hierarchies are mounted in is a folder like any other, and has no such file.
        let top = tops.into_iter().find(|(top, _)| top.join("cgroup.procs").exists());
        let no_groups =
            || format!("control groups of {controller} cannot be made here: {ROOT} cannot be written");
        let (top, file) = top.ok_or_else(no_groups)?;
        let folder = top.join(name);
        fs::create_dir(&folder).map_err(|_| no_groups())?;
        let mut group = ControlGroup { folder, let_in: None };
        let limit = group.folder.join(file);
        if !limit.exists() {
            // As root of the machine; else the limit cannot be written, which is said.
            let is_let_in = fs::write(top.join("cgroup.subtree_control"), format!("+{controller}")).is_ok();
            group.let_in = is_let_in.then(|| controller.to_owned());
        }
        if top.ends_with("cpuset") {
            // Version 1 lets nobody in before both are set.
            let nodes = fs::read(top.join("cpuset.mems")).unwrap();
            fs::write(group.folder.join("cpuset.mems"), nodes).unwrap();
        }
        fs::write(limit, value)
            .map_err(|_| format!("{controller} is not for groups here: {file} cannot be written"))?;
        Ok(group)
    }

    /// The shell command that moves the shell into the group.
    pub(crate) fn enter(&self) -> String {
        format!("echo $$ > {}", self.folder.join("cgroup.procs").display())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Who is in it still goes back to where all are.
        let members = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        for member in members.lines() {
            let _ = fs::write(self.folder.with_file_name("cgroup.procs"), member);
        }
        let _ = fs::remove_dir(&self.folder);
        if let (Some(controller), Some(top)) = (&self.let_in, self.folder.parent()) {
            let _ = fs::write(top.join("cgroup.subtree_control"), format!("-{controller}"));
        }
    }
}
