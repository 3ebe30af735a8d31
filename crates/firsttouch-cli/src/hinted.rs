//! Errors of the libraries that say what would mend them, on their way to the terminal.

use crate::output::Failure;
use firsttouch_attach::{ChannelError, ObserveError};
use firsttouch_balance::{MachineError, ProblemError, StrategyError};
use firsttouch_documents::MeasurementError;
use firsttouch_graph::hierarchy::HierarchyError;
use firsttouch_graph::{
    AllPairsError, FileError, GenerateError, MessageError, ReadError, ReceiveError, RowsError, WriteError,
};
use firsttouch_launch::{NotHere, NotReady, TuneError};
use firsttouch_machine::{NearError, NoOwnPlace, OwnDevicesError, SourceError};
use firsttouch_measure::{FillingError, MeasureError};
use firsttouch_memory::RegionError;
use firsttouch_placement::{PlacementError, ProfileError};
use firsttouch_setup::SetupError;
use firsttouch_threads::TeamError;
use firsttouch_watch::WatchError;

/// An error with the line that mends it.
pub(crate) trait Hinted: std::error::Error + Send + Sync + 'static {
    /// The line, where there is one.
    fn line(&self) -> Option<String>;
}

impl Failure {
    /// The error, with its hint.
    pub(crate) fn hinted(error: impl Hinted) -> Failure {
        let hint = error.line();
        Failure::new(error).hint_if_some(hint)
    }
}

/// For errors with a method `hint`.
macro_rules! hinted {
    ($line:expr; $($error:ty),+ $(,)?) => {
        $(impl Hinted for $error {
            fn line(&self) -> Option<String> {
                $line(self.hint())
            }
        })+
    };
}

hinted!(|hint: &str| Some(hint.to_owned());
    AllPairsError, ChannelError, FileError, FillingError, GenerateError, HierarchyError, MachineError,
    MeasureError, MeasurementError, MessageError, NearError, ObserveError, OwnDevicesError, ProblemError, ReadError, ReceiveError, RegionError,
    RowsError, TeamError, WriteError,
);
hinted!(Some; NoOwnPlace, NotHere, NotReady, WatchError);
hinted!(|hint: Option<_>| hint.map(Into::into); PlacementError, ProfileError, SourceError, StrategyError);
hinted!(std::convert::identity; SetupError, TuneError);
