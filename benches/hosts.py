#!/usr/bin/env python3
"""Merges the documents of 1,000 hosts: how long that takes, and how memory grows with the number of hosts.

usage: benches/hosts.py [FIRSTTOUCH] [HOSTS]

The documents are that of this machine under other names, with values of their own where hosts have such. Memory is the peak resident set
of `firsttouch doctor --merge`, for a quarter, half and all of the hosts.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

program = sys.argv[1] if len(sys.argv) > 1 else "target/release/firsttouch"
hosts = int(sys.argv[2]) if len(sys.argv) > 2 else 1000

text = subprocess.run([program, "doctor", "--json"], check=True, capture_output=True, text=True).stdout
document = json.loads(text)
host = document["hosts"][0]
draw = random.Random(1)
with tempfile.TemporaryDirectory() as folder:
    files = []
    for number in range(hosts):
        host["name"] = f"n{number:04}"
        host["measured"] = {
            "bandwidth_bytes_per_s": int(20e9 * draw.uniform(0.98, 1.02)),
            "latency_ps": int(90e3 * draw.uniform(0.98, 1.02)),
        }
        # What differs on every host is the worst case: each value is kept with its host.
        host["facts"]["product"] = f"serial {number}"
        files.append(str(Path(folder, f"{host['name']}.json")))
        Path(files[-1]).write_text(json.dumps(document))
    size = sum(os.path.getsize(file) for file in files)
    print(f"{hosts} documents, {size / 1e6:.1f} MB")
    for part in (hosts // 4, hosts // 2, hosts):
        merged = str(Path(folder, "merged"))
        begun = time.monotonic()
        process = subprocess.Popen([program, "doctor", "--merge", *files[:part], "--export-html", merged], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begun
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"doctor --merge ended with {os.waitstatus_to_exitcode(status)}")
        print(f"{part:6} hosts: {seconds:.2f} s, {used.ru_maxrss / 1024:.1f} MiB at the peak")
