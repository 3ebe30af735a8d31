"""Arrays of every kind of life: created, cleared, grown, sorted, multiplied, read from a file. Every bit counts."""
import hashlib

import numpy as np


def show(name, array):
    array = np.ascontiguousarray(array)
    print(name, array.dtype, array.shape, hashlib.sha256(array.tobytes()).hexdigest())


rng = np.random.default_rng(123)
x = rng.standard_normal(4_000_000)
show("normal", x)
show("sorted", np.sort(x))
show("ordered", np.argsort(x[:1_000_000], kind="stable"))
show("sums", np.array([x.sum(), x.mean(), x.std(), np.dot(x, x), np.cumsum(x)[-1]]))

a = rng.random((700, 700))
b = rng.random((700, 700))
show("product", a @ b)
show("solution", np.linalg.solve(a, b))
show("decomposed", np.linalg.svd(a[:200, :200], compute_uv=False))
show("spectrum", np.fft.fft(x[: 1 << 20]))

# calloc'ed blocks are zero, also where another block was before.
for size in range(1_000_000, 1_200_000, 20_000):
    zeros = np.zeros(size)
    assert not zeros.any(), size
    zeros += size

grown = bytearray()
for step in range(200):
    grown += bytes([step]) * 100_000
print("grown", len(grown), hashlib.sha256(grown).hexdigest())

x[:1_000_000].tofile("stored")
show("mapped", np.memmap("stored", dtype=np.float64, mode="r")[::-1])
