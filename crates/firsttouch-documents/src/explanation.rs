//! What `explain` and `doctor` find out.

use firsttouch_machine::page_word;
use firsttouch_placement::Placement;
use serde::{Deserialize, Serialize};

/// Who will override a placement, told before the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// What is asked.
    pub asked: Placement,
    /// What decides over it, the weightiest first.
    pub findings: Vec<Finding>,
}

/// How much a finding matters to what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// What was asked will not happen, or something else decides it.
    Overrides,
    /// It happens in part, or something works against it.
    Weakens,
    /// It happens; this is good to know.
    Remark,
}

impl Weight {
    /// The word of texts and documents.
    pub fn word(self) -> &'static str {
        match self {
            Weight::Overrides => "overrides",
            Weight::Weakens => "weakens",
            Weight::Remark => "remark",
        }
    }
}

/// A line of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Proof {
    /// Where it stands: a file, `environment`, or the call that was tried.
    pub source: String,
    /// What stands there.
    pub text: String,
}

/// One thing that decides over the placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Finding {
    /// A word for it, the same in every version.
    pub id: String,
    /// How much it matters.
    pub weight: Weight,
    /// What it is.
    pub what: String,
    /// Where that is written.
    pub evidence: Vec<Proof>,
    /// What it does to what was asked.
    pub effect: String,
    /// The command or setting that mends it, where there is one.
    pub remedy: Option<String>,
    /// The command that keeps the remedy over the next boot, where that takes another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
}

impl Finding {
    /// One without evidence.
    pub fn new(id: &str, weight: Weight, what: impl Into<String>, effect: impl Into<String>) -> Finding {
        Finding {
            id: id.to_owned(),
            weight,
            what: what.into(),
            evidence: Vec::new(),
            effect: effect.into(),
            remedy: None,
            keep: None,
        }
    }

    /// Adds a line of evidence.
    #[must_use]
    pub fn proof(mut self, source: impl Into<String>, text: impl Into<String>) -> Finding {
        self.evidence.push(Proof { source: source.into(), text: text.into() });
        self
    }

    /// Says what mends it.
    #[must_use]
    pub fn remedy(mut self, command: impl Into<String>) -> Finding {
        self.remedy = Some(command.into());
        self
    }

    /// Says that `setup` mends it by these words, and keeps it by one option more.
    #[must_use]
    pub fn setup(self, words: &str) -> Finding {
        let command = format!("sudo firsttouch setup {words} --apply");
        self.keep(format!("{command} --persist")).remedy(command)
    }

    /// Says that writing a value to a file of `/proc/sys` or `/sys` mends it, and how to have that written at each boot: by `setup`
    /// where that knows the file. The files are others than those of `setup`, which takes back only what is as it wrote it.
    #[must_use]
    pub fn set(self, file: &str, value: &str) -> Finding {
        if let Some(words) = setup_words(file, value) {
            return self.setup(&words);
        }
        let line = match file.strip_prefix("/proc/sys/") {
            Some(name) => {
                format!(
                    "echo '{} = {value}' | sudo tee -a /etc/sysctl.d/90-doctor.conf",
                    name.replace('/', ".")
                )
            }
            None => format!("echo 'w {file} - - - - {value}' | sudo tee -a /etc/tmpfiles.d/doctor.conf"),
        };
        self.remedy(format!("echo {value} | sudo tee {file}")).keep(line)
    }

    /// Says what keeps the remedy over the next boot.
    #[must_use]
    pub fn keep(mut self, command: impl Into<String>) -> Finding {
        self.keep = Some(command.into());
        self
    }
}

/// The words of `setup` that set a file, where there are some.
fn setup_words(file: &str, value: &str) -> Option<String> {
    const THP: &str = "/sys/kernel/mm/transparent_hugepage/";
    const WORDS: [(&str, &str); 8] = [
        ("/sys/kernel/mm/transparent_hugepage/enabled", "thp "),
        ("/sys/kernel/mm/transparent_hugepage/defrag", "thp thp-defrag="),
        ("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "thp shmem-huge="),
        ("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "thp khugepaged="),
        ("/proc/sys/vm/max_map_count", "limits max-map-count="),
        ("/proc/sys/kernel/shmmax", "limits shmmax="),
        ("/proc/sys/kernel/shmall", "limits shmall="),
        ("/proc/sys/vm/overcommit_memory", "limits overcommit="),
    ];
    if let Some((_, words)) = WORDS.iter().find(|(known, _)| *known == file) {
        let value = if words.ends_with("khugepaged=") && value == "1" { "on" } else { value };
        return Some(format!("{words}{value}"));
    }
    let size = |folder: &str| {
        let kib = folder.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok()?;
        Some(page_word(kib << 10))
    };
    if let Some(folder) = file.strip_prefix(THP).and_then(|rest| rest.strip_suffix("/enabled")) {
        return Some(format!("thp {}={value}", size(folder)?));
    }
    let pool = file.strip_suffix("/nr_hugepages")?;
    let (place, folder) = pool.rsplit_once('/')?;
    let node =
        place.strip_prefix("/sys/devices/system/node/node").and_then(|rest| rest.strip_suffix("/hugepages"));
    let node = node.map(|node| format!(" --node {node}")).unwrap_or_default();
    Some(format!("pages {}={value}{node}", size(folder)?))
}
