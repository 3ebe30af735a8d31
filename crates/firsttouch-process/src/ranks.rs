//! What a launcher tells each process of a job: which of them it is, of how many, and which of those on this machine.
//!
//! One table of the variables that Open MPI, MPICH, Intel MPI, MVAPICH, PRRTE, PALS, Flux, Slurm and torchrun set, and of those
//! by which workers of Dask and Ray are known, which have no numbers. Sources: `mpirun(1)` of Open MPI, the documents of
//! MPICH's Hydra and of Intel MPI, MVAPICH2's user guide, `srun(1)`, torchrun's documentation, `flux-run(1)`, `mpiexec(1)` of PALS;
//! and what real ones set.

use crate::Environment;

/// The names of the variables of one launcher; empty where it has none.
struct Launcher {
    name: &'static str,
    /// Rank, size, local rank and local size.
    variables: [&'static str; 4],
    /// A variable, or with `*` at its end the beginning of one, that tells it from others that set the same.
    needs: &'static str,
    /// Variables that together say which job, or step of one, it is.
    job: &'static [&'static str],
    unbound: &'static str,
}

/// The innermost comes first: `mpirun` in an allocation of Slurm starts more than Slurm knows, torchrun may be a rank itself.
const LAUNCHERS: [Launcher; 14] = [
    Launcher {
        name: "torchrun",
        variables: ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"],
        needs: "LOCAL_WORLD_SIZE",
        job: &["MASTER_ADDR", "MASTER_PORT"],
        unbound: "torchrun --no-python",
    },
    Launcher {
        name: "Open MPI",
        variables: [
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
            "OMPI_COMM_WORLD_LOCAL_SIZE",
        ],
        needs: "",
        job: &["PMIX_NAMESPACE"],
        unbound: "mpirun --bind-to none",
    },
    Launcher {
        name: "MVAPICH",
        variables: [
            "MV2_COMM_WORLD_RANK",
            "MV2_COMM_WORLD_SIZE",
            "MV2_COMM_WORLD_LOCAL_RANK",
            "MV2_COMM_WORLD_LOCAL_SIZE",
        ],
        needs: "",
        job: &["MPIRUN_ID"],
        unbound: "MV2_ENABLE_AFFINITY=0 mpirun",
    },
    Launcher {
        name: "Intel MPI",
        variables: HYDRA,
        needs: "I_MPI_*",
        job: &[],
        unbound: "I_MPI_PIN=off mpirun",
    },
    Launcher {
        name: "MPICH",
        variables: HYDRA,
        needs: "MPI_LOCALRANKID",
        job: &[],
        unbound: "mpiexec -bind-to none",
    },
    Launcher {
        name: "PALS",
        variables: ["PALS_RANKID", "", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"],
        needs: "",
        job: &["PALS_APID"],
        unbound: "mpiexec --cpu-bind none",
    },
    Launcher {
        name: "Flux",
        variables: ["FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", ""],
        needs: "",
        job: &["FLUX_JOB_ID"],
        unbound: "flux run -o cpu-affinity=off",
    },
    Launcher {
        name: "Slurm",
        variables: ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"],
        needs: "SLURM_STEP_ID",
        job: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
        unbound: "srun --cpu-bind=none",
    },
    Launcher {
        name: "PMI",
        variables: ["PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"],
        needs: "",
        job: &["PMI_JOBID"],
        unbound: "mpiexec -bind-to none",
    },
    // A batch script is told that it is the first of all tasks, and is none of them.
    Launcher {
        name: "Slurm",
        variables: ["SLURM_PROCID", "SLURM_NTASKS", "", ""],
        needs: "",
        job: &["SLURM_JOB_ID"],
        unbound: "srun --cpu-bind=none",
    },
    // The server knows how many there are, and sets no variable for it.
    Launcher {
        name: "PMIx",
        variables: ["PMIX_RANK", "SLURM_NTASKS", "", ""],
        needs: "",
        job: &["PMIX_NAMESPACE"],
        unbound: "prterun --bind-to none",
    },
    Launcher {
        name: "Dask",
        variables: ["", "", "", ""],
        needs: "DASK_INTERNAL_INHERIT_CONFIG",
        job: &[],
        unbound: "dask worker",
    },
    Launcher {
        name: "Ray",
        variables: ["", "", "", ""],
        needs: "RAY_RAYLET_PID",
        job: &["RAY_JOB_ID"],
        unbound: "ray start",
    },
    Launcher {
        name: "Ray",
        variables: ["", "", "", ""],
        needs: "RAY_JOB_ID",
        job: &["RAY_JOB_ID"],
        unbound: "ray start",
    },
];

const HYDRA: [&str; 4] = ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"];

/// What the launcher says of this process; `None` where it says nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The launcher, in words.
    pub launcher: &'static str,
    /// Which of the job's processes this is, from 0 on.
    pub rank: Option<u32>,
    /// How many processes the job has.
    pub size: Option<u32>,
    /// Which of those on this machine it is, from 0 on.
    pub local_rank: Option<u32>,
    /// How many are on this machine.
    pub local_size: Option<u32>,
    /// What no other job that runs now has; not every launcher tells.
    pub job: Option<String>,
    /// The launcher in words that let it bind nothing.
    pub unbound: &'static str,
    /// The variable that tells this rank from the others, and its value.
    pub number: Option<(&'static str, String)>,
    /// The variable that says how many are on this machine, and its value.
    pub count: Option<(&'static str, String)>,
}

impl Rank {
    /// What the launcher says to a process in this environment; `None` where no launcher is known by it.
    ///
    /// ```
    /// use firsttouch_process::{Environment, Rank};
    /// let mut environment = Environment::default();
    /// for (name, value) in [("PMI_RANK", "5"), ("PMI_SIZE", "8"), ("MPI_LOCALRANKID", "1"), ("MPI_LOCALNRANKS", "4")] {
    ///     environment.set(name, value);
    /// }
    /// let rank = Rank::of(&environment).expect("MPICH tells");
    /// assert_eq!((rank.launcher, rank.rank, rank.local_rank, rank.local_size), ("MPICH", Some(5), Some(1), Some(4)));
    /// ```
    pub fn of(environment: &Environment) -> Option<Rank> {
        let value = |name: &str| {
            let value = environment.get(name)?.to_str()?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let number = |name: &str| value(name)?.parse::<u32>().ok();
        let has = |needed: &str| match needed.strip_suffix('*') {
            Some(start) => {
                environment.iter().any(|(name, _)| name.to_str().is_some_and(|n| n.starts_with(start)))
            }
            None => needed.is_empty() || value(needed).is_some(),
        };
        let launcher = LAUNCHERS.iter().find(|launcher| {
            let rank = launcher.variables[0];
            has(launcher.needs) && (rank.is_empty() || value(rank).is_some())
        })?;
        let [rank, size, local_rank, local_size] = launcher.variables;
        let numbered = if rank.is_empty() { local_rank } else { rank };
        let job: Vec<String> = launcher.job.iter().filter_map(|name| value(name)).collect();
        let count = value(local_size);
        Some(Rank {
            launcher: launcher.name,
            rank: number(rank),
            size: number(size),
            local_rank: number(local_rank),
            local_size: count.as_deref().and_then(|text| tasks_of(text, number("SLURM_NODEID").unwrap_or(0))),
            job: (!job.is_empty()).then(|| job.join(".")),
            unbound: launcher.unbound,
            number: value(numbered).map(|value| (numbered, value)),
            count: count.map(|count| (local_size, count)),
        })
    }

    /// Whether the launcher started this process beside others of the same job. A batch script of Slurm's is told how many tasks there will
    /// be, and is none of them.
    pub fn is_one_of_several(&self) -> bool {
        let is_numbered_by = |variable| self.number.as_ref().is_some_and(|(name, _)| *name == variable);
        let is_script = self.local_rank.is_none() && is_numbered_by("SLURM_PROCID");
        !is_script && (self.size > Some(1) || self.local_size > Some(1))
    }

    /// Whether masks of so many CPUs for each process of this machine cannot all be apart, because it has too few.
    pub fn must_share(&self, allowed: usize, online: usize) -> bool {
        let ranks = self.local_size.unwrap_or(1) as usize;
        ranks > 1 && allowed.saturating_mul(ranks) > online
    }
}

/// How many tasks a node has, by Slurm's list (`4(x2),3`: four on the first two nodes, three on the third); a number alone is that of
/// all nodes.
fn tasks_of(list: &str, node: u32) -> Option<u32> {
    if let Ok(number) = list.parse() {
        return Some(number);
    }
    let mut left = u64::from(node);
    for part in list.split(',') {
        let (tasks, times) = match part.split_once("(x") {
            Some((tasks, times)) => (tasks, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1_u64),
        };
        if left < times {
            return tasks.parse().ok();
        }
        left -= times;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(variables: &str) -> Option<Rank> {
        let pairs = variables.split_whitespace().map(|pair| pair.split_once('=').expect("NAME=VALUE"));
        Rank::of(&pairs.map(|(name, value)| (name.into(), value.into())).collect())
    }

    type Numbers = (Option<u32>, Option<u32>, Option<u32>, Option<u32>);

    fn numbers(variables: &str) -> (&'static str, Numbers, Option<String>) {
        let rank = told(variables).expect("a launcher");
        (rank.launcher, (rank.rank, rank.size, rank.local_rank, rank.local_size), rank.job)
    }

    #[test]
    fn every_launcher_is_understood() {
        let all = |a, b, c, d| (Some(a), Some(b), Some(c), Some(d));
        let slurm =
            "SLURM_JOB_ID=7 SLURM_PROCID=9 SLURM_NTASKS=64 SLURM_LOCALID=1 SLURM_TASKS_PER_NODE=16(x4) ";
        let step =
            "SLURM_STEP_ID=3 SLURM_STEP_NUM_TASKS=11 SLURM_STEP_TASKS_PER_NODE=4(x2),3 SLURM_NODEID=2 ";
        let ompi = "OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=6 OMPI_COMM_WORLD_LOCAL_RANK=2 \
                    OMPI_COMM_WORLD_LOCAL_SIZE=3 PMIX_RANK=5 PMIX_NAMESPACE=18 ";
        let hydra = "PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 ";
        let torch = "RANK=3 WORLD_SIZE=8 LOCAL_RANK=3 LOCAL_WORLD_SIZE=4 MASTER_ADDR=a MASTER_PORT=1 ";
        let job = |text: &str| Some(text.to_owned());
        assert_eq!(numbers(ompi), ("Open MPI", all(5, 6, 2, 3), job("18")));
        assert_eq!(numbers(hydra), ("MPICH", all(1, 4, 1, 2), None));
        assert_eq!(numbers(&format!("I_MPI_ROOT=/opt {hydra}")).0, "Intel MPI");
        assert_eq!(numbers(torch), ("torchrun", all(3, 8, 3, 4), job("a.1")));
        assert_eq!(numbers(&(slurm.to_owned() + step)), ("Slurm", all(9, 11, 1, 3), job("7.3")));
        assert_eq!(numbers(slurm), ("Slurm", (Some(9), Some(64), None, None), job("7")));
        // Who was started by another.
        assert_eq!(numbers(&format!("{slurm}{step}{ompi}")).0, "Open MPI");
        assert_eq!(numbers(&format!("{slurm}{hydra}")).0, "MPICH");
        assert_eq!(numbers(&format!("{slurm}{step}{torch}")).0, "torchrun");
        assert_eq!(numbers(&format!("{slurm}PMI_RANK=2 PMI_SIZE=3")).0, "PMI");
        assert_eq!(
            numbers("PMIX_RANK=1 PMIX_NAMESPACE=prterun-a@1"),
            ("PMIx", (Some(1), None, None, None), job("prterun-a@1"))
        );
        let mvapich = "MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_LOCAL_RANK=1 MV2_COMM_WORLD_LOCAL_SIZE=2";
        assert_eq!(numbers(mvapich), ("MVAPICH", all(1, 2, 1, 2), None));
        assert_eq!(
            numbers("PALS_RANKID=4 PALS_LOCAL_RANKID=0 PALS_LOCAL_SIZE=4").1,
            (Some(4), None, Some(0), Some(4))
        );
        assert_eq!(numbers("FLUX_TASK_RANK=4 FLUX_JOB_SIZE=8 FLUX_TASK_LOCAL_ID=0").0, "Flux");
        assert_eq!(numbers("DASK_INTERNAL_INHERIT_CONFIG=e30=").1, (None, None, None, None));
        assert_eq!(numbers("RAY_RAYLET_PID=4 RAY_JOB_ID=01").2, job("01"));
        // Somebody's own variables.
        assert_eq!(told("RANK=3 WORLD_SIZE=4"), None);
        assert_eq!(told("PMI_RANK= SLURM_JOB_ID=3"), None);
    }

    #[test]
    fn tasks_of_nodes_are_read_as_slurm_writes_them() {
        let list = "4(x2),3,1(x3)";
        assert_eq!(
            (0..7).map(|node| tasks_of(list, node)).collect::<Vec<_>>(),
            [4, 4, 3, 1, 1, 1].map(Some).into_iter().chain([None]).collect::<Vec<_>>()
        );
        assert_eq!(
            (tasks_of("8", 5), tasks_of("", 0), tasks_of("4(x", 0), tasks_of("x,2", 1)),
            (Some(8), None, None, Some(2))
        );
    }

    #[test]
    fn masks_that_cannot_all_be_apart_are_shared() {
        let four = told("PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=4").expect("told");
        assert!(four.must_share(8, 8) && four.must_share(3, 8) && !four.must_share(2, 8));
        let one = told("PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1").expect("told");
        assert!(!one.must_share(8, 8));
    }

    #[test]
    fn who_is_alone_is_not_one_of_several() {
        let several = |variables| told(variables).expect("told").is_one_of_several();
        for job in ["PMI_RANK=0 PMI_SIZE=4", "PMIX_RANK=0 SLURM_NTASKS=2", "PALS_RANKID=0 PALS_LOCAL_SIZE=2"]
        {
            assert!(several(job), "{job}");
        }
        for alone in ["PMI_RANK=0 PMI_SIZE=1", "PMIX_RANK=0", "SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=64"]
        {
            assert!(!several(alone), "{alone}");
        }
    }

    proptest! {
        #[test]
        fn any_list_is_survived(list in "[0-9(x),]{0,16}", node in 0_u32..9) {
            let _ = tasks_of(&list, node);
        }
    }
}
