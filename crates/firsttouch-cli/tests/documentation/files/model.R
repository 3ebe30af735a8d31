y <- matrix(rnorm(2e5), 500)
x <- matrix(runif(1e4), 500)
fit <- lm(y ~ x)
