/* Operations on the whole family of malloc, drawn from a seed, each checked against a model; without us, and with.
 *
 *   torture --seed N --operations N [--threads N | --single] [--ranges A-B,...] [--kinds NAME,... | --without NAME,...]
 *           [--largest MIB] [--budget MIB] [--quick N] [--signals US] [--forking-signals] [--unit BYTES] [--plugin FILE]
 *           [--switch LIBRARY] [--limit SECONDS] [--hold]
 *   torture --list
 *
 * The operations are those of each worker; with `--quick N` all but one of N are of the kinds and on the sizes that take
 * microseconds, so that millions of them end. Says `done` on stdout, and on stderr how many of each kind there were. */
#include "torture.h"

struct options options = {
    .seed = 1, .operations = 1000, .largest = 96 * MIB, .budget = 640 * MIB, .threads = 4, .unit = PAGE, .limit_s = LIMIT_S};

static const struct kind {
    const char *name;
    void (*perform)(struct worker *);
    void (*change)(struct worker *, struct block *, struct part);
    unsigned weight, where;
} kinds[] = {
#define OPERATION(name, weight, where) {#name, op_##name, NULL, weight, where},
#define PART(name, where) {#name, NULL, op_##name, 1, where},
    OPERATIONS(OPERATION, PART)
    /* No operations, but what else can be left out: handlers of fork that allocate. */
    {"handlers", NULL, NULL, 0, NO_FORKING_SIGNALS},
    {"linked_handlers", NULL, NULL, 0, NO_FORKING_SIGNALS},
};
enum { KINDS = sizeof kinds / sizeof *kinds, MOST_RANGES = 512 };

static _Atomic uint64_t counts[KINDS];
/* A bit for each kind that is left out; for programs that this one starts, too. */
uint64_t masked;
_Static_assert(KINDS <= 64, "a bit for each kind");
static struct range {
    uint64_t first, last;
} ranges[MOST_RANGES];
static size_t range_count;
extern int linked_handlers;

uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

const char *kind_name(unsigned kind)
{
    return kind < KINDS ? kinds[kind].name : "nothing";
}

/* Drawn by weight from the kinds that have all of `where`. */
static unsigned some_kind(struct worker *worker, unsigned where)
{
    unsigned weights[KINDS], all = 0, kind = 0;
    for (unsigned i = 0; i < KINDS; i++)
        all += weights[i] = (kinds[i].where & where) == where ? kinds[i].weight : 0;
    unsigned drawn = (unsigned)below(worker, all);
    while (drawn >= weights[kind])
        drawn -= weights[kind++];
    return kind;
}

static int is_wanted(const struct worker *worker)
{
    unsigned where = kinds[worker->kind].where;
    if (masked >> worker->kind & 1 || (where & NOT_IN_CHILD && worker->depth > 0) || (where & ALONE && !options.single) ||
        (where & THREADS && options.single) || (where & NO_FORKING_SIGNALS && options.forking_signals) || (where & NOT_IN_LEAF && options.leaf))
        return 0;
    if (range_count == 0 || worker->depth > 0)
        return 1;
    for (size_t i = 0; i < range_count; i++)
        if (ranges[i].first <= worker->operation && worker->operation <= ranges[i].last)
            return 1;
    return 0;
}

static int is_asked(const char *name)
{
    for (unsigned i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return !(masked >> i & 1) && !(kinds[i].where & NO_FORKING_SIGNALS && options.forking_signals);
    return 0;
}

/* Each operation draws from numbers of its own: without it, the others are what they were. */
void perform(struct worker *worker, uint64_t first, uint64_t last)
{
    for (uint64_t operation = first; operation < last; operation++) {
        struct worker drawn = {.random = mixed(worker->stream + mixed(operation))};
        worker->is_quick = options.quick > 1 && below(&drawn, options.quick) > 0;
        unsigned kind = some_kind(&drawn, worker->is_quick ? QUICK : 0);
        /* In a child the number stays that of the operation which made it. */
        if (worker->depth == 0)
            worker->operation = operation;
        worker->kind = kind;
        worker->random = drawn.random;
        worker->asked_bytes = 0;
        if (!is_wanted(worker))
            continue;
        note_operation(worker);
        if (kinds[kind].change != NULL)
            change_part(worker, kinds[kind].change);
        else
            kinds[kind].perform(worker);
        atomic_fetch_add(&counts[kind], 1);
    }
}

/* Nobody touches it: what comes after lies where the agent leaves a chunk in 32 on small pages. */
static const size_t UNTOUCHED_BYTES = 256 * MIB;
static struct worker workers[MOST_WORKERS];

size_t all_live_bytes(void)
{
    size_t bytes = UNTOUCHED_BYTES + exchanged_bytes();
    for (size_t i = 0; i < MOST_WORKERS; i++)
        bytes += workers[i].live_bytes + workers[i].asked_bytes;
    return bytes;
}

static void *work(void *value)
{
    struct worker *worker = value;
    current = worker;
    worker->stream = mixed(options.seed + mixed(worker->number));
    /* The arena that glibc makes for a thread holds its first block, however large: that is not one of those which are
     * mapped for themselves. */
    free(malloc(1));
    perform(worker, 0, options.operations);
    reap_all(worker);
    drop_all(worker);
    atomic_fetch_sub(&workers_running, 1);
    current = NULL;
    return NULL;
}

static void usage(const char *word) __attribute__((noreturn));
static void usage(const char *word)
{
    fprintf(stderr, "torture: %s? See the beginning of main.c.\n", word);
    exit(2);
}

static uint64_t named(char *names)
{
    uint64_t bits = 0;
    for (char *rest = names, *name; (name = strsep(&rest, ",")) != NULL;) {
        unsigned kind = 0;
        while (kind < KINDS && strcmp(kinds[kind].name, name) != 0)
            kind++;
        if (kind == KINDS)
            usage(name);
        bits |= (uint64_t)1 << kind;
    }
    return bits;
}

static void read_ranges(char *text)
{
    for (char *rest = text, *part; (part = strsep(&rest, ",")) != NULL;) {
        unsigned long first, last;
        if (range_count == MOST_RANGES || sscanf(part, "%lu-%lu", &first, &last) != 2)
            usage(part);
        ranges[range_count++] = (struct range){first, last};
    }
}

static void list_kinds(void)
{
    for (unsigned i = 0; i < KINDS; i++)
        puts(kinds[i].name);
}

static void read_options(char **words)
{
    for (; *words != NULL; words++) {
        char *word = *words;
        if (strcmp(word, "--single") == 0) {
            options.single = 1;
            options.threads = 1;
            continue;
        }
        if (strcmp(word, "--hold") == 0) {
            options.hold = 1;
            continue;
        }
        if (strcmp(word, "--forking-signals") == 0) {
            options.forking_signals = 1;
            continue;
        }
        char *value = *++words;
        if (value == NULL)
            usage(word);
        uint64_t number = strtoull(value, NULL, 10);
        if (strcmp(word, "--seed") == 0)
            options.seed = number;
        else if (strcmp(word, "--operations") == 0)
            options.operations = number;
        else if (strcmp(word, "--threads") == 0 && number >= 1 && number <= MOST_WORKERS)
            options.threads = (unsigned)number;
        else if (strcmp(word, "--ranges") == 0)
            read_ranges(value);
        else if (strcmp(word, "--kinds") == 0)
            masked |= ~named(value);
        else if (strcmp(word, "--without") == 0)
            masked |= named(value);
        else if (strcmp(word, "--largest") == 0)
            options.largest = number * MIB;
        else if (strcmp(word, "--budget") == 0)
            options.budget = number * MIB;
        else if (strcmp(word, "--quick") == 0)
            options.quick = number;
        else if (strcmp(word, "--signals") == 0)
            options.signal_us = number;
        else if (strcmp(word, "--unit") == 0)
            options.unit = number;
        else if (strcmp(word, "--plugin") == 0)
            options.plugin = value;
        else if (strcmp(word, "--switch") == 0)
            options.switched = value;
        else if (strcmp(word, "--limit") == 0)
            options.limit_s = number;
        else
            usage(word);
    }
}

static void torture(void)
{
    static struct worker own = {.number = MOST_WORKERS - 1};
    pthread_t threads[MOST_WORKERS], switching;
    current = &own;
    own.random = options.seed;
    make_monuments(&own);
    begin_users();
    begin_mappings();
    begin_threads();
    begin_libraries();
    linked_handlers = is_asked("linked_handlers");
    begin_forks(is_asked("handlers"));
    begin_signals();
    void *untouched = malloc(UNTOUCHED_BYTES);
    atomic_store(&workers_running, (int)options.threads);
    for (unsigned i = 0; i < options.threads; i++)
        workers[i].number = i;
    if (options.single) {
        work(&workers[0]);
        current = &own;
    } else {
        if (options.switched != NULL)
            CHECK(pthread_create(&switching, NULL, switcher, &own) == 0);
        for (unsigned i = 0; i < options.threads; i++)
            CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
        for (unsigned i = 0; i < options.threads; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        if (options.switched != NULL)
            CHECK(pthread_join(switching, NULL) == 0);
    }
    end_signals();
    char byte;
    while (options.hold && read(0, &byte, 1) > 0)
        ;
    free(untouched);
    drain(&own);
    check_monuments();
    end_mappings();
}

int main(int count, char **words)
{
    if (count == 4 && strcmp(words[1], "--leaf") == 0) {
        masked = strtoull(words[3], NULL, 10);
        options.limit_s = 0;
        options.leaf = options.single = 1;
        begin_watch();
        return leaf(strtoull(words[2], NULL, 10));
    }
    if (count == 2 && strcmp(words[1], "--list") == 0) {
        list_kinds();
        return 0;
    }
    read_options(words + 1);
    CHECK(mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES) == 1 && mallopt(M_ARENA_MAX, 2 * MOST_WORKERS) == 1);
    begin_watch();
    torture();
    end_watch();
    for (unsigned i = 0; i < KINDS; i++)
        if (atomic_load(&counts[i]) > 0)
            dprintf(2, "%s %lu, ", kinds[i].name, atomic_load(&counts[i]));
    dprintf(2, "all with children's %lu\n", operations_done());
    puts("done");
    return 0;
}
