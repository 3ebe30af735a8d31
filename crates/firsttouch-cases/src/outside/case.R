# What scripts of cases have in common: `arguments`, and `report`.
arguments <- commandArgs(TRUE)

# Times steps, and writes what a run says. `warm`: one step goes before that is not timed, as in runs of ours.
report <- function(step, checksum, warm = FALSE) {
    if (warm) step()
    steps <- as.integer(Sys.getenv("FIRSTTOUCH_CASE_STEPS"))
    gc()
    # What system.time() reads, which rounds it to milliseconds.
    begun <- Sys.time()
    for (step_number in seq_len(steps)) result <- step()
    seconds <- as.numeric(Sys.time() - begun, units = "secs") / steps
    cat(sprintf('{"seconds": %.9f, "checksum": %s}\n', seconds, checksum(result)), file = Sys.getenv("FIRSTTOUCH_CASE_RESULT"))
}

near <- function(value, within) sprintf('{"value": %.17g, "within": %g}', value, within)
