/* What the files of the torture program share. Each has one job: the model of blocks (model.c), what is done to them
 * (family.c, users.c, mappings.c), processes (forks.c, limits.c), threads (threads.c), signals (signals.c), libraries
 * (libraries.c), who watches it all (watch.c), and the table and the loop of operations (main.c). */
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
void count_operation(unsigned kind);

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

/* family.c */
void op_malloc(struct worker *);
void op_calloc(struct worker *);
void op_memalign(struct worker *);
void op_posix_memalign(struct worker *);
void op_aligned_alloc(struct worker *);
void op_valloc(struct worker *);
void op_realloc(struct worker *);
void op_grow(struct worker *);
void op_reallocarray(struct worker *);
void op_free(struct worker *);
void op_free_sized(struct worker *);
void op_usable(struct worker *);
void op_check(struct worker *);
void op_rewrite(struct worker *);
void op_refused(struct worker *);
void op_zero(struct worker *);

/* users.c */
void begin_users(void);
void op_strdup(struct worker *);
void op_getline(struct worker *);
void op_memstream(struct worker *);
void op_print(struct worker *);
void op_flush(struct worker *);
void op_sort(struct worker *);
void op_buffer(struct worker *);
void op_paths(struct worker *);
void op_environment(struct worker *);

/* mappings.c */
void begin_mappings(void);
void end_mappings(void);
void op_alter_protection(struct worker *);
void op_alter_contents(struct worker *);
void op_alter_advice(struct worker *);
void op_alter_mapping(struct worker *);
void op_alter_policy(struct worker *);
void op_alter_lock(struct worker *);
void op_alter_hole(struct worker *);
void op_alter_faults(struct worker *);
void op_leave_protection(struct worker *);
void op_leave_mapping(struct worker *);
void op_leave_file(struct worker *);
void op_leave_advice(struct worker *);
void op_leave_guard(struct worker *);
void op_leave_lock(struct worker *);
void op_leave_policy(struct worker *);
void op_leave_hole(struct worker *);
void op_leave_faults(struct worker *);
void op_leave_segment(struct worker *);
void op_not_in_children(struct worker *);
void op_wiped_in_children(struct worker *);
void op_shared_with_children(struct worker *);
void leave_special(struct worker *, struct block *);
void enter_child(struct worker *);

/* forks.c */
void op_fork(struct worker *);
void op_reap(struct worker *);
void op_exec(struct worker *);
void op_vfork(struct worker *);
void op_spawn(struct worker *);
void op_shell(struct worker *);
void reap_all(struct worker *);
int leaf(uint64_t seed);
void begin_forks(int with_handlers);

/* limits.c */
void op_limit_space(struct worker *);
void op_limit_data(struct worker *);
void op_limit_other(struct worker *);

/* threads.c */
void begin_threads(void);
void op_pass(struct worker *);
void op_thread(struct worker *);
void op_cancel(struct worker *);
void drain(struct worker *);
/* What nobody came for yet. */
size_t exchanged_bytes(void);

/* libraries.c */
void begin_libraries(void);
void op_library(struct worker *);
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
