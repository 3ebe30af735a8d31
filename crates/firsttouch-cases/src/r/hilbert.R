hilbert<-function(N){ 1/(matrix(1:N, N, N, byrow=T) + 0:(N - 1)) }
N <- as.numeric(arguments[1])
report(function() qr(hilbert(N)), function(q) {
    # Magnitudes, whatever the signs; each column counts by its place in the matrix.
    r <- abs(q$qr[seq_len(q$rank), , drop = FALSE])
    near(q$rank + sum((colSums(r * (row(r) <= col(r))) * q$pivot)) / N, 1e-4)
}, warm = TRUE)
