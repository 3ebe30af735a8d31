//! When the sums of `smaps_rollup` are to be believed.

/// So many readings at most: the process may have given memory back as well.
const MOST_READINGS: usize = 3;

/// The sums over all mappings of a process, of which the kernel counted so many resident bytes just before; `read` answers the resident bytes of
/// its sums, and these. Linux 6.1 leaves a mapping out where a thread maps or unmaps something meanwhile; then they are read again, and those of the
/// most bytes are kept.
///
/// # Errors
/// Those of the first reading.
pub fn whole<T, E>(counted: u64, mut read: impl FnMut() -> Result<(u64, T), E>) -> Result<T, E> {
    // The count lags by some pages for each thread or processor.
    let expected = (counted - counted / 64).saturating_sub(1 << 20);
    let mut most = read()?;
    for _ in 1..MOST_READINGS {
        if most.0 >= expected {
            break;
        }
        // The process may have ended.
        let Ok(again) = read() else { break };
        if again.0 > most.0 {
            most = again;
        }
    }
    Ok(most.1)
}

/// Bytes on huge pages that `smaps` and `smaps_rollup` leave out: Linux 6.1 counts none there that automatic balancing of nodes
/// (`kernel.numa_balancing`) watches at the moment. `counted` is what the kernel counted as resident beforehand, `on_nodes` what `numa_maps` has, and
/// `shown` what is no more than these without such pages. What only one of the two counts has come or gone meanwhile.
pub const fn hidden_bytes(counted: u64, on_nodes: u64, shown: u64) -> u64 {
    const HUGE: u64 = 2 << 20;
    let all = if counted < on_nodes { counted } else { on_nodes };
    all.saturating_sub(shown) / HUGE * HUGE
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// What is kept of these answers where the kernel counts so much.
    fn kept(counted: u64, answers: &[Result<u64, ()>]) -> Result<u64, ()> {
        let mut answers = answers.iter();
        whole(counted * MIB, || {
            let answer = answers.next().expect("no reading too many");
            answer.map(|mib| (mib * MIB, mib))
        })
    }

    #[test]
    fn sums_that_leave_a_mapping_out_are_read_again() {
        assert_eq!(kept(100, &[Ok(98)]), Ok(98));
        assert_eq!(kept(100, &[Ok(2), Ok(100)]), Ok(100));
        assert_eq!(kept(100, &[Ok(50), Ok(2), Ok(40)]), Ok(50));
        assert_eq!(kept(0, &[Ok(7)]), Ok(7));
    }

    #[test]
    fn what_was_read_is_kept_where_another_reading_fails() {
        assert_eq!(kept(100, &[Ok(50), Err(())]), Ok(50));
        assert_eq!(kept(100, &[Err(())]), Err(()));
    }
}
