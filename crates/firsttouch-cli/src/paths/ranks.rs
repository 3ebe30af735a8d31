//! Which of several processes this is, as the launcher that started them says.

use crate::args::ShardWord;
use crate::output::{Failure, Outcome};
use firsttouch_graph::Shard;
use firsttouch_process::{Environment, Rank};

/// Which of the processes this is, in its environment.
pub(crate) fn this(word: ShardWord, environment: &Environment) -> Outcome<Shard> {
    if let ShardWord::This(shard) = word {
        return Ok(shard);
    }
    let told = Rank::of(environment).and_then(|told| told.rank.zip(told.size));
    match told {
        Some((rank, ranks)) if rank < ranks => Ok(Shard { rank: rank as usize, ranks: ranks as usize }),
        Some((rank, ranks)) => {
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
        let environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        this(ShardWord::Auto, &environment).ok().map(|shard| (shard.rank, shard.ranks))
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
