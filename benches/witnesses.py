"""When the processors were not there: what the host of a virtual machine took, told apart from what a program did.

`witness.c` beats on every CPU that it may use, before everything else there. Times are ns of CLOCK_MONOTONIC.
"""

import bisect
import os

from attached import TOP, Target


class Witnesses:
    """A running witness, and the kernel's own count of what was stolen as a cross-check."""

    def __init__(self, workshop):
        self.target = Target([workshop.compiled(os.path.join(TOP, "benches/witness.c"))], workshop.folder)

    def begin(self):
        self.target.ask("gaps")
        self.stolen_s = kernel_stolen_s(os.sched_getaffinity(self.target.pid))

    def end(self):
        said = self.target.ask("gaps")
        if said["missed"]:
            raise SystemExit("the witnesses saw more gaps than they can keep: take shorter rounds")
        stolen_s = kernel_stolen_s(os.sched_getaffinity(self.target.pid)) - self.stolen_s
        return Testimony(said["gaps"], said["cpus"], said["first"], stolen_s)

    def finish(self):
        self.target.finish()


class Testimony:
    """What was seen in one window."""

    def __init__(self, gaps, cpus, first, kernel_stolen_s):
        self.cpus, self.first, self.kernel_stolen_s = cpus, first, kernel_stolen_s
        # A thread that waited stood in the queue of a processor that was there: at the end of the gap.
        self.away = [(due, awake - waited) for _, due, awake, waited in gaps if awake - waited > due]
        self.busy_ns = [waited for *_, waited in gaps]
        self.union = Union(self.away)

    def away_ns(self):
        """Of all CPUs together."""
        return sum(end - begin for begin, end in self.away)

    def longest_ms(self):
        return max((end - begin for begin, end in self.away), default=0) * 1e-6

    def longer_than(self, ms):
        return sum(end - begin > ms * 1e6 for begin, end in self.away)

    def busy_ms(self):
        """The longest time that a witness waited for a processor that was there."""
        return max(self.busy_ns, default=0) * 1e-6


def kernel_stolen_s(cpus):
    """The column `steal` of these CPUs in /proc/stat."""
    with open("/proc/stat") as stat:
        rows = [line.split() for line in stat if line.startswith("cpu") and not line.startswith("cpu ")]
    ticks = sum(int(row[8]) for row in rows if int(row[0][3:]) in cpus)
    return ticks / os.sysconf("SC_CLK_TCK")


class Union:
    """Time that lies in any of some intervals."""

    def __init__(self, intervals):
        self.parts, self.before = [], [0]
        for begin, end in sorted(intervals):
            if self.parts and begin <= self.parts[-1][1]:
                self.parts[-1] = (self.parts[-1][0], max(self.parts[-1][1], end))
            else:
                self.parts.append((begin, end))
        self.begins = [begin for begin, _ in self.parts]
        for begin, end in self.parts:
            self.before.append(self.before[-1] + end - begin)

    def until(self, moment):
        """How much of it lies before a moment."""
        count = bisect.bisect_right(self.begins, moment)
        beyond = max(0, self.parts[count - 1][1] - moment) if count else 0
        return self.before[count] - beyond

    def within(self, begin, end):
        """How much of it lies in an interval."""
        return self.until(end) - self.until(begin)

    def moved(self, by, low, high):
        """The same, later by so much, around the ends of a window that holds it."""
        span = high - low
        begins = ((low + (begin - low + by) % span, end - begin) for begin, end in self.parts)
        return Union((begin, begin + length) for begin, length in begins)


def own_pause_ns(gap, union):
    """What is left of a gap [begin, end, waited] without what the host took and without what its thread waited for a
    processor. The kernel says how long that was, but not when: the two may be the same time, so that only the longer one is
    taken off, and the true pause is at most this."""
    begin, end, waited = gap
    return max(0, end - begin - max(waited, union.within(begin, end)))
