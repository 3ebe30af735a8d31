"""Where the calls of another command wait: what /proc/PID/task/TID/stack says of it, sampled before everything else here.

Of each thread, samples with the same innermost functions in a row are one wait. Needs root, to look and to go first.
"""

import collections
import glob
import os
import threading
import time


class Stacks:
    """Samples all threads of a process until it is told to stop; `waits` are (ms, innermost functions)."""

    DEPTH = 3
    EVERY_S = 0.0005

    def __init__(self, pid):
        self.pid, self.waits, self.stopped = pid, [], False
        self.thread = threading.Thread(target=self._sample, daemon=True)
        self.thread.start()

    def stop(self):
        self.stopped = True
        self.thread.join()
        return self.waits

    def _sample(self):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
        current = {}
        while not self.stopped:
            now = time.monotonic()
            seen = dict.fromkeys(current)
            for file in glob.glob(f"/proc/{self.pid}/task/*/stack"):
                seen[file] = waiting_in(file, self.DEPTH)
            for file, place in seen.items():
                before = current.get(file)
                if before and before[1] == place:
                    continue
                if before and before[1]:
                    self.waits.append(((now - before[0]) * 1e3, before[1]))
                current[file] = (now, place)
            time.sleep(self.EVERY_S)


def waiting_in(file, depth):
    """The innermost functions of a thread that waits in the kernel and cannot be woken by a signal, outermost last; else `None`."""
    try:
        with open(os.path.join(os.path.dirname(file), "stat")) as stat:
            if stat.read().rpartition(")")[2].split()[0] != "D":
                return None
        with open(file) as stack:
            return " < ".join(line.split()[1].split("+")[0] for line in stack.readlines()[:depth])
    except (OSError, IndexError):
        return None


def table(waits, least_ms):
    """The places where something waited for longer than that: how often, and for how long at most."""
    places = collections.defaultdict(list)
    for took, place in waits:
        if took > least_ms:
            places[place].append(took)
    rows = sorted(places.items(), key=lambda row: -max(row[1]))
    return [f"{len(took):6} times, {max(took):6.1f} ms at most: {place}" for place, took in rows]
