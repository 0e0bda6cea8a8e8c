/* JSON values as Python writes them, whatever the spaces between them: with indentation, or in the one
   form in which equal values are written alike. */

#ifndef EVALSTREAM_CANONICAL_H
#define EVALSTREAM_CANONICAL_H

#include "cursor.h"

/* How values are written. With indentation they are `json.dumps(value, indent=2, ensure_ascii=False)`;
   without it the `canonical` of parsing/json.py, whose keys are in order. */
struct writer {
    struct cursor cursor;
    struct texts *texts;
    bool is_indented;
};

/* Write a value within `depth` containers. Return what follows it; NULL for a text or a number that may
   be written in another way, and for one that the cursor leaves. */
const byte *write_value(const struct writer *writer, const byte *at, unsigned depth);

#endif
