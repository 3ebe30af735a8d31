//! Batch systems, MPI, and programs that start the program: who bound what before us, and who will after us.

use crate::{Evidence, Finding, Weight};
use firsttouch_process::Rank;

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    slurm(evidence, findings);
    ranks(evidence, findings);
    starters(evidence, findings);
}

/// A step of Slurm that binds: the masks are in force when we start.
fn slurm(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let settings = [
        ("slurm-cpu-bind", "SLURM_CPU_BIND", "--cpu-bind=none", evidence.asks_cpus(), "CPUs"),
        ("slurm-mem-bind", "SLURM_MEM_BIND", "--mem-bind=none", evidence.asks_memory(), "memory"),
    ];
    for (id, name, option, asked, what) in settings {
        let Some(value) = evidence.variable(name) else { continue };
        if value.split(',').any(|word| word == "none" || word == "no") {
            continue;
        }
        let (weight, effect) = if asked {
            (
                Weight::Weakens,
                format!("each task starts bound by srun; a placement can choose among these {what} only"),
            )
        } else {
            (Weight::Remark, format!("the program inherits srun's binding of {what}"))
        };
        findings.push(
            Finding::new(id, weight, format!("srun binds the {what} of this step"), effect)
                .proof("environment", format!("{name}={value}"))
                .remedy(format!("srun {option} firsttouch run …")),
        );
    }
}

/// Variables with which an MPI library binds its ranks, and values that mean "do not".
const RANK_BINDING: [(&str, &[&str]); 7] = [
    ("OMPI_MCA_hwloc_base_binding_policy", &["none"]),
    ("OMPI_MCA_rmaps_base_mapping_policy", &[]),
    ("PRTE_MCA_hwloc_default_binding_policy", &["none"]),
    ("PRTE_MCA_rmaps_default_mapping_policy", &[]),
    ("I_MPI_PIN", &["0", "no", "off", "false", "disable"]),
    ("MV2_ENABLE_AFFINITY", &["0"]),
    ("HYDRA_BINDING", &["none"]),
];

fn ranks(evidence: &Evidence, findings: &mut Vec<Finding>) {
    // Ranks that have few CPUs each were bound apart, most likely, and keep what is asked for within those.
    let told = Rank::of(&evidence.environment)
        .filter(|told| told.must_share(evidence.allowed_cpus().len(), evidence.online_cpus().len()));
    if let Some((Rank { unbound, local_size: Some(ranks), .. }, (name, value))) =
        told.as_ref().and_then(|told| Some((told, told.count.as_ref()?)))
        && evidence.asks_cpus()
    {
        let (weight, effect, option) = if evidence.asks_threads() {
            (
                Weight::Overrides,
                "every rank puts its first thread on the same CPU: they take turns on a few CPUs, the others are idle",
                "--threads",
            )
        } else {
            (Weight::Weakens, "all ranks share the CPUs that were asked for, the others are idle", "--cpus")
        };
        let what = format!("{ranks} ranks run on this machine, each with the same placement");
        findings.push(
            Finding::new("mpi-ranks", weight, what, effect)
                .proof("environment", format!("{name}={value}"))
                .remedy(format!(
                    "{unbound} firsttouch run --ranks auto …, or let the launcher bind ranks and leave {option} out"
                )),
        );
    }
    for (name, off) in RANK_BINDING {
        let Some(value) =
            evidence.variable(name).filter(|value| !off.contains(&value.to_lowercase().as_str()))
        else {
            continue;
        };
        let (weight, effect) = if evidence.asks_cpus() {
            (Weight::Weakens, "ranks are bound by MPI before or after us; the later one wins")
        } else {
            (Weight::Remark, "ranks are bound by MPI")
        };
        findings.push(
            Finding::new("mpi-binding", weight, format!("{name} makes MPI bind its ranks"), effect)
                .proof("environment", format!("{name}={value}"))
                .remedy(format!("unset {name}")),
        );
    }
}

/// What a program that starts others does to the placement of those.
enum Starter {
    /// Binds what it starts, after us.
    Binds,
    /// Hands the work to a service: what runs is no child of ours.
    Elsewhere,
    /// Cleans the environment, and with it the agent.
    Cleans,
}

/// Launchers of ranks, which bind them, and start them on other machines, too.
const RANK_LAUNCHERS: [&str; 9] =
    ["srun", "mpirun", "mpiexec", "orterun", "prterun", "prun", "aprun", "jsrun", "likwid-mpirun"];

/// Whether a program of this name starts ranks: `mpirun.openmpi` is one of those, too.
pub(super) fn launches_ranks(name: &str) -> bool {
    RANK_LAUNCHERS.contains(&name.split('.').next().unwrap_or(name))
}

fn starter(name: &str) -> Option<Starter> {
    Some(match name {
        "numactl" | "taskset" | "hwloc-bind" | "likwid-pin" | "chrt" => Starter::Binds,
        name if launches_ranks(name) => Starter::Binds,
        "docker" | "podman" | "nerdctl" | "systemd-run" | "ssh" | "sbatch" | "kubectl" | "at" | "batch" => {
            Starter::Elsewhere
        }
        "sudo" | "su" | "doas" | "pkexec" | "runuser" => Starter::Cleans,
        _ => return None,
    })
}

fn starters(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let name = evidence.program.name();
    let Some(starter) = starter(name) else { return };
    let line = evidence.program.words.join(" ");
    let asked = evidence.asks_cpus() || evidence.asks_memory();
    let finding = match starter {
        Starter::Binds if !asked => Finding::new(
            "starter-binds",
            Weight::Remark,
            format!("{name} places what it starts"),
            "CPUs and nodes are as it says",
        ),
        Starter::Binds => Finding::new(
            "starter-binds",
            Weight::Overrides,
            format!("{name} places what it starts, after us"),
            "its policy and its mask replace ours",
        )
        .remedy(format!("put it outside: {name} … firsttouch run … -- PROGRAM, or leave it out")),
        Starter::Elsewhere => Finding::new(
            "starter-elsewhere",
            Weight::Overrides,
            format!("{name} lets a service start the program"),
            "the program is no child of ours: nothing of the placement reaches it",
        )
        .remedy(format!("put firsttouch inside: {name} … firsttouch run … -- PROGRAM")),
        Starter::Cleans => Finding::new(
            "starter-cleans",
            Weight::Overrides,
            format!("{name} starts the program as another user, with a clean environment"),
            "the agent does not get there; policy and CPUs are inherited",
        )
        .remedy(format!("put firsttouch inside: {name} firsttouch run … -- PROGRAM")),
    };
    findings.push(finding.proof("command line", line));
}
