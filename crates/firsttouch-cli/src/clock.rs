//! The date, as documents carry it.

use std::time::SystemTime;

/// Now, by RFC 3339 in UTC, to the second.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
