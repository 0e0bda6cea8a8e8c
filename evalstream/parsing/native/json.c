#include "json.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Integers of up to so many digits are doubles, exactly; the exact path takes longer ones. Fractions of
   up to so many digits are a quotient of two words. */
enum { EXACT_DIGITS = 15, MOST_DIGITS = 18, FRACTION_DIGITS = 19, LONGEST_NUMBER = 63 };

static inline bool is_plain(byte one) {
    return one >= ' ' && one < 0x80 && one != '"' && one != '\\';
}

static inline const byte *skip_plain(const byte *at, const byte *end) {
    while (end - at >= LANES) {
        const unsigned signs = signs_at(at);
        if (signs)
            return at + __builtin_ctz(signs);
        at += LANES;
    }
    while (is_plain(*at))
        at++;
    return at;
}

static inline bool follows(byte one) { return (one & 0xC0) == 0x80; }

/* Return the length of the UTF-8 sequence of a code point above 127, 0 for none (RFC 3629). */
static inline size_t sequence(const byte *at) {
    const byte first = at[0];
    if (first < 0xC2 || first > 0xF4 || !follows(at[1]))
        return 0;
    if (first < 0xE0)
        return 2;
    if ((first == 0xE0 && at[1] < 0xA0) || (first == 0xED && at[1] > 0x9F) || !follows(at[2]))
        return 0;
    if (first < 0xF0)
        return 3;
    if ((first == 0xF0 && at[1] < 0x90) || (first == 0xF4 && at[1] > 0x8F) || !follows(at[3]))
        return 0;
    return 4;
}

/* Read four hex digits; -1 where there are none. */
static inline int hex_unit(const byte *at) {
    int unit = 0;
    for (int place = 0; place < 4; place++) {
        const int digit = hex_digit(at[place]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* What a letter behind a backslash stands for, 0 for no escape of one letter. */
static const byte meant[256] = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
};

/* Read what follows a backslash into a code point. Return what comes behind, NULL for no escape
   and for half of a surrogate pair. */
static const byte *read_escape(const byte *at, uint32_t *point) {
    if (*at != 'u') {
        *point = meant[*at];
        return *point ? at + 1 : NULL;
    }
    const int unit = hex_unit(at + 1);
    if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF))
        return NULL;
    *point = (uint32_t)unit;
    if (unit < 0xD800 || unit > 0xDBFF)
        return at + 5;
    if (at[5] != '\\' || at[6] != 'u')
        return NULL;
    const int low = hex_unit(at + 7);
    if (low < 0xDC00 || low > 0xDFFF)
        return NULL;
    *point = 0x10000u + ((uint32_t)(unit - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
    return at + 11;
}

enum { BLOCK = 4 * LANES, LONG_TEXT = 2 * BLOCK };

/* Skip plain bytes and escapes of one letter but for slashes, a block at a time: where one is, more are
   near. Return where something else is, or less than a block remains. */
static const byte *skip_escapes(const byte *at, const byte *end) {
    while (end - at > BLOCK) {
        uint64_t slashes = 0, others = 0;
        for (int place = 0; place < BLOCK; place += LANES) {
            const lanes bytes = load_lanes(at + place);
            slashes |= (uint64_t)lane_bits(bytes == all_lanes('\\')) << place;
            others |= (uint64_t)lane_bits((bytes == all_lanes('"')) | (bytes < all_lanes(' ')))
                      << place;
        }
        size_t next = BLOCK;
        while (slashes) {
            const unsigned place = (unsigned)__builtin_ctzll(slashes);
            if (others & (((uint64_t)1 << place) - 1))
                break;
            if (!meant[at[place + 1]] || at[place + 1] == '/')
                return at + place;
            slashes &= ~((uint64_t)3 << place);
            others &= ~((uint64_t)3 << place);
            next = place == BLOCK - 1 ? BLOCK + 1 : BLOCK;
        }
        if (others)
            return at + __builtin_ctzll(others);
        at += next;
    }
    return at;
}

const byte *read_rest_of_string(const byte *at, const byte *end, struct span *span) {
    for (;;) {
        at = skip_plain(at, end);
        if (*at == '"') {
            span->length = (size_t)(at - span->start);
            return at + 1;
        }
        if (*at == '\\') {
            uint32_t point;
            span->escaped = true;
            span->unusual |= !meant[at[1]] || at[1] == '/';
            if (meant[at[1]]) {
                at = at - span->start < LONG_TEXT ? at + 2 : skip_escapes(at + 2, end);
                continue;
            }
            at = read_escape(at + 1, &point);
            if (!at)
                return NULL;
            continue;
        }
        do {
            const size_t length = sequence(at);
            if (!length)
                return NULL;
            at += length;
        } while (*at >= 0x80);
        span->ascii = false;
    }
}

/* Let the C library find the double that is nearest to a number. */
static bool convert(const byte *start, size_t length, double *value) {
    char copy[LONGEST_NUMBER + 1], *stop;
    if (length > LONGEST_NUMBER)
        return false;
    memcpy(copy, start, length);
    copy[length] = 0;
    *value = strtod(copy, &stop);
    /* Where decimals are written with a comma it stops early. */
    return stop == copy + length && isfinite(*value);
}

/* Return the double that is nearest to a fraction of up to FRACTION_DIGITS digits: a quotient of at least
   63 bits, whose last one stands for all that are cut off, is rounded once. */
static double decimal(const byte *start, const byte *point, const byte *stop) {
    const byte *const first = start + (*start == '-');
    uint64_t digits = 0, power = 1;
    for (const byte *at = first; at < stop; at++)
        if (at != point)
            digits = digits * 10 + (uint64_t)(*at - '0');
    for (const byte *at = point + 1; at < stop; at++)
        power *= 10;
    if (!digits)
        return *start == '-' ? -0.0 : 0.0;
    if (FLT_EVAL_METHOD == 0 && digits <= (uint64_t)1 << DBL_MANT_DIG) {
        /* Both are doubles, exactly, as is each power of ten up to 1e22. */
        const double value = (double)digits / (double)power;
        return *start == '-' ? -value : value;
    }
    const int shift = __builtin_clzll(digits) + 63 - __builtin_clzll(power);
    const wide_word shifted = (wide_word)digits << shift;
    const uint64_t quotient = (uint64_t)(shifted / power);
    const double value = ldexp((double)(quotient | (shifted % power != 0)), -shift);
    return *start == '-' ? -value : value;
}

const byte *read_number(const byte *at, struct number *number) {
    const byte *const start = at;
    at += *at == '-';
    const byte *const digits = at;
    if (!is_digit(*at))
        return NULL;
    at = *at == '0' ? at + 1 : skip_digits(at);
    number->whole = *at != '.' && *at != 'e' && *at != 'E';
    if (number->whole) {
        if (at - digits > MOST_DIGITS)
            return NULL;
        int64_t value = 0;
        for (const byte *digit = digits; digit < at; digit++)
            value = value * 10 + (*digit - '0');
        number->exact = at - digits <= EXACT_DIGITS;
        number->value = (double)(start < digits ? -value : value);
        return at;
    }
    number->exact = false;
    if (*at == '.') {
        const byte *const point = at++;
        if (!is_digit(*at))
            return NULL;
        at = skip_digits(at);
        if (at - digits <= FRACTION_DIGITS + 1 && *at != 'e' && *at != 'E') {
            number->value = decimal(start, point, at);
            return at;
        }
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        if (!is_digit(*at))
            return NULL;
        at = skip_digits(at);
    }
    return convert(start, (size_t)(at - start), &number->value) ? at : NULL;
}

static void write_utf8(struct texts *texts, uint32_t point) {
    byte bytes[4];
    size_t count = 1;
    if (point < 0x80) {
        bytes[0] = (byte)point;
    } else if (point < 0x800) {
        bytes[0] = (byte)(0xC0 | point >> 6);
        bytes[1] = (byte)(0x80 | (point & 0x3F));
        count = 2;
    } else if (point < 0x10000) {
        bytes[0] = (byte)(0xE0 | point >> 12);
        bytes[1] = (byte)(0x80 | (point >> 6 & 0x3F));
        bytes[2] = (byte)(0x80 | (point & 0x3F));
        count = 3;
    } else {
        bytes[0] = (byte)(0xF0 | point >> 18);
        bytes[1] = (byte)(0x80 | (point >> 12 & 0x3F));
        bytes[2] = (byte)(0x80 | (point >> 6 & 0x3F));
        bytes[3] = (byte)(0x80 | (point & 0x3F));
        count = 4;
    }
    write_bytes(texts, bytes, count);
}

/* Copy what comes before the first backslash, unless they are copied, too, or, of `ascii` text, before
   the first byte above 126, and return where that is. There has to be room for all up to `stop`. */
static inline const byte *copy_plain(
    struct texts *texts, const byte *at, const byte *stop, bool backslashes, bool ascii
) {
    byte *to = texts->data + texts->size;
    unsigned found = 0;
    while (stop - at >= LANES && !found) {
        const lanes bytes = load_lanes(at);
        lanes others = backslashes ? all_lanes(0) : bytes == all_lanes('\\');
        if (ascii)
            others |= (bytes < all_lanes(0)) | (bytes == all_lanes(0x7F));
        found = lane_bits(others);
        const unsigned count = found ? (unsigned)__builtin_ctz(found) : LANES;
        store_lanes(to, bytes);
        at += count;
        to += count;
    }
    while (!found && at < stop && (backslashes || *at != '\\') && (!ascii || *at < 0x7F))
        *to++ = *at++;
    texts->size = (size_t)(to - texts->data);
    return at;
}

void write_unescaped(struct texts *texts, const struct span *span) {
    const byte *at = span->start, *const stop = at + span->length;
    /* What is decoded is no longer than what is written. */
    if (texts->capacity - texts->size < span->length) {
        texts->full = true;
        return;
    }
    while ((at = copy_plain(texts, at, stop, false, false)) < stop) {
        uint32_t point = meant[at[1]];
        at = point ? at + 2 : read_escape(at + 1, &point);
        if (point < 0x80)
            texts->data[texts->size++] = (byte)point;
        else
            write_utf8(texts, point);
    }
}

/* Read one code point above 127 of valid UTF-8, and step over it. */
static uint32_t decode(const byte **at) {
    const byte *bytes = *at;
    if (bytes[0] < 0xE0) {
        *at += 2;
        return (uint32_t)(bytes[0] & 0x1F) << 6 | (bytes[1] & 0x3F);
    }
    if (bytes[0] < 0xF0) {
        *at += 3;
        return (uint32_t)(bytes[0] & 0x0F) << 12 | (uint32_t)(bytes[1] & 0x3F) << 6 |
               (bytes[2] & 0x3F);
    }
    *at += 4;
    return (uint32_t)(bytes[0] & 0x07) << 18 | (uint32_t)(bytes[1] & 0x3F) << 12 |
           (uint32_t)(bytes[2] & 0x3F) << 6 | (bytes[3] & 0x3F);
}

static void write_unit(struct texts *texts, uint32_t unit) {
    static const char digits[] = "0123456789abcdef";
    const char escape[6] = {
        '\\', 'u', digits[unit >> 12], digits[unit >> 8 & 15], digits[unit >> 4 & 15],
        digits[unit & 15],
    };
    write_bytes(texts, escape, sizeof escape);
}

static void write_escaped(struct texts *texts, uint32_t point) {
    static const char letters[128] = {
        ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
        ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
    };
    if (point < 0x80 && letters[point]) {
        const char escape[2] = {'\\', letters[point]};
        write_bytes(texts, escape, sizeof escape);
    } else if (point >= ' ' && point <= '~') {
        const byte one = (byte)point;
        write_bytes(texts, &one, 1);
    } else if (point < 0x10000) {
        write_unit(texts, point);
    } else {
        write_unit(texts, 0xD800u + ((point - 0x10000u) >> 10));
        write_unit(texts, 0xDC00u + (point & 0x3FFu));
    }
}

void write_json_text(struct texts *texts, const struct span *span, bool ascii) {
    const byte *at = span->start, *const stop = at + span->length;
    while (at < stop) {
        if (texts->capacity - texts->size < (size_t)(stop - at)) {
            texts->full = true;
            return;
        }
        at = copy_plain(texts, at, stop, !span->unusual, ascii);
        if (at < stop && *at == '\\' && at[1] != 'u' && at[1] != '/') {
            /* Short escapes are written as they are read. */
            memcpy(texts->data + texts->size, at, 2);
            texts->size += 2;
            at += 2;
        } else if (at < stop) {
            uint32_t point = *at;
            if (point == '\\')
                at = read_escape(at + 1, &point);
            else if (point == 0x7F)
                at++;
            else
                point = decode(&at);
            if (ascii || point < 0x7F)
                write_escaped(texts, point);
            else
                write_utf8(texts, point);
        }
    }
}

bool shows_something(const struct span *span) {
    const byte *const stop = span->start + span->length;
    for (const byte *at = span->start; at < stop; at++) {
        if (*at == '\\') {
            if (at[1] == '"' || at[1] == '\\' || at[1] == '/')
                return true;
            at += at[1] == 'u' ? 5 : 1;
        } else if ((*at > ' ' && *at < 0x7F) || (*at >= 0xC3 && *at < 0xE0) || *at >= 0xE4 ||
                   (*at == 0xE3 && at[1] > 0x80)) {
            /* White space above ASCII is U+0085, U+00A0, U+1680 and from U+2000 to U+3000. */
            return true;
        }
    }
    return false;
}
