responses <- as.numeric(arguments[1])
rows <- as.numeric(arguments[2])
predictors <- as.numeric(arguments[3])
set.seed(123)
y<-matrix(rnorm(responses*rows),rows)
x<-matrix(runif(predictors*rows),rows)
fits <- list(r = function() fit<-lm(y~x), "r-lm.fit" = function() .lm.fit(cbind(1, x), y))
report(fits[[arguments[4]]], function(fit) {
    coefficients <- matrix(fit$coefficients, predictors + 1)
    places <- (row(coefficients) + col(coefficients)) %% 7 + 1
    near(sum(places * abs(coefficients)) + sum(fit$residuals^2), 1e-9)
})
