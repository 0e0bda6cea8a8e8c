#include "items.h"

enum { MOST_KEYS = 64, MOST_DEPTH = 64 };

struct walk {
    const byte *end;
    uint64_t breaks;
    const byte *line;
};

/* Skip white space; behind a line feed there mostly are many spaces. */
static inline const byte *skip_blank(struct walk *walk, const byte *at) {
    for (; *at <= ' '; at++) {
        if (*at == '\n') {
            walk->breaks++;
            walk->line = at + 1;
            while (walk->end - at > LANES) {
                const unsigned spaces = lane_bits(load_lanes(at + 1) == all_lanes(' '));
                at += spaces == 0xFFFF ? LANES : __builtin_ctz(~spaces);
                if (spaces != 0xFFFF)
                    break;
            }
        } else if (*at != ' ' && *at != '\t' && *at != '\r') {
            break;
        }
    }
    return at;
}

static const byte *skip_value(struct walk *walk, const byte *at, unsigned depth);

static bool is_new(const struct span *keys, size_t count) {
    for (size_t place = 0; place < count; place++)
        if (same(&keys[place], &keys[count]))
            return false;
    return true;
}

static const byte *skip_object(struct walk *walk, const byte *at, unsigned depth) {
    struct span keys[MOST_KEYS];
    at = skip_blank(walk, at + 1);
    if (*at == '}')
        return at + 1;
    for (size_t count = 0; count < MOST_KEYS; count++) {
        if (*at != '"' || !(at = read_string(at + 1, walk->end, &keys[count])))
            return NULL;
        if (keys[count].escaped || !is_new(keys, count))
            return NULL;
        at = skip_blank(walk, at);
        if (*at != ':' || !(at = skip_value(walk, skip_blank(walk, at + 1), depth)))
            return NULL;
        at = skip_blank(walk, at);
        if (*at == '}')
            return at + 1;
        if (*at != ',')
            return NULL;
        at = skip_blank(walk, at + 1);
    }
    return NULL;
}

static const byte *skip_list(struct walk *walk, const byte *at, unsigned depth) {
    at = skip_blank(walk, at + 1);
    if (*at == ']')
        return at + 1;
    while ((at = skip_value(walk, at, depth))) {
        at = skip_blank(walk, at);
        if (*at == ']')
            return at + 1;
        if (*at != ',')
            return NULL;
        at = skip_blank(walk, at + 1);
    }
    return NULL;
}

static const byte *skip_word(struct walk *walk, const byte *at) {
    const char *const word = *at == 't' ? "true" : *at == 'f' ? "false" : "null";
    const size_t length = strlen(word);
    return (size_t)(walk->end - at) >= length && !memcmp(at, word, length) ? at + length : NULL;
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

/* Return what follows a value, NULL for one that is not plain or does not end here. */
static const byte *skip_value(struct walk *walk, const byte *at, unsigned depth) {
    struct span span;
    switch (*at) {
    case '"':
        return read_string(at + 1, walk->end, &span);
    case '{':
        return depth < MOST_DEPTH ? skip_object(walk, at, depth + 1) : NULL;
    case '[':
        return depth < MOST_DEPTH ? skip_list(walk, at, depth + 1) : NULL;
    case 't':
    case 'f':
    case 'n':
        return skip_word(walk, at);
    default:
        return skip_number(at);
    }
}

uint64_t scan_items(struct item_scan *scan) {
    const byte *const bytes = scan->bytes;
    struct walk walk = {bytes + scan->size, scan->breaks, bytes + scan->line};
    uint64_t count = 0;
    while (count < scan->most) {
        const byte *at = skip_blank(&walk, bytes + scan->at);
        if (scan->is_behind) {
            if (*at != ',')
                break;
            at = skip_blank(&walk, at + 1);
        }
        struct item *const item = &scan->items[count];
        item->start = (uint64_t)(at - bytes);
        item->breaks = walk.breaks;
        item->line = (uint64_t)(walk.line - bytes);
        const byte *const stop = *at == '{' ? skip_value(&walk, at, 0) : NULL;
        if (!stop || (uint64_t)(stop - at) > scan->longest)
            break;
        scan->at = item->stop = (uint64_t)(stop - bytes);
        scan->breaks = walk.breaks;
        scan->line = (uint64_t)(walk.line - bytes);
        scan->is_behind = true;
        count++;
    }
    return count;
}
