//! Counters of the whole machine's memory management: `/proc/vmstat`.

use std::collections::BTreeMap;

/// The counters and levels by their names, which differ between kernels; a line that does not read is passed over.
pub fn parse_vmstat(text: &str) -> BTreeMap<&str, u64> {
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            Some((name, value.trim().parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;
    use proptest::prelude::*;

    #[test]
    fn the_live_counters_read() {
        let text = Root::live().read("proc/vmstat").unwrap().unwrap();
        let counters = parse_vmstat(&text);
        assert!(counters["pgfault"] > 0);
        assert_eq!(counters.len(), text.lines().count());
        assert_eq!(parse_vmstat("pgfault many\nnr_free_pages 7\n\n"), BTreeMap::from([("nr_free_pages", 7)]));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "([a-z_]{0,9} ?[0-9a-z]{0,22}\n?){0,5}") {
            let _ = parse_vmstat(&text);
        }
    }
}
