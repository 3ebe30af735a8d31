import json, os, sys, time
import numpy as np
from devito import Eq, Function, Grid, Operator, SparseTimeFunction, TimeFunction, configuration

configuration["log-level"] = "ERROR"
configuration["language"] = "openmp"
n, times, border = map(int, sys.argv[1:4])
steps = int(os.environ.get("FIRSTTOUCH_CASE_STEPS", "1"))

grid = Grid(shape=(n, n, n), extent=(n - 1.0,) * 3, dtype=np.float32)
u = TimeFunction(name="u", grid=grid, time_order=2, space_order=8)
speed = Function(name="speed", grid=grid, space_order=0)
damping = Function(name="damping", grid=grid, space_order=0)

place = np.arange(n)
z, y, x = np.meshgrid(place, place, place, indexing="ij", sparse=True)
depth = (4 * z + 0 * y + x) / (4 * n)
metres = np.select([depth < 0.35, depth < 0.7], [1500.0, 2500.0], 4500.0)
speed.data[:] = (0.4 * metres / 4500.0) ** 2
share = np.maximum(border - np.minimum(place, n - 1 - place), 0) / max(border, 1)
lost = 0.2 * share**2
damping.data[:] = np.maximum(np.maximum(lost[:, None, None], lost[None, :, None]), lost[None, None, :])
wave = np.sin((place + 1) * 0.25)
standing = 1e-3 * wave[:, None, None] * wave[None, :, None] * wave[None, None, :]
phase = (np.pi * (np.arange(times) / 75.0 - 1.0)) ** 2
source = SparseTimeFunction(name="source", grid=grid, npoint=1, nt=times)
source.coordinates.data[:] = [[n // 4, n // 2, n // 2]]
source.data[:, 0] = (1.0 - 2.0 * phase) * np.exp(-phase)

# Distances and times are those of the grid: a point, a time step.
moved = u - u.backward
wave_equation = Eq(u.forward, u + moved + speed * u.laplace - damping * moved)
operator = Operator([wave_equation, source.inject(field=u.forward, expr=source)], subs=grid.spacing_map)
seconds = 0.0
for step in range(steps + 1):  # the first is not timed: it compiles
    u.data[:] = standing
    start = time.perf_counter()
    operator.apply(time_m=0, time_M=times - 1, dt=1.0)
    seconds += (time.perf_counter() - start) * (step > 0)

numbers = np.arange(n**3).reshape(n, n, n)
field = u.data[times % 3].astype(np.float64)
value = float(((1.0 + (numbers % 1021) / 1021.0) * field**2).sum())
with open(os.environ["FIRSTTOUCH_CASE_RESULT"], "w") as file:
    json.dump({"seconds": seconds / steps, "checksum": {"value": value, "within": 1e-4}}, file)
