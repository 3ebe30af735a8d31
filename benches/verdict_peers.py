#!/usr/bin/env python3
"""How long it takes until a difference of known size can be told, by `firsttouch tune`, by hyperfine and by poop.

    benches/verdict_peers.py [SESSIONS [PERCENT]]      5 sessions of 3 percent if not given

Both compare `target/benches/steady` with itself, given more and fewer million multiplications: a program whose time is proportional to
them. In turn, per session:

- `tune` until its verdict, and the same for two equal commands, which are not to be called different;
- hyperfine with as many runs as it makes by itself, then 20, 40, 80 and so on: when what it prints (`1.03 ± 0.01 times faster`: one
  standard deviation) leaves out 1 by two of these deviations, and when Welch's t test of its exported times does (its own script
  `welch_ttest.py` computes that), at 5 %, looked at after each of these numbers of runs. Whoever looks so often errs more often than
  5 %, and so does whoever measures one command after the other on a machine that drifts; the column `equal` says how often.
- poop, where there is one on the search path: it needs hardware counters.

A variable names a program elsewhere: FIRSTTOUCH, STEADY, HYPERFINE, POOP.
"""

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SESSIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
PERCENT = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
FIRSTTOUCH = os.environ.get("FIRSTTOUCH", "target/release/firsttouch")
STEADY = os.environ.get("STEADY", "target/benches/steady")
HYPERFINE = os.environ.get("HYPERFINE", shutil.which("hyperfine"))
POOP = os.environ.get("POOP", shutil.which("poop"))
FEWER = 100
MORE = round(FEWER * (1 + PERCENT / 100))
MOST_RUNS = 640


def tune(more):
    """The verdict about the one with fewer, its ratio, and the runs of each."""
    # Two equal values would be one: a zero in front makes them two.
    values = f"{more},0{FEWER}"
    words = [FIRSTTOUCH, "tune", "--json", "--quick", "--vary", f"n={values}", "--", STEADY, "{n}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    one = json.loads(done.stdout)["configurations"][1]
    decided = one.get("decided")
    if decided is None:
        return "undecided", None, len(one["runs"])
    return decided["verdict"], decided["ratio"]["value"], decided["blocks"]


def hyperfine(more, runs=None):
    """The times of both, by one call."""
    with tempfile.TemporaryDirectory() as folder:
        export = os.path.join(folder, "times.json")
        some = [] if runs is None else ["--runs", str(runs)]
        commands = [f"{STEADY} {more}", f"{STEADY} 0{FEWER}"]
        words = [HYPERFINE, "-N", "--style", "none", "--warmup", "1", *some, "--export-json", export, *commands]
        subprocess.run(words, capture_output=True, check=True)
        with open(export) as file:
            return [result["times"] for result in json.load(file)["results"]]


def printed(slower, faster):
    """The ratio that hyperfine prints, and what stands behind its ±."""
    (slow, fast) = (statistics.mean(slower), statistics.mean(faster))
    ratio = slow / fast
    return ratio, ratio * math.hypot(statistics.stdev(slower) / slow, statistics.stdev(faster) / fast)


def welch(slower, faster):
    """Whether Welch's t test excludes, at 5 %, that the means are equal. With these numbers of runs t is nearly normal."""
    errors = [statistics.variance(times) / len(times) for times in (slower, faster)]
    freedom = sum(errors) ** 2 / sum(e * e / (len(t) - 1) for e, t in zip(errors, (slower, faster)))
    # The quantile of 97.5 % after Cornish and Fisher, right to three digits from eight degrees of freedom.
    z = 1.959964
    quantile = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return abs(statistics.mean(slower) - statistics.mean(faster)) / math.sqrt(sum(errors)) > quantile


def by_hyperfine(more):
    """Seconds until the printed line and the t test tell the two apart, and what it says by itself; None where they never do."""
    told = {"printed": None, "t test": None}
    spent = 0.0
    itself = None
    for runs in [None, *(20 << doubling for doubling in range(20) if 20 << doubling <= MOST_RUNS)]:
        begun = time.perf_counter()
        slower, faster = hyperfine(more, runs)
        spent = time.perf_counter() - begun
        ratio, error = printed(slower, faster)
        itself = itself or f"{ratio:.3f} ± {error:.3f} after {len(slower)} runs, {spent:.1f} s"
        if told["printed"] is None and abs(ratio - 1) > 2 * error:
            told["printed"] = spent
        if told["t test"] is None and welch(slower, faster):
            told["t test"] = spent
        if None not in told.values():
            break
    return told, itself


def seconds(values):
    seen = sorted(value for value in values if value is not None)
    never = len(values) - len(seen)
    text = f"{statistics.median(seen):7.1f} s" if seen else "      -  "
    return text + (f"   never in {never} of {len(values)}" if never else "")


def main():
    ours, ours_equal, peer, peer_equal = [], [], [], []
    for session in range(SESSIONS):
        begun = time.perf_counter()
        verdict, ratio, runs = tune(MORE)
        took = time.perf_counter() - begun
        ours.append(took if verdict == "faster" else None)
        about = f" {ratio:.3f}" if ratio else ""
        print(f"{session}: tune: {verdict}{about} after {runs} blocks, {took:.1f} s", flush=True)
        verdict, _, runs = tune(FEWER)
        ours_equal.append(verdict)
        print(f"{session}: tune, equal: {verdict} after {runs} blocks", flush=True)
        if HYPERFINE:
            told, itself = by_hyperfine(MORE)
            peer.append(told)
            print(f"{session}: hyperfine by itself: {itself}; told apart: {told}", flush=True)
            told, itself = by_hyperfine(FEWER)
            peer_equal.append(told)
            print(f"{session}: hyperfine, equal, by itself: {itself}; told apart: {told}", flush=True)
        if POOP:
            begun = time.perf_counter()
            done = subprocess.run([POOP, f"{STEADY} {MORE}", f"{STEADY} {FEWER}"], capture_output=True, text=True)
            said = next((line.strip() for line in done.stdout.splitlines()[::-1] if "wall_time" in line), done.stderr.strip()[-100:])
            print(f"{session}: poop: {said}, {time.perf_counter() - begun:.1f} s", flush=True)
    print(f"\n{PERCENT:g} % apart, {SESSIONS} sessions: median time until it can be told, and how often equal ones were told apart")
    wrong = sum(verdict in ("faster", "slower") for verdict in ours_equal)
    print(f"  tune, the verdict            {seconds(ours)}, equal {wrong} of {SESSIONS}")
    for which in ("printed", "t test") if HYPERFINE else ():
        wrong = sum(told[which] is not None for told in peer_equal)
        print(f"  hyperfine, {which:17} {seconds([told[which] for told in peer])}, equal {wrong} of {SESSIONS}")
    print(f"  {POOP or 'poop: not installed'}")


if __name__ == "__main__":
    main()
