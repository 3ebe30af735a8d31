"""Processes that share large memory by fork, that start afresh, and that become other programs."""
import hashlib
import multiprocessing
import os
import subprocess
import sys

SHARED = bytearray(48 << 20)


def digest(part):
    """Reads what the parent left, and writes to its own copy of it."""
    bytes_per_part = len(SHARED) // 8
    start = part * bytes_per_part
    before = hashlib.sha256(SHARED[start:start + bytes_per_part]).hexdigest()
    SHARED[start:start + bytes_per_part] = bytes([part + 100]) * bytes_per_part
    fresh = bytearray(8 << 20)
    assert fresh.count(0) == len(fresh)
    after = hashlib.sha256(SHARED[start:start + bytes_per_part]).hexdigest()
    return part, before, after


def environment_of_child(command):
    """Sorted, without what differs from one run to the next anyway."""
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    return sorted(line for line in lines if not line.startswith("_="))


def main():
    for start in range(0, len(SHARED), 1 << 20):
        SHARED[start:start + (1 << 20)] = bytes([start >> 20]) * (1 << 20)
    for method in ["fork", "spawn", "forkserver"]:
        with multiprocessing.get_context(method).Pool(2) as pool:
            for row in pool.map(digest, range(8)):
                print(method, *row)
    print("parent", hashlib.sha256(SHARED).hexdigest())

    print(environment_of_child(["env"]))
    print(environment_of_child("env"))
    print(subprocess.run("exit 9", shell=True).returncode, os.waitstatus_to_exitcode(os.system("exit 8")))
    with os.popen("env | sort | grep -v ^_=") as piped:
        print(piped.read())
    sort = subprocess.run(["sort", "-rn"], input="\n".join(map(str, range(100_000))).encode(), stdout=subprocess.PIPE)
    print(hashlib.sha256(sort.stdout).hexdigest())

    child = os.fork()
    if child == 0:
        os.execvp("sh", ["sh", "-c", "exit 7"])
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    child = os.fork()
    if child == 0:
        os._exit(6 if SHARED[1 << 20] == 1 else 5)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    sys.exit(3)


if __name__ == "__main__":
    main()
