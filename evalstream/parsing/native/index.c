/* For pread. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "index.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each part of the table grows by itself, and at another time, as they begin with different sizes: the
   memory for all grows evenly. */
enum { PARTS = 64, FIRST_BUCKETS = PARTS, FIRST_BATCHES = 16, AHEAD = 16, DIGEST = 16 };

/* The first row with a digest: part of a hash of it, and the number of the row, from 1; 0 in an
   empty bucket. The digest stands in the record: most rows are new, and are never looked at again. */
struct entry {
    uint32_t tag, number;
};

struct table {
    struct entry *entries;
    uint64_t buckets, taken; /* at most three in four are taken */
};

/* Records that were added together, and the number of the first, from 0. */
struct batch {
    const byte *digests;
    uint64_t first, size;
};

struct index {
    uint64_t seed;
    struct table table[PARTS];
    uint64_t rows;
    struct batch *batches;
    uint64_t batch_count, batch_room;
    int file; /* with all records in their order, and -1 while they are in memory */
};

struct index *new_index(uint64_t seed) {
    struct index *const index = calloc(1, sizeof *index);
    if (!index)
        return NULL;
    index->seed = seed | 1;
    index->file = -1;
    for (uint64_t part = 0; part < PARTS; part++) {
        struct table *const table = &index->table[part];
        table->buckets = FIRST_BUCKETS + part * FIRST_BUCKETS / (4 * PARTS);
        table->entries = calloc(table->buckets, sizeof *table->entries);
        if (!table->entries) {
            free_index(index);
            return NULL;
        }
    }
    return index;
}

void free_index(struct index *index) {
    for (int part = 0; index && part < PARTS; part++)
        free(index->table[part].entries);
    if (index)
        free(index->batches);
    free(index);
}

void read_digests_from(struct index *index, int file) {
    index->file = file;
    free(index->batches);
    index->batches = NULL;
    index->batch_count = index->batch_room = 0;
}

/* The seed keeps the writer of a file from making digests that have one tag: every bit of a digest changes
   the sum of its words, multiplied by secret odd numbers, from the place of the bit on. */
static inline uint32_t tag_of(const struct index *index, const byte *digest) {
    uint64_t words[2];
    memcpy(words, digest, sizeof words);
    const uint64_t other = index->seed ^ 0x9E3779B97F4A7C14u;
    return (uint32_t)((words[0] * index->seed + words[1] * other) >> 32);
}

static inline struct table *table_of(struct index *index, uint32_t tag) {
    return &index->table[tag % PARTS];
}

static inline uint64_t first_bucket(const struct table *table, uint32_t tag) {
    return tag * table->buckets >> 32;
}

static inline uint64_t next_bucket(const struct table *table, uint64_t bucket) {
    return bucket + 1 == table->buckets ? 0 : bucket + 1;
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

/* Where the digests of records stand: at a place of each, which has so many bytes. */
struct layout {
    uint64_t place, size;
};

/* Tell whether a row has a digest; write to `failed` whether its record cannot be read. */
static bool has_row_digest(
    const struct index *index, struct layout layout, uint64_t row, const byte *digest, bool *failed
) {
    byte known[DIGEST];
    if (index->file < 0)
        return !memcmp(digest_of_row(index, row), digest, DIGEST);
    const off_t at = (off_t)(row * layout.size + layout.place);
    if (pread(index->file, known, DIGEST, at) != DIGEST) {
        *failed = true;
        return true;
    }
    return !memcmp(known, digest, DIGEST);
}

/* Return the entry of a digest, or the empty one where it belongs. */
static struct entry *entry_of(
    struct index *index, struct layout layout, uint32_t tag, const byte *digest, bool *failed
) {
    const struct table *const table = table_of(index, tag);
    uint64_t bucket = first_bucket(table, tag);
    for (; table->entries[bucket].number; bucket = next_bucket(table, bucket)) {
        const struct entry *const entry = &table->entries[bucket];
        if (entry->tag == tag && has_row_digest(index, layout, entry->number - 1, digest, failed))
            break;
    }
    return &table->entries[bucket];
}

/* Return how many buckets a table of so many has, once it has room for more entries. */
static uint64_t buckets_for(uint64_t buckets, uint64_t entries) {
    while (entries * 4 > buckets * 3)
        buckets += buckets / 4;
    return buckets;
}

/* Make room for more entries. */
static bool grow(struct table *table, uint64_t more) {
    struct table grown = *table;
    grown.buckets = buckets_for(table->buckets, table->taken + more);
    if (grown.buckets == table->buckets)
        return true;
    grown.entries = calloc(grown.buckets, sizeof *grown.entries);
    if (!grown.entries)
        return false;
    for (uint64_t old = 0; old < table->buckets; old++) {
        if (!table->entries[old].number)
            continue;
        uint64_t bucket = first_bucket(&grown, table->entries[old].tag);
        while (grown.entries[bucket].number)
            bucket = next_bucket(&grown, bucket);
        grown.entries[bucket] = table->entries[old];
    }
    free(table->entries);
    *table = grown;
    return true;
}

/* Make room for more digests, so many bytes apart. */
static bool grow_all(struct index *index, const byte *digests, uint64_t count, uint64_t size) {
    uint64_t more[PARTS] = {0};
    for (uint64_t number = 0; number < count; number++)
        more[tag_of(index, digests + number * size) % PARTS]++;
    for (int part = 0; part < PARTS; part++)
        if (!grow(&index->table[part], more[part]))
            return false;
    return true;
}

void expect_records(struct index *index, uint64_t more) {
    /* Chance gives some parts a few more than others. */
    for (int part = 0; part < PARTS; part++)
        if (!grow(&index->table[part], more / PARTS + more / PARTS / 16))
            return;
}

static bool add_batch(struct index *index, const byte *digests, uint64_t size) {
    if (index->file >= 0)
        return true;
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
    int64_t fresh = 0;
    bool failed = false;
    if (count > UINT32_MAX - index->rows || !grow_all(index, digests, count, size) ||
        !add_batch(index, digests, size))
        return -1;
    for (uint64_t number = 0; number < count; number++) {
        if (number + AHEAD < count) {
            const uint32_t next = tag_of(index, digests + (number + AHEAD) * size);
            const struct table *const table = table_of(index, next);
            __builtin_prefetch(&table->entries[first_bucket(table, next)], 1);
        }
        const byte *const digest = digests + number * size;
        const uint32_t tag = tag_of(index, digest);
        struct entry *const entry =
            entry_of(index, (struct layout){place, size}, tag, digest, &failed);
        if (failed)
            return -2;
        if (!entry->number) {
            *entry = (struct entry){tag, (uint32_t)index->rows + 1};
            table_of(index, tag)->taken++;
            fresh++;
        }
        firsts[number] = entry->number - 1;
        index->rows++;
    }
    return fresh;
}

uint64_t index_bytes(const struct index *index, uint64_t more) {
    uint64_t buckets = 0, largest = 0;
    for (int part = 0; part < PARTS; part++) {
        const struct table *const table = &index->table[part];
        const uint64_t after = buckets_for(table->buckets, table->taken + 2 * more / PARTS);
        buckets += after;
        largest = after > table->buckets && table->buckets > largest ? table->buckets : largest;
    }
    return (buckets + largest) * sizeof(struct entry) +
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
