// A block that the program has locked is locked as a whole when it has grown, and what it has left is locked no more: by the kernel's
// own account, on which its limit (RLIMIT_MEMLOCK) depends.
//# requires: root
//# requires: pool2m=0
//# once: what is locked
//# bare:
//# run: --pages thp
//# run: --pages 4k
//# run: --pages 64k
//# exec: --pages auto
#include "check.h"

/* So much is not the block's own: the words before it, and small blocks. */
static const size_t SLACK = 64 * KIB;

static size_t locked(void)
{
    return proc_bytes("/proc/self/status", "VmLck:");
}

static int is_about(size_t bytes, size_t wanted, size_t slack)
{
    return bytes + slack >= wanted && bytes <= wanted + slack;
}

static void lock(char *block, int is_on_fault)
{
    char *start = (char *)((uintptr_t)block & ~(uintptr_t)4095);
    size_t bytes = block + malloc_usable_size(block) - start;
    CHECK(is_on_fault ? mlock2(start, bytes, MLOCK_ONFAULT) == 0 : mlock(start, bytes) == 0);
}

/* Blocks that are locked one by one, and grow where they are, or elsewhere. */
static void grow_one(int is_on_fault, int has_room)
{
    const size_t before = locked();
    for (int round = 0; round < 3; round++) {
        size_t bytes = 7 * MIB;
        char *block = malloc(bytes), *behind[3] = {0};
        CHECK(block != NULL);
        fill(block, bytes, 1);
        lock(block, is_on_fault);
        for (int i = 0; i < 3; i++) {
            if (!has_room)
                CHECK((behind[i] = malloc(2 * MIB)) != NULL);
            block = realloc(block, bytes + 5 * MIB);
            CHECK(block != NULL && holds(block, bytes, 1));
            bytes += 5 * MIB;
            fill(block, bytes, 1);
            CHECK(is_about(locked() - before, bytes, SLACK));
        }
        free(block);
        CHECK(is_about(locked(), before, SLACK));
        for (int i = 0; i < 3; i++)
            free(behind[i]);
    }
}

/* Blocks that are too small to be placed, become large, and small again. */
static void grow_and_shrink(int is_on_fault)
{
    static const size_t SIZES[] = {3 * MIB, 300 * KIB, 5 * MIB, 200 * KIB};
    const size_t before = locked();
    for (int round = 0; round < 3; round++) {
        size_t bytes = 600 * KIB;
        char *block = malloc(bytes);
        CHECK(block != NULL);
        fill(block, bytes, 1);
        lock(block, is_on_fault);
        for (int i = 0; i < 4; i++) {
            block = realloc(block, SIZES[i]);
            CHECK(block != NULL && holds(block, bytes < SIZES[i] ? bytes : SIZES[i], 1));
            bytes = SIZES[i];
            fill(block, bytes, 1);
            CHECK(is_about(locked() - before, bytes, SLACK));
        }
        free(block);
        CHECK(is_about(locked(), before, SLACK));
    }
}

/* A part of it: locked no more, or still, but not counted twice. */
static void grow_part(void)
{
    const size_t before = locked();
    for (int round = 0; round < 3; round++) {
        char *block = malloc(12 * MIB), *behind = malloc(2 * MIB);
        CHECK(block != NULL && behind != NULL);
        fill(block, 12 * MIB, 1);
        CHECK(mlock(block + 5 * MIB, 2 * MIB) == 0);
        block = realloc(block, 20 * MIB);
        CHECK(block != NULL && holds(block, 12 * MIB, 1) && locked() <= before + 2 * MIB + SLACK);
        free(block);
        CHECK(is_about(locked(), before, SLACK));
        free(behind);
    }
}

/* All that there is, and nothing that comes later. */
static void grow_all(int flags)
{
    size_t bytes = 7 * MIB;
    char *block = malloc(bytes), *behind[3];
    CHECK(block != NULL);
    fill(block, bytes, 1);
    CHECK(mlockall(MCL_CURRENT | flags) == 0);
    const size_t before = locked();
    for (int i = 0; i < 3; i++) {
        CHECK((behind[i] = malloc(2 * MIB)) != NULL);
        block = realloc(block, bytes + 5 * MIB);
        CHECK(block != NULL && holds(block, bytes, 1));
        bytes += 5 * MIB;
        fill(block, bytes, 1);
        /* What the block shares huge pages with is locked, too, and is left to it. */
        CHECK(is_about(locked() + 7 * MIB - before, bytes, 4 * MIB));
    }
    free(block);
    CHECK(locked() <= before);
}

int main(void)
{
    /* glibc would have later blocks in its heap, which grows unlocked. */
    CHECK(mallopt(M_MMAP_THRESHOLD, 128 * KIB) == 1);
    for (int way = 0; way < 9; way++) {
        IN_CHILD(way, {
            if (way < 4)
                grow_one(way & 1, way & 2);
            else if (way < 6)
                grow_and_shrink(way & 1);
            else if (way == 6)
                grow_part();
            else
                grow_all(way == 7 ? 0 : MCL_ONFAULT);
        });
    }
    return 0;
}
