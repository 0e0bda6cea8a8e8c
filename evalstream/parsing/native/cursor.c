#include "cursor.h"

enum { MOST_VALUES = 8 };

/* An object without inner ones, as the texts around its values: others of its list are often written
   like it. */
struct flat {
    size_t values;
    struct span texts[MOST_VALUES + 1];
};

static const byte *skip_object(const struct cursor *cursor, const byte *at, unsigned depth) {
    struct keys keys;
    bool ended;
    keys.count = 0;
    at = begin_items(cursor, at, '}', &ended);
    while (at && !ended) {
        at = read_key(cursor, at, &keys);
        at = next_item(cursor, at ? skip_value(cursor, at, depth) : NULL, '}', &ended);
    }
    return at;
}

/* Learn how an object that was skipped is written, if it has no inner ones. */
static void learn_flat(
    const struct cursor *cursor, const byte *at, const byte *stop, struct flat *flat
) {
    const byte *text = at;
    size_t count = 0;
    bool ended;
    struct keys keys;
    keys.count = 0;
    at = begin_items(cursor, at, '}', &ended);
    while (!ended && count < MOST_VALUES) {
        at = read_key(cursor, at, &keys);
        if (*at == '{' || *at == '[')
            return;
        flat->texts[count++] = (struct span){.start = text, .length = (size_t)(at - text)};
        text = skip_value(cursor, at, 0);
        at = next_item(cursor, text, '}', &ended);
    }
    flat->texts[count] = (struct span){.start = text, .length = (size_t)(stop - text)};
    flat->values = ended ? count : 0;
}

/* Skip an object that is written like another one. Return NULL for any other value. */
static const byte *skip_alike(
    const struct cursor *cursor, const byte *at, const struct flat *flat
) {
    for (size_t place = 0; at; place++) {
        const struct span *const text = &flat->texts[place];
        if ((size_t)(cursor->end - at) < text->length || !equal(at, text->start, text->length))
            return NULL;
        at += text->length;
        if (place == flat->values)
            return at;
        at = skip_value(cursor, at, cursor->deepest);
    }
    return NULL;
}

static const byte *skip_list(const struct cursor *cursor, const byte *at, unsigned depth) {
    struct flat flat;
    bool ended, may_be_alike = cursor->crosses_lines;
    flat.values = 0;
    at = begin_items(cursor, at, ']', &ended);
    while (at && !ended) {
        const byte *stop = flat.values ? skip_alike(cursor, at, &flat) : NULL;
        stop = stop ? stop : skip_value(cursor, at, depth);
        if (stop && may_be_alike && *at == '{')
            learn_flat(cursor, at, stop, &flat);
        may_be_alike = false;
        at = next_item(cursor, stop, ']', &ended);
    }
    return at;
}

/* Skip a number; one without an exponent is not converted, as its length bounds it. */
static const byte *skip_number(const byte *start) {
    enum { MOST_DIGITS = 18, LONGEST = 63 };
    struct number number;
    const byte *const digits = start + (*start == '-');
    const byte *at = skip_digits(digits);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return NULL;
    const bool is_whole = *at != '.';
    if (!is_whole) {
        const byte *const point = at++;
        at = skip_digits(at);
        if (at == point + 1)
            return NULL;
    }
    if (*at == 'e' || *at == 'E')
        return read_number(start, &number);
    return at - digits <= (is_whole ? MOST_DIGITS : LONGEST) ? at : NULL;
}

const byte *skip_value(const struct cursor *cursor, const byte *at, unsigned depth) {
    struct span span;
    switch (*at) {
    case '"':
        return read_string(at + 1, cursor->end, &span);
    case '{':
        return depth < cursor->deepest ? skip_object(cursor, at, depth + 1) : NULL;
    case '[':
        return depth < cursor->deepest ? skip_list(cursor, at, depth + 1) : NULL;
    case 't':
    case 'f':
    case 'n':
        return skip_word(at);
    default:
        return skip_number(at);
    }
}
