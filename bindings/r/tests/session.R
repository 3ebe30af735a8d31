# A plain session: results, coverage, toggles under load, children, leaving.
library(firsttouch)
if (!ISM.status()$support) {
    cat("skipped: no huge pages here:", ISM.status()$reason, "\n")
    quit("no")
}
agent <- ISM.status()$via == "agent"

# Loading alone changes nothing.
stopifnot(agent || ISM.status()$via == "nothing", is.null(ISM.list()))
ISM(FALSE)
stopifnot(agent || ISM.status()$via == "nothing")

# The old state, invisibly; bad arguments change nothing.
stopifnot(identical(withVisible(ISM(TRUE)), list(value = FALSE, visible = FALSE)))
stopifnot(ISM(TRUE), ISM(FALSE), !ISM(FALSE))
stopifnot(ISM.status()$via == if (agent) "agent" else "redirection")
for (bad in list(quote(ISM(NA)), quote(ISM(TRUE, minKB = -1)), quote(ISM(TRUE, minKB = 2, maxKB = 1)),
                 quote(ISM(TRUE, minKB = 0)), quote(ISM(TRUE, pages = "no such")), quote(`:=`(a[1], 2)))) {
    said <- try(eval(bad), silent = TRUE)
    stopifnot(inherits(said, "try-error"), !grepl("firsttouch.h", said), !ISM.status()$status)
}

# The same results, and where they lie.
set.seed(123)
y <- matrix(rnorm(1000 * 500), 1000)
x <- matrix(runif(60 * 1000), 1000)
without <- coef(lm(y ~ x))
ISM(TRUE, minKB = 512)
with <- lm(y ~ x)
large <- numeric(2^24) + 1
rows <- ISM.list()
stopifnot(identical(coef(with), without), nrow(rows) > 1)
cat(sprintf("%.1f %% of %.0f placed bytes on huge pages\n", 100 * sum(rows$huge) / sum(rows$size), sum(rows$size)))
stopifnot(anyNA(rows$huge) || sum(rows$huge) >= 0.95 * sum(rows$size))
seen <- ft_obtained(large)
print(seen)
stopifnot(seen$placed, seen$huge >= 0.95 * seen$bytes, seen$bytes == 2^27)
stopifnot(any(grepl("^8,000,000 bytes, ", capture.output(print(ft_obtained(numeric(1e6)))))))
rm(large, with)

# Sizes.
ISM(TRUE, minKB = 1024, maxKB = 2048)
invisible(gc())
before <- nrow(ISM.list())
before <- if (is.null(before)) 0 else before
kept <- list(numeric(2^16), numeric(2^17 + 100), numeric(2^19))
stopifnot(nrow(ISM.list()) == before + 1, ISM.status()$maxKB == 2048)
rm(kept)
ISM(FALSE, 1024, 4194304)

# One expression, one vector.
ISM(TRUE, minKB = 1024, maxKB = 4194304)
ISM(FALSE)
here <- with_pages({ stopifnot(ISM.status()$status, ISM.status()$minKB == 64); numeric(2^14) }, minKB = 64)
stopifnot(ft_obtained(here)$placed, !ISM.status()$status, ISM.status()$minKB == 1024)
stopifnot(inherits(try(with_pages(stop("no")), silent = TRUE), "try-error"), !ISM.status()$status)
small <- ft_numeric(2^18, pages = "4k")
stopifnot(ft_obtained(small)$placed, ft_obtained(small)$huge == 0, all(small == 0))
stopifnot(!ft_obtained(numeric(2^18))$placed, inherits(try(ft_obtained(list(1)), silent = TRUE), "try-error"))
within <- function() { local := numeric(2^18); exists("local", inherits = FALSE) && ft_obtained(local)$placed }
stopifnot(within(), !exists("local", where = globalenv(), inherits = FALSE))

# A vector with a name is where whoever starts the program puts it, and goes back when R collects it.
Sys.setenv(FIRSTTOUCH_OBJECTS = "table=4k/inherit")
table <- ft_numeric(2^20, name = "table")
stopifnot(all(table == 0))
table[2^20] <- 1
stopifnot(sum(table) == 1, ft_obtained(table)$placed, identical(ft_obtained(table)$huge, 0))
copy <- table + 1
stopifnot(!ft_obtained(copy)$placed, sum(copy) == 2^20 + 1)
for (round in 1:100)
    stopifnot(identical(ft_numeric(1, name = "table"), 0))
other <- ft_numeric(2^22, name = "other")
other[] <- 1
stopifnot(ft_obtained(other)$placed, ft_obtained(other)$huge >= 0.9 * 2^25)
mappings <- function() length(readLines("/proc/self/maps"))
invisible(gc())
before <- mappings()
for (round in 1:200)
    stopifnot(sum(ft_numeric(2^17, name = "other")) == 0)
rm(table, other)
invisible(gc())
stopifnot(mappings() < before + 20)
for (bad in list(quote(ft_numeric(10, name = "a table")), quote(ft_numeric(10, "3m", name = "table")),
                 quote(ft_numeric(-1, name = "table")))) {
    said <- try(eval(bad), silent = TRUE)
    stopifnot(inherits(said, "try-error"), !grepl("firsttouch.h", said))
}
stopifnot(sum(ft_numeric(2^17, pages = NULL, name = "table")) == 0)
Sys.unsetenv("FIRSTTOUCH_OBJECTS")

# Such a vector outlives the package where nothing else of it is in use.
lives <- "library(firsttouch); x <- ft_numeric(2^17, name = 't'); unloadNamespace('firsttouch'); rm(x); invisible(gc()); cat('lived')"
stopifnot(identical(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", "-e", shQuote(lives)), stdout = TRUE), "lived"))

# A thousand times on and off under allocation.
total <- 0
for (round in 1:1000) {
    ISM(round %% 2 == 1)
    a <- rep(round, 2^17 + (round * 7919) %% 2^17)
    b <- c(a, a)
    total <- total + sum(b) / length(b)
}
stopifnot(total == sum(1:1000))

# Children.
ISM(TRUE)
shared <- numeric(2^20) + 1
sums <- parallel::mclapply(1:4, function(child) {
    shared[child] <- 10
    own <- numeric(2^20) + child
    gc()
    stopifnot(ft_obtained(own)$placed)
    sum(shared) + sum(own)
}, mc.cores = 2)
stopifnot(identical(unlist(sums), 2^20 + 9 + 2^20 * (1:4)), sum(shared) == 2^20)

# Leaving with a live vector, coming back, leaving without.
unloadNamespace("firsttouch")
stopifnot(sum(shared) == 2^20)
shared <- c(shared, shared)
shared <- NULL
invisible(gc())
library(firsttouch)
ISM(TRUE)
stopifnot(ft_obtained(numeric(2^20))$placed)
rm(list = ls())
invisible(gc())
stopifnot(is.null(ISM.list()))
unloadNamespace("firsttouch")
x <- numeric(2^20) + 1
rm(x)
invisible(gc())
library(firsttouch)
stopifnot(ISM.status()$via %in% c("nothing", "agent"))
cat("done\n")
