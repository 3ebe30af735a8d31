/* The functions of malloc's family. */
#include "torture.h"
#include <dlfcn.h>

/* Functions that not every glibc has. */
static void (*sized_free)(void *, size_t);

static void place(struct worker *worker, void *at, size_t bytes, size_t alignment)
{
    CHECK(at != NULL && (uintptr_t)at % alignment == 0);
    size_t usable = malloc_usable_size(at);
    CHECK(usable >= bytes);
    /* Some programs use all that there is. */
    struct block *slot = empty_slot(worker);
    adopt(worker, slot, at, below(worker, 8) == 0 ? usable : bytes);
}

static size_t some_alignment(struct worker *worker)
{
    /* Up to 4 MiB, more often of pages and below. */
    return (size_t)8 << below(worker, below(worker, 4) == 0 ? 20 : 10);
}

void op_malloc(struct worker *worker)
{
    size_t bytes = within_budget(worker, some_bytes(worker));
    place(worker, malloc(unknown(bytes)), bytes, 16);
}

void op_calloc(struct worker *worker)
{
    size_t bytes = within_budget(worker, some_bytes(worker)), each = 1 + below(worker, 64);
    size_t count = below(worker, 2) ? bytes / each : 1;
    each = count == 1 ? bytes : each;
    unsigned char *at = calloc(unknown(count), unknown(each));
    CHECK(at != NULL);
    check_zero(worker, at, count * each);
    place(worker, at, count * each, 16);
}

void op_memalign(struct worker *worker)
{
    size_t bytes = within_budget(worker, some_bytes(worker)), alignment = some_alignment(worker);
    /* glibc rounds odd ones up. */
    if (below(worker, 8) == 0 && alignment > 16)
        place(worker, memalign(unknown(alignment - 7), bytes), bytes, alignment);
    else
        place(worker, memalign(unknown(alignment), bytes), bytes, alignment);
}

void op_posix_memalign(struct worker *worker)
{
    size_t bytes = within_budget(worker, some_bytes(worker)), alignment = some_alignment(worker);
    void *at = NULL;
    CHECK(posix_memalign(&at, unknown(alignment), bytes) == 0);
    place(worker, at, bytes, alignment);
}

void op_aligned_alloc(struct worker *worker)
{
    size_t bytes = within_budget(worker, some_bytes(worker)), alignment = some_alignment(worker);
    place(worker, aligned_alloc(unknown(alignment), bytes), bytes, alignment);
}

void op_valloc(struct worker *worker)
{
    size_t bytes = within_budget(worker, some_bytes(worker));
    if (below(worker, 2)) {
        place(worker, valloc(unknown(bytes)), bytes, PAGE);
        return;
    }
    void *at = pvalloc(unknown(bytes));
    CHECK(malloc_usable_size(at) >= (bytes + PAGE - 1) / PAGE * PAGE);
    place(worker, at, bytes, PAGE);
}

/* The block has a new size and perhaps a new place; what it held before is checked. */
static void resized(struct worker *worker, struct block *slot, void *at, size_t bytes)
{
    CHECK(at != NULL && (uintptr_t)at % 16 == 0 && malloc_usable_size(at) >= bytes);
    size_t kept = slot->bytes < bytes ? slot->bytes : bytes;
    slot->at = at;
    check_prefix(slot, kept, kept == slot->bytes);
    worker->live_bytes += bytes - slot->bytes;
    slot->bytes = bytes;
    mark_range(slot, kept, bytes);
}

static size_t other_bytes(struct worker *worker, const struct block *slot)
{
    size_t now = slot->bytes, bytes;
    switch (below(worker, 6)) {
    case 0:
        bytes = now + now / 2;
        break;
    case 1:
        bytes = now + 1 + below(worker, worker->is_quick ? MIB : 3 * MIB);
        break;
    case 2:
        bytes = now / 2 + 1;
        break;
    case 3:
        bytes = now + 1 > 17 ? now - below(worker, 17) : now + 1;
        break;
    default:
        bytes = some_bytes(worker);
    }
    if (bytes > options.largest || bytes == 0)
        bytes = 1 + below(worker, 3 * MIB);
    size_t allowed = within_budget(worker, bytes > now ? bytes - now : 0);
    return bytes > now ? now + allowed : bytes;
}

void op_realloc(struct worker *worker)
{
    struct block *slot = some_block(worker);
    if (slot == NULL || below(worker, 16) == 0) {
        size_t bytes = within_budget(worker, some_bytes(worker));
        place(worker, realloc(NULL, unknown(bytes)), bytes, 16);
        return;
    }
    leave_special(worker, slot);
    check_block(slot);
    if (below(worker, 32) == 0) {
        CHECK(realloc(slot->at, unknown(0)) == NULL);
        forget(worker, slot);
        return;
    }
    size_t bytes = other_bytes(worker, slot);
    resized(worker, slot, realloc(slot->at, unknown(bytes)), bytes);
}

static struct block *largest(struct worker *worker, const struct block *but)
{
    struct block *found = NULL;
    for (size_t i = 0; i < SLOTS; i++)
        if (&worker->slots[i] != but && (found == NULL || worker->slots[i].bytes > found->bytes))
            found = &worker->slots[i];
    return found->at != NULL ? found : NULL;
}

/* Two blocks that grow in turn stand in each other's way, and so move again and again, with all they became. */
void op_grow(struct worker *worker)
{
    struct block *pair[2] = {largest(worker, NULL)};
    if (pair[0] == NULL || (pair[1] = largest(worker, pair[0])) == NULL)
        return;
    for (size_t round = 2 + below(worker, 5); round > 0; round--) {
        struct block *slot = pair[round % 2];
        leave_special(worker, slot);
        check_block(slot);
        size_t more = slot->bytes / 2 + 1 + below(worker, MIB);
        if (slot->bytes + more > options.largest || within_budget(worker, more) < more)
            return;
        resized(worker, slot, realloc(slot->at, unknown(slot->bytes + more)), slot->bytes + more);
    }
}

void op_reallocarray(struct worker *worker)
{
    struct block *slot = some_block(worker);
    if (slot == NULL)
        return;
    leave_special(worker, slot);
    check_block(slot);
    size_t each = 1 + below(worker, 48), count = other_bytes(worker, slot) / each + 1;
    resized(worker, slot, reallocarray(slot->at, unknown(count), unknown(each)), count * each);
}

void op_free(struct worker *worker)
{
    struct block *slot = some_block(worker);
    if (slot == NULL) {
        free(NULL);
        return;
    }
    drop(worker, slot);
}

void op_free_sized(struct worker *worker)
{
    /* C23; where glibc lacks it a program that uses it has it from elsewhere. */
    sized_free = sized_free ? sized_free : (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    struct block *slot = some_block(worker);
    if (slot == NULL || sized_free == NULL)
        return;
    check_block(slot);
    sized_free(slot->at, slot->bytes);
    forget(worker, slot);
}

void op_usable(struct worker *worker)
{
    CHECK(malloc_usable_size(NULL) == 0);
    struct block *slot = some_block(worker);
    if (slot != NULL)
        CHECK(malloc_usable_size(slot->at) >= slot->bytes);
}

void op_check(struct worker *worker)
{
    struct block *slot = some_block(worker);
    if (slot != NULL)
        check_block(slot);
}

void op_rewrite(struct worker *worker)
{
    struct block *slot = some_block(worker);
    if (slot == NULL)
        return;
    check_block(slot);
    slot->seed = next(worker);
    mark(slot);
}

/* What cannot be had is refused, and nothing else happens. */
void op_refused(struct worker *worker)
{
    static const size_t absurd[] = {SIZE_MAX, SIZE_MAX - 8, SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1, SIZE_MAX / 2 + 2 * MIB};
    size_t bytes = absurd[below(worker, 5)];
    void *kept = &kept, *at = kept;
    errno = 0;
    switch (below(worker, 8)) {
    case 0:
        CHECK(malloc(unknown(bytes)) == NULL && errno == ENOMEM);
        break;
    case 1:
        CHECK(calloc(unknown(bytes), 1) == NULL && errno == ENOMEM);
        break;
    case 2:
        CHECK(calloc(unknown(SIZE_MAX / MIB), 2 * MIB) == NULL && errno == ENOMEM);
        break;
    case 3:
        CHECK(memalign(64, unknown(bytes)) == NULL && errno == ENOMEM);
        break;
    case 4:
        CHECK(posix_memalign(&at, 64, unknown(bytes)) == ENOMEM && at == kept && errno == ENOMEM);
        break;
    case 5:
        CHECK(posix_memalign(&at, unknown(24), 2 * MIB) == EINVAL && at == kept && errno == 0);
        break;
    case 6:
        CHECK(pvalloc(unknown(SIZE_MAX - 16)) == NULL && errno == ENOMEM);
        break;
    case 7:;
        struct block *slot = some_block(worker);
        if (slot == NULL)
            break;
        if (below(worker, 2))
            CHECK(realloc(slot->at, unknown(bytes)) == NULL && errno == ENOMEM);
        else
            CHECK(reallocarray(slot->at, unknown(SIZE_MAX / MIB), 2 * MIB) == NULL && errno == ENOMEM);
        check_block(slot);
    }
}

/* Blocks of no bytes are blocks. */
void op_zero(struct worker *worker)
{
    void *at[4] = {malloc(unknown(0)), calloc(unknown(0), MIB), realloc(NULL, unknown(0)), memalign(64, unknown(0))};
    (void)worker;
    for (int i = 0; i < 4; i++) {
        CHECK(at[i] != NULL);
        for (int j = 0; j < i; j++)
            CHECK(at[i] != at[j]);
    }
    for (int i = 0; i < 4; i++)
        free(at[i]);
}
