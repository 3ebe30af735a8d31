//! What a configuration asks of the machine and of the program: of two that cannot be told apart, the one that asks less is
//! recommended.

use crate::configurations::{Configuration, Means};
use firsttouch_placement::{Pages, Placement, Prefault, Via};

/// What a configuration asks, in the order in which it weighs: a pool is memory that nobody else has, whether it is used or not; what is
/// prefaulted is memory that the program may never touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Intrusion {
    pool: bool,
    prefault: bool,
    means: Intruder,
}

/// What a configuration puts into or around a program, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Intruder {
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

/// How many there are.
const INTRUDERS: u32 = Intruder::Allocator as u32 + 1;

impl Intrusion {
    /// That of a configuration.
    pub(crate) fn of(configuration: &Configuration) -> Intrusion {
        let placement = configuration.placement();
        Intrusion {
            pool: placement.is_some_and(|placement| placement.pages.is_reserved()),
            prefault: placement.is_some_and(|placement| placement.prefault != Prefault::No),
            means: match &configuration.means {
                Means::Plain => Intruder::Nothing,
                Means::Placed(placement) => Intruder::of_placement(placement),
            },
        }
    }

    /// The order as a number, for whoever need not know what it means.
    pub(crate) fn rank(self) -> u32 {
        (2 * u32::from(self.pool) + u32::from(self.prefault)) * INTRUDERS + self.means as u32
    }
}

impl Intruder {
    fn of_placement(placement: &Placement) -> Intruder {
        let places_pages = placement.pages != Pages::Plain || placement.keep;
        match placement.via {
            Via::Mimalloc | Via::Jemalloc => Intruder::Allocator,
            // Threads are bound by the agent, whoever places the memory.
            _ if placement.needs_agent() => Intruder::Agent,
            Via::Supervise if places_pages => Intruder::Outside,
            Via::Glibc | Via::Jvm if places_pages => Intruder::Setting,
            _ => Intruder::Inherited,
        }
    }
}

/// What the recommended one spares beside the fastest, in words that follow its name.
pub(crate) fn spared(recommended: &Configuration, fastest: &Configuration) -> String {
    let (recommended, fastest) = (Intrusion::of(recommended), Intrusion::of(fastest));
    if !recommended.pool && fastest.pool {
        return "needs no pool of reserved pages".to_owned();
    }
    if !recommended.prefault && fastest.prefault {
        return "creates no pages before the program touches them".to_owned();
    }
    match (recommended.means, fastest.means) {
        (Intruder::Agent, _) => "leaves the C library's allocator in its place",
        (_, Intruder::Allocator | Intruder::Agent) => "needs no library in front of malloc",
        (_, Intruder::Outside) => "needs no process beside the program, and no rights",
        (_, Intruder::Setting) => "needs no setting of the program's own",
        (_, Intruder::Inherited | Intruder::Nothing) => "needs nothing at all",
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
        let ascending = [
            vec![Configuration { name: String::new(), means: Means::Plain }],
            vec![placed("plain,interleave=all"), placed("plain,prefer=0,cpus=nodes=0")],
            vec![placed("thp,via=glibc"), placed("plain,keep,via=glibc"), placed("thp,via=jvm")],
            vec![placed("thp,via=supervise")],
            vec![
                placed("thp"),
                placed("4k"),
                placed("plain,threads=compact"),
                placed("thp,via=glibc,threads=compact"),
            ],
            vec![placed("thp,via=jemalloc"), placed("thp,keep,via=mimalloc"), placed("plain,via=mimalloc")],
            vec![placed("thp,prefault"), placed("thp,prefault=background")],
            vec![placed("2m,via=glibc"), placed("2m,via=jvm")],
            vec![placed("2m")],
            vec![placed("2m,prefault")],
        ];
        let rank = |configuration| Intrusion::of(configuration).rank();
        for alike in &ascending {
            assert!(alike.iter().all(|one| rank(one) == rank(&alike[0])), "{alike:?}");
        }
        assert!(ascending.is_sorted_by(|left, right| rank(&left[0]) < rank(&right[0])));
        let orders =
            |left, right| Intrusion::of(left).cmp(&Intrusion::of(right)) == rank(left).cmp(&rank(right));
        let all: Vec<&Configuration> = ascending.iter().flatten().collect();
        assert!(all.iter().all(|left| all.iter().all(|right| orders(left, right))));
    }

    #[test]
    fn what_is_spared_is_what_the_other_needs() {
        let spared = |recommended: &str, fastest: &str| spared(&placed(recommended), &placed(fastest));
        assert_eq!(spared("thp", "2m"), "needs no pool of reserved pages");
        assert_eq!(spared("thp", "thp,prefault"), "creates no pages before the program touches them");
        assert_eq!(spared("thp,via=glibc", "thp"), "needs no library in front of malloc");
        assert_eq!(spared("thp", "thp,via=jemalloc"), "leaves the C library's allocator in its place");
        assert!(spared("thp,via=glibc", "thp,via=supervise").contains("no process beside"));
    }
}
