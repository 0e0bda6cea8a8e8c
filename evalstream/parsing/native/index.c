#include "index.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 1 << 10, FIRST_BATCHES = 16, AHEAD = 16 };

/* The first row with a digest: part of a hash of it, and the number of the row, from 1; 0 in an
   empty bucket. The digest stands in the record: most rows are new, and are never looked at again. */
struct entry {
    uint32_t tag, number;
};

/* Records that were added together, and the number of the first, from 0. */
struct batch {
    const byte *digests;
    uint64_t first, size;
};

struct index {
    struct entry *entries;
    uint64_t buckets; /* a power of two, of which at most two in three are taken */
    uint64_t taken, rows;
    struct batch *batches;
    uint64_t batch_count, batch_room;
};

struct index *new_index(void) {
    struct index *const index = calloc(1, sizeof *index);
    if (!index)
        return NULL;
    index->entries = calloc(FIRST_BUCKETS, sizeof *index->entries);
    index->buckets = FIRST_BUCKETS;
    if (!index->entries) {
        free(index);
        return NULL;
    }
    return index;
}

void free_index(struct index *index) {
    if (index) {
        free(index->entries);
        free(index->batches);
    }
    free(index);
}

static inline uint32_t tag_of(const byte *digest) {
    uint64_t words[2];
    memcpy(words, digest, sizeof words);
    return (uint32_t)((words[0] ^ (words[1] * 0x9E3779B97F4A7C15u)) >> 32);
}

static const byte *digest_of_row(const struct index *index, uint64_t row) {
    uint64_t low = 0, high = index->batch_count;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (index->batches[middle].first <= row)
            low = middle;
        else
            high = middle;
    }
    const struct batch *const batch = &index->batches[low];
    return batch->digests + (row - batch->first) * batch->size;
}

/* Return the entry of a digest, or the empty one where it belongs. */
static struct entry *entry_of(struct index *index, uint32_t tag, const byte *digest) {
    const uint64_t mask = index->buckets - 1;
    uint64_t bucket = tag & mask;
    for (; index->entries[bucket].number; bucket = (bucket + 1) & mask)
        if (index->entries[bucket].tag == tag &&
            !memcmp(digest_of_row(index, index->entries[bucket].number - 1), digest, 16))
            break;
    return &index->entries[bucket];
}

/* Return how many buckets there have to be for more digests. */
static uint64_t buckets_for(const struct index *index, uint64_t more) {
    uint64_t buckets = index->buckets;
    while ((index->taken + more) * 3 > buckets * 2)
        buckets *= 2;
    return buckets;
}

/* Make room for more digests. */
static bool grow(struct index *index, uint64_t more) {
    const uint64_t buckets = buckets_for(index, more);
    if (buckets == index->buckets)
        return true;
    struct entry *const entries = calloc(buckets, sizeof *entries);
    if (!entries)
        return false;
    for (uint64_t old = 0; old < index->buckets; old++) {
        if (!index->entries[old].number)
            continue;
        uint64_t bucket = index->entries[old].tag & (buckets - 1);
        while (entries[bucket].number)
            bucket = (bucket + 1) & (buckets - 1);
        entries[bucket] = index->entries[old];
    }
    free(index->entries);
    index->entries = entries;
    index->buckets = buckets;
    return true;
}

static bool add_batch(struct index *index, const byte *digests, uint64_t size) {
    if (index->batch_count == index->batch_room) {
        const uint64_t room = index->batch_room ? 2 * index->batch_room : FIRST_BATCHES;
        struct batch *const batches = realloc(index->batches, room * sizeof *batches);
        if (!batches)
            return false;
        index->batches = batches;
        index->batch_room = room;
    }
    index->batches[index->batch_count++] = (struct batch){digests, index->rows, size};
    return true;
}

int64_t add_records(
    struct index *index, const byte *records, uint64_t count, uint64_t size, uint64_t place,
    uint64_t *firsts
) {
    const byte *const digests = records + place;
    const uint64_t before = index->taken;
    if (count > UINT32_MAX - index->rows || !grow(index, count) ||
        !add_batch(index, digests, size))
        return -1;
    for (uint64_t number = 0; number < count; number++) {
        if (number + AHEAD < count) {
            const uint32_t next = tag_of(digests + (number + AHEAD) * size);
            __builtin_prefetch(&index->entries[next & (index->buckets - 1)], 1);
        }
        const byte *const digest = digests + number * size;
        const uint32_t tag = tag_of(digest);
        struct entry *const entry = entry_of(index, tag, digest);
        if (!entry->number) {
            *entry = (struct entry){tag, (uint32_t)index->rows + 1};
            index->taken++;
        }
        firsts[number] = entry->number - 1;
        index->rows++;
    }
    return (int64_t)(index->taken - before);
}

uint64_t index_bytes(const struct index *index, uint64_t more) {
    const uint64_t buckets = buckets_for(index, more);
    const uint64_t before = buckets == index->buckets ? 0 : index->buckets;
    return (buckets + before) * sizeof *index->entries +
           (2 * index->batch_room + FIRST_BATCHES) * sizeof *index->batches;
}

int64_t cover_records(
    const byte *records, uint64_t count, uint64_t size, uint64_t sample, uint64_t mark,
    uint64_t place, struct cover *covers, uint64_t most
) {
    uint64_t known = 0, at = 0;
    for (uint64_t number = 0; number < count; number++) {
        const byte *const record = records + number * size;
        struct cover row;
        memcpy(&row.place, record + place, sizeof row.place);
        memcpy(&row.mark, record + mark, sizeof row.mark);
        memcpy(&row.digest, record + sample, sizeof row.digest);
        if (at >= known || covers[at].place != row.place || covers[at].mark != row.mark)
            for (at = 0; at < known; at++)
                if (covers[at].place == row.place && covers[at].mark == row.mark)
                    break;
        if (at == known) {
            if (known == most)
                return -1;
            covers[known++] = (struct cover){row.place, row.mark, 0, 0};
        }
        covers[at].rows++;
        covers[at].digest += row.digest;
    }
    return (int64_t)known;
}

void split_records(
    const byte *records, uint64_t count, uint64_t size, uint64_t place, uint64_t parts,
    byte *sorted, uint64_t *counts
) {
    uint64_t starts[256], start = 0;
    memset(counts, 0, parts * sizeof *counts);
    for (uint64_t number = 0; number < count; number++)
        counts[records[number * size + place] % parts]++;
    for (uint64_t part = 0; part < parts; part++) {
        starts[part] = start;
        start += counts[part];
    }
    for (uint64_t number = 0; number < count; number++) {
        const byte *const record = records + number * size;
        memcpy(sorted + starts[record[place] % parts]++ * size, record, size);
    }
}
