/* Limits that a program sets itself, in children: what fits without us fits. */
#include "torture.h"
#include <sys/resource.h>

/* So much is allocated and mapped under a limit. */
static size_t unit_bytes(void)
{
    return options.budget / 16;
}

static void use(unsigned char *at, size_t bytes)
{
    CHECK(at != NULL);
    for (size_t page = 0; page < bytes; page += 64 * KIB)
        at[page] = 1;
}

/* What was freed serves others: mappings, and blocks again. */
static void alternate(size_t bytes)
{
    for (int round = 0; round < 3; round++) {
        unsigned char *block = malloc(unknown(bytes));
        use(block, bytes);
        free(block);
        unsigned char *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(mapped != MAP_FAILED);
        use(mapped, bytes);
        CHECK(munmap(mapped, bytes) == 0);
    }
}

static void limited(struct worker *worker, int resource, size_t bytes)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        worker->depth++;
        worker->child_count = 0;
        enter_child(worker);
        struct rlimit limit = {bytes, bytes};
        CHECK(setrlimit((__rlimit_resource_t)resource, &limit) == 0);
        check_all(worker);
        alternate(unit_bytes());
        errno = 0;
        CHECK(malloc(unknown(bytes + GIB)) == NULL && errno == ENOMEM);
        for (size_t i = 0; i < SLOTS; i++)
            if (worker->slots[i].at != NULL && worker->slots[i].bytes > MIB) {
                struct block *slot = &worker->slots[i];
                slot->at = realloc(slot->at, slot->bytes + 70 * KIB);
                CHECK(slot->at != NULL);
                check_prefix(slot, slot->bytes, 1);
                worker->live_bytes -= slot->bytes;
                free(slot->at);
                *slot = (struct block){0};
            }
        alternate(unit_bytes());
        check_all(worker);
        check_monuments();
        _exit(0);
    }
    CHECK(end_of(child) == 0);
}

/* More than this program ever maps: with its blocks, the arenas of glibc and the stacks. */
void op_limit_space(struct worker *worker)
{
    limited(worker, RLIMIT_AS, 2 * options.budget + 6 * GIB);
}

/* Of what may be written: all blocks, all stacks, and two units. */
void op_limit_data(struct worker *worker)
{
    size_t stacks = (options.threads + 8) * 10 * MIB;
    limited(worker, RLIMIT_DATA, options.budget + stacks + 2 * unit_bytes() + 64 * MIB);
}
