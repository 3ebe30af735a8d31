//! The kernel: Debian's own package, downloaded with Debian's own tools, unpacked into a folder, never installed.
//!
//! The download has lists and a configuration of its own, so the sources of this machine stay as they are, no rights are
//! needed, and `apt` checks the signatures.

use crate::LabError;
use crate::release::Release;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The package that always depends on the newest kernel of a suite. The kernel for clouds has what the lab needs built
/// in (disks, serial ports, memory that is plugged in, speed tables), and little else, so it starts fast.
const NEWEST: &str = "linux-image-cloud-amd64";
/// The driver that needs no other module, as older and newer packages name it.
const NETWORK_DRIVER: [&str; 2] = ["vmxnet3.ko", "vmxnet3.ko.xz"];
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A kernel to boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The compressed image, as boot loaders take it.
    pub image: PathBuf,
    /// Its version: that of the package, or the file's name.
    pub version: String,
    /// The driver of the emulated network card, a module; `None` where it is built in.
    pub network_driver: Option<PathBuf>,
}

impl Kernel {
    /// A kernel of one's own, which needs all that a machine has built in.
    pub fn from_file(image: &Path) -> Result<Kernel, LabError> {
        let shown = image.display();
        fs::File::open(image).map_err(LabError::io(format!("cannot read the kernel {shown}")))?;
        Ok(Kernel { image: image.to_owned(), version: shown.to_string(), network_driver: None })
    }
}

/// The folder of fetched kernels.
#[derive(Clone, Debug)]
pub struct KernelStore {
    folder: PathBuf,
}

impl KernelStore {
    /// Kernels in that folder, which need not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> KernelStore {
        KernelStore { folder: folder.into() }
    }

    /// A kernel that was fetched.
    pub fn find(&self, release: Release) -> Result<Kernel, LabError> {
        let folder = self.place(release);
        let version = fs::read_to_string(folder.join("version"));
        let image = folder.join("vmlinuz");
        match version {
            Ok(version) if image.is_file() => {
                let drivers = NETWORK_DRIVER.map(|name| folder.join(name));
                let network_driver = drivers.into_iter().find(|file| file.is_file());
                Ok(Kernel { image, version: version.trim().to_owned(), network_driver })
            }
            _ => Err(LabError::NoKernel { release, folder: self.folder.clone() }),
        }
    }

    fn place(&self, release: Release) -> PathBuf {
        self.folder.join(format!("linux-{release}"))
    }

    /// Downloads the newest package of a kernel (20 to 50 MB) and unpacks the image.
    pub fn fetch(&self, release: Release) -> Result<Kernel, LabError> {
        let failed = |what: String| LabError::Fetch { release, what };
        let made = |what: &str| LabError::io(format!("cannot make {what} in {}", self.folder.display()));
        if !Path::new(KEYS).is_file() {
            return Err(failed(format!("{KEYS} is not there (package debian-archive-keyring)")));
        }
        fs::create_dir_all(&self.folder).map_err(made("a folder"))?;
        remove_abandoned(&self.folder);
        let scratch =
            tempfile::Builder::new().prefix(FETCHING).tempdir_in(&self.folder).map_err(made("a folder"))?;
        let apt = Apt::new(scratch.path(), release).map_err(made("a configuration"))?;
        apt.run("apt-get", &["update"]).map_err(failed)?;
        let about = apt.run("apt-cache", &["show", "--no-all-versions", NEWEST]).map_err(failed)?;
        let (package, version) =
            dependency(&about).ok_or_else(|| failed(format!("{NEWEST} depends on no kernel")))?;
        apt.run("apt-get", &["download", &package]).map_err(failed)?;
        let unpacked = scratch.path().join("unpacked");
        unpack(scratch.path(), &unpacked).map_err(failed)?;
        let release_name = package.trim_start_matches("linux-image-");
        let place = scratch.path().join("place");
        fs::create_dir(&place).map_err(made("a folder"))?;
        fs::rename(unpacked.join(format!("boot/vmlinuz-{release_name}")), place.join("vmlinuz"))
            .map_err(|error| failed(format!("{package} holds no kernel: {error}")))?;
        for name in NETWORK_DRIVER {
            let module = format!("lib/modules/{release_name}/kernel/drivers/net/vmxnet3/{name}");
            // Under one name or the other; a kernel without it has no network card, which the guest will say.
            let _ = fs::rename(unpacked.join(module), place.join(name));
        }
        fs::write(place.join("version"), format!("{release_name} ({version})\n")).map_err(made("a file"))?;
        let target = self.place(release);
        // A guest that boots meanwhile has opened the old one.
        let _ = fs::remove_dir_all(&target);
        fs::rename(&place, &target).map_err(made("a folder"))?;
        self.find(release)
    }
}

/// Begins the folders that kernels are fetched into.
const FETCHING: &str = ".fetching-";

/// Removes what was left by fetches that were killed. Others may still run, on another machine with the same folder: none takes a day.
fn remove_abandoned(folder: &Path) {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let age =
            entry.metadata().and_then(|data| data.modified()).ok().and_then(|begun| begun.elapsed().ok());
        if entry.file_name().as_bytes().starts_with(FETCHING.as_bytes()) && age.is_some_and(|age| age > DAY) {
            // What cannot be removed only takes room.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// `apt` with everything of its own in one folder.
struct Apt {
    folder: PathBuf,
    options: Vec<String>,
}

impl Apt {
    fn new(folder: &Path, release: Release) -> std::io::Result<Apt> {
        for part in ["lists/partial", "archives/partial", "sources.list.d"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let source = release.source();
        let line = format!("deb [arch=amd64 signed-by={KEYS} lang=none target=Packages] {source} main\n");
        fs::write(folder.join("sources.list"), line)?;
        fs::write(folder.join("status"), "")?;
        let place = |name: &str| folder.join(name).display().to_string();
        let options = [
            format!("Dir::Etc::SourceList={}", place("sources.list")),
            format!("Dir::Etc::SourceParts={}", place("sources.list.d")),
            format!("Dir::State={}", folder.display()),
            format!("Dir::State::Lists={}", place("lists")),
            format!("Dir::State::Status={}", place("status")),
            format!("Dir::Cache={}", folder.display()),
            format!("Dir::Cache::Archives={}", place("archives")),
            "APT::Architecture=amd64".to_owned(),
            // The folder belongs to whoever calls, so `apt` cannot become its own user.
            "APT::Sandbox::User=".to_owned(),
        ];
        let options = options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect();
        Ok(Apt { folder: folder.to_owned(), options })
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(&self.options).args(words).current_dir(&self.folder).env("LC_ALL", "C");
        output(command)
    }
}

/// Runs a command; what it wrote on stderr is the error.
fn output(mut command: Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name} failed\n{}", said.trim_end()))
}

/// The kernel's package and its version, from what `apt-cache show` says of the package that depends on it.
fn dependency(about: &str) -> Option<(String, String)> {
    let depends = about.lines().find_map(|line| line.strip_prefix("Depends:"))?;
    let first = depends.split(',').next()?;
    let (package, version) = first.trim().split_once(" (= ")?;
    package
        .starts_with("linux-image-")
        .then(|| (package.to_owned(), version.trim_end_matches(')').to_owned()))
}

fn unpack(folder: &Path, target: &Path) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let package = entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "deb"));
    let package = package.ok_or("apt-get downloaded no package")?;
    let mut command = Command::new("dpkg-deb");
    command.arg("--extract").arg(package).arg(target);
    output(command).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_found_behind_its_name() {
        let about = "Package: linux-image-cloud-amd64\nVersion: 6.1.1-1\nDepends: linux-image-6.1.0-9-cloud-amd64 (= 6.1.1-1)\n";
        let found = dependency(about).unwrap();
        assert_eq!(found, ("linux-image-6.1.0-9-cloud-amd64".to_owned(), "6.1.1-1".to_owned()));
        assert_eq!(dependency("Depends: libc6 (>= 2)\n"), None);
        assert_eq!(dependency(""), None);
    }

    #[test]
    fn what_a_killed_fetch_left_is_removed() {
        let store = tempfile::tempdir().unwrap();
        let [abandoned, running, kernel] =
            [".fetching-a", ".fetching-b", "linux-6.1"].map(|name| store.path().join(name));
        for folder in [&abandoned, &running, &kernel] {
            fs::create_dir(folder).unwrap();
        }
        for old in [&abandoned, &kernel] {
            fs::File::open(old).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        remove_abandoned(store.path());
        assert!(!abandoned.exists() && running.exists() && kernel.exists());
    }

    #[test]
    fn a_kernel_that_is_not_there_says_how_to_get_it() {
        let scratch = tempfile::tempdir().unwrap();
        let error = KernelStore::at(scratch.path()).find(Release::V6_12).unwrap_err();
        assert!(error.to_string().contains("6.12"), "{error}");
        assert_eq!(error.hint().unwrap(), "firsttouch lab --fetch --kernel 6.12");
    }
}
