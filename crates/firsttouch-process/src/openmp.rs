//! The variables by which a library of OpenMP is asked to bind the threads of a program.

use crate::environment::Environment;

/// Each with the values that mean "do not".
const BINDING: [(&str, &[&str]); 6] = [
    ("OMP_PROC_BIND", &["false"]),
    ("OMP_PLACES", &[]),
    ("GOMP_CPU_AFFINITY", &[]),
    ("KMP_AFFINITY", &["none", "disabled"]),
    ("KMP_HW_SUBSET", &[]),
    ("KMP_PLACE_THREADS", &[]),
];

/// Those that ask for it, with their values.
pub fn asked_to_bind(environment: &Environment) -> Vec<(&'static str, String)> {
    let asks = |(name, off): (&'static str, &[&str])| {
        let value = environment.get(name).filter(|value| !value.is_empty())?.to_string_lossy().into_owned();
        // KMP_AFFINITY holds words and modifiers between commas.
        let is_off = value.to_lowercase().split(',').any(|word| off.contains(&word.trim()));
        (!is_off).then_some((name, value))
    };
    BINDING.into_iter().filter_map(asks).collect()
}
