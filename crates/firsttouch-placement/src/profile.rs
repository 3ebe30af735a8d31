//! Profiles: a placement that was proved, kept as an explicit TOML file.

use crate::{Placement, PlacementError, SCHEMA_VERSION};
use firsttouch_experiment::{Objective, Ratio};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `tune` saw when it made the profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The program it was measured with.
    pub command: Vec<String>,
    /// Ratio to the baseline, from the confirmation phase.
    pub ratio: Option<Ratio>,
    /// What the ratio is of, where that is not the wall time.
    #[serde(default, skip_serializing_if = "Objective::is_wall")]
    pub judged: Objective,
    /// Number of timed runs behind the ratio (of the baseline and of this placement).
    pub runs: u32,
    /// Date of the session, RFC 3339.
    pub date: String,
    /// FNV-1a hash of the command, to tell profiles of different commands apart.
    pub command_hash: String,
    /// The value of each name that was varied; `command` holds them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub varied: BTreeMap<String, String>,
}

/// The machine a profile was made on, as far as it decides whether the evidence carries over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineKey {
    /// Processor model name.
    pub cpu: String,
    /// Number of CPUs online.
    pub cpus: u32,
    /// Number of NUMA nodes.
    pub nodes: u32,
    /// Kernel release.
    pub kernel: String,
    /// Mode of transparent huge pages (`always`, `madvise`, `never`); `None` if the kernel has none.
    pub thp: Option<String>,
}

/// A profile file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What to ask for.
    pub placement: Placement,
    /// What it was worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineKey>,
}

/// A profile that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// Not TOML, or not a profile; the message names line and key.
    #[error(transparent)]
    Syntax(#[from] toml::de::Error),
    /// Written by a newer version.
    #[error("the profile has schema_version {found}; this version reads {SCHEMA_VERSION}")]
    Version {
        /// The version found.
        found: u32,
    },
    /// The placement contradicts itself.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

impl ProfileError {
    /// What would mend it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ProfileError::Syntax(_) => {
                Some("mend that line; firsttouch tune --save FILE -- PROGRAM writes a whole profile")
            }
            ProfileError::Version { .. } => {
                Some("firsttouch tune --save FILE -- PROGRAM writes one for this version")
            }
            ProfileError::Placement(error) => error.hint(),
        }
    }
}

impl Profile {
    /// Reads a profile from its text.
    pub fn parse(text: &str) -> Result<Profile, ProfileError> {
        let profile: Profile = toml::from_str(text)?;
        if profile.schema_version != SCHEMA_VERSION {
            return Err(ProfileError::Version { found: profile.schema_version });
        }
        profile.placement.check()?;
        Ok(profile)
    }

    /// The text of the file, with a line that says what it is.
    pub fn to_text(&self) -> String {
        let body = toml::to_string(self).unwrap_or_default();
        format!(
            "# A placement kept by `firsttouch tune --save`; use it with `firsttouch run --profile FILE -- PROGRAM`.\n{body}"
        )
    }
}

impl Evidence {
    /// The hash of a command line: FNV-1a (Fowler, Noll, Vo), 64 bits, words separated by a zero byte.
    pub fn hash_of(command: &[String]) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in command.iter().flat_map(|word| word.bytes().chain([0])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        format!("{hash:016x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_experiment::Metric;

    #[test]
    fn what_is_saved_reads_back() {
        let profile = Profile {
            schema_version: SCHEMA_VERSION,
            placement: "2m,min-size=4M,weighted=hbm+1-3,threads=4-7+0,skip-threads=1+2,near=nvme0n1"
                .parse()
                .unwrap(),
            evidence: Some(Evidence {
                command: vec!["Rscript".into(), "lm.R".into()],
                ratio: Some(Ratio { value: 2.9, low: 2.8, high: 3.0 }),
                judged: Objective { metric: Metric::Stdout("rate (.*)".into()), higher_is_better: true },
                runs: 20,
                date: "2026-01-01T00:00:00Z".into(),
                command_hash: Evidence::hash_of(&["Rscript".into(), "lm.R".into()]),
                varied: BTreeMap::from([("threads".into(), "4".into())]),
            }),
            machine: None,
        };
        assert_eq!(Profile::parse(&profile.to_text()).unwrap(), profile);
    }

    #[test]
    fn garbage_is_refused_with_its_place() {
        let error = Profile::parse("schema_version = 1\n[placement]\npages = \"huge\"\n").unwrap_err();
        assert!(error.to_string().contains("not a kind of pages"), "{error}");
        assert!(Profile::parse("\u{0}\u{1}").is_err());
        let refused = |line| {
            Profile::parse(&format!("schema_version = 1\n[placement]\n{line}\n")).unwrap_err().to_string()
        };
        assert!(
            refused("min_size = -1")
                .ends_with("a size is a number of bytes or a text (for example \"1M\", \"512K\")\n")
        );
        assert!(refused("prefault = \"x\"").ends_with("is true, false or \"background\"\n"));
        assert!(refused("near = \"\"").contains("names no device"));
        assert!(matches!(
            Profile::parse("schema_version = 9\n[placement]\n"),
            Err(ProfileError::Version { found: 9 })
        ));
        assert!(Profile::parse("schema_version = 1\n[placement]\npagse = \"thp\"\n").is_err());
    }
}
