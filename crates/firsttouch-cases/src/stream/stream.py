import json, os, sys, time
import numpy as np

kernel, elements = sys.argv[1], int(sys.argv[2])
steps = int(os.environ.get("FIRSTTOUCH_CASE_STEPS", "1"))


def value(array):
    number = np.arange(elements, dtype=np.uint64) * np.uint64(3) + np.uint64(array + 1)
    number *= np.uint64(0x9E3779B97F4A7C15)
    mixed = (number ^ (number >> np.uint64(29))) * np.uint64(0xD6E8FEB86659FD93) ^ (number >> np.uint64(32))
    return (mixed >> np.uint64(44)).astype(np.float64)


a, b, c = value(0), value(1), value(2)


def triad():
    np.multiply(c, 3.0, out=a)
    np.add(a, b, out=a)


step, written = {
    "copy": (lambda: np.copyto(c, a), c),
    "scale": (lambda: np.multiply(c, 3.0, out=b), b),
    "add": (lambda: np.add(a, b, out=c), c),
    "triad": (triad, a),
}[kernel]
start = time.perf_counter()
for _ in range(steps):
    step()
seconds = (time.perf_counter() - start) / steps
weights = np.arange(1, 2 * elements, 2, dtype=np.uint64)
checksum = int((written.view(np.uint64) * weights).sum())
with open(os.environ["FIRSTTOUCH_CASE_RESULT"], "w") as file:
    json.dump({"seconds": seconds, "checksum": {"exact": f"{checksum:016x}"}}, file)
