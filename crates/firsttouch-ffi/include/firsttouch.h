/* libfirsttouch: huge pages inside a running session, regions of memory with receipts, fills in the background, teams of
 * bound threads. Made of the functions themselves by cbindgen; see docs/authors.md. */

#ifndef FIRSTTOUCH_H
#define FIRSTTOUCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 What stands for a number of bytes that is not known.
 */
#define FIRSTTOUCH_UNKNOWN_BYTES UINT64_MAX

/*
 Nodes that a receipt tells apart.
 */
#define FIRSTTOUCH_NODES 16

/*
 The memory is read as soon as it is filled, so it is best filled through the caches.
 */
#define FIRSTTOUCH_FILL_READ_NEXT 1

/*
 All of the memory is private and anonymous, as `firsttouch_region_map` and mmap(2) with `MAP_PRIVATE | MAP_ANONYMOUS`
 make it: pages that do not exist yet come into being as zeroes, and need not be cleared a second time.
 */
#define FIRSTTOUCH_FILL_ANONYMOUS 2

/*
 What a call answers.
 */
enum firsttouch_result
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   Done.
   */
  FIRSTTOUCH_RESULT_OK = 0,
  /*
   A pointer that must not be null is null, a range is empty or overlaps another, or a value is none that is known.
   */
  FIRSTTOUCH_RESULT_BAD_ARGUMENT = 1,
  /*
   No kind of pages has this name.
   */
  FIRSTTOUCH_RESULT_BAD_PAGES = 2,
  /*
   The kernel maps no such memory; errno says why.
   */
  FIRSTTOUCH_RESULT_NO_MEMORY = 3,
  /*
   The kernel does not bind memory to this node; errno says why.
   */
  FIRSTTOUCH_RESULT_NO_NODE = 4,
  /*
   The pages could not be created; errno says why.
   */
  FIRSTTOUCH_RESULT_NOT_CREATED = 5,
  /*
   Allocations of this process cannot be redirected.
   */
  FIRSTTOUCH_RESULT_UNSUPPORTED = 6,
  /*
   Placed blocks are live, so the redirection stays.
   */
  FIRSTTOUCH_RESULT_BUSY = 7,
  /*
   There is no room for another chosen library.
   */
  FIRSTTOUCH_RESULT_TOO_MANY = 8,
  /*
   The team is at work: another thread, or the work itself, has called it.
   */
  FIRSTTOUCH_RESULT_IN_USE = 9,
  /*
   It belongs to the process that made it, and this is a forked child, which has none of its threads.
   */
  FIRSTTOUCH_RESULT_OTHER_PROCESS = 10,
  /*
   A thread cannot be bound to this CPU; errno says why.
   */
  FIRSTTOUCH_RESULT_NO_CPU = 11,
  /*
   The machine has no room for these groups.
   */
  FIRSTTOUCH_RESULT_NO_ROOM = 12,
  /*
   A thread cannot be started; errno says why.
   */
  FIRSTTOUCH_RESULT_NO_THREAD = 13,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum firsttouch_result firsttouch_result;
#else
typedef int32_t firsttouch_result;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 Who places the blocks of a process.
 */
enum firsttouch_via
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   Nobody yet.
   */
  FIRSTTOUCH_VIA_NOTHING = 0,
  /*
   The agent, which was preloaded by `firsttouch run`.
   */
  FIRSTTOUCH_VIA_AGENT = 1,
  /*
   This library: calls of C's allocation functions are redirected to it.
   */
  FIRSTTOUCH_VIA_REDIRECTION = 2,
  /*
   Another copy of this library in the same process.
   */
  FIRSTTOUCH_VIA_OTHER_COPY = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum firsttouch_via firsttouch_via;
#else
typedef uint32_t firsttouch_via;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 How a range is cut, and who gets which part.
 */
enum firsttouch_schedule
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   Parts of so many elements, in turn over the members; with a part of 0 one for each member, all of the same length but
   for one element.
   */
  FIRSTTOUCH_SCHEDULE_STATIC = 0,
  /*
   Parts of so many elements, at least 1, to whoever asks next: for work of which nobody knows how long it takes.
   */
  FIRSTTOUCH_SCHEDULE_DYNAMIC = 1,
  /*
   To whoever asks next a share of what is left, one part in as many as there are members, but not fewer than so many
   elements.
   */
  FIRSTTOUCH_SCHEDULE_GUIDED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum firsttouch_schedule firsttouch_schedule;
#else
typedef uint32_t firsttouch_schedule;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 A fill under way, or ended. Used by one thread at a time.
 */
typedef struct firsttouch_fill firsttouch_fill;

/*
 Threads that fill memory for everybody in the process. Its functions may be called from any thread.
 */
typedef struct firsttouch_filler firsttouch_filler;

/*
 Regions that are all zero and can be taken at once. Its functions may be called from any thread.
 */
typedef struct firsttouch_pool firsttouch_pool;

/*
 A region. Its functions may be called from any thread, but `firsttouch_region_free` only when nobody uses it any more.
 */
typedef struct firsttouch_region firsttouch_region;

/*
 Threads bound to CPUs. Its functions may be called from any thread, but only one piece of work is done at a time.
 */
typedef struct firsttouch_team firsttouch_team;

/*
 How a session stands. Sizes are bytes.
 */
typedef struct firsttouch_session {
  /*
   1 if huge pages can be had by this process.
   */
  uint32_t support;
  /*
   1 if large allocations are placed now.
   */
  uint32_t enabled;
  /*
   Who places them, a `firsttouch_via`.
   */
  uint32_t via;
  /*
   Places in loaded programs and libraries that lead to this library; 0 with the agent.
   */
  uint32_t redirected_slots;
  /*
   Loaded programs and libraries that have such places.
   */
  uint32_t redirected_objects;
  /*
   Of these, chosen ones, whose allocations are placed.
   */
  uint32_t chosen_objects;
  /*
   Size of the pages asked for.
   */
  uint64_t page_bytes;
  /*
   Smallest allocation that is placed.
   */
  uint64_t min_bytes;
  /*
   Largest allocation that is placed.
   */
  uint64_t max_bytes;
  /*
   Bytes in live placed blocks.
   */
  uint64_t live_bytes;
  /*
   Live placed blocks.
   */
  uint64_t live_blocks;
  /*
   The most bytes in placed blocks at any time.
   */
  uint64_t peak_bytes;
  /*
   Blocks placed over the life of the process.
   */
  uint64_t placed_blocks;
  /*
   Bytes served from recycled memory over the life of the process.
   */
  uint64_t recycled_bytes;
  /*
   Freed bytes held for reuse.
   */
  uint64_t held_bytes;
  /*
   Why huge pages cannot be had, one word of the list of reasons; null where they can.
   */
  const char *reason;
  /*
   One line that mends it; null where nothing needs to.
   */
  const char *remedy;
} firsttouch_session;

/*
 A live placed block.
 */
typedef struct firsttouch_block {
  /*
   Running number in the process, from 1.
   */
  uint64_t id;
  /*
   Address of the first byte.
   */
  uint64_t address;
  /*
   Bytes that were asked for.
   */
  uint64_t bytes;
  /*
   Of these, bytes on huge pages now; `FIRSTTOUCH_UNKNOWN_BYTES` where the kernel does not tell (before Linux 6.7).
   */
  uint64_t huge_bytes;
} firsttouch_block;

/*
 What a range of memory has obtained.
 */
typedef struct firsttouch_receipt {
  /*
   Bytes that were looked at: whole pages.
   */
  uint64_t bytes;
  /*
   Size of the huge pages of that memory: 2 MiB or 1 GiB.
   */
  uint64_t page_bytes;
  /*
   Bytes on huge pages.
   */
  uint64_t huge_bytes;
  /*
   Bytes on smaller pages.
   */
  uint64_t small_bytes;
  /*
   Bytes without a page, because nobody wrote them yet.
   */
  uint64_t untouched_bytes;
  /*
   1 if the kernel told; 0 if these three could not be read (before Linux 6.7 it tells of whole mappings only).
   */
  uint32_t known;
  /*
   Nodes that hold some of it, at most 16 are told; 0 if the kernel does not say.
   */
  uint32_t nodes;
  /*
   Their numbers.
   */
  uint32_t node[FIRSTTOUCH_NODES];
  /*
   The bytes that each holds.
   */
  uint64_t node_bytes[FIRSTTOUCH_NODES];
  /*
   Why pages are smaller than asked for, one word of the list of reasons; null if they are not.
   */
  const char *reason;
  /*
   One line that mends it; null without a reason.
   */
  const char *remedy;
} firsttouch_receipt;

/*
 What a filler knows of the machine by now: threads and their rates are learnt anew from large fills. Rates are bytes per
 second.
 */
typedef struct firsttouch_knowledge {
  /*
   Threads of each node that are used for memory that exists: one more would add less than a fifth.
   */
  uint32_t threads_in_place;
  /*
   The same for memory whose pages have to be created, which is the kernel's work.
   */
  uint32_t threads_new;
  /*
   Rate with so many threads on memory that exists.
   */
  double in_place_bytes_per_s;
  /*
   The same on new memory.
   */
  double new_bytes_per_s;
  /*
   The best rate of one thread over memory in no cache.
   */
  double store_bytes_per_s;
  /*
   Seconds from handing work over to a thread that sleeps until it is done, beyond the work itself.
   */
  double wake_s;
  /*
   Memory of so many bytes is filled past the caches; `UINT64_MAX` if none is.
   */
  uint64_t past_caches_from_bytes;
  /*
   The same if it is read next.
   */
  uint64_t read_past_caches_from_bytes;
} firsttouch_knowledge;

/*
 A range of memory.
 */
typedef struct firsttouch_range {
  /*
   Its first byte.
   */
  void *address;
  /*
   How many there are.
   */
  uint64_t bytes;
} firsttouch_range;

/*
 What a pool holds, and how much of it.
 */
typedef struct firsttouch_stock {
  /*
   Size of each region, rounded up to whole pages.
   */
  uint64_t region_bytes;
  /*
   The kind of pages, as for `firsttouch_region_map`.
   */
  const char *pages;
  /*
   The node to take memory from; -1 is anywhere.
   */
  int32_t node;
  /*
   Regions that are kept ready.
   */
  uint32_t ready;
  /*
   Regions that are kept at most, ready or waiting to be cleared; others that are given back are unmapped.
   */
  uint32_t most;
  /*
   Regions beyond `ready` are unmapped when none was taken for so many nanoseconds. `UINT64_MAX` keeps them, as befits a
   virtual machine whose host takes freed memory back (`firsttouch status` tells: free page reporting).
   */
  uint64_t keep_ns;
} firsttouch_stock;

/*
 One thread of a team, while it works: where it belongs.
 */
typedef struct firsttouch_member {
  /*
   Which of the team, from 0.
   */
  uint32_t index;
  /*
   Members of the team.
   */
  uint32_t team_size;
  /*
   The group it belongs to, from 0.
   */
  uint32_t group;
  /*
   Which of its group, from 0.
   */
  uint32_t index_in_group;
  /*
   Members of its group.
   */
  uint32_t group_size;
  /*
   The CPU it is bound to.
   */
  uint32_t cpu;
  /*
   For the library.
   */
  const void *inside;
} firsttouch_member;

/*
 Work of a member. It may call barriers, and anything else of this library; what it asks of its own team is answered `FIRSTTOUCH_RESULT_IN_USE`.
 It must come back by returning. A C++ exception that leaves it, pthread_exit(3) and thread cancellation end the process, because the other
 members, and the caller, would wait for it for ever; a longjmp(3) to before it has no meaning in C, because it runs
 on another thread than whoever called `firsttouch_team_run`.
 */
typedef void (*firsttouch_work)(const struct firsttouch_member *member, void *data);

/*
 Work on the elements from `begin` to before `end`; otherwise as `firsttouch_work`.
 */
typedef void (*firsttouch_part)(const struct firsttouch_member *member,
                                uint64_t begin,
                                uint64_t end,
                                void *data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 One line that says what a result means. Never null; lives for ever.
 */
const char *firsttouch_message(int32_t result);

/*
 One line that says what would mend it; empty where nothing needs to. Never null; lives for ever.
 */
const char *firsttouch_hint(int32_t result);

/*
 Names libraries whose allocations are to be placed: those whose file name begins with `prefix` (of the program, the
 name of its file), loaded now or later. Several may be named, one call each; without any, and with an empty prefix,
 all are. An agent places what everybody allocates and has no such choice.

 It is up to the caller that:
 `prefix` is a C string.
 */
firsttouch_result firsttouch_ism_choose(const char *prefix);

/*
 Places allocations of `min_bytes` to `max_bytes` on pages of a kind (`"thp" "2m" "1g" "auto" "4k" "64k"` …; null keeps
 the present kind, `"thp"` at first) from now on. May be called again at any time with other values, and should be
 after libraries were loaded.

 It is up to the caller that:
 `pages` is null or a C string.
 */
firsttouch_result firsttouch_ism_on(const char *pages,
                                    uint64_t min_bytes,
                                    uint64_t max_bytes);

/*
 Places nothing from now on; live blocks stay where they are.
 */
void firsttouch_ism_off(void);

/*
 Places nothing from now on, and gives the calls that were redirected back to the process's own functions, if no placed
 block is live; otherwise `FIRSTTOUCH_RESULT_BUSY`: whoever frees such a block must find us. To be called before this library is unloaded.
 Once it has redirected calls its code stays in memory in any case, because another thread may be on its way into it.
 */
firsttouch_result firsttouch_ism_end(void);

/*
 Fills in how the session stands, at most `bytes` bytes of the structure: its size as the caller knows it.

 It is up to the caller that:
 `status` has room for that many bytes.
 */
firsttouch_result firsttouch_ism_status(struct firsttouch_session *status,
                                        size_t bytes);

/*
 Fills `blocks` with at most `room` live placed blocks, in order of address; answers how many there are altogether.

 It is up to the caller that:
 `blocks` has `room` rows; it may be null if that is 0.
 */
size_t firsttouch_ism_list(struct firsttouch_block *blocks,
                           size_t room);

/*
 Gives all memory that is held for reuse back to the kernel.
 */
void firsttouch_ism_trim(void);

/*
 1 if this copy of the library redirects calls now, 0 otherwise. By this the copies that several bindings bring into one
 process agree which one serves it.
 */
int firsttouch_ism_serves(void);

/*
 Reads what any memory of this process has obtained: the whole pages that hold `bytes` bytes at `address`. More than there are
 addresses is `FIRSTTOUCH_RESULT_BAD_ARGUMENT`.

 It is up to the caller that:
 `receipt` is null or the structure; the memory may be anything.
 */
firsttouch_result firsttouch_obtained(const void *address,
                                      uint64_t bytes,
                                      struct firsttouch_receipt *receipt);

/*
 Maps at least `bytes` zeroed bytes on pages of a kind (`"thp" "2m" "1g" "auto" "4k" "64k"` …), rounded up to whole pages.
 Where reserved pages cannot be had, the next smaller kind is taken, and the receipt says why. With a `node` of 0 or more
 the memory comes from that node only; -1 leaves it to the process's policy.

 It is up to the caller that:
 `pages` is a C string, `region` a pointer to be filled: it is set to null on failure.
 */
firsttouch_result firsttouch_region_map(uint64_t bytes,
                                        const char *pages,
                                        int32_t node,
                                        struct firsttouch_region **region);

/*
 Memory with a name, for which whoever starts the program can choose a place: `firsttouch run --object table:2m:prefer=1 --
 PROGRAM`. `places` is what that wrote, `getenv("FIRSTTOUCH_OBJECTS")`; null, as without such a start, is no place for any name. An
 entry of this name says the pages and the nodes; without one the pages are those of `pages`, under the process's policy, as
 `firsttouch_region_map` with -1. Letters, digits, `-`, `_` and `.` make a name; it stands in /proc/PID/maps (Linux 5.17). Several
 regions may have one name.

 It is up to the caller that:
 `name` and `pages` are C strings, `places` one or null, `region` a pointer to be filled: it is set to null on failure.
 */
firsttouch_result firsttouch_region_map_named(const char *name,
                                              uint64_t bytes,
                                              const char *pages,
                                              const char *places,
                                              struct firsttouch_region **region);

/*
 Its first byte; null for null.

 It is up to the caller that:
 Null or a live region.
 */
void *firsttouch_region_address(struct firsttouch_region *region);

/*
 Its size in bytes; 0 for null.

 It is up to the caller that:
 Null or a live region.
 */
uint64_t firsttouch_region_bytes(const struct firsttouch_region *region);

/*
 Creates all pages now, so that their first use costs nothing more.

 It is up to the caller that:
 Null or a live region that nobody else changes meanwhile.
 */
firsttouch_result firsttouch_region_prefault(struct firsttouch_region *region);

/*
 Reads what the region has obtained by now.

 It is up to the caller that:
 `region` is null or a live region, `receipt` null or the structure.
 */
firsttouch_result firsttouch_region_receipt(const struct firsttouch_region *region,
                                            struct firsttouch_receipt *receipt);

/*
 Writes the receipt as JSON into `text`, at most `room` bytes with the zero at the end, and answers how long it is
 without: as snprintf(3) does. The keys are those of the receipts of `firsttouch run`. 0 for null.

 It is up to the caller that:
 `region` is null or a live region; `text` has that much room, and may be null if that is 0.
 */
size_t firsttouch_region_receipt_json(const struct firsttouch_region *region,
                                      char *text,
                                      size_t room);

/*
 Unmaps a region; null is nothing.

 It is up to the caller that:
 Null or a live region that nobody uses any more.
 */
void firsttouch_region_free(struct firsttouch_region *region);

/*
 Starts a thread on each of `count` CPUs, those that come first to be used first; with a `count` of 0, on every CPU that
 the calling thread may run on. They sleep until there is something to fill. Measures for some tenths of a second how fast they
 are, on 128 MiB of memory, or 8 MiB for each thread where that is more. A CPU that a thread cannot be bound to is shared by its thread with others.

 It is up to the caller that:
 `cpus` has that many numbers, and may be null if that is 0; `filler` is a pointer to be filled: it is set to null on
 failure.
 */
firsttouch_result firsttouch_filler_start(const uint32_t *cpus,
                                          size_t count,
                                          struct firsttouch_filler **filler);

/*
 Tells what the filler measured.

 It is up to the caller that:
 `filler` is null or a live filler, `knowledge` null or the structure.
 */
firsttouch_result firsttouch_filler_knowledge(const struct firsttouch_filler *filler,
                                              struct firsttouch_knowledge *knowledge);

/*
 Ends the filler's threads; null is nothing. Fills that are under way are finished by whoever waits for them.

 It is up to the caller that:
 Null or a live filler that nobody uses any more.
 */
void firsttouch_filler_stop(struct firsttouch_filler *filler);

/*
 Begins to fill `count` ranges with a byte, and comes back at once; small ones are filled before it comes back, where
 waking another thread would take longer. `how` is 0, or a sum of `FIRSTTOUCH_FILL_READ_NEXT` and
 `FIRSTTOUCH_FILL_ANONYMOUS`. The array itself may go at once. Ranges of no bytes are allowed, ranges that overlap are
 refused as `FIRSTTOUCH_RESULT_BAD_ARGUMENT`.

 It is up to the caller that:
 `filler` is null or a live filler; `ranges` has that many rows, and may be null if there are none; each is memory that may
 be written, stays mapped, and is neither read nor written by anybody until the fill was waited for, cancelled or freed,
 or `firsttouch_fill_poll` has answered 1; with `FIRSTTOUCH_FILL_ANONYMOUS` it is memory of that kind. `fill` is a pointer to be
 filled: it is set to null on failure.
 */
firsttouch_result firsttouch_fill_begin(const struct firsttouch_filler *filler,
                                        const struct firsttouch_range *ranges,
                                        size_t count,
                                        uint8_t value,
                                        uint32_t how,
                                        struct firsttouch_fill **fill);

/*
 1 if all is filled, 0 otherwise; 0 for null, after a cancel that came before the end, and in a forked child.

 It is up to the caller that:
 Null or a live fill.
 */
int firsttouch_fill_poll(const struct firsttouch_fill *fill);

/*
 Tells how many bytes are filled, and how many were to be. Both pointers may be null.

 It is up to the caller that:
 `fill` is null or a live fill; the others null or numbers to be filled.
 */
firsttouch_result firsttouch_fill_progress(const struct firsttouch_fill *fill,
                                           uint64_t *filled_bytes,
                                           uint64_t *total_bytes);

/*
 Waits for the end at most so many nanoseconds, and does no share of the work; answers as `firsttouch_fill_poll`.

 It is up to the caller that:
 Null or a live fill.
 */
int firsttouch_fill_wait_for(const struct firsttouch_fill *fill,
                             uint64_t nanoseconds);

/*
 Waits for the end, and does a share of the work meanwhile if that makes it faster. `FIRSTTOUCH_RESULT_OK` also when it has ended before.

 It is up to the caller that:
 Null or a live fill.
 */
firsttouch_result firsttouch_fill_wait(struct firsttouch_fill *fill);

/*
 Ends it now: pieces that were begun are finished (a fraction of a millisecond each), no other is begun.
 `firsttouch_fill_filled` tells what is filled; the rest is as it was.

 It is up to the caller that:
 Null or a live fill.
 */
firsttouch_result firsttouch_fill_cancel(struct firsttouch_fill *fill);

/*
 Fills `ranges` with at most `room` ranges of memory that are filled, in the order in which they were handed over; answers
 how many there are altogether. All of it, or after a cancel exactly this. 0 before the fill was waited for or cancelled.

 It is up to the caller that:
 `fill` is null or a live fill; `ranges` has `room` rows, and may be null if that is 0.
 */
size_t firsttouch_fill_filled(const struct firsttouch_fill *fill,
                              struct firsttouch_range *ranges,
                              size_t room);

/*
 Forgets a fill, and cancels it if it is under way; null is nothing.

 It is up to the caller that:
 Null or a live fill that nobody uses any more.
 */
void firsttouch_fill_free(struct firsttouch_fill *fill);

/*
 Starts a pool, which begins to fill in the background, at idle priority. With a `filler`, regions are cleared by the
 means that it has found fastest; it may be null, and may be stopped afterwards.

 It is up to the caller that:
 `stock` is null or the structure, its `pages` null or a C string; `filler` is null or a live filler; `pool` a pointer to be filled: it is
 set to null on failure.
 */
firsttouch_result firsttouch_pool_start(const struct firsttouch_stock *stock,
                                        const struct firsttouch_filler *filler,
                                        struct firsttouch_pool **pool);

/*
 Takes a region that is all zero: a ready one at once (`was_ready` is 1), else a new one, whose pages are created at
 first touch (0). It is the caller's, to be given back to a pool or freed.

 It is up to the caller that:
 `pool` is null or a live pool; `region` a pointer to be filled: it is set to null on failure; `was_ready` null or a number
 to be filled.
 */
firsttouch_result firsttouch_pool_take(const struct firsttouch_pool *pool,
                                       struct firsttouch_region **region,
                                       int *was_ready);

/*
 Gives a region back, as `firsttouch_region_free` would; it is cleared before anybody gets it. One of another size than
 the pool's, of other pages or another node, and one too many, is unmapped. Null is nothing.

 It is up to the caller that:
 `pool` is null or a live pool; `region` null or a live region that nobody uses any more.
 */
void firsttouch_pool_give(const struct firsttouch_pool *pool,
                          struct firsttouch_region *region);

/*
 Tells how many regions can be taken at once, and how many were given back and are not cleared yet. Both pointers may be
 null.

 It is up to the caller that:
 `pool` is null or a live pool; the others null or numbers to be filled.
 */
firsttouch_result firsttouch_pool_level(const struct firsttouch_pool *pool,
                                        uint32_t *ready,
                                        uint32_t *dirty);

/*
 Waits until so many regions are ready, at most so many nanoseconds; 1 if they are, 0 otherwise, for null, and in a
 forked child.

 It is up to the caller that:
 Null or a live pool.
 */
int firsttouch_pool_wait_ready(const struct firsttouch_pool *pool,
                               uint32_t regions,
                               uint64_t nanoseconds);

/*
 Ends a pool and unmaps what it holds; null is nothing. Regions that were taken stay.

 It is up to the caller that:
 Null or a live pool that nobody uses any more.
 */
void firsttouch_pool_stop(struct firsttouch_pool *pool);

/*
 Starts a team by the cores of a group and the number of groups: `"6x4"` is four groups of six cores, one thread each. A
 group lies within a node, and within a last-level cache where one has room; groups are spread evenly over the nodes. The CPUs are
 those that the calling thread may run on.

 It is up to the caller that:
 `groups` is null or a C string; `team` a pointer to be filled: it is set to null on failure.
 */
firsttouch_result firsttouch_team_start(const char *groups,
                                        struct firsttouch_team **team);

/*
 Starts a team on these CPUs: the first `group_sizes[0]` are those of the first group, and so on. A CPU may be named
 several times.

 It is up to the caller that:
 `group_sizes` is null or has `group_count` rows, `cpus` null or as many as these are together; `team` is a pointer to be
 filled: it is set to null on failure.
 */
firsttouch_result firsttouch_team_start_on(const uint32_t *cpus,
                                           const size_t *group_sizes,
                                           size_t group_count,
                                           struct firsttouch_team **team);

/*
 Threads of the team; 0 for null.

 It is up to the caller that:
 Null or a live team.
 */
size_t firsttouch_team_size(const struct firsttouch_team *team);

/*
 Groups of the team; 0 for null.

 It is up to the caller that:
 Null or a live team.
 */
size_t firsttouch_team_groups(const struct firsttouch_team *team);

/*
 Lets every member do `work` once, all at the same time, and waits for the last. What was written before is seen by the
 members, and what they wrote is seen afterwards.

 It is up to the caller that:
 `team` is null or a live team; `work` is null or a function that several threads may call at once with `data`, and that
 comes back by returning.
 */
firsttouch_result firsttouch_team_run(const struct firsttouch_team *team,
                                      firsttouch_work work,
                                      void *data);

/*
 Calls `work` with parts of the range from `begin` to before `end` that together are all of it, each part once, cut and
 handed out as `schedule` (a `firsttouch_schedule`) and `part` say; waits for the last. Otherwise as `firsttouch_team_run`.

 It is up to the caller that:
 As for `firsttouch_team_run`.
 */
firsttouch_result firsttouch_team_for(const struct firsttouch_team *team,
                                      uint64_t begin,
                                      uint64_t end,
                                      uint32_t schedule,
                                      uint64_t part,
                                      firsttouch_part work,
                                      void *data);

/*
 Waits until every member of the team has come here. 1 for one of them, no matter which, 0 for the others and for null.
 Every member must come equally often.

 It is up to the caller that:
 Null, or what the work that calls this was called with.
 */
int firsttouch_barrier(const struct firsttouch_member *member);

/*
 Waits until every member of the group has come here; otherwise as `firsttouch_barrier`.

 It is up to the caller that:
 Null, or what the work that calls this was called with.
 */
int firsttouch_group_barrier(const struct firsttouch_member *member);

/*
 Storage for each group: maps a region of at least `bytes` zeroed bytes on pages of a kind (as `firsttouch_region_map`) for
 every group. The group's first member creates its pages, so that they lie on the group's node unless the process has
 another memory policy. The regions are the caller's, to be freed one by one.

 It is up to the caller that:
 `team` is null or a live team, `pages` null or a C string; `regions` has `firsttouch_team_groups` rows to be filled: they
 are set to null on failure.
 */
firsttouch_result firsttouch_team_map(const struct firsttouch_team *team,
                                      uint64_t bytes,
                                      const char *pages,
                                      struct firsttouch_region **regions);

/*
 Ends the team's threads. Null is nothing, and `FIRSTTOUCH_RESULT_OK`; a team at work is left as it is, and `FIRSTTOUCH_RESULT_IN_USE` is the answer.

 It is up to the caller that:
 Null or a live team that nobody begins to use any more.
 */
firsttouch_result firsttouch_team_stop(struct firsttouch_team *team);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FIRSTTOUCH_H */
