#include "canonical.h"

#include <math.h>

enum {
    FLOAT_DIGITS = 15, /* that name a double in one way only */
    WHOLE_DIGITS = 18, /* with a sign; all such numbers fit into 64 bits */
};

bool is_canonical_text(const struct span *span) {
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

bool is_canonical_number(const byte *start, const byte *stop, const struct number *number) {
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
    if (texts->capacity - texts->size < size) {
        texts->full = true;
        return;
    }
    for (size_t place = 0; place < count; place++) {
        size_t at = place;
        for (; at && is_key_before(&key[place], &key[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = place;
    }
    for (size_t place = 0; place < count; place++) {
        const size_t start = members->start[order[place]];
        const size_t length = members->start[order[place] + 1] - start;
        copy_bytes(to, texts->data + start, length);
        to += length;
    }
    memcpy(texts->data + first, texts->data + texts->size, size);
}

static const byte *write_object(
    const struct cursor *cursor, const byte *at, unsigned depth, struct texts *texts
) {
    struct members members;
    struct keys *const keys = &members.keys;
    bool ended, is_sorted = true;
    keys->count = 0;
    at = begin_items(cursor, at, '}', &ended);
    if (ended)
        write_bytes(texts, "{", 1);
    while (at && !ended) {
        members.start[keys->count] = texts->size;
        at = read_key(cursor, at, keys);
        if (!at)
            return NULL;
        const struct span *const key = last_key(keys);
        is_sorted = is_sorted && (keys->count == 1 || is_key_before(key - 1, key));
        write_bytes(texts, ",", 1);
        write_bytes(texts, key->start - 1, key->length + 2);
        write_bytes(texts, ":", 1);
        at = next_item(cursor, write_canonical(cursor, at, depth, texts), '}', &ended);
    }
    if (at && keys->count && !texts->full) {
        members.start[keys->count] = texts->size;
        if (!is_sorted)
            sort_members(&members, texts);
        texts->data[members.start[0]] = '{';
    }
    write_bytes(texts, "}", 1);
    return at;
}

static const byte *write_list(
    const struct cursor *cursor, const byte *at, unsigned depth, struct texts *texts
) {
    bool ended;
    write_bytes(texts, "[", 1);
    at = begin_items(cursor, at, ']', &ended);
    while (at && !ended) {
        at = next_item(cursor, write_canonical(cursor, at, depth, texts), ']', &ended);
        write_bytes(texts, ",", !ended);
    }
    write_bytes(texts, "]", 1);
    return at;
}

const byte *write_canonical(
    const struct cursor *cursor, const byte *at, unsigned depth, struct texts *texts
) {
    const byte *const start = at;
    struct span span;
    struct number number;
    if (*at == '{' || *at == '[') {
        if (depth == cursor->deepest)
            return NULL;
        return *at == '{' ? write_object(cursor, at, depth + 1, texts)
                          : write_list(cursor, at, depth + 1, texts);
    }
    if (*at == '"') {
        at = read_string(at + 1, cursor->end, &span);
        at = at && is_canonical_text(&span) ? at : NULL;
    } else if (*at == '-' || is_digit(*at)) {
        at = read_number(at, &number);
        if (!at || !is_canonical_number(start, at, &number) ||
            (number.whole && at - start > WHOLE_DIGITS))
            return NULL;
    } else {
        at = skip_word(at);
    }
    if (at)
        write_bytes(texts, start, (size_t)(at - start));
    return at;
}
