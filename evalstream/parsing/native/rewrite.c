#include "rewrite.h"

#include "cursor.h"
#include "digest.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_DEPTH = 100, /* the exact path takes deeper rows, so that the stack is bounded */
    LEAST_ROOM = 1 << 16,
    DIGEST_PREFIX = 7, /* sha256: */
    DIGEST_DIGITS = 64,
};

/* Some bytes of the row; none if they are not known yet. */
struct piece {
    const byte *start;
    size_t size;
};

/* What stands between the parts of an object, as long as it is the same everywhere. */
struct style {
    struct piece colon, separator;
    bool is_uneven;
};

struct rewriter {
    struct rewrite_tables tables;
    uint64_t missing; /* the watches that are true where the member is missing */
    byte *text;
    size_t size, capacity;
    struct left_row *left;
    size_t left_count, left_capacity;
    bool no_memory;
    /* Of the row that is being rewritten: */
    struct cursor cursor;
    const byte *done; /* what comes before it is written */
    uint64_t applied, watched;
    unsigned changes;          /* how many of them are applied */
    byte order[MOST_CHANGES]; /* the place of each among those of the row */
    struct piece kept; /* a text that was replaced */
    struct style style;
    bool kept_is_written, needs_even_style;
};

static const byte *rewrite_value(
    struct rewriter *r, const byte *at, const struct place *place, unsigned depth
);

static bool make_room(struct rewriter *r, size_t count) {
    if (r->capacity - r->size >= count)
        return true;
    const size_t capacity = r->size + count + r->size / 2 + LEAST_ROOM;
    byte *const text = realloc(r->text, capacity);
    if (!text) {
        r->no_memory = true;
        return false;
    }
    r->text = text;
    r->capacity = capacity;
    return true;
}

static bool put(struct rewriter *r, const byte *bytes, size_t count) {
    if (!make_room(r, count))
        return false;
    if (count)
        memcpy(r->text + r->size, bytes, count);
    r->size += count;
    return true;
}

/* Replace the bytes from start to stop, which are behind all that was replaced before. */
static bool edit(
    struct rewriter *r, const byte *start, const byte *stop, const byte *bytes, size_t count
) {
    const bool has_room = put(r, r->done, (size_t)(start - r->done)) && put(r, bytes, count);
    r->done = stop;
    return has_room;
}

/* Note a change of the row that is being rewritten. */
static inline void note_change(struct rewriter *r, byte number) {
    const uint64_t change = UINT64_C(1) << number;
    if (!(r->applied & change))
        r->order[number] = (byte)r->changes++;
    r->applied |= change;
}

static enum json_type type_of(byte one) {
    switch (one) {
    case 'n':
        return JSON_NULL;
    case 't':
    case 'f':
        return JSON_BOOLEAN;
    case '"':
        return JSON_TEXT;
    case '[':
        return JSON_LIST;
    case '{':
        return JSON_OBJECT;
    default:
        return one == '-' || is_digit(one) ? JSON_NUMBER : NO_TYPE;
    }
}

/* Replace a value by a text that holds it, without white space between its tokens. */
static bool write_quoted(struct rewriter *r, const byte *at, const byte *stop) {
    const size_t length = (size_t)(stop - at);
    if (!edit(r, at, stop, NULL, 0) || !make_room(r, 2 * length + 2))
        return false;
    byte *to = r->text + r->size;
    bool inside = false;
    *to++ = '"';
    while (at < stop) {
        const byte one = *at++;
        if (one == '\\') {
            *to++ = '\\';
            *to++ = '\\';
            if (*at == '"' || *at == '\\')
                *to++ = '\\';
            *to++ = *at++;
        } else if (one == '"') {
            inside = !inside;
            *to++ = '\\';
            *to++ = '"';
        } else if (inside || one > ' ') {
            *to++ = one;
        }
    }
    *to++ = '"';
    r->size = (size_t)(to - r->text);
    return true;
}

/* What an action does. */
enum outcome { STAYS, CHANGED, UNSURE };

static enum outcome changed(bool has_room) { return has_room ? CHANGED : UNSURE; }

static enum outcome set_constant(
    struct rewriter *r, const byte *at, const byte *stop, const struct place *place
) {
    const byte *const constant = r->tables.texts + place->constant.start;
    const size_t size = place->constant.size, length = (size_t)(stop - at);
    if (length == size && !memcmp(at, constant, size))
        return STAYS;
    /* Texts that are equal may have other escapes. */
    if (*at == '"' && *constant == '"' &&
        (memchr(at, '\\', length) || memchr(constant, '\\', size)))
        return UNSURE;
    return changed(edit(r, at, stop, constant, size));
}

static enum outcome turn(struct rewriter *r, const byte *at, const byte *stop) {
    static const char old[] = "\"interactions[", new[] = "\"messages[";
    if (!begins_with(at, stop, old))
        return STAYS;
    return changed(edit(r, at, at + sizeof old - 1, (const byte *)new, sizeof new - 1));
}

static enum outcome write_digest(struct rewriter *r, const struct span *text) {
    if (text->escaped || !text->ascii)
        return UNSURE;
    const byte *at = text->start, *stop = at + text->length;
    while (at < stop && *at == ' ')
        at++;
    while (at < stop && stop[-1] == ' ')
        stop--;
    byte digest[DIGEST_PREFIX + DIGEST_DIGITS], *digits = digest;
    size_t length = (size_t)(stop - at);
    if (length > sizeof digest)
        return STAYS;
    for (size_t place = 0; place < length; place++)
        digest[place] = folded(at[place]);
    if (length == DIGEST_DIGITS + DIGEST_PREFIX && begins_with(digest, digest + length, "sha256:"))
        digits += DIGEST_PREFIX;
    else if (length == 32 + 4 && begins_with(digest, digest + length, "md5:"))
        digits += 4;
    length -= (size_t)(digits - digest);
    if ((length != DIGEST_DIGITS && length != 32) || !are_hex_digits(digits, length))
        return STAYS;
    if (length == text->length && !memcmp(digits, text->start, length))
        return STAYS;
    return changed(edit(r, text->start, text->start + text->length, digits, length));
}

static enum outcome act(
    struct rewriter *r, const struct place *place, enum action action, const byte *at,
    const byte *stop, const struct span *text
) {
    const byte *const opening = (const byte *)"[", *const closing = (const byte *)"]";
    switch (action) {
    case TO_LIST:
        return changed(edit(r, at, at, opening, 1) && edit(r, stop, stop, closing, 1));
    case TO_TEXT:
        return changed(write_quoted(r, at, stop));
    case TO_NUMBER:
        return changed(edit(r, at, stop, (const byte *)(*at == 't' ? "1" : "0"), 1));
    case SET:
        return set_constant(r, at, stop, place);
    case TURN:
        return turn(r, at, stop);
    case TO_DIGEST:
        return write_digest(r, text);
    default:
        return UNSURE;
    }
}

/* Return the member of a name, NULL if the place has none; it mostly is the `likely` one, which becomes
   the one behind. */
static const struct place_member *find_member(
    const struct rewriter *r, const struct place *place, const struct span *name, uint32_t *likely
) {
    uint32_t number = *likely;
    for (uint32_t tried = 0; tried < place->members; tried++, number++) {
        number = number < place->members ? number : 0;
        const struct place_member *const member =
            &r->tables.members[place->first_member + number];
        if (member->name.size == name->length &&
            equal(r->tables.texts + member->name.start, name->start, name->length)) {
            *likely = number + 1;
            return member;
        }
    }
    return NULL;
}

/* Test the value of a member; return false where the outcome is not certain. */
static bool watch_member(
    struct rewriter *r, const struct place_member *member, const byte *at, const byte *stop
) {
    const size_t length = (size_t)(stop - at);
    for (uint32_t count = 0; count < member->watches; count++) {
        const uint32_t number = member->first_watch + count;
        const struct watch *const watch = &r->tables.watches[number];
        const uint64_t bit = UINT64_C(1) << number;
        if (watch->test == PRESENT || (watch->test == NOT_NULL && *at != 'n'))
            r->watched |= bit;
        if (watch->test == UNSET && *at != 'n')
            r->watched &= ~bit;
        if ((watch->test != EQUALS && watch->test != DIFFERS) || *at != '"')
            continue;
        if (memchr(at, '\\', length))
            return false;
        if (length == watch->text.size + 2u &&
            !memcmp(at + 1, r->tables.texts + watch->text.start, watch->text.size))
            r->watched ^= bit;
    }
    return true;
}

/* The members of an object while it is rewritten. */
struct members {
    const byte *first_dropped; /* the first member, as long as all are dropped */
    const byte *last;          /* the end of the member before */
    bool has_kept;
};

static bool drop_member(
    struct rewriter *r, struct members *members, const byte *start, const byte *stop
) {
    if (members->has_kept)
        return edit(r, members->last, stop, NULL, 0);
    if (!members->first_dropped)
        members->first_dropped = start;
    return true;
}

static bool keep_member(struct rewriter *r, struct members *members, const byte *start) {
    const bool all_dropped = !members->has_kept && members->first_dropped;
    members->has_kept = true;
    return !all_dropped || edit(r, members->first_dropped, start, NULL, 0);
}

static bool rename_member(
    struct rewriter *r, const struct place *place, const byte *start, const struct span *name
) {
    const struct table_text written = place->name;
    if (!written.size)
        return true;
    note_change(r, place->renaming);
    const byte *const stop = name->start + name->length + 1;
    return edit(r, start, stop, r->tables.texts + written.start, written.size);
}

static void note_piece(
    struct style *style, struct piece *known, const byte *start, const byte *stop
) {
    const size_t size = (size_t)(stop - start);
    if (!known->start)
        *known = (struct piece){start, size};
    else if (known->size != size || memcmp(known->start, start, size))
        style->is_uneven = true;
}

/* Write the member that keeps what was replaced, with its name and what stands behind that. */
static bool put_kept(struct rewriter *r, const struct place *place, const struct piece *colon) {
    const struct table_text name = place->constant;
    r->kept_is_written = true;
    return put(r, r->tables.texts + name.start, name.size) &&
           put(r, colon->start, colon->size) && put(r, r->kept.start, r->kept.size);
}

/* Keep what was replaced behind the last member of an object; return false where the exact path
   might lay it out in another way. A single member shows no separator: that of the row counts. */
static bool add_kept(
    struct rewriter *r, const struct place *place, const struct style *style, const byte *opening,
    const byte *first, const byte *last
) {
    struct piece separator = style->separator;
    if (!separator.start) {
        separator = r->style.separator;
        r->needs_even_style = true;
        if (!separator.start || memchr(opening, '\r', (size_t)(first - opening)) ||
            memchr(separator.start, '\r', separator.size))
            return false;
    }
    return !style->is_uneven && edit(r, last, last, separator.start, separator.size) &&
           put_kept(r, place, &style->colon);
}

/* Replace null by an object that keeps what was replaced. */
static bool replace_null(
    struct rewriter *r, const struct place *place, const byte *at, const byte *stop
) {
    r->needs_even_style = true;
    return edit(r, at, stop, (const byte *)"{", 1) && put_kept(r, place, &r->style.colon) &&
           put(r, (const byte *)"}", 1);
}

/* Tell whether a member has the name under which something is to be kept. */
static bool is_name_of_kept(
    const struct rewriter *r, const struct place *place, const struct span *name
) {
    const struct table_text known = place->constant;
    return known.size == name->length + 2 &&
           !memcmp(r->tables.texts + known.start + 1, name->start, name->length);
}

/* Rewrite the value of a member that starts with its name, or drop the member. */
static const byte *rewrite_member(
    struct rewriter *r, const byte *at, const struct place *inner, struct members *members,
    const struct span *name, unsigned depth
) {
    const byte *const start = name->start - 1;
    const enum json_type type = type_of(*at);
    if (type == NO_TYPE)
        return NULL;
    if (inner && inner->action[type] == DROP) {
        at = skip_value(&r->cursor, at, depth);
        note_change(r, inner->change[type]);
        return at && drop_member(r, members, start, at) ? at : NULL;
    }
    if (!keep_member(r, members, start))
        return NULL;
    if (!inner)
        return skip_value(&r->cursor, at, depth);
    return rename_member(r, inner, start, name) ? rewrite_value(r, at, inner, depth) : NULL;
}

static const byte *rewrite_object(
    struct rewriter *r, const byte *at, const struct place *place, unsigned depth
) {
    struct members members = {0};
    struct keys names;
    uint32_t likely = 0;
    const bool adds_kept = place->keeps && r->kept.start;
    struct style own_style = {0};
    struct style *const style = !depth ? &r->style : adds_kept ? &own_style : NULL;
    const byte *const opening = at + 1;
    bool ended;
    names.count = 0;
    at = begin_items(&r->cursor, at, '}', &ended);
    if (ended)
        return at;
    const byte *const first_member = at;
    while (!ended) {
        const byte *const value = read_key(&r->cursor, at, &names);
        if (!value)
            return NULL;
        const struct span *const name = last_key(&names);
        if (adds_kept && is_name_of_kept(r, place, name))
            return NULL;
        if (style) {
            note_piece(style, &style->colon, name->start + name->length + 1, value);
            if (members.last)
                note_piece(style, &style->separator, members.last, at);
        }
        const struct place_member *const member = find_member(r, place, name, &likely);
        if (place->is_closed && !(member && member->is_known))
            return NULL;
        const uint32_t inner = member ? member->place : place->others;
        at = rewrite_member(
            r, value, inner == NO_PLACE ? NULL : &r->tables.places[inner], &members, name,
            depth + 1
        );
        if (!at || (member && member->watches && !watch_member(r, member, value, at)))
            return NULL;
        members.last = at;
        at = next_item(&r->cursor, at, '}', &ended);
        if (!at)
            return NULL;
    }
    if (adds_kept && !(members.has_kept && add_kept(r, place, style, opening, first_member,
                                                    members.last)))
        return NULL;
    if (!members.has_kept && !edit(r, members.first_dropped, members.last, NULL, 0))
        return NULL;
    return at;
}

static const byte *rewrite_list(
    struct rewriter *r, const byte *at, const struct place *items, unsigned depth
) {
    bool ended;
    at = begin_items(&r->cursor, at, ']', &ended);
    while (at && !ended)
        at = next_item(&r->cursor, rewrite_value(r, at, items, depth + 1), ']', &ended);
    return at;
}

/* Rewrite a value and return what follows it, NULL where the row is to be left. */
static const byte *rewrite_value(
    struct rewriter *r, const byte *at, const struct place *place, unsigned depth
) {
    const enum json_type type = type_of(*at);
    if (type == NO_TYPE || depth >= MOST_DEPTH)
        return NULL;
    const enum action action = place->action[type];
    if (action == KEEP) {
        if (type == JSON_OBJECT &&
            (place->members || place->others != NO_PLACE || place->is_closed))
            return rewrite_object(r, at, place, depth);
        if (type == JSON_LIST && place->items != NO_PLACE)
            return rewrite_list(r, at, &r->tables.places[place->items], depth);
        const byte *const end = skip_value(&r->cursor, at, depth);
        if (end && type == JSON_NULL && place->keeps && r->kept.start)
            return replace_null(r, place, at, end) ? end : NULL;
        return end;
    }
    struct span text = {0};
    const byte *const stop = type == JSON_TEXT ? read_string(at + 1, r->cursor.end, &text)
                                               : skip_value(&r->cursor, at, depth);
    if (!stop)
        return NULL;
    const enum outcome outcome = act(r, place, action, at, stop, &text);
    if (outcome == CHANGED)
        note_change(r, place->change[type]);
    if (outcome == CHANGED && place->is_kept && type != JSON_NULL) {
        if (type != JSON_TEXT)
            return NULL;
        r->kept = (struct piece){at, (size_t)(stop - at)};
    }
    return outcome == UNSURE ? NULL : stop;
}

/* Rewrite a row; return where the next line starts, NULL where the row is to be left. */
static const byte *rewrite_row(struct rewriter *r, const byte *line) {
    const byte *at = skip_spaces(line);
    if (*at != '{')
        return NULL;
    r->done = line;
    r->applied = r->changes = 0;
    r->watched = r->missing;
    r->kept = (struct piece){0};
    r->style = (struct style){0};
    r->kept_is_written = r->needs_even_style = false;
    const byte *const opening = at + 1;
    at = rewrite_value(r, at, r->tables.places, 0);
    if (!at || (r->kept.start && !r->kept_is_written))
        return NULL;
    /* The exact path looks at the whole row before it lays out what is added. */
    if (r->needs_even_style && (r->style.is_uneven || *opening != '"'))
        return NULL;
    at = skip_spaces(at);
    if (*at != '\n')
        return NULL;
    for (uint64_t group = 0; group < r->tables.group_count; group++)
        if ((r->watched & r->tables.groups[group]) == r->tables.groups[group])
            return NULL;
    return edit(r, at + 1, at + 1, NULL, 0) ? at + 1 : NULL;
}

static bool leave_row(struct rewriter *r, const struct left_row *row) {
    if (r->left_count == r->left_capacity) {
        const size_t capacity = 2 * r->left_capacity + 64;
        struct left_row *const left = realloc(r->left, capacity * sizeof *left);
        if (!left)
            return false;
        r->left = left;
        r->left_capacity = capacity;
    }
    r->left[r->left_count++] = *row;
    return true;
}

static void count_changes(
    struct rewritten *result, const struct rewriter *r, const struct left_row *row
) {
    uint64_t applied = r->applied;
    for (unsigned number = 0; applied; number++, applied >>= 1) {
        if (!(applied & 1))
            continue;
        struct change_count *const change = &result->changes[number];
        if (!change->rows) {
            change->order = r->order[number];
            change->start = row->start;
            change->stop = row->stop;
        }
        if (change->rows < FIRST_LINES)
            change->line[change->rows] = row->line;
        change->rows++;
    }
}

int32_t rewrite_lines(
    struct rewriter *r, const byte *bytes, uint64_t size, struct rewritten *result
) {
    const byte *const end = bytes + size;
    *result = (struct rewritten){0};
    r->cursor = (struct cursor){end, MOST_DEPTH, false};
    r->size = r->left_count = 0;
    r->no_memory = !make_room(r, size + size / 8);
    struct left_row row = {.line = 1};
    for (const byte *at = bytes; at < end && !r->no_memory; row.line++) {
        row.at = r->size;
        row.start = (uint64_t)(at - bytes);
        const byte *next = rewrite_row(r, at);
        if (next) {
            row.stop = (uint64_t)(next - 1 - bytes);
            count_changes(result, r, &row);
            result->rows++;
        } else {
            r->size = row.at;
            next = (const byte *)memchr(at, '\n', (size_t)(end - at)) + 1;
            row.stop = (uint64_t)(next - 1 - bytes);
            r->no_memory |= !leave_row(r, &row);
        }
        at = next;
    }
    result->text = r->text;
    result->size = r->size;
    result->left = r->left;
    result->left_count = r->left_count;
    return !r->no_memory;
}

void tell_rewriter_sizes(uint64_t sizes[5]) {
    sizes[0] = sizeof(struct place);
    sizes[1] = sizeof(struct place_member);
    sizes[2] = sizeof(struct watch);
    sizes[3] = sizeof(struct rewrite_tables);
    sizes[4] = sizeof(struct rewritten);
}

struct rewriter *new_rewriter(const struct rewrite_tables *tables) {
    struct rewriter *const r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->tables = *tables;
    for (uint64_t watch = 0; watch < tables->watch_count; watch++)
        if (tables->watches[watch].test == DIFFERS || tables->watches[watch].test == UNSET)
            r->missing |= UINT64_C(1) << watch;
    return r;
}

void free_rewriter(struct rewriter *r) {
    if (!r)
        return;
    free(r->text);
    free(r->left);
    free(r);
}

int32_t are_plain_lines(const byte *bytes, uint64_t size) {
    const byte *const end = bytes + size;
    if (memchr(bytes, '\r', size))
        return 0;
    for (const byte *at = bytes; at < end; at++) {
        if (*at == ' ' || *at == '\t' || *at == '\n')
            return 0;
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return 0;
    }
    return 1;
}
