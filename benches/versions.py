#!/usr/bin/env python3
"""Whether a change of the agent makes programs slower: builds of the command compared in one session.

    benches/versions.py --firsttouch before=FILE --firsttouch after=FILE [--rounds 9] [--seed N] [NAME...]

Runs churn, churn_calloc, small, large_c, lm and hop alone and under `FILE run` of each build, in random order within each round. For
each program a line tells the median seconds, and the ratio of each build to the first: the median over the rounds, with an interval
(order statistics, 95 %). `hop` is in percent of malloc's time, as it prints them, and its builds are told apart by differences.

Before each run memory is touched and released, because in a virtual machine the host takes freed memory back, and returns it
slowly. Needs `make -C benches`, R for lm and gcc for large_c; what is not there is said and left out. Nothing else should run.
"""

import argparse
import math
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

from numpy_pages import warm

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILT = TOP / "target" / "benches"
# More than any of them has.
WARMED_BYTES = 4 << 30

# Words, the options of `run`, and what the program needs besides.
PROGRAMS = {
    "churn": ([BUILT / "churn", "10", "512"], [], None),
    "churn_calloc": ([BUILT / "churn_calloc", "10", "512"], [], None),
    "small": ([BUILT / "small"], [], None),
    "large_c": (["gcc", "-O2", "-c", BUILT / "large.c", "-o", "/dev/null"], ["--follow"], "gcc"),
    "lm": (["Rscript", TOP / "benches" / "lm.R"], [], "Rscript"),
    "hop": ([BUILT / "hop", "5000", "1000"], [], None),
}


def measured(name, words):
    """Seconds, or for `hop` the percent that it prints."""
    warm(WARMED_BYTES)
    begun = time.perf_counter()
    answer = subprocess.run(words, check=True, capture_output=True, text=True)
    took = time.perf_counter() - begun
    if name != "hop":
        return took
    found = re.search(r"([+-][\d.]+) % \(median", answer.stdout)
    if not found:
        sys.exit(f"hop printed: {answer.stdout}")
    return float(found[1])


def interval(values):
    """The median, and the values between which it lies with 95 %, by their order (binomial distribution)."""
    ordered, count = sorted(values), len(values)
    below, outside = 0.0, 0
    for rank in range(count // 2):
        below += math.comb(count, rank) / 2**count
        if below <= 0.025:
            outside = rank
    return statistics.median(values), ordered[outside], ordered[count - 1 - outside]


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--firsttouch", action="append", required=True, metavar="NAME=FILE")
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}; all of them")
    options = options.parse_args()
    builds = dict(build.split("=", 1) for build in options.firsttouch)
    unknown = [name for name in options.names if name not in PROGRAMS]
    if unknown:
        sys.exit(f"no program is called {unknown[0]}: {', '.join(PROGRAMS)}")
    order = random.Random(options.seed)
    print(f"{options.rounds} rounds, seed {options.seed}")
    for name in options.names or PROGRAMS:
        words, more, needed = PROGRAMS[name]
        if needed and not shutil.which(needed):
            print(f"{name:14}left out: there is no {needed}")
            continue
        words = [str(word) for word in words]
        ways = {"alone": words}
        ways.update({build: [file, "run", *more, "--", *words] for build, file in builds.items()})
        seen = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way in order.sample(list(ways), len(ways)):
                seen[way].append(measured(name, ways[way]))
        unit = "%" if name == "hop" else "s"
        line = [f"{way} {statistics.median(values):.3f} {unit}" for way, values in seen.items()]
        first, *others = builds
        for build in others:
            pairs = zip(seen[build], seen[first])
            changes = [new - old if name == "hop" else new / old for new, old in pairs]
            middle, low, high = interval(changes)
            sign = "+" if name == "hop" else ""
            line.append(f"{build} to {first} {middle:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})")
        print(f"{name:14}{', '.join(line)}", flush=True)


if __name__ == "__main__":
    main()
