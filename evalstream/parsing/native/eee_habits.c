#include "eee_habits.h"

#include "lanes.h"

#include <stdlib.h>
#include <string.h>

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
        if (!often_escaped[(byte)((at[4] - '0') << 4 | hex_digit(at[5]))])
            return true;
    }
    return false;
}

/* Tell whether a text may write ASCII that is plain as escapes. */
static inline bool hides_ascii(const struct span *text) {
    return text->unusual && escapes_plain(text);
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
    if (text->length == negative || text->length - negative > MOST_DIGITS)
        return false;
    for (size_t place = negative; place < text->length; place++) {
        if (!is_digit(text->start[place]))
            return false;
        *integer = *integer * 10 + (text->start[place] - '0');
    }
    *integer = negative ? -*integer : *integer;
    return true;
}

static bool is_word(const struct span *text) {
    size_t place = 0;
    while (place < text->length && is_letter(text->start[place]))
        place++;
    return text->length > 1 && place == text->length;
}

/* Return 1 for yes and no, 2 for true and false, 0 for other words. */
static int polarity(const struct span *word) {
    static const char *const words[] = {"yes", "no", "true", "false"};
    for (int one = 0; one < 4 && word->length <= 5; one++) {
        const struct span known = {.start = (const byte *)words[one], .length = strlen(words[one])};
        if (are_spans_alike(word, &known))
            return 1 + one / 2;
    }
    return 0;
}

static bool are_opposed(const struct span *one, const struct span *other) {
    return polarity(one) && polarity(one) == polarity(other);
}

enum { LONGEST_ANSWER = 32 };

static bool is_among(const struct span *text, const struct spans *texts) {
    return place_of_span(texts, text) < texts->count;
}

/* Tell whether a choice is the letter of another one, or may be its number. */
static bool may_mean_another(const struct span *text, const struct spans *choices) {
    const byte letter = letter_of_span(*text);
    const size_t place = place_of_span(choices, text);
    int64_t integer;
    if (place == choices->count)
        return false;
    if (reads_integer(text, &integer))
        return integer >= 0 && integer <= (int64_t)choices->count;
    return letter && (size_t)(letter - 'a') != place;
}

/* Tell whether two integers, as they are written, are other ones, and not near each other where they
   are large. */
static bool are_far(const struct span *one, const struct span *other, const int64_t *integers) {
    enum { TOLERANCE = 20, LARGE = 100 };
    const int64_t gap = llabs(integers[0] - integers[1]);
    const int64_t sizes[] = {llabs(integers[0]), llabs(integers[1])};
    const int64_t largest = *sizes > sizes[1] ? *sizes : sizes[1];
    return (largest < LARGE || TOLERANCE * gap > largest) &&
           find_span(one, other) == NO && find_span(other, one) == NO;
}

/* Tell whether two texts are letters, integers or words that cannot stand for the same answer. An
   integer may number one of the choices, if there are any, and large ones may be near enough; words
   that are not choices, other than yes and no, may mean the same. */
static bool are_rivals(
    const struct span *one, const struct span *other, const struct spans *choices
) {
    const byte letters[] = {letter_of_span(*one), letter_of_span(*other)};
    int64_t integers[2];
    if (one->length > LONGEST_ANSWER || other->length > LONGEST_ANSWER)
        return false;
    if (*letters || letters[1])
        return *letters && letters[1] && *letters != letters[1];
    if (reads_integer(one, integers) && reads_integer(other, integers + 1))
        return are_far(one, other, integers) &&
               (!choices->count || (is_among(one, choices) && is_among(other, choices)));
    return is_word(one) && is_word(other) && !spells(one, other) && !spells(other, one) &&
           (are_opposed(one, other) || (is_among(one, choices) && is_among(other, choices)));
}

/* Tell whether a text has no letters beyond ASCII; `has_digit` says whether it has digits, but for
   escapes that hide ASCII. */
static bool reads_ascii(const struct span *text, bool *has_digit) {
    *has_digit = false;
    for (size_t place = 0; place < text->length; place++) {
        const byte *const at = text->start + place;
        *has_digit |= is_digit(*at);
        if (*at != '\\')
            continue;
        if (at[1] == 'u' && (memcmp(at + 2, "00", 2) || at[4] > '7'))
            return false;
        place += at[1] == 'u' ? 5 : 1;
    }
    return text->ascii;
}

/* Tell whether a reference may be the number of a choice. */
static bool may_number_choice(const struct span *reference) {
    const struct span number = strip_span(reference->start, reference->length);
    int64_t integer;
    return number.length <= 2 && reads_integer(&number, &integer);
}

enum { MOST_WORDS = 32 };

/* Tell whether a text of ASCII shows nothing of a reference: no word of it, and no digit if it has one.
   So that each byte of a row costs little, at most MOST_WORDS count, with those before. */
static bool shows_nothing(
    const struct span *text, const struct span *reference, bool has_digit, size_t *words
) {
    struct span word = {.start = reference->start};
    const size_t before = *words;
    bool is_numeric;
    if (!reads_ascii(reference, &is_numeric) || (is_numeric && has_digit))
        return false;
    for (size_t place = 0; place <= reference->length; place++) {
        const byte *const at = reference->start + place;
        if (place < reference->length && is_alphanumeric(*at)) {
            word.start = word.length++ ? word.start : at;
            continue;
        }
        *words += word.length > 0;
        if (*words > MOST_WORDS || word.length > LONGEST_ANSWER ||
            (word.length && spells(text, &word)))
            return false;
        word.length = 0;
        if (place < reference->length && *at == '\\')
            place += at[1] == 'u' ? 5 : 1;
    }
    return *words > before;
}

/* Tell whether an output, as it is, shows another answer than a value, of the same kind: a letter at
   its beginning or end, a number that is written in digits, or yes or no. */
static enum answer shows_another(const struct span *text, const struct span *value, size_t choices) {
    static const char edges[] = " ([*.:)]!", letters[] = "ABCDEFGH";
    struct span inner = *text;
    int64_t integer;
    const bool is_integer = reads_integer(value, &integer), is_lettered = letter_of_span(*value);
    if (!text->ascii || !(is_integer || is_lettered || polarity(value)))
        return NO;
    if (text->escaped && !is_integer)
        return PERHAPS;
    if (is_integer) {
        const bool has_zeros = value->length > 1 && !memcmp(value->start + value->length - 2, "00", 2);
        const bool may_be_choice = choices && integer >= 0 && integer <= (int64_t)choices;
        bool has_digit;
        return reads_ascii(text, &has_digit) && has_digit && !may_be_choice && !has_zeros ? YES : NO;
    }
    for (; inner.length && is_one_of(*inner.start, edges); inner.start++)
        inner.length--;
    const byte next = inner.length > 1 ? inner.start[1] : 0;
    while (inner.length && is_one_of(inner.start[inner.length - 1], edges))
        inner.length--;
    if (!inner.length)
        return NO;
    const byte *const last = inner.start + inner.length - 1;
    if (!is_lettered)
        return polarity(value) == polarity(&inner) ? YES : NO;
    const bool begins = is_one_of(*inner.start, letters) && is_one_of(next, ")].:");
    const bool ends = inner.length > 1 && is_one_of(*last, letters) && is_one_of(last[-1], " ([:*");
    return begins || ends || (inner.length == 1 && is_letter(*last)) ? YES : NO;
}

/* Tell whether a template may change a question: a long one, and one with several blanks or markup. */
static bool may_change(const struct span *question) {
    enum { LONGEST_QUESTION = 1000 };
    bool has_sign = question->length > LONGEST_QUESTION;
    for (size_t place = 0; place < question->length; place++) {
        const byte *const at = question->start + place;
        has_sign |= is_one_of(*at, "_$`[]{}") || (place && *at == ' ' && at[-1] == ' ');
    }
    return has_sign;
}

/* Flag whether input.formatted holds input.raw. Return false where that is for others to tell. */
static bool flag_prompt(const struct facts *facts, uint64_t *flags) {
    const struct span *const raw = text_of(facts, RAW), *const prompt = text_of(facts, FORMATTED);
    if (facts->slot[FORMATTED].kind != STRING)
        return true;
    const struct span question = strip_span(raw->start, raw->length);
    if (hides_ascii(raw) || hides_ascii(prompt))
        return false;
    if (!is_plain(raw) || !question.length)
        return true;
    const bool begins = is_letter(*question.start);
    const bool ends = is_one_of(question.start[question.length - 1], ".?!:");
    const struct span asked = {.start = question.start + begins, .length = question.length - begins - ends};
    if (question.length <= begins + ends)
        return true;
    const enum answer answer = find_span(prompt, &asked);
    *flags |= answer == YES ? PROMPTED : answer == NO && !may_change(&question) ? UNPROMPTED : 0;
    return answer != PERHAPS;
}

/* Flag whether the output holds the answer. Return false where that is for others to tell. */
static bool flag_source(const struct facts *facts, uint64_t *flags) {
    const struct span *const value = text_of(facts, ANSWER_VALUE);
    const struct span answer = strip_span(value->start, value->length);
    if (facts->answers != 1)
        return true;
    if (hides_ascii(text_of(facts, ANSWER_SOURCE)) || hides_ascii(value) || facts->says_more ||
        eee_has_more(&facts->slot[OUTPUT_TEXT], &facts->outputs))
        return false;
    if (!is(text_of(facts, ANSWER_SOURCE), "output.raw") || !is_plain(value) || !answer.length ||
        answer.length > LONGEST_ANSWER)
        return true;
    bool may_be_there = !facts->outputs.count;
    enum answer is_another = YES;
    for (size_t one = 0; one < facts->outputs.count; one++) {
        const struct span *const output = &facts->outputs.span[one];
        const enum answer found = find_span(output, &answer);
        const enum answer other = shows_another(output, &answer, facts->choices.count);
        if (hides_ascii(output) || found == PERHAPS)
            return false;
        if (found == YES) {
            *flags |= SOURCED;
            return true;
        }
        may_be_there |= spells(output, &answer);
        is_another = is_another == NO || other == YES ? is_another : other;
    }
    *flags |= may_be_there || is_another != YES ? 0 : UNSOURCED;
    return may_be_there || is_another != PERHAPS;
}

/* Tell whether a right answer shows nothing of any reference, or says that its scorer found nothing. */
static bool is_unshown(const struct facts *facts, const struct span *answer, int32_t mode) {
    enum { NUMBERED = 2, AS_WRITTEN };
    static const char unmatched[] = "Scoring pattern not matched in output: ";
    bool has_digit, is_shown = false;
    size_t words = 0;
    if (!is_true(facts, CORRECT) || facts->slot[REFERENCE].kind != ARRAY)
        return false;
    if (answer->length >= sizeof unmatched - 1 && !memcmp(answer->start, unmatched, sizeof unmatched - 1))
        return true;
    if (!reads_ascii(answer, &has_digit))
        return false;
    has_digit &= mode != AS_WRITTEN;
    for (size_t one = 0; one < facts->references.count && !is_shown; one++)
        is_shown = (mode == NUMBERED && may_number_choice(&facts->references.span[one])) ||
                   !shows_nothing(answer, &facts->references.span[one], has_digit, &words);
    return !is_shown;
}

/* Flag whether a plain answer is a reference, or surely another one. Return false where that is for
   others to tell. */
static bool flag_plain_answer(
    const struct facts *facts, const struct span *value, const struct span *answer, uint64_t *flags
) {
    bool is_reference = false, is_rival = true, is_doubtful = false;
    for (size_t one = 0; one < facts->choices.count; one++)
        if (hides_ascii(&facts->choices.span[one]))
            return false;
    for (size_t one = 0; one < facts->references.count; one++) {
        const struct span *const reference = &facts->references.span[one];
        const struct span known = strip_span(reference->start, reference->length);
        is_reference |= same(value, reference);
        is_doubtful |= is_plain(reference) && may_mean_another(&known, &facts->choices);
        is_rival &= is_plain(reference) && are_rivals(answer, &known, &facts->choices);
    }
    if (!is_doubtful && !may_mean_another(answer, &facts->choices))
        *flags |= is_reference ? REFERRED : is_rival ? RIVAL : 0;
    return true;
}

/* Flag what the answer is to the references: the only one that is attributed, or the output. Return
   false where that is for others to tell. */
static bool flag_answer(
    const struct facts *facts, const struct demands *demands, bool single, uint64_t *flags
) {
    const bool is_output = single && !facts->answers && facts->outputs.count == 1;
    const struct span *const value = is_output ? facts->outputs.span : text_of(facts, ANSWER_VALUE);
    const struct span answer = strip_span(value->start, value->length);
    /* The transcript has the answer. */
    if (demands->looks_for_references && !single && !facts->answers && is_true(facts, CORRECT))
        return false;
    if (facts->slot[ANSWERS].kind != ARRAY || !(is_output || facts->answers == 1) ||
        facts->odd_references)
        return true;
    if (hides_ascii(value) || eee_has_more(&facts->slot[REFERENCE], &facts->references))
        return false;
    const bool is_judged = is_plain(value) || demands->looks_for_references;
    if (!is_judged || !answer.length || !facts->references.count)
        return true;
    for (size_t one = 0; one < facts->references.count; one++)
        if (hides_ascii(&facts->references.span[one]))
            return false;
    if (is_plain(value) && !flag_plain_answer(facts, value, &answer, flags))
        return false;
    if (demands->looks_for_references && !(*flags & (REFERRED | RIVAL)))
        *flags |= is_unshown(facts, value, demands->looks_for_references) ? UNSHOWN : 0;
    *flags |= *flags & (REFERRED | RIVAL | UNSHOWN) && facts->references.count > 1 ? ALIASED : 0;
    return true;
}

bool eee_flag_habits(const struct facts *facts, const struct demands *demands, uint64_t *flags) {
    const bool single = facts->interaction == SINGLE_TURN;
    const uint32_t checks = demands->checks;
    return !hides_ascii(text_of(facts, INTERACTION)) &&
           (!(checks & ES320) || flag_prompt(facts, flags)) &&
           (!(checks & ES303 && single) || flag_source(facts, flags)) &&
           (!(checks & ES808) || flag_answer(facts, demands, single, flags));
}
