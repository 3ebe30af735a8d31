//! What a placement changes in the environment of the program.

use crate::rivals::{NotInstalled, Variable};
use firsttouch_placement::Placement;
use firsttouch_process::{AGENT_VARIABLE, Environment, PID_PLACEHOLDER};
use std::ffi::OsString;
use std::path::Path;

/// What the loader loads into every program.
const PRELOAD: &str = "LD_PRELOAD";

/// The environment of this process.
pub(crate) fn own() -> Environment {
    std::env::vars_os().collect()
}

/// Sets up the agent, whose file is `library`, with its record going to `record`.
pub(crate) fn set_up_agent(
    environment: &mut Environment,
    library: &Path,
    placement: &Placement,
    record: Option<&Path>,
) {
    prepend(environment, PRELOAD, library.as_os_str().to_owned());
    set_agent(environment, placement, record);
}

/// Gives an agent that is set up already other settings.
pub(crate) fn set_agent(environment: &mut Environment, placement: &Placement, record: Option<&Path>) {
    environment.set(AGENT_VARIABLE, settings(placement, record));
}

/// Makes the changes of another allocator's own way.
pub(crate) fn set_up_rival(
    environment: &mut Environment,
    variables: Result<Vec<Variable>, NotInstalled>,
) -> Result<(), NotInstalled> {
    for variable in variables? {
        match variable {
            Variable::Set(name, value) => environment.set(name, value),
            Variable::Prepend(name, value) => prepend(environment, name, value.into()),
        }
    }
    Ok(())
}

/// Puts `value` and a colon in front of what the variable holds now.
fn prepend(environment: &mut Environment, name: &str, mut value: OsString) {
    if let Some(old) = environment.get(name).filter(|old| !old.is_empty()) {
        value.push(":");
        value.push(old);
    }
    environment.set(name, value);
}

/// The agent's settings in one variable. The record comes last: a path may hold spaces.
fn settings(placement: &Placement, record: Option<&Path>) -> OsString {
    let mut settings = OsString::from(format!(
        "{PID_PLACEHOLDER} pages={} min={} max={} prefault={} follow={}",
        placement.pages,
        placement.min_size,
        placement.max_size.unwrap_or(u64::MAX),
        u8::from(placement.prefault),
        u8::from(placement.follow),
    ));
    if let Some(record) = record {
        settings.push(" record=");
        settings.push(record);
    }
    settings
}

/// Variables with which a shell bends the choice of OpenBLAS: the same program would run other code elsewhere.
const OPENBLAS: [&str; 3] = ["OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_VERBOSE"];

/// Takes away what would decide the speed of linear algebra instead of the placement; returns the names that were
/// set.
pub(crate) fn free_openblas(environment: &mut Environment) -> Vec<&'static str> {
    let set: Vec<&str> = OPENBLAS.into_iter().filter(|name| environment.get(name).is_some()).collect();
    for name in &set {
        environment.unset(name);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn the_settings_are_those_the_agent_reads() {
        let placement: Placement = "2m,min-size=4M,prefault".parse().unwrap();
        assert_eq!(
            settings(&placement, Some(Path::new("/tmp/a b"))),
            "pid=0000000000 pages=2m min=4194304 max=18446744073709551615 prefault=1 follow=0 record=/tmp/a b"
        );
    }

    #[test]
    fn what_was_preloaded_stays_behind_ours() {
        let mut environment = Environment::default();
        let library = Path::new("/a/agent.so");
        let placement = Placement::default();
        set_up_agent(&mut environment, library, &placement, None);
        assert_eq!(environment.get(PRELOAD), Some(OsStr::new("/a/agent.so")));
        environment.set(PRELOAD, "/b.so /c.so");
        set_up_agent(&mut environment, library, &placement, None);
        assert_eq!(environment.get(PRELOAD), Some(OsStr::new("/a/agent.so:/b.so /c.so")));
    }

    #[test]
    fn openblas_is_left_to_choose() {
        let mut environment = Environment::default();
        environment.set("OPENBLAS_CORETYPE", "Haswell");
        environment.set("OPENBLAS_NUM_THREADS", "2");
        assert_eq!(free_openblas(&mut environment), ["OPENBLAS_CORETYPE"]);
        assert_eq!(environment.get("OPENBLAS_CORETYPE"), None);
        assert_eq!(environment.get("OPENBLAS_NUM_THREADS"), Some(OsStr::new("2")));
    }
}
