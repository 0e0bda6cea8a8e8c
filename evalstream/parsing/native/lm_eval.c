#include "lm_eval.h"

#include "canonical.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_METRICS = 32, /* of a row */
    MOST_DEPTH = 64,
    DIGEST_BYTES = LM_DIGESTS / 3,
};

/* The members of a row, beside its metrics; from DOC to RESPS the rows of a doc have the same. */
enum member {
    DOC_ID, DOC, TARGET, ARGUMENTS, RESPS, FILTERED, FILTER, METRICS, DOC_HASH, PROMPT_HASH,
    TARGET_HASH, MEMBERS
};

#define NAME(text) {.start = (const byte *)(text), .length = sizeof(text) - 1}
static const struct span names[MEMBERS] = {
    NAME("doc_id"), NAME("doc"), NAME("target"), NAME("arguments"), NAME("resps"),
    NAME("filtered_resps"), NAME("filter"), NAME("metrics"), NAME("doc_hash"), NAME("prompt_hash"),
    NAME("target_hash"),
};

struct lm_row {
    uint64_t seen; /* members, as bits */
    uint64_t doc_id;
    const byte *starts[FILTERED + 1], *stops[FILTERED + 1]; /* of its first members */
    struct span target, prompt, filter, metrics, hashes[3];
    byte digests[3][MOST_DIGEST_BYTES]; /* those of its texts */
    bool has_prompt;
    struct span keys[MOST_METRICS];
    double values[MOST_METRICS];
    size_t metric_count;
    struct span gold; /* the value of the doc that is its target, as it is written */
    size_t doc_size; /* its text is at the start of the scan's texts */
    struct lm_answers answers;
};

struct reader {
    struct cursor cursor;
    enum lm_scoring scoring;
    struct texts *texts; /* the text of the doc, as it is written */
    struct span gold_name;
};

static bool is_number_at(const byte *at) { return *at == '-' || is_digit(*at); }

/* Note the member of a doc that is its target, as it is written. Return NULL for a doc that may not
   be read. */
static const byte *note_gold(const struct reader *reader, const byte *at, struct span *gold) {
    struct span name;
    bool ended = *at != '{';
    at = ended ? at : begin_items(&reader->cursor, at, '}', &ended);
    while (at && !ended) {
        const byte *const start = read_name(&reader->cursor, at, &name);
        at = start ? skip_value(&reader->cursor, start, 1) : NULL;
        if (at && same(&name, &reader->gold_name))
            *gold = (struct span){.start = start, .length = (size_t)(at - start)};
        at = next_item(&reader->cursor, at, '}', &ended);
    }
    return at;
}

static const byte *read_text(const struct reader *reader, const byte *at, struct span *span) {
    return *at == '"' ? read_string(at + 1, reader->cursor.end, span) : NULL;
}

/* Read a text that is mostly an earlier one again, without its quotes. */
static const byte *read_text_again(
    const struct reader *reader, const byte *at, const struct span *earlier, struct span *span
) {
    const size_t size = earlier->length + 2;
    if ((size_t)(reader->cursor.end - at) < size || memcmp(at, earlier->start - 1, size))
        return read_text(reader, at, span);
    *span = *earlier;
    span->start = at + 1;
    return at + size;
}

/* Tell whether a member has a name that ends in its place among the others. */
static bool is_numbered(const struct span *key, const char *name, size_t place) {
    char text[32];
    if (place > 9)
        return snprintf(text, sizeof text, "%s%zu", name, place) > 0 && is(key, text);
    const size_t length = strlen(name);
    return key->length == length + 1 && !memcmp(key->start, name, length) &&
           key->start[length] == '0' + (byte)place;
}

/* Read a request: an object of numbered arguments, of which the first is the prompt, mostly that of the
   `first` request. */
static const byte *read_request(
    const struct reader *reader, const byte *at, const struct span *first, struct span *prompt,
    struct span *choice
) {
    struct keys keys;
    bool ended;
    size_t place = 0;
    keys.count = 0;
    prompt->start = choice->start = NULL;
    if (*at != '{')
        return NULL;
    at = begin_items(&reader->cursor, at, '}', &ended);
    while (at && !ended) {
        at = read_key(&reader->cursor, at, &keys);
        if (!at || !is_numbered(last_key(&keys), "arg_", place))
            return NULL;
        if (place == 0)
            at = first ? read_text_again(reader, at, first, prompt) : read_text(reader, at, prompt);
        else if (reader->scoring == LM_CHOICES && place == 1)
            at = read_text(reader, at, choice);
        else
            at = skip_value(&reader->cursor, at, 3);
        place++;
        at = next_item(&reader->cursor, at, '}', &ended);
    }
    return at;
}

/* Read a request of several. */
static const byte *read_choice(
    const struct reader *reader, const byte *at, struct lm_answers *answers
) {
    const size_t place = answers->request_count++;
    if (place == MOST_LM_CHOICES)
        return NULL;
    const struct span *const first = place ? &answers->prompts[0] : NULL;
    at = read_request(reader, at, first, &answers->prompts[place], &answers->choices[place]);
    return at && answers->prompts[place].start && answers->choices[place].start ? at : NULL;
}

static const byte *read_arguments(const struct reader *reader, const byte *at, struct lm_row *row) {
    struct span other, unused;
    struct keys keys;
    bool ended;
    size_t place = 0;
    keys.count = 0;
    if (*at != '{')
        return NULL;
    at = begin_items(&reader->cursor, at, '}', &ended);
    while (at && !ended) {
        at = read_key(&reader->cursor, at, &keys);
        if (!at || !is_numbered(last_key(&keys), "gen_args_", place))
            return NULL;
        if (reader->scoring == LM_CHOICES) {
            at = read_choice(reader, at, &row->answers);
            row->prompt = row->answers.prompts[0];
            row->has_prompt = true;
        } else {
            at = read_request(reader, at, NULL, place ? &other : &row->prompt, &unused);
            row->has_prompt = row->prompt.start;
        }
        place++;
        at = next_item(&reader->cursor, at, '}', &ended);
    }
    return at;
}

/* Read the answers to all requests: mostly one text. */
static const byte *read_answers(
    const struct reader *reader, const byte *at, struct lm_answers *answers
) {
    answers->resps = at;
    if (*at != '[' || at[1] != '[' || at[2] != '"')
        return *at == '[' ? skip_value(&reader->cursor, at, 1) : NULL;
    const byte *const stop = read_text(reader, at + 2, &answers->only);
    if (stop && *stop == ']' && stop[1] == ']')
        return stop + 2;
    answers->only.start = NULL;
    return skip_value(&reader->cursor, at, 1);
}

/* Read the answers of a filter: mostly the one text, if there is one. */
static const byte *read_filtered(
    const struct reader *reader, const byte *at, struct lm_answers *answers
) {
    const struct span *const only = &answers->only;
    answers->filtered = at;
    if (*at != '[')
        return NULL;
    if (only->start && (size_t)(reader->cursor.end - at) > only->length + 4) {
        const size_t size = only->length + 2;
        answers->is_only = at[size + 1] == ']' && !memcmp(at + 1, only->start - 1, size);
        if (answers->is_only)
            return at + size + 2;
    }
    return skip_value(&reader->cursor, at, 1);
}

/* Read the names of the metrics into a span of what is between the brackets. */
static const byte *read_metrics(const struct reader *reader, const byte *at, struct lm_row *row) {
    const byte *const stop = *at == '[' ? skip_value(&reader->cursor, at, 1) : NULL;
    if (stop)
        row->metrics = (struct span){.start = at + 1, .length = (size_t)(stop - at - 2)};
    return stop;
}

static const byte *read_doc_id(const byte *at, struct lm_row *row) {
    struct number number;
    const byte *const stop = *at == '-' ? NULL : read_number(at, &number);
    if (!stop || !number.whole || !number.exact)
        return NULL;
    row->doc_id = (uint64_t)number.value;
    return stop;
}

static const byte *read_metric(const struct reader *reader, const byte *at, double *value) {
    if (is_number_at(at)) {
        struct number number;
        const byte *const stop = read_number(at, &number);
        *value = stop ? number.value : NAN;
        return !stop || (number.whole && !number.exact) ? NULL : stop;
    }
    if (*at == '"' || *at == '[')
        return NULL; /* it may be a number as a text, or a pair */
    if (*at == 't' || *at == 'f')
        *value = *at == 't';
    else
        *value = NAN;
    return skip_value(&reader->cursor, at, 1);
}

/* Note a metric that follows from the answers. */
static void note_metric(const struct span *key, double value, struct lm_answers *answers) {
    if (is(key, "acc")) {
        answers->has_acc = true;
        answers->acc = value;
    } else if (is(key, "acc_norm")) {
        answers->has_norm = true;
        answers->norm = value;
    } else if (is(key, "exact_match")) {
        answers->has_match = true;
        answers->match = value;
    }
}

static int member_of(const struct span *key) {
    for (int place = 0; place < MEMBERS; place++)
        if (same(key, &names[place]))
            return place;
    return MEMBERS;
}

static const byte *read_member(
    const struct reader *reader, const byte *at, int member, struct lm_row *row
) {
    switch (member) {
    case DOC_ID:
        return read_doc_id(at, row);
    case DOC:
        if (reader->gold_name.length && !note_gold(reader, at, &row->gold))
            return NULL;
        at = write_value(&(struct writer){reader->cursor, reader->texts, true}, at, 0);
        row->doc_size = reader->texts->size;
        return reader->texts->full ? NULL : at;
    case TARGET:
        return read_text(reader, at, &row->target);
    case ARGUMENTS:
        return read_arguments(reader, at, row);
    case RESPS:
        return read_answers(reader, at, &row->answers);
    case FILTERED:
        return read_filtered(reader, at, &row->answers);
    case FILTER:
        return read_text(reader, at, &row->filter);
    case METRICS:
        return read_metrics(reader, at, row);
    default:
        return read_text(reader, at, &row->hashes[member - DOC_HASH]);
    }
}

/* Tell whether the metrics that a row lists are its other members, in their order. */
static bool lists_its_metrics(const struct lm_row *row) {
    const byte *at = skip_spaces(row->metrics.start);
    const byte *const stop = row->metrics.start + row->metrics.length;
    for (size_t place = 0; place < row->metric_count; place++) {
        const struct span *const key = &row->keys[place];
        if (place) {
            if (*at != ',')
                return false;
            at = skip_spaces(at + 1);
        }
        if ((size_t)(stop - at) < key->length + 2 || *at != '"' || at[key->length + 1] != '"' ||
            memcmp(at + 1, key->start, key->length))
            return false;
        at = skip_spaces(at + key->length + 2);
    }
    return at == stop;
}

/* Read a metric of a row, whose name was read. */
static const byte *add_metric(
    const struct reader *reader, const byte *at, const struct span *key, struct lm_row *row
) {
    if (row->metric_count == MOST_METRICS)
        return NULL;
    for (size_t place = 0; place < row->metric_count; place++)
        if (same(&row->keys[place], key))
            return NULL;
    row->keys[row->metric_count] = *key;
    double *const value = &row->values[row->metric_count++];
    at = read_metric(reader, at, value);
    note_metric(key, *value, &row->answers);
    return at;
}

/* Read the object of a row. Return what follows it, NULL for a row that is left. */
static const byte *read_row(const struct reader *reader, const byte *at, struct lm_row *row) {
    struct span key;
    bool ended;
    if (*at != '{')
        return NULL;
    at = begin_items(&reader->cursor, at, '}', &ended);
    while (at && !ended) {
        at = read_name(&reader->cursor, at, &key);
        const int member = at ? member_of(&key) : MEMBERS;
        if (!at || (member < MEMBERS && row->seen & UINT64_C(1) << member))
            return NULL;
        row->seen |= UINT64_C(1) << member;
        const byte *const start = at;
        at = member < MEMBERS ? read_member(reader, at, member, row)
                              : add_metric(reader, at, &key, row);
        if (member <= FILTERED)
            row->starts[member] = start, row->stops[member] = at;
        at = next_item(&reader->cursor, at, '}', &ended);
    }
    return at;
}

/* Write the digest of a text for one of the hashes. Return whether it is the one that is declared. */
static bool is_digest_of(
    const struct hasher *hasher, struct lm_row *row, int hash, const byte *text, size_t size
) {
    const struct span *const declared = &row->hashes[hash];
    return declared->length == 2 * DIGEST_BYTES && !declared->escaped &&
           digest_bytes(hasher, text, size, row->digests[hash]) &&
           is_digest(hasher, row->digests[hash], declared->start);
}

/* Do so for a string, which is decoded behind what the texts hold. */
static bool is_digest_of_text(
    const struct hasher *hasher, struct texts *texts, struct lm_row *row, int hash,
    const struct span *text
) {
    if (!text->escaped)
        return is_digest_of(hasher, row, hash, text->start, text->length);
    texts->size = 0;
    if (texts->capacity < text->length)
        return false;
    write_decoded(texts, text);
    return !texts->full && is_digest_of(hasher, row, hash, texts->data, texts->size);
}

static bool is_sound(const struct hasher *hasher, struct texts *texts, struct lm_row *row) {
    const uint64_t all = (UINT64_C(1) << MEMBERS) - 1;
    return (row->seen & all) == all && row->has_prompt && row->filter.length &&
           !row->filter.escaped &&
           lists_its_metrics(row) &&
           is_digest_of(hasher, row, 0, texts->data, row->doc_size) &&
           is_digest_of_text(hasher, texts, row, 1, &row->prompt) &&
           is_digest_of_text(hasher, texts, row, 2, &row->target);
}

/* Tell whether the target is certainly the value of its doc, where that is a text or a number, or
   the name of the value, where the doc has none. */
static bool is_gold(const struct span *target, struct span gold, const byte *name) {
    const bool is_text = gold.length && gold.start != name && *gold.start == '"';
    if (!gold.length || !(gold.start == name || is_text || is_number_at(gold.start)))
        return true;
    if (is_text)
        gold = (struct span){.start = gold.start + 1, .length = gold.length - 2};
    return gold.length == target->length && !memcmp(gold.start, target->start, gold.length);
}

/* Return the number of a name, MOST_LM_NAMES where there is no room for it. */
static uint64_t number_of(
    const struct lm_scan *scan, struct lm_name *known, uint64_t *count, const struct span *name
) {
    for (uint64_t place = 0; place < *count; place++)
        if (known[place].length == name->length &&
            !memcmp(scan->bytes + known[place].start, name->start, name->length))
            return place;
    if (*count < MOST_LM_NAMES) {
        known[*count].start = (uint64_t)(name->start - scan->bytes);
        known[*count].length = name->length;
        return (*count)++;
    }
    return MOST_LM_NAMES;
}

/* Tell whether rows may have a filter of this name; any where none are named. */
static bool may_have_filter(const struct lm_scan *scan, const struct span *name) {
    const byte *at = scan->known_filters, *const stop = at + scan->known_length;
    const byte *end = at;
    for (; at < stop; at = end + 1) {
        end = memchr(at, BEHIND_NAME, (size_t)(stop - at));
        if ((size_t)(end - at) == name->length && !memcmp(at, name->start, name->length))
            return true;
    }
    return !scan->known_length;
}

/* Write the digest of what the rows of a doc have in common, in one form for all spellings. Return
   false for a row that may be spelled in another way. */
static bool digest_contents(
    const struct lm_scan *scan, const struct cursor *cursor, struct texts *texts,
    const struct lm_row *row
) {
    const struct writer writer = {*cursor, texts, false};
    texts->size = 0;
    for (int member = DOC; member <= RESPS; member++) {
        write_bytes(texts, member == DOC ? "[" : ",", 1);
        if (!write_value(&writer, row->starts[member], 0))
            return false;
    }
    write_bytes(texts, "]", 1);
    scan->contents[scan->row_count] = xxh64(texts->data, texts->size, row->doc_id);
    return !texts->full;
}

static struct lm_name place_of(const struct lm_scan *scan, const struct lm_row *row, int member) {
    const byte *const start = row->starts[member];
    return (struct lm_name){(uint64_t)(start - scan->bytes), (uint64_t)(row->stops[member] - start)};
}

/* Add a row to the runs. Return whether there was room. */
static bool add_row(struct lm_scan *scan, const struct lm_row *row) {
    if (scan->row_count == scan->most_rows || scan->run_count == scan->most_runs ||
        scan->most_values - scan->value_count < row->metric_count)
        return false;
    const uint64_t filter = number_of(scan, scan->filters, &scan->filter_count, &row->filter);
    const uint64_t metrics = number_of(scan, scan->metrics, &scan->metrics_count, &row->metrics);
    if (filter == MOST_LM_NAMES || metrics == MOST_LM_NAMES)
        return false;
    scan->metric_counts[metrics] = row->metric_count;
    struct lm_run *last = scan->run_count ? &scan->runs[scan->run_count - 1] : NULL;
    if (last && last->filter == filter && last->metrics == metrics &&
        last->doc_id + last->rows == row->doc_id && last->line + last->rows == scan->line)
        last->rows++;
    else
        scan->runs[scan->run_count++] = (struct lm_run){
            filter, metrics, row->doc_id, scan->line, 1, scan->value_count,
        };
    memcpy(scan->values + scan->value_count, row->values, row->metric_count * sizeof(double));
    scan->value_count += row->metric_count;
    for (size_t hash = 0; hash < 3; hash++)
        memcpy(
            scan->digests + scan->row_count * LM_DIGESTS + hash * DIGEST_BYTES, row->digests[hash],
            DIGEST_BYTES
        );
    if (scan->places)
        scan->places[scan->row_count] = (struct lm_place){
            place_of(scan, row, TARGET), place_of(scan, row, RESPS), place_of(scan, row, FILTERED),
        };
    scan->row_count++;
    return true;
}

/* Take the line up to its newline, if it is a sound row. */
static bool take(struct lm_scan *scan, const struct hasher *hasher, const byte *at, const byte *end) {
    struct texts texts = {scan->texts, 0, scan->most_bytes, false};
    struct lm_row row;
    const struct reader reader = {
        {end, MOST_DEPTH, false}, (enum lm_scoring)scan->scoring, &texts,
        {.start = scan->gold, .length = scan->gold_length},
    };
    row.seen = 0;
    row.metric_count = 0;
    row.has_prompt = false;
    row.doc_size = 0;
    row.gold = reader.gold_name;
    row.answers.request_count = 0;
    row.answers.only.start = NULL;
    row.answers.is_only = false;
    row.answers.has_acc = row.answers.has_norm = row.answers.has_match = false;
    at = read_row(&reader, at, &row);
    if (!at || skip_spaces(at) != end || end[-1] == '\r')
        return false;
    if (!is_sound(hasher, &texts, &row) || !is_gold(&row.target, row.gold, scan->gold))
        return false;
    row.answers.target = row.target;
    return may_have_filter(scan, &row.filter) &&
           gives_scores(
               &row.answers, reader.scoring, scan->delimiter, scan->delimiter_length,
               scan->is_chat, &reader.cursor
           ) &&
           scan->row_count < scan->most_rows &&
           (!scan->contents || digest_contents(scan, &reader.cursor, &texts, &row)) &&
           add_row(scan, &row);
}

uint64_t lm_scan_size(void) { return sizeof(struct lm_scan); }

uint64_t scan_lm_rows(struct lm_scan *scan, const struct hasher *hasher) {
    const uint64_t before = scan->row_count;
    while (scan->at < scan->size) {
        const byte *const start = scan->bytes + scan->at;
        const byte *const end = memchr(start, '\n', scan->size - scan->at);
        if (!end || (uint64_t)(end - start) > scan->longest || !take(scan, hasher, start, end))
            break;
        scan->at += (uint64_t)(end - start) + 1;
        scan->line++;
    }
    return scan->row_count - before;
}
