/* The model: what is in every block, and sizes worth trying. */
#include "torture.h"
#include <math.h>

struct block monuments[MONUMENTS];

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014). */
uint64_t next(struct worker *worker)
{
    return mixed(worker->random += 0x9e3779b97f4a7c15u);
}

size_t below(struct worker *worker, size_t bound)
{
    return next(worker) % bound;
}

static size_t between(struct worker *worker, double least, double most)
{
    double unit = (double)(next(worker) >> 11) / 9007199254740992.0;
    return (size_t)(least * exp(unit * log(most / least)));
}

/* Sizes around everything that is a limit to somebody, and others. */
size_t some_bytes(struct worker *worker)
{
    static const size_t limits[] = {64 * KIB,  128 * KIB, 256 * KIB, MIB,      2 * MIB,   3 * MIB,
                                    4 * MIB,   6 * MIB,   8 * MIB,   16 * MIB, 32 * MIB,  64 * MIB};
    static const int deltas[] = {0,   1,   -1,  8,    -8,    15,    -15,  16,    -16,  17,
                                 -17, 24,  -24, -32,  4080,  -4080, 4096, -4096, 4112, -4112};
    /* Up to 2 MiB. */
    enum { QUICK_LIMITS = 5 };
    size_t way = below(worker, 100), bytes;
    if (way < 30 || (worker->is_quick && way < 40))
        bytes = limits[below(worker, worker->is_quick ? QUICK_LIMITS : 12)] + (size_t)deltas[below(worker, 20)];
    else if (way < 40)
        bytes = (1 + below(worker, 8)) * HUGE_PAGE + (size_t)deltas[below(worker, 20)];
    else if (way < 50)
        bytes = below(worker, PAGE);
    else if (worker->is_quick)
        bytes = between(worker, 16, 1.5 * MIB);
    else if (way < 97)
        bytes = between(worker, 16, 12.0 * MIB);
    else
        bytes = between(worker, 4.0 * MIB, (double)options.largest);
    return bytes <= options.largest ? bytes : bytes % (4 * MIB);
}

/* The size, or a small one where the worker holds enough. */
size_t within_budget(struct worker *worker, size_t bytes)
{
    size_t budget = options.budget / (options.threads + 1) >> worker->depth;
    worker->asked_bytes = worker->live_bytes + bytes <= budget ? bytes : bytes % (MAPPED_BYTES - PAGE);
    return worker->asked_bytes;
}

struct block *some_slot(struct worker *worker)
{
    return &worker->slots[below(worker, SLOTS)];
}

/* A slot with a block, or null. */
struct block *some_block(struct worker *worker)
{
    size_t first = below(worker, SLOTS);
    for (size_t i = 0; i < SLOTS; i++)
        if (worker->slots[(first + i) % SLOTS].at != NULL)
            return &worker->slots[(first + i) % SLOTS];
    return NULL;
}

/* A slot without a block: that of another is freed for it. */
struct block *empty_slot(struct worker *worker)
{
    size_t first = below(worker, SLOTS);
    for (size_t i = 0; i < SLOTS; i++)
        if (worker->slots[(first + i) % SLOTS].at == NULL)
            return &worker->slots[(first + i) % SLOTS];
    drop(worker, &worker->slots[first]);
    return &worker->slots[first];
}

static size_t some_stride(struct worker *worker, size_t bytes)
{
    /* None divides the others' places, so that not every pattern begins where a page does. */
    static const size_t strides[] = {8, 72, 520, 4096, 4104, 65536, HUGE_PAGE + 8};
    if (bytes <= 128 * KIB)
        return strides[below(worker, 3)];
    if (bytes <= 4 * MIB)
        return strides[below(worker, 5)];
    return strides[1 + below(worker, 6)];
}

void describe(struct worker *worker, struct block *block, void *at, size_t bytes)
{
    *block = (struct block){.at = at, .bytes = bytes};
    block->stride = some_stride(worker, bytes);
    block->seed = next(worker);
}

static uint64_t word_at(const struct block *block, size_t offset)
{
    return block->seed + offset / 8 * 0x9e3779b97f4a7c15u;
}

static size_t end_from(size_t bytes)
{
    return bytes < 16 ? 0 : bytes - 16;
}

static unsigned char byte_at(const struct block *block, size_t offset)
{
    return (unsigned char)(word_at(block, offset) >> offset % 8 * 8);
}

/* Writes the pattern into what of it lies in `[from, to)`, which may be somewhat more at both ends. */
void mark_range(const struct block *block, size_t from, size_t to)
{
    for (size_t at = from / block->stride * block->stride; at + 8 <= block->bytes && at < to; at += block->stride) {
        uint64_t word = word_at(block, at);
        memcpy(block->at + at, &word, 8);
    }
    for (size_t at = end_from(block->bytes); at < block->bytes; at++)
        block->at[at] = byte_at(block, at);
}

void mark(const struct block *block)
{
    mark_range(block, 0, block->bytes);
}

/* Says where a pattern is broken: a page, a huge page or the whole block are lost in different ways. */
static void broken(const struct block *block, size_t at) __attribute__((noreturn, cold));
static void broken(const struct block *block, size_t at)
{
    uint64_t found = 0;
    memcpy(&found, block->at + at, block->bytes - at < 8 ? block->bytes - at : 8);
    dprintf(2, "torture: block %p of %zu bytes, stride %zu: at offset %zu is %#lx, not %#lx\n", (void *)block->at,
            block->bytes, block->stride, at, found, word_at(block, at));
    failed(__FILE__, __LINE__, "the block holds what was written to it");
}

/* Whether the first bytes hold the pattern; `with_end` if these are all bytes it was made for. */
void check_prefix(const struct block *block, size_t bytes, int with_end)
{
    for (size_t at = 0; at + 8 <= bytes; at += block->stride) {
        uint64_t word;
        memcpy(&word, block->at + at, 8);
        if (word != word_at(block, at))
            broken(block, at);
    }
    for (size_t at = with_end ? end_from(bytes) : bytes; at < bytes; at++)
        if (block->at[at] != byte_at(block, at))
            broken(block, at);
}

void check_block(const struct block *block)
{
    check_prefix(block, block->bytes, 1);
}

/* All of it, or the first word and another one of each page: somebody's old pattern has one or the other. */
void check_zero(struct worker *worker, const unsigned char *at, size_t bytes)
{
    if (bytes <= MIB || below(worker, 8) == 0) {
        CHECK(is_zero(at, bytes));
        return;
    }
    size_t other = below(worker, PAGE / 8) * 8;
    for (size_t page = 0; page + PAGE <= bytes; page += PAGE)
        CHECK(is_zero(at + page, 8) && is_zero(at + page + other, 8));
    CHECK(is_zero(at + bytes - PAGE, PAGE));
}

/* A new block: its pattern is written. */
void adopt(struct worker *worker, struct block *slot, void *at, size_t bytes)
{
    CHECK(at != NULL && (uintptr_t)at % 16 == 0);
    describe(worker, slot, at, bytes);
    worker->live_bytes += bytes;
    mark(slot);
}

/* The block is somebody else's now, or nobody's. */
void forget(struct worker *worker, struct block *slot)
{
    worker->live_bytes -= slot->bytes;
    *slot = (struct block){0};
}

void drop(struct worker *worker, struct block *slot)
{
    if (slot->at == NULL)
        return;
    check_block(slot);
    errno = 77;
    free(slot->at);
    CHECK(errno == 77);
    forget(worker, slot);
}

void drop_all(struct worker *worker)
{
    for (size_t i = 0; i < SLOTS; i++)
        drop(worker, &worker->slots[i]);
    CHECK(worker->live_bytes == 0);
}

void check_all(struct worker *worker)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (worker->slots[i].at != NULL)
            check_block(&worker->slots[i]);
}

/* Blocks that stay as they are from the beginning to the end, for every thread, child and handler to look at. */
void make_monuments(struct worker *worker)
{
    static const size_t bytes[MONUMENTS] = {300 * KIB, 2 * MIB - 16, 5 * MIB + 1, 40};
    for (size_t i = 0; i < MONUMENTS; i++) {
        describe(worker, &monuments[i], i == 1 ? calloc(1, bytes[i]) : malloc(bytes[i]), bytes[i]);
        CHECK(monuments[i].at != NULL);
        mark(&monuments[i]);
    }
}

void check_monuments(void)
{
    for (size_t i = 0; i < MONUMENTS; i++)
        check_block(&monuments[i]);
}
