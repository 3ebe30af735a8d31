// A program maps memory of its own at addresses that it has chosen (MAP_FIXED), where without us nothing is: between our blocks, behind them,
// and far behind. What it keeps there stays, whatever becomes of blocks, and when it limits its address space. Argument: how many
// blocks, if not 16.
//# once: mappings
//# bare:
//# emulated: 8
//# run: --pages thp
//# emulated: 8
//# run: --pages thp --min-size 64K
//# emulated: 8
//# run: --pages thp --prefault
//# emulated: 8
//# run: --pages 4k
//# emulated: 8
//# run: --pages 64k
//# emulated: 8
//# run: --pages 2m --quiet
//# emulated: 8
//# run: --pages auto
//# emulated: 8
#include "check.h"
#include <pthread.h>
#include <sys/resource.h>
#include <sys/shm.h>

enum { PLACES = 5, OWN = 1024 * 1024, BYTES = 4 * 1024 * 1024, MOST = 16 };

static int count = MOST;

static char *places[PLACES];

static void map_at(int place, char *address)
{
    places[place] = mmap(address, OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(places[place] == address);
    fill(address, OWN, 100 + place);
}

static void check_all(void)
{
    for (int place = 0; place < PLACES; place++)
        if (places[place] != NULL)
            CHECK(holds(places[place], OWN, 100 + place));
}

static void use_blocks(void)
{
    char *blocks[MOST];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < count; i++) {
            CHECK((blocks[i] = i % 2 ? malloc(BYTES) : calloc(1, BYTES)) != NULL);
            CHECK(i % 2 || is_zero(blocks[i], BYTES));
            fill(blocks[i], BYTES, i);
        }
        check_all();
        for (int i = 0; i < count; i++) {
            CHECK(holds(blocks[i], BYTES, i));
            if (i % 3 == 0)
                CHECK((blocks[i] = realloc(blocks[i], 2 * BYTES)) != NULL && holds(blocks[i], BYTES, i));
        }
        for (int i = 0; i < count; i++)
            free(blocks[i]);
        check_all();
    }
}

/* Where our handlers of fork have run already. */
static char *in_handler;

static void before_fork(void)
{
    if (in_handler != NULL)
        map_at(3, in_handler);
    in_handler = NULL;
}

static void register_handler(void)
{
    if (pthread_atfork(before_fork, NULL, NULL) != 0)
        abort();
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = register_handler;

int main(int words, char **word)
{
    if (words > 1)
        count = atoi(word[1]);
    CHECK(count <= MOST);
    char *block = aligned_alloc(4096, BYTES), *between = aligned_alloc(4096, BYTES), *last = aligned_alloc(4096, BYTES);
    CHECK(block != NULL && between != NULL && last != NULL);
    fill(block, BYTES, 1);
    fill(between, BYTES, 2);
    fill(last, BYTES, 3);
    /* Where blocks of the C library lie there are mappings of others around. */
    int are_placed = (uintptr_t)block >> 45 == 1;
    char *behind = are_placed ? last : (char *)((uintptr_t)1 << 45);
    free(between);
    /* Parts of a huge page of a pool cannot be replaced: where it shares one with a block, the kernel refuses. */
    if (are_placed && mmap(between, OWN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == between) {
        places[0] = between;
        fill(between, OWN, 100);
    }
    map_at(1, behind + 24 * MIB + 4096);
    in_handler = behind + 48 * MIB;
    map_at(2, behind + 3 * GIB);
    int segment = shmget(IPC_PRIVATE, OWN, IPC_CREAT | 0600);
    CHECK(segment >= 0);
    places[4] = shmat(segment, behind + 64 * MIB, SHM_REMAP);
    CHECK(places[4] == behind + 64 * MIB && shmctl(segment, IPC_RMID, NULL) == 0);
    fill(places[4], OWN, 104);
    use_blocks();
    for (int i = 0; i < 2; i++) {
        IN_CHILD(i, {
            use_blocks();
            struct rlimit limit = {2 * GIB, RLIM_INFINITY};
            CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
            use_blocks();
        });
    }
    CHECK(places[3] != NULL);
    char *large = malloc(4 * GIB);
    if (large != NULL)
        touch(large + 3 * GIB - 64 * MIB, 128 * MIB);
    free(large);
    use_blocks();
    CHECK(holds(block, BYTES, 1) && holds(last, BYTES, 3));
    return 0;
}
