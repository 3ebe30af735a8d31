hilbert<-function(N){ 1/(matrix(1:N, N, N, byrow=T) + 0:(N - 1)) }
system.time(qr(hilbert(2^10)),gcFirst=T)
