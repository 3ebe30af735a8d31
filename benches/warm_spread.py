#!/usr/bin/env python3
"""How much runs of one configuration differ from each other, and what of it system time explains.

    warm_spread.py [--runs N] [--configs LIST] [--program NAME]... FIRSTTOUCH [OPTION]... [-- FIRSTTOUCH [OPTION]...]...

Each word list is a firsttouch to be compared, with options of `tune` (`--no-warm`, say): two builds, or one with and without its warm-up. They
take turns: each makes a session of `tune` of every program, N runs of each configuration, in as many rounds as `--rounds` says. Programs:
`fft` and `lm` (Rscript benches/fft.R, lm.R), `demo` (the workload of `tune --demo`), `late` (benches/late.c, memory that is touched after five seconds). A row is:

- the median of wall and system time;
- noise: the standard deviation of the logarithms of wall times, less what the block has in common: what `tune` decides by;
- worst: the slowest run by the median;
- explained: the share of the noise's variance that system time explains (the square of the correlation of the deviations of both).
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

BENCHES = Path(__file__).resolve().parent


def programs(folder: Path, firsttouch: str) -> dict[str, list[str]]:
    late = folder / "late"
    subprocess.run(["cc", "-O2", "-o", late, BENCHES / "late.c"], check=True)
    return {
        "fft": ["Rscript", str(BENCHES / "fft.R")],
        "lm": ["Rscript", str(BENCHES / "lm.R")],
        "demo": [firsttouch, "case", "demo"],
        "late": [str(late)],
    }


def runs_of(command: list[str], configs: str, runs: int, program: list[str]) -> dict[str, list[dict]]:
    words = [command[0], "tune", "--configs", configs, "--max-runs", str(runs), "--budget", "none", "--precision", "0.05%"]
    words += [*command[1:], "--json", "--", *program]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    return {one["name"]: one["runs"] for one in json.loads(done.stdout)["configurations"]}


def deviations(values: dict[tuple, dict[str, float]]) -> dict[str, list[float]]:
    """What is left of each run when its block's and its configuration's means are taken away."""
    means = {block: statistics.fmean(row.values()) for block, row in values.items()}
    columns = defaultdict(list)
    for block, row in values.items():
        for name, value in row.items():
            columns[name].append(value - means[block])
    # A block's mean holds a part of each run: of k configurations the rest has (k - 1) / k of the variance.
    widen = {name: math.sqrt(len(columns) / (len(columns) - 1)) for name in columns}
    return {name: [widen[name] * (d - statistics.fmean(column)) for d in column] for name, column in columns.items()}


def main() -> None:
    words, commands = sys.argv[1:], []
    parser = argparse.ArgumentParser(usage=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--configs", default="thp thp,via=glibc")
    parser.add_argument("--program", action="append", choices=["fft", "lm", "demo", "late"])
    options, rest = parser.parse_known_args(words)
    for word in ["--", *rest]:
        commands.append([]) if word == "--" else commands[-1].append(word)
    commands = [command for command in commands if command]
    with tempfile.TemporaryDirectory() as folder:
        all_programs = programs(Path(folder), commands[0][0])
        print("| program | firsttouch | configuration | wall s | system s | noise | worst | explained |")
        print("|---|---|---|---:|---:|---:|---:|---:|")
        for name in options.program or all_programs:
            found = [([], defaultdict(dict), defaultdict(dict)) for _ in commands]
            for turn in range(options.rounds):
                for command, (runs, walls, systems) in zip(commands, found):
                    session = runs_of(command, options.configs, options.runs, all_programs[name])
                    for configuration, its in session.items():
                        for run in its:
                            runs.append((configuration, run))
                            walls[turn, run["block"]][configuration] = math.log(run["wall_s"])
                            systems[turn, run["block"]][configuration] = run["system_s"]
            for command, (runs, walls, systems) in zip(commands, found):
                noise, system = deviations(walls), deviations(systems)
                for configuration in noise:
                    its = [run for of, run in runs if of == configuration]
                    wall = statistics.median(run["wall_s"] for run in its)
                    spent = statistics.median(run["system_s"] for run in its)
                    worst = max(run["wall_s"] for run in its) / wall
                    try:
                        explained = f"{statistics.correlation(noise[configuration], system[configuration]) ** 2:.0%}"
                    except statistics.StatisticsError:
                        explained = "-"
                    print(
                        f"| {name} | {' '.join(command)} | {configuration} | {wall:.3f} | {spent:.3f} | "
                        f"{statistics.stdev(noise[configuration]):.1%} | {worst:.2f} | {explained} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
