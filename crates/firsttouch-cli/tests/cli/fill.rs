//! `firsttouch fill`: the contract of its document, and what it refuses.

use crate::{assert_code, assert_said, json_of, run, text_of};

#[test]
fn every_way_is_measured_and_read_back() {
    let report = json_of(&run(&["fill", "--size", "8M", "--quick", "--pages", "4k,thp", "--json"]));
    assert_eq!(report["verified"], true, "{report}");
    assert_eq!(report["size_bytes"], 8 << 20);
    let bandwidth = report["store_bandwidth_gbps"].as_array().unwrap();
    assert!(!bandwidth.is_empty() && bandwidth.iter().all(|gbps| gbps.as_f64().unwrap() > 0.0), "{report}");
    let rows = report["rows"].as_array().unwrap();
    for state in ["new", "in_place", "pooled", "handed_out"] {
        assert!(rows.iter().any(|row| row["state"] == state), "{state}: {report}");
    }
    for row in rows {
        for key in ["gbps", "ns_per_page", "share_of_store_bandwidth"] {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
        }
        assert!(row["threads"].as_u64().unwrap() >= 1 && row["page_size"].as_u64().unwrap() >= 4096, "{row}");
    }
    for key in ["past_caches", "left_from_bytes", "read_from_bytes"] {
        assert!(report["crossovers"].get(key).is_some(), "{key}: {report}");
    }
    assert!(report["wake_us"].as_f64().unwrap() > 0.0);
    // On a busy machine a fill may be over each time before it is called off: then there is nothing to tell.
    for cancel in report["cancels"].as_array().unwrap() {
        assert!(cancel["state"] == "new" || cancel["state"] == "in_place", "{cancel}");
        let [median, worst] = ["median_us", "worst_us"].map(|key| cancel[key].as_f64().unwrap());
        assert!(0.0 < median && median <= worst, "{cancel}");
    }
}

#[test]
fn chosen_ways_are_the_only_ones() {
    let output = run(&["fill", "--size", "4M", "--quick", "--pages", "thp", "--engines", "populate,pool"]);
    let text = text_of(&output);
    assert!(text.contains("populate") && text.contains("handed out") && !text.contains("touch"), "{text}");
}

#[test]
fn what_cannot_be_is_refused_with_a_hint() {
    assert_said(&run(&["fill", "--size", "900T"]), 1, &["no room", "hint: firsttouch fill --size"]);
    for (pages, size) in [("4k", "0"), ("4k", "4095"), ("4k,thp", "1"), ("2m,4k", "1M")] {
        let output = run(&["fill", "--engines", "touch", "--pages", pages, "--size", size]);
        assert_said(&output, 2, &["less than one page of"]);
    }
    assert_code(&run(&["fill", "--engines", "magic"]), 2);
    assert_code(&run(&["fill", "--pages", "3k"]), 2);
}
