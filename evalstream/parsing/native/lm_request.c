#include "lm_request.h"

#include "spans.h"

#include <string.h>

static struct span span_of(const byte *start, size_t length) {
    return (struct span){.start = start, .length = length};
}

/* Read the next of several texts, each with BEHIND_NAME. Return what follows it, NULL behind the last. */
static const byte *next_text(const struct lm_bytes *texts, const byte *at, struct span *text) {
    const byte *const stop = texts->start + texts->length;
    const byte *const end = at < stop ? memchr(at, BEHIND_NAME, (size_t)(stop - at)) : NULL;
    if (end)
        *text = span_of(at, (size_t)(end - at));
    return end ? end + 1 : NULL;
}

void read_field_names(const struct lm_form *form, struct lm_reader *reader) {
    const byte *at = form->fields.start;
    struct span *const names = reader->field_names;
    for (reader->field_count = 0; reader->field_count < MOST_LM_FIELDS; reader->field_count++)
        if (!(at = next_text(&form->fields, at, &names[reader->field_count])))
            break;
}

/* Write the value of a field: a text, or a whole number where the question is not the field alone.
   Return NO for another value, PERHAPS for a number that may be written in another way. */
static enum answer write_field(const struct span *value, bool is_named, struct texts *texts) {
    if (!value->length)
        return NO;
    if (*value->start == '"') {
        write_bytes(texts, value->start + 1, value->length - 2);
        return YES;
    }
    if (is_named || !is_number_at(value->start))
        return NO;
    const byte *const stop = value->start + value->length;
    const byte *const digits = value->start + (*value->start == '-');
    if (value->length > 18 || (digits > value->start && *digits == '0'))
        return PERHAPS;
    if (skip_digits(digits) != stop)
        return NO;
    write_bytes(texts, value->start, value->length);
    return YES;
}

/* Write the question of a doc. Return NO where the template does not give one. */
static enum answer write_question(
    const struct lm_form *form, const struct lm_row *row, struct texts *texts
) {
    const byte *at = form->question.start, *const stop = at + form->question.length;
    texts->size = 0;
    if (form->is_named && !row->fields[at[1]].length) {
        write_bytes(texts, form->constant.start, form->constant.length);
        return YES;
    }
    while (true) {
        const byte *const end = memchr(at, BEHIND_NAME, (size_t)(stop - at));
        write_bytes(texts, at, (size_t)((end ? end : stop) - at));
        if (!end)
            return texts->full ? PERHAPS : YES;
        const enum answer found = write_field(&row->fields[end[1]], form->is_named, texts);
        if (found != YES)
            return found;
        at = end + 2;
    }
}

static bool has_part(const struct span *text, const struct span *part) {
    return !part->length || ends_span_with(text, part) || find_span(text, part) == YES;
}

/* Tell whether a prompt surely has the instruction, the description and the question. */
static bool has_question(
    const struct lm_form *form, const struct lm_row *row, struct texts *texts
) {
    const struct span *const prompt = &row->prompt;
    struct span text;
    if (begins_with(prompt->start, prompt->start + prompt->length, "[{"))
        return true;
    for (const byte *at = form->openings.start; (at = next_text(&form->openings, at, &text));)
        if (!has_part(prompt, &text))
            return false;
    if (!form->question.length)
        return true;
    const enum answer found = write_question(form, row, texts);
    text = span_of(texts->data, texts->size);
    return found == NO || (found == YES && !texts->full && has_part(prompt, &text));
}

/* Tell whether each request has answers, as many as the task repeats it. */
static bool has_repeats(
    const struct lm_answers *row, uint64_t repeats, const struct cursor *cursor
) {
    if (row->only.start)
        return repeats == 1 && row->request_count == 1;
    const byte *at = skip_spaces(row->resps + 1);
    size_t requests = 0;
    for (; *at != ']'; requests++) {
        uint64_t count = 0;
        if (*at != '[')
            return false;
        for (at = skip_spaces(at + 1); *at != ']'; count++) {
            at = skip_value(cursor, at, 0);
            if (!at)
                return false;
            at = skip_spaces(at);
            at = *at == ',' ? skip_spaces(at + 1) : at;
        }
        if (count != repeats)
            return false;
        at = skip_spaces(at + 1);
        at = *at == ',' ? skip_spaces(at + 1) : at;
    }
    return requests == row->request_count;
}

static bool is_choice(
    const struct span *choice, const struct lm_delimiter *delimiter, const struct span *text
) {
    const size_t skipped = delimiter->length;
    return choice->length == skipped + text->length &&
           !memcmp(choice->start, delimiter->start, skipped) &&
           !memcmp(choice->start + skipped, text->start, text->length);
}

/* Read the next text of a list. Return what follows it, NULL behind the last and for another value. */
static const byte *next_listed(const struct cursor *cursor, const byte *at, struct span *text) {
    at = skip_spaces(at + 1);
    at = *at == '"' ? read_string(at + 1, cursor->end, text) : NULL;
    return at ? skip_spaces(at) : NULL;
}

/* Tell whether the choices are surely those of the configuration, or of the doc, in their order. */
static bool has_choices(
    const struct lm_form *form, const struct lm_row *row, const struct lm_delimiter *delimiter,
    const struct cursor *cursor
) {
    const struct lm_answers *const asked = &row->answers;
    const bool is_listed = !form->choices.length;
    struct span text;
    const byte *at = form->choices.start;
    if (is_listed) {
        if (!form->choice_place)
            return true;
        const struct span *const list = &row->fields[form->choice_place - 1];
        if (!list->length || *list->start != '[')
            return true;
        at = list->start;
    }
    for (size_t place = 0; place < asked->request_count; place++) {
        at = is_listed ? next_listed(cursor, at, &text) : next_text(&form->choices, at, &text);
        if (!at || !is_choice(&asked->choices[place], delimiter, &text))
            return false;
    }
    return is_listed ? *at == ']' : at == form->choices.start + form->choices.length;
}

static bool is_target(const struct lm_form *form, const struct lm_row *row) {
    struct span asked = row->prompt;
    if (form->target == LM_ANYTHING)
        return true;
    if (form->target == LM_SECOND) {
        if (row->second.length < 2 || *row->second.start != '"')
            return false;
        asked = span_of(row->second.start + 1, row->second.length - 2);
    }
    return same(&asked, &row->target);
}

bool was_asked_for(
    const struct lm_form *form, const struct lm_row *row, const struct lm_delimiter *delimiter,
    struct texts *texts, const struct cursor *cursor
) {
    const struct lm_bytes *const generation = &form->generation;
    for (uint64_t place = 0; place < form->member_count; place++)
        if (!row->fields[place].length)
            return false;
    if (generation->length && (row->second.length != generation->length ||
                               memcmp(row->second.start, generation->start, generation->length)))
        return false;
    return (!form->repeats || has_repeats(&row->answers, form->repeats, cursor)) &&
           is_target(form, row) && has_question(form, row, texts) &&
           (delimiter->is_optional || has_choices(form, row, delimiter, cursor));
}
