#include "eee_scanner.h"

#include "eee_leak.h"
#include "fold.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

enum {
    MOST_SCOPES = 1024,
    MOST_KEY_BYTES = 1 << 18,
    MOST_SIGNATURES = 1024,
    MOST_SIGNATURES_BYTES = 1 << 20,
    LARGEST_IN_HEAP = 1 << 25,
};

/* How many words identify a kind, and a likeness. */
enum { WORDS = 4 };

enum { KIND_BUCKETS = 2 * MOST_KINDS, LIKENESS_BUCKETS = 2 * MOST_LIKENESSES };

/* What decides the violations of a row, but for the values in them. */
struct likeness {
    uint64_t part[WORDS]; /* scope, signature, shape and doubts */
    uint64_t slot;    /* where its rows are counted, NO_SLOT where they are listed */
};

enum { SHORT_TEXT = 16, HASH_DIGITS = 64, SHORT_TEXTS = 16 };

/* A short text that was found to have a SHA-256: many rows have the same reference. */
struct hashed_text {
    size_t length;
    byte text[SHORT_TEXT];
    byte hash[HASH_DIGITS];
};

/* A text among others: one behind the other in `letters`. */
struct key {
    size_t start, length;
    uint64_t hash;
};

struct scanner {
    struct tables tables;
    struct demands demands;
    struct hasher hasher;
    uint64_t end_of_lines; /* of the block; 0 before it is known */
    size_t scopes, last_scope;
    struct scope scope[MOST_SCOPES];
    struct key key[MOST_SCOPES];
    size_t letter_count; /* of known keys; behind them stands the one to find */
    byte letters[MOST_KEY_BYTES];
    size_t signatures, last_signature;
    struct key signature[MOST_SIGNATURES];
    bool ignores_shapes[MOST_SIGNATURES];
    bool digests_shapes; /* as they were wanted of the row before */
    size_t signature_bytes; /* of known ones */
    byte signature_letters[MOST_SIGNATURES_BYTES + MOST_SIGNATURE_BYTES];
    size_t last_kind;
    uint16_t kind_bucket[KIND_BUCKETS]; /* numbers from 1 */
    size_t likenesses, last_likeness;
    struct likeness likeness[MOST_LIKENESSES];
    uint16_t likeness_bucket[LIKENESS_BUCKETS]; /* numbers from 1 */
    struct hashed_text hashed_text[SHORT_TEXTS];
    struct facts facts;
    struct folding folding;
    struct replay replay;
};

void eee_tell_sizes(uint64_t sizes[9]) {
    sizes[0] = sizeof(struct node);
    sizes[1] = sizeof(struct demands);
    sizes[2] = sizeof(struct hasher);
    sizes[3] = sizeof(struct scope);
    sizes[4] = sizeof(struct scan);
    sizes[5] = sizeof(struct row);
    sizes[6] = sizeof(struct record);
    sizes[7] = sizeof(struct sample);
    sizes[8] = sizeof(struct row_kind);
}

#define PATH_OF_SLOT(name, path) path "\n"
#define TEXT_OF_RECIPE(name, text) text "\n"
#define CODE_OF_CHECK(code) #code "\n"

const char *eee_slot_paths(void) { return SLOTS(PATH_OF_SLOT); }

const char *eee_recipe_names(void) { return RECIPES(TEXT_OF_RECIPE); }

const char *eee_check_codes(void) { return CHECKS(CODE_OF_CHECK); }

/* Let blocks take the memory of those before them: the system clears each page that it gives again. */
static void keep_freed_memory(void) {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, LARGEST_IN_HEAP);
    mallopt(M_TRIM_THRESHOLD, LARGEST_IN_HEAP / 2);
#endif
}

struct scanner *eee_new_scanner(void) {
    keep_freed_memory();
    struct scanner *const scanner = calloc(1, sizeof *scanner);
    if (scanner)
        eee_start_facts(&scanner->facts);
    return scanner;
}

void eee_free_scanner(struct scanner *scanner) {
    free_folding(&scanner->folding);
    free(scanner);
}

void eee_learn_fold(struct scanner *scanner, uint64_t letter, const byte *fold, uint64_t length) {
    learn_letter(&scanner->folding, (uint32_t)letter, fold, length);
}

/* Tell whether there is room for as much as is known. */
static bool has_room(const struct scanner *scanner) {
    return scanner->scopes <= MOST_SCOPES / 2 && scanner->letter_count <= MOST_KEY_BYTES / 2 &&
           scanner->signatures <= MOST_SIGNATURES / 2 &&
           scanner->signature_bytes <= MOST_SIGNATURES_BYTES / 2 &&
           scanner->likenesses <= MOST_LIKENESSES / 2;
}

int eee_start_block(
    struct scanner *scanner, const struct tables *tables, const struct demands *demands,
    const struct hasher *hasher, int keeps
) {
    scanner->end_of_lines = 0;
    if (keeps && has_room(scanner))
        return true;
    scanner->tables = *tables;
    scanner->demands = *demands;
    scanner->hasher = *hasher;
    scanner->scopes = scanner->last_scope = scanner->letter_count = 0;
    scanner->signatures = scanner->last_signature = scanner->signature_bytes = 0;
    if (scanner->likenesses)
        memset(scanner->likeness_bucket, 0, sizeof scanner->likeness_bucket);
    scanner->likenesses = scanner->last_likeness = 0;
    scanner->replay.pieces = scanner->replay.count = scanner->replay.wait = scanner->replay.rest = 0;
    return false;
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

/* Return the place of a text among the known ones, their number for a new one. */
static size_t find_key(
    const struct key *keys, size_t count, const byte *letters, const struct key *text
) {
    size_t place = 0;
    while (place < count && (keys[place].hash != text->hash || keys[place].length != text->length ||
                             memcmp(letters + keys[place].start, letters + text->start, text->length)))
        place++;
    return place;
}

/* Tell whether a row has the ids of the row before. */
static bool is_last_scope(const struct scanner *scanner) {
    const struct key *const known = &scanner->key[scanner->last_scope];
    const byte *at = scanner->letters + known->start, *const stop = at + known->length;
    for (int slot = 0; slot < IDS; slot++) {
        const struct value *const value = &scanner->facts.slot[slot];
        const size_t count = value->kind == ABSENT ? 0 : (size_t)(value->stop - value->start);
        if ((size_t)(stop - at) <= count || at[count] != '\n' ||
            (count && memcmp(at, value->start, count)))
            return false;
        at += count + 1;
    }
    return at == stop;
}

enum { NOT_KNOWN = MOST_SCOPES, NO_ROOM };

/* Return the scope of a row. */
static size_t scope_of(struct scanner *scanner) {
    if (scanner->scopes && is_last_scope(scanner))
        return scanner->last_scope;
    struct key key = {.start = scanner->letter_count, .length = write_key(scanner)};
    if (!key.length)
        return NO_ROOM;
    key.hash = xxh64(scanner->letters + key.start, key.length, 0);
    const size_t scope = find_key(scanner->key, scanner->scopes, scanner->letters, &key);
    if (scope < scanner->scopes)
        return scanner->last_scope = scope;
    if (scope == MOST_SCOPES)
        return NO_ROOM;
    /* Ready for eee_add_scope. */
    scanner->key[scope] = key;
    return NOT_KNOWN;
}

void eee_add_scope(struct scanner *scanner, const struct scope *scope) {
    scanner->scope[scanner->scopes] = *scope;
    scanner->letter_count += scanner->key[scanner->scopes].length;
    scanner->last_scope = scanner->scopes++;
}

/* Return the text of the signature of the current row: it stands behind all known ones. */
static inline byte *new_signature(struct scanner *scanner) {
    return scanner->signature_letters + scanner->signature_bytes;
}

/* Return the number of a signature, from 1; 0 without room. */
static uint64_t signature_of(struct scanner *scanner, size_t length) {
    const struct key *const last = &scanner->signature[scanner->last_signature];
    const byte *const letters = scanner->signature_letters;
    struct key key = {.start = scanner->signature_bytes, .length = length};
    if (scanner->signatures && last->length == length &&
        !memcmp(letters + last->start, letters + key.start, length))
        return scanner->last_signature + 1;
    key.hash = xxh64(letters + key.start, length, 0);
    const size_t known = find_key(scanner->signature, scanner->signatures, letters, &key);
    if (known == scanner->signatures) {
        if (known == MOST_SIGNATURES || key.start + length > MOST_SIGNATURES_BYTES)
            return 0;
        scanner->signature[known] = key;
        scanner->signature_bytes += length;
        scanner->ignores_shapes[known] = !scanner->demands.seed;
        scanner->signatures++;
    }
    scanner->last_signature = known;
    return known + 1;
}

void eee_ignore_shapes(struct scanner *scanner, uint64_t signature) {
    scanner->ignores_shapes[signature - 1] = true;
}

const byte *eee_signature_at(const struct scanner *scanner, uint64_t signature, uint64_t *size) {
    const struct key *const key = &scanner->signature[signature - 1];
    *size = key->length;
    return scanner->signature_letters + key->start;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

/* Return the place of an entry that begins with some words, which mostly is the last one; `count` for a
   new one, and the unused bucket where its number belongs. */
static size_t find_entry(
    const void *entries, size_t size, size_t count, size_t last, uint16_t *buckets,
    size_t bucket_count, const uint64_t word[WORDS], uint16_t **unused
) {
    const byte *const first = entries;
    if (last < count && !memcmp(first + last * size, word, WORDS * sizeof *word))
        return last;
    size_t bucket = mix(mix(word[0], word[1]), word[2] ^ mix(0, word[3])) % bucket_count;
    for (; buckets[bucket]; bucket = (bucket + 1) % bucket_count)
        if (!memcmp(first + (buckets[bucket] - 1u) * size, word, WORDS * sizeof *word))
            return buckets[bucket] - 1u;
    *unused = &buckets[bucket];
    return count;
}

/* Count a row with those of its kind. Return false without room. */
static bool count_kind(struct scanner *scanner, struct scan *scan, const struct row *row) {
    uint64_t word[WORDS] = {row->scope, row->flags, row->doubts & DOUBTFUL_HASH};
    uint16_t *unused = NULL;
    memcpy(&word[WORDS - 1], &row->score, sizeof row->score);
    if (!scan->kind_count)
        memset(scanner->kind_bucket, 0, sizeof scanner->kind_bucket);
    const size_t kind = find_entry(
        scan->kinds, sizeof *scan->kinds, scan->kind_count, scanner->last_kind,
        scanner->kind_bucket, KIND_BUCKETS, word, &unused
    );
    if (kind == MOST_KINDS)
        return false;
    if (kind == scan->kind_count) {
        *unused = (uint16_t)++scan->kind_count;
        memcpy(&scan->kinds[kind], word, sizeof word);
        scan->kinds[kind].count = 0;
        scan->kinds[kind].first = row->line;
    }
    scan->kinds[kind].count++;
    scanner->last_kind = kind;
    return true;
}

/* Return the number of a row's likeness. */
static uint64_t likeness_of(struct scanner *scanner, const struct row *row) {
    const uint64_t word[WORDS] = {row->scope, row->signature, row->shape, row->doubts};
    uint16_t *unused = NULL;
    const size_t likeness = find_entry(
        scanner->likeness, sizeof *scanner->likeness, scanner->likenesses,
        scanner->last_likeness, scanner->likeness_bucket, LIKENESS_BUCKETS, word, &unused
    );
    if (likeness == MOST_LIKENESSES)
        return NO_LIKENESS;
    if (likeness == scanner->likenesses) {
        *unused = (uint16_t)++scanner->likenesses;
        memcpy(scanner->likeness[likeness].part, word, sizeof word);
        scanner->likeness[likeness].slot = NO_SLOT;
    }
    return scanner->last_likeness = likeness;
}

void eee_settle_likeness(struct scanner *scanner, uint64_t likeness, uint64_t slot) {
    scanner->likeness[likeness].slot = slot;
}

/* Tell whether a taken row is listed; otherwise it is counted, if it is not sound. A row is listed in
   any case if it `is_wanted`. */
static bool must_list(
    struct scanner *scanner, const struct scan *scan, struct row *row, bool is_wanted
) {
    const bool is_sound =
        !row->signature && !row->doubts && !scanner->scope[row->scope].listed;
    row->likeness = NO_LIKENESS;
    if (is_sound)
        return is_wanted;
    row->likeness = likeness_of(scanner, row);
    if (is_wanted || row->likeness == NO_LIKENESS || scanner->likeness[row->likeness].slot == NO_SLOT)
        return true;
    struct unlisted *const unlisted = &scan->unlisted[scanner->likeness[row->likeness].slot];
    if (!unlisted->count++)
        unlisted->first = row->line;
    return false;
}

static void place(const struct scan *scan, const struct value *value, uint64_t *start_and_stop) {
    const bool is_there = value->kind != ABSENT;
    start_and_stop[0] = is_there ? (uint64_t)(value->start - scan->bytes) : 0;
    start_and_stop[1] = is_there ? (uint64_t)(value->stop - scan->bytes) : 0;
}

/* Tell whether a recipe gives the hash of a row; perhaps, without room. */
static enum answer is_hash_of(
    const struct scanner *scanner, const struct texts *texts, const struct row *row,
    enum recipe recipe, bool ascii
) {
    struct texts covered = *texts;
    eee_write_covered(&scanner->facts, recipe, ascii, &covered);
    if (covered.full)
        return PERHAPS;
    return has_digest(&scanner->hasher, covered.data + texts->size, covered.size - texts->size,
                      texts->data + row->texts.hash) ? YES : NO;
}

/* Tell whether two recipes digest the same text of a row. */
static bool digest_alike(const struct facts *facts, enum recipe one, enum recipe other) {
    const uint32_t either = 1u << one | 1u << other;
    return one == other ||
           (facts->references.count <= 1 && either == (1u << CONCAT | 1u << CONCAT_FIRST));
}

static bool has_letters(const struct span *span) {
    byte highest = span->unusual ? 0x7F : 0;
    for (size_t place = 0; place < span->length; place++)
        highest = span->start[place] > highest ? span->start[place] : highest;
    return highest >= 0x7F;
}

/* Tell whether JSON may show the input of a row in two ways: all ASCII, and with other letters. */
static bool varies_in_json(const struct facts *facts) {
    bool varies = has_letters(text_of(facts, RAW));
    for (size_t place = 0; place < facts->references.count && !varies; place++)
        varies = has_letters(&facts->references.span[place]);
    return varies;
}

/* Check the hash of a row: where no recipe gives it that the file may follow, it is wrong; where
   another one does, or nothing can tell, others have to look. JSON may hold letters beyond ASCII. */
static void check_hash(const struct scanner *scanner, const struct texts *texts, struct row *row) {
    const struct row_texts *const at = &row->texts;
    const struct demands *const demands = &scanner->demands;
    if (!scanner->hasher.update || row->flags & (UNHASHED | UNCHECKED) ||
        row->doubts & DOUBTFUL_HASH)
        return;
    if (!digest_bytes(&scanner->hasher, texts->data + at->covered, at->mark - at->covered,
                      row->digest)) {
        row->doubts |= DOUBTFUL_HASH;
        return;
    }
    if (is_digest(&scanner->hasher, row->digest, texts->data + at->hash))
        return;
    const enum recipe own = (enum recipe)demands->recipe;
    const bool varies = varies_in_json(&scanner->facts);
    if (varies && own >= JSON_STR && is_hash_of(scanner, texts, row, own, false) == YES)
        return;
    for (enum recipe recipe = CONCAT; recipe < RECIPE_COUNT; recipe++)
        if (demands->tried >> recipe & 1 &&
            ((!digest_alike(&scanner->facts, recipe, own) &&
              is_hash_of(scanner, texts, row, recipe, true) != NO) ||
             (varies && recipe >= JSON_STR && is_hash_of(scanner, texts, row, recipe, false) != NO))) {
            row->doubts |= DOUBTFUL_HASH;
            return;
        }
    row->flags |= WRONG_HASH;
}

/* Tell whether a text has a SHA-256, given as hex digits, and remember it if it is short. */
static bool has_hash(
    struct scanner *scanner, const byte *text, size_t length, const byte *digits
) {
    struct hashed_text *const known =
        &scanner->hashed_text[length ? text[length - 1] % SHORT_TEXTS : 0];
    if (length > SHORT_TEXT)
        return has_digest(&scanner->hasher, text, length, digits);
    if (known->length == length && equal(known->text, text, length) &&
        !memcmp(known->hash, digits, HASH_DIGITS))
        return true;
    if (!has_digest(&scanner->hasher, text, length, digits))
        return false;
    known->length = length;
    copy_bytes(known->text, text, length);
    memcpy(known->hash, digits, HASH_DIGITS);
    return true;
}

/* Tell whether a text has the hash that the harness logged of it; perhaps, if it logged none. */
static enum answer has_logged_hash(
    struct scanner *scanner, enum slot slot, const byte *text, size_t length
) {
    const struct value *const hash = &scanner->facts.slot[slot];
    if (hash->kind != STRING || hash->span.length != HASH_DIGITS)
        return PERHAPS;
    if (has_hash(scanner, text, length, hash->span.start))
        return YES;
    return are_hex_digits(hash->span.start, HASH_DIGITS) ? NO : PERHAPS;
}

/* Compare input.raw and a single reference, or none, with what lm-eval hashed, by SHA-256. */
static void check_log(struct scanner *scanner, const struct texts *texts, struct row *row) {
    enum { APART = 0xFF };
    const struct value *const formatted = &scanner->facts.slot[FORMATTED];
    if (!(scanner->demands.checks & ES410) || !scanner->hasher.update ||
        2 * scanner->hasher.size != HASH_DIGITS)
        return;
    if (row->flags & UNCOVERED || formatted->kind > NULL_KIND) {
        row->flags |= UNLOGGED;
        return;
    }
    const byte *const raw = texts->data + row->texts.input;
    const byte *const apart = texts->data + row->texts.reference;
    const byte *const end = texts->data + row->texts.choices;
    const byte *const target = apart < end ? apart + 1 : end;
    const bool single = !memchr(target, APART, (size_t)(end - target));
    const enum answer prompted =
        has_logged_hash(scanner, PROMPT_HASH, raw, (size_t)(apart - raw));
    const enum answer targeted =
        single ? has_logged_hash(scanner, TARGET_HASH, target, (size_t)(end - target)) : PERHAPS;
    row->flags |= prompted != PERHAPS && (targeted != PERHAPS || !single) ? LOGGED : UNLOGGED;
    if (prompted == NO || targeted == NO)
        row->flags |= UNLIKE_LOG;
    else if (prompted == YES || targeted == YES)
        row->flags |= LIKE_LOG;
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
    if (row->flags & UNCOVERED || at->choices == at->input)
        memset(record->input, 0, DIGEST_BYTES);
    else
        write_digests(texts + at->input, at->choices - at->input, scope->evaluation,
                      scope->evaluation, record->input);
    record->content = content_digest(scan->bytes + row->start, row->stop - row->start);
    record->output = compares && choices ? xxh64(texts + at->choices, choices, 0) : 0;
    record->mark = at->linked > at->mark ? xxh64(texts + at->mark, at->linked - at->mark, 0) : 0;
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
    link->input = xxh64(texts + at->input, at->reference - at->input, link->sample);
    link->input = xxh64(texts + at->linked, at->options - at->linked, link->input);
    link->input = row->flags & UNCOVERED ? 0 : link->input + (link->input == 0);
    link->line = record->line;
    link->offset = record->offset;
}

/* Digest a text; 0 is for texts that a row does not have. */
static uint64_t digest_of(const byte *texts, uint64_t start, uint64_t stop, uint64_t seed) {
    const uint64_t digest = xxh64(texts + start, stop - start, seed);
    return digest + (digest == 0);
}

/* Write both halves of the identity of a sample. */
static void identify(
    const byte *texts, uint64_t start, uint64_t stop, uint64_t seed, struct sample *sample
) {
    sample->high = xxh64(texts + start, stop - start, seed);
    sample->low = xxh64(texts + start, stop - start, other_seed(seed));
}

/* Digest the raw input and the choices, folded; they are written behind the texts. Return 0 where
   Python has to: for letters that are not known, and without room. */
static uint64_t digest_folded(
    const struct folding *folding, const struct texts *texts, const struct row_texts *at
) {
    byte *const data = texts->data, *const room = data + texts->size;
    const byte *const limit = data + texts->capacity;
    byte *end = write_folded(folding, data + at->input, data + at->reference, room, limit);
    end = end ? write_folded(folding, data + at->options, data + at->prompt, end, limit) : NULL;
    return end ? digest_of(room, 0, (uint64_t)(end - room), 0) : 0;
}

static void write_sample(
    const struct scanner *scanner, const struct row *row, const struct texts *written,
    const struct record *record, struct sample *sample
) {
    const enum identity identity = (enum identity)scanner->demands.identity;
    const struct row_texts *const at = &row->texts;
    const byte *const texts = written->data;
    const bool has_options = at->prompt > at->options, has_input = !(row->flags & UNCOVERED);
    const uint64_t options =
        has_options ? xxh64(texts + at->options, at->prompt - at->options, 0) : 0;
    memset(sample, 0, sizeof *sample);
    if (identity == BY_INPUT && has_input)
        identify(texts, at->input, at->choices, options, sample);
    else if (identity == BY_HASH && at->input > at->hash)
        identify(texts, at->hash, at->input, 0, sample);
    else if (identity == BY_ID && at->hash > at->sample)
        identify(texts, at->sample, at->hash, 0, sample);
    if (at->hash > at->sample)
        sample->sample = digest_of(texts, at->sample, at->hash, 0);
    sample->group = row->scope;
    sample->line = record->line;
    sample->offset = record->offset;
    sample->score = row->score;
    sample->flags = row->flags & FAILED ? HAS_FAILED : 0;
    if (!(row->flags & UNJUDGED))
        sample->flags |= row->flags & IS_CORRECT ? IS_RIGHT : IS_WRONG;
    if (has_input) {
        sample->question = digest_of(texts, at->input, at->reference, options);
        sample->input = identity == BY_INPUT
                            ? sample->high + (sample->high == 0)
                            : digest_of(texts, at->input, at->choices, options);
        sample->cluster = digest_folded(&scanner->folding, written, at);
    }
    if (at->end > at->prompt)
        sample->prompt = digest_of(texts, at->prompt, at->end, 0);
}

/* Walk the line that begins where the row starts, and find its end. Return whether it is an object,
   and nothing else, of which all can be told. */
static bool walk_line(
    struct scanner *scanner, struct walk *walk, const struct scan *scan, struct row *row
) {
    const byte *const line = scan->bytes + row->start, *at = skip_spaces(line);
    if (*at == '{') {
        const byte *const start = at;
        eee_clear_facts(&scanner->facts);
        if (!(at = replay_value(&scanner->replay, walk, start))) {
            eee_clear_facts(&scanner->facts);
            at = learn_value(&scanner->replay, walk, start);
        }
        at = at ? skip_spaces(at) : NULL;
    } else {
        at = NULL;
    }
    const bool is_whole = at && *at == '\n';
    /* No token holds a newline, so the first one is at the end. */
    if (!is_whole)
        at = memchr(line, '\n', scan->size - row->start);
    row->stop = (uint64_t)(at - scan->bytes);
    if (!is_whole || row->stop - row->start > scan->longest)
        return false;
    eee_check_conditions(walk, &scanner->demands);
    return !walk->signature.full && (scanner->demands.deviating || !walk->signature.size);
}

/* Find the end of a line, and take its row if it can be told of. Return whether its scope is
   known. */
static bool look(struct scanner *scanner, struct scan *scan, struct texts *texts, struct row *row) {
    struct facts *const facts = &scanner->facts;
    struct walk walk;
    walk.tables = &scanner->tables;
    walk.end = scan->bytes + scan->size;
    walk.keep = eee_keep_fact;
    walk.facts = facts;
    walk.slots = facts->slot;
    walk.records = NULL;
    walk.first_collected = FIRST_COLLECTED;
    walk.seed = scanner->demands.seed;
    walk.digests = scanner->digests_shapes;
    walk.signature = (struct texts){
        .data = new_signature(scanner), .capacity = MOST_SIGNATURE_BYTES
    };
    uint64_t flags = TAKEN;
    uint32_t doubts = NO_CHECK;
    if (!walk_line(scanner, &walk, scan, row) ||
        (scan->offsets && scan->line > scan->offset_count) ||
        !eee_judge(facts, &scanner->demands, &flags, &doubts))
        return true;
    flags |= scan->bytes[row->stop - 1] == '\r' ? CARRIAGE_RETURN : 0;
    const size_t scope = scope_of(scanner);
    if (scope == NOT_KNOWN) {
        for (int id = 0; id < IDS; id++)
            place(scan, &facts->slot[id], scan->ids + 2 * id);
        return false;
    }
    if (scope == NO_ROOM || !scanner->scope[scope].usual)
        return true;
    if (walk.signature.size && !(row->signature = signature_of(scanner, walk.signature.size)))
        return true;
    if (!eee_write_row(facts, &scanner->demands, texts, &row->texts, &flags, &doubts))
        return true;
    row->flags = walk.watched ? flags | WATCHED : flags;
    doubts |= eee_doubts_of_leaks(
        facts, &scanner->demands, scan->bytes + row->start, scan->bytes + row->stop, *texts
    );
    row->doubts = doubts | scanner->scope[scope].doubts;
    row->scope = scope;
    scanner->digests_shapes = row->signature && !scanner->ignores_shapes[row->signature - 1];
    if (scanner->digests_shapes)
        row->shape = shape_of(&walk, skip_spaces(scan->bytes + row->start));
    row->score = eee_score_of(facts);
    check_hash(scanner, texts, row);
    check_log(scanner, texts, row);
    row->doubts |= (row->flags & WATCHED ? DOUBTFUL_WATCHED : 0) |
                   (row->flags & WRONG_HASH ? CERTAIN_HASH : 0);
    place(scan, &facts->slot[OUTPUT], &row->output);
    place(scan, &facts->slot[TURNS], &row->turns);
    struct record *const record = &scan->records[scan->record_count];
    const bool compares = scanner->demands.compares != 0;
    write_record(scan, &scanner->scope[scope], row, texts->data, compares, record);
    if (scanner->demands.links)
        write_link(row, texts->data, record, &scan->links[scan->record_count]);
    if (scanner->demands.identity)
        write_sample(scanner, row, texts, record, &scan->samples[scan->record_count]);
    return true;
}

/* Return the end of the last line that has a newline. */
static uint64_t end_of_lines(const struct scan *scan) {
    uint64_t stop = scan->size;
    while (stop && scan->bytes[stop - 1] != '\n')
        stop--;
    return stop;
}

/* Tell whether the question of a row that was just taken is for Python to digest. */
static bool is_unread(
    const struct scanner *scanner, const struct scan *scan, const struct row *row
) {
    return scanner->demands.identity && !(row->flags & UNCOVERED) &&
           !scan->samples[scan->record_count].cluster;
}

int eee_scan_lines(struct scanner *scanner, struct scan *scan) {
    if (!scanner->end_of_lines)
        scanner->end_of_lines = end_of_lines(scan);
    while (scan->at < scanner->end_of_lines) {
        if (scan->row_count == scan->most_rows || scan->record_count == scan->most_records)
            return NO_MORE_ROOM;
        struct texts texts = {scan->texts, scan->byte_count, scan->most_bytes, false};
        struct row *const row = &scan->rows[scan->row_count];
        memset(row, 0, sizeof *row);
        row->start = scan->at;
        row->line = scan->line;
        if (!look(scanner, scan, &texts, row))
            return NEW_SCOPE;
        if (texts.full && scan->byte_count)
            return NO_MORE_ROOM;
        if (!(row->flags & TAKEN)) {
            scan->row_count++;
        } else {
            if (!count_kind(scanner, scan, row))
                return NO_MORE_ROOM;
            const bool is_wanted = scanner->demands.lists_all || is_unread(scanner, scan, row);
            scan->record_count++;
            if (must_list(scanner, scan, row, is_wanted))
                scan->row_count++;
            if (is_wanted)
                scan->byte_count = texts.size;
        }
        scan->at = row->stop + 1;
        scan->line++;
    }
    return NO_MORE_LINES;
}
