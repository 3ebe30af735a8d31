/* What the files of the torture program share. Each has one job: the model of blocks (model.c), what is done to them
 * (family.c, users.c, mappings.c), processes (forks.c, limits.c), threads (threads.c), signals (signals.c), libraries
 * (libraries.c), who watches it all (watch.c), and the loop of operations (main.c). */
#ifndef TORTURE_H
#define TORTURE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* Tells which operation it was, for the line that repeats it. */
void failed(const char *file, int line, const char *what) __attribute__((noreturn, cold));
#define CHECK(condition)                                                                                             \
    do {                                                                                                             \
        if (!(condition))                                                                                            \
            failed(__FILE__, __LINE__, #condition);                                                                  \
    } while (0)
#include "../../faults/c/check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { SLOTS = 12, CHILDREN = 2, MOST_WORKERS = 16, DEEPEST = 2, MONUMENTS = 4, PAGE = 4096 };
/* From here on glibc maps every block for itself, so that each dies with its free, whatever was done to its pages. */
#define MAPPED_BYTES (64 * KIB)
/* Blocks in the arenas of glibc never add up to this: a block as large is surely mapped for itself. */
#define SURELY_MAPPED_BYTES (2 * MIB)

/* What a program did to a part of a block that lives on. */
enum special { PLAIN, NOT_IN_CHILDREN, WIPED_IN_CHILDREN, SHARED_WITH_CHILDREN };

/* What is known of a block, kept apart from it. */
struct block {
    unsigned char *at;
    size_t bytes;
    /* The pattern of `seed` is in the word at each multiple of it, and in the last 16 bytes. */
    size_t stride;
    uint64_t seed;
    enum special special;
    /* The part that is special. */
    unsigned char *from;
    size_t length;
};

/* A part of a block in whole units. */
struct part {
    unsigned char *at;
    size_t bytes;
};

/* Whoever performs operations: a thread, or what a fork made of it. Everything an operation decides follows from
 * `stream`, the number of the worker and that of the operation, so that leaving out others changes nothing in it but
 * what blocks it meets. */
struct worker {
    unsigned number;
    unsigned depth;
    uint64_t stream;
    uint64_t operation;
    unsigned kind;
    /* The operation is to take microseconds. */
    int is_quick;
    uint64_t random;
    struct block slots[SLOTS];
    size_t live_bytes;
    /* Of what is being allocated, and lives soon. */
    size_t asked_bytes;
    pid_t children[CHILDREN];
    unsigned child_count;
};

/* Where an operation may be performed, and whether it takes microseconds. */
enum { ANYWHERE = 0, NOT_IN_CHILD = 1, ALONE = 2, THREADS = 4, NO_FORKING_SIGNALS = 8, NOT_IN_LEAF = 16, QUICK = 32 };

/* All operations, by name: how often each is drawn, and where. One on a part of a block is drawn as seldom as any. */
#define OPERATIONS(OPERATION, PART) \
    OPERATION(malloc, 12, QUICK) \
    OPERATION(calloc, 12, QUICK) \
    OPERATION(memalign, 3, QUICK) \
    OPERATION(posix_memalign, 3, QUICK) \
    OPERATION(aligned_alloc, 3, QUICK) \
    OPERATION(valloc, 2, QUICK) \
    OPERATION(realloc, 20, QUICK) \
    OPERATION(grow, 8, ANYWHERE) \
    OPERATION(reallocarray, 3, QUICK) \
    OPERATION(free, 14, QUICK) \
    OPERATION(free_sized, 1, QUICK) \
    OPERATION(usable, 2, QUICK) \
    OPERATION(check, 2, QUICK) \
    OPERATION(rewrite, 4, QUICK) \
    OPERATION(refused, 2, QUICK) \
    OPERATION(zero, 1, QUICK) \
    OPERATION(strdup, 1, QUICK) \
    OPERATION(getline, 3, NO_FORKING_SIGNALS | NOT_IN_LEAF) \
    OPERATION(memstream, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(print, 1, ANYWHERE) \
    OPERATION(flush, 4, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(sort, 1, ANYWHERE) \
    OPERATION(buffer, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(paths, 1, ANYWHERE) \
    OPERATION(environment, 1, ALONE) \
    PART(alter_protection, NOT_IN_LEAF) \
    PART(alter_contents, NOT_IN_LEAF) \
    PART(alter_advice, NOT_IN_LEAF) \
    PART(alter_mapping, NOT_IN_LEAF) \
    PART(alter_policy, NOT_IN_LEAF) \
    PART(alter_lock, NOT_IN_LEAF) \
    PART(alter_hole, NOT_IN_LEAF | ALONE) \
    PART(alter_faults, NOT_IN_LEAF) \
    PART(leave_protection, NOT_IN_LEAF) \
    PART(leave_mapping, NOT_IN_LEAF) \
    PART(leave_file, NOT_IN_LEAF) \
    PART(leave_advice, NOT_IN_LEAF) \
    PART(leave_guard, NOT_IN_LEAF) \
    PART(leave_lock, NOT_IN_LEAF) \
    PART(leave_policy, NOT_IN_LEAF) \
    PART(leave_hole, NOT_IN_LEAF | ALONE) \
    PART(leave_faults, NOT_IN_LEAF) \
    PART(leave_segment, NOT_IN_LEAF) \
    PART(not_in_children, NOT_IN_LEAF) \
    PART(wiped_in_children, NOT_IN_LEAF) \
    PART(shared_with_children, NOT_IN_LEAF) \
    OPERATION(fork, 4, NO_FORKING_SIGNALS) \
    OPERATION(reap, 2, ANYWHERE) \
    OPERATION(exec, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(vfork, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(spawn, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(shell, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(limit_space, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(limit_data, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(limit_other, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS) \
    OPERATION(pass, 8, NOT_IN_CHILD | THREADS | QUICK) \
    OPERATION(thread, 2, THREADS) \
    OPERATION(cancel, 1, NOT_IN_CHILD | THREADS) \
    OPERATION(library, 1, NOT_IN_CHILD | NO_FORKING_SIGNALS)

#define DECLARE(name, weight, where) void op_##name(struct worker *worker);
#define DECLARE_PART(name, where) void op_##name(struct worker *worker, struct block *block, struct part part);
OPERATIONS(DECLARE, DECLARE_PART)

/* What is asked of the program. */
struct options {
    uint64_t seed, operations, largest, budget, limit_s, signal_us;
    /* All but one of so many operations are quick. */
    uint64_t quick;
    unsigned threads;
    /* No other threads and no signals, and so the same from run to run. */
    int single;
    /* Ends with its input, not before. */
    int hold;
    /* Started by another. */
    int leaf;
    /* Its signals fork. */
    int forking_signals;
    /* Mappings are changed in units of this: reserved huge pages have no smaller parts. */
    size_t unit;
    const char *plugin, *switched;
};

extern struct options options;
extern __thread struct worker *current;
extern struct block monuments[MONUMENTS];

/* main.c */
extern uint64_t masked;
uint64_t mixed(uint64_t value);
void perform(struct worker *worker, uint64_t first, uint64_t last);
const char *kind_name(unsigned kind);

/* model.c */
uint64_t next(struct worker *worker);
size_t below(struct worker *worker, size_t bound);
size_t some_bytes(struct worker *worker);
size_t within_budget(struct worker *worker, size_t bytes);
/* Of all blocks, as of now: in a child, whose other threads are gone. */
size_t all_live_bytes(void);
struct block *some_slot(struct worker *worker);
struct block *some_block(struct worker *worker);
struct block *empty_slot(struct worker *worker);
void describe(struct worker *worker, struct block *block, void *at, size_t bytes);
void mark_range(const struct block *block, size_t from, size_t to);
void mark(const struct block *block);
void check_prefix(const struct block *block, size_t bytes, int with_end);
void check_block(const struct block *block);
void check_zero(struct worker *worker, const unsigned char *at, size_t bytes);
void adopt(struct worker *worker, struct block *slot, void *at, size_t bytes);
void forget(struct worker *worker, struct block *slot);
void drop(struct worker *worker, struct block *slot);
void drop_all(struct worker *worker);
void check_all(struct worker *worker);
void make_monuments(struct worker *worker);
void check_monuments(void);

/* users.c */
void begin_users(void);

/* mappings.c */
void begin_mappings(void);
void end_mappings(void);
/* Does that to a part of a block that glibc surely maps for itself, if there is room for one. */
void change_part(struct worker *worker, void (*change)(struct worker *, struct block *, struct part));
void leave_special(struct worker *, struct block *);
void enter_child(struct worker *);

/* forks.c */
void reap_all(struct worker *);
int leaf(uint64_t seed);
void begin_forks(int with_handlers);

/* threads.c */
void begin_threads(void);
void drain(struct worker *);
/* What nobody came for yet. */
size_t exchanged_bytes(void);

/* libraries.c */
void begin_libraries(void);
void *switcher(void *);
extern atomic_int workers_running;

/* signals.c */
void begin_signals(void);
void end_signals(void);

/* watch.c */
void begin_watch(void);
void end_watch(void);
void note_operation(const struct worker *worker);
uint64_t operations_done(void);
#endif
