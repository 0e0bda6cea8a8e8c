#include "lm_scores.h"

#include <math.h>
#include <string.h>

static const double NEAR = 1e-6; /* of two likelihoods, relative to the greater one */

/* Tell whether each filtered answer is written as the first answer to its request. */
static bool takes_first(const byte *resps, const byte *filtered, const struct cursor *cursor) {
    resps = skip_spaces(resps + 1);
    filtered = skip_spaces(filtered + 1);
    while (*filtered != ']') {
        if (*resps != '[')
            return false;
        resps = skip_spaces(resps + 1);
        const byte *const stop = skip_value(cursor, filtered, 0);
        const size_t length = stop ? (size_t)(stop - filtered) : 0;
        if (!stop || (size_t)(cursor->end - resps) < length || memcmp(resps, filtered, length))
            return false;
        resps = skip_spaces(resps + length);
        while (*resps == ',') {
            resps = skip_value(cursor, skip_spaces(resps + 1), 0);
            if (!resps)
                return false;
            resps = skip_spaces(resps);
        }
        if (*resps != ']')
            return false;
        resps = skip_spaces(resps + 1);
        filtered = skip_spaces(stop);
        if ((*filtered == ',') != (*resps == ','))
            return false;
        if (*filtered == ',') {
            filtered = skip_spaces(filtered + 1);
            resps = skip_spaces(resps + 1);
        }
    }
    return *resps == ']';
}

/* Read a likelihood and whether it is greedy: a pair of two texts. Return what follows it. */
static const byte *read_likelihood(const byte *at, const struct cursor *cursor, double *value) {
    struct span text;
    struct number number;
    if (*at != '[' || *(at = skip_spaces(at + 1)) != '"')
        return NULL;
    at = read_number(at + 1, &number);
    if (!at || *at != '"' || *(at = skip_spaces(at + 1)) != ',')
        return NULL;
    at = skip_spaces(at + 1);
    if (*at != '"' || !(at = read_string(at + 1, cursor->end, &text)))
        return NULL;
    at = skip_spaces(at);
    *value = number.value;
    return *at == ']' ? skip_spaces(at + 1) : NULL;
}

/* Read the likelihoods of choices. Return their number, 0 for other answers. */
static size_t read_likelihoods(const byte *at, const struct cursor *cursor, double *values) {
    for (size_t count = 0; count < MOST_LM_CHOICES; count++) {
        at = read_likelihood(skip_spaces(at + 1), cursor, &values[count]);
        if (!at || (*at != ',' && *at != ']'))
            return 0;
        if (*at == ']')
            return count + 1;
    }
    return 0;
}

/* Return the place of the greatest value, `count` if another one is nearly as great. */
static size_t greatest(const double *values, size_t count) {
    size_t best = 0;
    for (size_t place = 1; place < count; place++)
        if (values[place] > values[best])
            best = place;
    for (size_t place = 0; place < count; place++) {
        const double room = NEAR * fmax(fabs(values[best]), fabs(values[place]));
        if (place != best && values[best] - values[place] <= room)
            return count;
    }
    return best;
}

/* Return the number of characters of a text as it is written, 0 where that is not certain. */
static size_t count_characters(const byte *at, const byte *stop) {
    size_t count = 0;
    while (at < stop) {
        if (*at == '\\') {
            if (at[1] == 'u' && at[2] != '0')
                return 0;
            at += at[1] == 'u' ? 6 : 2;
            count++;
        } else {
            count += (*at++ & 0xC0) != 0x80;
        }
    }
    return count;
}

/* Return a target as the number of a choice, `count` where it is none or may be another one. */
static size_t right_choice(const struct lm_answers *row, size_t count, size_t skipped) {
    const struct span *const target = &row->target;
    if (!target->length || target->length > 2 || target->escaped ||
        (target->length == 2 && target->start[0] == '0'))
        return count;
    size_t number = 0;
    for (size_t place = 0; place < target->length; place++) {
        if (!is_digit(target->start[place]))
            return count;
        number = 10 * number + (size_t)(target->start[place] - '0');
    }
    for (size_t place = 0; place < count; place++) {
        const struct span *const choice = &row->choices[place];
        if (choice->length == target->length + skipped &&
            !memcmp(choice->start + skipped, target->start, target->length))
            return count;
    }
    return number < count ? number : count;
}

static bool fits_choices(
    const struct lm_answers *row, const double *values, size_t count, size_t skipped
) {
    double normalised[MOST_LM_CHOICES];
    const size_t right = right_choice(row, count, skipped);
    const size_t best = greatest(values, count);
    if (right == count || best == count || (row->has_acc && row->acc != (best == right)))
        return false;
    if (!row->has_norm)
        return true;
    for (size_t place = 0; place < count; place++) {
        const struct span *const choice = &row->choices[place];
        const size_t size =
            count_characters(choice->start + skipped, choice->start + choice->length);
        if (!size)
            return false;
        normalised[place] = values[place] / (double)size;
    }
    const size_t likeliest = greatest(normalised, count);
    return likeliest != count && row->norm == (likeliest == right);
}

static bool gives_choices(
    const struct lm_answers *row, const byte *delimiter, size_t length, bool is_chat,
    const struct cursor *cursor
) {
    double values[MOST_LM_CHOICES];
    const size_t count = read_likelihoods(row->filtered, cursor, values);
    if (!count || count != row->request_count)
        return false;
    bool is_delimited = true, may_be_inputs = true;
    for (size_t place = 0; place < count; place++) {
        const struct span *const choice = &row->choices[place];
        if (!same(&row->prompts[place], &row->prompts[0]))
            return false;
        may_be_inputs = may_be_inputs && same(choice, &row->choices[0]);
        is_delimited = is_delimited && choice->length >= length &&
                       !memcmp(choice->start, delimiter, length);
    }
    if (may_be_inputs)
        return false;
    return (is_delimited && fits_choices(row, values, count, length)) ||
           (is_chat && fits_choices(row, values, count, 0));
}

/* Tell whether a text may be written in another way: with fewer escapes. */
static bool has_other_spelling(const struct span *span) {
    const byte *at = span->start, *const stop = at + span->length;
    while (span->escaped && at < stop && (at = memchr(at, '\\', (size_t)(stop - at)))) {
        if (at[1] == 'u' || at[1] == '/')
            return true;
        at += 2;
    }
    return false;
}

/* Tell whether one answer matches the target exactly where, and only where, the row says so. */
static bool gives_match(const struct lm_answers *row, const struct cursor *cursor) {
    struct span answer;
    if (!row->has_match)
        return true;
    const byte *at = skip_spaces(row->filtered + 1);
    if (row->is_only)
        answer = row->only;
    else if (*at != '"' || !(at = read_string(at + 1, cursor->end, &answer)) ||
             *skip_spaces(at) != ']')
        return false;
    const struct span *const target = &row->target;
    if (target->length && target->start[0] == '[')
        return false;
    const bool is_same = same(&answer, target);
    if (!is_same && (has_other_spelling(&answer) || has_other_spelling(target)))
        return false;
    return row->match == is_same;
}

bool gives_scores(
    const struct lm_answers *row, enum lm_scoring scoring, const byte *delimiter, size_t length,
    bool is_chat, const struct cursor *cursor
) {
    if (scoring == LM_UNSCORED)
        return true;
    if (!row->is_only && !takes_first(row->resps, row->filtered, cursor))
        return false;
    if (scoring == LM_CHOICES)
        return gives_choices(row, delimiter, length, is_chat, cursor);
    return scoring == LM_FILTERED || gives_match(row, cursor);
}
