# The computations of the source document at a size for every day. Every bit of every result goes to a file.
results <- file("results", "wb")
keep <- function(x) {
  if (is.complex(x)) x <- c(Re(x), Im(x))
  writeBin(as.double(x), results)
  cat(length(x), format(sum(x), digits = 17), "\n")
}

set.seed(123)
y <- matrix(rnorm(1000 * 2000), 2000)
x <- matrix(runif(50 * 2000), 2000)
fit <- lm(y ~ x)
keep(coef(fit))
keep(residuals(fit))

hilbert <- function(N) 1 / (matrix(1:N, N, N, byrow = TRUE) + 0:(N - 1))
decomposed <- qr(hilbert(500))
keep(decomposed$qr)
keep(decomposed$qraux)

z <- as.complex(1:1e6)
keep(fft(z))
keep(fft(fft(z), inverse = TRUE) / length(z))

keep(sort(runif(3e6)))
keep(sort(sample.int(3e6)))

# Blocks that come and go: what is used again must not show what was there before.
for (i in 1:20) keep(c(sum(numeric(5e5 + i)), sum(integer(1e6 + i))))
close(results)
