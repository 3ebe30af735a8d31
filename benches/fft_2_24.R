testfft<-function(n=1024){ x<-as.complex(1:n)
  all.equal(fft(fft(x), inverse = TRUE)/ length(x), x) }
system.time(testfft(2^24),gcFirst=T)
