//! How much a configuration intrudes on a program: of two that are as fast, the one that does less is recommended.

use crate::configurations::{Configuration, Means};
use firsttouch_placement::{Pages, Placement, Via};

/// What a configuration puts into or around a program, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Intrusion {
    /// Nothing.
    Nothing,
    /// A memory policy or CPUs, which a process inherits from whoever starts it.
    Inherited,
    /// A setting of what is in the program anyway: the C library's tunable, the Java virtual machine's switches.
    Setting,
    /// Its pages are collapsed from outside, by a process beside it that needs rights.
    Outside,
    /// Our library in front of malloc; what it does not place stays the C library's.
    Agent,
    /// Another allocator in the place of the C library's.
    Allocator,
}

impl Intrusion {
    /// That of a configuration.
    pub(crate) fn of(configuration: &Configuration) -> Intrusion {
        match &configuration.means {
            Means::Plain => Intrusion::Nothing,
            Means::Numactl(_) => Intrusion::Inherited,
            Means::PlainMimalloc => Intrusion::Allocator,
            Means::Placed(placement) => Intrusion::of_placement(placement),
        }
    }

    fn of_placement(placement: &Placement) -> Intrusion {
        let places_pages = placement.pages != Pages::Plain;
        match placement.via {
            Via::Mimalloc | Via::Jemalloc => Intrusion::Allocator,
            // Threads are bound by the agent, whoever places the memory.
            _ if placement.needs_agent() => Intrusion::Agent,
            Via::Supervise if places_pages => Intrusion::Outside,
            Via::Glibc | Via::Jvm if places_pages => Intrusion::Setting,
            _ => Intrusion::Inherited,
        }
    }

    /// The order as a number, for whoever need not know what it means.
    pub(crate) fn rank(self) -> u32 {
        self as u32
    }
}

/// What the winner spares the program beside the one whose place it took, in words that follow its name.
pub(crate) fn spared(winner: &Configuration, displaced: &Configuration) -> String {
    match (Intrusion::of(winner), Intrusion::of(displaced)) {
        (Intrusion::Agent, _) => "leaves the C library's allocator in its place",
        (_, Intrusion::Allocator | Intrusion::Agent) => "needs no library in front of malloc",
        (_, Intrusion::Outside) => "needs no process beside the program, and no rights",
        (_, Intrusion::Setting) => "needs no setting of the program's own",
        (_, Intrusion::Inherited | Intrusion::Nothing) => "needs nothing at all",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(text: &str) -> Configuration {
        Configuration { name: text.to_owned(), means: Means::Placed(text.parse().unwrap()) }
    }

    #[test]
    fn the_order_is_that_of_the_method() {
        let other = |means| Configuration { name: String::new(), means };
        let ascending = [
            vec![other(Means::Plain)],
            vec![other(Means::Numactl("--localalloc".to_owned())), placed("plain,interleave=all")],
            vec![placed("thp,via=glibc"), placed("2m,via=jvm")],
            vec![placed("thp,via=supervise")],
            vec![
                placed("thp"),
                placed("2m,prefault"),
                placed("plain,threads=compact"),
                placed("thp,via=glibc,threads=compact"),
            ],
            vec![placed("thp,via=jemalloc"), placed("thp,via=mimalloc"), other(Means::PlainMimalloc)],
        ];
        for (rank, alike) in ascending.iter().enumerate() {
            for configuration in alike {
                assert_eq!(Intrusion::of(configuration).rank() as usize, rank, "{configuration:?}");
            }
        }
    }

    #[test]
    fn what_is_spared_is_what_the_other_needs() {
        let spared = |winner: &str, displaced: &str| spared(&placed(winner), &placed(displaced));
        assert_eq!(spared("thp,via=glibc", "thp"), "needs no library in front of malloc");
        assert_eq!(spared("thp", "thp,via=jemalloc"), "leaves the C library's allocator in its place");
        assert!(spared("thp,via=glibc", "thp,via=supervise").contains("no process beside"));
    }
}
