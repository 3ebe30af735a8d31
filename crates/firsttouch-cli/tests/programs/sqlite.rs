//! SQLite: the same answers and, byte for byte, the same file.

use crate::requirements::installed;
use crate::subject::Subject;

#[test]
fn sqlite_answers_and_stores_the_same() {
    let Some(sqlite) = installed("sqlite3") else { return };
    Subject::new(sqlite)
        .arguments(&["-batch", "shop.db"])
        .input(include_str!("shop.sql"))
        .result("shop.db")
        .same_with_and_without()
        .assert_complete();
}

#[test]
fn an_error_in_sqlite_is_the_same_error() {
    let Some(sqlite) = installed("sqlite3") else { return };
    Subject::new(sqlite).arguments(&["-bail", ":memory:", "SELECT nothing"]).same_with_and_without();
}
