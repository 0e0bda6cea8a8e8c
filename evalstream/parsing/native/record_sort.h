/* Records of words of 64 bits, in the order of their words as unsigned numbers: sorted in memory,
   and merged from pieces that are sorted. */

#ifndef EVALSTREAM_RECORD_SORT_H
#define EVALSTREAM_RECORD_SORT_H

#include <stdbool.h>
#include <stdint.h>

#include "export.h"

enum { NO_SOURCE = -1 };

/* Write the places of the records in their order, from 0. Return 0 if there is no memory. */
EXPORT int32_t sort_records(
    const uint64_t *records, uint64_t count, uint64_t words, uint64_t *order
);

/* Copy the records at some places. */
EXPORT void gather_records(
    const uint64_t *records, uint64_t words, const uint64_t *order, uint64_t count, uint64_t *out
);

/* Merges sorted sources, which are given to it in windows. */
struct merger;

/* Return a merger, NULL if there is no memory. There is at least one source. */
EXPORT struct merger *new_merger(uint64_t sources, uint64_t words);
EXPORT void free_merger(struct merger *merger);

/* Give the next records of a source, none at its end. They must last until it wants others. All
   sources have their first window before anything is merged. */
EXPORT void give_window(
    struct merger *merger, uint64_t source, const uint64_t *records, uint64_t count
);

/* Merge at most `room` records, and return their number. `wanted` is the source whose window is
   used up, or NO_SOURCE: the room is then full, or nothing is left. */
EXPORT uint64_t merge_records(
    struct merger *merger, uint64_t *out, uint64_t room, int64_t *wanted
);

#endif
