//! The memory behind `zeros`, `empty` and `full`: one mapping for one array.

use crate::errors::{bad_argument, no_memory, pages, words};
use crate::obtained::{Told, told};
use crate::pooled;
use firsttouch_fill::store;
use firsttouch_memory::{FillMeans, Pages, Reason, forbidden, object_places};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Zeroed memory with chosen pages, given back when the last array on it is gone.
#[pyclass(frozen, module = "firsttouch._core")]
pub(crate) struct Region {
    region: firsttouch_memory::Region,
    address: usize,
    /// As asked for; the mapping has whole pages.
    bytes: usize,
    asked: Pages,
    node: Option<u32>,
    is_reserved: bool,
}

#[pymethods]
impl Region {
    /// Maps memory, filled with a byte; with a node, from that node only. A place that `places` have for its name counts instead.
    #[new]
    #[pyo3(signature = (bytes, kind, node=None, fill=0, name=None, places=None))]
    fn new(
        py: Python<'_>,
        bytes: usize,
        kind: String,
        node: Option<u32>,
        fill: u8,
        name: Option<String>,
        places: Option<String>,
    ) -> PyResult<Region> {
        let asked = pages(&kind)?;
        if asked == Pages::Plain || bytes == 0 {
            return Err(bad_argument(
                &"a region needs bytes and a kind of pages",
                "numpy.empty for plain memory",
            ));
        }
        let mut builder = firsttouch_memory::Region::of(bytes).pages(asked);
        if let Some(node) = node {
            builder = builder.bind(&[node]);
        }
        if let Some(name) = name {
            builder = builder.named(&name, places.as_deref().unwrap_or_default()).ok_or_else(|| {
                bad_argument(
                    &format!("`{name}` is no name, or {} does not read", object_places::VARIABLE),
                    "letters, digits, `-`, `_` and `.` make a name; firsttouch run --object writes the places",
                )
            })?;
        }
        let asked = builder.wished_pages();
        let mut region = py
            .detach(|| {
                let mut region = builder.map()?;
                if fill != 0 {
                    // By this thread and through the caches: the kernel has just cleared what is written. Others would
                    // first have to learn how fast they are, which takes longer than most arrays.
                    store(FillMeans::String, &mut region.as_mut_slice()[..bytes], fill);
                }
                Ok(region)
            })
            .map_err(no_memory)?;
        let memory = region.as_mut_slice();
        let (address, whole) = (memory.as_mut_ptr() as usize, memory.len());
        let page_bytes = region.pages().bytes();
        let is_reserved = region.pages().is_reserved();
        if is_reserved {
            pooled::add(address, whole, page_bytes);
        }
        Ok(Region { region, address, bytes, asked, node, is_reserved })
    }

    /// How NumPy finds the memory; an array made by it keeps this object.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", "|u1")?;
        interface.set_item("shape", (self.bytes,))?;
        interface.set_item("data", (self.address, false))?;
        Ok(interface)
    }

    /// The kind of pages that was asked for.
    #[getter]
    fn asked(&self) -> String {
        self.asked.to_string()
    }

    /// The node that memory was to come from.
    #[getter]
    fn node(&self) -> Option<u32> {
        self.node
    }

    /// Size of the pages of the mapping.
    #[getter]
    fn page_bytes(&self) -> usize {
        self.region.pages().bytes()
    }

    /// Why the pages are not those asked for, and what would mend it; `None` as long as nothing is short. Pages that were
    /// not touched yet are judged by what the kernel's settings say.
    #[getter]
    fn shortfall(&self) -> Option<(&'static str, &'static str)> {
        self.region.shortfall().or_else(|| self.forbidden()).map(words)
    }

    /// The same of the pages of a part, at an address, each reason with the bytes that it concerns.
    fn shortfalls_of(&self, address: usize, bytes: usize) -> Vec<Told> {
        let begin = address - self.address;
        let receipt = self.region.receipt_of(begin..begin + bytes);
        let mut all: Vec<_> = receipt.shortfalls_of_pages().collect();
        if all.is_empty() {
            all.extend(self.forbidden().map(|reason| (reason, 0)));
        }
        told(all.into_iter(), receipt.bytes)
    }
}

impl Region {
    /// What the kernel's settings say of pages that are not touched yet.
    fn forbidden(&self) -> Option<Reason> {
        forbidden(self.asked).filter(|_| matches!(self.asked, Pages::Transparent | Pages::Multi(_)))
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.is_reserved {
            pooled::remove(self.address);
        }
    }
}
