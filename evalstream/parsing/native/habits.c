#include "habits.h"

#include "lanes.h"

#include <string.h>

/* Tell whether an array may have texts that are not kept, where the schema wants none. */
static bool is_unread(const struct value *value, const struct spans *kept) {
    return value->kind == ARRAY && !kept->count && value->stop - value->start > 2;
}

/* Signs that some writers of JSON escape; no text that has one is judged. */
static const bool often_escaped[256] = {
    ['"'] = true, ['\\'] = true, ['/'] = true, ['<'] = true, ['>'] = true,
    ['&'] = true, ['\''] = true, ['='] = true, [0x7F] = true,
};

/* Tell whether one of sixteen ASCII bytes, none of which is a quote or a backslash, is often escaped. */
static bool has_often_escaped(lanes bytes) {
    return lane_bits(
        ((bytes >= all_lanes('&')) & (bytes <= all_lanes('\''))) |
        ((bytes >= all_lanes('<')) & (bytes <= all_lanes('>'))) | (bytes == all_lanes('/')) |
        (bytes == all_lanes(0x7F))
    );
}

/* Tell whether a text has only what all writers of JSON write as it is. */
static bool is_plain(const struct span *text) {
    const byte *at = text->start, *const stop = text->start + text->length;
    if (!text->ascii || text->escaped)
        return false;
    for (; stop - at >= LANES; at += LANES)
        if (has_often_escaped(load_lanes(at)))
            return false;
    while (at < stop && !often_escaped[*at])
        at++;
    return at == stop;
}

/* Tell whether the escapes of a text may write ASCII that is plain. */
static bool escapes_plain(const struct span *text) {
    const byte *at = text->start, *const stop = text->start + text->length;
    for (; (at = memchr(at, '\\', (size_t)(stop - at))); at += 2) {
        if (memcmp(at + 1, "u00", 3) || at[4] < '2' || at[4] > '7')
            continue;
        const byte low = (byte)(is_digit(at[5]) ? at[5] - '0' : folded(at[5]) - 'a' + 10);
        if (!often_escaped[(byte)((at[4] - '0') << 4 | low)])
            return true;
    }
    return false;
}

/* Tell whether a text may write ASCII that is plain as escapes. */
static inline bool hides_ascii(const struct span *text) {
    return text->unusual && escapes_plain(text);
}

static bool is_alphanumeric(byte one) {
    return is_digit(one) || (folded(one) >= 'a' && folded(one) <= 'z');
}

/* Tell whether a text holds the letters and digits of a short one, whatever is between them. */
static bool spells(const struct span *text, const struct span *part) {
    uint64_t places[256] = {0}, state = 0;
    unsigned count = 0;
    for (size_t place = 0; place < part->length; place++)
        if (is_alphanumeric(part->start[place]))
            places[folded(part->start[place])] |= (uint64_t)1 << count++;
    for (size_t place = 0; count && place < text->length; place++) {
        if (text->start[place] == '\\')
            place += text->start[place + 1] == 'u' ? 5 : 1;
        else if (is_alphanumeric(text->start[place]))
            state = (state << 1 | 1) & places[folded(text->start[place])];
        if (state >> (count - 1) & 1)
            return true;
    }
    return !count;
}

/* Tell whether a text is an integer, and which. */
static bool reads_integer(const struct span *text, int64_t *integer) {
    enum { MOST_DIGITS = 15 };
    const bool negative = text->length && *text->start == '-';
    *integer = 0;
    for (size_t place = negative; place < text->length; place++) {
        if (!is_digit(text->start[place]))
            return false;
        *integer = *integer * 10 + (text->start[place] - '0');
    }
    *integer = negative ? -*integer : *integer;
    return text->length > negative && text->length - negative <= MOST_DIGITS;
}

static bool is_word(const struct span *text) {
    size_t place = 0;
    while (place < text->length && is_alphanumeric(text->start[place]) &&
           !is_digit(text->start[place]))
        place++;
    return text->length > 1 && place == text->length;
}

/* Return 1 for yes and no, 2 for true and false, 0 for other words. */
static int polarity(const struct span *word) {
    static const char *const words[] = {"yes", "no", "true", "false"};
    for (int one = 0; one < 4; one++) {
        const struct span known = {.start = (const byte *)words[one], .length = strlen(words[one])};
        if (are_alike(word, &known))
            return 1 + one / 2;
    }
    return 0;
}

static bool are_opposed(const struct span *one, const struct span *other) {
    return polarity(one) && polarity(one) == polarity(other);
}

enum { LONGEST_ANSWER = 32 };

static bool is_among(const struct span *text, const struct spans *texts) {
    size_t place = 0;
    while (place < texts->count && !same(text, &texts->span[place]))
        place++;
    return place < texts->count;
}

/* Tell whether two texts are letters, integers or words that cannot stand for the same answer. An
   integer may number one of the choices, if there are any; words that are no choices, other than yes
   and no, may mean the same. */
static bool are_rivals(
    const struct span *one, const struct span *other, const struct spans *choices
) {
    const byte letters[] = {letter_of(*one), letter_of(*other)};
    int64_t integers[2];
    if (one->length > LONGEST_ANSWER || other->length > LONGEST_ANSWER)
        return false;
    if (*letters || letters[1])
        return *letters && letters[1] && *letters != letters[1];
    if (reads_integer(one, integers) && reads_integer(other, integers + 1))
        return *integers != integers[1] &&
               (!choices->count || (is_among(one, choices) && is_among(other, choices)));
    return is_word(one) && is_word(other) && !spells(one, other) && !spells(other, one) &&
           (are_opposed(one, other) || (is_among(one, choices) && is_among(other, choices)));
}

/* Tell whether the letters and digits of a short text are a word that harnesses write for an answer
   that they did not find. */
static bool is_no_answer(const struct span *text) {
    static const char *const words[] = {
        "none", "null", "nan", "na", "invalid", "unknown", "noanswer", "error", "failed", "empty",
    };
    byte letters[LONGEST_ANSWER];
    struct span word = {.start = letters};
    for (size_t place = 0; place < text->length; place++)
        if (is_alphanumeric(text->start[place]))
            letters[word.length++] = text->start[place];
    for (size_t one = 0; one < sizeof words / sizeof *words; one++) {
        const struct span known = {.start = (const byte *)words[one], .length = strlen(words[one])};
        if (are_alike(&word, &known))
            return true;
    }
    return false;
}

/* Flag whether input.formatted holds input.raw. Return false where that is for others to tell. */
static bool flag_prompt(const struct facts *facts, uint64_t *flags) {
    const struct span *const raw = text_of(facts, RAW), *const prompt = text_of(facts, FORMATTED);
    if (facts->slot[FORMATTED].kind != STRING)
        return true;
    const struct span question = bare(raw->start, raw->length);
    if (hides_ascii(raw) || hides_ascii(prompt))
        return false;
    if (!is_plain(raw) || !question.length)
        return true;
    const enum answer answer = finds(prompt, &question);
    *flags |= answer == YES ? PROMPTED : UNPROMPTED;
    return answer != PERHAPS;
}

/* Flag whether the output holds the answer. Return false where that is for others to tell. */
static bool flag_source(const struct facts *facts, uint64_t *flags) {
    const struct span *const value = text_of(facts, ANSWER_VALUE);
    const struct span answer = bare(value->start, value->length);
    if (facts->answers != 1)
        return true;
    if (hides_ascii(text_of(facts, ANSWER_SOURCE)) || hides_ascii(value) || facts->says_more ||
        is_unread(&facts->slot[OUTPUT_TEXT], &facts->outputs))
        return false;
    if (!is(text_of(facts, ANSWER_SOURCE), "output.raw") || !is_plain(value) || !answer.length ||
        answer.length > LONGEST_ANSWER)
        return true;
    bool may_be_there = false, is_empty = true;
    for (size_t one = 0; one < facts->outputs.count; one++) {
        const struct span *const output = &facts->outputs.span[one];
        const bool is_blank = !bare(output->start, output->length).length;
        const enum answer found = finds(output, &answer);
        if (hides_ascii(output) || found == PERHAPS || (!is_blank && !shows_something(output)))
            return false;
        if (found == YES) {
            *flags |= SOURCED;
            return true;
        }
        may_be_there |= spells(output, &answer);
        is_empty &= is_blank;
    }
    *flags |= may_be_there || is_empty || is_no_answer(&answer) ? 0 : UNSOURCED;
    return true;
}

/* Flag whether the answer is a reference, or surely another one: the only one that is attributed,
   or the output. Return false where that is for others to tell. */
static bool flag_answer(const struct facts *facts, bool single, uint64_t *flags) {
    const bool is_output = single && !facts->answers && facts->outputs.count == 1;
    const struct span *const value = is_output ? facts->outputs.span : text_of(facts, ANSWER_VALUE);
    const struct span answer = bare(value->start, value->length);
    bool is_reference = false, is_rival = true;
    if (facts->slot[ANSWERS].kind != ARRAY || !(is_output || facts->answers == 1) ||
        facts->odd_references)
        return true;
    if (hides_ascii(value) || is_unread(&facts->slot[REFERENCE], &facts->references))
        return false;
    if (!is_plain(value) || !answer.length || !facts->references.count)
        return true;
    for (size_t one = 0; one < facts->choices.count; one++)
        if (hides_ascii(&facts->choices.span[one]))
            return false;
    for (size_t one = 0; one < facts->references.count; one++) {
        const struct span *const reference = &facts->references.span[one];
        const struct span known = bare(reference->start, reference->length);
        if (hides_ascii(reference))
            return false;
        is_reference |= is_plain(reference) && same(&answer, &known);
        is_rival &= is_plain(reference) && are_rivals(&answer, &known, &facts->choices);
    }
    *flags |= is_reference ? REFERRED : is_rival ? RIVAL : 0;
    return true;
}

bool flag_habits(const struct facts *facts, uint32_t checks, uint64_t *flags) {
    const bool single = facts->interaction == SINGLE_TURN;
    return !hides_ascii(text_of(facts, INTERACTION)) &&
           (!(checks & ES320) || flag_prompt(facts, flags)) &&
           (!(checks & ES303 && single) || flag_source(facts, flags)) &&
           (!(checks & ES808) || flag_answer(facts, single, flags));
}
