//! XML as a flat list of elements, each of which knows the one around it.
//!
//! Invariant: nothing is expanded but the five entities of XML itself and numbered characters; a document type is
//! passed over unread; depth and number of elements are limited.

use firsttouch_sorted::SortedMap;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Deeper than any machine is built.
const MOST_DEEP: usize = 256;
/// More than the largest machine has parts.
const MOST_ELEMENTS: usize = 1 << 20;

/// Text that is not the XML of a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// Not well formed.
    #[error("not well formed at byte {at}: {what}")]
    Malformed {
        /// Bytes before it.
        at: u64,
        /// What the parser says.
        what: String,
    },
    /// The text ends within an element.
    #[error("the text ends inside <{0}>")]
    Unfinished(String),
    /// More than a machine has.
    #[error("more than {MOST_ELEMENTS} elements, or more than {MOST_DEEP} inside each other")]
    TooMuch,
    /// Well formed, and something else.
    #[error("not a topology of hwloc (it has no <topology> with a machine in it)")]
    NotHwloc,
}

/// One element.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: String,
    /// The element around it, by its place in the list.
    pub(super) parent: Option<usize>,
    /// The elements directly inside it.
    pub(super) children: Vec<usize>,
    attributes: SortedMap<String, String>,
    /// All text directly inside it.
    pub(super) text: String,
}

impl Element {
    pub(super) fn get(&self, attribute: &str) -> Option<&str> {
        self.attributes.get(attribute).map(String::as_str)
    }

    pub(super) fn number<T: std::str::FromStr>(&self, attribute: &str) -> Option<T> {
        self.get(attribute)?.trim().parse().ok()
    }
}

/// Reads the elements in the order of their beginnings.
pub(super) fn elements(text: &str) -> Result<Vec<Element>, XmlError> {
    let mut reader = Reader::from_str(text);
    let mut elements: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    loop {
        let at = reader.buffer_position();
        let malformed = |what: String| XmlError::Malformed { at, what };
        match reader.read_event().map_err(|error| malformed(error.to_string()))? {
            Event::Start(tag) => {
                let element = element(&tag, open.last().copied()).map_err(malformed)?;
                let index = add(&mut elements, element);
                open.push(index);
            }
            Event::Empty(tag) => {
                let element = element(&tag, open.last().copied()).map_err(malformed)?;
                add(&mut elements, element);
            }
            Event::End(_) => {
                open.pop();
            }
            Event::Text(text) => {
                if let Some(element) = open.last().and_then(|index| elements.get_mut(*index)) {
                    element.text.push_str(&String::from_utf8_lossy(&text));
                }
            }
            Event::Eof => break,
            _ => {}
        }
        if open.len() > MOST_DEEP || elements.len() > MOST_ELEMENTS {
            return Err(XmlError::TooMuch);
        }
    }
    match open.last().and_then(|index| elements.get(*index)) {
        Some(unfinished) => Err(XmlError::Unfinished(unfinished.name.clone())),
        None => Ok(elements),
    }
}

/// Puts an element into the list; returns its place.
fn add(elements: &mut Vec<Element>, element: Element) -> usize {
    let index = elements.len();
    if let Some(parent) = element.parent.and_then(|parent| elements.get_mut(parent)) {
        parent.children.push(index);
    }
    elements.push(element);
    index
}

fn element(tag: &BytesStart<'_>, parent: Option<usize>) -> Result<Element, String> {
    let mut attributes = SortedMap::new();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.unescape_value().map_err(|error| error.to_string())?;
        let key = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        attributes.insert(key, value.into_owned());
    }
    let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    Ok(Element { name, parent, children: Vec::new(), attributes, text: String::new() })
}
