//! What a command leaves that was killed: a folder, until the next one starts, and the program, which goes on.

use crate::{assert_code, firsttouch};
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A command whose program says that it runs, and waits for leave to end.
struct Waiting {
    command: Child,
    /// The number of the program's process.
    program: String,
    leave: PathBuf,
}

impl Waiting {
    fn start(scratch: &Path, name: &str, words: &[&str]) -> Waiting {
        let fifo = |what: &str| {
            let path = scratch.join(format!("{name}-{what}"));
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            path
        };
        let (started, leave) = (fifo("started"), fifo("leave"));
        let script = format!("echo $$ > {}; read x < {}", started.display(), leave.display());
        let command = firsttouch()
            .env("TMPDIR", scratch.join("tmp"))
            .args(words)
            .args(["--", "sh", "-c", &script])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut program = String::new();
        File::open(&started).unwrap().read_to_string(&mut program).unwrap();
        Waiting { command, program: program.trim().to_owned(), leave }
    }

    fn kill(&mut self) {
        self.command.kill().unwrap();
        self.command.wait().unwrap();
    }

    fn program_lives(&self) -> bool {
        Path::new("/proc").join(&self.program).exists()
    }

    /// Lets the program end, which nobody waits for any more.
    fn release(self) {
        fs::write(&self.leave, "\n").unwrap();
    }
}

/// The folders of temporary things that this command left, by its number.
fn left(place: &Path, owner: &Waiting) -> Vec<PathBuf> {
    let prefix = format!("firsttouch-{}-", owner.command.id());
    let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap());
    entries
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect()
}

#[test]
fn what_a_killed_command_left_goes_when_the_next_one_starts() {
    let scratch = tempfile::tempdir().unwrap();
    let place = scratch.path().join("tmp");
    fs::create_dir(&place).unwrap();
    let receipt = scratch.path().join("receipt.json");
    let receipt = receipt.to_str().unwrap();

    // What is not ours, or not certainly.
    let foreign = ["firsttouch-backup", "firsttouch-1-readablebyall", "other"].map(|name| place.join(name));
    for path in &foreign {
        fs::create_dir(path).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
        fs::write(path.join("kept"), "").unwrap();
    }
    let readable = place.join("firsttouch-1-readable0all");
    fs::rename(&foreign[1], &readable).unwrap();
    fs::set_permissions(&readable, Permissions::from_mode(0o755)).unwrap();
    let link = place.join("firsttouch-1-linklinklink");
    symlink(&foreign[2], &link).unwrap();

    let tune = ["tune", "--configs", "thp", "--no-warm", "--quick"];
    let mut tune = Waiting::start(scratch.path(), "tune", &tune);
    // That of the session, and that of the records.
    assert_eq!(left(&place, &tune).len(), 2);
    tune.kill();
    assert_eq!(left(&place, &tune).len(), 2, "nobody was there to remove them");
    assert!(tune.program_lives(), "the program goes on");

    let mut run = Waiting::start(scratch.path(), "run", &["run", "--receipt", receipt]);
    assert!(left(&place, &tune).is_empty());
    assert_eq!(left(&place, &run).len(), 1);
    // A command that ends by itself leaves nothing, and nothing of a living one goes.
    let another = || {
        let output = firsttouch()
            .env("TMPDIR", &place)
            .args(["run", "--receipt", receipt, "--", "true"])
            .output()
            .unwrap();
        assert_code(&output, 0);
    };
    another();
    assert_eq!(left(&place, &run).len(), 1);
    run.kill();
    assert_eq!(left(&place, &run).len(), 1);
    another();
    assert!(left(&place, &run).is_empty());

    for path in [&foreign[0], &readable, &foreign[2]] {
        assert!(path.join("kept").exists(), "{}", path.display());
    }
    assert!(link.is_symlink());
    assert_eq!(fs::read_dir(&place).unwrap().count(), 4, "those, and no others");
    // The program whose folder is gone ends as any other.
    assert!(tune.program_lives());
    tune.release();
    run.release();
}

/// A file that takes the place of another when it is whole has no name before: there is nothing to be left.
#[test]
fn a_graph_that_is_killed_while_it_is_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = firsttouch();
    command
        .args(["graph", "generate", "streets", "18", "--num-threads", "1"])
        .arg(folder.path().join("s.gr"));
    let mut writing = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let files = PathBuf::from(format!("/proc/{}/fd", writing.id()));
    let is_begun = || {
        let open = fs::read_dir(&files).unwrap().flatten();
        open.flat_map(|file| fs::read_link(file.path())).any(|file| file.starts_with(folder.path()))
    };
    while !is_begun() {
        assert!(writing.try_wait().unwrap().is_none(), "it was done before it could be killed");
        std::thread::yield_now();
    }
    writing.kill().unwrap();
    writing.wait().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
