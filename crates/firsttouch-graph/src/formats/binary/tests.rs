//! Files of our own: what is written is what is opened, and what was damaged is not opened.

use super::image::NAMES;
use super::layout::{HEADER_BYTES, Header, Section, crc, header_checksum};
use super::*;
use crate::formats::{Format, Loaded, ReadError, ReadOptions, read, read_from};
use crate::rows::{Graph, Ids, Node, Order, Owner, Place};
use firsttouch_memory::Pages;
use firsttouch_threads::Team;
use std::fs::File;
use std::io::Read;

fn loaded() -> Loaded {
    let arcs: Vec<(Node, Node, u32)> =
        (0..4000).map(|arc| (arc * 31 % 700, arc * 17 % 700, arc * arc)).collect();
    let graph = Graph::from_arcs(700, &arcs).unwrap();
    let order = Order::depth_first(&graph);
    let ids = Ids::listed((0..700).map(|node| node * 1_000_000_007).collect()).unwrap();
    let coordinates = Some((0..700).map(|node| [node, -node]).collect());
    let loaded = Loaded { graph, ids, coordinates, format: Format::Binary, notes: Vec::new() };
    loaded.reordered(&order, Place::HEAP).unwrap()
}

fn team() -> Team {
    Team::of_this_process(2).unwrap()
}

fn file_of(loaded: &Loaded) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    write(loaded, file.as_file_mut()).unwrap();
    file
}

fn bytes_of(loaded: &Loaded) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(file_of(loaded).path()).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn opened(bytes: &[u8]) -> Result<Loaded, BinaryError> {
    from_memory(bytes, Place::HEAP, &mut team())
}

/// With the checksum of its header put right.
fn with_header(mut bytes: Vec<u8>, change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let mut header: Header = bytemuck::pod_read_unaligned(&bytes[..size_of::<Header>()]);
    change(&mut header);
    header.checksum = header_checksum(&header);
    bytes[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
    bytes
}

#[test]
fn what_is_written_is_what_is_opened_mapped_placed_or_piped() {
    let empty = Loaded {
        graph: Graph::from_arcs(0, &[]).unwrap(),
        ids: Ids::from_first(1, 0),
        coordinates: None,
        format: Format::Binary,
        notes: Vec::new(),
    };
    let lonely =
        Loaded { graph: Graph::from_arcs(5, &[]).unwrap(), ids: Ids::from_first(0, 5), ..empty.clone() };
    for loaded in [loaded(), empty, lonely] {
        let file = file_of(&loaded);
        for place in [Place::HEAP, Place::default(), Place { pages: Pages::Base, node: None }] {
            let options = ReadOptions { place, ..ReadOptions::default() };
            assert_eq!(read(file.path(), &options, &mut team()).unwrap(), loaded);
            let bytes = std::fs::read(file.path()).unwrap();
            assert_eq!(read_from(&*bytes, None, &options, &mut team()).unwrap(), loaded);
        }
    }
}

#[test]
fn arrays_begin_at_multiples_of_a_huge_page() {
    let header: Header = bytemuck::pod_read_unaligned(&bytes_of(&loaded())[..size_of::<Header>()]);
    assert!(header.section.iter().all(|section| section.bytes > 0 && section.offset % (2 << 20) == 0));
    const { assert!(size_of::<Header>() <= HEADER_BYTES) };
}

#[test]
fn a_mapped_graph_lies_in_the_file() {
    let file = file_of(&loaded());
    let options = ReadOptions { place: Place::HEAP, ..ReadOptions::default() };
    let mapped = read(file.path(), &options, &mut team()).unwrap();
    assert!(matches!(mapped.graph.owners(), [Owner::File(_), Owner::File(_)]));
    assert_eq!(mapped.graph.all_arcs().as_ptr() as usize % 4096, 0);
    let note = mapped.graph.receipt(Place::HEAP).notes;
    assert_eq!(note, ["the graph lies in the page cache, where nothing was asked of its pages"]);
}

#[test]
fn every_byte_that_counts_is_guarded() {
    let bytes = bytes_of(&loaded());
    let header: Header = bytemuck::pod_read_unaligned(&bytes[..size_of::<Header>()]);
    let mut places: Vec<usize> = (8..size_of::<Header>()).step_by(3).collect();
    for section in header.section {
        let (first, last) = (section.offset as usize, (section.offset + section.bytes) as usize - 1);
        places.extend([first, first + 77, last]);
    }
    for place in places {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        assert!(opened(&damaged).is_err(), "byte {place}");
    }
}

#[test]
fn what_cannot_be_opened_says_why() {
    let bytes = bytes_of(&loaded());
    for cut in [8, 100, 4096, 5 << 20, bytes.len() - 1] {
        let error = opened(&bytes[..cut]).unwrap_err();
        assert!(matches!(error, BinaryError::CutOff { .. }), "{cut}: {error}");
        assert!(!error.hint().is_empty());
    }
    let newer = with_header(bytes.clone(), |header| header.version = 2);
    assert!(matches!(opened(&newer), Err(BinaryError::Version { version: 2 })));
    let turned = with_header(bytes.clone(), |header| header.byte_order = header.byte_order.swap_bytes());
    assert!(matches!(opened(&turned), Err(BinaryError::ByteOrder)));
    let error = read_from(&bytes[..200], None, &ReadOptions::default(), &mut team()).unwrap_err();
    assert!(matches!(error, ReadError::Binary(_)), "{error}");
}

#[test]
fn a_right_checksum_does_not_make_a_graph() {
    let bytes = bytes_of(&loaded());
    let section = |index: usize| -> Section {
        let header: Header = bytemuck::pod_read_unaligned(&bytes[..size_of::<Header>()]);
        header.section[index]
    };
    // A head that is not there; offsets that fall; names that fall; an order with a node twice.
    for (index, value) in [(0, u64::MAX), (1, u64::MAX), (2, u64::MAX), (3, 0)] {
        let mut forged = bytes.clone();
        let at = section(index).offset as usize + 16;
        forged[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        let range = section(index).offset as usize..(section(index).offset + section(index).bytes) as usize;
        let sum = crc(&forged[range]);
        let forged = with_header(forged, |header| header.section[index].checksum = sum);
        let error = opened(&forged).unwrap_err();
        assert!(matches!(error, BinaryError::NoGraph { part } if part == NAMES[index]), "{error}");
    }
    for change in [
        |header: &mut Header| header.nodes = u64::MAX,
        |header: &mut Header| header.nodes += 1,
        |header: &mut Header| header.arcs = 1 << 61,
        |header: &mut Header| header.sections = 4,
        |header: &mut Header| header.section[1].offset = u64::MAX - 7,
        |header: &mut Header| header.section[1].offset += 4,
    ] {
        let error = opened(&with_header(bytes.clone(), change)).unwrap_err();
        assert!(matches!(error, BinaryError::NoGraph { part: "header" }), "{error}");
    }
}
