# The article's function, but that it keeps what is transformed there and back.
testfft<-function(n=1024){ x<-as.complex(1:n)
  all.equal(back <<- fft(fft(x), inverse = TRUE)/ length(x), x) }
n <- as.numeric(arguments[1])
report(function() testfft(n), function(equal) {
    stopifnot(isTRUE(equal))
    near(sum((seq_along(back) %% 7 + 1) * (Re(back) + Im(back))), 1e-10)
})
