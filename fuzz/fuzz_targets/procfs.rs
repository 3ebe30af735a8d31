//! What the kernel says of processes: text that programs name things in (their names, mappings, mounts).

#![no_main]

use firsttouch_fuzz::Bound;
use firsttouch_linux::{cpulist, maps, network, process, smaps, sysinfo, vmstat};
use libfuzzer_sys::fuzz_target;
use std::hint::black_box;

/// A line of a few words is a structure of some hundred bytes; a list of CPUs may name every CPU in a few bytes.
const BOUND: Bound = Bound { fixed: 4 << 20, per_byte: 1024 };

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    hold(text, || {
        for mapping in maps::parse_maps(text).into_iter().flatten() {
            black_box((mapping.bytes(), mapping.backing(), mapping.is_shared_memory()));
        }
    });
    hold(text, || smaps::parse_smaps(text).map(|regions| smaps::bytes_by_page_size(&regions)));
    hold(text, || smaps::parse_numa_maps(text).map(|regions| smaps::bytes_by_node(&regions)));
    hold(text, || smaps::parse_smaps_rollup(text));
    hold(text, || process::Status::parse(text));
    hold(text, || process::Stat::parse(text).map(|stat| stat.ticks()));
    hold(text, || (process::Scheduled::parse(text), process::parse_migrations(text)));
    hold(text, || (sysinfo::cgroups(text), sysinfo::mounts(text), sysinfo::apic_ids(text)));
    hold(text, || (sysinfo::meminfo(text), sysinfo::cpu_model(text), sysinfo::distances(text)));
    hold(text, || sysinfo::pages_in_cpu_lists(text));
    hold(text, || (sysinfo::soft_limit(text, "Max"), sysinfo::cache_size(text), sysinfo::cgroup_limit(text)));
    hold(text, || (sysinfo::chosen(text), sysinfo::kernel_release(text), sysinfo::kernel_version(text)));
    hold(text, || (sysinfo::capability_mask(text), sysinfo::status_field(text, "CapEff")));
    hold(text, || (sysinfo::cpu_flag(text, "avx2"), sysinfo::virtio_feature(text, 5)));
    hold(text, || vmstat::parse_vmstat(text));
    hold(text, || {
        let routes = network::Routes::parse(text, text, text);
        for socket in network::sockets(text) {
            black_box(routes.through(&socket));
        }
        routes.interfaces()
    });
    hold(text, || {
        if let Some(list) = cpulist::parse_list(text) {
            assert_eq!(cpulist::parse_list(&cpulist::format_list(&list)), Some(list));
        }
        cpulist::parse_mask(text)
    });
});

fn hold<T>(text: &str, read: impl FnOnce() -> T) {
    black_box(BOUND.hold(text.len(), read));
}
