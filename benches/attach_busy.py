#!/usr/bin/env python3
"""For how long a process stands still while `firsttouch attach` collapses it, on a quiet and on a busy machine.

    benches/attach_busy.py [--mib 512] [--workers 0] [--rounds 5] [--limit 20ms] [--busy N]
                           [--firsttouch NAME=FILE …] [--only quiet|busy] [--supervise | --stacks MS]

On the busy machine N loops that never give way run beside it (twice as many as there are CPUs), each in a session of its own.
`--firsttouch`, once for each of several builds, compares them: each attaches to processes of its own, in random order, quiet
and busy. Every round has a process that is left alone for as long, too: what it sees is not ours.

Of each process, the longest gap between two beats of its thread that touches memory and of the one that maps and unmaps
(tests/attach/c/heartbeat.c), as in attach_pause.py: `stall` is without what the thread waited for a processor, which comes of
sharing them with the loops; `pause` is without what the host of a virtual machine took, either. Told are the median and
the longest of all rounds. `call` is what the report tells, `worst_pause_ms`: a bound, by the clock of the call.

With `--supervise` the process runs under `firsttouch run --via supervise` instead, for 5 s (THP must not be `always`). With
`--stacks` a sampler says where in the kernel attach waited for longer than MS at a time.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import time

import attached
import stacks
from attach_pause import WATCHES, worst_ms
from attached import Target, Workshop, attach, warm
from witnesses import Witnesses

ALONE = "left alone"
QUIET, BUSY = "quiet", "busy"


class Loops:
    """So many loops that never give way, while this lasts."""

    def __init__(self, count):
        self.count, self.running = count, []

    def __enter__(self):
        command = ["sh", "-c", "while :; do :; done"]
        self.running = [subprocess.Popen(command, start_new_session=True) for _ in range(self.count)]

    def __exit__(self, *_):
        for loop in self.running:
            loop.kill()
            loop.wait()


def supervised(build, loops, words, workshop, witnesses):
    """One process under a supervisor, or alone: its gaps in its first 5 s."""
    launcher = [build, "run", "--via", "supervise", "--pages", "thp", "--"] if build else []
    warm(int(words[1]) << 20)
    with Loops(loops):
        witnesses.begin()
        target = Target([*launcher, *words, "0", "open"], workshop.folder)
        target.ask("beats 1000")
        target.ask("gaps")
        time.sleep(5)
        gaps = target.ask("gaps")
        testimony = witnesses.end()
    if target.ask("check")["whole"] is not True or target.finish():
        raise SystemExit("memory was lost")
    return {"report": None, "seconds": 5, "gaps": gaps, "testimony": testimony}


def run(build, loops, words, workshop, witnesses, seconds, limit, waits):
    """One process, its gaps while that happened, and what the witnesses saw."""
    target = Target(words, workshop.folder)
    target.ask("beats 1000")
    # Huge pages come from free memory. In a virtual machine the host has taken that, and gives it back slowly.
    warm(int(words[1]) << 20)
    with Loops(loops):
        target.ask("beats 1000")
        target.ask("gaps")
        witnesses.begin()
        report = None
        if build is None:
            time.sleep(seconds)
        else:
            attached.FIRSTTOUCH = build
            report, seconds = attach(target, workshop.folder, "--pages", "thp", "--budget-stall", limit, waits=waits)
        gaps = target.ask("gaps")
        testimony = witnesses.end()
    if target.ask("check")["whole"] is not True or target.finish():
        raise SystemExit("memory was lost")
    if gaps["missed"]:
        raise SystemExit("the target saw more gaps than it can keep: take fewer MiB")
    return {"report": report, "seconds": seconds, "gaps": gaps, "testimony": testimony}


def share(report):
    """The part of what was to be collapsed that is on huge pages since."""
    return report["collapsed_bytes"] / max(1, report["planned"]["collapse_bytes"])


def table(runs):
    measures = [(watch, measure) for watch in WATCHES for measure in ["stall", "pause"]]
    heads = [f"{watch} {measure}" for watch, measure in measures]
    print("\nmedian / longest of all rounds, ms:")
    row = "{:7}{:14}" + "{:>19}" * len(heads) + "{:>17}{:>9}{:>7}  {}"
    print(row.format("", "", *heads, "call", "wall s", "huge", "ended"))
    for (state, name), done in runs.items():
        cells = []
        for watch, measure in measures:
            worst = [worst_ms(one, watch, measure) for one in done]
            cells.append(f"{statistics.median(worst):.1f} / {max(worst):.1f}")
        wall = f"{statistics.median(one['seconds'] for one in done):.2f}"
        reports = [one["report"] for one in done if one["report"]]
        if reports:
            told = [report["worst_pause_ms"] for report in reports]
            ended = {}
            for report in reports:
                ended[report["ended"]] = ended.get(report["ended"], 0) + 1
            rest = [f"{statistics.median(told):.1f} / {max(told):.1f}", wall, f"{statistics.median(map(share, reports)):.0%}",
                    ", ".join(f"{count} {word}" for word, count in ended.items())]
        else:
            rest = ["", wall, "", ""]
        print(row.format(state, name, *cells, *rest))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", default="512")
    parser.add_argument("--workers", default="0")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", default="20ms")
    parser.add_argument("--busy", type=int, default=2 * len(os.sched_getaffinity(0)))
    parser.add_argument("--firsttouch", action="append", metavar="NAME=FILE")
    parser.add_argument("--supervise", action="store_true")
    parser.add_argument("--stacks", type=float, metavar="MS")
    parser.add_argument("--only", choices=[QUIET, BUSY], help="not both states")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    builds = dict(named.split("=", 1) for named in arguments.firsttouch or [f"this={attached.FIRSTTOUCH}"])
    chance = random.Random(arguments.seed)
    states = {QUIET: 0, BUSY: arguments.busy}
    kinds = [(state, name) for state in states for name in [*builds, ALONE] if arguments.only in (None, state)]
    runs, seconds = {kind: [] for kind in kinds}, dict.fromkeys(states, 2.0)
    waits = [] if arguments.stacks is not None else None
    with Workshop() as workshop:
        witnesses = Witnesses(workshop)
        words = [workshop.compiled("c/heartbeat.c"), arguments.mib, arguments.workers]
        for _ in range(arguments.rounds):
            for state, name in chance.sample(kinds, len(kinds)):
                build, loops = builds.get(name), states[state]
                if arguments.supervise:
                    done = supervised(build, loops, words, workshop, witnesses)
                else:
                    done = run(build, loops, words, workshop, witnesses, seconds[state], arguments.limit, waits)
                    seconds[state] = done["seconds"]
                runs[state, name].append(done)
                print(f"{state}, {name}: {done['seconds']:.2f} s", file=sys.stderr, flush=True)
        witnesses.finish()
    print(f"{arguments.mib} MiB, {arguments.workers} workers, limit {arguments.limit}, {arguments.rounds} rounds, "
          f"{arguments.busy} loops on {len(os.sched_getaffinity(0))} CPUs, seed {arguments.seed}")
    table(runs)
    if waits is not None:
        print(f"\nwhere attach waited for longer than {arguments.stacks:g} ms at a time:")
        print(*stacks.table(waits, arguments.stacks), sep="\n")


if __name__ == "__main__":
    main()
