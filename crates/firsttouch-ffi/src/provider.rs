//! Who places the blocks of this process: the agent, if it was preloaded; another copy of this library, if that serves the
//! process already; otherwise this one.
//!
//! Two that redirect the same calls would each take the other's functions for the process's own.

use crate::object;
use crate::serving::firsttouch_ism_serves;
use crate::status::{FirsttouchBlock, FirsttouchIsmStatus};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use firsttouch_memory::{AgentBlock, AgentStatus};
use std::ffi::CString;
use std::ops::ControlFlow::Continue;

/// The functions of a preloaded agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agent {
    pub(crate) enable: unsafe extern "C" fn(*const c_char, u64, u64) -> c_int,
    pub(crate) disable: extern "C" fn(),
    pub(crate) status: unsafe extern "C" fn(*mut AgentStatus, usize),
    pub(crate) list: unsafe extern "C" fn(*mut AgentBlock, usize) -> usize,
    pub(crate) trim: extern "C" fn(),
}

/// The functions of another copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) on: unsafe extern "C" fn(*const c_char, u64, u64) -> c_int,
    pub(crate) off: extern "C" fn(),
    pub(crate) choose: unsafe extern "C" fn(*const c_char) -> c_int,
    pub(crate) status: unsafe extern "C" fn(*mut FirsttouchIsmStatus, usize) -> c_int,
    pub(crate) list: unsafe extern "C" fn(*mut FirsttouchBlock, usize) -> usize,
    pub(crate) trim: extern "C" fn(),
}

/// Who places blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Provider {
    Agent(Agent),
    Copy(Copy),
    Own,
}

impl Provider {
    /// Finds out.
    pub(crate) fn find() -> Provider {
        if let Some(agent) = agent() {
            Provider::Agent(agent)
        } else if let Some(copy) = other_copy() {
            Provider::Copy(copy)
        } else {
            Provider::Own
        }
    }
}

fn look_up(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks a name up in a library that is loaded.
    Some(unsafe { libc::dlsym(handle, name.as_ptr()) }).filter(|found| !found.is_null())
}

fn agent() -> Option<Agent> {
    let find = |name| look_up(libc::RTLD_DEFAULT, name);
    // SAFETY: functions of the agent, which have these types (its control interface grows at the end only).
    unsafe {
        Some(Agent {
            enable: transmute::<*mut c_void, unsafe extern "C" fn(*const c_char, u64, u64) -> c_int>(find(
                c"firsttouch_agent_enable",
            )?),
            disable: transmute::<*mut c_void, extern "C" fn()>(find(c"firsttouch_agent_disable")?),
            status: transmute::<*mut c_void, unsafe extern "C" fn(*mut AgentStatus, usize)>(find(
                c"firsttouch_agent_status",
            )?),
            list: transmute::<*mut c_void, unsafe extern "C" fn(*mut AgentBlock, usize) -> usize>(find(
                c"firsttouch_agent_list",
            )?),
            trim: transmute::<*mut c_void, extern "C" fn()>(find(c"firsttouch_agent_trim")?),
        })
    }
}

/// Another copy of this library that has begun to redirect. Languages load their bindings out of each other's sight, so
/// every loaded object is asked.
fn other_copy() -> Option<Copy> {
    let mut paths: Vec<CString> = Vec::new();
    object::each(|_, object| {
        paths.push(object.path().to_owned());
        Continue(())
    });
    paths.iter().find_map(|path| copy_in(path))
}

fn copy_in(path: &CStr) -> Option<Copy> {
    let path = if path.is_empty() { core::ptr::null() } else { path.as_ptr() };
    // SAFETY: a library that is loaded already, or null.
    let handle = unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return None;
    }
    let find = |name| look_up(handle, name);
    let own = firsttouch_ism_serves as *const c_void;
    let serves = find(c"firsttouch_ism_serves").filter(|serves| serves.cast_const() != own);
    let found = serves.and_then(|_| find(c"firsttouch_ism_on")).and_then(|on| {
        // SAFETY: functions of another copy, whose interface only grows.
        unsafe {
            Some(Copy {
                on: transmute::<*mut c_void, unsafe extern "C" fn(*const c_char, u64, u64) -> c_int>(on),
                off: transmute::<*mut c_void, extern "C" fn()>(find(c"firsttouch_ism_off")?),
                choose: transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> c_int>(find(
                    c"firsttouch_ism_choose",
                )?),
                status: transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut FirsttouchIsmStatus, usize) -> c_int,
                >(find(c"firsttouch_ism_status")?),
                list: transmute::<*mut c_void, unsafe extern "C" fn(*mut FirsttouchBlock, usize) -> usize>(
                    find(c"firsttouch_ism_list")?,
                ),
                trim: transmute::<*mut c_void, extern "C" fn()>(find(c"firsttouch_ism_trim")?),
            })
        }
    });
    // Not by its status: a copy that does not serve would ask us in turn.
    let serving = found.filter(|_| {
        serves.is_some_and(|serves| {
            // SAFETY: the function of another copy, of this type.
            let serves: extern "C" fn() -> c_int = unsafe { transmute(serves) };
            serves() != 0
        })
    });
    if serving.is_none() {
        // SAFETY: gives back the reference that dlopen took; a copy that serves keeps it.
        unsafe { libc::dlclose(handle) };
    }
    serving
}
