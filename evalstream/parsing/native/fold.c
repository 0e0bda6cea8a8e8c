#include "fold.h"

#include "lanes.h"

#include <stdlib.h>

enum { LETTERS = 0x110000, LONGEST_FOLD = 64, ROOM = LONGEST_FOLD + LANES };

void learn_letter(struct folding *folding, uint32_t letter, const byte *fold, size_t length) {
    if (letter >= LETTERS || length > LONGEST_FOLD)
        return;
    if (!folding->place && !(folding->place = calloc(LETTERS, sizeof *folding->place)))
        return;
    if (folding->place[letter])
        return;
    if (folding->capacity - folding->size < 1 + ROOM) {
        const size_t capacity = 2 * folding->capacity + 4096;
        byte *const folds = realloc(folding->folds, capacity);
        if (!folds)
            return;
        folding->folds = folds;
        folding->capacity = capacity;
        folding->size += !folding->size; /* no letter has the place 0 */
    }
    folding->place[letter] = (uint32_t)folding->size;
    folding->folds[folding->size++] = (byte)length;
    memcpy(folding->folds + folding->size, fold, length);
    folding->size += length;
}

void free_folding(struct folding *folding) {
    free(folding->place);
    free(folding->folds);
}

/* Tell whether a text needs no space at its end: it has one, or it is empty. */
static inline bool is_spaced(const byte *start, const byte *to) {
    return to == start || to[-1] == ' ';
}

static inline byte *write_letter(const byte *start, byte *to, byte letter) {
    if (!is_white(letter))
        *to++ = folded(letter);
    else if (!is_spaced(start, to))
        *to++ = ' ';
    return to;
}

static inline byte *end_text(const byte *start, byte *to) {
    return to > start && to[-1] == ' ' ? to - 1 : to;
}

/* Write LANES bytes, and return how many of them count: those before `stop`, before the first letter
   beyond ASCII, and before white space behind other white space. */
static inline size_t write_plain(
    const byte *from, const byte *stop, const byte *start, byte *to
) {
    const lanes letters = load_lanes(from), space = all_lanes(' ');
    const lanes white = (letters == space) |
                        ((letters >= all_lanes('\t')) & (letters <= all_lanes('\r'))) |
                        ((letters >= all_lanes(28)) & (letters <= all_lanes(31)));
    const lanes upper = (letters >= all_lanes('A')) & (letters <= all_lanes('Z'));
    const unsigned whites = lane_bits(white);
    const unsigned others =
        lane_bits(letters < all_lanes(0)) | (whites & (whites << 1 | is_spaced(start, to)));
    store_lanes(to, ((letters + (upper & all_lanes('a' - 'A'))) & ~white) | (space & white));
    if (!others && stop - from >= LANES)
        return LANES;
    return (size_t)__builtin_ctz(others | 1u << (stop - from < LANES ? stop - from : LANES));
}

/* Return the fold of the letter that begins at `*from`, and go behind it; NULL if it is not known. */
static const byte *fold_at(const struct folding *folding, const byte **from, const byte *stop) {
    const byte first = **from;
    const unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    uint32_t letter = first & (0x3fu >> more);
    if (!folding->place || (size_t)(stop - *from) <= more)
        return NULL;
    for (unsigned byte = 1; byte <= more; byte++)
        letter = letter << 6 | ((*from)[byte] & 0x3f);
    *from += 1 + more;
    return letter < LETTERS && folding->place[letter] ? folding->folds + folding->place[letter]
                                                      : NULL;
}

byte *write_folded(
    const struct folding *folding, const byte *from, const byte *stop, byte *to, const byte *limit
) {
    const byte *start = to;
    while (from < stop) {
        if (limit - to < ROOM)
            return NULL;
        const size_t plain = write_plain(from, stop, start, to);
        from += plain;
        to += plain;
        while (plain < LANES && from < stop && is_white(*from))
            from++;
        for (byte last_class = 0; from < stop && *from >= 0x80;) {
            if (limit - to < ROOM)
                return NULL;
            if (*from == BETWEEN_TEXTS) {
                to = end_text(start, to);
                *to++ = *from++;
                start = to;
                last_class = 0;
                continue;
            }
            const byte *fold = fold_at(folding, &from, stop);
            const byte *const end = fold ? fold + 1 + *fold : NULL;
            if (!fold++ || (fold[FIRST_CLASS] && fold[FIRST_CLASS] < last_class))
                return NULL;
            last_class = fold[LAST_CLASS];
            for (fold += CLASSES; fold < end; fold++)
                to = write_letter(start, to, *fold);
        }
    }
    return end_text(start, to);
}
