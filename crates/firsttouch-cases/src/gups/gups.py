import json, os, sys, time
import numpy as np

entries, updates = int(sys.argv[1]), int(sys.argv[2])
steps = int(os.environ.get("FIRSTTOUCH_CASE_STEPS", "1"))
LANES = 1024  # as many numbers as the benchmark allows to be held back, each lane with a stretch of its own


def following(number):
    return (number << 1 & (1 << 64) - 1) ^ (7 if number >> 63 else 0)


def product(first, second):
    result = 0
    for bit in reversed(range(64)):
        result = following(result) ^ (first if second >> bit & 1 else 0)
    return result


def power(exponent):
    result = 1
    for bit in bin(exponent)[2:]:
        result = product(result, result)
        if bit == "1":
            result = following(result)
    return result


def update(table):
    bounds = [updates * lane // LANES for lane in range(LANES + 1)]
    numbers = np.array([power(start) for start in bounds[:-1]], dtype=np.uint64)
    lengths = np.diff(np.array(bounds))
    one, top, polynomial, mask = (np.uint64(number) for number in (1, 63, 7, entries - 1))
    for turn in range(int(lengths.max())):
        numbers = (numbers << one) ^ (numbers >> top) * polynomial
        drawn = numbers if turn < lengths.min() else numbers[lengths > turn]
        np.bitwise_xor.at(table, drawn & mask, drawn)


seconds = 0.0
for _ in range(steps):
    table = np.arange(entries, dtype=np.uint64)
    start = time.perf_counter()
    update(table)
    seconds += time.perf_counter() - start
weights = np.arange(1, 2 * entries, 2, dtype=np.uint64)
checksum = int((table * weights).sum())
with open(os.environ["FIRSTTOUCH_CASE_RESULT"], "w") as file:
    json.dump({"seconds": seconds / steps, "checksum": {"exact": f"{checksum:016x}"}}, file)
