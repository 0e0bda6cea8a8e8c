#include "shape.h"

#include <string.h>

enum { DEEPEST = 64, MOST_KEYS = 64 };

static const byte *value_at(struct walk *walk, int32_t place, const byte *at, int depth);

static inline bool is_label(const struct tables *tables, int32_t text, const struct span *span) {
    const struct label label = tables->labels[text];
    return (size_t)label.length == span->length &&
           !memcmp(tables->letters + label.start, span->start, span->length);
}

/* Return what follows a key if it is this label, as it mostly is; else NULL. */
static inline const byte *skip_label(const struct walk *walk, int32_t text, const byte *at) {
    const struct label label = walk->tables->labels[text];
    const bool is_it = walk->end - at > label.length + 1 && *at == '"' &&
                       !memcmp(walk->tables->letters + label.start, at + 1, (size_t)label.length) &&
                       at[label.length + 1] == '"';
    return is_it ? at + label.length + 2 : NULL;
}

static int32_t member_named(
    const struct tables *tables, const struct node *node, const struct span *key
) {
    const struct member *const members = tables->members + node->first_member;
    for (int32_t place = 0; place < node->members; place++)
        if (is_label(tables, members[place].text, key))
            return place;
    return -1;
}

/* The keys of an object, each of which may be there once. */
struct keys {
    uint64_t known; /* members that have a node of their own, as bits */
    int32_t likely; /* the one that mostly comes next */
    size_t others;
    struct span other[MOST_KEYS];
};

static bool is_new_member(struct keys *keys, int32_t member) {
    const uint64_t bit = (uint64_t)1 << member;
    const bool is_new = !(keys->known & bit);
    keys->known |= bit;
    return is_new;
}

static bool is_new_key(struct keys *keys, const struct span *key) {
    if (keys->others == MOST_KEYS)
        return false;
    for (size_t place = 0; place < keys->others; place++)
        if (same(&keys->other[place], key))
            return false;
    keys->other[keys->others++] = *key;
    return true;
}

/* Read a key, which must be new. Return what follows it, and the node of its value. */
static const byte *key_at(
    struct walk *walk, const struct node *node, const byte *at, struct keys *keys, int32_t *child
) {
    const struct member *const members = walk->tables->members + node->first_member;
    const byte *behind = NULL;
    int32_t member = keys->likely;
    struct span key;
    if (member < node->members)
        behind = skip_label(walk, members[member].text, at);
    if (!behind) {
        if (*at != '"' || !(behind = read_string(at + 1, walk->end, &key)) || key.escaped)
            return NULL;
        member = member_named(walk->tables, node, &key);
    }
    if (member < 0) {
        *child = node->others;
        return node->others >= 0 && is_new_key(keys, &key) ? behind : NULL;
    }
    *child = members[member].node;
    keys->likely = member + 1;
    return is_new_member(keys, member) ? behind : NULL;
}

static const byte *object_at(struct walk *walk, const struct node *node, const byte *at, int depth) {
    struct keys keys;
    keys.known = 0;
    keys.others = 0;
    keys.likely = 0;
    at = skip_spaces(at);
    if (*at == '}')
        return node->required ? NULL : at + 1;
    for (;;) {
        int32_t child;
        at = key_at(walk, node, at, &keys, &child);
        if (!at)
            return NULL;
        at = skip_spaces(at);
        if (*at != ':')
            return NULL;
        at = value_at(walk, child, skip_spaces(at + 1), depth);
        if (!at)
            return NULL;
        at = skip_spaces(at);
        if (*at == '}')
            return (keys.known & node->required) == node->required ? at + 1 : NULL;
        if (*at != ',')
            return NULL;
        at = skip_spaces(at + 1);
    }
}

static const byte *array_at(struct walk *walk, const struct node *node, const byte *at, int depth) {
    at = skip_spaces(at);
    if (*at == ']')
        return at + 1;
    for (;;) {
        at = value_at(walk, node->items, at, depth);
        if (!at)
            return NULL;
        at = skip_spaces(at);
        if (*at == ']')
            return at + 1;
        if (*at != ',')
            return NULL;
        at = skip_spaces(at + 1);
    }
}

static const byte *string_at(
    struct walk *walk, const struct node *node, const byte *at, struct value *value
) {
    at = read_string(at, walk->end, &value->span);
    if (!at || !node->choices)
        return at;
    for (int32_t choice = 0; choice < node->choices; choice++) {
        if (is_label(walk->tables, node->first_choice + choice, &value->span)) {
            value->choice = choice;
            return at;
        }
    }
    return NULL;
}

static const byte *number_at(const struct node *node, const byte *at, struct value *value) {
    at = read_number(at, &value->number);
    if (!at)
        return NULL;
    value->kind = value->number.whole ? INTEGER : FRACTION;
    if (node->has_least) {
        if ((value->kind == INTEGER && !value->number.exact) || value->number.value < node->least)
            return NULL;
    }
    return at;
}

static const byte *word_at(const byte *at, const char *word) {
    for (; *word; word++, at++)
        if (*at != (byte)*word)
            return NULL;
    return at;
}

static const byte *value_at(struct walk *walk, int32_t place, const byte *at, int depth) {
    const struct node *const node = walk->tables->nodes + place;
    struct value value;
    value.start = at;
    if (depth == DEEPEST)
        return NULL;
    switch (*at) {
    case '"':
        value.kind = STRING;
        at = string_at(walk, node, at + 1, &value);
        break;
    case '{':
        value.kind = OBJECT;
        at = node->kinds & OBJECT ? object_at(walk, node, at + 1, depth + 1) : NULL;
        break;
    case '[':
        value.kind = ARRAY;
        at = node->kinds & ARRAY ? array_at(walk, node, at + 1, depth + 1) : NULL;
        break;
    case 't':
    case 'f':
        value.kind = BOOLEAN;
        value.number.value = *at == 't';
        at = word_at(at, *at == 't' ? "true" : "false");
        break;
    case 'n':
        value.kind = NULL_KIND;
        at = word_at(at, "null");
        break;
    default:
        at = number_at(node, at, &value);
    }
    if (!at || !(node->kinds & (int32_t)value.kind))
        return NULL;
    value.stop = at;
    walk->watched |= node->watched;
    if (node->slot != NO_SLOT && !walk->keep(walk, (enum slot)node->slot, &value))
        return NULL;
    return at;
}

const byte *walk_value(struct walk *walk, const byte *at) { return value_at(walk, 0, at, 0); }
