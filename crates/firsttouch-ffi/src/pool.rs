//! Pools: regions that are ready, because they were created and cleared when nobody needed the processor.

use crate::fill::FirsttouchFiller;
use crate::ism::{kind, word};
use crate::own::Own;
use crate::region::{FirsttouchRegion, failed};
use crate::result::FirsttouchResult;
use core::ffi::{c_char, c_int};
use core::ptr;
use core::time::Duration;
use firsttouch_fill::{Pool, Stock};
use firsttouch_memory::Pages;

/// What a pool holds, and how much of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirsttouchStock {
    /// Size of each region, rounded up to whole pages.
    pub region_bytes: u64,
    /// The kind of pages, as for `firsttouch_region_map`.
    pub pages: *const c_char,
    /// The node to take memory from; -1 is anywhere.
    pub node: i32,
    /// Regions that are kept ready.
    pub ready: u32,
    /// Regions that are kept at most, ready or waiting to be cleared; others that are given back are unmapped.
    pub most: u32,
    /// Regions beyond `ready` are unmapped when none was taken for so many nanoseconds. `UINT64_MAX` keeps them, as befits a
    /// virtual machine whose host takes freed memory back (`firsttouch status` tells: free page reporting).
    pub keep_ns: u64,
}

/// Regions that are all zero and can be taken at once. Its functions may be called from any thread.
#[derive(Debug)]
pub struct FirsttouchPool {
    pool: Own<Pool>,
    asked: Pages,
    node: Option<u32>,
}

impl FirsttouchPool {
    fn get(&self) -> Result<&Pool, FirsttouchResult> {
        self.pool.get().ok_or(FirsttouchResult::OtherProcess)
    }
}

/// Starts a pool, which begins to fill in the background, at idle priority. With a `filler`, regions are cleared by the
/// means that it has found fastest; it may be null, and may be stopped afterwards.
///
/// # Safety
/// `stock` is null or the structure, its `pages` null or a C string; `filler` is null or a live filler; `pool` a pointer to be filled: it is
/// set to null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_pool_start(
    stock: *const FirsttouchStock,
    filler: *const FirsttouchFiller,
    pool: *mut *mut FirsttouchPool,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let (Some(stock), Some(pool)) = (unsafe { (stock.as_ref(), pool.as_mut()) }) else {
        return FirsttouchResult::BadArgument;
    };
    *pool = ptr::null_mut();
    // SAFETY: by contract.
    let Some(word) = (unsafe { word(stock.pages) }) else { return FirsttouchResult::BadArgument };
    let Some(pages) = kind(word) else { return FirsttouchResult::BadPages };
    let Ok(region_bytes) = usize::try_from(stock.region_bytes) else { return FirsttouchResult::BadArgument };
    if region_bytes == 0 || stock.node < -1 || stock.ready > stock.most {
        return FirsttouchResult::BadArgument;
    }
    let means = if filler.is_null() {
        None
    } else {
        // SAFETY: by contract.
        match unsafe { FirsttouchFiller::get(filler) } {
            Ok(filler) => Some(filler.knowledge().crossovers.past_caches),
            Err(result) => return result,
        }
    };
    let node = u32::try_from(stock.node).ok();
    let keep = (stock.keep_ns < u64::MAX).then(|| Duration::from_nanos(stock.keep_ns));
    let (ready, most) = (stock.ready as usize, stock.most as usize);
    match Pool::new(Stock { region_bytes, pages, node, ready, most, keep }, means) {
        Ok(started) => {
            *pool = Box::into_raw(Box::new(FirsttouchPool { pool: Own::new(started), asked: pages, node }));
            FirsttouchResult::Ok
        }
        Err(error) => FirsttouchResult::NoThread.because_of(&error),
    }
}

/// Takes a region that is all zero: a ready one at once (`was_ready` is 1), else a new one, whose pages are created at
/// first touch (0). It is the caller's, to be given back to a pool or freed.
///
/// # Safety
/// `pool` is null or a live pool; `region` a pointer to be filled: it is set to null on failure; `was_ready` null or a number
/// to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_pool_take(
    pool: *const FirsttouchPool,
    region: *mut *mut FirsttouchRegion,
    was_ready: *mut c_int,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let Some(region) = (unsafe { region.as_mut() }) else { return FirsttouchResult::BadArgument };
    *region = ptr::null_mut();
    // SAFETY: by contract.
    let Some(pool) = (unsafe { pool.as_ref() }) else { return FirsttouchResult::BadArgument };
    match pool.get().map(Pool::take) {
        Ok(Ok(taken)) => {
            *region = FirsttouchRegion::new(taken.region, pool.asked, pool.node).into_raw();
            // SAFETY: by contract.
            if let Some(was_ready) = unsafe { was_ready.as_mut() } {
                *was_ready = c_int::from(taken.was_ready);
            }
            FirsttouchResult::Ok
        }
        Ok(Err(error)) => failed(error),
        Err(result) => result,
    }
}

/// Gives a region back, as `firsttouch_region_free` would; it is cleared before anybody gets it. One of another size than
/// the pool's, of other pages or another node, and one too many, is unmapped. Null is nothing.
///
/// # Safety
/// `pool` is null or a live pool; `region` null or a live region that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_pool_give(pool: *const FirsttouchPool, region: *mut FirsttouchRegion) {
    // SAFETY: by contract.
    let (pool, region) = unsafe { (pool.as_ref(), FirsttouchRegion::from_raw(region)) };
    if let (Some(Ok(pool)), Some(region)) = (pool.map(FirsttouchPool::get), region) {
        pool.give(region.into_region());
    }
}

/// Tells how many regions can be taken at once, and how many were given back and are not cleared yet. Both pointers may be
/// null.
///
/// # Safety
/// `pool` is null or a live pool; the others null or numbers to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_pool_level(
    pool: *const FirsttouchPool,
    ready: *mut u32,
    dirty: *mut u32,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let (pool, ready, dirty) = unsafe { (pool.as_ref(), ready.as_mut(), dirty.as_mut()) };
    let Some(pool) = pool else { return FirsttouchResult::BadArgument };
    let level = match pool.get() {
        Ok(pool) => pool.level(),
        Err(result) => return result,
    };
    if let Some(ready) = ready {
        *ready = level.ready as u32;
    }
    if let Some(dirty) = dirty {
        *dirty = level.dirty as u32;
    }
    FirsttouchResult::Ok
}

/// Waits until so many regions are ready, at most so many nanoseconds; 1 if they are, 0 otherwise, for null, and in a
/// forked child.
///
/// # Safety
/// Null or a live pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_pool_wait_ready(
    pool: *const FirsttouchPool,
    regions: u32,
    nanoseconds: u64,
) -> c_int {
    // SAFETY: by contract.
    let pool = unsafe { pool.as_ref() }.and_then(|pool| pool.get().ok());
    let time = Duration::from_nanos(nanoseconds);
    c_int::from(pool.is_some_and(|pool| pool.wait_ready(regions as usize, time)))
}

/// Ends a pool and unmaps what it holds; null is nothing. Regions that were taken stay.
///
/// # Safety
/// Null or a live pool that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_pool_stop(pool: *mut FirsttouchPool) {
    if !pool.is_null() {
        // SAFETY: made by `firsttouch_pool_start`, and not used again, by contract.
        drop(unsafe { Box::from_raw(pool) });
    }
}
