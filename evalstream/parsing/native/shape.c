#include "shape.h"

#include <math.h>
#include <string.h>

#include "digest.h"

enum { MOST_KEYS = 64, MOST_SHAPES = 8 };

static const byte *value_at(struct walk *walk, int32_t place, const byte *at, int depth);

static inline bool is_label(const struct tables *tables, int32_t text, const struct span *span) {
    const struct label label = tables->labels[text];
    return (size_t)label.length == span->length &&
           equal(tables->letters + label.start, span->start, span->length);
}

/* Return what follows a key if it is this label, as it mostly is; else NULL. */
static inline const byte *skip_label(const struct walk *walk, int32_t text, const byte *at) {
    const struct label label = walk->tables->labels[text];
    const bool is_it = walk->end - at > label.length + 1 && *at == '"' &&
                       at[label.length + 1] == '"' &&
                       equal(walk->tables->letters + label.start, at + 1, (size_t)label.length);
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

/* Add a word to a digest. */
static inline uint64_t mixed_in(uint64_t digest, uint64_t word) {
    digest = (digest ^ word) * 0x9E3779B97F4A7C15u;
    return digest ^ digest >> 29;
}

static void write_word(struct texts *texts, uint64_t word) { write_bytes(texts, &word, sizeof word); }

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

/* Read a key, which must be new. Return what follows it, and the node of its value. The key of a
   member without a node is a step. */
static const byte *key_at(
    struct walk *walk, int32_t place, const byte *at, struct keys *keys, int32_t *child
) {
    const struct node *const node = walk->tables->nodes + place;
    const struct member *const members = walk->tables->members + node->first_member;
    const byte *behind = NULL;
    int32_t member = keys->likely;
    struct span key;
    if (member < node->members)
        behind = skip_label(walk, members[member].text, at);
    if (!behind) {
        if (*at != '"' || !(behind = read_string(at + 1, walk->end, &key)) || key.escaped)
            return NULL;
        walk->nameless |= !key.length;
        member = member_named(walk->tables, node, &key);
    }
    if (member < 0) {
        if (!is_new_key(keys, &key))
            return NULL;
        if (node->traits & CLOSED)
            deviate(walk, NOT_KNOWN_HERE, place, key.start, key.length);
        if (walk->digests && !(node->traits & IS_MAP))
            walk->shape = mixed_in(walk->shape, xxh64(key.start, key.length, walk->seed));
        walk->step[walk->steps++] = (struct step){key.start, key.length};
        *child = node->others;
        return behind;
    }
    *child = members[member].node;
    keys->likely = member + 1;
    return is_new_member(keys, member) ? behind : NULL;
}

static void end_object(struct walk *walk, int32_t place, const struct keys *keys) {
    const uint64_t missing = walk->tables->nodes[place].required & ~keys->known;
    if (missing)
        deviate(walk, MISSING, place, &missing, sizeof missing);
}

static const byte *object_at(struct walk *walk, int32_t place, const byte *at, int depth) {
    const size_t steps = walk->steps;
    struct keys keys;
    keys.known = 0;
    keys.others = 0;
    keys.likely = 0;
    at = skip_spaces(at);
    if (*at == '}') {
        end_object(walk, place, &keys);
        return at + 1;
    }
    for (;;) {
        int32_t child;
        at = key_at(walk, place, at, &keys, &child);
        if (!at)
            return NULL;
        at = skip_spaces(at);
        if (*at != ':')
            return NULL;
        at = value_at(walk, child, skip_sign(at), depth);
        if (!at)
            return NULL;
        walk->steps = steps;
        at = skip_spaces(at);
        if (*at == '}') {
            end_object(walk, place, &keys);
            return at + 1;
        }
        if (*at != ',')
            return NULL;
        at = skip_sign(at);
    }
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

static const byte *array_at(struct walk *walk, int32_t place, const byte *at, int depth) {
    const int32_t items = walk->tables->nodes[place].items;
    struct step *const step = &walk->step[walk->steps];
    uint64_t shape = walk->shape;
    struct shapes shapes;
    shapes.count = 0;
    at = skip_spaces(at);
    if (*at == ']')
        return at + 1;
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
        if (is_label(walk->tables, node->first_choice + choice, span))
            return true;
    return false;
}

static const byte *string_at(
    struct walk *walk, int32_t place, const byte *at, struct value *value
) {
    const struct node *const node = walk->tables->nodes + place;
    at = read_string(at, walk->end, &value->span);
    if (!at || !node->choices || is_listed(walk, node, &value->span))
        return at;
    if (value->span.escaped)
        return NULL;
    deviate(walk, NOT_LISTED, place, NULL, 0);
    return at;
}

static const byte *number_at(
    struct walk *walk, int32_t place, const byte *at, struct value *value
) {
    const struct node *const node = walk->tables->nodes + place;
    at = read_number(at, &value->number);
    if (!at)
        return NULL;
    value->kind = value->number.whole ? INTEGER : FRACTION;
    if (node->traits & HAS_LEAST) {
        if (value->kind == INTEGER && !value->number.exact)
            return NULL;
        if (value->number.value < node->least)
            deviate(walk, TOO_SMALL, place, NULL, 0);
    }
    return at;
}

static const byte *word_at(const byte *at, const char *word) {
    for (; *word; word++, at++)
        if (*at != (byte)*word)
            return NULL;
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
static bool compare_kinds(struct walk *walk, int32_t place, const struct value *value) {
    const struct node *const node = walk->tables->nodes + place;
    const byte kind = (byte)value->kind;
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

static const byte *value_at(struct walk *walk, int32_t place, const byte *at, int depth) {
    const struct node *const node = walk->tables->nodes + place;
    struct value value;
    value.start = at;
    if (depth == DEEPEST)
        return NULL;
    switch (*at) {
    case '"':
        value.kind = STRING;
        at = string_at(walk, place, at + 1, &value);
        break;
    case '{':
        value.kind = OBJECT;
        at = object_at(walk, place, at + 1, depth + 1);
        break;
    case '[':
        value.kind = ARRAY;
        at = array_at(walk, place, at + 1, depth + 1);
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
        at = number_at(walk, place, at, &value);
    }
    if (!at)
        return NULL;
    const bool is_plain = node->kinds & (int32_t)value.kind && !(node->traits & UNKNOWN);
    if (!is_plain && !compare_kinds(walk, place, &value))
        return NULL;
    value.stop = at;
    if (walk->digests)
        walk->shape = mixed_in(walk->shape, class_of(&value) << 32 | (uint64_t)place);
    if (node->traits & WATCHES)
        walk->watched = true;
    if (node->slot != NO_SLOT && !walk->keep(walk, (enum slot)node->slot, &value))
        return NULL;
    return at;
}

const byte *walk_value(struct walk *walk, const byte *at) {
    walk->steps = 0;
    walk->watched = walk->nameless = walk->digests = false;
    at = value_at(walk, 0, at, 0);
    return walk->signature.full || (walk->nameless && walk->signature.size) ? NULL : at;
}

static bool keep_nothing(struct walk *walk, enum slot slot, const struct value *value) {
    (void)walk, (void)slot, (void)value;
    return true;
}

uint64_t shape_of(const struct walk *walk, uint64_t seed, const byte *at) {
    struct walk again;
    again.tables = walk->tables;
    again.end = walk->end;
    again.keep = keep_nothing;
    again.seed = again.shape = seed;
    again.steps = 0;
    again.watched = again.nameless = false;
    again.digests = true;
    again.signature = (struct texts){.capacity = 0};
    value_at(&again, 0, at, 0);
    return again.shape;
}
