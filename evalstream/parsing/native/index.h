/* Records found and sorted by their digests. */

#ifndef EVALSTREAM_INDEX_H
#define EVALSTREAM_INDEX_H

#include "export.h"
#include "json.h"

/* Which rows are the first to have a digest: a hash table that grows. */
struct index;

/* Return an empty index, NULL if there is no memory. */
EXPORT struct index *new_index(void);
EXPORT void free_index(struct index *index);

/* Take more rows, numbered on from 0: records of `size` bytes, in which a digest of 16 bytes
   stands at `place`. Write for each the number of the first row with the same digest. Return how
   many are first themselves, -1 if there is no memory; the index is then as it was. */
EXPORT int64_t add_records(
    struct index *index, const byte *records, uint64_t count, uint64_t size, uint64_t place,
    uint64_t *firsts
);

/* Sort `count` records of `size` bytes by what their byte at `place` leaves when it is divided by
   `parts`, at most 256. Each part keeps its order; `counts` tells how many records it has. */
EXPORT void split_records(
    const byte *records, uint64_t count, uint64_t size, uint64_t place, uint64_t parts,
    byte *sorted, uint64_t *counts
);

#endif
