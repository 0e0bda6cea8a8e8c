#include "shape.h"

#include <math.h>
#include <string.h>

#include "digest.h"

enum { MOST_KEYS = 64, MOST_SHAPES = 8 };

static inline int32_t place_of(const struct walk *walk, const struct node *node) {
    return (int32_t)(node - walk->tables->nodes);
}

static inline bool is_label(
    const struct tables *tables, struct label label, const struct span *span
) {
    return (size_t)label.length == span->length &&
           equal(tables->letters + label.start, span->start, span->length);
}

/* How many bytes of a label are before and behind the name of its member; and of these, before the
   first quote and behind the colon. */
enum { BEFORE_NAME = 3, BEHIND_NAME = 3, BEFORE_KEY = 2, BEHIND_KEY = 1 };

static inline struct label within(struct label label, int32_t before, int32_t behind) {
    return (struct label){label.start + before, label.length - before - behind};
}

static int32_t member_named(
    const struct tables *tables, const struct node *node, const struct span *key
) {
    const struct member *const members = tables->members + node->first_member;
    for (int32_t place = 0; place < node->members; place++)
        if (is_label(tables, within(members[place].label, BEFORE_NAME, BEHIND_NAME), key))
            return place;
    return -1;
}

/* The keys of an object, each of which may be there once. */
struct keys {
    uint64_t known; /* members that have a node of their own, as bits */
    size_t others;
    struct span other[MOST_KEYS];
};

static inline bool is_new_member(struct keys *keys, int32_t member) {
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

/* Add a word to a digest. */
static inline uint64_t mixed_in(uint64_t digest, uint64_t word) {
    digest = (digest ^ word) * 0x9E3779B97F4A7C15u;
    return digest ^ digest >> 29;
}

static void write_word(struct texts *texts, uint64_t word) {
    write_bytes(texts, &word, sizeof word);
}

void deviate(
    struct walk *walk, enum deviation deviation, int32_t node, const void *more, size_t size
) {
    struct texts *const signature = &walk->signature;
    write_word(signature, (uint64_t)deviation | (uint64_t)node << 8);
    write_word(signature, size);
    write_bytes(signature, more, size);
    write_word(signature, walk->steps);
    for (size_t place = 0; place < walk->steps; place++) {
        const struct step *const step = &walk->step[place];
        write_word(signature, step->size << 1 | (step->name != NULL));
        if (step->name)
            write_bytes(signature, step->name, step->size);
    }
}

/* Read a key without a node, which must be new: a step. */
static bool add_key(
    struct walk *walk, const struct node *node, struct keys *keys, const struct span *key
) {
    walk->nameless |= !key->length;
    if (!is_new_key(keys, key))
        return false;
    if (node->traits & CLOSED)
        deviate(walk, NOT_KNOWN_HERE, place_of(walk, node), key->start, key->length);
    if (walk->digests && !(node->traits & IS_MAP))
        walk->shape = mixed_in(walk->shape, xxh64(key->start, key->length, walk->seed));
    walk->step[walk->steps++] = (struct step){key->start, key->length};
    return true;
}

/* Read a key, which must be new, and the colon behind it. Return where the value is; write which
   member it is, -1 for one without a node. */
static const byte *key_at(
    struct walk *walk, const struct node *node, const byte *at, struct keys *keys, int32_t *member
) {
    struct span key;
    if (*at != '"' || !(at = read_string(at + 1, walk->end, &key)) || key.escaped)
        return NULL;
    at = skip_spaces(at);
    if (*at != ':')
        return NULL;
    *member = member_named(walk->tables, node, &key);
    const bool is_new = *member < 0 ? add_key(walk, node, keys, &key)
                                    : is_new_member(keys, *member);
    return is_new ? skip_sign(at) : NULL;
}

static inline bool is_key(const struct walk *walk, struct label label, const byte *at) {
    return walk->end - at >= label.length + LANES &&
           begin_alike(at, walk->tables->letters + label.start, (unsigned)label.length);
}

/* Tell whether a member follows as it mostly does: behind a comma, with a space behind each sign. */
static inline bool is_next(const struct walk *walk, const struct member *member, const byte *at) {
    return walk->end - at >= 2 * LANES && !(~alike_bits(at, member->next) & member->letters);
}

/* Read a key and the colon behind it. Return where the value is; write which member it is. */
static inline const byte *member_at(
    struct walk *walk, const struct node *node, const byte *at, struct keys *keys, int32_t likely,
    int32_t *member
) {
    if (likely == node->members)
        return key_at(walk, node, at, keys, member);
    const struct member *const known = walk->tables->members + node->first_member + likely;
    const struct label label = within(known->label, BEFORE_KEY, BEHIND_KEY);
    if (!is_key(walk, label, at))
        return key_at(walk, node, at, keys, member);
    *member = likely;
    return is_new_member(keys, likely) ? skip_sign(at + label.length - 1) : NULL;
}

/* Inlined: a call for each value takes as long as what it does. */
__attribute__((always_inline)) static inline const byte *value_at(
    struct walk *walk, const struct node *node, const byte *at, int depth
);

static const byte *object_at(
    struct walk *walk, const struct node *node, const byte *at, int depth
) {
    const struct member *const members = walk->tables->members + node->first_member;
    const struct node *const nodes = walk->tables->nodes;
    const size_t steps = walk->steps;
    int32_t likely = 0, member; /* the one that mostly comes next, and the one that is there */
    struct keys keys;
    keys.known = 0;
    keys.others = 0;
    at = skip_spaces(at);
    if (*at != '}') {
        at = depth < DEEPEST ? member_at(walk, node, at, &keys, likely, &member) : NULL;
        for (;;) {
            if (!at)
                return NULL;
            likely = member >= 0 ? member + 1 : likely;
            int32_t place = member >= 0 ? members[member].node : node->others;
            while ((at = value_at(walk, nodes + place, at, depth)) &&
                   is_next(walk, members + likely, at)) {
                if (!is_new_member(&keys, likely))
                    return NULL;
                walk->steps = steps;
                at = skip_spaces(at + members[likely].label.length);
                place = members[likely++].node;
            }
            if (!at)
                return NULL;
            walk->steps = steps;
            at = skip_spaces(at);
            if (*at == '}')
                break;
            if (*at != ',')
                return NULL;
            at = skip_sign(at);
            at = *at == '"' ? member_at(walk, node, at, &keys, likely, &member) : NULL;
        }
    }
    const uint64_t missing = node->required & ~keys.known;
    if (missing)
        deviate(walk, MISSING, place_of(walk, node), &missing, sizeof missing);
    return at + 1;
}

/* The shapes of an array's elements, each once. */
struct shapes {
    size_t count;
    uint64_t shape[MOST_SHAPES];
};

/* Add the shape of an element to that of its array, unless there was one alike. */
static uint64_t with_element(struct shapes *shapes, uint64_t shape, uint64_t element) {
    for (size_t place = 0; place < shapes->count; place++)
        if (shapes->shape[place] == element)
            return shape;
    if (shapes->count < MOST_SHAPES)
        shapes->shape[shapes->count++] = element;
    return mixed_in(shape, element);
}

static const byte *array_at(
    struct walk *walk, const struct node *node, const byte *at, int depth
) {
    const struct node *const items = walk->tables->nodes + node->items;
    struct step *const step = &walk->step[walk->steps];
    uint64_t shape = walk->shape;
    struct shapes shapes;
    shapes.count = 0;
    at = skip_spaces(at);
    if (*at == ']')
        return at + 1;
    if (depth == DEEPEST)
        return NULL;
    *step = (struct step){NULL, 0};
    walk->steps++;
    for (;; step->size++) {
        walk->shape = walk->seed;
        at = value_at(walk, items, at, depth);
        if (!at)
            return NULL;
        if (walk->digests)
            shape = with_element(&shapes, shape, walk->shape);
        at = skip_spaces(at);
        if (*at == ']') {
            walk->shape = shape;
            walk->steps--;
            return at + 1;
        }
        if (*at != ',')
            return NULL;
        at = skip_sign(at);
    }
}

/* Tell whether a string is one of the texts that a node lists. */
static bool is_listed(const struct walk *walk, const struct node *node, const struct span *span) {
    for (int32_t choice = 0; choice < node->choices; choice++)
        if (is_label(walk->tables, walk->tables->labels[node->first_choice + choice], span))
            return true;
    return false;
}

static inline const byte *string_at(
    struct walk *walk, const struct node *node, const byte *at, struct span *span
) {
    at = read_string(at, walk->end, span);
    if (!at || !node->choices || is_listed(walk, node, span))
        return at;
    if (span->escaped)
        return NULL;
    deviate(walk, NOT_LISTED, place_of(walk, node), NULL, 0);
    return at;
}

static const byte *number_at(
    struct walk *walk, const struct node *node, const byte *at, struct number *number
) {
    at = read_number(at, number);
    if (!at || !(node->traits & HAS_LEAST))
        return at;
    if (number->whole && !number->exact)
        return NULL;
    if (number->value < node->least)
        deviate(walk, TOO_SMALL, place_of(walk, node), NULL, 0);
    return at;
}

static inline bool is_number(const struct value *value) {
    return value->kind == INTEGER || value->kind == FRACTION;
}

static bool is_integral(const struct value *value) {
    const double number = value->number.value;
    /* Above 2 ** 53 no double has a fraction. */
    return value->kind == INTEGER || fabs(number) > 9007199254740992.0 ||
           number == (double)(int64_t)number;
}

/* Return what decides, of a value without its members and elements, whether a schema accepts it:
   its kind, and the side of 0 and 1 on which a number is. */
static inline uint64_t class_of(const struct value *value) {
    if (!is_number(value))
        return (uint64_t)value->kind;
    const double number = value->number.value;
    const uint64_t side = number < 0 ? 0 : number < 1 ? 1 : 2;
    return (uint64_t)(is_integral(value) ? INTEGER : FRACTION) | side << 8;
}

/* Compare the kind of a value with those that its node allows. Return whether that is decided: a
   fraction such as 1.0 may count as an integer. */
static bool compare_kinds(struct walk *walk, const struct node *node, const struct value *value) {
    const int32_t place = place_of(walk, node);
    const byte kind = (byte)value->kind;
    walk->watched |= (node->traits & WATCHES) != 0;
    if (node->traits & UNKNOWN)
        deviate(walk, NOT_KNOWN_HERE, place, NULL, 0);
    if (node->kinds & kind)
        return true;
    if (node->traits & STRICT ||
        (value->kind == FRACTION && node->kinds & INTEGER && is_integral(value)))
        return false;
    deviate(walk, WRONG_KIND, place, &kind, sizeof kind);
    return true;
}

static inline const byte *value_at(
    struct walk *walk, const struct node *node, const byte *at, int depth
) {
    const int32_t slot = node->slot;
    struct value *const value = &walk->slots[slot];
    const byte *const start = at;
    enum kind kind;
    switch (*at) {
    case '"':
        kind = STRING;
        at = string_at(walk, node, at + 1, &value->span);
        break;
    case '{':
        kind = OBJECT;
        at = object_at(walk, node, at + 1, depth + 1);
        break;
    case '[':
        kind = ARRAY;
        at = array_at(walk, node, at + 1, depth + 1);
        break;
    case 't':
    case 'f':
        kind = BOOLEAN;
        value->number.value = *at == 't';
        at = skip_literal(at, *at == 't' ? "true" : "false");
        break;
    case 'n':
        kind = NULL_KIND;
        at = skip_literal(at, "null");
        break;
    default:
        at = number_at(walk, node, at, &value->number);
        kind = at && value->number.whole ? INTEGER : FRACTION;
    }
    if (!at)
        return NULL;
    value->kind = kind;
    value->start = start;
    value->stop = at;
    if (!(node->plain & (int32_t)kind) && !compare_kinds(walk, node, value))
        return NULL;
    if (walk->digests)
        walk->shape = mixed_in(walk->shape, class_of(value) << 32 | (uint64_t)place_of(walk, node));
    if (walk->records && walk->recorded++ < MOST_RECORDED)
        walk->records[walk->recorded - 1] = (struct recorded){*value, node, depth, false};
    return slot < walk->first_collected || walk->keep(walk, slot, value) ? at : NULL;
}

const byte *walk_inner(struct walk *walk, const struct node *node, const byte *at, int depth) {
    return value_at(walk, node, at, depth);
}

const byte *walk_value(struct walk *walk, const byte *at) {
    begin_walk(walk);
    at = value_at(walk, walk->tables->nodes, at, 0);
    return walk->signature.full || (walk->nameless && walk->signature.size) ? NULL : at;
}

uint64_t shape_of(const struct walk *walk, const byte *at) {
    struct walk again = *walk;
    if (walk->digests)
        return walk->shape;
    again.first_collected = INT32_MAX;
    again.digests = true;
    again.signature.capacity = 0;
    walk_value(&again, at);
    return again.shape;
}
