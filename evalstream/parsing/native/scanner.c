#include "scanner.h"

#include "leak.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SCOPES = 1024, MOST_KEY_BYTES = 1 << 18 };

/* The ids that rows share, as they are written: one behind the other, each with a newline. */
struct key {
    size_t start, length; /* in `letters` */
    uint64_t hash;
};

struct scanner {
    struct tables tables;
    struct demands demands;
    struct hasher hasher;
    size_t scopes, last_scope;
    struct scope scope[MOST_SCOPES];
    struct key key[MOST_SCOPES];
    size_t letter_count; /* of known keys; behind them stands the one that is looked for */
    byte letters[MOST_KEY_BYTES];
    struct facts facts;
};

void tell_sizes(uint64_t sizes[7]) {
    sizes[0] = sizeof(struct node);
    sizes[1] = sizeof(struct demands);
    sizes[2] = sizeof(struct hasher);
    sizes[3] = sizeof(struct scope);
    sizes[4] = sizeof(struct scan);
    sizes[5] = sizeof(struct row);
    sizes[6] = sizeof(struct record);
}

#define PATH_OF_SLOT(name, path) path "\n"
#define TEXT_OF_RECIPE(name, text) text "\n"
#define CODE_OF_RULE(code) #code "\n"

#ifndef SOURCES_DIGEST
#define SOURCES_DIGEST ""
#endif

const char *slot_paths(void) { return SLOTS(PATH_OF_SLOT); }

const char *recipe_names(void) { return RECIPES(TEXT_OF_RECIPE); }

const char *check_codes(void) { return CHECKS(CODE_OF_RULE); }

const char *prefilter_codes(void) { return PREFILTERS(CODE_OF_RULE); }

const char *sources_digest(void) { return SOURCES_DIGEST; }

struct scanner *new_scanner(void) {
    struct scanner *const scanner = calloc(1, sizeof *scanner);
    if (scanner)
        start_facts(&scanner->facts);
    return scanner;
}

void free_scanner(struct scanner *scanner) { free(scanner); }

void start_block(
    struct scanner *scanner, const struct tables *tables, const struct demands *demands,
    const struct hasher *hasher
) {
    scanner->tables = *tables;
    scanner->demands = *demands;
    scanner->hasher = *hasher;
    scanner->scopes = scanner->last_scope = scanner->letter_count = 0;
}

/* Write the ids of a row behind the keys that are known. Return the length, 0 without room. */
static size_t write_key(struct scanner *scanner) {
    byte *const letters = scanner->letters + scanner->letter_count;
    const size_t room = MOST_KEY_BYTES - scanner->letter_count;
    size_t length = 0;
    for (int slot = 0; slot < IDS; slot++) {
        const struct value *const value = &scanner->facts.slot[slot];
        const size_t count = value->kind == ABSENT ? 0 : (size_t)(value->stop - value->start);
        if (room - length < count + 1)
            return 0;
        if (count)
            memcpy(letters + length, value->start, count);
        length += count;
        letters[length++] = '\n';
    }
    return length;
}

static bool is_key(const struct scanner *scanner, size_t scope, const byte *key, size_t length) {
    const struct key *const known = &scanner->key[scope];
    return known->length == length && !memcmp(scanner->letters + known->start, key, length);
}

enum { NOT_KNOWN = MOST_SCOPES, NO_ROOM };

/* Return the scope of a row. */
static size_t scope_of(struct scanner *scanner) {
    const size_t length = write_key(scanner);
    const byte *const key = scanner->letters + scanner->letter_count;
    if (!length)
        return NO_ROOM;
    if (scanner->scopes && is_key(scanner, scanner->last_scope, key, length))
        return scanner->last_scope;
    const uint64_t hash = xxh64(key, length, 0);
    for (size_t scope = 0; scope < scanner->scopes; scope++) {
        if (scanner->key[scope].hash == hash && is_key(scanner, scope, key, length)) {
            scanner->last_scope = scope;
            return scope;
        }
    }
    if (scanner->scopes == MOST_SCOPES)
        return NO_ROOM;
    /* Ready for add_scope. */
    scanner->key[scanner->scopes] = (struct key){scanner->letter_count, length, hash};
    return NOT_KNOWN;
}

void add_scope(struct scanner *scanner, const struct scope *scope) {
    scanner->scope[scanner->scopes] = *scope;
    scanner->letter_count += scanner->key[scanner->scopes].length;
    scanner->last_scope = scanner->scopes++;
}

static void place(const struct scan *scan, const struct value *value, uint64_t *start_and_stop) {
    const bool is_there = value->kind != ABSENT;
    start_and_stop[0] = is_there ? (uint64_t)(value->start - scan->bytes) : 0;
    start_and_stop[1] = is_there ? (uint64_t)(value->stop - scan->bytes) : 0;
}

/* Tell whether the hash of a row is that of its input; where nothing can tell, others have to. */
static bool is_rightly_hashed(
    const struct scanner *scanner, const struct texts *texts, const struct row_texts *at
) {
    return !scanner->hasher.start || scanner->demands.recipe == NO_RECIPE ||
           has_digest(&scanner->hasher, texts->data + at->covered, at->mark - at->covered,
                      texts->data + at->hash);
}

static void write_record(
    const struct scan *scan, const struct scope *scope, const struct row *row,
    const byte *texts, bool compares, struct record *record
) {
    const struct row_texts *const at = &row->texts;
    const uint64_t turned = row->flags & NUMBERED ? ~(uint64_t)0 : 0;
    const size_t choices = at->covered - at->choices;
    record->line = scan->line;
    write_digests(texts + at->sample, at->hash - at->sample, scope->name ^ turned,
                  scope->evaluation ^ turned, record->sample);
    write_digests(texts + at->input, at->choices - at->input, scope->evaluation,
                  scope->evaluation, record->input);
    record->content = xxh64(scan->bytes + row->start, row->stop - row->start, 0);
    record->output = compares && choices ? xxh64(texts + at->choices, choices, 0) : 0;
    record->mark = at->raw > at->mark ? xxh64(texts + at->mark, at->raw - at->mark, 0) : 0;
    record->result = scope->result;
    record->place = scope->place;
    record->offset = scan->offsets ? scan->offsets[scan->line - 1] : scan->base + row->start;
    record->name = scope->name;
    record->score = row->score;
}

static void write_link(
    const struct row *row, const byte *texts, const struct record *record, struct link *link
) {
    const struct row_texts *const at = &row->texts;
    const uint64_t numbered = row->flags & NUMBERED ? 1 : 0;
    link->sample = xxh64(texts + at->sample, at->hash - at->sample, numbered);
    link->input = xxh64(texts + at->raw, at->reference - at->raw, link->sample);
    link->input = xxh64(texts + at->reference, at->end - at->reference, link->input);
    link->input += link->input == 0;
    link->line = record->line;
    link->offset = record->offset;
}

/* Accept a line whose row is all that it seems, and tell of it. Return whether its scope is
   known. */
static bool look(struct scanner *scanner, struct scan *scan, struct texts *texts, struct row *row) {
    const byte *const line = scan->bytes + row->start, *const stop = scan->bytes + row->stop;
    struct facts *const facts = &scanner->facts;
    struct walk walk = {
        .tables = &scanner->tables,
        .end = scan->bytes + scan->size,
        .keep = keep_fact,
        .facts = facts,
    };
    uint64_t flags = stop > line && stop[-1] == '\r' ? ACCEPTED | CARRIAGE_RETURN : ACCEPTED;
    if (scan->offsets && scan->line > scan->offset_count)
        return true;
    clear_facts(facts);
    const byte *const at = walk_value(&walk, skip_spaces(line));
    if (!at || skip_spaces(at) != stop || !accepts(facts, &scanner->demands, &flags))
        return true;
    const size_t scope = scope_of(scanner);
    if (scope == NOT_KNOWN) {
        for (int id = 0; id < IDS; id++)
            place(scan, &facts->slot[id], scan->ids + 2 * id);
        return false;
    }
    if (scope == NO_ROOM || !scanner->scope[scope].usual ||
        !write_row(facts, &scanner->demands, texts, &row->texts, &flags) ||
        !is_rightly_hashed(scanner, texts, &row->texts))
        return true;
    if (walk.watched || may_leak(facts, &scanner->demands, line, stop, *texts))
        flags |= WATCHED;
    row->flags = flags;
    row->scope = scope;
    row->score = facts->slot[SCORE].number.value;
    place(scan, &facts->slot[OUTPUT], &row->output);
    place(scan, &facts->slot[TURNS], &row->turns);
    struct record *const record = &scan->records[scan->record_count];
    const bool compares = scanner->demands.compares != 0;
    write_record(scan, &scanner->scope[scope], row, texts->data, compares, record);
    if (scanner->demands.links)
        write_link(row, texts->data, record, &scan->links[scan->record_count]);
    return true;
}

int scan_lines(struct scanner *scanner, struct scan *scan) {
    while (scan->at < scan->size) {
        const byte *const line = scan->bytes + scan->at;
        const byte *const newline = memchr(line, '\n', scan->size - scan->at);
        if (!newline)
            return NO_MORE_LINES;
        if (scan->row_count == scan->most_rows)
            return NO_MORE_ROOM;
        struct texts texts = {scan->texts, scan->byte_count, scan->most_bytes, false};
        struct row *const row = &scan->rows[scan->row_count];
        memset(row, 0, sizeof *row);
        row->start = scan->at;
        row->stop = (uint64_t)(newline - scan->bytes);
        if (row->stop - row->start <= scan->longest && !look(scanner, scan, &texts, row))
            return NEW_SCOPE;
        if (texts.full && scan->byte_count)
            return NO_MORE_ROOM;
        if (row->flags & ACCEPTED) {
            scan->record_count++;
            if (scanner->demands.keeps_texts)
                scan->byte_count = texts.size;
        }
        scan->at = row->stop + 1;
        scan->line++;
        scan->row_count++;
    }
    return NO_MORE_LINES;
}
