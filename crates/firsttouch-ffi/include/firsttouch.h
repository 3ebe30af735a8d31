/* libfirsttouch: huge pages inside a running session, and regions of memory with receipts.
 * Made of the functions themselves by cbindgen; see docs/authors.md. */

#ifndef FIRSTTOUCH_H
#define FIRSTTOUCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 Nodes that a receipt tells apart.
 */
#define FIRSTTOUCH_NODES 16

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
   A pointer that must not be null is null, or a range of sizes is empty.
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
 A region. Its functions may be called from any thread, but `firsttouch_region_free` only when nobody uses it any more.
 */
typedef struct firsttouch_region firsttouch_region;

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
   Of these, bytes on huge pages now.
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
 1 if this copy of the library redirects calls now, 0 otherwise. By this the copies that several bindings bring into one
 process agree which one serves it.
 */
int firsttouch_ism_serves(void);

/*
 Gives all memory that is held for reuse back to the kernel.
 */
void firsttouch_ism_trim(void);

/*
 Reads what any memory of this process has obtained: the whole pages that hold `bytes` bytes at `address`.

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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FIRSTTOUCH_H */
