#include "items.h"

enum { MOST_KEYS = 64, MOST_DEPTH = 64, MOST_VALUES = 8 };

struct walk {
    const byte *end;
    struct keep *keep;
};

/* An object without inner ones, as the texts around its values: others of its list are often written
   like it. */
struct flat {
    size_t values;
    struct span texts[MOST_VALUES + 1];
};

/* Skip white space; behind a line feed there mostly are many spaces. */
static inline const byte *skip_blank(const struct walk *walk, const byte *at) {
    for (; *at <= ' '; at++) {
        if (*at == '\n') {
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

static const byte *keep_value(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept
);

static bool is_new(const struct span *keys, size_t count) {
    for (size_t place = 0; place < count; place++)
        if (same(&keys[place], &keys[count]))
            return false;
    return true;
}

static const struct kept *find_kept(
    const struct walk *walk, const struct kept *kept, const struct span *key
) {
    const struct keep *const keep = walk->keep;
    for (uint32_t place = 0; kept && place < kept->count; place++) {
        const struct kept *const one = keep->members + kept->first + place;
        if (one->length == key->length && equal(keep->letters + one->start, key->start, key->length))
            return one;
    }
    return NULL;
}

/* Write a sign of what is kept: before a member or an item a comma, unless it is the first. */
static inline void write_sign(struct walk *walk, const struct kept *kept, char sign) {
    struct texts *const texts = kept ? &walk->keep->texts : NULL;
    const byte last = texts && texts->size ? texts->data[texts->size - 1] : '[';
    if (texts && !(sign == ',' && (last == '{' || last == '[')))
        write_bytes(texts, &sign, 1);
}

/* Skip the value of a member, and write both if it is kept. */
static const byte *skip_member(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept,
    const struct span *key
) {
    const struct kept *const one = find_kept(walk, kept, key);
    if (!one)
        return skip_value(walk, at, depth);
    write_sign(walk, one, ',');
    write_bytes(&walk->keep->texts, key->start - 1, key->length + 2);
    write_sign(walk, one, ':');
    return keep_value(walk, at, depth, one);
}

static const byte *skip_object(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept
) {
    struct span keys[MOST_KEYS];
    write_sign(walk, kept, '{');
    at = skip_blank(walk, at + 1);
    for (size_t count = 0; *at != '}' || count; count++) {
        if (count == MOST_KEYS || *at != '"' || !(at = read_string(at + 1, walk->end, &keys[count])))
            return NULL;
        if (keys[count].escaped || !is_new(keys, count))
            return NULL;
        at = skip_blank(walk, at);
        if (*at != ':')
            return NULL;
        at = skip_member(walk, skip_blank(walk, at + 1), depth, kept, &keys[count]);
        if (!at)
            return NULL;
        at = skip_blank(walk, at);
        if (*at == '}')
            break;
        if (*at != ',')
            return NULL;
        at = skip_blank(walk, at + 1);
    }
    write_sign(walk, kept, '}');
    return at + 1;
}

/* Learn how an object that was skipped is written, if it has no inner ones. */
static void learn_flat(struct walk *walk, const byte *at, const byte *stop, struct flat *flat) {
    const byte *text = at;
    size_t count = 0;
    at = skip_blank(walk, at + 1);
    while (*at == '"' && count < MOST_VALUES) {
        struct span key;
        at = skip_blank(walk, read_string(at + 1, walk->end, &key));
        at = skip_blank(walk, at + 1);
        if (*at == '{' || *at == '[')
            return;
        flat->texts[count++] = (struct span){.start = text, .length = (size_t)(at - text)};
        text = at = skip_value(walk, at, 0);
        at = skip_blank(walk, at);
        if (*at == ',')
            at = skip_blank(walk, at + 1);
    }
    flat->texts[count] = (struct span){.start = text, .length = (size_t)(stop - text)};
    flat->values = at + 1 == stop ? count : 0;
}

/* Skip an object that is written like another one. Return NULL for any other value. */
static const byte *skip_alike(struct walk *walk, const byte *at, const struct flat *flat) {
    for (size_t place = 0; at; place++) {
        const struct span *const text = &flat->texts[place];
        if ((size_t)(walk->end - at) < text->length || !equal(at, text->start, text->length))
            return NULL;
        at += text->length;
        if (place == flat->values)
            return at;
        at = skip_value(walk, at, MOST_DEPTH);
    }
    return NULL;
}

static const byte *skip_list(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept
) {
    struct flat flat = {0};
    write_sign(walk, kept, '[');
    at = skip_blank(walk, at + 1);
    for (size_t count = 0; *at != ']' || count; count++) {
        const byte *stop = flat.values ? skip_alike(walk, at, &flat) : NULL;
        write_sign(walk, kept, ',');
        if (!stop)
            stop = kept ? keep_value(walk, at, depth, kept) : skip_value(walk, at, depth);
        if (!stop)
            return NULL;
        if (!count && !kept && *at == '{')
            learn_flat(walk, at, stop, &flat);
        at = skip_blank(walk, stop);
        if (*at == ']')
            break;
        if (*at != ',')
            return NULL;
        at = skip_blank(walk, at + 1);
    }
    write_sign(walk, kept, ']');
    return at + 1;
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
        return depth < MOST_DEPTH ? skip_object(walk, at, depth + 1, NULL) : NULL;
    case '[':
        return depth < MOST_DEPTH ? skip_list(walk, at, depth + 1, NULL) : NULL;
    case 't':
    case 'f':
    case 'n':
        return skip_word(walk, at);
    default:
        return skip_number(at);
    }
}

/* Skip a value, and write what is kept of it. */
static const byte *keep_value(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept
) {
    if (kept->count && depth < MOST_DEPTH && *at == '{')
        return skip_object(walk, at, depth + 1, kept);
    if (kept->count && depth < MOST_DEPTH && *at == '[')
        return skip_list(walk, at, depth + 1, kept);
    const byte *const stop = skip_value(walk, at, depth);
    if (stop)
        write_bytes(&walk->keep->texts, at, (size_t)(stop - at));
    return stop;
}

const byte *find_item(const struct item_scan *scan) {
    const struct walk walk = {scan->bytes + scan->size, NULL};
    const byte *at = skip_blank(&walk, scan->bytes + scan->at);
    if (scan->is_behind) {
        if (*at != ',')
            return NULL;
        at = skip_blank(&walk, at + 1);
    }
    return *at == '{' ? at : NULL;
}

static uint64_t count_breaks(const byte *at, const byte *stop) {
    enum { MOST_SUMMED = 127 };
    uint64_t count = 0;
    while (stop - at >= LANES) {
        lanes sums = all_lanes(0);
        for (int part = 0; part < MOST_SUMMED && stop - at >= LANES; part++, at += LANES)
            sums -= load_lanes(at) == all_lanes('\n');
        for (int lane = 0; lane < LANES; lane++)
            count += (uint64_t)sums[lane];
    }
    while (at < stop)
        count += *at++ == '\n';
    return count;
}

/* Go on to a place in the piece. */
static void move_to(struct item_scan *scan, const byte *to) {
    const uint64_t breaks = count_breaks(scan->bytes + scan->at, to);
    scan->line += breaks;
    scan->at = (uint64_t)(to - scan->bytes);
    if (!breaks)
        return;
    while (to[-1] != '\n')
        to--;
    scan->line_start = scan->offset + (uint64_t)(to - scan->bytes);
}

bool take_item(struct item_scan *scan, struct item *item, const byte *start, const byte *stop) {
    if ((uint64_t)(stop - start) > scan->longest)
        return false;
    move_to(scan, start);
    const uint64_t place = scan->offset + scan->at;
    const bool is_exact = place <= scan->wide || scan->line_start >= scan->behind;
    item->start = scan->at;
    item->line = scan->line;
    item->column = is_exact ? place - scan->line_start + 1 : 0;
    move_to(scan, stop);
    item->stop = scan->at;
    scan->behind = scan->offset + scan->at;
    scan->is_behind = true;
    return true;
}

uint64_t scan_items(struct item_scan *scan, struct keep *keep) {
    struct walk walk = {scan->bytes + scan->size, keep};
    uint64_t count = 0;
    while (count < scan->most) {
        const byte *const at = find_item(scan), *stop = NULL;
        const size_t size = keep ? keep->texts.size : 0;
        if (at && keep)
            stop = keep_value(&walk, at, 0, keep->members);
        else if (at)
            stop = skip_value(&walk, at, 0);
        if (stop && keep)
            write_bytes(&keep->texts, ",", 1);
        if (!stop || (keep && keep->texts.full) || !take_item(scan, scan->items + count, at, stop)) {
            if (keep)
                keep->texts.size = size;
            break;
        }
        count++;
    }
    return count;
}
