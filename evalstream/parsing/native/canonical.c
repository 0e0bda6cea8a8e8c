#include "canonical.h"

#include <math.h>

enum {
    FLOAT_DIGITS = 15, /* that name a double in one way only */
    WHOLE_DIGITS = 18, /* of numbers that fit into 64 bits, with a sign */
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

/* Members as they stand in the texts, one behind the other, each with the comma before it. */
struct members {
    struct keys keys;
    size_t start[MOST_KEYS + 1]; /* of each, and the end of the last */
};

static bool is_key_before(const struct span *one, const struct span *other) {
    const size_t shorter = one->length < other->length ? one->length : other->length;
    const int order = memcmp(one->start, other->start, shorter);
    return order ? order < 0 : one->length < other->length;
}

/* Put members into the order of their keys. */
static void sort_members(const struct members *members, struct texts *texts) {
    const struct span *const key = members->keys.key;
    const size_t count = members->keys.count, first = members->start[0];
    const size_t size = members->start[count] - first;
    size_t order[MOST_KEYS];
    byte *to = texts->data + texts->size; /* a copy, behind the texts */
    bool is_sorted = true;
    for (size_t place = 0; place < count; place++) {
        size_t at = place;
        for (; at && is_key_before(&key[place], &key[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = place;
        is_sorted = is_sorted && at == place;
    }
    if (is_sorted)
        return;
    if (texts->capacity - texts->size < size) {
        texts->full = true;
        return;
    }
    for (size_t place = 0; place < count; place++) {
        const size_t start = members->start[order[place]];
        const size_t length = members->start[order[place] + 1] - start;
        copy_bytes(to, texts->data + start, length);
        to += length;
    }
    memcpy(texts->data + first, texts->data + texts->size, size);
}

/* Write a line feed and the spaces of indentation. */
static void write_line(const struct writer *writer, unsigned depth) {
    static const byte spaces[] = "                                                                ";
    const size_t most = sizeof spaces - 1;
    write_bytes(writer->texts, "\n", 1);
    for (size_t left = 2 * (size_t)depth; left; left -= left < most ? left : most)
        write_bytes(writer->texts, spaces, left < most ? left : most);
}

static const byte *write_key(const struct writer *writer, const byte *at, struct members *members) {
    at = read_key(&writer->cursor, at, &members->keys);
    if (!at)
        return NULL;
    const struct span *const key = last_key(&members->keys);
    write_bytes(writer->texts, key->start - 1, key->length + 2);
    write_bytes(writer->texts, ": ", writer->is_indented ? 2 : 1);
    return at;
}

static const byte *write_container(const struct writer *writer, const byte *at, unsigned depth) {
    struct texts *const texts = writer->texts;
    const byte opening = *at, closing = opening == '{' ? '}' : ']';
    const size_t start = texts->size;
    struct members members;
    bool ended;
    members.keys.count = 0;
    at = begin_items(&writer->cursor, at, closing, &ended);
    if (ended)
        write_bytes(texts, &opening, 1);
    const bool is_empty = ended;
    while (at && !ended) {
        const size_t before = texts->size;
        write_bytes(texts, ",", 1);
        if (writer->is_indented)
            write_line(writer, depth + 1);
        if (opening == '{') {
            at = write_key(writer, at, &members);
            if (!at)
                return NULL;
            members.start[members.keys.count - 1] = before;
        }
        at = write_value(writer, at, depth + 1);
        at = next_item(&writer->cursor, at, closing, &ended);
    }
    members.start[members.keys.count] = texts->size;
    if (at && members.keys.count > 1 && !writer->is_indented && !texts->full)
        sort_members(&members, texts);
    if (at && !is_empty && !texts->full)
        texts->data[start] = opening;
    if (!is_empty && writer->is_indented)
        write_line(writer, depth);
    write_bytes(texts, &closing, 1);
    return at;
}

const byte *write_value(const struct writer *writer, const byte *at, unsigned depth) {
    const byte *const start = at;
    struct span span;
    struct number number;
    if (*at == '{' || *at == '[')
        return depth < writer->cursor.deepest ? write_container(writer, at, depth) : NULL;
    if (*at == '"') {
        at = read_string(at + 1, writer->cursor.end, &span);
        at = at && is_canonical_text(&span) ? at : NULL;
    } else if (*at == '-' || is_digit(*at)) {
        at = read_number(at, &number);
        if (!at || !is_canonical_number(start, at, &number) ||
            (number.whole && !writer->is_indented && at - start > WHOLE_DIGITS))
            return NULL;
    } else {
        at = skip_word(at);
    }
    if (at)
        write_bytes(writer->texts, start, (size_t)(at - start));
    return at;
}
