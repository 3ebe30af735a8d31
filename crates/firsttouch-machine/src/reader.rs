//! Reads below a root and remembers what existed but could not be read.

use firsttouch_linux::cpulist::{parse_list, parse_mask};
use firsttouch_linux::root::{ReadError, Root};
use std::cell::RefCell;
use std::str::FromStr;

pub(crate) struct Reader<'a> {
    pub(crate) root: &'a Root,
    unreadable: RefCell<Vec<String>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(root: &'a Root) -> Reader<'a> {
        Reader { root, unreadable: RefCell::default() }
    }

    /// The whole text of a file.
    pub(crate) fn text(&self, file: &str) -> Option<String> {
        self.note(self.root.read(file))
    }

    /// The text without the white space around it; an empty file is `None`.
    pub(crate) fn word(&self, file: &str) -> Option<String> {
        self.text(file).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(crate) fn number<T: FromStr>(&self, file: &str) -> Option<T> {
        self.text(file)?.trim().parse().ok()
    }

    /// A file that holds `0` or `1`, or `N` or `Y`.
    pub(crate) fn flag(&self, file: &str) -> Option<bool> {
        match self.text(file)?.trim() {
            "0" | "N" => Some(false),
            "1" | "Y" => Some(true),
            _ => None,
        }
    }

    /// A set of CPUs or nodes, from the first of these files that has one; those named `…map`, or by a plain word
    /// beside a `…_list`, hold masks.
    pub(crate) fn set(&self, lists: &[&str], masks: &[&str], folder: &str) -> Option<Vec<u32>> {
        let list = lists.iter().find_map(|name| parse_list(&self.text(&format!("{folder}/{name}"))?));
        list.or_else(|| masks.iter().find_map(|name| parse_mask(&self.text(&format!("{folder}/{name}"))?)))
    }

    /// The names in a folder; none when there is no such folder.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        self.note(self.root.list(folder)).unwrap_or_default()
    }

    /// The numbers of the entries `prefixN` of a folder, ascending.
    pub(crate) fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let names = self.names(folder);
        let mut numbers: Vec<u32> =
            names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    pub(crate) fn into_unreadable(self) -> Vec<String> {
        self.unreadable.into_inner()
    }

    pub(crate) fn remark(&self, remark: String) {
        self.unreadable.borrow_mut().push(remark);
    }

    fn note<T>(&self, answer: Result<Option<T>, ReadError>) -> Option<T> {
        answer.unwrap_or_else(|error| {
            self.remark(error.to_string());
            None
        })
    }
}
