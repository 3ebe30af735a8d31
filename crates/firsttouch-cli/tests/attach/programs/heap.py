"""heap.py ROUNDS MIB: NumPy over memory that NumPy does not ask huge pages for, and many small objects.

Talks as gather.c does.
"""
import os
import sys

import numpy as np

rounds, mib = int(sys.argv[1]), int(sys.argv[2])
words = np.frombuffer(bytearray(mib << 20), dtype=np.uint64)
step = 1 << 17
for at in range(0, len(words), step):
    words[at : at + step] = np.arange(at, at + step, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
objects = {number: (number, str(number)) for number in range(mib << 10)}
print("ready", os.getpid(), flush=True)

digest, done = 0, 0
while done < rounds if rounds else not os.path.exists("stop"):
    done += 1
    places = np.random.default_rng(done).integers(0, len(words), 1 << 18)
    digest = (digest * 31 + int(words[places].sum(dtype=np.uint64))) % (1 << 64)
    words[places] += np.uint64(done)
    for number in range(done % 7, len(objects), 61):
        digest ^= objects[number][0] + len(objects[number][1])
    for number in range(done % 101, len(objects), 101):
        objects[number] = (number + done, str(number + done))
    print("round", done, f"{digest:x}", flush=True)
