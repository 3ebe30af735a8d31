"""Programs that people run: their receipts held against `smaps` of every process, and their peak memory with and without us.

    python3 benches/programs.py receipts [NAME...]
    python3 benches/programs.py peak [NAME...]

`receipts` lets each program fill its memory, stops its processes (SIGSTOP), waits until the command has looked at them, reads `smaps`
of each, and ends them. Of every process private, shared and file memory and what of it is on huge pages must be equal within 2 %
(or 1 MiB, where that is more); otherwise the status is 1.

`peak` adds up the proportional set sizes of all processes, without files, every 10 ms, alone and under `firsttouch run`, in turn;
medians of three.

Needs root (for PostgreSQL a user `postgres`), and the programs; what is not installed is said and left out (NumPy is looked for in the
Python that runs this).
"""

import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIRSTTOUCH = os.environ.get("FIRSTTOUCH", os.path.join(TOP, "target/release/firsttouch"))
MIB = 1 << 20
SHARED = ("/dev/zero", "/dev/shm/", "/memfd:", "/SYSV")

JAVA = """
public class Hold {
    public static void main(String[] words) throws Exception {
        int[][] blocks = new int[16][];
        for (int i = 0; i < blocks.length; i++) { blocks[i] = new int[4 << 20]; java.util.Arrays.fill(blocks[i], i); }
        Thread.sleep(1000000);
    }
}
"""
GO = """package main
import "time"
func main() {
    blocks := make([][]byte, 0)
    for i := 0; i < 4; i++ { b := make([]byte, 64<<20); for j := range b { b[j] = 1 }; blocks = append(blocks, b) }
    time.Sleep(1000000 * time.Second)
    println(len(blocks))
}
"""
POOL = """
import multiprocessing, time
def work(number):
    block = bytearray(b'x') * (64 << 20)
    time.sleep(1e6)
    return len(block)
if __name__ == '__main__':
    with multiprocessing.Pool(3) as pool: pool.map(work, range(3), 1)
"""
VECTOR = """
#include <vector>
#include <unistd.h>
int main() {
    std::vector<double> values;
    for (long i = 0; i < 60 * 1000 * 1000; i++) values.push_back(i);
    pause();
    return values.size() == 0;
}
"""


class Program:
    """How one is started; `ready_mib` is what it has in memory, but for files, when it is ready; `options` are ours."""

    def __init__(self, words, ready_mib, options=(), user=None, prepare=None, endless=False):
        self.words, self.ready_mib, self.options = words, ready_mib, list(options)
        self.user, self.prepare, self.endless = user, prepare, endless


def programs(folder):
    """The programs that are installed here, by name, and the names of those that are not."""
    found, missing = {}, []

    def file(name, text):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def made(*words, **variables):
        subprocess.run(words, check=True, cwd=folder, env={**os.environ, **variables}, stdout=subprocess.DEVNULL)

    def add(name, needs, make):
        if all(shutil.which(need) or os.path.exists(need) for need in needs):
            found[name] = make()
        else:
            missing.append(name)

    def postgresql():
        data = os.path.join(folder, "postgres")
        os.makedirs(data)
        shutil.chown(data, "postgres")
        as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        subprocess.run([*as_postgres, f"{postgres}/initdb", "-A", "trust", data], check=True, stdout=subprocess.DEVNULL)
        words = [f"{postgres}/postgres", "-D", data, "-k", data, "-c", "listen_addresses=", "-c", "shared_buffers=256MB"]
        sql = "create table if not exists t as select generate_series(1, 3000000) x; select sum(x) from t; select pg_sleep(1e5)"
        psql = [f"{postgres}/psql", "-q", "-h", data, "-d", "postgres", "-c", sql]

        def fill():
            while subprocess.run([f"{postgres}/pg_isready", "-q", "-h", data], check=False).returncode:
                time.sleep(0.1)
            return subprocess.Popen([*as_postgres, *psql], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        return Program([*words, "-c", "huge_pages=off"], 30, ["--prefault"], as_postgres, fill)

    def redis():
        socket = os.path.join(folder, "redis.sock")
        lua = "for i = 1, 300000 do redis.call('set', 'k' .. i, string.rep('x', 400)) end"

        def fill():
            ping = ["redis-cli", "-s", socket, "ping"]
            while subprocess.run(ping, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
                time.sleep(0.1)
            return subprocess.Popen(["redis-cli", "-s", socket, "eval", lua, "0"], stdout=subprocess.DEVNULL)

        return Program(["redis-server", "--port", "0", "--unixsocket", socket, "--save", ""], 150, prepare=fill)

    def compiler():
        functions = "".join(
            f"int f{i}(int a, int b) {{ int c[64]; for (int k = 0; k < 64; k++) c[k] = a * k + b / (k + {i + 1});"
            f" for (int k = 1; k < 64; k++) c[k] ^= c[k - 1] << (b & 3); return c[a & 63] + c[b & 63]; }}\n"
            for i in range(12000)
        )
        return Program(["gcc", "-O2", "-c", "-o", "/dev/null", file("many.c", functions)], 200, ["--follow"], endless=True)

    def nginx():
        conf = file("nginx.conf", "daemon off; worker_processes 3; pid nginx.pid; error_log stderr crit;\nevents {}\n"
                    f"http {{ access_log off; proxy_cache_path cache keys_zone=z:64m; server {{ listen unix:{folder}/nginx.sock; }} }}\n")
        return Program(["nginx", "-p", folder, "-c", conf], 2)

    def java():
        file("Hold.java", JAVA)
        made("javac", "Hold.java")
        return Program(["java", "-Xmx1g", "-cp", folder, "Hold"], 256)

    def go():
        made("go", "build", "-o", "held", file("hold.go", GO), CGO_ENABLED="0", GO111MODULE="off")
        return Program([os.path.join(folder, "held")], 256)

    def vector():
        made("g++", "-O2", "-o", "vector", file("vector.cpp", VECTOR))
        return Program([os.path.join(folder, "vector")], 450)

    numpy = "import numpy, time; a = [numpy.ones(8 << 20) for _ in range(4)]; b = a[0] + a[1]; time.sleep(1e6)"
    script = file("numpy.sh", f'#!/bin/sh\n"{sys.executable}" -c "{numpy}"\ntrue\n')
    has_numpy = subprocess.run([sys.executable, "-c", "import numpy"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    os.chmod(script, 0o755)
    postgres = next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin"))), "/nowhere")
    node = "const a = []; for (let i = 0; i < 4; i++) a.push(Buffer.alloc(64 << 20, 1)); setTimeout(() => a, 1e9)"
    add("PostgreSQL", [f"{postgres}/postgres"], postgresql)
    add("Redis", ["redis-server", "redis-cli"], redis)
    add("Java", ["java", "javac"], java)
    add("Node.js", ["node"], lambda: Program(["node", "-e", node], 256))
    add("Rscript", ["Rscript"], lambda: Program(["Rscript", "-e", "x <- rnorm(2e7); y <- x * 2; Sys.sleep(1e6)"], 300))
    add("NumPy in a script", ["sh" if has_numpy else "/nowhere"], lambda: Program([script], 300, ["--follow"]))
    add("gcc", ["gcc"], compiler)
    film = ["ffmpeg", "-v", "quiet", "-f", "lavfi", "-i", "testsrc=size=3840x2160:rate=30", "-f", "null", "-"]
    add("ffmpeg", ["ffmpeg"], lambda: Program(film, 60, endless=True))
    add("Python pool", ["python3"], lambda: Program([sys.executable, file("pool.py", POOL)], 190))
    add("Go, static", ["go"], go)
    add("nginx", ["nginx"], nginx)
    add("Octave", ["octave-cli"], lambda: Program(["octave-cli", "--eval", "x = rand(5000); y = x + 1; pause(1e6)"], 380))
    add("C++ vector", ["g++"], vector)
    return found, missing


def family(pid):
    """The process and its descendants."""
    parents = {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="utf-8", errors="replace") as text:
                number, rest = text.read().split(" (", 1)
                parents[int(number)] = int(rest.rsplit(") ", 1)[1].split()[1])
        except OSError:
            pass
    found = [pid] if pid in parents else []
    for one in found:
        found += [child for child, parent in parents.items() if parent == one and child not in found]
    return found


def smaps(pid):
    """What a process has, in bytes: private, shared, files, and what of it but files is on huge pages."""
    sums, is_shared = dict.fromkeys(("private", "shared", "files", "huge"), 0), False
    rss = own = 0
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            words = line.split()
            if not words[0].endswith(":"):
                is_shared = len(words) > 5 and words[5].startswith(SHARED)
                continue
            if words[0] == "VmFlags:" or len(words) < 3:
                continue
            value = int(words[1]) * 1024
            if words[0] == "Rss:":
                rss = value
            elif words[0] == "Anonymous:":
                own = value
                sums["private"] += own
                sums["shared" if is_shared else "files"] += rss - own
            elif words[0] in ("AnonHugePages:", "ShmemPmdMapped:"):
                sums["huge"] += value
            elif words[0] in ("Private_Hugetlb:", "Shared_Hugetlb:"):
                sums["private" if words[0].startswith("Private") else "shared"] += value
                sums["huge"] += value
    return sums


def together(pid):
    """The proportional set sizes of a family, without files, in bytes."""
    total = 0
    for one in family(pid):
        try:
            with open(f"/proc/{one}/smaps_rollup", encoding="utf-8") as lines:
                total += sum(int(l.split()[1]) for l in lines if l.startswith(("Pss_Anon:", "Pss_Shmem:"))) * 1024
        except OSError:
            pass
    return total


def sleeps(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


class Running:
    """A program started by `words`; the process that is its own is below the one that was started, if that is ours."""

    def __init__(self, program, words, folder):
        self.program, self.peak = program, 0
        # Of one that was killed before; its address would be taken.
        for socket in glob.glob(os.path.join(folder, "*.sock")):
            os.unlink(socket)
        cache = os.path.join(folder, "cache")
        os.makedirs(cache, exist_ok=True)
        os.chmod(cache, 0o777)
        self.process = subprocess.Popen(
            [*(program.user or []), *words], cwd="/", env={**os.environ, "XDG_CACHE_HOME": cache},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        self.client = program.prepare() if program.prepare else None

    def wait_until_ready(self):
        """Until it has what it shall have, and, unless it never does, that stays so for half a second."""
        since, last = time.monotonic(), 0
        while True:
            now = together(self.process.pid)
            self.peak = max(self.peak, now)
            if abs(now - last) > last / 200:
                since, last = time.monotonic(), now
            calm = self.program.endless or time.monotonic() - since > 0.5
            if now >= self.program.ready_mib * MIB and calm:
                return
            if self.process.poll() is not None:
                sys.exit(f"{self.program.words[0]} ended with {self.process.returncode} before it was ready")
            time.sleep(0.01)

    def members(self, launched):
        """The processes of the program itself."""
        return [pid for pid in family(self.process.pid) if not (launched and pid == self.process.pid)]

    def signal(self, number, launched):
        for pid in self.members(launched):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def end(self, launched):
        self.signal(signal.SIGKILL, launched)
        self.process.wait()
        if self.client:
            self.client.kill()
            self.client.wait()


def receipts(program, folder):
    """The worst deviation of any process, as a part, and words about it."""
    out = os.path.join(folder, "out")
    os.makedirs(out, exist_ok=True)
    os.chmod(out, 0o777)
    file = os.path.join(out, "receipt.json")
    words = [FIRSTTOUCH, "run", "--quiet", *program.options, "--receipt", file, "--", *program.words]
    running = Running(program, words, folder)
    running.wait_until_ready()
    running.signal(signal.SIGSTOP, True)
    seen = sleeps(running.process.pid)
    while sleeps(running.process.pid) < seen + 6:
        time.sleep(0.01)
    truth = {pid: smaps(pid) for pid in running.members(True)}
    running.end(True)
    with open(file, encoding="utf-8") as text:
        receipt = json.load(text)
    os.unlink(file)
    told = {process["pid"]: process["memory"] for process in receipt["tree"]["processes"]}
    worst, where = 0.0, ""
    for pid, kinds in truth.items():
        memory = told.get(pid)
        if memory is None:
            return 1.0, f"process {pid} is missing", receipt
        values = {
            "private": memory["placed"]["bytes"] + memory["private"]["bytes"],
            "shared": memory["shared"]["bytes"],
            "files": memory["files"]["bytes"],
            "huge": sum(memory[kind]["huge_bytes"] for kind in ("placed", "private", "shared")),
        }
        for kind, value in values.items():
            off = abs(value - kinds[kind])
            part = 0.0 if off <= MIB else off / max(kinds[kind], 1)
            if part >= worst:
                worst, where = part, f"{kind} of {pid}: {value} told, {kinds[kind]} by smaps"
    return worst, where, receipt


def compare_receipts(found, folder):
    failed = False
    # When it is full, its peak is over: then it had the block that it grew out of besides.
    found = {name: program for name, program in found.items() if name != "C++ vector"}
    print(f"{'program':18} {'processes':>9} {'no files':>9} {'placed':>9} {'shared':>9} {'huge':>6}  worst deviation")
    for name, program in found.items():
        worst, where, receipt = receipts(program, folder)
        memory = receipt["tree"]["at_peak"]
        kinds = [memory[kind] for kind in ("placed", "private", "shared")]
        size = sum(kind["bytes"] for kind in kinds)
        huge = sum(kind["huge_bytes"] for kind in kinds)
        count = len(receipt["tree"]["processes"]) + receipt["tree"]["unlisted"]
        mib = [f"{value / MIB:.0f} MiB" for value in (size, memory["placed"]["bytes"], memory["shared"]["bytes"])]
        print(f"{name:18} {count:9} {mib[0]:>9} {mib[1]:>9} {mib[2]:>9} {100 * huge / size:5.0f}%  {100 * worst:.1f} %", flush=True)
        if worst > 0.02:
            print(f"    {where}")
            failed = True
    return failed


def compare_peaks(found, folder):
    print(f"{'program':18} {'alone':>9} {'under us':>9}  ratio")
    for name, program in found.items():
        # What is created before it is needed is memory that was asked for.
        options = [option for option in program.options if option != "--prefault"]
        ways = {"alone": program.words, "us": [FIRSTTOUCH, "run", "--quiet", *options, "--", *program.words]}
        peaks = {way: [] for way in ways}
        for _ in range(3):
            for way, words in ways.items():
                running = Running(program, words, folder)
                running.wait_until_ready()
                running.end(False)
                peaks[way].append(running.peak)
        alone, us = (statistics.median(peaks[way]) for way in ("alone", "us"))
        print(f"{name:18} {alone / MIB:5.0f} MiB {us / MIB:5.0f} MiB  {us / alone:.2f}", flush=True)


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("receipts", "peak"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="firsttouch-programs-") as folder:
        os.chmod(folder, 0o755)
        found, missing = programs(folder)
        for name in missing:
            print(f"{name} is not installed: left out")
        if sys.argv[2:]:
            found = {name: found[name] for name in sys.argv[2:]}
        failed = compare_receipts(found, folder) if sys.argv[1] == "receipts" else compare_peaks(found, folder)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
