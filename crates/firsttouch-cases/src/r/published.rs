//! Times that Nakano and Nakama print, each without large pages and with.

use crate::case::Published;

/// The article.
pub(super) const SOURCE: &str = "Nakano and Nakama, Speeding up by using ISM-like calls";

/// Rows of the article's tables: page, call, system, seconds without ISM and with.
macro_rules! seconds {
    ($($page:literal, $call:literal on $system:literal: $without:literal, $with:literal;)*) => {
        &[$(
            Published {
                source: concat!("Speeding up by using ISM-like calls, p. ", $page),
                what: concat!($call, ", ", $system, ", without ISM"),
                value: $without,
                unit: "s",
            },
            Published {
                source: concat!("Speeding up by using ISM-like calls, p. ", $page),
                what: concat!($call, ", ", $system, ", with ISM"),
                value: $with,
                unit: "s",
            },
        )*]
    };
}

/// `qr(hilbert(N))`: pages 13 and 14; page 6 repeats two rows of page 14.
pub(super) const HILBERT: &[Published] = seconds! {
    13, "qr(hilbert(1000))" on "Linux amd64 (gcc-4.1 -O2), Opteron 248": 20.197, 9.826;
    13, "qr(hilbert(1024))" on "Linux amd64 (gcc-4.1 -O2), Opteron 248": 83.120, 60.346;
    13, "qr(hilbert(1000))" on "Solaris10 (Sun -xlibmil -xO5 -dalign), Opteron 248": 20.138, 8.456;
    13, "qr(hilbert(1024))" on "Solaris10 (Sun -xlibmil -xO5 -dalign), Opteron 248": 71.194, 57.181;
    13, "qr(hilbert(1000))" on "Vista x64 (gcc-4.1 -O3), Opteron 248": 22.74, 10.12;
    13, "qr(hilbert(1024))" on "Vista x64 (gcc-4.1 -O3), Opteron 248": 78.08, 53.81;
    14, "qr(hilbert(1000))" on "Linux-2.6.18 amd64, Opteron 275": 15.209, 5.987;
    14, "qr(hilbert(1024))" on "Linux-2.6.18 amd64, Opteron 275": 58.296, 42.988;
    14, "qr(hilbert(1000))" on "Linux-2.6.18 amd64, Xeon E5430": 7.822, 5.323;
    14, "qr(hilbert(1024))" on "Linux-2.6.18 amd64, Xeon E5430": 27.438, 114.259;
    14, "qr(hilbert(1000))" on "Linux-2.6.18 amd64, Xeon 3040": 12.555, 8.983;
    14, "qr(hilbert(1024))" on "Linux-2.6.18 amd64, Xeon 3040": 59.440, 69.471;
    14, "qr(hilbert(1000))" on "Linux-2.6.18 powerpc64, Powerpc G5": 27.214, 26.220;
    14, "qr(hilbert(1024))" on "Linux-2.6.18 powerpc64, Powerpc G5": 166.487, 113.136;
};

pub(super) const FFT: &[Published] = seconds! {
    11, "testfft(1e7)" on "Linux amd64, Opteron 275": 19.104, 18.234;
    11, "testfft(2^24)" on "Linux amd64, Opteron 275": 39.119, 47.023;
    11, "testfft(1e7)" on "Linux amd64, Xeon E5430": 13.080, 12.154;
    11, "testfft(2^24)" on "Linux amd64, Xeon E5430": 30.590, 38.552;
};

pub(super) const LM: &[Published] = seconds! {
    12, "lm(y~x), 10000 responses" on "Linux amd64, Opteron 275": 216.756, 67.126;
    12, "lm(y~x), 10000 responses" on "Linux amd64, Xeon E5430": 30.493, 28.005;
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_a_time_without_and_one_with() {
        for (table, rows) in [(HILBERT, 14), (FFT, 4), (LM, 2)] {
            assert_eq!(table.len(), 2 * rows);
            for pair in table.chunks(2) {
                let call = pair[0].what.strip_suffix(", without ISM").unwrap();
                assert_eq!(pair[1].what.strip_suffix(", with ISM"), Some(call));
            }
        }
        // "ISM is (very) useful in this example."
        assert!(LM[0].value / LM[1].value > 3.2);
    }
}
