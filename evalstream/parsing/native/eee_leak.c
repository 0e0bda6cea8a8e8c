#include "eee_leak.h"

#include "secret.h"

#include <string.h>

enum {
    SHORTEST_ANSWER = 20, /* shorter ones are not looked for; counted in bytes here */
    LONG_START = 64,      /* so much of an answer is compared first, */
    MOST_STARTS = 16,     /* and where it is found more often the answer is in doubt */
    MOST_AROUND = 9,      /* how many blanks may part an answer from what is around its line */
};

struct text {
    const byte *start, *stop;
};

/* Return the length of the white space that begins here, 0 for none: what Python strips. */
static size_t space_at(const byte *at) {
    switch (*at) {
    case 0xC2:
        return at[1] == 0x85 || at[1] == 0xA0 ? 2 : 0;
    case 0xE1:
        return at[1] == 0x9A && at[2] == 0x80 ? 3 : 0;
    case 0xE2:
        if (at[1] == 0x81)
            return at[2] == 0x9F ? 3 : 0;
        return at[1] == 0x80 && (at[2] <= 0x8A || at[2] == 0xA8 || at[2] == 0xA9 || at[2] == 0xAF)
                   ? 3
                   : 0;
    case 0xE3:
        return at[1] == 0x80 && at[2] == 0x80 ? 3 : 0;
    default:
        return is_white(*at);
    }
}

static void strip_end(struct text *text) {
    while (text->start < text->stop) {
        const byte *last = text->stop - 1;
        while ((*last & 0xC0) == 0x80)
            last--;
        if (!space_at(last))
            return;
        text->stop = last;
    }
}

static void strip(struct text *text) {
    strip_end(text);
    while (text->start < text->stop && space_at(text->start))
        text->start += space_at(text->start);
}

static inline size_t length_of(const struct text *text) {
    return (size_t)(text->stop - text->start);
}

/* Decode a string. Return false where there is no room. */
static bool decode(struct texts *room, const struct span *span, struct text *text) {
    if (!span->escaped) {
        *text = (struct text){span->start, span->start + span->length};
        return true;
    }
    const byte *const start = room->data + room->size;
    write_decoded(room, span);
    *text = (struct text){start, room->data + room->size};
    return !room->full;
}

/* Tell whether a string ends with a character of ASCII, surely, that is not white space. */
static bool ends_plainly(const struct span *span) {
    enum { LONGEST_ESCAPE = 6 };
    const size_t least = span->length < LONGEST_ESCAPE ? span->length : LONGEST_ESCAPE;
    const byte *const stop = span->start + span->length;
    return span->length && stop[-1] > ' ' && stop[-1] < 0x7F && !memchr(stop - least, '\\', least);
}

/* Tell whether neither of two strings ends with the other, white space aside; mostly their last
   bytes tell. */
static bool end_apart(const struct span *one, const struct span *other) {
    return ends_plainly(one) && ends_plainly(other) &&
           one->start[one->length - 1] != other->start[other->length - 1];
}

static bool ends_with(const struct text *text, const struct text *ending) {
    const size_t length = length_of(ending);
    return length_of(text) >= length && !memcmp(text->stop - length, ending->start, length);
}

/* Tell whether only blanks or a speaker's name come before a place in its line. */
static bool begins_line(const struct text *text, const byte *at) {
    for (int count = 0; count < MOST_AROUND && at > text->start; count++, at--)
        if (at[-1] != ' ' && at[-1] != '\t')
            return at[-1] == '\n' || at[-1] == ':';
    return true;
}

/* Tell whether only blanks come behind a place in its line. */
static bool ends_line(const struct text *text, const byte *at) {
    for (int count = 0; count < MOST_AROUND && at < text->stop; count++, at++)
        if (*at != ' ' && *at != '\t' && *at != '\r')
            return *at == '\n';
    return true;
}

/* Tell whether a question may have an answer on lines of its own. */
static bool may_contain(const struct text *text, const struct text *answer) {
    const size_t length = length_of(answer);
    const size_t start = length < LONG_START ? length : LONG_START;
    int starts = 0;
    if (length_of(text) < length)
        return false;
    const byte *const last = text->stop - length;
    for (const byte *at = text->start; at <= last; at++) {
        at = memchr(at, *answer->start, (size_t)(last - at) + 1);
        if (!at)
            return false;
        if (!begins_line(text, at) || memcmp(at, answer->start, start))
            continue;
        if (++starts > MOST_STARTS)
            return true;
        if (!memcmp(at, answer->start, length) && ends_line(text, at + length))
            return true;
    }
    return false;
}

/* Tell whether a question may end with its reference as a word of more than one letter. */
static bool may_end_in(const struct text *text, const struct text *reference) {
    const size_t length = length_of(reference);
    if (!length || length >= length_of(text) || !ends_with(text, reference))
        return false;
    if (length == 1 && *reference->start >= 'A' && is_alphanumeric(*reference->start))
        return false;
    return !is_alphanumeric(text->stop[-(ptrdiff_t)length - 1]);
}

/* A question as it is written and, once that is needed, as it reads; `ending` ends before its last
   white space. */
struct question {
    const struct span *span;
    struct texts *room;
    struct text text, ending;
    bool is_decoded;
};

/* Decode a question, if that is not done, and another string, whose ends are stripped. Return
   false where there is no room. */
static bool decode_both(struct question *question, const struct span *span, struct text *text) {
    if (!question->is_decoded) {
        if (!decode(question->room, question->span, &question->text))
            return false;
        question->ending = question->text;
        strip_end(&question->ending);
        question->is_decoded = true;
    }
    /* The next string may be written over this one. */
    struct texts room = *question->room;
    if (!decode(&room, span, text))
        return false;
    strip(text);
    return true;
}

/* Tell whether a question may end with the output. */
static bool may_end_in_output(struct question *question, const struct span *output) {
    struct text text;
    if (output->length < SHORTEST_ANSWER || end_apart(question->span, output))
        return false;
    if (!decode_both(question, output, &text))
        return true;
    return length_of(&text) >= SHORTEST_ANSWER && ends_with(&question->ending, &text) &&
           begins_line(&question->text, question->ending.stop - length_of(&text));
}

/* Tell whether a question may contain what the assistant said in a turn. */
static bool may_contain_turn(struct question *question, const struct span *said) {
    struct text text;
    if (said->length < SHORTEST_ANSWER)
        return false;
    if (!decode_both(question, said, &text))
        return true;
    return length_of(&text) >= SHORTEST_ANSWER && may_contain(&question->text, &text);
}

static bool may_end_in_reference(struct question *question, const struct span *reference) {
    struct text text;
    if (end_apart(question->span, reference))
        return false;
    return !decode_both(question, reference, &text) || may_end_in(&question->ending, &text);
}

/* Tell whether the rule ES312 may find something. */
static bool may_show_answer(const struct facts *facts, struct texts *room) {
    struct question question = {.span = &facts->slot[RAW].span, .room = room};
    if (facts->slot[RAW].kind != STRING)
        return false;
    if (facts->says_more || eee_has_more(&facts->slot[OUTPUT_TEXT], &facts->outputs) ||
        eee_has_more(&facts->slot[REFERENCE], &facts->references))
        return true;
    for (size_t place = 0; place < facts->outputs.count; place++)
        if (may_end_in_output(&question, &facts->outputs.span[place]))
            return true;
    for (size_t place = 0; place < facts->said.count; place++)
        if (may_contain_turn(&question, &facts->said.span[place]))
            return true;
    /* Many questions end with their last choice. */
    if (facts->choices.count)
        return false;
    for (size_t place = 0; place < facts->references.count; place++)
        if (may_end_in_reference(&question, &facts->references.span[place]))
            return true;
    return false;
}

uint32_t eee_doubts_of_leaks(
    const struct facts *facts, const struct demands *demands, const byte *line, const byte *stop,
    struct texts room
) {
    uint32_t doubts = NO_CHECK;
    if (demands->checks & ES312 && may_show_answer(facts, &room))
        doubts |= ES312;
    if (demands->checks & ES316 && may_hold_secret(line, stop))
        doubts |= ES316;
    return doubts;
}
