//! Teams: threads bound to CPUs, in groups, that share work out among themselves.

use crate::fill::list;
use crate::ism::{kind, word};
use crate::own::Own;
use crate::region::{FirsttouchRegion, failed};
use crate::result::FirsttouchResult;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use firsttouch_linux::numa;
use firsttouch_linux::root::Root;
use firsttouch_machine::Machine;
use firsttouch_memory::{Region, RegionError};
use firsttouch_threads::{Member, PerGroup, Schedule, Team, TeamError, groups};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Threads bound to CPUs. Its functions may be called from any thread, but only one piece of work is done at a time.
#[derive(Debug)]
pub struct FirsttouchTeam {
    team: Own<Mutex<Team>>,
    group_sizes: Vec<usize>,
}

/// One thread of a team, while it works: where it belongs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirsttouchMember {
    /// Which of the team, from 0.
    pub index: u32,
    /// Members of the team.
    pub team_size: u32,
    /// The group it belongs to, from 0.
    pub group: u32,
    /// Which of its group, from 0.
    pub index_in_group: u32,
    /// Members of its group.
    pub group_size: u32,
    /// The CPU it is bound to.
    pub cpu: u32,
    /// For the library.
    pub inside: *const c_void,
}

impl FirsttouchMember {
    fn of(member: &Member<'_>) -> FirsttouchMember {
        FirsttouchMember {
            index: member.index() as u32,
            team_size: member.team_size() as u32,
            group: member.group() as u32,
            index_in_group: member.index_in_group() as u32,
            group_size: member.group_size() as u32,
            cpu: member.cpu(),
            inside: ptr::from_ref(member).cast(),
        }
    }

    /// # Safety
    /// Null, or what the work that runs now was called with.
    unsafe fn inside<'a>(member: *const FirsttouchMember) -> Option<&'a Member<'a>> {
        // SAFETY: by contract; the member lives as long as its work runs.
        unsafe { member.as_ref().and_then(|member| member.inside.cast::<Member<'a>>().as_ref()) }
    }
}

/// How a range is cut, and who gets which part.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirsttouchSchedule {
    /// Parts of so many elements, in turn over the members; with a part of 0 one for each member, all of the same length but
    /// for one element.
    Static = 0,
    /// Parts of so many elements, at least 1, to whoever asks next: for work of which nobody knows how long it takes.
    Dynamic = 1,
    /// To whoever asks next a share of what is left, one part in as many as there are members, but not fewer than so many
    /// elements.
    Guided = 2,
}

impl FirsttouchSchedule {
    fn read(number: u32, part: usize) -> Option<Schedule> {
        let all = [FirsttouchSchedule::Static, FirsttouchSchedule::Dynamic, FirsttouchSchedule::Guided];
        Some(match all.into_iter().find(|schedule| *schedule as u32 == number)? {
            FirsttouchSchedule::Static if part == 0 => Schedule::Static,
            FirsttouchSchedule::Static => Schedule::StaticParts(part),
            FirsttouchSchedule::Dynamic => Schedule::Dynamic(part),
            FirsttouchSchedule::Guided => Schedule::Guided(part),
        })
    }
}

/// Work of a member. It may call barriers, and anything else of this library; what it asks of its own team is answered `InUse`.
/// It must come back by returning. A C++ exception that leaves it, pthread_exit(3) and thread cancellation end the process, because the other
/// members, and the caller, would wait for it for ever; a longjmp(3) to before it has no meaning in C, because it runs
/// on another thread than whoever called `firsttouch_team_run`.
pub type FirsttouchWork =
    Option<unsafe extern "C-unwind" fn(member: *const FirsttouchMember, data: *mut c_void)>;

/// Work on the elements from `begin` to before `end`; otherwise as `FirsttouchWork`.
pub type FirsttouchPart = Option<
    unsafe extern "C-unwind" fn(member: *const FirsttouchMember, begin: u64, end: u64, data: *mut c_void),
>;

/// What the caller hands through to its work.
#[derive(Clone, Copy)]
struct Data(*mut c_void);
// SAFETY: whoever starts work says by it that several threads may use its data (`firsttouch_team_run`).
unsafe impl Sync for Data {}

impl Data {
    /// By a function, so that a closure that uses it holds all of this.
    fn pointer(&self) -> *mut c_void {
        self.0
    }
}

/// `6x4`: four groups of six cores each.
fn read_groups(word: &CStr) -> Option<(u32, u32)> {
    let (cores, count) = word.to_str().ok()?.split_once('x')?;
    Some((cores.parse().ok()?, count.parse().ok()?)).filter(|(cores, count)| *cores > 0 && *count > 0)
}

/// Starts a team by the cores of a group and the number of groups: `"6x4"` is four groups of six cores, one thread each. A
/// group lies within a node, and within a last-level cache where one has room; groups are spread evenly over the nodes. The CPUs are
/// those that the calling thread may run on.
///
/// # Safety
/// `groups` is null or a C string; `team` a pointer to be filled: it is set to null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_team_start(
    groups: *const c_char,
    team: *mut *mut FirsttouchTeam,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let Some(team) = (unsafe { team.as_mut() }) else { return FirsttouchResult::BadArgument };
    *team = ptr::null_mut();
    // SAFETY: by contract.
    let Some((cores, count)) = unsafe { word(groups) }.and_then(read_groups) else {
        return FirsttouchResult::BadArgument;
    };
    // A machine that tells nothing has room for nothing.
    let machine = Machine::read(&Root::live()).unwrap_or_default();
    let allowed: Vec<u32> = numa::affinity(0).map_or(Vec::new(), |cpus| cpus.iter().collect());
    match self::groups(&machine, &allowed, cores, count) {
        Ok(order) => start(&order.chunks(cores as usize).map(<[u32]>::to_vec).collect::<Vec<_>>(), team),
        Err(_) => FirsttouchResult::NoRoom,
    }
}

/// Starts a team on these CPUs: the first `group_sizes[0]` are those of the first group, and so on. A CPU may be named
/// several times.
///
/// # Safety
/// `group_sizes` is null or has `group_count` rows, `cpus` null or as many as these are together; `team` is a pointer to be
/// filled: it is set to null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_team_start_on(
    cpus: *const u32,
    group_sizes: *const usize,
    group_count: usize,
    team: *mut *mut FirsttouchTeam,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let Some(team) = (unsafe { team.as_mut() }) else { return FirsttouchResult::BadArgument };
    *team = ptr::null_mut();
    // SAFETY: by contract.
    let Some(sizes) = (unsafe { list(group_sizes, group_count) }) else {
        return FirsttouchResult::BadArgument;
    };
    let Some(count) = sizes.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size)) else {
        return FirsttouchResult::BadArgument;
    };
    // SAFETY: by contract.
    let Some(mut cpus) = (unsafe { list(cpus, count) }) else { return FirsttouchResult::BadArgument };
    let take = |size: &usize| {
        let (own, others) = cpus.split_at(*size);
        cpus = others;
        own.to_vec()
    };
    start(&sizes.iter().map(take).collect::<Vec<_>>(), team)
}

fn start(groups: &[Vec<u32>], team: &mut *mut FirsttouchTeam) -> FirsttouchResult {
    match Team::new(groups) {
        Ok(started) => {
            let group_sizes = started.group_sizes().to_vec();
            let made = FirsttouchTeam { team: Own::new(Mutex::new(started)), group_sizes };
            *team = Box::into_raw(Box::new(made));
            FirsttouchResult::Ok
        }
        Err(TeamError::Empty) => FirsttouchResult::BadArgument,
        Err(TeamError::Bind { source, .. }) => FirsttouchResult::NoCpu.because_of(&source),
        Err(TeamError::Start { source, .. }) => FirsttouchResult::NoThread.because_of(&source),
    }
}

impl FirsttouchTeam {
    /// The team, for one piece of work.
    ///
    /// # Safety
    /// Null or a live team.
    unsafe fn get<'a>(team: *const FirsttouchTeam) -> Result<MutexGuard<'a, Team>, FirsttouchResult> {
        // SAFETY: by contract.
        let team = unsafe { team.as_ref() }.ok_or(FirsttouchResult::BadArgument)?;
        match team.team.get().ok_or(FirsttouchResult::OtherProcess)?.try_lock() {
            Ok(team) => Ok(team),
            Err(TryLockError::Poisoned(team)) => Ok(team.into_inner()),
            Err(TryLockError::WouldBlock) => Err(FirsttouchResult::InUse),
        }
    }
}

/// Threads of the team; 0 for null.
///
/// # Safety
/// Null or a live team.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_team_size(team: *const FirsttouchTeam) -> usize {
    // SAFETY: by contract.
    unsafe { team.as_ref() }.map_or(0, |team| team.group_sizes.iter().sum())
}

/// Groups of the team; 0 for null.
///
/// # Safety
/// Null or a live team.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_team_groups(team: *const FirsttouchTeam) -> usize {
    // SAFETY: by contract.
    unsafe { team.as_ref() }.map_or(0, |team| team.group_sizes.len())
}

/// Lets every member do `work` once, all at the same time, and waits for the last. What was written before is seen by the
/// members, and what they wrote is seen afterwards.
///
/// # Safety
/// `team` is null or a live team; `work` is null or a function that several threads may call at once with `data`, and that
/// comes back by returning.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_team_run(
    team: *const FirsttouchTeam,
    work: FirsttouchWork,
    data: *mut c_void,
) -> FirsttouchResult {
    let Some(work) = work else { return FirsttouchResult::BadArgument };
    // SAFETY: by contract.
    let mut team = match unsafe { FirsttouchTeam::get(team) } {
        Ok(team) => team,
        Err(result) => return result,
    };
    let data = Data(data);
    team.run(|member| {
        let member = FirsttouchMember::of(member);
        // SAFETY: by contract; the member outlives the call.
        unsafe { work(&raw const member, data.pointer()) };
    });
    FirsttouchResult::Ok
}

/// Calls `work` with parts of the range from `begin` to before `end` that together are all of it, each part once, cut and
/// handed out as `schedule` (a `FirsttouchSchedule`) and `part` say; waits for the last. Otherwise as `firsttouch_team_run`.
///
/// # Safety
/// As for `firsttouch_team_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_team_for(
    team: *const FirsttouchTeam,
    begin: u64,
    end: u64,
    schedule: u32,
    part: u64,
    work: FirsttouchPart,
    data: *mut c_void,
) -> FirsttouchResult {
    let (Ok(first), Ok(last), Ok(part)) =
        (usize::try_from(begin), usize::try_from(end), usize::try_from(part))
    else {
        return FirsttouchResult::BadArgument;
    };
    let (Some(work), Some(schedule)) = (work, FirsttouchSchedule::read(schedule, part)) else {
        return FirsttouchResult::BadArgument;
    };
    if first > last {
        return FirsttouchResult::BadArgument;
    }
    // SAFETY: by contract.
    let mut team = match unsafe { FirsttouchTeam::get(team) } {
        Ok(team) => team,
        Err(result) => return result,
    };
    let data = Data(data);
    team.for_each(first..last, schedule, |member, part| {
        let member = FirsttouchMember::of(member);
        // SAFETY: by contract; the member outlives the call.
        unsafe { work(&raw const member, part.start as u64, part.end as u64, data.pointer()) };
    });
    FirsttouchResult::Ok
}

/// Waits until every member of the team has come here. 1 for one of them, no matter which, 0 for the others and for null.
/// Every member must come equally often.
///
/// # Safety
/// Null, or what the work that calls this was called with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_barrier(member: *const FirsttouchMember) -> c_int {
    // SAFETY: by contract.
    c_int::from(unsafe { FirsttouchMember::inside(member) }.is_some_and(Member::barrier))
}

/// Waits until every member of the group has come here; otherwise as `firsttouch_barrier`.
///
/// # Safety
/// Null, or what the work that calls this was called with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_group_barrier(member: *const FirsttouchMember) -> c_int {
    // SAFETY: by contract.
    c_int::from(unsafe { FirsttouchMember::inside(member) }.is_some_and(Member::group_barrier))
}

/// Storage for each group: maps a region of at least `bytes` zeroed bytes on pages of a kind (as `firsttouch_region_map`) for
/// every group. The group's first member creates its pages, so that they lie on the group's node unless the process has
/// another memory policy. The regions are the caller's, to be freed one by one.
///
/// # Safety
/// `team` is null or a live team, `pages` null or a C string; `regions` has `firsttouch_team_groups` rows to be filled: they
/// are set to null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_team_map(
    team: *const FirsttouchTeam,
    bytes: u64,
    pages: *const c_char,
    regions: *mut *mut FirsttouchRegion,
) -> FirsttouchResult {
    if team.is_null() || regions.is_null() {
        return FirsttouchResult::BadArgument;
    }
    // SAFETY: by contract.
    let count = unsafe { firsttouch_team_groups(team) };
    // SAFETY: by contract.
    let regions = unsafe { core::slice::from_raw_parts_mut(regions, count) };
    regions.fill(ptr::null_mut());
    // SAFETY: by contract.
    let Some(word) = (unsafe { word(pages) }) else { return FirsttouchResult::BadArgument };
    let Some(asked) = kind(word) else { return FirsttouchResult::BadPages };
    let Some(bytes) = usize::try_from(bytes).ok().filter(|bytes| *bytes > 0) else {
        return FirsttouchResult::BadArgument;
    };
    // SAFETY: by contract.
    let mut team = match unsafe { FirsttouchTeam::get(team) } {
        Ok(team) => team,
        Err(result) => return result,
    };
    let make = |_: &Member<'_>| -> Result<Region, RegionError> {
        let mut region = Region::map(bytes, asked, None)?;
        region.prefault()?;
        Ok(region)
    };
    match PerGroup::new(&mut team, make).into_values().into_iter().collect::<Result<Vec<Region>, _>>() {
        Ok(made) => {
            for (row, region) in regions.iter_mut().zip(made) {
                *row = FirsttouchRegion::new(region, asked, None).into_raw();
            }
            FirsttouchResult::Ok
        }
        Err(error) => failed(error),
    }
}

/// Ends the team's threads. Null is nothing, and `Ok`; a team at work is left as it is, and `InUse` is the answer.
///
/// # Safety
/// Null or a live team that nobody begins to use any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_team_stop(team: *mut FirsttouchTeam) -> FirsttouchResult {
    // SAFETY: by contract.
    if unsafe { FirsttouchTeam::get(team) }.is_err_and(|result| result == FirsttouchResult::InUse) {
        return FirsttouchResult::InUse;
    }
    if !team.is_null() {
        // SAFETY: made by `start`, and not used again, by contract.
        drop(unsafe { Box::from_raw(team) });
    }
    FirsttouchResult::Ok
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_schedules_are_read_or_refused() {
        assert_eq!(read_groups(c"6x4"), Some((6, 4)));
        for wrong in [c"", c"6", c"x", c"6x", c"0x4", c"6x0", c"-6x4", c"6x4x2", c"6x99999999999"] {
            assert_eq!(read_groups(wrong), None, "{wrong:?}");
        }
        assert_eq!(FirsttouchSchedule::read(0, 0), Some(Schedule::Static));
        assert_eq!(FirsttouchSchedule::read(0, 3), Some(Schedule::StaticParts(3)));
        assert_eq!(FirsttouchSchedule::read(2, 3), Some(Schedule::Guided(3)));
        assert_eq!(FirsttouchSchedule::read(3, 3), None);
    }
}
