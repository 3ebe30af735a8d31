"""Small objects and nothing else: lists, tuples, dictionaries and strings, built and dropped.

    python3 objects.py [ROUNDS]      default 10

Python keeps the smallest objects in arenas of its own; the rest is the C library's.
"""
import sys


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y
        self.name = "point " * (x % 40)


total = 0
for turn in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
    points = [Point(i, turn) for i in range(60_000)]
    by_name = {}
    for point in points:
        by_name.setdefault(point.name, []).append((point.x, point.y))
    rows = [list(range(i % 200)) for i in range(20_000)]
    total += len(by_name) + sum(map(len, rows)) + sum(len(point.name) for point in points)
print(total)
