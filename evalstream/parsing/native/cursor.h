/* The steps of all walkers over JSON: into containers, from member to member, over whole values. */

#ifndef EVALSTREAM_CURSOR_H
#define EVALSTREAM_CURSOR_H

#include "json.h"

enum { MOST_KEYS = 64 };

/* How values are read. Behind the memory is a byte that no token holds. */
struct cursor {
    const byte *end;    /* of the memory */
    unsigned deepest;   /* so many containers may be around each other */
    bool crosses_lines; /* white space has line feeds, too, as in documents */
};

/* The keys of an object so far, each of which may be there once. */
struct keys {
    size_t count;
    struct span key[MOST_KEYS];
};

/* Skip white space; behind a line feed there mostly are many spaces. */
static inline const byte *skip_white(const struct cursor *cursor, const byte *at) {
    at = skip_spaces(at);
    while (*at == '\n' && cursor->crosses_lines) {
        while (cursor->end - at > LANES) {
            const unsigned spaces = lane_bits(load_lanes(at + 1) == all_lanes(' '));
            at += spaces == 0xFFFF ? LANES : __builtin_ctz(~spaces);
            if (spaces != 0xFFFF)
                break;
        }
        at = skip_spaces(at + 1);
    }
    return at;
}

/* Step into a list or an object. Return its first item or member, or what follows it where it is
   empty: then it has `ended`. */
static inline const byte *begin_items(
    const struct cursor *cursor, const byte *at, byte closing, bool *ended
) {
    at = skip_white(cursor, at + 1);
    *ended = *at == closing;
    return *ended ? at + 1 : at;
}

/* Step from an item or member to the next one, or behind the container, which then has `ended`.
   Return NULL where neither a comma nor the closing sign follows; `at` may be NULL. */
static inline const byte *next_item(
    const struct cursor *cursor, const byte *at, byte closing, bool *ended
) {
    if (!at)
        return NULL;
    at = skip_white(cursor, at);
    *ended = *at == closing;
    if (*ended)
        return at + 1;
    return *at == ',' ? skip_white(cursor, at + 1) : NULL;
}

/* Read a name and the colon behind it. Return where the value is, NULL for a name with escapes: it may
   be an earlier one, written in another way. */
static inline const byte *read_name(
    const struct cursor *cursor, const byte *at, struct span *name
) {
    if (*at != '"' || !(at = read_string(at + 1, cursor->end, name)) || name->escaped)
        return NULL;
    at = skip_white(cursor, at);
    return *at == ':' ? skip_white(cursor, at + 1) : NULL;
}

/* Read a name as `read_name` does, and add it to the keys. Return NULL for one that is there, too. */
static inline const byte *read_key(
    const struct cursor *cursor, const byte *at, struct keys *keys
) {
    struct span *const key = &keys->key[keys->count];
    at = keys->count < MOST_KEYS ? read_name(cursor, at, key) : NULL;
    for (size_t place = 0; place < keys->count; place++)
        if (at && same(&keys->key[place], key))
            return NULL;
    keys->count++;
    return at;
}

static inline const struct span *last_key(const struct keys *keys) {
    return &keys->key[keys->count - 1];
}

/* Skip true, false or null; NULL for anything else. */
static inline const byte *skip_word(const byte *at) {
    return skip_literal(at, *at == 't' ? "true" : *at == 'f' ? "false" : "null");
}

/* Return what follows a value within `depth` containers; NULL for one that is not strict JSON in UTF-8
   with finite numbers, or that a cursor does not read: with an object of more than MOST_KEYS members,
   a key with escapes, or a number of many digits. */
const byte *skip_value(const struct cursor *cursor, const byte *at, unsigned depth);

#endif
