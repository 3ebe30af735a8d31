#!/usr/bin/env python3
"""Compares `firsttouch measure` with other programs that measure memory, in turn, in one session.

    benches/measure_peers.py [ROUNDS]          3 rounds if not given; one takes some minutes with all peers

Every round runs each program once, so that a change of the machine's speed meets all alike. Peers are looked for in
PATH; a variable names one elsewhere: FIRSTTOUCH, MEMORY_PEER, LAT_MEM_RD (lmbench), STREAM, LIKWID_BENCH, SYSBENCH, MBW.
For a machine with several nodes, run it under `numactl -N0 -m0`. Copies count bytes read and bytes written.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys

HUGE = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}  # transparent huge pages for programs that know nothing of them
CPUS = len(os.sched_getaffinity(0))
MIB = 1024


def output(command, **variables):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables}, check=True)
    return done.stdout + done.stderr


def number(pattern, text):
    found = re.findall(pattern, text, re.M)
    return float(found[-1]) if found else None


def firsttouch(program):
    found = json.loads(subprocess.run([program, "measure", "--json", "--no-save"], capture_output=True, text=True, check=True).stdout)
    spread, single = found["spread"], found["single_cpu"]
    values = {}
    for name in ["latency_ns", "read_gbps", "write_gbps", "copy_gbps"]:
        values[name] = found[name][0][0]
        # Peers print the best of their passes: so is ours to be compared.
        values[name + " best"] = spread[name]["low" if name == "latency_ns" else "high"][0][0]
        if name in single:
            values[name + " 1 cpu"] = single[name][0][0]
    return values


def memory_peer(program):
    return {key + " best": float(value) for key, value in re.findall(r"(\w+) ([\d.]+)", output([program]))}


def lat_mem_rd(program):
    text = output([program, "-t", "-P", "1", "-W", "0", "-N", "3", str(MIB), "64"], **HUGE)
    return {"latency_ns best": number(r"^1024\.0+ ([\d.]+)$", text)}


def stream(program):
    text = output([program], OMP_NUM_THREADS=str(CPUS), **HUGE)
    return {"copy_gbps best": number(r"^Copy: +([\d.]+)", text) / 1e3}


def likwid(program):
    values = {}
    kernels = {"read_gbps": ["load"], "write_gbps": ["store_mem", "store"], "copy_gbps": ["copy_mem", "copy"]}
    known = output([program, "-a"])
    for name, kinds in kernels.items():
        for kind in kinds:
            # The widest that this processor has.
            widths = [f"{kind}{width}" for width in ["_avx512", "_avx", "_sse", ""]]
            usable = [kernel for kernel in widths if re.search(rf"^{kernel}\b", known, re.M) and flag(kernel)]
            text = output([program, "-t", usable[0], "-w", f"N:1GB:{CPUS}"], **HUGE)
            rate = number(r"^MByte/s:\s+([\d.]+)", text)
            if rate:
                values[name + " best"] = max(values.get(name + " best", 0), rate / 1e3)
    return values


def flag(kernel):
    """Whether the processor has what a kernel of likwid-bench needs."""
    needed = "avx512f" if "avx512" in kernel else "avx" if "avx" in kernel else ""
    with open("/proc/cpuinfo") as cpuinfo:
        return needed in cpuinfo.read()


def sysbench(program):
    values = {}
    for name, operation in [("read_gbps", "read"), ("write_gbps", "write")]:
        text = output([program, "memory", f"--threads={CPUS}", "--memory-block-size=256M", "--memory-total-size=16G",
                       f"--memory-oper={operation}", "run"], **HUGE)
        values[name + " best"] = number(r"\(([\d.]+) MiB/sec\)", text) * 2**20 / 1e9
    return values


def mbw(program):
    text = output([program, "-q", "-n", "9", "-t", "0", "512"], **HUGE)
    rates = [float(rate) for rate in re.findall(r"^\d+\s.*Copy: ([\d.]+) MiB/s", text, re.M)]
    return {"copy_gbps 1 cpu": 2 * statistics.median(rates) * 2**20 / 1e9}


PEERS = [
    ("firsttouch", "FIRSTTOUCH", "target/release/firsttouch", firsttouch),
    ("memory_peer", "MEMORY_PEER", "target/benches/memory_peer", memory_peer),
    ("lat_mem_rd -t", "LAT_MEM_RD", "lat_mem_rd", lat_mem_rd),
    ("STREAM", "STREAM", "stream_c", stream),
    ("likwid-bench", "LIKWID_BENCH", "likwid-bench", likwid),
    ("sysbench", "SYSBENCH", "sysbench", sysbench),
    ("mbw", "MBW", "mbw", mbw),
]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    found, missing = [], []
    for name, variable, usual, run in PEERS:
        program = shutil.which(os.environ.get(variable, usual))
        (found if program else missing).append((name, program, run))
    for name, _, _ in missing:
        print(f"not installed: {name}", file=sys.stderr)
    if not found or found[0][0] != "firsttouch":
        sys.exit("build it first: cargo build --release -p firsttouch-cli")
    results = {name: {} for name, _, _ in found}
    for turn in range(rounds):
        # Everyone is first, second and last in turn.
        for name, program, run in found[turn % len(found):] + found[:turn % len(found)]:
            print(f"round {turn + 1} of {rounds}: {name}", file=sys.stderr)
            try:
                values = run(program)
            except (subprocess.CalledProcessError, TypeError, ValueError, KeyError) as error:
                print(f"{name} gave no figures: {error}", file=sys.stderr)
                continue
            for key, value in values.items():
                if value is not None:
                    results[name].setdefault(key, []).append(value)
    medians = {name: {key: statistics.median(values) for key, values in rows.items()} for name, rows in results.items()}
    print(f"median of {rounds} rounds; `best` is the best pass of a round")
    for key in sorted({key for rows in medians.values() for key in rows}):
        best = min if key.startswith("latency") else max
        others = {name: rows[key] for name, rows in medians.items() if key in rows and name != "firsttouch"}
        print(f"\n{key}")
        for name, rows in medians.items():
            if key in rows:
                print(f"  {name:14} {rows[key]:9.2f}   {', '.join(f'{value:.1f}' for value in results[name][key])}")
        if others and key in medians["firsttouch"]:
            name = best(others, key=others.get)
            print(f"  firsttouch is at {medians['firsttouch'][key] / others[name]:.3f} of the best peer ({name})")


if __name__ == "__main__":
    main()
