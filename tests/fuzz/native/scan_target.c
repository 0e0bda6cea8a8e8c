/* Feeds the scanner with lines in memory of their exact size: a target of libFuzzer.

   The environment variable SCANNER_CONFIGS names a file of tables and demands, as tests/support/fuzz
   writes it. The first bytes of an input choose among them, and how much room there is. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eee_scanner.h"
#include "values.h"

enum { HEAD = 4, MOST_CONFIGS = 256, PARTS = 5, SIZES = 8, SLOTS = 3 };

/* Tables as they are written: nodes, members, labels, letters; then demands. */
struct config {
    void *part[PARTS];
    size_t size[PARTS];
};

static struct config config[MOST_CONFIGS];
static size_t configs;
static struct scanner *scanner;

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

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count;
    (void)arguments;
    const char *const name = getenv("SCANNER_CONFIGS");
    FILE *const file = name ? fopen(name, "rb") : NULL;
    demand(file, "SCANNER_CONFIGS names a file");
    for (int part = 0; configs < MOST_CONFIGS; part = (part + 1) % PARTS) {
        struct config *const one = &config[configs];
        if (!read_part(file, &one->part[part], &one->size[part]))
            break;
        configs += part == PARTS - 1;
    }
    fclose(file);
    demand(configs, "there are tables");
    scanner = eee_new_scanner();
    demand(scanner, "there is memory");
    return 0;
}

/* A hash function of which every other digest is the same. */
static int start_hash(void *state) {
    memset(state, 0, 8);
    return 1;
}

static int update_hash(void *state, const void *bytes, size_t length) {
    const byte first = length ? *(const byte *)bytes & 1 : 0;
    memcpy(state, &first, 1);
    return 1;
}

static int end_hash(unsigned char *digest, void *state) {
    memset(digest, *(const byte *)state, 32);
    return 1;
}

static void check_row(const struct scan *scan, const struct row *row) {
    const uint64_t *const at = &row->texts.sample;
    demand(row->start <= row->stop && row->stop < scan->size, "a line is in the bytes");
    demand(scan->bytes[row->stop] == '\n', "a line ends with a newline");
    if (!row->flags)
        return;
    for (size_t text = 0; text + 1 < sizeof row->texts / sizeof *at; text++)
        demand(at[text] <= at[text + 1], "texts are in order");
    demand(row->texts.end <= scan->most_bytes, "texts are in their room");
    demand(row->output <= row->output_end && row->output_end <= row->stop, "output is in the row");
    demand(row->turns <= row->turns_end && row->turns_end <= row->stop, "turns are in the row");
}

/* Look for values of a row that Python shows. */
static void check_values(const struct scan *scan, const struct row *row) {
    static const byte paths[] = "\xffsample_id\xffinput\xffreference\xff" "1\xffturns\xff" "0\xffx";
    struct place_of_value places[] = {{row->start, 10}, {row->start, 18}, {row->start, 10}};
    const size_t count = sizeof places / sizeof *places;
    if (!row->flags)
        return;
    find_values(scan->bytes, scan->size, paths, places, count);
    for (size_t value = 0; value < count; value++)
        demand(places[value].start <= places[value].stop && places[value].stop <= row->stop,
               "values are in the row");
}

/* Read a signature, as Python does where a row deviates, and now and then ignore its shapes. */
static void check_signature(const struct row *row, uint64_t which) {
    uint64_t size, sum = 0;
    if (!row->flags || !row->signature)
        return;
    const byte *const signature = eee_signature_at(scanner, row->signature, &size);
    for (uint64_t place = 0; place < size; place++)
        sum += signature[place];
    demand(size && sum, "a signature says something");
    if (which >> row->signature % 8 & 1)
        eee_ignore_shapes(scanner, row->signature);
}

/* Let rows of some likenesses be counted and not listed, and those of others be listed again. */
static void settle(const struct row *row, uint64_t which) {
    if (row->flags && row->likeness != NO_LIKENESS)
        eee_settle_likeness(scanner, row->likeness,
                        which >> row->likeness % 8 & 1 ? row->likeness % SLOTS : NO_SLOT);
}

static void check_ids(const struct scan *scan) {
    for (int id = 0; id < IDS; id++)
        demand(scan->ids[2 * id] <= scan->ids[2 * id + 1] && scan->ids[2 * id + 1] <= scan->size,
               "ids are in the bytes");
}

/* Scan all lines as Python does, a few at a time. Return how many rows were taken. */
static uint64_t scan_all(struct scan *scan, const struct demands *demands, uint64_t usual) {
    uint64_t scopes = 0, at = 0, line = 1, taken = 0;
    for (int pause = NO_MORE_ROOM; pause != NO_MORE_LINES; at = scan->at, line = scan->line) {
        scan->at = at;
        scan->line = line;
        scan->row_count = scan->kind_count = scan->record_count = scan->byte_count = 0;
        while ((pause = eee_scan_lines(scanner, scan)) == NEW_SCOPE) {
            const struct scope scope = {.usual = usual >> scopes++ % 8 & 1, .place = -1};
            check_ids(scan);
            eee_add_scope(scanner, &scope);
        }
        demand(pause == NO_MORE_LINES || scan->at > at, "there is progress");
        demand(scan->row_count <= scan->most_rows && scan->record_count <= scan->most_records,
               "rows and records have room");
        demand(!demands->lists_all || scan->record_count <= scan->row_count,
               "there is a row for each record");
        uint64_t counted = 0;
        for (uint64_t kind = 0; kind < scan->kind_count; kind++)
            counted += scan->kinds[kind].count;
        demand(counted == scan->record_count, "each taken row is of one kind");
        taken += counted;
        demand(scan->byte_count == 0 || demands->lists_all, "texts are kept where they are wanted");
        for (uint64_t row = 0; row < scan->row_count; row++) {
            check_row(scan, &scan->rows[row]);
            check_values(scan, &scan->rows[row]);
            check_signature(&scan->rows[row], ~usual);
            if (!demands->lists_all)
                settle(&scan->rows[row], usual);
        }
    }
    for (int slot = 0; slot < SLOTS; slot++)
        demand(scan->unlisted[slot].count <= taken, "rows that are not listed are taken");
    return taken;
}

static void *room(size_t count, size_t size) {
    void *const made = malloc(count * size ? count * size : 1);
    demand(made, "there is memory");
    return made;
}

int LLVMFuzzerTestOneInput(const byte *data, size_t size) {
    static const uint64_t most_bytes[SIZES] = {0, 1, 17, 64, 200, 1000, 5000, 1 << 16};
    if (size < HEAD)
        return 0;
    const struct config *const one = &config[data[0] % configs];
    struct demands demands;
    demand(one->size[PARTS - 1] == sizeof demands, "demands have their size");
    memcpy(&demands, one->part[PARTS - 1], sizeof demands);
    const struct tables tables = {one->part[0], one->part[1], one->part[2], one->part[3]};
    const struct hasher real = {start_hash, update_hash, end_hash, (uint64_t)demands.hash_digits / 2};
    const struct hasher none = {0};
    struct scan scan = {.size = size - HEAD, .longest = data[2] & 64 ? 300 : 1 << 20};
    scan.most_rows = 1 + data[1] % 16;
    scan.most_bytes = most_bytes[data[2] % SIZES];
    scan.offset_count = data[2] & 16 ? data[1] / 16 : 0;
    demands.lists_all = data[2] & 32 ? 1 : 0;
    byte *const bytes = room(scan.size, 1);
    memcpy(bytes, data + HEAD, scan.size);
    uint64_t *const offsets = room(scan.offset_count, sizeof *offsets);
    memset(offsets, 1, scan.offset_count * sizeof *offsets);
    scan.bytes = bytes;
    scan.offsets = data[2] & 16 ? offsets : NULL;
    scan.rows = room(scan.most_rows, sizeof *scan.rows);
    scan.most_records = 1 + data[1] % 24;
    scan.kinds = room(MOST_KINDS, sizeof *scan.kinds);
    scan.records = room(scan.most_records, sizeof *scan.records);
    scan.links = room(demands.links ? scan.most_records : 0, sizeof *scan.links);
    scan.texts = room(scan.most_bytes, 1);
    scan.unlisted = room(SLOTS, sizeof *scan.unlisted);
    const struct hasher *const hasher = data[2] & 128 ? &real : &none;
    uint64_t taken = 0;
    /* The second time with what is known of the lines. */
    for (int time = 0; time < 2; time++) {
        memset(scan.unlisted, 0, SLOTS * sizeof *scan.unlisted);
        const bool is_known = eee_start_block(scanner, &tables, &demands, hasher, time);
        const uint64_t now = scan_all(&scan, &demands, data[3]);
        demand(!is_known || now == taken, "what is known changes nothing");
        taken = now;
    }
    free(bytes);
    free(offsets);
    free(scan.rows);
    free(scan.kinds);
    free(scan.unlisted);
    free(scan.records);
    free(scan.links);
    free(scan.texts);
    return 0;
}
