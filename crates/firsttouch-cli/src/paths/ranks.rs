//! Which of several processes this is, as the launcher that started them says.

use crate::args::{ShardWord, shard};
use crate::output::{Failure, Outcome};
use firsttouch_graph::Shard;

/// Which variables tell rank and size. Open MPI before Slurm: its `mpirun` inside an allocation starts more than Slurm knows.
const VARIABLES: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("PMIX_RANK", "SLURM_NTASKS"),
];

/// Which of the processes this is; `environment` answers variables.
pub(crate) fn this(word: ShardWord, environment: impl Fn(&str) -> Option<String>) -> Outcome<Shard> {
    if let ShardWord::This(shard) = word {
        return Ok(shard);
    }
    let told = VARIABLES.iter().find_map(|(rank, ranks)| {
        let (rank, ranks) = (environment(rank)?, environment(ranks)?);
        Some((shard(&rank, &ranks), rank, ranks))
    });
    match told {
        Some((Some(shard), ..)) => Ok(shard),
        Some((None, rank, ranks)) => {
            let what = format!("the launcher calls this process {rank} of {ranks}, which is none");
            Err(Failure::message(what).hint("name it: --shard 0/4").usage())
        }
        None => {
            let what = "no launcher says which of the processes this is";
            Err(Failure::message(what).hint("start it by srun or mpirun, or name it: --shard 0/4").usage())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(variables: &[(&str, &str)]) -> Option<(usize, usize)> {
        let environment = |name: &str| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        };
        this(ShardWord::Auto, environment).ok().map(|shard| (shard.rank, shard.ranks))
    }

    #[test]
    fn every_launcher_is_understood() {
        assert_eq!(told(&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")]), Some((3, 8)));
        assert_eq!(told(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]), Some((0, 2)));
        assert_eq!(told(&[("PMIX_RANK", "1"), ("SLURM_NTASKS", "2")]), Some((1, 2)));
        let mpirun_in_slurm = [
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
            ("OMPI_COMM_WORLD_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "6"),
        ];
        assert_eq!(told(&mpirun_in_slurm), Some((5, 6)));
        assert_eq!(told(&[("SLURM_PROCID", "3")]), None);
        assert_eq!(told(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]), None);
    }
}
