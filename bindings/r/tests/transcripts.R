# The calls that "Speeding up by using ISM-like calls" shows, in its order, with smaller numbers.
library(firsttouch)
if (!ISM.status()$support) {
    cat("skipped: no huge pages here:", ISM.status()$reason, "\n")
    quit("no")
}

hilbert <- function(N) { 1 / (matrix(1:N, N, N, byrow = T) + 0:(N - 1)) }
without <- qr(hilbert(400))
system.time(qr(hilbert(400)), gcFirst = T)
ISM(T)
system.time(with <- qr(hilbert(400)), gcFirst = T)
stopifnot(identical(without, with))

# ISM enable/disable
ISM(on = TRUE, minKB = ISM.status()$minKB, maxKB = ISM.status()$maxKB)
system.time(sort(1:1e8))
ISM(FALSE)

# ISM.status()
ISM(TRUE)
status <- ISM.status()
stopifnot(identical(status[1:5],
    list(support = TRUE, status = TRUE, minKB = 1024, maxKB = 4194304, largepagesize = 2048)))
ISM(FALSE)
stopifnot(!ISM.status()$status)

# ISM assign
rm(without, with)
invisible(gc())
foo <- matrix(rnorm(1024^2), 1024, 1024)
system.time(foo.qr := qr(foo), gcFirst = T)
stopifnot(identical(foo.qr, qr(foo)), !ISM.status()$status, any(ISM.list()$size > 8 * 1024^2))
rm(foo, foo.qr)

# ISM list: rows vanish
invisible(gc())
ISM(T)
system.time(sorted <- sort(rev(1:1e7) + 0))
rows <- ISM.list()
print(rows)
stopifnot(nrow(rows) >= 1, any(rows$size >= 8e7), is.na(rows$huge) | rows$huge <= rows$size, grepl("^0x", rows$address))
rm(sorted)
invisible(gc())
stopifnot(is.null(ISM.list()))
ISM(FALSE)

# FFT and inverse FFT
testfft <- function(n = 1024) {
    x <- as.complex(1:n)
    all.equal(fft(fft(x), inverse = TRUE) / length(x), x)
}
ISM(T)
stopifnot(testfft(2^18))
ISM(F)
cat("done\n")
