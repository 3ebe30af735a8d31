#!/usr/bin/env python3
"""What attaching to a program at work is worth to it: its throughput after against before, as a verdict.

    benches/attach_worth.py [--programs C,Python,R,Java,Node.js,Go,PostgreSQL] [--mib 1024] [--blocks 10] [--window 4]

Every block has two fresh processes of the program in random order. Both work; throughput is measured; one is attached
to, the other left alone for as long; throughput is measured again. The ratio of a block is after/before of the one
through after/before of the other, so that what the program does by itself (warming up, growing) is not counted. The
interval is Student's t over the logarithms. Verdicts are those of `tune`: faster or slower where the whole interval is,
same where it lies within 2 % of 1, else undecided.
"""

import argparse
import math
import random
import statistics
import sys
import time

from attached import STUDENT, Target, Workshop, attach

SAME = 0.02


def run(words, workshop, options, attached, seconds, window):
    """after/before of one process."""
    target = Target(words, workshop.folder)
    target.rate(window / 2)
    before, report = target.rate(window), None
    if attached:
        report, seconds = attach(target, workshop.folder, *options)
    else:
        time.sleep(seconds)
    after = target.rate(window)
    if target.finish() != 0:
        raise SystemExit(f"{words[0]} failed")
    return after / before, seconds, report


def coverage(receipt):
    sizes = receipt["obtained"]["bytes_by_page_size"]
    return sum(bytes for size, bytes in sizes.items() if int(size) >= 2 << 20) / max(1, sum(sizes.values()))


def verdict(low, high):
    if 1 - SAME <= low and high <= 1 + SAME:
        return "same"
    return "faster" if low > 1 else "slower" if high < 1 else "undecided"


def trial(name, words, workshop, arguments, chance):
    options = ["--pages", "thp"] + (["--tree", "--files"] if name == "PostgreSQL" else [])
    logs, before, after, pauses, seconds = [], [], [], [], 1.0
    for block in range(arguments.blocks):
        ratios = {}
        for attached in chance.sample([True, False], 2):
            ratios[attached], seconds, report = run(words, workshop, options, attached, seconds, arguments.window)
            if report:
                before.append(coverage(report["before"]))
                after.append(coverage(report["after"]))
                pauses.append(report["worst_pause_ms"])
        logs.append(math.log(ratios[True] / ratios[False]))
        print(f"{name}: block {block + 1} of {arguments.blocks}: {ratios[True]:.3f} / {ratios[False]:.3f}", file=sys.stderr)
    mean, half = statistics.mean(logs), STUDENT[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(mean - half), math.exp(mean + half)
    print(f"{name:11} {verdict(low, high):9}  ratio {math.exp(mean):.3f} [{low:.3f}, {high:.3f}]  "
          f"huge {statistics.median(before):.1%} -> {statistics.median(after):.1%}  "
          f"worst pause {max(pauses):.1f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs")
    parser.add_argument("--mib", default="1024")
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--window", type=float, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    if not 2 <= arguments.blocks <= len(STUDENT) + 1:
        parser.error(f"2 to {len(STUDENT) + 1} blocks")
    chance = random.Random(arguments.seed)
    with Workshop() as workshop:
        programs = workshop.programs()
        wanted = arguments.programs.split(",") if arguments.programs else list(programs)
        print(f"{arguments.mib} MiB, {arguments.blocks} blocks, windows of {arguments.window} s, seed {arguments.seed}", flush=True)
        for name in wanted:
            if name not in programs:
                print(f"{name:11} skipped: not installed")
                continue
            size = "256" if name == "PostgreSQL" else arguments.mib
            trial(name, programs[name] + ["0", size], workshop, arguments, chance)


if __name__ == "__main__":
    main()
