#include "index.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 1 << 10 };

struct entry {
    uint64_t digest[2];
    uint64_t number; /* of the row, from 1; 0 in an empty bucket */
};

struct index {
    struct entry *entries;
    uint64_t buckets; /* a power of two, of which at most two in three are taken */
    uint64_t taken, rows;
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
    if (index)
        free(index->entries);
    free(index);
}

/* Return the entry of a digest, or the empty one where it belongs. */
static struct entry *entry_of(
    struct entry *entries, uint64_t buckets, const uint64_t digest[2]
) {
    uint64_t bucket = (digest[0] ^ (digest[1] * 0x9E3779B97F4A7C15u)) & (buckets - 1);
    while (entries[bucket].number && (entries[bucket].digest[0] != digest[0] ||
                                      entries[bucket].digest[1] != digest[1]))
        bucket = (bucket + 1) & (buckets - 1);
    return &entries[bucket];
}

/* Make room for more digests. */
static bool grow(struct index *index, uint64_t more) {
    uint64_t buckets = index->buckets;
    while ((index->taken + more) * 3 > buckets * 2)
        buckets *= 2;
    if (buckets == index->buckets)
        return true;
    struct entry *const entries = calloc(buckets, sizeof *entries);
    if (!entries)
        return false;
    for (uint64_t bucket = 0; bucket < index->buckets; bucket++)
        if (index->entries[bucket].number)
            *entry_of(entries, buckets, index->entries[bucket].digest) = index->entries[bucket];
    free(index->entries);
    index->entries = entries;
    index->buckets = buckets;
    return true;
}

int64_t add_records(
    struct index *index, const byte *records, uint64_t count, uint64_t size, uint64_t place,
    uint64_t *firsts
) {
    const uint64_t before = index->taken;
    if (!grow(index, count))
        return -1;
    for (uint64_t number = 0; number < count; number++) {
        uint64_t digest[2];
        memcpy(digest, records + number * size + place, sizeof digest);
        struct entry *const entry = entry_of(index->entries, index->buckets, digest);
        if (!entry->number) {
            *entry = (struct entry){{digest[0], digest[1]}, index->rows + 1};
            index->taken++;
        }
        firsts[number] = entry->number - 1;
        index->rows++;
    }
    return (int64_t)(index->taken - before);
}

uint64_t index_bytes(const struct index *index, uint64_t more) {
    uint64_t buckets = index->buckets;
    while ((index->taken + more) * 3 > buckets * 2)
        buckets *= 2;
    const uint64_t before = buckets == index->buckets ? 0 : index->buckets;
    return (buckets + before) * sizeof *index->entries;
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
