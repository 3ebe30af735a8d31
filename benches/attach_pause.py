#!/usr/bin/env python3
"""How fast `firsttouch attach` collapses a process, and for how long the process stands still meanwhile.

    benches/attach_pause.py [--mib 4096] [--workers 1] [--rounds 5] [--limit 20ms]

The process is tests/attach/c/heartbeat.c: a thread that beats, one that maps and unmaps, and workers that check and
rewrite pages. In every round it is started twice, in random order: once it is attached to, once it is left alone for as
long. `gap` is the longest time between two beats; `stall` the same without the time that the thread waited for a
processor, which comes of sharing the processors and not of the memory.
"""

import argparse
import random
import statistics
import time

from attached import Target, Workshop, attach, warm

WATCHES = ["heartbeat", "mapper"]


def run(words, workshop, attached, seconds, limit, windows):
    target = Target(words, workshop.folder)
    target.ask("beats 1000")
    time.sleep(windows)
    before = target.ask("beats 1")
    # Huge pages come from free memory. In a virtual machine the host has taken that, and gives it back slowly.
    warm(int(words[1]) << 20)
    target.ask("beats 1000")
    if attached:
        report, seconds = attach(target, workshop.folder, "--pages", "thp", "--budget-stall", limit)
    else:
        report = None
        time.sleep(seconds)
    seen = target.ask("beats 1")
    time.sleep(windows)
    after = target.ask("beats 1")
    if target.ask("check")["whole"] is not True or target.finish() != 0:
        raise SystemExit("memory was lost")
    rate = [one["pages_passed"] / one["seconds"] for one in (before, seen, after)]
    return {"report": report, "seconds": seconds, "seen": seen, "rate": rate}


def show(name, runs):
    print(f"{name}:")
    for watch in WATCHES:
        for kind in ["worst_stall_ms", "worst_gap_ms"]:
            values = [one["seen"][watch][kind] for one in runs]
            every = ", ".join(f"{value:.1f}" for value in values)
            print(f"  {watch:9} {kind[6:-3]:5} worst {max(values):7.2f} ms, median {statistics.median(values):7.2f} ms   ({every})")
    for index, moment in enumerate(["before", "meanwhile", "afterwards"]):
        rates = [one["rate"][index] for one in runs]
        print(f"  pages passed {moment:10} {statistics.median(rates):12.0f} a second")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", default="4096")
    parser.add_argument("--workers", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", default="20ms")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    chance, runs, seconds = random.Random(arguments.seed), {True: [], False: []}, 2.0
    with Workshop() as workshop:
        words = [workshop.compiled("c/heartbeat.c"), arguments.mib, arguments.workers]
        for _ in range(arguments.rounds):
            for attached in chance.sample([True, False], 2):
                done = run(words, workshop, attached, seconds, arguments.limit, 2.0)
                seconds = done["seconds"]
                runs[attached].append(done)
    print(f"{arguments.mib} MiB, {arguments.workers} workers, limit {arguments.limit}, seed {arguments.seed}")
    reports = [one["report"] for one in runs[True]]
    for name, values in {
        "GB/s (whole command)": [one["report"]["collapsed_bytes"] / one["seconds"] / 1e9 for one in runs[True]],
        "collapsed GB": [report["collapsed_bytes"] / 1e9 for report in reports],
        "worst pause told, ms": [report["worst_pause_ms"] for report in reports],
    }.items():
        every = ", ".join(f"{value:.2f}" for value in values)
        print(f"{name}: median {statistics.median(values):.2f}   ({every})")
    show("attached", runs[True])
    show("left alone", runs[False])


if __name__ == "__main__":
    main()
