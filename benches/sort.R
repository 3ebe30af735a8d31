system.time(sort(1:1e8))
