#!/usr/bin/env python3
"""How fast `firsttouch attach` collapses a process, and for how long the process stands still meanwhile.

    benches/attach_pause.py [--mib 4096] [--workers 0 1] [--rounds 5] [--limit 20ms]

The process is tests/attach/c/heartbeat.c: a thread that beats, one that maps and unmaps, and workers that check and
rewrite pages. In every round it is started three times, in random order: it is attached to; another process like it,
stopped, is attached to, which is the same work for the machine and has nothing to do with it; or it is left alone for as
long. All of this is done for each number of workers.

What is counted of a gap between two beats, the longest of each round:

gap     by the clock.
stall   without the time that the thread waited for a processor (schedstat), which comes of sharing the processors.
pause   without the time in which a processor was not there, either. The host of a virtual machine takes one at any moment:
        for others, or until it has found memory for a page that the guest touches first. It may do so while a thread holds
        what another waits for; the target then waits on a processor that is there. Witnesses tell (witness.c): a thread
        on every CPU, before all others, notes each wake-up that comes late. The union of these gaps is taken off, or the
        time waited, whichever is more: they may be the same time.

The pause is a bound from above for what attaching did, if the witnesses' gaps are not its doing:

* A gap could be code of ours in the kernel that does not give way. But then the interrupt of the witness's timer comes in
  time and the witness stands in the queue, which the kernel counts: that part of its gap is `busy` and not taken off.
  Where interrupts are off it is not counted. Therefore every table has the witnesses' gaps of the rounds in which nothing
  was done to this process: they must be as frequent and as long. Left alone, a machine gets no new memory from its host;
  attaching to another process it does.
* A gap on a CPU where neither the target nor attaching was is no reason for anything. How much the union would cover by
  chance is told: the same gaps, moved in time at random. With many CPUs, `taskset` the bench to few.
* What /proc/stat counts as stolen is told beside what the witnesses saw.
"""

import argparse
import os
import random
import signal
import statistics
import time

from attached import Target, Workshop, attach, warm
from witnesses import Witnesses, own_pause_ns

WATCHES = ["heartbeat", "mapper"]
MEASURES = ["gap", "stall", "pause"]
ATTACHED, ELSEWHERE, ALONE = KINDS = ["attached", "another attached", "left alone"]
SHIFTS = 20


def run(kind, words, workshop, witnesses, seconds, limit, window):
    """One process, its gaps while that happened, and what the witnesses saw."""
    target = Target(words, workshop.folder)
    target.ask("beats 1000")
    time.sleep(window)
    before = target.ask("beats 1")
    other = Target([*words[:2], "0"], workshop.folder) if kind == ELSEWHERE else None
    if other:
        os.kill(other.pid, signal.SIGSTOP)
    # Huge pages come from free memory. In a virtual machine the host has taken that, and gives it back slowly.
    warm(int(words[1]) << 20)
    target.ask("beats 1000")
    target.ask("gaps")
    witnesses.begin()
    if kind == ALONE:
        report = None
        time.sleep(seconds)
    else:
        report, seconds = attach(other or target, workshop.folder, "--pages", "thp", "--budget-stall", limit)
    seen, gaps = target.ask("beats 1"), target.ask("gaps")
    testimony = witnesses.end()
    time.sleep(window)
    after = target.ask("beats 1")
    if other:
        os.kill(other.pid, signal.SIGCONT)
    if target.ask("check")["whole"] is not True or any(one.finish() for one in (target, other) if one):
        raise SystemExit("memory was lost")
    if gaps["missed"]:
        raise SystemExit("the target saw more gaps than it can keep: take fewer workers")
    rate = [one["pages_passed"] / one["seconds"] for one in (before, seen, after)]
    return {"report": report, "seconds": seconds, "gaps": gaps, "testimony": testimony, "rate": rate}


def worst_ms(run, watch, measure):
    union = run["testimony"].union
    of = {
        "gap": lambda gap: gap[1] - gap[0],
        "stall": lambda gap: gap[1] - gap[0] - gap[2],
        "pause": lambda gap: own_pause_ns(gap, union),
    }[measure]
    return max((of(gap) for gap in run["gaps"][watch]), default=0) * 1e-6


def explained_share(run, watch, shift_ns=None):
    """The part of the time of all gaps that the witnesses explain; with a shift, theirs moved by so much."""
    gaps, union = run["gaps"][watch], run["testimony"].union
    if not gaps or not union.parts:
        return 0.0
    if shift_ns is not None:
        low, high = min(union.begins[0], gaps[0][0]), max(union.parts[-1][1], gaps[-1][1])
        union = union.moved(shift_ns, low, high)
    return sum(union.within(begin, end) for begin, end, _ in gaps) / sum(end - begin for begin, end, _ in gaps)


def table(name, runs, chance):
    print(f"\n{name}, a row a round; ms, the longest of each:")
    heads = [f"{watch} {measure}" for watch in WATCHES for measure in MEASURES]
    print("    GB/s   told  " + "  ".join(f"{head:>15}" for head in heads))
    for one in runs:
        report = one["report"]
        rate = f"{report['collapsed_bytes'] / one['seconds'] / 1e9:8.2f} {report['worst_pause_ms']:6.1f}" if report else " " * 15
        cells = (worst_ms(one, watch, measure) for watch in WATCHES for measure in MEASURES)
        print(rate + "  " + "  ".join(f"{cell:15.1f}" for cell in cells))
    print("  witnesses: seconds  not there  /proc/stat  over 1 ms a second  over 5 ms a second  longest ms  busy ms")
    for one in runs:
        seen, seconds = one["testimony"], one["seconds"]
        each = seconds * seen.cpus
        print(f"{seconds:20.2f} {seen.away_ns() / 1e9 / each:9.1%} {seen.kernel_stolen_s / each:11.1%}"
              f" {seen.longer_than(1) / seconds:18.1f} {seen.longer_than(5) / seconds:19.1f} {seen.longest_ms():11.1f} {seen.busy_ms():8.2f}")
    for watch in WATCHES:
        explained = statistics.mean(explained_share(one, watch) for one in runs)
        shifts = [chance.randrange(1 << 40) for _ in range(SHIFTS)]
        by_chance = statistics.mean(explained_share(one, watch, shift) for one in runs for shift in shifts)
        print(f"  of the gaps of the {watch:9} witnesses explain {explained:4.0%}; by chance {by_chance:4.0%}")
    if any(one["rate"][0] for one in runs):
        for index, moment in enumerate(["before", "meanwhile", "afterwards"]):
            rates = [one["rate"][index] for one in runs]
            print(f"  pages passed {moment:10} {statistics.median(rates):12.0f} a second")


def trial(workers, workshop, witnesses, arguments, chance):
    words = [workshop.compiled("c/heartbeat.c"), arguments.mib, str(workers)]
    runs, seconds, window = {kind: [] for kind in KINDS}, 2.0, 2.0 if workers else 0.0
    for _ in range(arguments.rounds):
        for kind in chance.sample(KINDS, len(KINDS)):
            done = run(kind, words, workshop, witnesses, seconds, arguments.limit, window)
            seconds = done["seconds"]
            runs[kind].append(done)
    print(f"\n== {arguments.mib} MiB, {workers} workers, limit {arguments.limit}, seed {arguments.seed}")
    if not all(one["testimony"].first for kind in KINDS for one in runs[kind]):
        print("the witnesses may not go before others here (SCHED_FIFO): their gaps are no proof")
    for kind in KINDS:
        table(kind, runs[kind], chance)
    rates = [one["report"]["collapsed_bytes"] / one["seconds"] / 1e9 for one in runs[ATTACHED]]
    print(f"\n{statistics.median(rates):.2f} GB/s (median, whole command); worst pause of all rounds, limit {arguments.limit}:")
    for kind in KINDS:
        worst = max(worst_ms(one, watch, "pause") for one in runs[kind] for watch in WATCHES)
        print(f"  {kind:16} {worst:6.1f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", default="4096")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", default="20ms")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with Workshop() as workshop:
        witnesses = Witnesses(workshop)
        for workers in arguments.workers:
            trial(workers, workshop, witnesses, arguments, chance)
        witnesses.finish()


if __name__ == "__main__":
    main()
