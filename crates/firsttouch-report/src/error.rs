//! Why a text is not a document that can be shown.

/// A text that is neither a document nor a page of ours that holds one.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// HTML without our data block.
    #[error("an HTML file, but not a report of firsttouch: it holds no `firsttouch-data` block")]
    NoData,
    /// HTML that stops in the middle of the data block.
    #[error("the page ends early (line {line}): the copy or the command that wrote it was cut short")]
    Truncated {
        /// The last line, from 1.
        line: usize,
    },
    /// Not a document, or not one of ours.
    #[error(transparent)]
    Document(#[from] firsttouch_documents::OpenError),
}

impl OpenError {
    /// The line that helps.
    pub fn hint(&self) -> String {
        match self {
            OpenError::NoData | OpenError::Truncated { .. } => {
                "firsttouch tune --export-html FILE -- PROGRAM writes a page that holds its document"
                    .to_owned()
            }
            OpenError::Document(error) => error.hint(),
        }
    }
}
