#include "items.h"

enum { MOST_DEPTH = 64 };

struct walk {
    struct cursor cursor;
    struct keep *keep;
};

static struct walk walk_of(const struct item_scan *scan, struct keep *keep) {
    return (struct walk){{scan->bytes + scan->size, MOST_DEPTH, true}, keep};
}

static const byte *keep_value(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept
);

static const struct kept *find_kept(
    const struct walk *walk, const struct kept *kept, const struct span *key
) {
    const struct keep *const keep = walk->keep;
    for (uint32_t place = 0; place < kept->count; place++) {
        const struct kept *const one = keep->members + kept->first + place;
        if (one->length == key->length && equal(keep->letters + one->start, key->start, key->length))
            return one;
    }
    return NULL;
}

/* Write a sign: before a member or an item a comma, unless it is the first. */
static inline void write_sign(struct walk *walk, char sign) {
    struct texts *const texts = &walk->keep->texts;
    const byte last = texts->size ? texts->data[texts->size - 1] : '[';
    if (!(sign == ',' && (last == '{' || last == '[')))
        write_bytes(texts, &sign, 1);
}

/* Skip the value of a member, and write both if it is kept. */
static const byte *keep_member(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept,
    const struct span *key
) {
    const struct kept *const one = find_kept(walk, kept, key);
    if (!one)
        return skip_value(&walk->cursor, at, depth);
    write_sign(walk, ',');
    write_bytes(&walk->keep->texts, key->start - 1, key->length + 2);
    write_sign(walk, ':');
    return keep_value(walk, at, depth, one);
}

static const byte *keep_object(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept
) {
    struct keys keys;
    bool ended;
    keys.count = 0;
    write_sign(walk, '{');
    at = begin_items(&walk->cursor, at, '}', &ended);
    while (at && !ended) {
        at = read_key(&walk->cursor, at, &keys);
        at = at ? keep_member(walk, at, depth, kept, last_key(&keys)) : NULL;
        at = next_item(&walk->cursor, at, '}', &ended);
    }
    write_sign(walk, '}');
    return at;
}

static const byte *keep_list(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept
) {
    bool ended;
    write_sign(walk, '[');
    at = begin_items(&walk->cursor, at, ']', &ended);
    while (at && !ended) {
        write_sign(walk, ',');
        at = next_item(&walk->cursor, keep_value(walk, at, depth, kept), ']', &ended);
    }
    write_sign(walk, ']');
    return at;
}

/* Skip a value, and write what is kept of it. */
static const byte *keep_value(
    struct walk *walk, const byte *at, unsigned depth, const struct kept *kept
) {
    if (kept->count && depth < MOST_DEPTH && *at == '{')
        return keep_object(walk, at, depth + 1, kept);
    if (kept->count && depth < MOST_DEPTH && *at == '[')
        return keep_list(walk, at, depth + 1, kept);
    const byte *const stop = skip_value(&walk->cursor, at, depth);
    if (stop)
        write_bytes(&walk->keep->texts, at, (size_t)(stop - at));
    return stop;
}

const byte *find_item(const struct item_scan *scan) {
    const struct walk walk = walk_of(scan, NULL);
    const byte *at = skip_white(&walk.cursor, scan->bytes + scan->at);
    if (scan->is_behind) {
        if (*at != ',')
            return NULL;
        at = skip_white(&walk.cursor, at + 1);
    }
    return *at == '{' ? at : NULL;
}

uint64_t count_newlines(const byte *bytes, uint64_t size) {
    enum { MOST_SUMMED = 127 };
    const byte *at = bytes, *const stop = bytes + size;
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
    const uint64_t stop = (uint64_t)(to - scan->bytes);
    const uint64_t breaks = count_newlines(scan->bytes + scan->at, stop - scan->at);
    scan->line += breaks;
    scan->at = stop;
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
    struct walk walk = walk_of(scan, keep);
    uint64_t count = 0;
    while (count < scan->most) {
        const byte *const at = find_item(scan), *stop = NULL;
        const size_t size = keep ? keep->texts.size : 0;
        if (at && keep)
            stop = keep_value(&walk, at, 0, keep->members);
        else if (at)
            stop = skip_value(&walk.cursor, at, 0);
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
