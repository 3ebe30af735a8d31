/* What a program may do to whole pages of its own blocks: changed and put back, changed and freed, changed for long.
 *
 * Without us glibc maps and unmaps each of these blocks by itself (see SURELY_MAPPED_BYTES), so that whatever was done to
 * its pages ends with it, and the next block is as new. */
#include "torture.h"
#include <linux/mempolicy.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#ifndef MADV_COLD
#define MADV_COLD 20
#define MADV_PAGEOUT 21
#endif
enum { GUARD_INSTALL = 102 };

/* Blocks are overlaid with pages of a file, which nobody writes. */
static int overlay = -1;
static const size_t OVERLAY_BYTES = 4 * MIB;
static size_t locked_bytes;
/* With a choice of pages that are reserved and large, the kernel refuses some of it. */
static int is_refusable;

static unsigned char overlay_byte(size_t at)
{
    return (unsigned char)(at / PAGE * 11 + 3);
}

void begin_mappings(void)
{
    is_refusable = options.unit > PAGE;
    overlay = memfd_create("torture-overlay", 0);
    CHECK(overlay >= 0 && ftruncate(overlay, (off_t)OVERLAY_BYTES) == 0);
    unsigned char page[PAGE];
    for (size_t at = 0; at < OVERLAY_BYTES; at += PAGE) {
        memset(page, overlay_byte(at), PAGE);
        CHECK(pwrite(overlay, page, PAGE, (off_t)at) == PAGE);
    }
    locked_bytes = proc_bytes("/proc/self/status", "VmLck:");
}

/* Nobody wrote into the file through a block that has its place. */
static void check_overlay(void)
{
    unsigned char page[PAGE];
    for (size_t at = 0; at < OVERLAY_BYTES; at += PAGE) {
        CHECK(pread(overlay, page, PAGE, (off_t)at) == PAGE);
        CHECK(is_all(page, PAGE, overlay_byte(at)));
    }
}

/* What was locked is not any more. */
void end_mappings(void)
{
    check_overlay();
    CHECK(proc_bytes("/proc/self/status", "VmLck:") == locked_bytes);
}

static struct part some_part(struct worker *worker, const struct block *block)
{
    uintptr_t unit = options.unit;
    uintptr_t from = ((uintptr_t)block->at + unit - 1) / unit * unit;
    uintptr_t to = ((uintptr_t)block->at + block->bytes) / unit * unit;
    if (from >= to)
        return (struct part){NULL, 0};
    size_t units = (to - from) / unit, first = 0, count = units;
    switch (below(worker, 4)) {
    case 0:
        count = 1;
        break;
    case 1:
        first = units - 1, count = 1;
        break;
    case 2:
        first = below(worker, units), count = 1 + below(worker, units - first);
    }
    return (struct part){(unsigned char *)from + first * unit, count * unit};
}

/* A block that glibc surely maps for itself, with a part of it; made if there is none. */
static struct block *changeable(struct worker *worker, struct part *part)
{
    struct block *block = NULL;
    size_t first = below(worker, SLOTS);
    for (size_t i = 0; i < SLOTS && block == NULL; i++) {
        struct block *slot = &worker->slots[(first + i) % SLOTS];
        if (slot->at != NULL && slot->bytes >= SURELY_MAPPED_BYTES && slot->special == PLAIN)
            block = slot;
    }
    if (block == NULL || below(worker, 2)) {
        size_t bytes = within_budget(worker, SURELY_MAPPED_BYTES + below(worker, 4 * MIB) + options.unit);
        if (bytes < SURELY_MAPPED_BYTES)
            return NULL;
        block = empty_slot(worker);
        adopt(worker, block, below(worker, 2) ? malloc(bytes) : aligned_alloc(options.unit, bytes), bytes);
    }
    *part = some_part(worker, block);
    check_block(block);
    return part->bytes > 0 ? block : NULL;
}

void change_part(struct worker *worker, void (*change)(struct worker *, struct block *, struct part))
{
    struct part part;
    struct block *block = changeable(worker, &part);
    if (block != NULL)
        change(worker, block, part);
}

/* By the function of C, or by the system call, as runtimes inside a program do. */
static int protect(struct worker *worker, struct part part, int protection)
{
    return below(worker, 2) ? mprotect(part.at, part.bytes, protection)
                            : (int)syscall(SYS_mprotect, part.at, part.bytes, protection);
}

static int advise(struct worker *worker, struct part part, int advice)
{
    return below(worker, 2) ? madvise(part.at, part.bytes, advice)
                            : (int)syscall(SYS_madvise, part.at, part.bytes, advice);
}

static void map_over(struct worker *worker, struct part part, int protection, int flags, int file)
{
    void *at;
    if (below(worker, 2))
        at = mmap(part.at, part.bytes, protection, flags | MAP_FIXED, file, 0);
    else
        at = (void *)syscall(SYS_mmap, part.at, part.bytes, protection, flags | MAP_FIXED, file, 0L);
    CHECK(at == part.at);
}

static void set_policy(struct part part, int mode, unsigned long nodes)
{
    long answer = syscall(SYS_mbind, part.at, part.bytes, mode, nodes ? &nodes : NULL, nodes ? 64L : 0L, 0L);
    CHECK(answer == 0 || errno == ENOSYS || errno == EPERM || errno == EINVAL);
}

/* The part is zero now. */
static void emptied(struct worker *worker, struct block *block, struct part part)
{
    size_t from = (size_t)(part.at - block->at);
    check_zero(worker, part.at, part.bytes);
    mark_range(block, from, from + part.bytes);
    check_block(block);
}

static struct part one_unit(struct part part)
{
    return (struct part){part.at, options.unit};
}

/* Changed and put back: whole again is what the block must be. */

void op_alter_protection(struct worker *worker, struct block *block, struct part part)
{
    int protection = below(worker, 2) ? PROT_READ : PROT_NONE;
    CHECK(protect(worker, part, protection) == 0);
    if (protection == PROT_READ)
        check_block(block);
    CHECK(protect(worker, part, PROT_READ | PROT_WRITE) == 0);
    check_block(block);
    mark(block);
}

void op_alter_contents(struct worker *worker, struct block *block, struct part part)
{
    size_t from = (size_t)(part.at - block->at);
    int advice = below(worker, 2) ? MADV_DONTNEED : MADV_FREE;
    if (advise(worker, part, advice) != 0)
        CHECK(is_refusable);
    else if (advice == MADV_DONTNEED)
        emptied(worker, block, part);
    else
        mark_range(block, from, from + part.bytes);
    check_block(block);
}

void op_alter_advice(struct worker *worker, struct block *block, struct part part)
{
    static const int advices[] = {MADV_NOHUGEPAGE, MADV_HUGEPAGE, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTDUMP,
                                  MADV_DODUMP,     MADV_NORMAL,   MADV_COLD,   MADV_PAGEOUT,    MADV_DONTFORK};
    int advice = advices[below(worker, 11)];
    CHECK(advise(worker, part, advice) == 0 || errno == EINVAL);
    if (advice == MADV_DONTFORK)
        CHECK(advise(worker, part, MADV_DOFORK) == 0);
    check_block(block);
}

void op_alter_mapping(struct worker *worker, struct block *block, struct part part)
{
    if (below(worker, 2)) {
        map_over(worker, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        emptied(worker, block, part);
        return;
    }
    /* Pages that were made elsewhere are moved in. */
    part = one_unit(part);
    size_t from = (size_t)(part.at - block->at);
    unsigned char *made = mmap(NULL, part.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(made != MAP_FAILED);
    memset(made, 0xee, part.bytes);
    CHECK(mremap(made, part.bytes, part.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, part.at) == part.at);
    CHECK(is_all(part.at, part.bytes, 0xee));
    mark_range(block, from, from + part.bytes);
    check_block(block);
}

void op_alter_policy(struct worker *worker, struct block *block, struct part part)
{
    set_policy(part, below(worker, 2) ? MPOL_BIND : MPOL_PREFERRED, 1);
    if (below(worker, 2))
        set_policy(part, MPOL_DEFAULT, 0);
    check_block(block);
}

void op_alter_lock(struct worker *worker, struct block *block, struct part part)
{
    (void)worker;
    part = one_unit(part);
    if (mlock(part.at, part.bytes) == 0)
        CHECK(munlock(part.at, part.bytes) == 0);
    check_block(block);
}

/* One page away and back. While it is away there is a hole, which another thread's mapping could take. */
void op_alter_hole(struct worker *worker, struct block *block, struct part part)
{
    if (below(worker, 2) || is_refusable) {
        CHECK(munmap(part.at, part.bytes) == 0);
        map_over(worker, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        emptied(worker, block, part);
        return;
    }
    part = one_unit(part);
    void *away = mmap(NULL, part.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mremap(part.at, part.bytes, part.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, away) == away);
    CHECK(mremap(away, part.bytes, part.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, part.at) == part.at);
    check_block(block);
}

static long user_faults(struct worker *worker, int handle, unsigned long request, void *argument)
{
    return below(worker, 2) ? ioctl(handle, request, argument) : syscall(SYS_ioctl, handle, request, argument);
}

/* From now on a handle is asked for the pages that are missing from a part, or told of writes to it; -1 where the kernel
 * offers neither. Then the part is as it was. */
static int watch_faults(struct worker *worker, struct part part)
{
    int mode = below(worker, 2) ? UFFDIO_REGISTER_MODE_MISSING : UFFDIO_REGISTER_MODE_WP;
    long handle = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (handle < 0) {
        CHECK(errno == ENOSYS || errno == EPERM);
        return -1;
    }
    struct uffdio_api interface = {.api = UFFD_API};
    if (mode == UFFDIO_REGISTER_MODE_WP)
        interface.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP;
    struct uffdio_range range = {.start = (uintptr_t)part.at, .len = part.bytes};
    struct uffdio_register registered = {.range = range, .mode = (unsigned)mode};
    if (ioctl((int)handle, UFFDIO_API, &interface) != 0 ||
        user_faults(worker, (int)handle, UFFDIO_REGISTER, &registered) != 0) {
        CHECK(errno == EINVAL && (mode == UFFDIO_REGISTER_MODE_WP || is_refusable) && close((int)handle) == 0);
        return -1;
    }
    if (mode == UFFDIO_REGISTER_MODE_WP) {
        /* Older kernels want a range inside one mapping here, and blocks may be several (docs/safety.md). */
        struct uffdio_range inside = {.start = range.start, .len = one_unit(part).bytes};
        struct uffdio_writeprotect protected = {.range = inside, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
        CHECK(ioctl((int)handle, UFFDIO_WRITEPROTECT, &protected) == 0);
    }
    return (int)handle;
}

void op_alter_faults(struct worker *worker, struct block *block, struct part part)
{
    int handle = watch_faults(worker, part);
    if (handle < 0)
        return;
    struct uffdio_range range = {.start = (uintptr_t)part.at, .len = part.bytes};
    CHECK(user_faults(worker, handle, UFFDIO_UNREGISTER, &range) == 0 && close(handle) == 0);
    check_block(block);
    mark(block);
}

/* Changed, and freed so. The next of the kind is likely to come where this one was. */
static void leave(struct worker *worker, struct block *block)
{
    free(block->at);
    forget(worker, block);
    size_t bytes = SURELY_MAPPED_BYTES + below(worker, 2 * MIB);
    if (within_budget(worker, bytes) < bytes)
        return;
    int zeroed = (int)below(worker, 2);
    unsigned char *at = zeroed ? calloc(1, unknown(bytes)) : malloc(unknown(bytes));
    CHECK(at != NULL);
    if (zeroed)
        check_zero(worker, at, bytes);
    adopt(worker, empty_slot(worker), at, bytes);
}

void op_leave_protection(struct worker *worker, struct block *block, struct part part)
{
    CHECK(protect(worker, part, below(worker, 2) ? PROT_NONE : PROT_READ) == 0);
    leave(worker, block);
}

void op_leave_mapping(struct worker *worker, struct block *block, struct part part)
{
    switch (below(worker, 3)) {
    case 0:
        map_over(worker, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        break;
    case 1:
        map_over(worker, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
        break;
    default:
        map_over(worker, part, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    }
    leave(worker, block);
}

void op_leave_file(struct worker *worker, struct block *block, struct part part)
{
    if (part.bytes > OVERLAY_BYTES)
        part = one_unit(part);
    map_over(worker, part, PROT_READ | PROT_WRITE, MAP_SHARED, overlay);
    CHECK(is_all(part.at, PAGE, overlay_byte(0)));
    leave(worker, block);
    check_overlay();
}

void op_leave_advice(struct worker *worker, struct block *block, struct part part)
{
    static const int advices[] = {MADV_DONTFORK, MADV_WIPEONFORK, MADV_DONTDUMP, MADV_NOHUGEPAGE, MADV_DONTNEED,
                                  MADV_FREE,     MADV_SEQUENTIAL, MADV_RANDOM,   MADV_MERGEABLE};
    CHECK(advise(worker, part, advices[below(worker, 9)]) == 0 || errno == EINVAL);
    leave(worker, block);
}

/* Guard pages are new in Linux 6.13. */
void op_leave_guard(struct worker *worker, struct block *block, struct part part)
{
    CHECK(advise(worker, part, GUARD_INSTALL) == 0 || errno == EINVAL);
    leave(worker, block);
}

void op_leave_lock(struct worker *worker, struct block *block, struct part part)
{
    part = one_unit(part);
    CHECK(mlock(part.at, part.bytes) == 0 || errno == ENOMEM || errno == EPERM);
    leave(worker, block);
}

void op_leave_policy(struct worker *worker, struct block *block, struct part part)
{
    set_policy(part, MPOL_BIND, 1);
    leave(worker, block);
}

void op_leave_hole(struct worker *worker, struct block *block, struct part part)
{
    if (below(worker, 2) || is_refusable) {
        CHECK(munmap(part.at, part.bytes) == 0);
    } else {
        part = one_unit(part);
        void *away = mmap(NULL, part.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(mremap(part.at, part.bytes, part.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, away) == away);
        CHECK(munmap(away, part.bytes) == 0);
    }
    leave(worker, block);
}

/* Whoever touches a missing page of it waits for the handle, for ever. */
void op_leave_faults(struct worker *worker, struct block *block, struct part part)
{
    int handle = watch_faults(worker, part);
    if (handle < 0)
        return;
    if (below(worker, 2))
        CHECK(advise(worker, part, MADV_DONTNEED) == 0);
    leave(worker, block);
    CHECK(close(handle) == 0);
}

/* Other processes' memory, too: it stays what it was when the block is freed. */
void op_leave_segment(struct worker *worker, struct block *block, struct part part)
{
    int segment = shmget(IPC_PRIVATE, part.bytes, IPC_CREAT | 0600);
    if (segment < 0) {
        CHECK(errno == ENOSYS || errno == ENOSPC);
        return;
    }
    void *at = below(worker, 2) ? shmat(segment, part.at, SHM_REMAP)
                                : (void *)syscall(SYS_shmat, segment, part.at, (long)SHM_REMAP);
    unsigned char *elsewhere = shmat(segment, NULL, 0);
    CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
    CHECK(at == part.at && elsewhere != (void *)-1);
    memset(part.at, 0x5e, part.bytes);
    leave(worker, block);
    CHECK(is_all(elsewhere, part.bytes, 0x5e) && shmdt(elsewhere) == 0);
}

/* Changed for as long as the block lives, in a way that children of a fork feel. */
static void set_special(struct block *block, struct part part, enum special special)
{
    block->special = special;
    block->from = part.at;
    block->length = part.bytes;
}

void op_not_in_children(struct worker *worker, struct block *block, struct part part)
{
    CHECK(advise(worker, part, MADV_DONTFORK) == 0);
    set_special(block, part, NOT_IN_CHILDREN);
}

void op_wiped_in_children(struct worker *worker, struct block *block, struct part part)
{
    if (advise(worker, part, MADV_WIPEONFORK) == 0)
        set_special(block, part, WIPED_IN_CHILDREN);
    else
        CHECK(is_refusable);
}

void op_shared_with_children(struct worker *worker, struct block *block, struct part part)
{
    map_over(worker, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    emptied(worker, block, part);
    set_special(block, part, SHARED_WITH_CHILDREN);
}

/* Before it is resized, a block becomes an ordinary one again; what is shared stays so. */
void leave_special(struct worker *worker, struct block *block)
{
    struct part part = {block->from, block->length};
    if (block->special == NOT_IN_CHILDREN)
        CHECK(advise(worker, part, MADV_DOFORK) == 0);
    if (block->special == WIPED_IN_CHILDREN)
        CHECK(advise(worker, part, MADV_KEEPONFORK) == 0);
    if (block->special != SHARED_WITH_CHILDREN)
        block->special = PLAIN;
}

/* What a child finds, and then frees: it has its parts of these blocks as little as its parent's. */
void enter_child(struct worker *worker)
{
    for (size_t i = 0; i < SLOTS; i++) {
        struct block *block = &worker->slots[i];
        if (block->at == NULL || block->special == PLAIN)
            continue;
        if (block->special == WIPED_IN_CHILDREN) {
            size_t from = (size_t)(block->from - block->at);
            check_zero(worker, block->from, block->length);
            mark_range(block, from, from + block->length);
            check_block(block);
        }
        free(block->at);
        forget(worker, block);
    }
}
