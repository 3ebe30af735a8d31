#!/usr/bin/env python3
"""What standing in front of malloc costs small allocations, beside the least that any library there costs.

    benches/interposition.py [--rounds 9] [--keys 5000] [--pairs 4000] [--firsttouch COMMAND]

Runs `hop` in turns: alone, under a preloaded library that only jumps on (forward.c), and under `firsttouch run`. Each run
gives the time of malloc over that of __libc_malloc; the table has the medians of the runs, and their distance to the run
alone, which is what the library costs. Needs `make -C benches`.
"""

import argparse
import pathlib
import re
import statistics
import subprocess

BUILT = pathlib.Path(__file__).resolve().parent.parent / "target" / "benches"


def percent(words):
    answer = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = re.search(r"([+-][\d.]+) % \(median", answer)
    if not found:
        raise SystemExit(f"{' '.join(words)} printed: {answer}")
    return float(found[1])


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--keys", default="5000")
    options.add_argument("--pairs", default="4000")
    options.add_argument("--firsttouch", default="firsttouch", metavar="COMMAND")
    options = options.parse_args()
    hop = [str(BUILT / "hop"), options.keys, options.pairs]
    ways = {
        "alone": hop,
        "forward.c": ["env", f"LD_PRELOAD={BUILT / 'libforward.so'}", *hop],
        "firsttouch run": [options.firsttouch, "run", "--", *hop],
    }
    seen = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, words in ways.items():
            seen[way].append(percent(words))
    alone = statistics.median(seen["alone"])
    print(f"{'':16}{'median':>9}{'range':>20}{'cost':>9}")
    for way, values in seen.items():
        middle = statistics.median(values)
        limits = f"{min(values):+.2f} to {max(values):+.2f}"
        print(f"{way:16}{middle:+8.2f}%{limits:>20}{middle - alone:+8.2f}%")


if __name__ == "__main__":
    main()
