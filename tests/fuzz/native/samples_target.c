/* Sorts, reduces and joins rows in memory of its exact size: a target of libFuzzer.

   Four bytes of an input make a row, so that few of them are enough for samples that meet. The head
   says where the rows are cut: into two runs, sorted pieces, and windows. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record_sort.h"
#include "samples.h"

enum { HEAD = 4, GROUPS = 4, METRICS = 70, MOST_ROWS = 4096, ROW_INPUT = 4, PIECES = 3 };

static const int64_t metrics_a[GROUPS] = {0, 1, -1, 69}, metrics_b[GROUPS] = {1, 0, 2, 69};

/* Records in memory of their exact size. */
struct run {
    uint64_t *records, count;
};

static void demand(bool is_so, const char *what) {
    if (is_so)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static struct run new_run(const uint64_t *records, uint64_t count, uint64_t words) {
    const size_t size = (size_t)(count * words) * sizeof *records;
    struct run run = {malloc(size ? size : 1), count};
    demand(run.records, "there is memory");
    if (size)
        memcpy(run.records, records, size);
    return run;
}

static void append(struct run *run, const uint64_t *records, uint64_t count, uint64_t words) {
    const size_t before = (size_t)(run->count * words), more = (size_t)(count * words);
    run->records = realloc(run->records, (before + more + 1) * sizeof *records);
    demand(run->records, "there is memory");
    if (more)
        memcpy(run->records + before, records, more * sizeof *records);
    run->count += count;
}

static void check_order(const struct run *run, uint64_t words, uint64_t key) {
    for (uint64_t at = 1; at < run->count; at++) {
        const uint64_t *const a = run->records + (at - 1) * words, *const b = a + words;
        uint64_t word = 0;
        while (word < key && a[word] == b[word])
            word++;
        demand(word == key || a[word] < b[word], "records are in order");
    }
}

static struct run sorted(const struct run *run, uint64_t words) {
    uint64_t *const order = malloc((run->count + 1) * sizeof *order);
    demand(order && sort_records(run->records, run->count, words, order), "there is memory");
    struct run result = new_run(run->records, run->count, words);
    gather_records(run->records, words, order, run->count, result.records);
    free(order);
    check_order(&result, words, words);
    return result;
}

/* Sort a run in pieces, and merge them through windows of some size. */
static struct run merged(const struct run *run, uint64_t words, uint64_t window) {
    struct run pieces[PIECES], windows[PIECES] = {{0}}, result = {0};
    uint64_t used[PIECES] = {0}, rest = run->count, room = window + 1;
    int64_t wanted;
    for (uint64_t piece = 0; piece < PIECES; piece++) {
        const uint64_t count = piece + 1 < PIECES ? rest / (PIECES - piece) : rest;
        const struct run part = new_run(
            run->records + (run->count - rest) * words, count, words
        );
        pieces[piece] = sorted(&part, words);
        free(part.records);
        rest -= count;
    }
    struct merger *const merger = new_merger(PIECES, words);
    uint64_t *const out = malloc((size_t)(room * words) * sizeof *out);
    demand(merger && out, "there is memory");
    for (uint64_t next = 0;; next = (uint64_t)wanted) {
        const uint64_t left = pieces[next].count - used[next];
        free(windows[next].records);
        windows[next] = new_run(
            pieces[next].records + used[next] * words, left < window ? left : window, words
        );
        give_window(merger, next, windows[next].records, windows[next].count);
        used[next] += windows[next].count;
        wanted = (int64_t)next + 1;
        if (!result.records && wanted < PIECES)
            continue;
        uint64_t count;
        do {
            count = merge_records(merger, out, room, &wanted);
            append(&result, out, count, words);
        } while (wanted == NO_SOURCE && count == room);
        if (wanted == NO_SOURCE)
            break;
    }
    for (uint64_t piece = 0; piece < PIECES; piece++) {
        free(pieces[piece].records);
        free(windows[piece].records);
    }
    free(out);
    free_merger(merger);
    demand(result.count == run->count, "all records are merged");
    check_order(&result, words, words);
    return result;
}

static struct run rows_of(const uint8_t *data, uint64_t count) {
    uint64_t *const rows = calloc((size_t)(count + 1) * ROW_WORDS, sizeof *rows);
    demand(rows, "there is memory");
    for (uint64_t at = 0; at < count; at++) {
        const uint8_t *const one = data + at * ROW_INPUT;
        const double scores[] = {0, 1, 0.1, -2, 1e300, (double)one[2]};
        uint64_t *const row = rows + at * ROW_WORDS;
        row[1] = one[0] & 7;
        row[2] = one[0] >> 3 & 3;
        row[3] = one[0] >> 5 & (GROUPS - 1);
        row[4] = one[3];
        row[5] = at;
        if (one[1] % 7 < 6)
            memcpy(row + 6, scores + one[1] % 7, sizeof *scores);
        else
            memset(row + 6, 255, sizeof *row);
        row[7] = one[1] >> 3 & 7;
        row[8] = one[2] & 3;
        row[9] = one[2] >> 2 & 3;
        row[10] = one[2] >> 4 & 3;
        row[11] = one[2] >> 6;
    }
    const struct run result = new_run(rows, count, ROW_WORDS);
    free(rows);
    return result;
}

static struct run samples_of(const uint8_t *data, uint64_t count, uint64_t window) {
    struct run rows = rows_of(data, count), kept = new_run(rows.records, count, ROW_WORDS);
    struct keeping keeping = {.shift = 1};
    kept.count = keep_rows(rows.records, count, kept.records, &keeping);
    demand(keeping.groups <= GROUPS, "groups are counted");
    const struct run in_order = merged(&kept, ROW_WORDS, window);
    struct reducer *const reducer = new_reducer(keeping.groups);
    struct run samples = {0};
    struct reduced result;
    uint64_t total = 0;
    demand(reducer, "there is memory");
    for (uint64_t at = 0; at < in_order.count; at += window) {
        const uint64_t left = in_order.count - at;
        const struct run part = new_run(
            in_order.records + at * ROW_WORDS, left < window ? left : window, ROW_WORDS
        );
        demand(reduce_rows(reducer, part.records, part.count, 0, &result), "there is memory");
        append(&samples, result.records, result.count, SAMPLE_WORDS);
        free(part.records);
    }
    demand(reduce_rows(reducer, in_order.records, 0, 1, &result), "there is memory");
    append(&samples, result.records, result.count, SAMPLE_WORDS);
    for (uint64_t at = 0; at < samples.count; at++)
        total += samples.records[at * SAMPLE_WORDS + 12];
    demand(total == in_order.count, "each row is in a sample");
    demand(result.samples <= samples.count, "samples are counted");
    check_order(&samples, SAMPLE_WORDS, 4);
    free_reducer(reducer);
    free(rows.records);
    free(kept.records);
    free(in_order.records);
    return samples;
}

/* Read more of a run behind what was not used of its window. */
static void read_more(
    struct join_window *window, struct run *held, const struct run *run, uint64_t *read,
    uint64_t size, uint64_t words
) {
    const uint64_t left = run->count - *read, more = left < size ? left : size;
    struct run next = new_run(
        held->records + window->used * words, window->count - window->used, words
    );
    append(&next, run->records + *read * words, more, words);
    free(held->records);
    *held = new_run(next.records, next.count, words);
    free(next.records);
    *read += more;
    *window = (struct join_window){held->records, held->count, more == 0, 0, 0};
}

static uint64_t compared(const struct run *samples, const int64_t *metrics) {
    uint64_t count = 0;
    for (uint64_t at = 0; at < samples->count; at++)
        count += metrics[samples->records[at * SAMPLE_WORDS + 3]] >= 0;
    return count;
}

static void join_runs(
    const struct run *a, const struct run *b, uint64_t size, struct run *only_a, struct run *only_b
) {
    struct joiner *const joiner = new_joiner(metrics_a, GROUPS, metrics_b, GROUPS, METRICS);
    struct run of_a = new_run(NULL, 0, 1), of_b = new_run(NULL, 0, 1);
    struct join_window window_a = {.wants_more = 1}, window_b = {.wants_more = 1};
    struct joined result;
    uint64_t read_a = 0, read_b = 0, pairs = 0;
    demand(joiner, "there is memory");
    while (window_a.wants_more || window_b.wants_more) {
        if (window_a.wants_more)
            read_more(&window_a, &of_a, a, &read_a, size, SAMPLE_WORDS);
        if (window_b.wants_more)
            read_more(&window_b, &of_b, b, &read_b, size + 1, SAMPLE_WORDS);
        demand(
            join_samples(joiner, &window_a, &window_b, &result) == JOIN_DONE, "groups are known"
        );
        pairs += result.pair_count;
        append(only_a, result.only_a, result.a_count, SAMPLE_WORDS);
        append(only_b, result.only_b, result.b_count, SAMPLE_WORDS);
    }
    demand(pairs + only_a->count == compared(a, metrics_a), "each sample of the first run is found");
    demand(pairs + only_b->count == compared(b, metrics_b), "each sample of the second run is found");
    free_joiner(joiner);
    free(of_a.records);
    free(of_b.records);
}

static struct run keyed(const struct run *samples, const int64_t *metrics, uint64_t set_words) {
    const uint64_t words = KEY_WORDS + set_words;
    struct run keys = {malloc((size_t)((samples->count + 1) * words) * sizeof(uint64_t)), 0};
    demand(keys.records, "there is memory");
    keys.count = key_samples(
        samples->records, samples->count, metrics, GROUPS, set_words, keys.records, 0
    );
    demand(keys.count <= samples->count, "each record is of a sample");
    const struct run result = sorted(&keys, words);
    free(keys.records);
    return result;
}

static void match_runs(const struct run *a, const struct run *b, uint64_t set_words) {
    const uint64_t words = KEY_WORDS + set_words, pairs = a->count < b->count ? a->count : b->count;
    const struct matching matching = {words, 2, 1, 2, 1, 1, {0, 2, 3, 1}};
    struct join_window window_a = {a->records, a->count, 1, 0, 0};
    struct join_window window_b = {b->records, b->count, 1, 0, 0};
    struct matched result = {
        malloc((size_t)(pairs * MATCH_WORDS + 1) * sizeof(uint64_t)),
        malloc((size_t)(a->count * words + 1) * sizeof(uint64_t)),
        malloc((size_t)(b->count * words + 1) * sizeof(uint64_t)),
        calloc((size_t)(64 * set_words), sizeof(uint64_t)), 0, 0, 0,
    };
    demand(result.pairs && result.left_a && result.left_b && result.metrics, "there is memory");
    match_records(&matching, &window_a, &window_b, &result);
    demand(result.pair_count + result.a_count == a->count, "each one matches or is left over");
    demand(result.pair_count + result.b_count == b->count, "each one matches or is left over");
    for (uint64_t metric = METRICS; metric < 64 * set_words; metric++)
        demand(!result.metrics[metric], "metrics are known");
    free(result.pairs);
    free(result.left_a);
    free(result.left_b);
    free(result.metrics);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < HEAD)
        return 0;
    uint64_t rows = (size - HEAD) / ROW_INPUT;
    rows = rows < MOST_ROWS ? rows : MOST_ROWS;
    const uint64_t of_a = rows * data[0] / 255, set_words = (METRICS + 63) / 64;
    const struct run a = samples_of(data + HEAD, of_a, data[1] + 1u);
    const struct run b = samples_of(data + HEAD + of_a * ROW_INPUT, rows - of_a, data[2] + 1u);
    struct run only_a = new_run(NULL, 0, 1), only_b = new_run(NULL, 0, 1);
    join_runs(&a, &b, data[3] % 16 + 1, &only_a, &only_b);
    const struct run keys_a = keyed(&only_a, metrics_a, set_words);
    const struct run keys_b = keyed(&only_b, metrics_b, set_words);
    match_runs(&keys_a, &keys_b, set_words);
    free(a.records);
    free(b.records);
    free(only_a.records);
    free(only_b.records);
    free(keys_a.records);
    free(keys_b.records);
    return 0;
}
