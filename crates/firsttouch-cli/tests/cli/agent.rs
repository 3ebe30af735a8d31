//! Where the agent's file lies: out of the reach of everybody who could put another library in its place.
//!
//! What users do is tried by users without a name, in a mount namespace where /var/cache is empty: what root has put there
//! serves everybody.

use crate::{assert_said, copy_program, firsttouch, skipped, stderr, text_of};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const ANN: u32 = 12_345;
const BOB: u32 = 54_321;

/// Folders of several users', of which everybody may see who has what.
struct World(TempDir);

/// The build's own folder or, where somebody else could put another one in its place, one of root's.
fn place() -> &'static Path {
    let is_open = |folder: &Path| fs::metadata(folder).unwrap().mode() & 0o022 != 0;
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if own.ancestors().any(is_open) { Path::new("/var/lib") } else { own }
}

impl World {
    /// `None` where the test cannot run, which is said.
    fn new() -> Option<World> {
        let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
        let mut tools = ["unshare", "setpriv", "mount"].into_iter();
        let missing = tools.find(|tool| Command::new(tool).arg("--version").output().is_err());
        if let Some(why) = missing.or((!is_root).then_some("root")) {
            skipped(&format!("{why} is needed"));
            return None;
        }
        let empty =
            Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", "/var/cache"]).output();
        let empty = empty.unwrap();
        if !empty.status.success() {
            skipped(&format!("no mount namespace: {}", stderr(&empty)));
            return None;
        }
        let world = World(tempfile::tempdir_in(place()).unwrap());
        fs::set_permissions(world.0.path(), Permissions::from_mode(0o755)).unwrap();
        copy_program(Path::new(env!("CARGO_BIN_EXE_firsttouch")), &world.program(), "755");
        Some(world)
    }

    fn program(&self) -> PathBuf {
        self.0.path().join("program")
    }

    /// A folder of a user's, below those that are there.
    fn folder(&self, name: &str, user: u32, mode: u32) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir(&path).unwrap();
        chown(&path, Some(user), Some(user)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    /// A program placed by a user: it prints what was to be preloaded, and what was. Before it `first` is done, by root.
    fn run(&self, user: u32, first: &str, environment: &[(&str, &Path)]) -> Output {
        let mut command = Command::new("unshare");
        let line = format!("mount -t tmpfs -o mode=755 none /var/cache && {first} && exec setpriv \"$@\"");
        command.args(["--mount", "sh", "-c", &line, "sh"]);
        command.arg(format!("--reuid={user}")).arg(format!("--regid={user}")).args(["--clear-groups", "--"]);
        command.arg(self.program()).args(["run", "--pages", "thp", "--", "sh", "-c", PRINTS]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.envs(environment.iter().copied()).output().unwrap()
    }
}

/// `maps` last: where it has no such line, nothing was preloaded.
const PRINTS: &str =
    "echo \"$LD_PRELOAD\"; grep -o '/.*libfirsttouch_preload.*' /proc/self/maps /proc/$$/maps | sort -u";

/// What was to be preloaded; it was.
#[track_caller]
fn preloaded(output: &Output) -> PathBuf {
    let text = text_of(output);
    let (asked, maps) = text.split_once('\n').unwrap();
    assert!(!asked.is_empty() && maps.contains(asked), "{text}");
    PathBuf::from(asked)
}

#[track_caller]
fn assert_refused(output: &Output, why: &str) {
    assert_said(output, 125, &[why, "\n\nhint: "]);
}

/// After `su` without a dash, or `sudo -E`, they are those of the user who became root.
#[test]
fn roots_agent_is_in_the_systems_cache_whatever_the_environment_names() {
    let Some(world) = World::new() else { return };
    let home = world.folder("home", ANN, 0o755);
    let cache = world.folder("home/cache", ANN, 0o755);
    let output = world.run(0, "true", &[("XDG_CACHE_HOME", &cache), ("HOME", &home)]);
    let path = preloaded(&output);
    assert!(path.starts_with("/var/cache/firsttouch"), "{}", path.display());
    assert_eq!((fs::read_dir(&cache).unwrap().count(), fs::read_dir(&home).unwrap().count()), (0, 1));

    // A user who has no folder loads it, though root had a narrow umask.
    let roots = format!("(umask 077 && {} run -- true)", world.program().display());
    let output = world.run(ANN, &roots, &[]);
    assert_eq!(preloaded(&output), path);
    // It is not believed where others could have put it.
    for opened in
        ["chown 54321 /var/cache/firsttouch", "chmod go+w /var/cache/firsttouch/*", "chmod 1777 /var/cache"]
    {
        assert_refused(
            &world.run(ANN, &format!("{roots} && {opened}"), &[]),
            "there is no folder for the agent's file",
        );
    }
    // Root does not, either, and says which folder it is.
    let output =
        world.run(0, "mkdir /var/cache/firsttouch && chown 54321 /var/cache/firsttouch", &[("HOME", &home)]);
    assert_refused(&output, "/var/cache/firsttouch belongs to user 54321");
    assert!(stderr(&output).contains("hint: root's is /var/cache/firsttouch"), "{}", stderr(&output));
}

#[test]
fn who_owns_a_folder_above_could_replace_it() {
    let Some(world) = World::new() else { return };
    let bobs = world.folder("bobs", BOB, 0o755);
    let anns = world.folder("bobs/anns", ANN, 0o755);
    let output = world.run(ANN, "true", &[("XDG_CACHE_HOME", &anns)]);
    assert_refused(&output, &format!("{} belongs to user {BOB}", bobs.display()));
    let open = world.folder("open", 0, 0o777);
    let inside = world.folder("open/anns", ANN, 0o755);
    let output = world.run(ANN, "true", &[("XDG_CACHE_HOME", &inside)]);
    assert_refused(&output, &format!("others can write to {}", open.display()));
    assert_eq!(fs::read_dir(&anns).unwrap().count() + fs::read_dir(&inside).unwrap().count(), 0);
    // The home is taken where the first is refused.
    let home = world.folder("home", ANN, 0o700);
    let output = world.run(ANN, "true", &[("XDG_CACHE_HOME", &anns), ("HOME", &home)]);
    assert!(preloaded(&output).starts_with(home.join(".cache/firsttouch")));
}

/// Its sticky bit keeps others from what is there, and not from what was there until somebody cleared old files away.
#[test]
fn the_folder_of_temporary_files_is_nobodys() {
    let Some(world) = World::new() else { return };
    let temporary = world.folder("tmp", 0, 0o1777);
    let anns = world.folder("tmp/anns", ANN, 0o755);
    let output = world.run(ANN, "true", &[("XDG_CACHE_HOME", &anns), ("TMPDIR", &temporary)]);
    assert_refused(&output, &format!("{} is everybody's", temporary.display()));
    // Nor is there one where nothing is said of a folder, though /tmp is there to be written to.
    let stranger = 2_000_000 + std::process::id();
    let output = world.run(stranger, "mount -t tmpfs -o mode=1777 none /tmp", &[]);
    assert_refused(&output, "there is no folder for the agent's file");
    assert!(stderr(&output).contains("sudo firsttouch run -- true"), "{}", stderr(&output));
}

#[test]
fn links_are_followed_before_anything_is_believed() {
    let Some(world) = World::new() else { return };
    let (bobs, anns) = (world.folder("bobs", BOB, 0o755), world.folder("anns", ANN, 0o755));
    let real = world.folder("anns/cache", ANN, 0o755);
    let link = world.0.path().join("link");
    symlink(&real, &link).unwrap();
    let output = world.run(ANN, "true", &[("XDG_CACHE_HOME", &link)]);
    let path = preloaded(&output);
    // What is preloaded has no link in it that anybody could turn.
    assert!(path.starts_with(real.join("firsttouch")), "{}", path.display());
    // A link into somebody's folder; and one in somebody's folder, which leads to where it is safe, and only this once.
    symlink(&bobs, anns.join("away")).unwrap();
    let output = world.run(ANN, "true", &[("XDG_CACHE_HOME", &anns.join("away"))]);
    assert_refused(&output, &format!("{} belongs to user {BOB}", bobs.display()));
    symlink(&real, bobs.join("to-ann")).unwrap();
    let output = world.run(ANN, "true", &[("XDG_CACHE_HOME", &bobs.join("to-ann"))]);
    assert_eq!(preloaded(&output), path);
}

/// Where it lies on this machine, without any namespace.
#[test]
fn the_file_of_this_machine_can_be_read_by_all() {
    let output = firsttouch().args(["run", "--", "sh", "-c", PRINTS]).output().unwrap();
    let path = preloaded(&output);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
    for folder in path.ancestors().skip(1) {
        assert_eq!(fs::symlink_metadata(folder).unwrap().mode() & 0o002, 0, "{}", folder.display());
    }
}
