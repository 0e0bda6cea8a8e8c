/* JSON as bytes: where strings and numbers end, what they are, and how they are written again.

   Whoever calls sees to it that a newline follows the bytes: no token holds one, so that nothing
   reads past it. */

#ifndef EVALSTREAM_JSON_H
#define EVALSTREAM_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t byte;

/* A string without its quotes, as it is written. */
struct span {
    const byte *start;
    size_t length;
    bool escaped; /* it has backslashes */
    bool ascii;   /* it has no byte above 127 */
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

static inline const byte *skip_spaces(const byte *at) {
    while (*at == ' ' || *at == '\t' || *at == '\r')
        at++;
    return at;
}

/* Skip a comma or a colon and the spaces behind it; mostly there is one or none. */
static inline const byte *skip_sign(const byte *at) {
    at += 1 + (at[1] == ' ');
    return *at > ' ' ? at : skip_spaces(at);
}

/* Tell whether two texts of one length have the same bytes. Keys are short: a call of memcmp takes
   longer than the comparison. */
static inline bool equal(const byte *one, const byte *other, size_t length) {
    uint64_t a, b, c, d;
    if (length > 16)
        return !memcmp(one, other, length);
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

/* Read a string behind its first quote, in memory that goes on up to `end`. Return what follows
   its last quote; NULL unless it is valid UTF-8 without halves of surrogate pairs. */
const byte *read_string(const byte *at, const byte *end, struct span *span);

/* Read a number. Return what follows it; NULL for what is none, and what is beyond a double. */
const byte *read_number(const byte *at, struct number *number);

void write_bytes(struct texts *texts, const void *bytes, size_t count);

/* Write a string in UTF-8. */
void write_decoded(struct texts *texts, const struct span *span);

/* Write a string as Python's json does, quotes aside: all but printable ASCII is escaped. */
void write_ascii(struct texts *texts, const struct span *span);

/* Tell whether bytes are all ASCII. */
bool is_ascii(const byte *bytes, size_t count);

/* Tell whether two strings are written alike, and so are equal. */
bool same(const struct span *one, const struct span *other);

/* Tell whether a string is written like this ASCII text, and so is equal to it. */
bool is(const struct span *span, const char *text);

/* Tell whether a string surely has something that is not white space. */
bool shows_something(const struct span *span);

#endif
