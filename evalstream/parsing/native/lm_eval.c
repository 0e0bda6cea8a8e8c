#include "lm_eval.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_MEMBERS = 48,     /* of an object that is looked at */
    MOST_METRICS = 32,  /* of a row */
    MOST_DEPTH = 64,
    HEX_DIGITS = 64,
    FLOAT_DIGITS = 15,  /* that name a double in one way only */
};

/* The members of a row, beside its metrics. */
enum member {
    DOC_ID, DOC, TARGET, ARGUMENTS, RESPS, FILTERED, FILTER, METRICS, DOC_HASH, PROMPT_HASH,
    TARGET_HASH, MEMBERS
};

static const char *const names[MEMBERS] = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
    "doc_hash", "prompt_hash", "target_hash",
};

struct lm_row {
    uint64_t seen; /* members, as bits */
    uint64_t doc_id;
    struct span target, prompt, filter, metrics, hashes[3];
    bool has_prompt;
    struct span keys[MOST_METRICS];
    double values[MOST_METRICS];
    size_t metric_count;
    size_t doc_size; /* its text is at the start of the scan's texts */
    struct lm_answers answers;
};

struct reader {
    const byte *end;
    enum lm_scoring scoring;
    uint64_t deepest;
    struct texts *written; /* the text of the doc, NULL elsewhere */
};

/* Tell whether a string is written as Python writes it with ensure_ascii=False. */
static bool is_canonical_text(const struct span *span) {
    if (!span->escaped)
        return true;
    const byte *at = span->start, *const stop = at + span->length;
    while ((at = memchr(at, '\\', (size_t)(stop - at)))) {
        if (at[1] == 'u') {
            const bool is_control = at[2] == '0' && at[3] == '0' && (at[4] == '0' || at[4] == '1');
            const bool is_small = (at[5] >= '0' && at[5] <= '9') || (at[5] >= 'a' && at[5] <= 'f');
            const bool is_short = at[4] == '0' && strchr("89acd", at[5]);
            if (!is_control || !is_small || is_short)
                return false;
            at += 6;
        } else {
            if (at[1] == '/')
                return false;
            at += 2;
        }
        if (at >= stop)
            break;
    }
    return true;
}

/* Tell whether a number is surely written as Python's repr writes it. */
static bool is_canonical_number(const byte *start, const byte *stop, const struct number *number) {
    const byte *const digits = start + (*start == '-');
    if (number->whole)
        return !(digits > start && *digits == '0');
    const byte *const point = memchr(digits, '.', (size_t)(stop - digits));
    if (!point || memchr(digits, 'e', (size_t)(stop - digits)) ||
        memchr(digits, 'E', (size_t)(stop - digits)))
        return false;
    if (stop - digits > FLOAT_DIGITS + 1)
        return false;
    /* A last 0 is written only where it is the one decimal. */
    if (stop[-1] == '0' && stop - point > 2)
        return false;
    return number->value == 0 || fabs(number->value) >= 1e-4;
}

static void write_line(struct reader *reader, unsigned depth) {
    static const byte blank[2 * MOST_DEPTH + 3] =
        "\n                                                                "
        "                                                                ";
    if (reader->written)
        write_bytes(reader->written, blank, 1 + 2 * (size_t)depth);
}

static inline void write_some(struct reader *reader, const void *bytes, size_t count) {
    if (reader->written)
        write_bytes(reader->written, bytes, count);
}

static const byte *read_value(struct reader *reader, const byte *at, unsigned depth);

static bool is_new(const struct span *keys, size_t count) {
    for (size_t place = 0; place < count; place++)
        if (same(&keys[place], &keys[count]))
            return false;
    return true;
}

static const byte *read_key(
    struct reader *reader, const byte *at, struct span *keys, size_t count
) {
    if (*at != '"' || count >= MOST_MEMBERS)
        return NULL;
    at = read_string(at + 1, reader->end, &keys[count]);
    /* A key with escapes may be another one that is written in another way. */
    if (!at || keys[count].escaped || !is_new(keys, count))
        return NULL;
    at = skip_spaces(at);
    return *at == ':' ? skip_spaces(at + 1) : NULL;
}

static const byte *read_object(struct reader *reader, const byte *at, unsigned depth) {
    struct span keys[MOST_MEMBERS];
    bool ended;
    size_t count = 0;
    at = begin_items(at, '}', &ended);
    write_some(reader, "{", 1);
    for (; at && !ended; count++) {
        at = read_key(reader, at, keys, count);
        if (!at)
            return NULL;
        write_line(reader, depth + 1);
        write_some(reader, keys[count].start - 1, keys[count].length + 2);
        write_some(reader, ": ", 2);
        at = next_item(read_value(reader, at, depth + 1), '}', &ended);
        write_some(reader, ",", !ended);
    }
    if (count)
        write_line(reader, depth);
    write_some(reader, "}", 1);
    return at;
}

static const byte *read_list(struct reader *reader, const byte *at, unsigned depth) {
    bool ended;
    at = begin_items(at, ']', &ended);
    write_some(reader, "[", 1);
    if (!ended)
        write_line(reader, depth + 1);
    while (at && !ended) {
        at = next_item(read_value(reader, at, depth + 1), ']', &ended);
        write_some(reader, ",", !ended);
        write_line(reader, depth + !ended);
    }
    write_some(reader, "]", 1);
    return at;
}

static const byte *read_word(struct reader *reader, const byte *at) {
    const byte *const stop = skip_literal(at, *at == 't' ? "true" : *at == 'f' ? "false" : "null");
    if (stop)
        write_some(reader, at, (size_t)(stop - at));
    return stop;
}

/* Read a value; of a doc, write it as it was when it was hashed. NULL leaves the row. */
static const byte *read_value(struct reader *reader, const byte *at, unsigned depth) {
    if (depth >= MOST_DEPTH || depth >= reader->deepest)
        return NULL;
    if (*at == '"') {
        struct span span;
        const byte *const stop = read_string(at + 1, reader->end, &span);
        if (!stop || (reader->written && !is_canonical_text(&span)))
            return NULL;
        write_some(reader, at, (size_t)(stop - at));
        return stop;
    }
    if (*at == '{')
        return read_object(reader, at, depth);
    if (*at == '[')
        return read_list(reader, at, depth);
    if (*at == '-' || (*at >= '0' && *at <= '9')) {
        struct number number;
        const byte *const stop = read_number(at, &number);
        if (!stop || (reader->written && !is_canonical_number(at, stop, &number)))
            return NULL;
        write_some(reader, at, (size_t)(stop - at));
        return stop;
    }
    return read_word(reader, at);
}

static const byte *read_text(struct reader *reader, const byte *at, struct span *span) {
    return *at == '"' ? read_string(at + 1, reader->end, span) : NULL;
}

/* Read a request: an object of arguments, of which the first is the prompt. */
static const byte *read_request(
    struct reader *reader, const byte *at, struct span *prompt, struct span *choice
) {
    struct span keys[MOST_MEMBERS];
    bool ended;
    prompt->start = choice->start = NULL;
    if (*at != '{')
        return NULL;
    at = begin_items(at, '}', &ended);
    if (ended)
        return NULL;
    for (size_t count = 0; at && !ended; count++) {
        at = read_key(reader, at, keys, count);
        if (!at)
            return NULL;
        if (is(&keys[count], "arg_0"))
            at = read_text(reader, at, prompt);
        else if (reader->scoring == LM_CHOICES && is(&keys[count], "arg_1"))
            at = read_text(reader, at, choice);
        else
            at = read_value(reader, at, 3);
        at = next_item(at, '}', &ended);
    }
    return at;
}

/* Read a request of several, which are numbered in their order. */
static const byte *read_choice(
    struct reader *reader, const byte *at, const struct span *key, struct lm_answers *answers
) {
    const size_t place = answers->request_count++;
    char name[32];
    snprintf(name, sizeof name, "gen_args_%zu", place);
    if (place == MOST_LM_CHOICES || !is(key, name))
        return NULL;
    at = read_request(reader, at, &answers->prompts[place], &answers->choices[place]);
    return at && answers->prompts[place].start && answers->choices[place].start ? at : NULL;
}

static const byte *read_arguments(struct reader *reader, const byte *at, struct lm_row *row) {
    struct span keys[MOST_MEMBERS], unused;
    bool ended;
    if (*at != '{')
        return NULL;
    at = begin_items(at, '}', &ended);
    if (ended)
        return NULL;
    for (size_t count = 0; at && !ended; count++) {
        at = read_key(reader, at, keys, count);
        if (!at)
            return NULL;
        if (reader->scoring == LM_CHOICES) {
            at = read_choice(reader, at, &keys[count], &row->answers);
            row->prompt = row->answers.prompts[0];
            row->has_prompt = true;
        } else if (is(&keys[count], "gen_args_0")) {
            at = read_request(reader, at, &row->prompt, &unused);
            row->has_prompt = row->prompt.start;
        } else {
            at = read_value(reader, at, 2);
        }
        at = next_item(at, '}', &ended);
    }
    return at;
}

/* Read the names of the metrics into a span of what is between the brackets. */
static const byte *read_metrics(struct reader *reader, const byte *at, struct lm_row *row) {
    if (*at != '[')
        return NULL;
    const byte *const start = at + 1;
    const byte *const stop = read_list(reader, at, 1);
    if (!stop)
        return NULL;
    row->metrics = (struct span){.start = start, .length = (size_t)(stop - 1 - start)};
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

static const byte *read_metric(struct reader *reader, const byte *at, double *value) {
    if (*at == '-' || (*at >= '0' && *at <= '9')) {
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
    return read_value(reader, at, 1);
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
        if (is(key, names[place]))
            return place;
    return MEMBERS;
}

static const byte *read_member(
    struct reader *reader, struct texts *texts, const byte *at, int member, struct lm_row *row
) {
    switch (member) {
    case DOC_ID:
        return read_doc_id(at, row);
    case DOC:
        reader->written = texts;
        at = read_value(reader, at, 0);
        reader->written = NULL;
        row->doc_size = texts->size;
        return texts->full ? NULL : at;
    case TARGET:
        return read_text(reader, at, &row->target);
    case ARGUMENTS:
        return read_arguments(reader, at, row);
    case RESPS:
    case FILTERED:
        *(member == RESPS ? &row->answers.resps : &row->answers.filtered) = at;
        return *at == '[' ? read_list(reader, at, 1) : NULL;
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

/* Read the object of a row. Return what follows it, NULL for a row that is left. */
static const byte *read_row(
    struct reader *reader, struct texts *texts, const byte *at, struct lm_row *row
) {
    bool ended;
    if (*at != '{')
        return NULL;
    at = begin_items(at, '}', &ended);
    if (ended)
        return NULL;
    while (at && !ended) {
        struct span key;
        if (*at != '"' || !(at = read_string(at + 1, reader->end, &key)) || key.escaped)
            return NULL;
        at = skip_spaces(at);
        if (*at != ':')
            return NULL;
        at = skip_spaces(at + 1);
        const int member = member_of(&key);
        if (member < MEMBERS) {
            if (row->seen & UINT64_C(1) << member)
                return NULL;
            row->seen |= UINT64_C(1) << member;
            at = read_member(reader, texts, at, member, row);
        } else {
            if (row->metric_count >= MOST_METRICS)
                return NULL;
            row->keys[row->metric_count] = key;
            if (!is_new(row->keys, row->metric_count))
                return NULL;
            double *const value = &row->values[row->metric_count++];
            at = read_metric(reader, at, value);
            note_metric(&key, *value, &row->answers);
        }
        at = next_item(at, '}', &ended);
    }
    return at;
}

static bool is_digest_of(
    const struct hasher *hasher, const struct span *declared, const byte *text, size_t size
) {
    return declared->length == HEX_DIGITS && !declared->escaped &&
           has_digest(hasher, text, size, declared->start);
}

/* Tell whether a digest is that of a string, which is decoded behind what the texts hold. */
static bool is_digest_of_text(
    const struct hasher *hasher, struct texts *texts, const struct span *declared,
    const struct span *text
) {
    if (!text->escaped)
        return is_digest_of(hasher, declared, text->start, text->length);
    texts->size = 0;
    if (texts->capacity < text->length)
        return false;
    write_decoded(texts, text);
    return !texts->full && is_digest_of(hasher, declared, texts->data, texts->size);
}

static bool is_sound(const struct hasher *hasher, struct texts *texts, const struct lm_row *row) {
    return row->seen == (UINT64_C(1) << MEMBERS) - 1 && row->has_prompt && !row->filter.escaped &&
           lists_its_metrics(row) &&
           is_digest_of(hasher, &row->hashes[0], texts->data, row->doc_size) &&
           is_digest_of_text(hasher, texts, &row->hashes[1], &row->prompt) &&
           is_digest_of_text(hasher, texts, &row->hashes[2], &row->target);
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

static inline byte half(byte digit) {
    return (byte)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

static void write_digests_of(struct lm_scan *scan, const struct lm_row *row) {
    byte *to = scan->digests + scan->row_count * LM_DIGESTS;
    for (size_t hash = 0; hash < 3; hash++)
        for (size_t place = 0; place < HEX_DIGITS; place += 2) {
            const byte *const from = row->hashes[hash].start + place;
            *to++ = (byte)(half(from[0]) << 4 | half(from[1]));
        }
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
    write_digests_of(scan, row);
    scan->row_count++;
    return true;
}

/* Take the line up to its newline, if it is a sound row. */
static bool take(struct lm_scan *scan, const struct hasher *hasher, const byte *at, const byte *end) {
    struct texts texts = {scan->texts, 0, scan->most_bytes, false};
    struct reader reader = {end, (enum lm_scoring)scan->scoring, scan->deepest, NULL};
    struct lm_row row;
    row.seen = 0;
    row.metric_count = 0;
    row.has_prompt = false;
    row.doc_size = 0;
    row.answers.request_count = 0;
    row.answers.has_acc = row.answers.has_norm = row.answers.has_match = false;
    at = read_row(&reader, &texts, at, &row);
    if (!at || skip_spaces(at) != end || end[-1] == '\r')
        return false;
    if (!is_sound(hasher, &texts, &row))
        return false;
    row.answers.target = row.target;
    return gives_scores(
               &row.answers, reader.scoring, scan->delimiter, scan->delimiter_length,
               scan->is_chat, end
           ) &&
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
