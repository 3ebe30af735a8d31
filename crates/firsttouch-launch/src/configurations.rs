//! Which configurations a session compares, and which it cannot and why.

use crate::nodes::Candidate;
use crate::obstacle::Obstacle;
use firsttouch_placement::{Placement, PlacementError, SkippedConfiguration};
use firsttouch_sorted::SortedMap;

/// How a configuration starts the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// As it is.
    Plain,
    /// With a placement.
    Placed(Placement),
}

/// One way of running the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// Unique in the session.
    pub(crate) name: String,
    /// How the program is started.
    pub(crate) means: Means,
}

impl Configuration {
    /// Lets the agent, if it needs one, follow the programs that the program starts.
    pub(crate) fn follow(&mut self) {
        if let Means::Placed(placement) = &mut self.means
            && placement.needs_agent()
        {
            placement.follow = true;
        }
    }

    /// Its placement, if it is one.
    pub(crate) fn placement(&self) -> Option<&Placement> {
        match &self.means {
            Means::Placed(placement) => Some(placement),
            Means::Plain => None,
        }
    }
}

/// What is tried of kinds of pages: the name, the placement, and the word of the ability it depends on.
const BY_PAGES: [(&str, &str, Option<&str>); 11] = [
    ("plain", "plain", None),
    // The agent alone: what it brings by using large blocks again is not credited to huge pages.
    ("4k", "4k", None),
    ("thp", "thp", Some("thp")),
    ("thp-prefault", "thp,prefault", Some("thp")),
    ("thp-heap", "thp,heap", Some("thp")),
    // All that the agent can do without a pool: what it brings beyond `thp-heap` needs a processor that has nothing to do.
    ("thp-heap-background", "thp,heap,prefault=background", Some("thp")),
    // Needs no library in front of malloc: where it does as well, it is what is recommended.
    ("glibc-thp", "thp,via=glibc", Some("thp")),
    // And on the agent's terms, who keeps freed memory, too.
    ("glibc-thp-keep", "thp,keep,via=glibc", Some("thp")),
    ("64k", "64k", Some("64k")),
    ("2m", "2m", Some("2m")),
    ("1g", "1g", Some("1g")),
];

/// What others offer beside that, in the same form: each as it comes, on huge pages, and keeping freed memory as the agent does.
const ALTERNATIVES: [(&str, &str, Option<&str>); 8] = [
    ("glibc-keep", "plain,keep,via=glibc", None),
    ("glibc-2m", "2m,via=glibc", Some("2m")),
    ("mimalloc", "plain,via=mimalloc", None),
    ("mimalloc-large", "thp,via=mimalloc", None),
    ("mimalloc-large-keep", "thp,keep,via=mimalloc", None),
    ("jemalloc", "plain,via=jemalloc", None),
    ("jemalloc-thp", "thp,via=jemalloc", Some("thp")),
    ("jemalloc-thp-keep", "thp,keep,via=jemalloc", Some("thp")),
];

/// The ability to collapse pages of a running program, and the configuration by it.
const SUPERVISE: &str = "supervise";

/// The words of the abilities that configurations depend on; some are there more than once.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    BY_PAGES.into_iter().chain(ALTERNATIVES).filter_map(|(_, _, word)| word).chain([SUPERVISE])
}

/// What the first configuration is called.
pub(crate) const BASELINE: &str = "baseline";

/// What a session compares. The baseline is the first configuration.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// What it compares.
    pub(crate) configurations: Vec<Configuration>,
    /// What cannot be tried here.
    pub(crate) skipped: Vec<SkippedConfiguration>,
}

/// What decides the choice: facts about the machine, read elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abilities {
    /// What cannot be done, by its word, one of [`words`].
    pub(crate) obstacles: SortedMap<String, Obstacle>,
    /// What to try over nodes and CPUs.
    pub(crate) over_nodes: Vec<Candidate>,
    /// Why no library can be loaded into the program; `None` if one can.
    pub(crate) unreachable: Option<Obstacle>,
    /// The program is a Java virtual machine, whose heap only its own switches place.
    pub(crate) jvm: bool,
}

/// A list that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// One that is no placement.
    #[error("`{text}` is not a placement")]
    Placement {
        /// The text.
        text: String,
        /// What is wrong with it.
        #[source]
        source: PlacementError,
    },
    /// A name before a placement that nobody could read as one.
    #[error("`{name}` cannot be a name: letters, digits, `-`, `_` and `.` make one")]
    Name {
        /// The name.
        name: String,
    },
    /// A name that occurs twice.
    #[error("`{name}` is there twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// A list that names no placement.
    #[error("the list of placements is empty")]
    Empty,
    /// Nothing is left beside the baseline.
    #[error("there is nothing to compare with the baseline on this machine")]
    Nothing {
        /// What cannot be tried here, and why.
        skipped: Vec<SkippedConfiguration>,
    },
}

/// The baseline, then what `lists` hold: placements, each with a name of its own (`NAME:PLACEMENT`) or called as it is written.
///
/// # Errors
/// Where a list is wrong.
pub(crate) fn asked(baseline: &str, lists: &[String]) -> Result<Choice, ChoiceError> {
    let mut choice = Choice::default();
    choice.configurations.push(Configuration { name: BASELINE.to_owned(), means: means(baseline)? });
    let words = lists.iter().flat_map(|list| list.split([';', ' ', '\n', '\t']));
    for word in words.filter(|word| !word.is_empty()) {
        let (name, placement) = named(word)?;
        choice.configurations.push(Configuration { name: name.to_owned(), means: means(placement)? });
    }
    if !lists.is_empty() && choice.configurations.len() == 1 {
        return Err(ChoiceError::Empty);
    }
    choice.unique()
}

/// Whether lists of placements, as [`TuneRequest::configurations`](crate::TuneRequest::configurations) has them, can be read.
///
/// # Errors
/// Where one is wrong.
pub fn check_lists(lists: &[String]) -> Result<(), ChoiceError> {
    asked("plain", lists).map(drop)
}

/// Chooses the configurations: the baseline, then `lists` or, without any, what the machine can do; then the alternatives
/// to the agent, if they are asked for.
///
/// # Errors
/// Where a list is wrong, or nothing is left to compare.
pub(crate) fn choose(
    baseline: &str,
    lists: &[String],
    alternatives: bool,
    abilities: &Abilities,
) -> Result<Choice, ChoiceError> {
    let mut choice = asked(baseline, lists)?;
    if choice.configurations.len() == 1 {
        choice.by_default(abilities);
    }
    if alternatives {
        choice.alternatives(abilities);
    }
    if choice.configurations.len() < 2 {
        return Err(ChoiceError::Nothing { skipped: choice.skipped });
    }
    choice.unique()
}

/// A name and the placement after it. In a placement a colon stands behind a `=` alone, as in the address of a device.
fn named(word: &str) -> Result<(&str, &str), ChoiceError> {
    match word.split_once(':') {
        Some((name, placement)) if !name.contains(['=', ',']) => {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            match !name.is_empty() && name.chars().all(is_name) {
                true => Ok((name, placement)),
                false => Err(ChoiceError::Name { name: name.to_owned() }),
            }
        }
        _ => Ok((word, word)),
    }
}

fn means(text: &str) -> Result<Means, ChoiceError> {
    match text {
        "plain" => Ok(Means::Plain),
        _ => text
            .parse()
            .map(Means::Placed)
            .map_err(|source| ChoiceError::Placement { text: text.to_owned(), source }),
    }
}

impl Choice {
    fn try_it(&mut self, name: &str, means: Means, obstacle: Option<&Obstacle>) {
        match obstacle {
            None => self.configurations.push(Configuration { name: name.to_owned(), means }),
            Some(Obstacle { reason, remedy }) => self.skipped.push(SkippedConfiguration {
                name: name.to_owned(),
                reason: reason.clone(),
                remedy: remedy.clone(),
            }),
        }
    }

    /// Refuses a name that is there twice.
    fn unique(self) -> Result<Choice, ChoiceError> {
        for (index, configuration) in self.configurations.iter().enumerate() {
            if self.configurations[..index].iter().any(|earlier| earlier.name == configuration.name) {
                return Err(ChoiceError::Twice { name: configuration.name.clone() });
            }
        }
        Ok(self)
    }

    fn by_default(&mut self, abilities: &Abilities) {
        let baseline = self.configurations.first().map(|baseline| baseline.means.clone());
        for (name, placement, word) in BY_PAGES {
            if baseline.as_ref() != Some(&placed(placement)) {
                self.within(name, placement, word, abilities);
            }
        }
        for Candidate { name, placement, obstacle } in &abilities.over_nodes {
            let means = if obstacle.is_some() { Means::Plain } else { placed(placement) };
            let beyond = match &means {
                Means::Placed(placement) if placement.needs_agent() => abilities.unreachable.as_ref(),
                _ => None,
            };
            self.try_it(name, means, obstacle.as_ref().or(beyond));
        }
        if abilities.jvm {
            self.try_it("jvm-thp", placed("thp,via=jvm"), abilities.obstacles.get("thp"));
            self.try_it("jvm-2m", placed("2m,via=jvm"), abilities.obstacles.get("2m"));
        }
        // Where no library reaches, pages can still be collapsed from outside.
        if abilities.unreachable.is_some() {
            self.try_it(SUPERVISE, placed("thp,via=supervise"), abilities.obstacles.get(SUPERVISE));
        }
    }

    /// Adds the ways others have.
    pub(crate) fn alternatives(&mut self, abilities: &Abilities) {
        for (name, placement, word) in ALTERNATIVES {
            self.within(name, placement, word, abilities);
        }
    }

    /// Tries a placement that works from within the program, by an ability where it needs one.
    fn within(&mut self, name: &str, placement: &str, word: Option<&str>, abilities: &Abilities) {
        let means = placed(placement);
        let obstacle = match &means {
            Means::Plain => None,
            Means::Placed(_) => {
                abilities.unreachable.as_ref().or_else(|| abilities.obstacles.get(word.unwrap_or_default()))
            }
        };
        self.try_it(name, means, obstacle);
    }
}

/// The means of one of our own placements, which all read.
fn placed(text: &str) -> Means {
    means(text).unwrap_or(Means::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn able() -> Abilities {
        Abilities::default()
    }

    fn unable(words: &[(&str, Option<&str>)]) -> Abilities {
        let obstacles = words.iter().map(|(word, remedy)| {
            let obstacle = Obstacle { reason: "not here".to_owned(), remedy: remedy.map(str::to_owned) };
            ((*word).to_owned(), obstacle)
        });
        Abilities { obstacles: obstacles.collect(), ..Abilities::default() }
    }

    /// What is tried on every machine with transparent huge pages, in this order.
    const EVERYWHERE: [&str; 8] = [
        "baseline",
        "4k",
        "thp",
        "thp-prefault",
        "thp-heap",
        "thp-heap-background",
        "glibc-thp",
        "glibc-thp-keep",
    ];

    fn names(choice: &Choice) -> Vec<&str> {
        choice.configurations.iter().map(|configuration| configuration.name.as_str()).collect()
    }

    #[test]
    fn a_machine_that_can_do_all_tries_all() {
        let choice = choose("plain", &[], true, &able()).unwrap();
        let names = names(&choice);
        assert_eq!(names[..EVERYWHERE.len()], EVERYWHERE);
        assert_eq!(
            names[EVERYWHERE.len()..],
            [
                "64k",
                "2m",
                "1g",
                "glibc-keep",
                "glibc-2m",
                "mimalloc",
                "mimalloc-large",
                "mimalloc-large-keep",
                "jemalloc",
                "jemalloc-thp",
                "jemalloc-thp-keep"
            ]
        );
        assert!(choice.skipped.is_empty());
        // None of them is what cannot be read.
        assert!(choice.configurations[1..].iter().all(|one| one.placement().is_some()));
        for placement in choice.configurations.iter().filter_map(Configuration::placement) {
            placement.check().unwrap();
        }
    }

    #[test]
    fn what_cannot_run_is_listed_with_its_remedy() {
        let poor = unable(&[("64k", Some("echo")), ("2m", Some("echo")), ("1g", None)]);
        let choice = choose("plain", &[], false, &poor).unwrap();
        assert_eq!(names(&choice), EVERYWHERE);
        let skipped: Vec<_> =
            choice.skipped.iter().map(|skip| (skip.name.as_str(), skip.remedy.is_some())).collect();
        assert_eq!(skipped, [("64k", true), ("2m", true), ("1g", false)]);
    }

    #[test]
    fn java_is_tried_with_its_own_switches() {
        let choice = choose("plain", &[], false, &Abilities { jvm: true, ..able() }).unwrap();
        assert_eq!(names(&choice)[11..], ["jvm-thp", "jvm-2m"]);
        for placement in choice.configurations.iter().filter_map(Configuration::placement) {
            placement.check().unwrap();
        }
    }

    #[test]
    fn a_program_no_library_reaches_is_supervised() {
        let unreachable = Some(Obstacle { reason: "statically linked".to_owned(), remedy: None });
        let choice = choose("plain", &[], true, &Abilities { unreachable, ..able() }).unwrap();
        assert_eq!(names(&choice), ["baseline", "supervise"]);
        let unreachable = choice.skipped[0].reason.clone();
        assert_eq!(unreachable, "statically linked");
        let nothing = unable(&[("supervise", None)]);
        let unreachable = Some(Obstacle { reason: unreachable, remedy: None });
        let nothing = choose("plain", &[], false, &Abilities { unreachable, ..nothing }).unwrap_err();
        assert!(matches!(nothing, ChoiceError::Nothing { skipped } if skipped.len() == 11));
    }

    #[test]
    fn several_nodes_add_their_configurations() {
        let over_nodes = ["interleave", "compact"].map(|name| Candidate {
            name: name.to_owned(),
            placement: if name == "compact" { "plain,threads=compact" } else { "plain,interleave=all" }
                .to_owned(),
            obstacle: None,
        });
        let several = Abilities { over_nodes: over_nodes.into(), ..able() };
        let choice = choose("plain", &[], false, &several).unwrap();
        assert_eq!(names(&choice)[11..], ["interleave", "compact"]);
        // Threads take the agent, a memory policy does not.
        let unreachable = Some(Obstacle { reason: "statically linked".to_owned(), remedy: None });
        let choice = choose("plain", &[], false, &Abilities { unreachable, ..several }).unwrap();
        assert_eq!(names(&choice), ["baseline", "interleave", "supervise"]);
        assert!(choice.skipped.iter().any(|skipped| skipped.name == "compact"));
    }

    #[test]
    fn lists_are_taken_as_they_stand() {
        let lists = ["thp 2m,min-size=4M".to_owned(), "plain;4k".to_owned()];
        let choice = choose("thp,via=glibc", &lists, false, &Abilities::default()).unwrap();
        assert_eq!(names(&choice), ["baseline", "thp", "2m,min-size=4M", "plain", "4k"]);
        assert_eq!(choice.configurations[0].placement().unwrap().via, firsttouch_placement::Via::Glibc);
    }

    #[test]
    fn a_placement_may_have_a_name() {
        let lists = ["mine:thp,prefault thp,near=0000:00:1f.0 v1.2_a-b:plain".to_owned()];
        let choice = choose("plain", &lists, false, &Abilities::default()).unwrap();
        assert_eq!(names(&choice), ["baseline", "mine", "thp,near=0000:00:1f.0", "v1.2_a-b"]);
        assert!(choice.configurations[1].placement().unwrap().prefault != firsttouch_placement::Prefault::No);
        assert_eq!(choice.configurations[3].means, Means::Plain);
        let choose = |list: &str| choose("plain", &[list.to_owned()], false, &Abilities::default());
        assert!(matches!(choose("a:thp a:plain"), Err(ChoiceError::Twice { name }) if name == "a"));
        assert!(matches!(choose("baseline:thp"), Err(ChoiceError::Twice { .. })));
        assert!(matches!(choose("mine:"), Err(ChoiceError::Placement { .. })));
        assert!(matches!(choose("mine:warp"), Err(ChoiceError::Placement { .. })));
        assert!(matches!(choose(":thp"), Err(ChoiceError::Name { .. })));
        assert!(matches!(choose("größe:thp"), Err(ChoiceError::Name { .. })));
    }

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        let choose = |list: &str| choose("plain", &[list.to_owned()], false, &Abilities::default());
        assert!(matches!(choose("warp"), Err(ChoiceError::Placement { .. })));
        assert!(matches!(choose("thp thp"), Err(ChoiceError::Twice { .. })));
        assert!(matches!(choose("baseline"), Err(ChoiceError::Placement { .. })));
        assert!(matches!(choose(","), Err(ChoiceError::Placement { .. })));
        assert!(matches!(choose(" ;"), Err(ChoiceError::Empty)));
    }

    #[test]
    fn a_default_that_is_the_baseline_is_not_compared_with_itself() {
        let choice = choose("thp", &[], false, &unable(&[("2m", None), ("1g", None)])).unwrap();
        assert_eq!(
            names(&choice),
            [
                "baseline",
                "plain",
                "4k",
                "thp-prefault",
                "thp-heap",
                "thp-heap-background",
                "glibc-thp",
                "glibc-thp-keep",
                "64k"
            ]
        );
    }
}
