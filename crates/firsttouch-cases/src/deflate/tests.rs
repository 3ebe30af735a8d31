//! What one library packs, another unpacks; inputs, shares and damage.

use super::codecs::Vendor;
use super::{ABOUT, Deflate, read, room, text};
use crate::here::{prepared, workload};
use crate::{Case, Checksum, Work};
use firsttouch_measure::mix;
use firsttouch_threads::Team;
use proptest::prelude::*;

fn vendors() -> Vec<Vendor> {
    let all = [Vendor::Flate2, Vendor::Zlib, Vendor::ZlibNg, Vendor::Libdeflate, Vendor::IsaL];
    all.into_iter().filter(|vendor| vendor.codec(1).is_ok()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Text and noise, empty and odd, by each library that is here and back by each.
    #[test]
    fn every_library_reads_what_every_library_writes(length in 0_usize..5000, noise: bool, level in 1_u32..10, seed: u64) {
        let mut data = vec![0; length];
        if noise {
            data.iter_mut().zip(seed..=u64::MAX).for_each(|(to, place)| *to = mix(place) as u8);
        } else {
            text::fill(seed as u16 as usize, &mut data);
        }
        for writer in vendors() {
            let mut packed = vec![0; room(length)];
            let made = writer.codec(level).unwrap().compress(&data, &mut packed);
            prop_assert!(made.is_some(), "{:?} {}", writer, length);
            packed.truncate(made.unwrap());
            for reader in vendors() {
                let mut restored = vec![0; length];
                let mut codec = reader.codec(level).unwrap();
                prop_assert_eq!(codec.decompress(&packed, &mut restored), Some(length), "{:?} {:?}", writer, reader);
                prop_assert_eq!(&restored, &data);
            }
        }
    }
}

/// The checksum at the end is looked at by all of them; ISA-L does so if told at the right place of its state.
#[test]
fn damage_is_noticed() {
    let mut data = vec![0; 3000];
    text::fill(1, &mut data);
    for vendor in vendors() {
        let (mut packed, mut restored) = (vec![0; room(data.len())], data.clone());
        let mut codec = vendor.codec(1).unwrap();
        let length = codec.compress(&data, &mut packed).unwrap();
        packed[length - 1] ^= 1;
        assert_eq!(codec.decompress(&packed[..length], &mut restored), None, "{vendor:?}");
        packed[length - 1] ^= 1;
        assert_eq!(codec.decompress(&packed[..length], &mut restored), Some(3000), "{vendor:?}");
    }
}

/// Level 6 makes about a fifth of it, of source code a fifth or sixth.
#[test]
fn text_is_as_compressible_as_source_code() {
    let (mut data, mut again) = (vec![0; text::UNIT], vec![0; text::UNIT]);
    text::fill(7, &mut data);
    text::fill(7, &mut again);
    assert_eq!(data, again);
    text::fill(8, &mut again);
    assert_ne!(data, again);
    let mut packed = vec![0; room(data.len())];
    let length = Vendor::Flate2.codec(6).unwrap().compress(&data, &mut packed).unwrap();
    let ratio = data.len() as f64 / length as f64;
    assert!((4.5..6.5).contains(&ratio), "{ratio}");
}

/// Chunks more and fewer than threads, whole and not, both ways: always the bytes of the files.
#[test]
fn chunks_of_files_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    for (name, bytes) in [("c", 10_000), ("b/a", 3), ("b/b", 0), ("a", 777)] {
        let mut data = vec![0; bytes];
        text::fill(bytes, &mut data);
        std::fs::write(folder.path().join(name), data).unwrap();
    }
    let all = read(folder.path(), usize::MAX).unwrap();
    let files = ["a", "b/a", "b/b", "c"].map(|name| std::fs::read(folder.path().join(name)).unwrap());
    assert_eq!(all, files.concat());
    assert_eq!(read(folder.path(), 779).unwrap(), files.concat()[..779]);
    let words =
        all.chunks(8).map(|bytes| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    let expected = Checksum::of_words(words);
    let input = folder.path().to_str().unwrap();
    for variant in ABOUT.variants.iter().filter(|variant| Deflate.missing(variant, None).is_none()) {
        for (direction, chunk, threads) in [
            ("compress", "1000", 3),
            ("decompress", "1000", 3),
            ("decompress", "6000", 3),
            ("compress", "1M", 2),
        ] {
            let mut team = Team::new(&[vec![0; threads]]).unwrap();
            let choices = [("input", input), ("chunk-size", chunk), ("direction", direction), ("level", "6")];
            let mut workload = workload(&Deflate, variant.name, &choices, &mut team);
            workload.step(&mut team);
            assert_eq!(workload.checksum(), expected, "{} {direction} {chunk}", variant.name);
            assert_eq!(workload.work(), Work { bytes: 10_780, operations: 0 });
            assert!(workload.notes()[0].starts_with("ratio "), "{:?}", workload.notes());
        }
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let mut team = Team::of_this_process(1).unwrap();
    let error = prepared(&Deflate, "flate2", &[("input", "/nowhere/at/all")], &mut team).unwrap_err();
    assert!(error.to_string().starts_with("`input` cannot be read: /nowhere/at/all: "), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let empty = [("input", folder.path().to_str().unwrap())];
    let error = prepared(&Deflate, "flate2", &empty, &mut team).unwrap_err();
    assert!(error.to_string().starts_with("`input` has no bytes: "), "{error}");
}
