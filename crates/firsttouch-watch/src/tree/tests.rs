use super::*;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

#[test]
fn children_are_found_whether_the_kernel_lists_them_or_not() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let watch = TreeWatch::new(Root::live(), std::process::id(), None);
    for lists_children in [watch.lists_children, false] {
        let mut watch =
            TreeWatch { lists_children, ..TreeWatch::new(Root::live(), std::process::id(), None) };
        assert!(watch.look());
        assert!(watch.members.iter().any(|member| member.memory.pid == child.id()), "{lists_children}");
        let (tree, _) = watch.into_tree().unwrap();
        assert!(tree.processes.iter().any(|process| process.pid == child.id()), "{lists_children}");
    }
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// A process of a recorded machine with so many kB of its own.
fn record(machine: &Path, pid: u32, parent: u32, kb: u32, children: &str) {
    let folder = machine.join(format!("proc/{pid}"));
    fs::create_dir_all(folder.join(format!("task/{pid}"))).unwrap();
    let zeroes = "0 ".repeat(48);
    let range = "7f0000000000-7f8000000000 rw-p 00000000 00:00 0";
    let files = [
        (format!("task/{pid}/children"), children.to_owned()),
        ("stat".to_owned(), format!("{pid} (program) R {parent} {zeroes}\n")),
        (
            "status".to_owned(),
            format!("Name:\tprogram\nVmHWM:\t{kb} kB\nVmRSS:\t{kb} kB\nRssAnon:\t{kb} kB\n"),
        ),
        (
            "smaps".to_owned(),
            format!("{range}\nSize: {kb} kB\nRss: {kb} kB\nPss: {kb} kB\nAnonymous: {kb} kB\n"),
        ),
    ];
    files.into_iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
}

#[test]
fn who_ends_while_it_is_looked_at_stays_in_the_peak() {
    let machine = tempfile::tempdir().unwrap();
    record(machine.path(), 10, 1, 100, "11 ");
    record(machine.path(), 11, 10, 5000, "");
    let mut watch = TreeWatch::new(Root::at(machine.path()), 10, None);
    assert!(watch.look());
    fs::remove_file(machine.path().join("proc/11/smaps")).unwrap();
    assert!(watch.look());
    let (tree, pages) = watch.into_tree().unwrap();
    let found: Vec<u64> = tree.processes.iter().map(|it| it.memory.of_no_file().bytes >> 10).collect();
    assert_eq!((found, tree.at_peak.of_no_file().bytes >> 10), (vec![5000, 100], 5100));
    assert_eq!(pages.bytes_by_page_size, BTreeMap::from([(4096, 5100 << 10)]));
}

#[test]
fn the_first_is_the_program_though_it_had_ended_before_it_was_watched() {
    let mut child = Command::new("true").spawn().unwrap();
    let is_over = |pid| Stat::read(&Root::live(), pid).unwrap().state == 'Z';
    while !is_over(child.id()) {
        std::thread::yield_now();
    }
    let mut watch = TreeWatch::new(Root::live(), child.id(), None);
    assert!(!watch.look());
    assert_eq!(
        watch.cpus(),
        Status::read(&Root::live(), std::process::id()).unwrap().allowed_cpus.as_deref()
    );
    assert!(watch.into_tree().is_none());
    child.wait().unwrap();
    // Nor is another process the first when the program is gone for good.
    let watch = TreeWatch::new(Root::live(), child.id(), None);
    assert_eq!(watch.members[0].memory.pid, child.id());
}

#[test]
fn a_peak_is_read_though_the_last_reading_was_costly() {
    let machine = tempfile::tempdir().unwrap();
    record(machine.path(), 10, 1, 1000, "");
    let mut watch = TreeWatch::new(Root::at(machine.path()), 10, None);
    let mut seen = |kb| {
        record(machine.path(), 10, 1, kb, "");
        watch.look();
        watch.pace.next_reading = Instant::now() + Duration::from_secs(3600);
        watch.at_peak.memory.of_no_file().bytes >> 10
    };
    // The first; growth that is no hurry, more than half as much again, and not a second time.
    assert_eq!([1000, 1400, 1600, 1700].map(&mut seen), [1000, 1000, 1600, 1600]);
    watch.pace.next_reading = Instant::now();
    watch.look();
    assert_eq!(watch.at_peak.memory.of_no_file().bytes >> 10, 1700);
}

#[test]
fn where_nothing_has_changed_mappings_are_left_alone() {
    let machine = tempfile::tempdir().unwrap();
    record(machine.path(), 10, 1, 1000, "");
    let mut watch = TreeWatch::new(Root::at(machine.path()), 10, None);
    let later = Instant::now() + Duration::from_secs(3600);
    // Whether mappings are read when the account says so much, the last reading was paid for, and it is stale or not.
    let mut is_read = |kb, children, is_stale: bool| {
        record(machine.path(), 10, 1, kb, children);
        watch.pace.next_reading = Instant::now();
        watch.pace.stale = if is_stale { watch.pace.next_reading } else { later };
        watch.look();
        watch.pace.stale != later
    };
    assert!(is_read(1000, "", false), "the first");
    assert!(!is_read(1000, "", false) && !is_read(1015, "", false) && !is_read(500, "", false));
    assert!(is_read(1030, "", false), "a little more than ever");
    assert!(is_read(1030, "", true), "as much as ever, for long");
    record(machine.path(), 11, 10, 10, "");
    assert!(is_read(500, "11 ", false), "somebody new");
    assert!(!is_read(500, "11 ", false));
    watch.pace.next_reading = later;
    watch.look();
    watch.expect_other_pages();
    assert_eq!(watch.pace.stale, later, "as soon as the last reading is paid for");
}

#[test]
fn what_cannot_be_read_is_not_read_at_every_look() {
    let machine = tempfile::tempdir().unwrap();
    record(machine.path(), 10, 1, 1000, "11 ");
    record(machine.path(), 11, 10, 5000, "");
    fs::remove_file(machine.path().join("proc/11/smaps")).unwrap();
    let mut watch = TreeWatch::new(Root::at(machine.path()), 10, None);
    watch.look();
    assert_eq!(watch.at_peak.memory.of_no_file().bytes >> 10, 1000);
    let later = Instant::now() + Duration::from_secs(3600);
    watch.pace.next_reading = later;
    watch.look();
    assert_eq!(watch.pace.next_reading, later);
}

#[test]
fn what_is_expected_is_what_counted_before_until_it_changes() {
    let mut watch = TreeWatch::new(Root::live(), std::process::id(), None);
    let mut expected = |last_read, account| {
        watch.last_read = last_read;
        watch.expected(account)
    };
    assert_eq!(expected(None, 300), 300);
    // A child had as much from its parent; then it has become another program.
    assert_eq!((expected(Some((200, 100)), 210), expected(Some((200, 100)), 150)), (105, 150));
    // Two pieces of shared memory, as large as each other.
    assert_eq!((expected(Some((100, 200)), 105), expected(Some((100, 200)), 150)), (210, 300));
}

#[test]
fn who_is_left_behind_is_found_whether_the_kernel_lists_children_or_not() {
    for lists_children in [true, false] {
        let machine = tempfile::tempdir().unwrap();
        let environment = |pid: u32, text: &str| {
            fs::write(machine.path().join(format!("proc/{pid}/environ")), text).unwrap();
        };
        record(machine.path(), 1, 0, 100, "5 20 21 22 23 ");
        record(machine.path(), 5, 1, 100, "10 ");
        record(machine.path(), 10, 5, 100, "25 ");
        for pid in [20, 21, 22, 23] {
            record(machine.path(), pid, 1, 100, "");
        }
        environment(20, "HOME=/\0A=b mark=/run/1\0");
        environment(21, "MARK=/run/12\0");
        // Becoming another program it has none for a moment.
        environment(22, "");
        // Who was there before the program is not asked; who has ended and was not collected is nobody.
        let status = |pid: u32, state: char, parent: u32, start: u32| {
            let text = format!("{pid} (program) {state} {parent} {}{start} 0 0\n", "0 ".repeat(17));
            fs::write(machine.path().join(format!("proc/{pid}/stat")), text).unwrap();
        };
        status(10, 'R', 5, 7);
        [20, 21, 22].into_iter().for_each(|pid| status(pid, 'R', 1, 7));
        status(23, 'R', 1, 6);
        environment(23, "MARK=/run/1\0");
        record(machine.path(), 25, 10, 0, "");
        status(25, 'Z', 10, 8);
        record(machine.path(), 24, 20, 100, "");
        fs::write(machine.path().join("proc/20/task/20/children"), "24 ").unwrap();
        let mark = Mark::OfOrphans(b"=/run/1".to_vec());
        let mut watch = TreeWatch::new(Root::at(machine.path()), 10, Some(mark));
        watch.lists_children = lists_children;
        let found = |watch: &mut TreeWatch| {
            watch.pace.next_search = Instant::now();
            assert!(watch.look());
            let mut pids: Vec<u32> = watch.members.iter().map(|member| member.memory.pid).collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!(found(&mut watch), [10, 20, 24], "{lists_children}");
        environment(22, "MARK=/run/1\0");
        // Nobody is asked twice.
        environment(21, "MARK=/run/1\0");
        assert_eq!(found(&mut watch), [10, 20, 22, 24], "{lists_children}");
    }
}

#[test]
fn who_is_not_below_is_searched_for_when_the_last_search_was_paid_for() {
    let mut watch = TreeWatch::new(Root::live(), std::process::id(), Some(Mark::OfAnybody(b"=?".to_vec())));
    let later = Instant::now() + Duration::from_secs(3600);
    let mut is_searched = |next| {
        watch.pace.next_search = next;
        assert!(watch.look());
        watch.pace.next_search != next
    };
    assert!(is_searched(Instant::now()) && !is_searched(later));
}

#[test]
fn processes_that_others_start_are_found_by_a_variable() {
    let started = |value: &str| {
        let mut cat = Command::new("cat");
        cat.env("FIRSTTOUCH_TEST_MARK", value).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = cat.spawn().unwrap();
        // Once it answers it has its environment.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    };
    let mut children = ["1", "2", "21"].map(started);
    let mark = Mark::OfAnybody(b"_MARK=2".to_vec());
    let mut watch = TreeWatch::new(Root::live(), children[0].id(), Some(mark));
    assert!(watch.look());
    let (tree, _) = watch.into_tree().unwrap();
    let mut found: Vec<u32> = tree.processes.iter().map(|process| process.pid).collect();
    found.sort_unstable();
    let mut marked = [children[0].id(), children[1].id()];
    marked.sort_unstable();
    assert_eq!(found, marked);
    for child in &mut children {
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}

#[test]
fn mappings_tell_what_one_node_has() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Once it answers it waits, and has what it has.
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let regions = read_smaps(&Root::live(), child.id()).unwrap();
    let bytes = private_bytes(&regions);
    assert!(bytes > 0);
    // Kernels without nodes say nothing of them.
    if let Some(nodes) = private_nodes(&Root::live(), child.id()) {
        assert_eq!(nodes.values().sum::<u64>(), bytes);
    }
    drop(child.stdin.take());
    child.wait().unwrap();
}
