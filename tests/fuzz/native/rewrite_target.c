/* Feeds the rewriter with lines in memory of their exact size: a target of libFuzzer.

   The environment variable SCANNER_CONFIGS names a file of tables, as tests/support/fuzz writes it.
   The first byte of an input chooses among them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite.h"

enum { HEAD = 4, MOST_CONFIGS = 256, PARTS = 5 };

static struct rewriter *rewriters[MOST_CONFIGS];
static size_t configs;

static void demand(bool is_so, const char *what) {
    if (is_so)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static bool read_part(FILE *file, void **part, size_t *size) {
    uint64_t count;
    if (fread(&count, sizeof count, 1, file) != 1)
        return false;
    *size = (size_t)count;
    /* Of the exact size, so that each byte too much is noticed. */
    *part = malloc(*size ? *size : 1);
    demand(*part && fread(*part, 1, *size, file) == *size, "the file of tables is whole");
    return true;
}

static bool read_config(FILE *file) {
    void *part[PARTS];
    size_t size[PARTS];
    for (int number = 0; number < PARTS; number++)
        if (!read_part(file, &part[number], &size[number]))
            return false;
    const struct rewrite_tables tables = {
        part[0], part[1], part[2], part[3], part[4],
        size[0] / sizeof(struct place), size[1] / sizeof(struct place_member),
        size[2] / sizeof(struct watch), size[3] / sizeof(uint64_t),
    };
    rewriters[configs] = new_rewriter(&tables);
    demand(rewriters[configs], "there is memory");
    return true;
}

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    const char *const name = getenv("SCANNER_CONFIGS");
    FILE *const file = name ? fopen(name, "rb") : NULL;
    demand(file, "SCANNER_CONFIGS names a file");
    while (configs < MOST_CONFIGS && read_config(file))
        configs++;
    fclose(file);
    demand(configs, "there are tables");
    return 0;
}

static size_t lines_in(const byte *bytes, size_t size) {
    size_t lines = 0;
    for (size_t place = 0; place < size; place++)
        lines += bytes[place] == '\n';
    return lines;
}

static void check_left(const struct rewritten *result, const byte *bytes, size_t lines) {
    uint64_t line = 0, stop = 0, at = 0;
    for (uint64_t number = 0; number < result->left_count; number++) {
        const struct left_row *const row = &result->left[number];
        demand(row->line > line && row->line <= lines, "lines are in order");
        demand(row->start >= stop && row->stop >= row->start, "rows are in order");
        demand(bytes[row->stop] == '\n', "a row ends before a newline");
        demand(row->at >= at && row->at <= result->size, "a row has a place in the text");
        demand(!row->at || result->text[row->at - 1] == '\n', "the place is behind a line");
        line = row->line;
        stop = row->stop;
        at = row->at;
    }
}

static void check_changes(const struct rewritten *result, const byte *bytes, size_t lines) {
    for (int number = 0; number < MOST_CHANGES; number++) {
        const struct change_count *const change = &result->changes[number];
        demand(change->rows <= result->rows, "changes are made in rows");
        for (uint64_t place = 0; place < FIRST_LINES && place < change->rows; place++)
            demand(change->line[place] && change->line[place] <= lines, "a line is in the bytes");
        demand(!change->rows || bytes[change->stop] == '\n', "a row ends before a newline");
    }
}

int LLVMFuzzerTestOneInput(const byte *data, size_t size) {
    struct rewritten result;
    if (size <= HEAD)
        return 0;
    size -= HEAD;
    byte *const bytes = malloc(size);
    demand(bytes, "there is memory");
    memcpy(bytes, data + HEAD, size);
    bytes[size - 1] = '\n';
    demand(rewrite_lines(rewriters[data[0] % configs], bytes, size, &result), "there is memory");
    const size_t lines = lines_in(bytes, size);
    demand(result.rows + result.left_count == lines, "each line is rewritten or left");
    demand(lines_in(result.text, (size_t)result.size) == result.rows, "each row is a line");
    check_left(&result, bytes, lines);
    check_changes(&result, bytes, lines);
    free(bytes);
    return 0;
}
