/* Records found and sorted by their digests. */

#ifndef EVALSTREAM_INDEX_H
#define EVALSTREAM_INDEX_H

#include "export.h"
#include "json.h"

/* Which rows are the first to have a digest: a hash table that grows. */
struct index;

/* Return an empty index, NULL if there is no memory. The seed decides the buckets of digests. */
EXPORT struct index *new_index(uint64_t seed);
EXPORT void free_index(struct index *index);

/* Take more rows, numbered on from 0: records of `size` bytes, in which a digest of 16 bytes
   stands at `place`; they must last as long as the index reads digests in memory. Write for each the
   number of the first row with the same digest. Return how many are first themselves; -1 if there is
   no memory, or no number below 2^32 - 1 for one: the index then has the same rows as before; -2 if
   a record cannot be read from the file: the index is then of no more use. */
EXPORT int64_t add_records(
    struct index *index, const byte *records, uint64_t count, uint64_t size, uint64_t place,
    uint64_t *firsts
);

/* Make room for so many more digests that differ by chance; without the memory there is none. */
EXPORT void expect_records(struct index *index, uint64_t more);

/* From now on read the digests of known rows from a file, an open one, in which the records of all rows
   stand in their order, those that are being added, too. */
EXPORT void read_digests_from(struct index *index, int file);

/* Return how many bytes of memory an index takes while it takes `more` digests that differ by chance. */
EXPORT uint64_t index_bytes(const struct index *index, uint64_t more);

/* Rows of one result with one repeat mark, and the sum of the first words of their samples. */
struct cover {
    int64_t place;
    uint64_t mark, rows, digest;
};

/* Sum up `count` records of `size` bytes, in which the first word of the sample stands at `sample`,
   the mark at `mark` and the result's place at `place`, in the order of the first row of each. Return
   how many `covers` there are, -1 if there are more than `most`. */
EXPORT int64_t cover_records(
    const byte *records, uint64_t count, uint64_t size, uint64_t sample, uint64_t mark,
    uint64_t place, struct cover *covers, uint64_t most
);

/* Sort `count` records of `size` bytes by what their byte at `place` leaves when it is divided by
   `parts`, at most 256. Each part keeps its order; `counts` tells how many records it has. */
EXPORT void split_records(
    const byte *records, uint64_t count, uint64_t size, uint64_t place, uint64_t parts,
    byte *sorted, uint64_t *counts
);

#endif
