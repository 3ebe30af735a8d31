set.seed(123)
y<-matrix(rnorm(10000*5000),5000)
x<-matrix(runif(100*5000),5000)
system.time(fit<-lm(y~x),gcFirst=T)
