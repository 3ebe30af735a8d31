# heap.R ROUNDS MIB: a long vector, read and written in place at random places, and vectors that come and go.
#
# Talks as gather.c does.
words <- as.integer(commandArgs(trailingOnly = TRUE))
rounds <- words[1]
x <- numeric(words[2] * 131072)
for (from in seq(1, length(x), by = 131072)) {
  to <- from + 131071
  x[from:to] <- (from:to * 7919) %% 1000003
}
cat("ready", Sys.getpid(), "\n")

digest <- 0
done <- 0
while (if (rounds > 0) done < rounds else !file.exists("stop")) {
  done <- done + 1
  set.seed(done)
  places <- sample.int(length(x), 200000, replace = TRUE)
  digest <- (digest * 31 + sum(x[places])) %% 2147483647
  x[places] <- (x[places] + done) %% 1000003
  gone <- numeric(300000) + done
  cat("round", done, format(digest + sum(gone), digits = 17), "\n")
}
