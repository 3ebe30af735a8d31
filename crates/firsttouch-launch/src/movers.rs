//! Who moves a program's pages to other nodes while it runs: the kernel, which demotes what is not used, and who takes nodes away.

use firsttouch_linux::features::page_bytes;
use firsttouch_linux::process::Status;
use firsttouch_linux::vmstat::parse_vmstat;
use firsttouch_machine::Root;
use firsttouch_placement::Movers;

/// Bytes that the kernel has demoted since it started, on the whole machine (Linux 5.15).
pub(crate) fn demoted_bytes(root: &Root) -> u64 {
    let text = root.read("proc/vmstat").ok().flatten().unwrap_or_default();
    let counters = parse_vmstat(&text);
    let pages = counters.iter().filter(|(name, _)| name.starts_with("pgdemote_")).map(|(_, pages)| *pages);
    pages.fold(0, u64::saturating_add).saturating_mul(page_bytes() as u64)
}

/// What happened since `demoted_before` had been demoted. The program's control group is taken for ours, in which it was started.
pub(crate) fn since(root: &Root, demoted_before: u64) -> Movers {
    Movers {
        demoted_bytes: demoted_bytes(root).saturating_sub(demoted_before),
        allowed_nodes: Status::read(root, std::process::id()).ok().and_then(|status| status.allowed_nodes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_demoted_is_counted_by_whoever_did_it() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path().join("proc");
        let own = proc.join(std::process::id().to_string());
        fs::create_dir_all(&own).unwrap();
        let root = Root::at(folder.path());
        assert_eq!(since(&root, 0), Movers::default());
        fs::write(proc.join("vmstat"), "pgpromote_success 9\npgdemote_kswapd 3\npgdemote_direct 4\n")
            .unwrap();
        fs::write(own.join("status"), "Name:\tx\nMems_allowed_list:\t0,2\n").unwrap();
        let page = page_bytes() as u64;
        assert_eq!(
            since(&root, 2 * page),
            Movers { demoted_bytes: 5 * page, allowed_nodes: Some(vec![0, 2]) }
        );
    }
}
