//! `--shard`: which of several processes this is; `--ranks`: how many there are on a machine; `--only-ranks`: which of
//! them are placed.

use firsttouch_graph::Shard;
use std::fmt;
use std::ops::RangeInclusive;
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

/// `--only-ranks`: some ranks of a job, by their numbers. Ranges, because a job has more ranks than the kernel's lists have CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankList {
    ranges: Vec<RangeInclusive<u32>>,
}

impl RankList {
    pub(crate) fn contains(&self, rank: u32) -> bool {
        self.ranges.iter().any(|range| range.contains(&rank))
    }

    /// The highest number in it.
    pub(crate) fn last(&self) -> u32 {
        self.ranges.iter().map(|range| *range.end()).max().unwrap_or(0)
    }
}

impl FromStr for RankList {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<RankList, &'static str> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = first.parse().ok()?..=last.parse().ok()?;
            (!range.is_empty()).then_some(range)
        };
        let ranges = text.split(',').map(range).collect::<Option<_>>();
        ranges.map(|ranges| RankList { ranges }).ok_or("numbers of ranks, from 0 on: 0,7 or 0-3")
    }
}

impl fmt::Display for RankList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, range) in self.ranges.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            match range.start() == range.end() {
                true => write!(f, "{comma}{}", range.start())?,
                false => write!(f, "{comma}{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}

/// More than any machine has CPUs: the kernel counts to 8192.
const MOST_RANKS: u32 = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_by_number_and_range() {
        let list: RankList = "0,7-9,100000".parse().unwrap();
        assert!([0, 7, 9, 100_000].iter().all(|rank| list.contains(*rank)));
        assert!([1, 6, 10].iter().all(|rank| !list.contains(*rank)));
        assert_eq!((list.to_string().as_str(), list.last()), ("0,7-9,100000", 100_000));
        assert!(["", "3-1", "0,", "-1", "a", "0 1"].iter().all(|text| text.parse::<RankList>().is_err()));
    }

    #[test]
    fn a_shard_is_one_of_those_there_are() {
        assert_eq!("2/4".parse(), Ok(ShardWord::This(Shard { rank: 2, ranks: 4 })));
        assert_eq!("auto".parse(), Ok(ShardWord::Auto));
        assert_eq!(("auto".parse(), "8".parse()), (Ok(RanksWord::Auto), Ok(RanksWord::Number(8))));
        assert!(["0", "-1", "", "9999"].iter().all(|text| text.parse::<RanksWord>().is_err()));
        assert!(["4/4", "1", "/", "-1/2", "a/b"].iter().all(|text| text.parse::<ShardWord>().is_err()));
    }
}
