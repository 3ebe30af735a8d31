# What scripts of cases have in common: `arguments`, `report`, and the numbers that inputs are made of.
import json
import os
import sys
import time

arguments = sys.argv[1:]


def report(step, checksum, warm=False):
    """Times steps, and writes what a run says. `warm`: one step goes before that is not timed, as in runs of ours."""
    if warm:
        step()
    steps = int(os.environ["FIRSTTOUCH_CASE_STEPS"])
    begun = time.perf_counter()
    for _ in range(steps):
        result = None
        result = step()
    seconds = (time.perf_counter() - begun) / steps
    with open(os.environ["FIRSTTOUCH_CASE_RESULT"], "w") as file:
        json.dump({"seconds": seconds, "checksum": checksum(result)}, file)


def near(value, within):
    return {"value": float(value), "within": within}


def mix(numbers):
    """`mix` of firsttouch-measure, for arrays of 64-bit numbers without a sign."""
    scattered = (numbers + numbers.dtype.type(1)) * numbers.dtype.type(0x9E3779B97F4A7C15)
    mixed = (scattered ^ (scattered >> numbers.dtype.type(29))) * numbers.dtype.type(0xD6E8FEB86659FD93)
    return mixed ^ (scattered >> numbers.dtype.type(32))
