/* Texts in a form that copies of them share: without case, and with single spaces within them. */

#ifndef EVALSTREAM_FOLD_H
#define EVALSTREAM_FOLD_H

#include "json.h"

enum { BETWEEN_TEXTS = 0xff }; /* a byte that UTF-8 does not use */

/* The combining classes at both ends of a letter: a mark may be moved before one of a higher class. */
enum { FIRST_CLASS, LAST_CLASS, CLASSES };

/* How letters beyond ASCII are folded that do not join the letter before them, as far as Python told
   it. */
struct folding {
    uint32_t *place; /* of a letter among the folds, by its code point; 0 where it is not known */
    byte *folds;     /* each is its length in a byte, CLASSES bytes, and what the letter becomes */
    size_t size, capacity;
};

/* Learn the fold of a letter, which begins with its classes; without memory it stays unknown. */
void learn_letter(struct folding *folding, uint32_t letter, const byte *fold, size_t length);

void free_folding(struct folding *folding);

/* Write texts, which BETWEEN_TEXTS parts, to where `to` is and before `limit`. Return the end, or NULL
   where a letter is not known or moves, and without room. LANES bytes behind the texts can be read. */
byte *write_folded(
    const struct folding *folding, const byte *from, const byte *stop, byte *to, const byte *limit
);

#endif
