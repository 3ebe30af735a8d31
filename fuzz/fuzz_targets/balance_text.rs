//! Tasks and messages as text: tables, matrices, METIS, Hopbyte; and mappings. The first byte says which; a line `--` parts
//! two files.

#![no_main]

use firsttouch_balance::formats::{
    csv_mapping, csv_messages, csv_problem, csv_tasks_of, hopbyte, mapping_csv, matrices, metis_graph,
    metis_part, metis_parts, metis_text,
};
use firsttouch_balance::{Mapping, Problem};
use firsttouch_fuzz::{Bound, two_files};
use libfuzzer_sys::fuzz_target;

/// A task is some hundred bytes with its label, an entry of a matrix a message of 24 that is kept in both directions, and
/// vectors grow by doubling.
const BOUND: Bound = Bound { fixed: 1 << 20, per_byte: 512 };

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let (first, second) = two_files(bytes);
    let bound = |read: &dyn Fn() -> Option<Problem>| BOUND.hold(bytes.len(), read);
    match choice % 6 {
        0 => {
            let Some(problem) = bound(&|| csv_problem(first, second).ok()) else { return };
            // What parts lines or fields cannot be told from what is in them; no field has blanks at its ends.
            let (tasks, messages) = (csv_tasks_of(&problem), csv_messages(&problem));
            let again =
                csv_problem(tasks.as_bytes(), Some(messages.as_bytes())).expect("what we write, we read");
            assert_eq!(again, problem);
            check_mappings(&problem);
        }
        1 => drop(bound(&|| matrices(Some(first), second).ok())),
        2 => {
            let Some(problem) = bound(&|| metis_graph(bytes).ok()) else { return };
            let text = metis_text(&problem).expect("a graph with vertices");
            let again = metis_graph(text.as_bytes()).expect("what we write, we read");
            assert_eq!((again.len(), again.pairs()), (problem.len(), problem.pairs()));
            check_mappings(&problem);
        }
        3 => drop(bound(&|| hopbyte(bytes).ok())),
        4 => {
            let Ok(problem) = csv_problem(first, None) else { return };
            let _ = BOUND.hold(bytes.len(), || csv_mapping(second.unwrap_or_default(), &problem));
        }
        _ => {
            let Ok(problem) = csv_problem(first, None) else { return };
            let _ = BOUND.hold(bytes.len(), || metis_parts(second.unwrap_or_default(), &problem));
        }
    }
});

fn check_mappings(problem: &Problem) {
    let mapping = Mapping::new((0..problem.len() as u32).map(|task| task % 3).collect());
    let table = mapping_csv(problem, &mapping, &mapping);
    assert_eq!(csv_mapping(table.as_bytes(), problem).as_ref(), Ok(&mapping));
    let parts = metis_part(&mapping);
    assert_eq!(metis_parts(parts.as_bytes(), problem).as_ref(), Ok(&mapping));
}
