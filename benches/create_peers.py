#!/usr/bin/env python3
"""Compares ways of getting zeroed memory, in turn, in one session, against what the machine can store.

    benches/create_peers.py [MIB [ROUNDS]]      4096 MiB and 3 rounds if not given

calloc and a write to every page (benches/create.c) under glibc, mimalloc, jemalloc and ours; numpy.zeros; the Java
virtual machine's AlwaysPreTouch; and the rows of `firsttouch fill`. Before every single measurement as much memory is
created and given back: a virtual machine's host takes freed memory away, and what it gives again is slow for everybody.
A variable names a program elsewhere: FIRSTTOUCH, CREATE, JAVA, PYTHON.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

MIB = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
BYTES = MIB << 20
FIRSTTOUCH = os.environ.get("FIRSTTOUCH", "target/release/firsttouch")
CREATE = os.environ.get("CREATE", "target/benches/create")
JAVA = os.environ.get("JAVA", shutil.which("java"))
PYTHON = os.environ.get("PYTHON", sys.executable)
CPUS = len(os.sched_getaffinity(0))
THP = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
LIBRARIES = ["/usr/local/lib", f"/usr/lib/{os.uname().machine}-linux-gnu", "/usr/lib64", "/usr/lib"]


def library(*names):
    paths = [os.path.join(folder, name) for folder in LIBRARIES for name in names]
    return next((path for path in paths if os.path.exists(path)), None)


def output(command, variables=None):
    environment = {**os.environ, **(variables or {})}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout


def warm():
    output([CREATE, str(MIB), str(CPUS), "1"], THP)


def create(threads, variables=None, prefix=()):
    """The first round of a new process, and the last of three, which shows what the allocator kept."""
    seconds = [float(line) for line in output([*prefix, CREATE, str(MIB), str(threads), "3"], variables).split()]
    return {"": seconds[0], ", again": seconds[-1]}


def numpy(variables=None):
    script = (f"import numpy, time; t = time.perf_counter(); a = numpy.zeros({BYTES}, 'u1'); a[::4096] = 0; "
              "print(time.perf_counter() - t)")
    return {"": float(output([PYTHON, "-c", script], variables))}


def java(*options):
    """With the option less the start without it."""
    def start(*more):
        begun = time.perf_counter()
        output([JAVA, f"-Xms{MIB}m", f"-Xmx{MIB}m", *options, *more, "-version"])
        return time.perf_counter() - begun
    plain = start()
    warm()
    return {"": start("-XX:+AlwaysPreTouch") - plain}


def ways():
    for threads in sorted({1, CPUS}):
        yield f"glibc calloc, {threads} thread", lambda t=threads: create(t)
        yield f"glibc calloc with THP, {threads} thread", lambda t=threads: create(t, THP)
        mimalloc, jemalloc = library("libmimalloc.so.2"), library("libjemalloc.so.2")
        if mimalloc:
            preload = {"LD_PRELOAD": mimalloc}
            yield f"mimalloc calloc, {threads} thread", lambda t=threads, v=preload: create(t, v)
            large = {**preload, "MIMALLOC_ALLOW_LARGE_OS_PAGES": "1", "MIMALLOC_LARGE_OS_PAGES": "1"}
            yield f"mimalloc calloc, large pages, {threads} thread", lambda t=threads, v=large: create(t, v)
        if jemalloc:
            preload = {"LD_PRELOAD": jemalloc}
            yield f"jemalloc calloc, {threads} thread", lambda t=threads, v=preload: create(t, v)
            always = {**preload, "MALLOC_CONF": "thp:always"}
            yield f"jemalloc calloc, thp:always, {threads} thread", lambda t=threads, v=always: create(t, v)
        ours = [FIRSTTOUCH, "run", "--pages", "thp", "--"]
        yield f"calloc under firsttouch run, {threads} thread", lambda t=threads: create(t, None, ours)
    yield "numpy.zeros + touch", lambda: numpy()
    yield "numpy.zeros + touch, its THP advice off", lambda: numpy({"NUMPY_MADVISE_HUGEPAGE": "0"})
    if JAVA:
        yield "java AlwaysPreTouch, serial", lambda: java("-XX:+UseSerialGC")
        yield "java AlwaysPreTouch, serial, THP", lambda: java("-XX:+UseSerialGC", "-XX:+UseTransparentHugePages")
        yield "java AlwaysPreTouch, parallel", lambda: java("-XX:+UseParallelGC")
        yield "java AlwaysPreTouch, parallel, THP", lambda: java("-XX:+UseParallelGC", "-XX:+UseTransparentHugePages")


def main():
    for program in [FIRSTTOUCH, CREATE]:
        if not shutil.which(program):
            sys.exit(f"there is no {program}: cargo build --release -p firsttouch-cli; make -C benches")
    every = list(ways())
    seconds, store, fill = {}, [], {}
    for turn in range(ROUNDS):
        # Everyone is first, second and last in turn.
        for name, run in every[turn % len(every):] + every[:turn % len(every)]:
            print(f"round {turn + 1} of {ROUNDS}: {name}", file=sys.stderr)
            try:
                warm()
                for suffix, value in run().items():
                    seconds.setdefault(name + suffix, []).append(value)
            except (subprocess.CalledProcessError, ValueError) as error:
                print(f"{name} gave no figure: {error}", file=sys.stderr)
        print(f"round {turn + 1} of {ROUNDS}: firsttouch fill", file=sys.stderr)
        report = json.loads(output([FIRSTTOUCH, "fill", "--size", str(BYTES), "--quick", "--json"]))
        store.append(max(report["store_bandwidth_gbps"]))
        for row in report["rows"]:
            name = f"fill: {row['pages']} {row['state'].replace('_', ' ')} by {row['method']}, {row['cpus']} CPU"
            fill.setdefault(name, []).append(BYTES / row["gbps"] / 1e9)
    bandwidth = statistics.median(store)
    print(f"{MIB} MiB of zeroed memory, median of {ROUNDS} rounds; the machine stores {bandwidth:.1f} GB/s\n")
    print(f"{'':52} {'ms/GiB':>9} {'GB/s':>7} {'of store':>9}")
    for name, values in {**seconds, **fill}.items():
        middle = statistics.median(values)
        rate = BYTES / middle / 1e9
        share = f"{rate / bandwidth:8.0%}" if rate < 10 * bandwidth else "at once"
        print(f"{name:52} {middle * 1e3 * 1024 / MIB:9.3f} {rate:7.1f} {share:>9}")


if __name__ == "__main__":
    main()
