//! R: the computations of the source document, to the last bit.

use crate::requirements::installed;
use crate::subject::Subject;

#[test]
fn r_computes_the_same_to_the_last_bit() {
    let Some(rscript) = installed("Rscript") else { return };
    Subject::new(rscript)
        .arguments(&["--vanilla", "numbers.R"])
        .file("numbers.R", include_str!("numbers.R"))
        .result("results")
        .same_with_and_without()
        .assert_on_huge_pages(32 << 20);
}

#[test]
fn an_error_in_r_is_the_same_error() {
    let Some(rscript) = installed("Rscript") else { return };
    Subject::new(rscript)
        .arguments(&["--vanilla", "-e", "x <- numeric(1e7); x[1] <- 1; stop('out of ideas')"])
        .same_with_and_without()
        .assert_on_huge_pages(80_000_000);
}
