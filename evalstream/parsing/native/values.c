#include "values.h"

/* Return what follows a value; NULL where a string is not one. */
static const byte *skip_known(const struct cursor *cursor, const byte *at) {
    struct span text;
    unsigned depth = 0;
    do {
        if (*at == '"') {
            if (!(at = read_string(at + 1, cursor->end, &text)))
                return NULL;
        } else {
            depth += *at == '{' || *at == '[';
            depth -= *at == '}' || *at == ']';
            at++;
        }
    } while (depth || !strchr(",]} \t\r\n", *at));
    return at;
}

static const byte *find_member(
    const struct cursor *cursor, const byte *at, const struct span *wanted
) {
    struct span name;
    bool ended;
    at = begin_items(cursor, at, '}', &ended);
    while (at && !ended) {
        at = read_name(cursor, at, &name);
        if (at && same(&name, wanted))
            return at;
        at = next_item(cursor, at ? skip_known(cursor, at) : NULL, '}', &ended);
    }
    return NULL;
}

static const byte *find_item_at(
    const struct cursor *cursor, const byte *at, const struct span *index
) {
    uint64_t place = 0;
    bool ended;
    for (size_t digit = 0; digit < index->length; digit++) {
        if (!is_digit(index->start[digit]) || digit > 9)
            return NULL;
        place = 10 * place + (index->start[digit] - '0');
    }
    at = begin_items(cursor, at, ']', &ended);
    for (; at && !ended && place; place--)
        at = next_item(cursor, skip_known(cursor, at), ']', &ended);
    return ended || !index->length ? NULL : at;
}

/* Return where the value at a path begins; NULL where there is none. */
static const byte *follow(
    const struct cursor *cursor, const byte *at, const byte *path, const byte *stop
) {
    while (at && path < stop) {
        const byte *const name = ++path;
        while (path < stop && *path != BEFORE_NAME)
            path++;
        const struct span step = {.start = name, .length = (size_t)(path - name)};
        at = *at == '{'   ? find_member(cursor, at, &step)
             : *at == '[' ? find_item_at(cursor, at, &step)
                          : NULL;
    }
    return at;
}

void find_values(
    const byte *bytes, uint64_t size, const byte *paths, struct place_of_value *places,
    uint64_t count
) {
    const struct cursor cursor = {.end = bytes + size};
    for (struct place_of_value *place = places; place < places + count; place++) {
        const byte *const path = paths, *const row = skip_spaces(bytes + place->start);
        paths += place->stop;
        const byte *const start = follow(&cursor, row, path, paths);
        const byte *const stop = start ? skip_known(&cursor, start) : NULL;
        place->start = stop ? (uint64_t)(start - bytes) : 0;
        place->stop = stop ? (uint64_t)(stop - bytes) : 0;
    }
}
