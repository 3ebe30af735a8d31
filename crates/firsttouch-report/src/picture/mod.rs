//! A machine as a picture: what is inside what, which memory is next to which cores, and what hangs where.
//!
//! [`text`] is for the terminal, [`svg`] a figure of its own. Both draw the same tree (`boxes`): packages, dies, nodes,
//! clusters and shared caches by the CPUs they hold. A thing that holds the same CPUs as the one around it is a line
//! in there, not a box, so that nothing is drawn twice.

mod boxes;
mod drawing;
mod frames;

use boxes::Part;
use firsttouch_machine::Machine;

/// The machine in boxes of characters, at most `width` columns wide where that is possible.
pub fn text(machine: &Machine, width: usize) -> String {
    frames::draw(&Part::of(machine), width)
}

/// The machine as SVG.
pub fn svg(machine: &Machine) -> String {
    drawing::draw(&Part::of(machine), machine.cpu_model.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_machine::Machine;
    use proptest::prelude::*;

    fn described(text: &str) -> Machine {
        Machine::from_source(text).unwrap()
    }

    #[test]
    fn a_small_machine_is_drawn_as_it_is() {
        let machine = described("pack:2 [numa(memory=8GiB)] l3:1(size=6MiB) core:2 pu:2");
        let expected = "\
┌─ machine ────────────────────────────────────────┐
│ ┌─ package 0 ──────────┐ ┌─ package 1 ──────────┐│
│ │ node 0: 8 GiB dram   │ │ node 1: 8 GiB dram   ││
│ │ L3 6 MiB             │ │ L3 6 MiB             ││
│ │ cores 0,1 2,3        │ │ cores 4,5 6,7        ││
│ └──────────────────────┘ └──────────────────────┘│
└──────────────────────────────────────────────────┘
";
        let drawn = text(&machine, 100);
        let plain = |text: &str| {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        let words = |text: &str| {
            plain(text)
                .join("\n")
                .replace(['─', '┌', '┐', '└', '┘', '│', '|'], " ")
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&drawn), words(expected), "\n{drawn}");
    }

    #[test]
    fn lines_have_one_width_and_fit() {
        for (description, width) in [
            ("pack:4 [numa] l3:1 core:6 pu:1", 100),
            ("pack:8 [numa] core:2 pu:1", 60),
            ("pack:1 group:4 [numa] [numa] core:16 pu:4", 100),
            ("64 2 8 2", 80),
        ] {
            let drawn = text(&described(description), width);
            let widths: Vec<usize> = drawn.lines().map(crate::visible::columns).collect();
            assert!(widths.iter().all(|own| *own == widths[0] && *own <= width), "{description}\n{drawn}");
        }
    }

    proptest! {
        #[test]
        fn any_machine_is_drawn(words in prop::collection::vec("(pack|die|l3|l2|core):[1-3]|\\[numa\\]|\\[numa\\(memory=[0-9]GB\\)\\]", 0..6), width in 0_usize..150) {
            if let Ok(machine) = Machine::from_source(&format!("{} pu:2", words.join(" "))) {
                let drawn = text(&machine, width);
                let widths: Vec<usize> = drawn.lines().map(crate::visible::columns).collect();
                prop_assert!(widths.iter().all(|own| *own == widths[0]), "{drawn}");
                prop_assert!(svg(&machine).ends_with("</svg>\n"));
            }
        }
    }

    #[test]
    fn memory_without_cpus_is_drawn_beside() {
        let drawn = text(&described("pack:1 [numa] [numa(memory=16GiB)] core:2 pu:1"), 80);
        assert!(drawn.contains("╌ node 1: 16 GiB"), "{drawn}");
        assert!(drawn.contains("no cpus"), "{drawn}");
    }

    #[test]
    fn a_figure_names_what_it_shows_and_refers_to_nothing() {
        let figure = svg(&described("pack:2 [numa] l3:1 core:6 pu:2"));
        for wanted in
            ["<svg", "package 1", "node 0: 1 GiB dram", "xmlns=\"http://www.w3.org/2000/svg\"", "22,23"]
        {
            assert!(figure.contains(wanted), "{wanted} in {figure}");
        }
        for unwanted in ["<script", "href", "style=", "url("] {
            assert!(!figure.contains(unwanted), "{unwanted}");
        }
    }

    #[test]
    fn names_of_strangers_are_shown_and_not_obeyed() {
        let mut machine = described("pack:1 [numa] core:1 pu:1");
        machine.cpu_model = Some("<b>\u{1b}[31m".to_owned());
        assert!(!text(&machine, 80).contains('\u{1b}'));
        let figure = svg(&machine);
        assert!(!figure.contains('\u{1b}') && !figure.contains("<b>"), "{figure}");
    }
}
