/* JSON values in the one form in which equal ones are written alike: keys in order, no spaces. */

#ifndef EVALSTREAM_CANONICAL_H
#define EVALSTREAM_CANONICAL_H

#include "cursor.h"

/* Tell whether a string is written as Python writes it with ensure_ascii=False. */
bool is_canonical_text(const struct span *span);

/* Tell whether a number is surely written as Python's repr writes it. */
bool is_canonical_number(const byte *start, const byte *stop, const struct number *number);

/* Write a value within `depth` containers as `canonical` in parsing/json.py does. Return what follows
   it; NULL for a text or a number that is written in another way, and for one that `cursor` leaves. */
const byte *write_canonical(
    const struct cursor *cursor, const byte *at, unsigned depth, struct texts *texts
);

#endif
