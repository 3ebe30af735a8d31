//! What a placement changes in the environment of the program.

use crate::rivals::{NotInstalled, Variable};
use firsttouch_placement::{Pages, Placement, Resolved, format_order};
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
    resolved: &Resolved,
    record: Option<&Path>,
) {
    prepend(environment, PRELOAD, ":", library.as_os_str().to_owned());
    set_agent(environment, placement, resolved, record);
    if !resolved.order.is_empty() {
        keep_openmp_from_binding(environment, resolved.order.len());
    }
}

/// Lets an agent that is set up open its control channel.
pub(crate) fn make_attachable(environment: &mut Environment) {
    if let Some(settings) = environment.get(AGENT_VARIABLE) {
        // In front: a record at the end may hold spaces.
        let mut with = OsString::from("attachable=1 ");
        with.push(settings);
        environment.set(AGENT_VARIABLE, with);
    }
}

/// Gives an agent that is set up already other settings.
pub(crate) fn set_agent(
    environment: &mut Environment,
    placement: &Placement,
    resolved: &Resolved,
    record: Option<&Path>,
) {
    environment.set(AGENT_VARIABLE, settings(placement, resolved, record));
}

/// The OpenMP library of LLVM and Intel gives every thread all CPUs when nothing is asked of it, and so would undo ours.
/// Whoever asks it for anything about CPUs is served by it. Kept from that, it takes all CPUs of the machine for its own
/// and has to be told how many there are.
fn keep_openmp_from_binding(environment: &mut Environment, cpus: usize) {
    const AFFINITY: &str = "KMP_AFFINITY";
    const THREADS: &str = "OMP_NUM_THREADS";
    let asked = [AFFINITY, "KMP_HW_SUBSET", "GOMP_CPU_AFFINITY", "OMP_PROC_BIND", "OMP_PLACES"];
    if asked.iter().any(|name| environment.get(name).is_some()) {
        return;
    }
    environment.set(AFFINITY, "disabled");
    if environment.get(THREADS).is_none() {
        environment.set(THREADS, cpus.to_string());
    }
}

/// Makes the changes of another allocator's own way.
pub(crate) fn set_up_rival(
    environment: &mut Environment,
    variables: Result<Vec<Variable>, NotInstalled>,
) -> Result<(), NotInstalled> {
    for variable in variables? {
        match variable {
            Variable::Set(name, value) => environment.set(name, value),
            Variable::Prepend(name, value) => prepend(environment, name, ":", value.into()),
            Variable::Words(name, value) => prepend(environment, name, " ", value.into()),
        }
    }
    Ok(())
}

/// Puts `value` and a separator in front of what the variable holds now.
fn prepend(environment: &mut Environment, name: &str, separator: &str, mut value: OsString) {
    if let Some(old) = environment.get(name).filter(|old| !old.is_empty()) {
        value.push(separator);
        value.push(old);
    }
    environment.set(name, value);
}

/// The agent's settings in one variable. The record comes last: a path may hold spaces.
fn settings(placement: &Placement, resolved: &Resolved, record: Option<&Path>) -> OsString {
    // Where another means places, the agent binds threads only.
    let pages = if placement.is_placed_by_agent() { placement.pages } else { Pages::Plain };
    let mut settings = OsString::from(format!(
        "{PID_PLACEHOLDER} pages={pages} min={} max={} prefault={} follow={}",
        placement.min_size,
        placement.max_size.unwrap_or(u64::MAX),
        u8::from(placement.prefault),
        u8::from(placement.follow),
    ));
    if placement.zero {
        settings.push(" zero=1");
    }
    if !resolved.weights.is_empty() {
        let shares: Vec<String> =
            resolved.weights.iter().map(|(node, weight)| format!("{node}:{weight}")).collect();
        settings.push(format!(" shares={}", shares.join(",")));
    }
    if !resolved.order.is_empty() {
        settings.push(format!(" cpus={}", format_order(&resolved.order)));
        if !placement.skip_threads.is_empty() {
            settings.push(format!(" skip={}", format_order(&placement.skip_threads)));
        }
    }
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
            settings(&placement, &Resolved::default(), Some(Path::new("/tmp/a b"))),
            "pid=0000000000 pages=2m min=4194304 max=18446744073709551615 prefault=1 follow=0 record=/tmp/a b"
        );
        let zero = "thp,zero".parse().unwrap();
        let zero = settings(&zero, &Resolved::default(), None).into_string().unwrap();
        assert!(zero.ends_with(" follow=0 zero=1"), "{zero}");
        let placement: Placement = "thp,weighted,via=glibc,threads=4-7+0,skip-threads=1-3".parse().unwrap();
        let resolved =
            Resolved { weights: vec![(0, 5), (2, 1)], order: vec![4, 5, 6, 7, 0], ..Resolved::default() };
        let settings = settings(&placement, &resolved, None).into_string().unwrap();
        assert!(settings.contains(" pages=plain "), "{settings}");
        assert!(settings.ends_with(" follow=0 shares=0:5,2:1 cpus=4-7,0 skip=1-3"), "{settings}");
    }

    #[test]
    fn the_control_channel_is_asked_for_in_front() {
        let mut environment = Environment::default();
        make_attachable(&mut environment);
        assert_eq!(environment.get(AGENT_VARIABLE), None, "there is no agent to open it");
        environment.set(AGENT_VARIABLE, "pid=0000000000 record=/tmp/a b");
        make_attachable(&mut environment);
        let settings = "attachable=1 pid=0000000000 record=/tmp/a b";
        assert_eq!(environment.get(AGENT_VARIABLE), Some(OsStr::new(settings)));
    }

    #[test]
    fn openmp_is_kept_from_undoing_our_work_unless_it_was_asked() {
        let mut environment = Environment::default();
        keep_openmp_from_binding(&mut environment, 6);
        assert_eq!(environment.get("KMP_AFFINITY"), Some(OsStr::new("disabled")));
        assert_eq!(environment.get("OMP_NUM_THREADS"), Some(OsStr::new("6")));
        let mut environment = Environment::default();
        environment.set("OMP_PROC_BIND", "close");
        keep_openmp_from_binding(&mut environment, 6);
        assert_eq!((environment.get("KMP_AFFINITY"), environment.get("OMP_NUM_THREADS")), (None, None));
    }

    #[test]
    fn what_was_preloaded_stays_behind_ours() {
        let mut environment = Environment::default();
        let library = Path::new("/a/agent.so");
        let placement = Placement::default();
        set_up_agent(&mut environment, library, &placement, &Resolved::default(), None);
        assert_eq!(environment.get(PRELOAD), Some(OsStr::new("/a/agent.so")));
        environment.set(PRELOAD, "/b.so /c.so");
        set_up_agent(&mut environment, library, &placement, &Resolved::default(), None);
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
