import numpy as np

a = np.full(1 << 18, 2.0)
print((a * a + a - a).sum())
