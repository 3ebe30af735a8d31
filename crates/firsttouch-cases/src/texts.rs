//! Scripts for programs of others, and articles: packed by `build.rs`, with a constant for each file, called as its path.

use flate2::read::ZlibDecoder;
use std::io::Read as _;
use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/texts.rs"));

/// A file: where it lies among all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    from: usize,
    to: usize,
}

impl Text {
    /// What is in it. All are unpacked when one is wanted for the first time.
    pub(crate) fn get(self) -> &'static str {
        static ALL: OnceLock<String> = OnceLock::new();
        let all = ALL.get_or_init(|| {
            let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/texts.z"));
            let mut all = String::new();
            let unpacked = ZlibDecoder::new(packed).read_to_string(&mut all);
            debug_assert!(unpacked.is_ok(), "{unpacked:?}");
            all
        });
        all.get(self.from..self.to).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_files() {
        assert_eq!(R_FFT_R.get(), include_str!("r/fft.R"));
        assert_eq!(ARTICLES_FEED_TXT.get(), include_str!("articles/feed.txt"));
        assert_eq!(WAVE3D_WAVE3D_PY.get(), include_str!("wave3d/wave3d.py"));
    }
}
