/* JSON as bytes: where strings and numbers end, what they are, and how they are written again.

   Whoever calls sees to it that a newline follows the bytes: no token holds one, so that nothing
   reads past it. */

#ifndef EVALSTREAM_JSON_H
#define EVALSTREAM_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lanes.h"

typedef uint8_t byte;

__extension__ typedef unsigned __int128 wide_word;

/* A string without its quotes, as it is written. */
struct span {
    const byte *start;
    size_t length;
    bool escaped; /* it has backslashes */
    bool ascii;   /* it has no byte above 127 */
    bool unusual; /* it has escapes that Python's json writes in other ways, or may write so */
};

struct number {
    double value;
    bool whole; /* it has neither a fraction nor an exponent */
    bool exact; /* it is whole, and the value is not rounded */
};

/* Texts that are written one behind the other; `full` once there was no room for one. */
struct texts {
    byte *data;
    size_t size, capacity;
    bool full;
};

/* Skip spaces; mostly there are none. */
static inline const byte *skip_spaces(const byte *at) {
    while (*at <= ' ' && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

/* Return a byte in lower case, if it is a letter of ASCII. */
static inline byte folded(byte one) { return one >= 'A' && one <= 'Z' ? (byte)(one | 0x20) : one; }

/* Tell whether bytes begin with a text. */
static inline bool begins_with(const byte *at, const byte *stop, const char *text) {
    const size_t length = strlen(text);
    return (size_t)(stop - at) >= length && !memcmp(at, text, length);
}

static inline bool is_digit(byte one) { return one >= '0' && one <= '9'; }

static inline bool is_letter(byte one) { return folded(one) >= 'a' && folded(one) <= 'z'; }

static inline bool is_alphanumeric(byte one) { return is_digit(one) || is_letter(one); }

static inline bool is_one_of(byte one, const char *signs) { return one && strchr(signs, one); }

/* Tell whether a byte is white space of ASCII to Python. */
static inline bool is_white(byte one) {
    return one == ' ' || (one >= '\t' && one <= '\r') || (one >= 0x1C && one <= 0x1F);
}

/* Return the value of a hex digit, -1 for another byte. */
static inline int hex_digit(byte one) {
    const byte letter = one | 0x20;
    return is_digit(one) ? one - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

static inline const byte *skip_digits(const byte *at) {
    while (is_digit(*at))
        at++;
    return at;
}

/* Step over a literal, NULL for another one. None of its letters is a newline, so that nothing behind
   one is read. */
static inline const byte *skip_literal(const byte *at, const char *literal) {
    const size_t length = strlen(literal);
    for (size_t place = 0; place < length; place++)
        if (at[place] != (byte)literal[place])
            return NULL;
    return at + length;
}

/* Skip a comma or a colon and the spaces behind it; mostly there is one. A branch that is foreseen
   lets the processor read on before it knows. */
static inline const byte *skip_sign(const byte *at) {
    at++;
    if (__builtin_expect(*at == ' ', true))
        at++;
    return skip_spaces(at);
}

/* Tell whether two texts of one length have the same bytes. Keys are short: a call of memcmp takes
   longer than the comparison. */
static inline bool equal(const byte *one, const byte *other, size_t length) {
    uint64_t a, b, c, d;
    if (length > 2 * LANES)
        return !memcmp(one, other, length);
    if (length >= LANES) {
        const size_t last = length - LANES;
        return lane_bits((load_lanes(one) == load_lanes(other)) &
                         (load_lanes(one + last) == load_lanes(other + last))) == 0xFFFF;
    }
    if (length >= 8) {
        memcpy(&a, one, 8), memcpy(&b, other, 8);
        memcpy(&c, one + length - 8, 8), memcpy(&d, other + length - 8, 8);
        return !((a ^ b) | (c ^ d));
    }
    if (length >= 4) {
        uint32_t first, last, other_first, other_last;
        memcpy(&first, one, 4), memcpy(&other_first, other, 4);
        memcpy(&last, one + length - 4, 4), memcpy(&other_last, other + length - 4, 4);
        return !((first ^ other_first) | (last ^ other_last));
    }
    for (size_t place = 0; place < length; place++)
        if (one[place] != other[place])
            return false;
    return true;
}

/* Return a bit for each of the LANES bytes from `at` on that is a quote, a backslash, a control
   character or above 127. */
static inline unsigned signs_at(const byte *at) {
    const lanes bytes = load_lanes(at);
    return lane_bits((bytes == all_lanes('"')) | (bytes == all_lanes('\\')) |
                     (bytes < all_lanes(' ')));
}

/* Read a string from its first byte on that may not be plain. */
const byte *read_rest_of_string(const byte *at, const byte *end, struct span *span);

/* Read a string behind its first quote, in memory that goes on up to `end`. Return what follows
   its last quote; NULL unless it is valid UTF-8 without halves of surrogate pairs. */
static inline const byte *read_string(const byte *at, const byte *end, struct span *span) {
    const byte *const start = at, *const last = end - LANES;
    while (at <= last) {
        const unsigned signs = signs_at(at);
        if (!signs) {
            at += LANES;
            continue;
        }
        at += __builtin_ctz(signs);
        if (*at != '"')
            break;
        *span = (struct span){start, (size_t)(at - start), .ascii = true};
        return at + 1;
    }
    *span = (struct span){.start = start, .ascii = true};
    return read_rest_of_string(at, end, span);
}

/* Read a number. Return what follows it; NULL for what is none, and what is beyond a double. */
const byte *read_number(const byte *at, struct number *number);

/* Copy bytes. Most texts are short: a call of memcpy takes longer than the copy. */
static inline void copy_bytes(byte *to, const byte *from, size_t count) {
    if (count > 16) {
        memcpy(to, from, count);
    } else if (count >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8), memcpy(&last, from + count - 8, 8);
        memcpy(to, &first, 8), memcpy(to + count - 8, &last, 8);
    } else if (count >= 4) {
        uint32_t first, last;
        memcpy(&first, from, 4), memcpy(&last, from + count - 4, 4);
        memcpy(to, &first, 4), memcpy(to + count - 4, &last, 4);
    } else if (count) {
        const byte first = from[0], middle = from[count / 2], last = from[count - 1];
        to[0] = first, to[count / 2] = middle, to[count - 1] = last;
    }
}

static inline void write_bytes(struct texts *texts, const void *bytes, size_t count) {
    if (texts->capacity - texts->size < count) {
        texts->full = true;
        return;
    }
    copy_bytes(texts->data + texts->size, bytes, count);
    texts->size += count;
}

void write_unescaped(struct texts *texts, const struct span *span);

/* Write a string in UTF-8. */
static inline void write_decoded(struct texts *texts, const struct span *span) {
    if (span->escaped)
        write_unescaped(texts, span);
    else
        write_bytes(texts, span->start, span->length);
}

/* Write a string as Python's json does, quotes aside: all but printable `ascii` is escaped, or only
   quotes, backslashes and control characters. */
void write_json_text(struct texts *texts, const struct span *span, bool ascii);

/* Tell whether bytes are all ASCII. */
static inline bool is_ascii(const byte *bytes, size_t count) {
    byte all = 0;
    for (size_t place = 0; place < count; place++)
        all |= bytes[place];
    return all < 0x80;
}

/* Tell whether two strings are written alike, and so are equal. */
static inline bool same(const struct span *one, const struct span *other) {
    return one->length == other->length && equal(one->start, other->start, one->length);
}

/* Tell whether a string is written like this ASCII text, and so is equal to it. */
static inline bool is(const struct span *span, const char *text) {
    const size_t length = strlen(text);
    return !span->escaped && span->length == length &&
           equal(span->start, (const byte *)text, length);
}

/* Tell whether a string surely has something that is not white space. */
bool shows_something(const struct span *span);

#endif
