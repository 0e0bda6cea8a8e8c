#include "outline.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_DEPTH = 200,       /* the parsers, which have own limits, take deeper documents */
    KEPT_DEPTH = 8,         /* containers below it are emptied */
    KEPT_STRING = 8 << 10,  /* bytes kept of a string */
    KEPT_NUMBER = 4 << 10,  /* bytes of a number, which cannot be cut */
    MEMBER_ROOM = 64 << 10, /* text of a member's value after which items are left out */
    LIST_ROOM = 1 << 20,    /* the same for an outermost list */
    ENOUGH = 4 << 20,       /* text after which the values of members are left out early */
    CAPACITY = 8 << 20,
};

enum state {
    VALUE,
    FIRST_ITEM,
    FIRST_NAME,
    NAME,
    COLON,
    AFTER_VALUE,
    END,
    STRING,
    ESCAPE,
    HEX,
    CONTINUATION,
    LITERAL,
    MINUS,
    ZERO,
    DIGITS,
    POINT,
    FRACTION,
    EXPONENT,
    EXPONENT_SIGN,
    EXPONENT_DIGITS,
};

struct outline {
    enum outline_result result;
    enum state state;
    bool is_name, is_cut; /* of the string that is being read */
    bool is_half;         /* a \u escape of a high surrogate was just read */
    unsigned code;        /* of the \u escape that is being read */
    unsigned left;        /* bytes or digits until the escape, character or literal ends */
    byte lowest, highest; /* range of the next continuation byte */
    const char *literal;
    unsigned depth, quiet; /* `quiet` is the container whose further items are skipped, or 0 */
    bool is_object[MOST_DEPTH + 1];
    size_t token, member; /* where they begin in the text */
    size_t size;
    byte text[CAPACITY];
};

struct outline *new_outline(void) {
    /* Untouched pages take no memory. */
    return calloc(1, sizeof(struct outline));
}

void free_outline(struct outline *outline) {
    free(outline);
}

const byte *outline_text(const struct outline *outline, uint64_t *size) {
    *size = outline->size;
    return outline->text;
}

static void keep(struct outline *o, const byte *data, size_t size) {
    if (o->quiet)
        return;
    if (size > CAPACITY - o->size) {
        o->result = OUTLINE_TOO_LARGE;
        return;
    }
    memcpy(o->text + o->size, data, size);
    o->size += size;
}

static void keep_one(struct outline *o, byte one) {
    keep(o, &one, 1);
}

/* Tell whether the current member, or the outermost list, has shown enough. */
static bool is_enough(const struct outline *o) {
    if (!o->is_object[1])
        return o->size > LIST_ROOM;
    return o->size > ENOUGH || o->size - o->member > MEMBER_ROOM;
}

static void open_container(struct outline *o, byte sign) {
    keep_one(o, sign);
    if (++o->depth > MOST_DEPTH) {
        o->result = OUTLINE_TOO_LARGE;
        return;
    }
    o->is_object[o->depth] = sign == '{';
    o->state = sign == '{' ? FIRST_NAME : FIRST_ITEM;
    if (!o->quiet && (o->depth > KEPT_DEPTH || (o->depth > 2 && is_enough(o))))
        o->quiet = o->depth;
}

static void close_container(struct outline *o, byte sign) {
    if (o->is_object[o->depth] != (sign == '}')) {
        o->result = OUTLINE_INVALID;
        return;
    }
    if (o->quiet == o->depth)
        o->quiet = 0;
    keep_one(o, sign);
    o->state = --o->depth ? AFTER_VALUE : END;
}

static void take_comma(struct outline *o) {
    const bool is_object = o->is_object[o->depth];
    if (!o->quiet && (o->depth > 2 || !is_object) && is_enough(o))
        o->quiet = o->depth;
    keep_one(o, ',');
    if (o->depth == 1 && is_object)
        o->member = o->size;
    o->state = is_object ? NAME : VALUE;
}

static void begin_string(struct outline *o, bool is_name) {
    keep_one(o, '"');
    o->is_name = is_name;
    o->is_cut = o->is_half = false;
    o->token = o->size;
    o->state = STRING;
}

static void begin_literal(struct outline *o, const char *literal) {
    keep(o, (const byte *)literal, strlen(literal));
    o->literal = literal + 1;
    o->state = LITERAL;
}

/* Begin a value, or mark the bytes as invalid. */
static void begin_value(struct outline *o, byte sign) {
    o->token = o->size;
    switch (sign) {
    case '{':
    case '[':
        open_container(o, sign);
        return;
    case '"':
        begin_string(o, false);
        return;
    case 't':
        begin_literal(o, "true");
        return;
    case 'f':
        begin_literal(o, "false");
        return;
    case 'n':
        begin_literal(o, "null");
        return;
    default:
        keep_one(o, sign);
        if (sign == '-')
            o->state = MINUS;
        else if (sign == '0')
            o->state = ZERO;
        else if (sign >= '1' && sign <= '9')
            o->state = DIGITS;
        else
            o->result = OUTLINE_INVALID;
    }
}

/* Take a byte that is not white space between tokens. */
static void take_sign(struct outline *o, byte sign) {
    const enum state state = o->state;
    if (state == VALUE || (state == FIRST_ITEM && sign != ']'))
        begin_value(o, sign);
    else if (sign == '"' && (state == FIRST_NAME || state == NAME))
        begin_string(o, true);
    else if (sign == ':' && state == COLON) {
        keep_one(o, ':');
        o->state = VALUE;
    } else if (sign == ',' && state == AFTER_VALUE)
        take_comma(o);
    else if ((sign == ']' && (state == FIRST_ITEM || state == AFTER_VALUE)) ||
             (sign == '}' && (state == FIRST_NAME || state == AFTER_VALUE)))
        close_container(o, sign);
    else
        o->result = OUTLINE_INVALID;
}

static void end_value(struct outline *o) {
    o->state = o->depth ? AFTER_VALUE : END;
}

/* Take a byte of a number; return false if the number ends before it. */
static bool take_digit(struct outline *o, byte one) {
    const enum state state = o->state;
    if (is_digit(one) && state != ZERO) {
        o->state = state == MINUS ? (one == '0' ? ZERO : DIGITS)
                   : state == POINT ? FRACTION
                   : state == EXPONENT || state == EXPONENT_SIGN ? EXPONENT_DIGITS
                                                                 : state;
    } else if (one == '.' && (state == ZERO || state == DIGITS))
        o->state = POINT;
    else if ((one == 'e' || one == 'E') &&
             (state == ZERO || state == DIGITS || state == FRACTION))
        o->state = EXPONENT;
    else if ((one == '+' || one == '-') && state == EXPONENT)
        o->state = EXPONENT_SIGN;
    else if (is_digit(one) || state == MINUS || state == POINT || state == EXPONENT ||
             state == EXPONENT_SIGN) {
        o->result = OUTLINE_INVALID;
        return true;
    } else
        return false;
    if (!o->quiet && o->size - o->token > KEPT_NUMBER)
        o->result = OUTLINE_TOO_LARGE;
    keep_one(o, one);
    return true;
}

/* Cut a long string before the next character; an escape, a character and the two escapes of a
   surrogate pair stay whole. */
static void begin_character(struct outline *o, byte one) {
    const bool is_long = !o->quiet && o->size - o->token >= KEPT_STRING;
    o->is_cut = o->is_cut || (is_long && !o->is_half);
    if (o->is_half && one != '\\')
        o->result = OUTLINE_INVALID;
}

static void keep_of_string(struct outline *o, const byte *data, size_t size) {
    if (!o->is_cut)
        keep(o, data, size);
}

/* Begin a character of several bytes; the ranges are those of the Unicode Standard, table 3-7. */
static void begin_wide(struct outline *o, byte one) {
    o->lowest = 0x80;
    o->highest = 0xBF;
    if (one >= 0xC2 && one <= 0xDF)
        o->left = 1;
    else if (one >= 0xE0 && one <= 0xEF) {
        o->left = 2;
        o->lowest = one == 0xE0 ? 0xA0 : 0x80;
        o->highest = one == 0xED ? 0x9F : 0xBF;
    } else if (one >= 0xF0 && one <= 0xF4) {
        o->left = 3;
        o->lowest = one == 0xF0 ? 0x90 : 0x80;
        o->highest = one == 0xF4 ? 0x8F : 0xBF;
    } else
        o->result = OUTLINE_INVALID;
    o->state = CONTINUATION;
}

/* Read the plain characters of a string up to a byte that means something; return where it is. */
static const byte *take_plain(struct outline *o, const byte *at, const byte *end) {
    const byte *const start = at;
    while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
        at++;
    if (at == start)
        return at;
    if (o->is_half)
        o->result = OUTLINE_INVALID;
    if (o->quiet || o->is_cut)
        return at;
    const size_t had = o->size - o->token, length = (size_t)(at - start);
    const size_t room = had < KEPT_STRING ? KEPT_STRING - had : 0;
    keep(o, start, length < room ? length : room);
    o->is_cut = length > room;
    return at;
}

static void take_of_string(struct outline *o, byte one) {
    if (one == '"' && !o->is_half) {
        o->is_cut = false;
        keep_one(o, one);
        if (o->is_name)
            o->state = COLON;
        else
            end_value(o);
        return;
    }
    if (one < 0x20) {
        o->result = OUTLINE_INVALID;
        return;
    }
    begin_character(o, one);
    keep_of_string(o, &one, 1);
    if (o->result)
        return;
    if (one == '\\')
        o->state = ESCAPE;
    else
        begin_wide(o, one);
}

static void take_of_escape(struct outline *o, byte one) {
    keep_of_string(o, &one, 1);
    if (one == 'u') {
        o->left = 4;
        o->code = 0;
        o->state = HEX;
    } else if (is_one_of(one, "\"\\/bfnrt") && !o->is_half)
        o->state = STRING;
    else
        o->result = OUTLINE_INVALID;
}

static void take_hex(struct outline *o, byte one) {
    const int digit = hex_digit(one);
    if (digit < 0) {
        o->result = OUTLINE_INVALID;
        return;
    }
    keep_of_string(o, &one, 1);
    o->code = o->code << 4 | (unsigned)digit;
    if (--o->left == 0) {
        const bool is_low = o->code >= 0xDC00 && o->code <= 0xDFFF;
        if (is_low != o->is_half)
            o->result = OUTLINE_INVALID;
        o->is_half = o->code >= 0xD800 && o->code <= 0xDBFF;
        o->state = STRING;
    }
}

static void take_continuation(struct outline *o, byte one) {
    if (one < o->lowest || one > o->highest) {
        o->result = OUTLINE_INVALID;
        return;
    }
    keep_of_string(o, &one, 1);
    o->lowest = 0x80;
    o->highest = 0xBF;
    if (--o->left == 0)
        o->state = STRING;
}

static void take_of_literal(struct outline *o, byte one) {
    if (one != (byte)*o->literal++)
        o->result = OUTLINE_INVALID;
    else if (!*o->literal)
        end_value(o);
}

/* Take the next byte, or the plain characters of a string; return what follows. */
static const byte *take(struct outline *o, const byte *at, const byte *end) {
    switch (o->state) {
    case STRING:
        at = take_plain(o, at, end);
        if (at == end || o->result)
            return at;
        take_of_string(o, *at);
        break;
    case ESCAPE:
        take_of_escape(o, *at);
        break;
    case HEX:
        take_hex(o, *at);
        break;
    case CONTINUATION:
        take_continuation(o, *at);
        break;
    case LITERAL:
        take_of_literal(o, *at);
        break;
    case MINUS:
    case ZERO:
    case DIGITS:
    case POINT:
    case FRACTION:
    case EXPONENT:
    case EXPONENT_SIGN:
    case EXPONENT_DIGITS:
        if (!take_digit(o, *at)) {
            end_value(o);
            return at;
        }
        break;
    default:
        if (!is_one_of(*at, " \n\r\t"))
            take_sign(o, *at);
    }
    return at + 1;
}

int32_t add_to_outline(struct outline *o, const byte *data, uint64_t size) {
    const byte *at = data, *const end = data + size;
    while (at < end && !o->result)
        at = take(o, at, end);
    return o->result == OUTLINE_UNFINISHED && o->state == END ? OUTLINE_WHOLE : (int32_t)o->result;
}
