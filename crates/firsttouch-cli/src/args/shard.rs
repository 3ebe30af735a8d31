//! `--shard`: which of several processes this is; `--ranks`: how many there are on a machine.

use firsttouch_graph::Shard;
use std::str::FromStr;

/// `--shard`: what the launcher says, or one that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShardWord {
    Auto,
    This(Shard),
}

impl FromStr for ShardWord {
    type Err = String;

    fn from_str(text: &str) -> Result<ShardWord, String> {
        if text == "auto" {
            return Ok(ShardWord::Auto);
        }
        let parse = || {
            let (rank, ranks) = text.split_once('/')?;
            let shard = Shard { rank: rank.parse().ok()?, ranks: ranks.parse().ok()? };
            (shard.rank < shard.ranks).then_some(shard)
        };
        parse()
            .map(ShardWord::This)
            .ok_or_else(|| "auto, or which of how many, from 0 on: 0/4 to 3/4".to_owned())
    }
}

/// `--ranks`: as many processes of a job on this machine as the launcher says, or so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RanksWord {
    Auto,
    Number(u32),
}

impl FromStr for RanksWord {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<RanksWord, &'static str> {
        match text.parse() {
            _ if text == "auto" => Ok(RanksWord::Auto),
            Ok(number @ 1..=MOST_RANKS) => Ok(RanksWord::Number(number)),
            _ => Err("auto, or how many ranks run on this machine: 4"),
        }
    }
}

/// More than any machine has CPUs: the kernel counts to 8192.
const MOST_RANKS: u32 = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_those_there_are() {
        assert_eq!("2/4".parse(), Ok(ShardWord::This(Shard { rank: 2, ranks: 4 })));
        assert_eq!("auto".parse(), Ok(ShardWord::Auto));
        assert_eq!(("auto".parse(), "8".parse()), (Ok(RanksWord::Auto), Ok(RanksWord::Number(8))));
        assert!(["0", "-1", "", "9999"].iter().all(|text| text.parse::<RanksWord>().is_err()));
        assert!(["4/4", "1", "/", "-1/2", "a/b"].iter().all(|text| text.parse::<ShardWord>().is_err()));
    }
}
