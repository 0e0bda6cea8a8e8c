/* Feeds the scanner of lm-eval's samples with lines in memory of their exact size: a target of
   libFuzzer.

   Every text has the digest of zeros, so that an input need not know a digest. The head of an input
   says how much room there is, so that the scanner stops part-way. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lm_eval.h"

enum { HEAD = 4, DIGEST = 32 };

static void demand(bool is_so, const char *what) {
    if (is_so)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static int start_hash(void *state) {
    (void)state;
    return 1;
}

/* Read all bytes, so that each one too much is noticed. */
static int update_hash(void *state, const void *bytes, size_t length) {
    byte sum = 0;
    for (size_t place = 0; place < length; place++)
        sum ^= ((const byte *)bytes)[place];
    memcpy(state, &sum, sizeof sum);
    return 1;
}

static int end_hash(unsigned char *digest, void *state) {
    (void)state;
    memset(digest, 0, DIGEST);
    return 1;
}

static void *room(size_t size) {
    void *const found = malloc(size ? size : 1);
    demand(found, "there is memory");
    return found;
}

static uint64_t lines_before(const byte *bytes, uint64_t stop) {
    uint64_t lines = 0;
    for (uint64_t place = 0; place < stop; place++)
        lines += bytes[place] == '\n';
    return lines;
}

static void check_name(const struct lm_scan *scan, const struct lm_name *name) {
    demand(name->start <= scan->size && name->length <= scan->size - name->start, "names are in the bytes");
}

static void check_places(const struct lm_scan *scan) {
    for (uint64_t row = 0; row < scan->row_count; row++) {
        const struct lm_place *const place = &scan->places[row];
        check_name(scan, &place->target);
        check_name(scan, &place->resps);
        check_name(scan, &place->filtered);
        demand(scan->bytes[place->target.start] == '"', "a target is a text");
        demand(scan->bytes[place->resps.start + place->resps.length - 1] == ']', "answers are lists");
    }
}

static void check_runs(const struct lm_scan *scan, uint64_t first_line) {
    uint64_t rows = 0, values = 0, line = first_line;
    for (uint64_t number = 0; number < scan->run_count; number++) {
        const struct lm_run *const run = &scan->runs[number];
        demand(run->filter < scan->filter_count, "a run has a filter");
        demand(run->metrics < scan->metrics_count, "a run has metrics");
        demand(run->line == line && run->rows, "runs follow each other");
        demand(run->value == values, "values follow each other");
        line += run->rows;
        rows += run->rows;
        values += run->rows * scan->metric_counts[run->metrics];
    }
    demand(rows == scan->row_count && values == scan->value_count, "each row is in a run");
    for (uint64_t number = 0; number < scan->filter_count; number++)
        check_name(scan, &scan->filters[number]);
    for (uint64_t number = 0; number < scan->metrics_count; number++)
        check_name(scan, &scan->metrics[number]);
}

int LLVMFuzzerTestOneInput(const byte *data, size_t size) {
    if (size <= HEAD)
        return 0;
    const struct hasher hasher = {start_hash, update_hash, end_hash, DIGEST};
    const uint64_t rows = data[0] % 8 + 1u, most_values = data[1] % 16, most_bytes = data[2] * 16u;
    size -= HEAD;
    byte *const bytes = room(size);
    memcpy(bytes, data + HEAD, size);
    struct lm_scan *const scan = room(sizeof *scan);
    *scan = (struct lm_scan){
        .bytes = bytes, .size = size, .longest = 1u << 20, .line = 1,
        .runs = room(rows * sizeof(struct lm_run)), .most_runs = rows,
        .digests = room(rows * LM_DIGESTS), .most_rows = rows,
        .values = room(most_values * sizeof(double)), .most_values = most_values,
        .texts = room(most_bytes), .most_bytes = most_bytes,
        .gold = (const byte *)"label", .gold_length = data[0] % 2 * 5u,
        .known_filters = (const byte *)"strict\xff" "none\xff",
        .known_length = (const uint64_t[]){0, 7, 12}[data[3] % 3],
        .contents = data[3] % 2 ? room(rows * sizeof(uint64_t)) : NULL,
        .places = room(rows * sizeof(struct lm_place)),
    };
    for (;;) {
        const uint64_t line = scan->line;
        scan->run_count = scan->row_count = scan->value_count = 0;
        const uint64_t taken = scan_lm_rows(scan, &hasher);
        demand(taken == scan->row_count && scan->line == line + taken, "rows are counted");
        demand(scan->at <= size && (!scan->at || bytes[scan->at - 1] == '\n'), "lines are whole");
        demand(lines_before(bytes, scan->at) == scan->line - 1, "lines are counted");
        check_runs(scan, line);
        check_places(scan);
        if (taken)
            continue;
        /* Leave the line, as Python does. */
        const byte *const end = memchr(bytes + scan->at, '\n', size - scan->at);
        if (!end)
            break;
        scan->at = (uint64_t)(end - bytes) + 1;
        scan->line++;
    }
    free(scan->runs);
    free(scan->digests);
    free(scan->values);
    free(scan->texts);
    free(scan->contents);
    free(scan->places);
    free(scan);
    free(bytes);
    return 0;
}
