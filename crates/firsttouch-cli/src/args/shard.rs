//! `--shard`: which of several processes this is.

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
            shard(rank, ranks)
        };
        parse()
            .map(ShardWord::This)
            .ok_or_else(|| "auto, or which of how many, from 0 on: 0/4 to 3/4".to_owned())
    }
}

/// The process of this rank, where there is one.
pub(crate) fn shard(rank: &str, ranks: &str) -> Option<Shard> {
    let shard = Shard { rank: rank.parse().ok()?, ranks: ranks.parse().ok()? };
    (shard.rank < shard.ranks).then_some(shard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_those_there_are() {
        assert_eq!("2/4".parse(), Ok(ShardWord::This(Shard { rank: 2, ranks: 4 })));
        assert_eq!("auto".parse(), Ok(ShardWord::Auto));
        assert!(["4/4", "1", "/", "-1/2", "a/b"].iter().all(|text| text.parse::<ShardWord>().is_err()));
    }
}
