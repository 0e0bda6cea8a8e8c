#include "record_sort.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_BITS = 16,      /* of the first word, by which records are distributed */
    LEAST_BUCKET = 8,    /* the usual number of records in a bucket is one to two times this */
    INSERTED = 24,       /* so many are sorted by insertion */
    GATHERED_AHEAD = 12, /* records fetched before they are copied */
};

struct sort_key {
    uint64_t first, place;
};

struct sorting {
    const uint64_t *records;
    uint64_t words;
};

static bool is_before(
    const struct sorting *sorting, const struct sort_key *x, const struct sort_key *y
) {
    if (x->first != y->first)
        return x->first < y->first;
    const uint64_t *const a = sorting->records + x->place * sorting->words;
    const uint64_t *const b = sorting->records + y->place * sorting->words;
    for (uint64_t word = 1; word < sorting->words; word++)
        if (a[word] != b[word])
            return a[word] < b[word];
    return false;
}

static void insert_keys(const struct sorting *sorting, struct sort_key *keys, uint64_t count) {
    for (uint64_t next = 1; next < count; next++) {
        const struct sort_key key = keys[next];
        uint64_t at = next;
        for (; at && is_before(sorting, &key, &keys[at - 1]); at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Merge two sorted halves; `spare` has room for the first. */
static void merge_halves(
    const struct sorting *sorting, struct sort_key *keys, uint64_t half, uint64_t count,
    struct sort_key *spare
) {
    if (!is_before(sorting, &keys[half], &keys[half - 1]))
        return;
    memcpy(spare, keys, half * sizeof *keys);
    uint64_t left = 0, right = half, out = 0;
    while (left < half && right < count)
        keys[out++] = is_before(sorting, &keys[right], &spare[left]) ? keys[right++]
                                                                     : spare[left++];
    memcpy(keys + out, spare + left, (half - left) * sizeof *keys);
}

static void sort_bucket(
    const struct sorting *sorting, struct sort_key *keys, uint64_t count, struct sort_key *spare
) {
    if (count <= INSERTED) {
        insert_keys(sorting, keys, count);
        return;
    }
    const uint64_t half = count / 2;
    sort_bucket(sorting, keys, half, spare);
    sort_bucket(sorting, keys + half, count - half, spare);
    merge_halves(sorting, keys, half, count, spare);
}

/* Write the keys of all records; return how far their first words are apart. */
static uint64_t read_keys(
    const struct sorting *sorting, struct sort_key *keys, uint64_t count, uint64_t *least
) {
    uint64_t lowest = UINT64_MAX, highest = 0;
    for (uint64_t place = 0; place < count; place++) {
        const uint64_t first = sorting->records[place * sorting->words];
        keys[place] = (struct sort_key){first, place};
        lowest = first < lowest ? first : lowest;
        highest = first > highest ? first : highest;
    }
    *least = lowest;
    return count ? highest - lowest : 0;
}

/* Distribute keys over buckets by the first bits in which they differ. Return the number of
   buckets; `ends` tells where each ends. */
static uint64_t distribute(
    const struct sort_key *keys, uint64_t count, uint64_t least, uint64_t range, uint64_t *ends,
    struct sort_key *distributed
) {
    unsigned bits = 0, shift = 0;
    while (bits < MOST_BITS && count >> bits > LEAST_BUCKET)
        bits++;
    while (shift < 63 && range >> shift >> bits)
        shift++;
    const uint64_t buckets = (range >> shift) + 1;
    memset(ends, 0, buckets * sizeof *ends);
    for (uint64_t at = 0; at < count; at++)
        ends[(keys[at].first - least) >> shift]++;
    uint64_t start = 0;
    for (uint64_t bucket = 0; bucket < buckets; bucket++) {
        const uint64_t size = ends[bucket];
        ends[bucket] = start;
        start += size;
    }
    for (uint64_t at = 0; at < count; at++)
        distributed[ends[(keys[at].first - least) >> shift]++] = keys[at];
    return buckets;
}

int32_t sort_records(const uint64_t *records, uint64_t count, uint64_t words, uint64_t *order) {
    const struct sorting sorting = {records, words};
    if (!count)
        return 1;
    struct sort_key *const keys = malloc(count * sizeof *keys);
    struct sort_key *const sorted = malloc(count * sizeof *sorted);
    uint64_t *const ends = malloc(((uint64_t)1 << MOST_BITS) * sizeof *ends);
    const bool has_memory = keys && sorted && ends;
    if (has_memory) {
        uint64_t least, start = 0;
        const uint64_t range = read_keys(&sorting, keys, count, &least);
        const uint64_t buckets = distribute(keys, count, least, range, ends, sorted);
        for (uint64_t bucket = 0; bucket < buckets; bucket++) {
            sort_bucket(&sorting, sorted + start, ends[bucket] - start, keys);
            start = ends[bucket];
        }
        for (uint64_t at = 0; at < count; at++)
            order[at] = sorted[at].place;
    }
    free(keys);
    free(sorted);
    free(ends);
    return has_memory;
}

void gather_records(
    const uint64_t *records, uint64_t words, const uint64_t *order, uint64_t count, uint64_t *out
) {
    for (uint64_t at = 0; at < count; at++) {
#if defined(__GNUC__)
        if (count - at > GATHERED_AHEAD) {
            const uint64_t *const later = records + order[at + GATHERED_AHEAD] * words;
            __builtin_prefetch(later);
            __builtin_prefetch(later + words - 1);
        }
#endif
        memcpy(out + at * words, records + order[at] * words, words * sizeof *out);
    }
}

/* What is left of a window; `at` is NULL at the end of the source. */
struct source {
    const uint64_t *at, *stop;
};

/* A tournament: each inner node holds the source that lost there, and the first one the winner. */
struct merger {
    uint64_t words, count;
    bool is_started, is_waiting; /* for a window of the winner */
    struct source *sources;
    uint64_t *nodes;
};

void free_merger(struct merger *merger) {
    if (merger) {
        free(merger->sources);
        free(merger->nodes);
    }
    free(merger);
}

struct merger *new_merger(uint64_t sources, uint64_t words) {
    struct merger *const merger = calloc(1, sizeof *merger);
    if (!merger)
        return NULL;
    merger->words = words;
    merger->count = sources;
    merger->sources = calloc(sources, sizeof *merger->sources);
    merger->nodes = calloc(2 * sources, sizeof *merger->nodes);
    if (!merger->sources || !merger->nodes) {
        free_merger(merger);
        return NULL;
    }
    return merger;
}

static bool wins(const struct merger *merger, uint64_t x, uint64_t y) {
    const uint64_t *const a = merger->sources[x].at, *const b = merger->sources[y].at;
    if (!a || !b)
        return a != NULL;
    for (uint64_t word = 0; word < merger->words; word++)
        if (a[word] != b[word])
            return a[word] < b[word];
    return false;
}

/* Play all matches of the tournament. */
static void start_matches(struct merger *merger) {
    uint64_t *const nodes = merger->nodes;
    const uint64_t count = merger->count;
    for (uint64_t source = 0; source < count; source++)
        nodes[count + source] = source;
    for (uint64_t node = count - 1; node; node--) {
        const uint64_t x = nodes[2 * node], y = nodes[2 * node + 1];
        nodes[node] = wins(merger, y, x) ? y : x;
    }
    nodes[0] = count > 1 ? nodes[1] : 0;
    /* From the root down: each node keeps the loser of the winners below it. */
    for (uint64_t node = 1; node < count; node++) {
        const uint64_t x = nodes[2 * node], y = nodes[2 * node + 1];
        nodes[node] = nodes[node] == x ? y : x;
    }
}

/* Play the matches of the winner again, after it has moved on. */
static void replay(struct merger *merger) {
    uint64_t winner = merger->nodes[0];
    for (uint64_t node = (merger->count + winner) / 2; node; node /= 2)
        if (wins(merger, merger->nodes[node], winner)) {
            const uint64_t loser = winner;
            winner = merger->nodes[node];
            merger->nodes[node] = loser;
        }
    merger->nodes[0] = winner;
}

void give_window(
    struct merger *merger, uint64_t source, const uint64_t *records, uint64_t count
) {
    merger->sources[source].at = count ? records : NULL;
    merger->sources[source].stop = count ? records + count * merger->words : NULL;
}

uint64_t merge_records(struct merger *merger, uint64_t *out, uint64_t room, int64_t *wanted) {
    const uint64_t words = merger->words;
    uint64_t done = 0;
    *wanted = NO_SOURCE;
    if (!merger->is_started)
        start_matches(merger);
    else if (merger->is_waiting)
        replay(merger);
    merger->is_started = true;
    merger->is_waiting = false;
    while (done < room) {
        const uint64_t winner = merger->nodes[0];
        struct source *const source = &merger->sources[winner];
        if (!source->at)
            break;
        memcpy(out + done++ * words, source->at, words * sizeof *out);
        source->at += words;
        if (source->at == source->stop) {
            merger->is_waiting = true;
            *wanted = (int64_t)winner;
            break;
        }
        replay(merger);
    }
    return done;
}
