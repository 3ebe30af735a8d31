# Huge pages in a running session.

# The kind of pages last asked for here: the library does not tell it.
state <- new.env(parent = emptyenv())
state$pages <- NULL

.onLoad <- function(libname, pkgname) {
    # R's own allocations, and nobody else's. Where R is no shared library, they are the program's.
    shared <- file.exists(file.path(R.home("lib"), "libR.so"))
    .Call(C_choose, if (shared) "libR.so" else "R")
}

.onUnload <- function(libpath) {
    # Vectors that still live are freed through the library, so it stays in memory, whatever R believes.
    .Call(C_end)
    library.dynam.unload("firsttouch", libpath)
}

ISM <- function(on = TRUE, minKB = ISM.status()$minKB, maxKB = ISM.status()$maxKB, pages = NULL) {
    stopifnot(is.logical(on), length(on) == 1L, !is.na(on))
    before <- .Call(C_status)
    if (on) {
        .Call(C_on, pages, minKB * 1024, maxKB * 1024)
        if (!is.null(pages))
            state$pages <- pages
    } else {
        .Call(C_off)
    }
    invisible(before$enabled)
}

ISM.status <- function() {
    now <- .Call(C_status)
    status <- list(
        support = now$support,
        status = now$enabled,
        minKB = now$min_bytes / 1024,
        maxKB = now$max_bytes / 1024,
        largepagesize = now$page_bytes / 1024,
        via = c("nothing", "agent", "redirection", "other copy")[now$via + 1L]
    )
    if (!is.null(now$reason))
        status <- c(status, reason = now$reason, remedy = now$remedy)
    status
}

ISM.list <- function() {
    blocks <- .Call(C_list)
    if (length(blocks$id)) as.data.frame(blocks, stringsAsFactors = FALSE)
}

`:=` <- function(x, value) {
    target <- substitute(x)
    if (!is.name(target) && !is.character(target))
        stop("`:=` assigns to a name")
    # What `value` stands for is evaluated here, while pages are huge.
    value <- with_pages(value, pages = NULL)
    assign(as.character(target), value, envir = parent.frame())
    invisible(value)
}

with_pages <- function(expr, pages = "thp", minKB = ISM.status()$minKB, maxKB = ISM.status()$maxKB) {
    before <- .Call(C_status)
    kind <- state$pages
    force(minKB)
    force(maxKB)
    on.exit({
        # Back to the sizes and the kind of before, and on only if it was.
        .Call(C_on, kind, before$min_bytes, before$max_bytes)
        if (!before$enabled)
            .Call(C_off)
    })
    if (is.null(kind) && before$via != 1L)
        kind <- "thp"
    .Call(C_on, pages, minKB * 1024, maxKB * 1024)
    force(expr)
}

ft_numeric <- function(n, pages = "thp", name = NULL) {
    if (!is.null(name))
        return(.Call(C_named, n, c(pages, state$pages, "thp")[1], name))
    # Smaller vectors than a page share theirs with others.
    with_pages(numeric(n), pages = pages, minKB = 4, maxKB = Inf)
}

ft_obtained <- function(x) {
    structure(.Call(C_obtained, x), class = "ft_obtained")
}

in_digits <- function(bytes) format(bytes, big.mark = ",", trim = TRUE, scientific = FALSE)

print.ft_obtained <- function(x, ...) {
    cat(in_digits(x$bytes), " bytes, ", if (x$placed) "placed" else "not placed", sep = "")
    if (!is.null(x$huge)) {
        total <- x$huge + x$small + x$untouched
        cat(": ", format(100 * x$huge / total, digits = 3), " % on huge pages", sep = "")
    }
    if (length(x$nodes))
        cat("; node", paste0(names(x$nodes), ": ", in_digits(x$nodes), " bytes", collapse = ", "))
    cat("\n")
    invisible(x)
}
