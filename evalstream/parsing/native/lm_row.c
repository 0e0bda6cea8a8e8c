#include "lm_row.h"

#include "canonical.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME(text) {.start = (const byte *)(text), .length = sizeof(text) - 1}
static const struct span names[MEMBERS] = {
    NAME("doc_id"), NAME("doc"), NAME("target"), NAME("arguments"), NAME("resps"),
    NAME("filtered_resps"), NAME("filter"), NAME("metrics"), NAME("doc_hash"), NAME("prompt_hash"),
    NAME("target_hash"),
};

/* Note the members of a doc that are its target and fields, as they are written. Return NULL for a doc
   that may not be read. */
static const byte *note_fields(const struct lm_reader *reader, const byte *at, struct lm_row *row) {
    struct span name;
    bool ended = *at != '{';
    at = ended ? at : begin_items(&reader->cursor, at, '}', &ended);
    while (at && !ended) {
        const byte *const start = read_name(&reader->cursor, at, &name);
        at = start ? skip_value(&reader->cursor, start, 1) : NULL;
        const struct span value = {.start = start, .length = at ? (size_t)(at - start) : 0};
        if (at && same(&name, &reader->gold_name))
            row->gold = value;
        for (size_t place = 0; place < reader->field_count; place++)
            if (at && same(&name, &reader->field_names[place]))
                row->fields[place] = value;
        at = next_item(&reader->cursor, at, '}', &ended);
    }
    return at;
}

static const byte *read_text(const struct lm_reader *reader, const byte *at, struct span *span) {
    return *at == '"' ? read_string(at + 1, reader->cursor.end, span) : NULL;
}

/* Read a text that is mostly an earlier one again, without its quotes. */
static const byte *read_text_again(
    const struct lm_reader *reader, const byte *at, const struct span *earlier, struct span *span
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
   `first` request, and the second a choice, or a value as it is written. */
static const byte *read_request(
    const struct lm_reader *reader, const byte *at, const struct span *first, struct span *prompt,
    struct span *choice
) {
    struct keys keys;
    bool ended;
    size_t place = 0;
    keys.count = 0;
    prompt->start = choice->start = NULL;
    choice->length = 0;
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
        else {
            const byte *const start = at;
            at = skip_value(&reader->cursor, at, 3);
            if (at && place == 1)
                *choice = (struct span){.start = start, .length = (size_t)(at - start)};
        }
        place++;
        at = next_item(&reader->cursor, at, '}', &ended);
    }
    return at;
}

/* Read a request of several. */
static const byte *read_choice(
    const struct lm_reader *reader, const byte *at, struct lm_answers *answers
) {
    const size_t place = answers->request_count++;
    if (place == MOST_LM_CHOICES)
        return NULL;
    const struct span *const first = place ? &answers->prompts[0] : NULL;
    at = read_request(reader, at, first, &answers->prompts[place], &answers->choices[place]);
    return at && answers->prompts[place].start && answers->choices[place].start ? at : NULL;
}

static const byte *read_arguments(const struct lm_reader *reader, const byte *at, struct lm_row *row) {
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
            at = read_request(
                reader, at, NULL, place ? &other : &row->prompt, place ? &unused : &row->second
            );
            row->has_prompt = row->prompt.start;
        }
        place++;
        at = next_item(&reader->cursor, at, '}', &ended);
    }
    row->answers.request_count = place;
    return at;
}

/* Read the answers to all requests: mostly one text. */
static const byte *read_answers(
    const struct lm_reader *reader, const byte *at, struct lm_answers *answers
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
    const struct lm_reader *reader, const byte *at, struct lm_answers *answers
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
static const byte *read_metrics(const struct lm_reader *reader, const byte *at, struct lm_row *row) {
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

static const byte *read_metric(const struct lm_reader *reader, const byte *at, double *value) {
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
    const struct lm_reader *reader, const byte *at, int member, struct lm_row *row
) {
    switch (member) {
    case DOC_ID:
        return read_doc_id(at, row);
    case DOC:
        if ((reader->gold_name.length || reader->field_count) && !note_fields(reader, at, row))
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

/* Read a metric of a row, whose name was read. */
static const byte *add_metric(
    const struct lm_reader *reader, const byte *at, const struct span *key, struct lm_row *row
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

const byte *read_lm_row(const struct lm_reader *reader, const byte *at, struct lm_row *row) {
    struct span key;
    bool ended;
    row->seen = 0;
    row->metric_count = 0;
    row->has_prompt = false;
    row->doc_size = 0;
    row->gold = reader->gold_name;
    row->second = (struct span){0};
    for (size_t place = 0; place < reader->field_count; place++)
        row->fields[place].length = 0;
    row->answers.request_count = 0;
    row->answers.only.start = NULL;
    row->answers.is_only = false;
    row->answers.has_acc = row->answers.has_norm = row->answers.has_match = false;
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
