"""Everything a program may do with arrays while NumPy's allocation handler is switched on and off, drawn from a seed
and checked against a model of the contents that NumPy has no part in.

    python torture.py --seed N --operations N [--threads N] [--bare] [--notes FILE]

Each thread performs so many operations. An operation draws from numbers of its own, which follow from the seed, the
thread and its own number, so that a run is repeated by its seed. With `--bare` no handler is ever set: whatever fails
then is no fault of ours. What is being done is written to the file of notes, which tells it of a process that dies.
"""

import argparse
import contextvars
import copy
import gc
import mmap
import os
import pickle
import random
import resource
import struct
import sys
import tempfile
import threading
import traceback
import warnings
from contextlib import ExitStack

import numpy as np

import firsttouch

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SLOTS, CELLS, DEEPEST_BLOCKS = 6, 8, 3
# Around everything that is a limit to somebody.
SIZES = (1, 100, 4 * KIB, 64 * KIB, 128 * KIB, MIB, 2 * MIB, 3 * MIB)
# A note: the operation, and its place among the names.
NOTE = struct.Struct("qq")


class Block:
    """An array of bytes, and what is in it."""

    def __init__(self, array, contents):
        self.array, self.contents = array, contents

    def check(self):
        array = self.array
        assert array.dtype == np.uint8 and array.shape == (len(self.contents),), (array.dtype, array.shape)
        if array.tobytes() != self.contents:
            found = array.tobytes()
            at = next(at for at, byte in enumerate(self.contents) if found[at] != byte)
            raise AssertionError(f"of {len(found)} bytes, that at {at} is {found[at]}, not {self.contents[at]}")


class Exchange:
    """Blocks that pass from thread to thread."""

    def __init__(self):
        self.lock, self.cells = threading.Lock(), [None] * CELLS

    def swap(self, place, block):
        with self.lock:
            self.cells[place], block = block, self.cells[place]
        return block


class Worker:
    """A thread, or what a fork made of it."""

    def __init__(self, seed, number, options, exchange, notes):
        self.seed, self.number, self.options, self.exchange, self.notes = seed, number, options, exchange, notes
        self.depth = 0
        self.slots = [None] * SLOTS
        self.entered = ExitStack()
        self.entered_count = 0
        self.draw = random.Random(0)

    def perform(self, operations):
        for operation in range(operations):
            self.draw = random.Random(f"{self.seed} {self.number} {self.depth} {operation}")
            name = self.draw.choice(NAMES)
            if self.depth == 0:
                NOTE.pack_into(self.notes, self.number * NOTE.size, operation, NAMES.index(name))
            try:
                getattr(self, "do_" + name)()
            except BaseException as error:
                where = f"worker {self.number}, depth {self.depth}, operation {operation}, {name}"
                raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
        for block in filter(None, self.slots):
            block.check()
        self.entered.close()

    # What operations are made of.

    def bytes(self):
        most = self.draw.random()
        if most < 0.3:
            return self.draw.randrange(1, 64 * KIB)
        near = self.draw.choice(SIZES) + self.draw.choice((-17, -1, 0, 1, 16, 4096))
        return max(1, near)

    def pattern(self, bytes):
        return self.draw.randbytes(bytes)

    def put(self, array, contents):
        """A new block takes a place, and whoever had it is checked and goes."""
        place = self.draw.randrange(SLOTS)
        if self.slots[place] is not None:
            self.slots[place].check()
        block = Block(array, contents)
        block.check()
        self.slots[place] = block
        return block

    def filled(self, make=np.empty, bytes=None):
        contents = self.pattern(bytes or self.bytes())
        array = make(len(contents), np.uint8)
        array[:] = np.frombuffer(contents, np.uint8)
        return array, contents

    def some(self):
        """A block, checked; made if there is none."""
        block = self.draw.choice(self.slots)
        if block is None:
            return self.put(*self.filled())
        block.check()
        return block

    def pages(self, whole_process=False):
        kind = self.draw.choice(("thp", "thp", "4k", "64k", "auto", "plain"))
        least = self.draw.choice((1, 4 * KIB, 64 * KIB, MIB))
        most = self.draw.choice((None, None, 2 * MIB))
        return firsttouch.pages(kind, min_bytes=least, max_bytes=most, whole_process=whole_process)

    # Arrays that come and go.

    def do_empty(self):
        self.put(*self.filled())

    def do_zeros(self):
        bytes = self.bytes()
        array = np.zeros(bytes, np.uint8)
        Block(array, b"\0" * bytes).check()
        contents = self.pattern(bytes)
        array[:] = np.frombuffer(contents, np.uint8)
        self.put(array, contents)

    def do_ones(self):
        bytes, value = self.bytes(), self.draw.randrange(256)
        self.put(np.ones(bytes, np.uint8), b"\1" * bytes)
        self.put(np.full(bytes, value, np.uint8), struct.pack("B", value) * bytes)

    def do_drop(self):
        place = self.draw.randrange(SLOTS)
        if self.slots[place] is not None:
            self.slots[place].check()
        self.slots[place] = None

    def do_rewrite(self):
        block = self.some()
        block.contents = self.pattern(len(block.contents))
        block.array[:] = np.frombuffer(block.contents, np.uint8)
        block.check()

    def do_own_memory(self):
        self.put(*self.filled(lambda bytes, dtype: firsttouch.empty(bytes, dtype, on_fallback="ignore")))

    # Arrays that become others.

    def do_resize(self):
        block, bytes = self.some(), self.bytes()
        times = bytes // len(block.contents) + 1
        self.put(np.resize(block.array, bytes), (block.contents * times)[:bytes])

    def do_resize_in_place(self):
        array, contents = self.filled()
        for _ in range(self.draw.randrange(1, 4)):
            bytes = self.bytes()
            array.resize(bytes, refcheck=False)
            contents = contents[:bytes].ljust(bytes, b"\0")
            Block(array, contents).check()
        self.put(array, contents)

    def do_transposed(self):
        block = self.some()
        half = len(block.contents) // 2
        if half == 0:
            return
        rows = block.array[: 2 * half].reshape(2, half)
        contents = bytearray(2 * half)
        contents[0::2], contents[1::2] = block.contents[:half], block.contents[half : 2 * half]
        self.put(rows.T.flatten(), bytes(contents))

    def do_view(self):
        """A part outlives its array."""
        array, contents = self.filled()
        first = self.draw.randrange(len(contents))
        last, step = self.draw.randrange(first, len(contents)) + 1, self.draw.choice((1, 1, 2, 7, -1))
        part = slice(first, last)
        self.put(array[part][::step], contents[part][::step])

    def do_other_type(self):
        array, contents = self.filled(bytes=8 * self.draw.randrange(1, 256 * KIB))
        numbers = array.view(np.float64 if self.draw.random() < 0.5 else np.dtype("i4,i4"))
        del array
        self.put(numbers.copy().view(np.uint8), contents)

    def do_wider(self):
        block = self.some()
        wide = block.array.astype(np.uint32) * 3
        narrow = (wide // 3).astype(np.uint8)
        self.put(narrow, block.contents)

    def do_arithmetic(self):
        block, key = self.some(), self.draw.randrange(256)
        self.put(block.array ^ np.uint8(key), block.contents.translate(bytes(byte ^ key for byte in range(256))))

    def do_join(self):
        blocks = [self.some() for _ in range(self.draw.randrange(1, 4))]
        joined = np.concatenate([block.array for block in blocks])
        self.put(joined, b"".join(block.contents for block in blocks))

    def do_sort(self):
        block = self.some()
        ordered = b"".join(bytes([byte]) * block.contents.count(byte) for byte in range(256))
        if self.draw.random() < 0.5:
            self.put(np.sort(block.array, kind="stable"), ordered)
        else:
            block.array.sort()
            block.contents = ordered
            block.check()

    def do_chosen(self):
        block = self.some()
        count = self.draw.randrange(1, 64 * KIB)
        places = np.frombuffer(self.pattern(4 * count), np.uint32) % len(block.contents)
        self.put(block.array[places], bytes(block.contents[place] for place in places.tolist()))

    def do_pickle(self):
        block, buffers = self.some(), []
        if self.draw.random() < 0.5:
            again = pickle.loads(pickle.dumps(block.array, 5, buffer_callback=buffers.append), buffers=buffers).copy()
        else:
            again = pickle.loads(pickle.dumps(block.array, self.draw.choice((2, 4, 5))))
        self.put(again, block.contents)

    def do_copy(self):
        block = self.some()
        self.put(copy.deepcopy(block.array), block.contents)

    def do_file(self):
        contents = self.pattern(self.bytes())
        with tempfile.NamedTemporaryFile() as file:
            mapped = np.memmap(file.name, np.uint8, "r+", shape=(len(contents) + 5,))
            mapped[5:] = np.frombuffer(contents, np.uint8)
            mapped.flush()
            assert file.read()[5:] == contents
            self.put(np.array(mapped[5:]), contents)
            part = np.fromfile(file.name, np.uint8)
        self.put(part[5:], contents)

    def do_objects(self):
        """Arrays of other objects, one of which holds itself and is found by the collector alone."""
        count = self.draw.randrange(1, 3000)
        words = [str(self.draw.random()) for _ in range(count)]
        array = np.array(words, dtype=object)
        assert array.tolist() == words and np.array(words).tolist() == words
        array[self.draw.randrange(count)] = array
        del array
        gc.collect(self.draw.randrange(3))

    def do_refused(self):
        """What nobody has is refused, and nothing else happens."""
        block = self.some()
        for absurd in (1 << 62, (1 << 63) - 1, (1 << 46, 1 << 10)):
            try:
                self.draw.choice((np.empty, np.zeros, np.ones))(absurd, np.uint8)
            except (MemoryError, ValueError):
                continue
            raise AssertionError(f"{absurd} bytes were had")
        array, contents = self.filled()
        try:
            array.resize(1 << 62, refcheck=False)
        except (MemoryError, ValueError):
            self.put(array, contents)
        block.check()

    # Handlers.

    def do_enter(self):
        if not self.options.bare and self.entered_count < DEEPEST_BLOCKS:
            self.entered.enter_context(self.pages())
            self.entered_count += 1

    def do_leave(self):
        self.entered.close()
        self.entered_count = 0

    def do_inside(self):
        with self.pages() if not self.options.bare else ExitStack():
            self.do_empty()
            self.do_zeros()
            self.do_resize_in_place()

    def do_everywhere(self):
        """For all threads, each of which has its own handler besides."""
        with self.pages(whole_process=True) if not self.options.bare else ExitStack():
            self.do_empty()
            self.do_resize()
            self.do_objects()

    def do_context(self):
        """What a context does with its handler is not the other's."""
        before = handler_name()

        def other():
            assert handler_name() == before
            with self.pages() if not self.options.bare else ExitStack():
                self.do_inside()
                self.do_view()

        contextvars.copy_context().run(other)
        assert handler_name() == before

    # Threads and processes.

    def do_pass(self):
        """The block goes to whoever comes next, and theirs is freed or changed here."""
        if self.depth == 0:
            place = self.draw.randrange(SLOTS)
            self.slots[place] = self.exchange.swap(self.draw.randrange(CELLS), self.slots[place])
            if self.slots[place] is not None:
                self.slots[place].check()

    def do_thread(self):
        """A thread that lives for a moment frees what it is given, and leaves what it made."""
        given, left = [Block(*self.filled())], []
        other = Worker(self.seed, self.number, self.options, self.exchange, self.notes)
        other.draw = random.Random(self.draw.random())

        def visit():
            given.pop().check()
            other.do_enter()
            left.append(Block(*other.filled()))
            other.do_leave()

        thread = threading.Thread(target=visit)
        thread.start()
        thread.join()
        self.put(left[0].array, left[0].contents)

    def do_fork(self):
        if self.depth == 0:
            self.in_child(lambda: self.perform(self.draw.randrange(10)))

    def do_limited(self):
        """More than this program ever maps without us is room enough with us."""
        if self.depth > 0:
            return

        def limit():
            resource.setrlimit(self.draw.choice((resource.RLIMIT_AS, resource.RLIMIT_DATA)), (16 * GIB, 16 * GIB))
            small = [bytearray(64 * KIB) for _ in range(100)]
            self.perform(4)
            assert not any(map(any, small))

        self.in_child(limit)

    def in_child(self, act):
        """A child finds every block as it was and writes into it, and its parent does not see that."""
        child = os.fork()
        if child == 0:
            try:
                self.depth += 1
                for place, block in enumerate(self.slots):
                    if block is not None:
                        block.check()
                        block.array[:] = place
                        block.contents = struct.pack("B", place) * len(block.contents)
                act()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        for block in filter(None, self.slots):
            block.array[-1] ^= 1
            block.contents = block.contents[:-1] + struct.pack("B", block.contents[-1] ^ 1)
        ended, status = os.waitpid(child, 0)
        assert ended == child and os.waitstatus_to_exitcode(status) == 0, f"the child ended with {status}"
        for block in filter(None, self.slots):
            block.check()


NAMES = sorted(name[3:] for name in dir(Worker) if name.startswith("do_"))


def handler_name():
    multiarray = np._core.multiarray if hasattr(np, "_core") else np.core.multiarray
    return multiarray.get_handler_name()


def noted(data, threads):
    """What each thread was at when the process died."""
    notes = [NOTE.unpack_from(data, number * NOTE.size) for number in range(threads)]
    return ", ".join(f"worker {at}, operation {operation}, {NAMES[name]}" for at, (operation, name) in enumerate(notes))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--operations", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--notes")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)
    bytes = options.threads * NOTE.size
    if options.notes:
        with open(options.notes, "r+b") as file:
            file.truncate(bytes)
            notes = mmap.mmap(file.fileno(), bytes)
    else:
        notes = bytearray(bytes)
    exchange, failures = Exchange(), []
    workers = [Worker(options.seed, number, options, exchange, notes) for number in range(options.threads)]

    def work(worker):
        try:
            worker.perform(options.operations)
        except BaseException as error:
            failures.append(error)

    if options.threads == 1:
        work(workers[0])
    else:
        threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for error in failures:
        traceback.print_exception(type(error), error, error.__traceback__)
    if failures:
        sys.exit(f"seed {options.seed}: {failures[0]}")
    for block in filter(None, exchange.cells):
        block.check()
    print("done")


if __name__ == "__main__":
    main()
