//! What is concluded from a measurement.

mod written;

use firsttouch_machine::{Matrix, small_ratio};
use written::measured::{measured, three_nodes};

fn rates() -> Matrix {
    vec![vec![Some(100.0), Some(48.0), Some(24.0)], vec![Some(50.0), Some(102.0), Some(26.0)], vec![None; 3]]
}

#[test]
fn weights_follow_the_measured_bandwidth() {
    let machine = three_nodes("One");
    let measurement = measured(&machine, rates());
    // From node 0 alone: 100, 48, 24. From both: 75, 75, 25.
    assert_eq!(measurement.weights(&[0], &[0, 2, 3], 32), Some(vec![(0, 4), (2, 2), (3, 1)]));
    assert_eq!(measurement.weights(&[0, 2], &[0, 2, 3], 32), Some(vec![(0, 3), (2, 3), (3, 1)]));
    assert_eq!(measurement.weights(&[2], &[2], 32), Some(vec![(2, 1)]));
    assert_eq!(measurement.weights(&[3], &[0], 32), None, "a node without CPUs reads nothing");
    assert_eq!(measurement.weights(&[0], &[0, 9], 32), None);
    assert_eq!(measurement.between(&measurement.read_gbps, 2, 3), Some(26.0));
}

#[test]
fn weights_stay_small_and_never_zero() {
    assert_eq!(small_ratio(&[1000.0, 1.0], 32), [32, 1]);
    assert_eq!(small_ratio(&[90.0, 60.0], 32), [3, 2]);
    assert_eq!(small_ratio(&[50.0, 51.0, 49.5], 32), [1, 1, 1]);
}
