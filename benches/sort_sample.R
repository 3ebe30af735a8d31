set.seed(123)
x<-sample.int(1e8)
system.time(sort(x),gcFirst=T)
