//! What a placement changes in the environment of the program.

use crate::alternatives::{NotInstalled, Variable};
use firsttouch_linux::trials;
use firsttouch_memory::agent_settings::{AgentSettings, Numbers, VARIABLE};
use firsttouch_memory::object_places::{self, ObjectPlace};
use firsttouch_memory::{NodePolicy, Settings};
use firsttouch_placement::{Pages, Placement, Resolved};
use firsttouch_process::{Environment, asked_to_bind};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What the loader loads into every program.
const PRELOAD: &str = "LD_PRELOAD";

/// The folders where we keep things of a user, the first one before the others.
pub(crate) fn caches(environment: &Environment) -> impl Iterator<Item = PathBuf> {
    let absolute = |name: &str| environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").map(|cache| cache.join("firsttouch"));
    // A home that does not exist (services have such) is not ours to make.
    let home = absolute("HOME").filter(|home| home.is_dir()).map(|home| home.join(".cache/firsttouch"));
    [cache, home].into_iter().flatten()
}

/// Sets up the agent, whose file is `library`.
pub(crate) fn set_up_agent(environment: &mut Environment, library: &Path, settings: &AgentSettings<'_>) {
    prepend(environment, PRELOAD, ":", library.as_os_str().to_owned());
    set_agent(environment, settings);
    let cpus = settings.cpus.iter().count();
    if cpus > 0 {
        keep_openmp_from_binding(environment, cpus);
    }
}

/// Gives an agent that is set up already other settings.
pub(crate) fn set_agent(environment: &mut Environment, settings: &AgentSettings<'_>) {
    let mut text = Vec::new();
    settings.write(|piece| text.extend_from_slice(piece));
    environment.set(VARIABLE, OsString::from_vec(text));
}

/// The OpenMP library of LLVM and Intel gives every thread all CPUs when nothing is asked of it, or that it binds none, and so
/// would undo ours. Whoever asks it for anything about CPUs is served by it. Kept from that, it takes all CPUs of the machine for
/// its own and has to be told how many there are.
fn keep_openmp_from_binding(environment: &mut Environment, cpus: usize) {
    const THREADS: &str = "OMP_NUM_THREADS";
    if !asked_to_bind(environment).is_empty() {
        return;
    }
    environment.set("KMP_AFFINITY", "disabled");
    // It can be false only, which is what holds without it; the library warns where both are set.
    environment.unset("OMP_PROC_BIND");
    if environment.get(THREADS).is_none() {
        environment.set(THREADS, cpus.to_string());
    }
}

/// Makes the changes of another allocator's own way.
pub(crate) fn set_up_alternative(
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

/// Tells the program where memory of its own names goes.
pub(crate) fn set_objects(environment: &mut Environment, objects: &[(String, Pages, NodePolicy)]) {
    if objects.is_empty() {
        return;
    }
    let entry = |(name, pages, memory): &(String, Pages, NodePolicy)| {
        ObjectPlace { name, pages: *pages, memory: *memory }.to_string()
    };
    environment.set(object_places::VARIABLE, objects.iter().map(entry).collect::<Vec<_>>().join(";"));
}

/// Puts `value` and a separator in front of what the variable holds now.
fn prepend(environment: &mut Environment, name: &str, separator: &str, mut value: OsString) {
    if let Some(old) = environment.get(name).filter(|old| !old.is_empty()) {
        value.push(separator);
        value.push(old);
    }
    environment.set(name, value);
}

/// What a placement asks of the agent.
pub(crate) fn agent_settings<'a>(
    placement: &'a Placement,
    resolved: &'a Resolved,
    record: Option<&'a Path>,
) -> AgentSettings<'a> {
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let standard = AgentSettings::STANDARD;
    AgentSettings {
        memory: Settings {
            // Where another means places, the agent binds threads only.
            pages: if placement.is_placed_by_agent() { placement.pages } else { Pages::Plain },
            min_bytes: bytes(placement.min_size),
            max_bytes: placement.max_size.map_or(usize::MAX, bytes),
            zero: placement.zero,
            shares: resolved.memory.of_agent(),
            may_ask_for_residency: trials::may_ask_for_residency(),
            ..standard.memory
        },
        prefault: placement.prefault,
        follow: placement.follow,
        cpus: Numbers::of(&resolved.order),
        skip: if resolved.order.is_empty() { Numbers::NONE } else { Numbers::of(&placement.skip_threads) },
        record: record.map(|path| path.as_os_str().as_bytes()),
        ..standard
    }
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
    use firsttouch_memory::Shares;
    use firsttouch_placement::{Prefault, ResolvedMemory};
    use std::ffi::OsStr;

    #[test]
    fn a_placement_is_what_the_agent_is_asked_for() {
        let placement: Placement = "2m,min-size=4M,prefault".parse().unwrap();
        let resolved = Resolved::default();
        let settings = agent_settings(&placement, &resolved, Some(Path::new("/tmp/a b")));
        assert_eq!((settings.memory.pages, settings.memory.min_bytes), (Pages::Huge2M, 4 << 20));
        assert_eq!((settings.prefault, settings.record), (Prefault::AtOnce, Some(&b"/tmp/a b"[..])));
        let placement: Placement = "thp,weighted,via=glibc,threads=4-7+0,skip-threads=1-3".parse().unwrap();
        let weights = vec![(0, 5), (2, 1)];
        let shares = Shares::of(&weights).unwrap();
        let memory = ResolvedMemory::Weighted { weights, by_kernel: false };
        let resolved = Resolved { memory, order: vec![4, 5, 6, 7, 0], ..Resolved::default() };
        let settings = agent_settings(&placement, &resolved, None);
        assert_eq!((settings.memory.pages, settings.cpus.to_string()), (Pages::Plain, "4-7,0".to_owned()));
        assert!(settings.memory.shares == shares && settings.skip.iter().eq(1..=3));
    }

    #[test]
    fn a_program_is_told_where_its_objects_go() {
        let mut environment = Environment::default();
        set_objects(&mut environment, &[]);
        assert_eq!(environment.get(object_places::VARIABLE), None);
        let table = ("table".to_owned(), Pages::Huge2M, NodePolicy::Local);
        set_objects(&mut environment, &[("b".to_owned(), Pages::Transparent, NodePolicy::Inherited), table]);
        assert_eq!(
            environment.get(object_places::VARIABLE),
            Some(OsStr::new("b=thp/inherit;table=2m/local"))
        );
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
        for (name, value) in
            [("KMP_AFFINITY", "verbose,none"), ("OMP_PROC_BIND", "FALSE"), ("OMP_PLACES", "")]
        {
            let mut environment = Environment::default();
            environment.set(name, value);
            keep_openmp_from_binding(&mut environment, 6);
            assert_eq!(environment.get("KMP_AFFINITY"), Some(OsStr::new("disabled")), "{name}={value}");
            assert_eq!(environment.get("OMP_PROC_BIND"), None);
        }
    }

    #[test]
    fn what_was_preloaded_stays_behind_ours() {
        let mut environment = Environment::default();
        let library = Path::new("/a/agent.so");
        set_up_agent(&mut environment, library, &AgentSettings::STANDARD);
        assert_eq!(environment.get(PRELOAD), Some(OsStr::new("/a/agent.so")));
        environment.set(PRELOAD, "/b.so /c.so");
        set_up_agent(&mut environment, library, &AgentSettings::STANDARD);
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
