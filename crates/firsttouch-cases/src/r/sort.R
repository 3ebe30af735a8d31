N <- as.numeric(arguments[1])
if (arguments[2] == "compact") {
    step <- function() sort(1:N)
} else {
    set.seed(123)
    x <- sample.int(N)
    step <- function() sort(x)
}
# The sum of all values, each times its place modulo 61, modulo 2^32: in pieces that doubles hold exactly.
report(step, function(sorted) {
    total <- 0
    for (begin in seq(1, N, by = 65536)) {
        places <- begin:min(begin + 65535, N)
        total <- (total + sum(as.numeric(sorted[places]) * (places %% 61))) %% 2^32
    }
    sprintf('{"exact": "%04x%04x"}', as.integer(total %/% 65536), as.integer(total %% 65536))
})
