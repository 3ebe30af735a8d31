//! Ranks of a job: real launchers start real ranks in the guest, and each says which CPUs it has and where its pages lie; receipts say
//! the same.

use crate::bench::{RECEIPT, Setting, Test, compiled, words_of};
use crate::command_line::Single;
use crate::counts::Counts;
use crate::placed::receipt;
use crate::runner::Skip;
use firsttouch_lab::{Collected, Command, Ending};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Pages of a MiB.
const MIB: u64 = 256;

/// A launcher of this machine, with what it starts besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Launcher {
    Mpich,
    OpenMpi,
}

impl Launcher {
    fn file(self) -> &'static str {
        match self {
            Launcher::Mpich => "/usr/bin/mpirun.mpich",
            Launcher::OpenMpi => "/usr/bin/mpirun.openmpi",
        }
    }

    fn is_there(self) -> bool {
        Path::new(self.file()).exists()
    }

    /// Files that the guest needs and nobody names.
    fn needs(self) -> Vec<PathBuf> {
        match self {
            Launcher::Mpich => vec!["/usr/bin/hydra_pmi_proxy".into()],
            Launcher::OpenMpi => {
                let libraries = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
                let folders = ["openmpi/lib/openmpi3", "pmix2/lib/pmix"]
                    .map(|folder| Path::new(&libraries).join(folder));
                let files = folders
                    .iter()
                    .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
                // What messages of MPI are carried by starts no ranks.
                let of_messages = |file: &PathBuf| {
                    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                    MESSAGES.iter().any(|kind| name.starts_with(&format!("mca_{kind}_")))
                };
                files.map(|entry| entry.path()).filter(|file| !of_messages(file)).collect()
            }
        }
    }

    /// Its words for ranks that it does not bind; in the guest no other machine can be reached.
    fn words(self, ranks: u32) -> String {
        match self {
            Launcher::Mpich => format!("{} -n {ranks}", self.file()),
            Launcher::OpenMpi => format!(
                "{} --allow-run-as-root --mca plm_rsh_agent /bin/sh --oversubscribe --bind-to none -n {ranks}",
                self.file()
            ),
        }
    }
}

const MESSAGES: [&str; 24] = [
    "allocator",
    "atomic",
    "bml",
    "btl",
    "coll",
    "common",
    "crs",
    "fbtl",
    "fcoll",
    "fs",
    "io",
    "memheap",
    "mpool",
    "mtl",
    "op",
    "osc",
    "pml",
    "rcache",
    "scoll",
    "sharedfp",
    "spml",
    "sshmem",
    "topo",
    "vprotocol",
];

/// Where they are missing their tests are skipped, and nobody else's.
pub(crate) fn missing() -> Vec<Single> {
    let mpich: Single =
        ("ranks of MPICH", || Err(Skip("there is no mpirun.mpich (Debian's mpich)".to_owned())));
    let open: Single =
        ("ranks of Open MPI", || Err(Skip("there is no mpirun.openmpi (Debian's openmpi-bin)".to_owned())));
    [(Launcher::Mpich, mpich), (Launcher::OpenMpi, open)]
        .into_iter()
        .filter(|(launcher, _)| !launcher.is_there())
        .map(|(_, single)| single)
        .collect()
}

pub(crate) fn tests() -> Vec<Test> {
    use Launcher::{Mpich, OpenMpi};
    let tests = [
        (Mpich, apart(Mpich, "two-node", 4, "", |rank| (vec![rank], rank / 2))),
        (Mpich, apart(Mpich, "two-node", 2, "--threads cores=2x1", |rank| (vec![2 * rank], rank))),
        (OpenMpi, apart(OpenMpi, "two-node", 4, "--memory prefer=1", |rank| (vec![rank], 1))),
        (Mpich, apart(Mpich, "knl-flat", 4, "--memory prefer=hbm", |rank| (vec![rank], 1))),
        (OpenMpi, apart(OpenMpi, "knl-flat", 4, "", |rank| (vec![rank], 0))),
        (Mpich, apart(Mpich, "istanbul", 8, "", |rank| ((3 * rank..3 * rank + 3).collect(), rank / 2))),
        (OpenMpi, apart(OpenMpi, "istanbul", 8, "", |rank| ((3 * rank..3 * rank + 3).collect(), rank / 2))),
        // Both at the card; or each at one of the devices that are next to some of its CPUs.
        (Mpich, apart(Mpich, "devices", 2, "--near eth0", |rank| (vec![2 + rank], 1))),
        (
            Mpich,
            apart(Mpich, "devices", 2, "--near eth0,nvme0n1,nvme1n1", |rank| {
                (vec![2 * rank, 2 * rank + 1], rank)
            }),
        ),
        (Mpich, refused(Mpich, "two-node")),
        (OpenMpi, refused(OpenMpi, "knl-flat")),
        (Mpich, received()),
    ];
    tests.into_iter().filter(|(launcher, _)| launcher.is_there()).map(|(_, test)| test).collect()
}

/// So many ranks of `firsttouch run` on the program that tells what it has. Launchers talk to their helpers over the network, and the
/// guest has its own address only.
fn ranks(launcher: Launcher, ranks: u32, options: &str, arguments: &str) -> Command {
    let mut words = words_of("loopback", "");
    words.extend(launcher.needs().into_iter().map(PathBuf::into_os_string));
    let ours = format!("-- {} firsttouch run --pages plain --ranks auto {options} --", launcher.words(ranks));
    words.extend(ours.split_whitespace().map(OsString::from));
    words.push(compiled("rank").into_os_string());
    words.extend(arguments.split_whitespace().map(OsString::from));
    Command::new(words)
}

/// What each rank said: its CPUs, and its pages by node.
pub(crate) fn said(one: &Collected) -> BTreeMap<u32, (Vec<u32>, Counts)> {
    let rank = |line: &str| {
        let (rank, rest) = line.strip_prefix("rank ")?.split_once(" cpus ")?;
        let (cpus, pages) = rest.split_once(" pages")?;
        let count = |pair: &str| {
            let (node, count) = pair.split_once(':')?;
            Some((node.parse().ok()?, count.parse().ok()?))
        };
        let cpus = firsttouch_linux::cpulist::parse_list(cpus)?;
        Some((rank.parse().ok()?, (cpus, pages.split_whitespace().map(count).collect::<Option<Counts>>()?)))
    };
    one.stdout.lines().map(|line| rank(line).unwrap_or_else(|| panic!("{line} in {one:?}"))).collect()
}

/// Each of so many ranks has the CPUs (of a bound thread, its own), and its pages on the node, that `wanted` says of its number.
fn apart(
    launcher: Launcher,
    machine: &'static str,
    count: u32,
    options: &'static str,
    wanted: fn(u32) -> (Vec<u32>, u32),
) -> Test {
    let name = format!("{count} ranks of {launcher:?} are apart, run --ranks auto {options} ({machine})");
    Test::new(name, Setting::of(machine), vec![ranks(launcher, count, options, "4")], move |_, ran| {
        assert_eq!(ran[0].finished.ending, Ending::Exited(0));
        let told = said(&ran[0]);
        assert_eq!(told.len() as u32, count, "{told:?}");
        for (rank, (cpus, pages)) in told {
            let (own, node) = wanted(rank);
            assert_eq!((cpus, pages), (own, Counts::from([(node, 4 * MIB)])), "rank {rank}");
        }
    })
}

fn refused(launcher: Launcher, machine: &'static str) -> Test {
    let name = format!("8 ranks of {launcher:?} on 4 CPUs are refused ({machine})");
    Test::new(name, Setting::of(machine), vec![ranks(launcher, 8, "", "4")], |_, ran| {
        assert_eq!(ran[0].finished.ending, Ending::Exited(125));
        assert!(ran[0].stdout.is_empty(), "a rank was started");
        assert!(ran[0].stderr.contains("8 ranks have 4 CPUs among them"));
        assert!(ran[0].stderr.contains("srun --ntasks-per-node=4"));
    })
}

/// The receipts of all ranks: CPUs and nodes of each, and one of them killed by itself.
fn received() -> Test {
    // A launcher kills the others where one dies: it waits until they have ended.
    let others = [0, 1, 2].map(|rank| format!("{RECEIPT}.ranks/rank-{rank}.json")).join(" ");
    let run = ranks(Launcher::Mpich, 4, &format!("--receipt {RECEIPT}"), &format!("32 die 3 {others}"))
        .copy_out(RECEIPT);
    Test::new("receipts of all ranks, one of which dies", Setting::of("two-node"), vec![run], |_, ran| {
        let job = receipt(&ran[0]);
        assert_eq!(
            (&job["kind"], &job["size"], &job["launcher"]),
            (&"job".into(), &4.into(), &"MPICH".into()),
            "{job}"
        );
        let told = job["ranks"].as_array().expect("ranks");
        for (number, rank) in (0_u64..).zip(told) {
            let receipt = &rank["receipt"];
            assert_eq!(
                (&rank["rank"], &receipt["asked"]["memory"]),
                (&number.into(), &format!("prefer={}", number / 2).into()),
                "{rank}"
            );
            assert_eq!(receipt["cpus_obtained"], serde_json::json!([number]), "{rank}");
            let ending = if number == 3 { "killed by signal 9" } else { "exit status 0" };
            assert_eq!(receipt["ending"], ending, "{rank}");
        }
        assert_eq!((told.len(), &job["missing"]), (4, &serde_json::json!([])), "{job}");
        let differs = job["differs"].to_string();
        assert!(differs.contains("rank 3: killed by signal 9, most others: exit status 0"), "{differs}");
    })
}
