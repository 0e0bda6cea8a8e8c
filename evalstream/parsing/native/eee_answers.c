#include "eee_row.h"

#include <string.h>

/* Tell whether a text, without white space around it, is the letter of one of so many choices:
   A, (a), b. and so on; or the number of one, from 0 or from 1. */
static bool numbers_a_choice(struct span text, size_t choices) {
    size_t number = 0, digits = 0;
    for (; digits < text.length && is_digit(text.start[digits]); digits++)
        number = digits < 5 ? number * 10 + (size_t)(text.start[digits] - '0') : number;
    if (digits && digits == text.length && digits < 5 && number <= choices)
        return true;
    const byte *const line = memchr(text.start, '\n', text.length);
    if (line)
        text = strip_span(text.start, (size_t)(line - text.start));
    const byte letter = letter_of_span(text);
    return letter && (size_t)(letter - 'a') < choices;
}

enum { LONGEST_CHOICE = 1 << 12 };

/* Tell whether a reference is one of the choices, its letter, or its number: whatever its case, and
   white space around it. Of text beyond ASCII that is not written alike nothing is known. */
static enum answer is_choice(const struct span *reference, const struct spans *choices) {
    byte room[2][LONGEST_CHOICE];
    struct texts own = {.data = room[0], .capacity = LONGEST_CHOICE};
    for (size_t choice = 0; choice < choices->count; choice++)
        if (same(reference, &choices->span[choice]))
            return YES;
    write_decoded(&own, reference);
    if (own.full || !is_ascii(own.data, own.size))
        return PERHAPS;
    const struct span text = strip_span(own.data, own.size);
    if (numbers_a_choice(text, choices->count))
        return YES;
    enum answer answer = NO;
    for (size_t choice = 0; choice < choices->count; choice++) {
        struct texts other = {.data = room[1], .capacity = LONGEST_CHOICE};
        write_decoded(&other, &choices->span[choice]);
        const struct span known = strip_span(other.data, other.size);
        if (other.full || !is_ascii(other.data, other.size)) {
            if (other.full || !are_spans_apart(&text, &known))
                answer = PERHAPS;
        } else if (are_spans_alike(&text, &known)) {
            return YES;
        }
    }
    return answer;
}

enum answer eee_chooses(const struct facts *facts) {
    enum answer answer = YES;
    if (!facts->choices.count)
        return YES;
    for (size_t one = 0; one < facts->references.count; one++) {
        const enum answer found = is_choice(&facts->references.span[one], &facts->choices);
        if (found == NO)
            return NO;
        if (found == PERHAPS)
            answer = PERHAPS;
    }
    return answer;
}

/* Tell whether a source surely names neither a place in the row nor something like one. */
static bool is_foreign(const struct span *source) {
    static const char *const places[] = {"output", "interactions", "messages"};
    for (size_t place = 0; place < sizeof places / sizeof *places; place++)
        if (begins_with(source->start, source->start + source->length, places[place]))
            return false;
    return source->length && !source->escaped && is_letter(*source->start);
}

/* Return the turn whose content a source is: 3 for `messages[3].content`, and so many as there are
   turns where it is that of none. */
static size_t find_source(const struct span *source, const char *transcript, size_t turns) {
    static const char end[] = "].content";
    const byte *at = source->start;
    const byte *const stop = source->start + source->length;
    size_t turn = 0, digits = 0;
    if (source->escaped || !begins_with(at, stop, transcript))
        return turns;
    at += strlen(transcript);
    if (at == stop || *at++ != '[')
        return turns;
    for (; at < stop && is_digit(*at) && digits < 9; at++, digits++)
        turn = turn * 10 + (size_t)(*at - '0');
    const bool is_content = (size_t)(stop - at) == strlen(end) && !memcmp(at, end, strlen(end));
    return digits && turn < turns && is_content ? turn : turns;
}

/* Tell whether a source is surely the content of a turn that is not a user's, and no other turn than
   the answer's. */
static bool is_said(const struct facts *facts, const char *transcript) {
    const size_t turn = find_source(text_of(facts, ANSWER_SOURCE), transcript, facts->turns);
    const double claimed = number_of(facts, ANSWER_TURN);
    /* Turns that are not in order have other numbers than their places. */
    const bool is_a_turn = facts->doubts & ES304 || (claimed >= 0 && claimed < (double)facts->turns);
    return turn < facts->turns && turn < USER_TURNS && !(is_a_turn && claimed != (double)turn) &&
           !(facts->by_users[turn / 64] >> turn % 64 & 1);
}

/* Tell whether an answer that is an exact match may give another score than the row has. */
static bool may_be_underived(const struct facts *facts, const struct demands *demands) {
    const struct span *const value = text_of(facts, ANSWER_VALUE);
    const double score = eee_score_of(facts);
    bool is_right = false, is_wrong = true;
    if (!facts->is_exact || facts->slot[ANSWERS].kind != ARRAY || !facts->answers)
        return false;
    if (facts->answers > 1)
        return true;
    for (size_t one = 0; one < facts->references.count; one++) {
        const struct span *const reference = &facts->references.span[one];
        const bool is_alike = same(value, reference);
        is_right |= is_alike || value->escaped || reference->escaped;
        is_wrong &= !is_alike;
    }
    return (is_right && (eee_may_contradict(score, true, demands) || eee_contradicts(score, true))) ||
           (is_wrong && (eee_may_contradict(score, false, demands) || eee_contradicts(score, false)));
}

/* Tell whether an answer that is the output as it is may be another text. */
static bool may_not_be_output(const struct facts *facts) {
    return facts->is_bare &&
           (facts->answers > 1 ||
            place_of_span(&facts->outputs, text_of(facts, ANSWER_VALUE)) == facts->outputs.count);
}

/* Tell whether an output surely has something that is not white space. */
static bool says_something(const struct facts *facts) {
    for (size_t one = 0; one < facts->outputs.count; one++)
        if (shows_something(&facts->outputs.span[one]))
            return true;
    return false;
}

/* Tell whether an answer may be taken from an output that is empty. */
static bool lacks_output(const struct facts *facts) {
    return facts->answers && text_of(facts, ANSWER_VALUE)->length && !says_something(facts);
}

/* Tell whether an answer may be another choice than the score says, which the reference numbers. */
static bool may_be_another_choice(const struct facts *facts) {
    size_t number = 0;
    if (!facts->is_bare || facts->answers != 1 || facts->references.count != 1 ||
        !facts->choices.count)
        return false;
    const struct span *const reference = &facts->references.span[0];
    for (size_t digit = 0; digit < reference->length && digit < 5; digit++) {
        if (!is_digit(reference->start[digit]))
            return reference->escaped;
        number = number * 10 + (size_t)(reference->start[digit] - '0');
    }
    const size_t place = place_of_span(&facts->choices, text_of(facts, ANSWER_VALUE));
    return place == facts->choices.count || eee_score_of(facts) != (place == number);
}

/* Tell whether a key ends before the colon at `at`, in JSON or in JSON within a string. */
static bool ends_key(const struct value *json, const byte *at) {
    const ptrdiff_t least = json->kind == STRING ? 4 : 2;
    if (at - json->start < least || at[-1] != '"')
        return false;
    return json->kind == STRING ? at[-2] == '\\' && at[-3] != '\\' : at[-2] != '\\';
}

/* Tell whether the key that ends before `at` is this text. */
static bool is_key(const struct value *json, const byte *at, const byte *text, size_t length) {
    const byte *const stop = at - (json->kind == STRING ? 2 : 1);
    return (size_t)(stop - json->start) > length && stop[-(ptrdiff_t)length - 1] == '"' &&
           !memcmp(stop - length, text, length);
}

static double number_at(const byte *at) {
    struct number number;
    at += *at == ' ';
    if (*at == 't' || *at == 'f')
        return *at == 't';
    return read_number(at, &number) ? number.value : NAN;
}

static bool is_spelled(const struct span *text, const byte *start, size_t length) {
    return !text->escaped && text->length == length && !memcmp(text->start, start, length);
}

/* Tell whether the filter that the converter of lm-eval keeps may be another one than that of the
   result, whose id has it after `colon` if that is not NULL, or of an answer. */
static bool may_have_another_filter(const struct facts *facts, const byte *colon) {
    const struct span *const filter = text_of(facts, FILTER), *result = text_of(facts, RESULT);
    const struct span *const method = text_of(facts, ANSWER_METHOD);
    if (facts->slot[FILTER].kind != STRING)
        return false;
    const bool is_of_result =
        !colon || is_spelled(filter, colon + 1, (size_t)(result->start + result->length - colon) - 1);
    const bool is_of_answer = facts->slot[ANSWER_METHOD].kind != STRING ||
                              is_spelled(filter, method->start, method->length);
    return !is_of_result || !is_of_answer || facts->answers > 1;
}

/* Tell whether a row may have another score than the harness gave it: the converter of lm-eval
   keeps the metrics of a sample as JSON, and calls a result by its metric and its filter. */
static bool may_differ_from_log(const struct facts *facts) {
    const struct value *const kept = &facts->slot[METRICS];
    const struct span *const result = text_of(facts, RESULT);
    if (kept->kind != STRING && kept->kind != OBJECT)
        return has_value(facts, PROMPT_HASH) && has_value(facts, TARGET_HASH);
    const byte *const filter = memchr(result->start, ':', result->length);
    const size_t length = filter ? (size_t)(filter - result->start) : result->length;
    if (may_have_another_filter(facts, filter))
        return true;
    size_t objects = 0, named = 0, alike = 0;
    for (const byte *at = kept->start; (at = memchr(at, '{', (size_t)(kept->stop - at))); at++)
        objects++;
    for (const byte *at = kept->start; (at = memchr(at, ':', (size_t)(kept->stop - at))); at++) {
        if (!ends_key(kept, at) || (result->length && !is_key(kept, at, result->start, length)))
            continue;
        named++;
        alike += number_at(at + 1) == eee_score_of(facts);
    }
    return objects != 1 || result->escaped || !alike || (result->length && named > 1);
}

/* Return the rules that may object to where the answer of a row comes from; which of several
   answers counts is for others to judge. */
static uint32_t doubts_of_source(
    const struct facts *facts, const struct demands *demands, bool single, uint64_t *flags
) {
    const struct span *const source = text_of(facts, ANSWER_SOURCE);
    const double turn = number_of(facts, ANSWER_TURN);
    uint32_t doubts = NO_CHECK;
    if (facts->slot[ANSWERS].kind != ARRAY)
        return NO_CHECK;
    if (!facts->answers) {
        *flags |= UNANSWERED;
        return NO_CHECK;
    }
    if (facts->answers > 1)
        return ES301 | ES302 | ES303;
    if (!is_true(facts, ANSWER_IS_LAST))
        doubts |= ES301;
    /* Turns that are not in order have other numbers than their places. */
    if (single ? turn != 0
               : facts->doubts & ES304 || facts->slot[ANSWER_TURN].kind != INTEGER ||
                     !(turn >= 0 && turn < (double)facts->turns))
        doubts |= ES302;
    if (facts->slot[ANSWER_SOURCE].kind != STRING)
        return doubts;
    if (single && is_foreign(source))
        *flags |= FOREIGN;
    else if (!(single ? is(source, "output.raw") : is_said(facts, demands->transcript)))
        doubts |= ES303;
    return doubts;
}

/* Tell whether a right answer may be an empty output; likelihoods of choices need none. */
static bool may_be_right_for_nothing(const struct facts *facts, const struct demands *demands) {
    return is_true(facts, CORRECT) && facts->outputs.count &&
           (!facts->choices.count || demands->reads_chosen) && !says_something(facts);
}

uint32_t eee_doubts_of_answer(
    const struct facts *facts, const struct demands *demands, bool single, uint64_t *flags
) {
    uint32_t doubts = doubts_of_source(facts, demands, single, flags);
    if (may_be_underived(facts, demands) || may_differ_from_log(facts) ||
        may_be_another_choice(facts) || (single && may_be_right_for_nothing(facts, demands)))
        doubts |= ES808;
    return doubts | (may_not_be_output(facts) || (single && lacks_output(facts)) ? ES303 : NO_CHECK);
}
