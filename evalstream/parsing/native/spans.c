#include "spans.h"

bool add_span(struct spans *spans, const struct span *span) {
    if (spans->count == spans->most)
        return false;
    spans->span[spans->count++] = *span;
    return true;
}

/* Tell whether what stands at a place of a JSON string is a part of an escape that begins before. */
static bool is_within_escape(const byte *start, const byte *at) {
    enum { LONGEST_ESCAPE = 6 };
    for (ptrdiff_t back = 1; back < LONGEST_ESCAPE && back <= at - start; back++) {
        const byte *slash = at - back;
        if (*slash != '\\')
            continue;
        while (slash > start && slash[-1] == '\\')
            slash--;
        const bool begins = (at - back - slash) % 2 == 0;
        return begins && back < (at[1 - back] == 'u' ? LONGEST_ESCAPE : 2);
    }
    return false;
}

enum answer find_span(const struct span *text, const struct span *part) {
    enum { MOST_TRIES = 16, GLANCE = 64 };
    const byte *at = text->start, *const stop = text->start + text->length;
    const size_t glance = part->length < GLANCE ? part->length : GLANCE;
    for (int tries = 0; part->length && (size_t)(stop - at) >= part->length; at++) {
        at = memchr(at, *part->start, (size_t)(stop - at) - part->length + 1);
        if (!at)
            return NO;
        if (memcmp(at, part->start, glance))
            continue;
        if (!memcmp(at, part->start, part->length) && !is_within_escape(text->start, at))
            return YES;
        if (++tries == MOST_TRIES)
            return PERHAPS;
    }
    return NO;
}

bool ends_span_with(const struct span *text, const struct span *part) {
    if (text->length < part->length)
        return false;
    const byte *const at = text->start + text->length - part->length;
    return !memcmp(at, part->start, part->length) && !is_within_escape(text->start, at);
}

struct span strip_span(const byte *start, size_t length) {
    for (; length && is_white(*start); length--)
        start++;
    while (length && is_white(start[length - 1]))
        length--;
    return (struct span){.start = start, .length = length, .ascii = true};
}

bool are_spans_alike(const struct span *one, const struct span *other) {
    if (one->length != other->length)
        return false;
    for (size_t place = 0; place < one->length; place++)
        if (folded(one->start[place]) != folded(other->start[place]))
            return false;
    return true;
}

bool are_spans_apart(const struct span *text, const struct span *other) {
    for (size_t place = 0; place < other->length && other->start[place] < 0x80; place++) {
        if (place == text->length)
            return !is_white(other->start[place]);
        if (folded(text->start[place]) != folded(other->start[place]))
            return true;
    }
    return false;
}

byte letter_of_span(struct span text) {
    if (text.length > 1 && (*text.start == '(' || *text.start == '[')) {
        text.start++;
        text.length--;
    }
    if (text.length == 2 && memchr(")].:", text.start[1], 4))
        text.length--;
    const byte letter = text.length == 1 ? folded(*text.start) : 0;
    return is_letter(letter) ? letter : 0;
}

size_t place_of_span(const struct spans *texts, const struct span *text) {
    size_t place = 0;
    while (place < texts->count && !same(text, &texts->span[place]))
        place++;
    return place;
}
