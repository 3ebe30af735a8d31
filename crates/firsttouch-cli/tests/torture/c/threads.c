/* Threads: blocks of one that another frees, threads that end with blocks in their own storage, and cancelled ones. */
#include "torture.h"
#include <semaphore.h>

enum { EXCHANGED = 24 };
static struct block exchanged[EXCHANGED];
static pthread_mutex_t exchange = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t storage;

/* A thread that lives for a moment, what it is given and what it leaves. */
struct visit {
    struct worker worker;
    struct block given, left, stored;
    size_t rounds;
    sem_t begun;
};

/* What is in a thread's own storage when it ends is freed, and once there is something new in it. */
static void end_of_storage(void *value)
{
    struct visit *visit = value;
    current = &visit->worker;
    check_block(&visit->stored);
    free(visit->stored.at);
    if (visit->rounds-- > 0) {
        size_t bytes = below(&visit->worker, 3 * MIB) + 1;
        describe(&visit->worker, &visit->stored, malloc(bytes), bytes);
        CHECK(visit->stored.at != NULL);
        mark(&visit->stored);
        CHECK(pthread_setspecific(storage, visit) == 0);
    }
    current = NULL;
}

static void *do_nothing(void *unused)
{
    pause();
    return unused;
}

void begin_threads(void)
{
    CHECK(pthread_key_create(&storage, end_of_storage) == 0);
    /* The first cancelling loads a library, which is not to happen in a child. */
    pthread_t thread;
    void *end;
    if (!options.single) {
        CHECK(pthread_create(&thread, NULL, do_nothing, NULL) == 0 && pthread_cancel(thread) == 0);
        CHECK(pthread_join(thread, &end) == 0 && end == PTHREAD_CANCELED);
    }
}

/* The block goes to whoever comes next, and theirs is freed or resized here. */
void op_pass(struct worker *worker)
{
    struct block *slot = some_slot(worker);
    CHECK(pthread_mutex_lock(&exchange) == 0);
    struct block *cell = &exchanged[below(worker, EXCHANGED)], mine = *slot;
    worker->live_bytes += cell->bytes - mine.bytes;
    *slot = *cell;
    *cell = mine;
    CHECK(pthread_mutex_unlock(&exchange) == 0);
    if (slot->at != NULL)
        check_block(slot);
}

/* Takes all that nobody came for. */
void drain(struct worker *worker)
{
    for (size_t i = 0; i < EXCHANGED; i++)
        if (exchanged[i].at != NULL) {
            worker->live_bytes += exchanged[i].bytes;
            drop(worker, &exchanged[i]);
        }
}

size_t exchanged_bytes(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < EXCHANGED; i++)
        bytes += exchanged[i].bytes;
    return bytes;
}

static void make(struct worker *worker, struct block *block, size_t bytes)
{
    describe(worker, block, malloc(unknown(bytes)), bytes);
    CHECK(block->at != NULL);
    mark(block);
}

static void *visit(void *value)
{
    struct visit *visit = value;
    current = &visit->worker;
    check_block(&visit->given);
    free(visit->given.at);
    make(&visit->worker, &visit->stored, below(&visit->worker, 3 * MIB) + 1);
    CHECK(pthread_setspecific(storage, visit) == 0);
    make(&visit->worker, &visit->left, below(&visit->worker, 2 * MIB) + 1);
    current = NULL;
    return visit;
}

static void start(struct worker *worker, struct visit *visit, void *(*body)(void *), pthread_t *thread)
{
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    if (below(worker, 2))
        CHECK(pthread_attr_setstacksize(&attributes, 64 * KIB) == 0);
    visit->worker = (struct worker){.number = worker->number, .operation = worker->operation, .kind = worker->kind};
    visit->worker.random = next(worker);
    visit->rounds = below(worker, 3);
    CHECK(pthread_create(thread, &attributes, body, visit) == 0);
    pthread_attr_destroy(&attributes);
}

void op_thread(struct worker *worker)
{
    struct visit own = {0};
    pthread_t thread;
    void *end;
    make(worker, &own.given, below(worker, 3 * MIB) + 1);
    start(worker, &own, visit, &thread);
    CHECK(pthread_join(thread, &end) == 0 && end == &own);
    check_block(&own.left);
    free(own.left.at);
}

/* Allocates for ever, and may be cancelled between two blocks, never in the middle. */
static void let_go(void *value)
{
    struct visit *visit = value;
    CHECK(visit->rounds == 0);
    if (visit->left.at != NULL)
        check_block(&visit->left);
    free(visit->left.at);
    current = NULL;
}

static void *work_for_ever(void *value)
{
    struct visit *visit = value;
    current = &visit->worker;
    visit->rounds = 0;
    pthread_cleanup_push(let_go, visit);
    for (;;) {
        size_t bytes = below(&visit->worker, 3 * MIB) + 1;
        visit->rounds = 1;
        make(&visit->worker, &visit->left, bytes);
        visit->rounds = 0;
        sem_post(&visit->begun);
        pthread_testcancel();
        visit->rounds = 1;
        check_block(&visit->left);
        free(visit->left.at);
        visit->left.at = NULL;
        visit->rounds = 0;
        pthread_testcancel();
    }
    pthread_cleanup_pop(0);
    return NULL;
}

void op_cancel(struct worker *worker)
{
    struct visit own = {0};
    pthread_t thread;
    void *end;
    CHECK(sem_init(&own.begun, 0, 0) == 0);
    start(worker, &own, work_for_ever, &thread);
    for (size_t i = 1 + below(worker, 4); i > 0; i--)
        while (sem_wait(&own.begun) != 0)
            CHECK(errno == EINTR);
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &end) == 0 && end == PTHREAD_CANCELED);
    CHECK(sem_destroy(&own.begun) == 0);
}
