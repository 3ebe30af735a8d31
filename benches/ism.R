# One plain session: the fit of lm.R without huge pages, twice, and with, three times. The first fit with them also creates
# the pages; later ones find them. Elapsed, user and system seconds, and what the kernel gave.
library(firsttouch)
columns <- as.numeric(c(commandArgs(TRUE), 10000)[1])
set.seed(123)
y <- matrix(rnorm(columns * 5000), 5000)
x <- matrix(runif(100 * 5000), 5000)
fit <- function() {
    spent <- system.time(fitted <- lm(y ~ x), gcFirst = TRUE)
    rows <- ISM.list()
    cat(sprintf("%-3s  elapsed %6.2f  user %6.2f  system %5.2f  %5.1f %% of %4.0f MB on huge pages\n",
                if (ISM.status()$status) "on" else "off", spent[["elapsed"]], spent[["user.self"]], spent[["sys.self"]],
                if (is.null(rows)) 0 else 100 * sum(rows$huge) / sum(rows$size), sum(rows$size) / 1e6))
    spent
}
fits <- lapply(c(FALSE, FALSE, TRUE, TRUE, TRUE), function(on) {
    ISM(on)
    fit()
})
# The least of each side: whatever else ran can only have added to it.
least <- function(fits, what) min(sapply(fits, function(spent) sum(spent[what])))
off <- fits[1:2]
on <- fits[3:5]
cpu <- c("user.self", "sys.self")
cat(sprintf("on is %.2f times as fast as off; without any system time it would be %.2f times: %.0f %% of off is user time\n",
            least(off, "elapsed") / least(on, "elapsed"), least(off, cpu) / least(off, "user.self"),
            100 * least(off, "user.self") / least(off, cpu)))
cat(sprintf("user time is %.2f times as fast with huge pages\n", least(off, "user.self") / least(on, "user.self")))
