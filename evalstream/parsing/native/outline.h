/* The outline of a JSON document that arrives in pieces: its structure, without most of its items. */

#ifndef EVALSTREAM_OUTLINE_H
#define EVALSTREAM_OUTLINE_H

#include "export.h"
#include "json.h"

enum outline_result {
    OUTLINE_UNFINISHED, /* more bytes are needed */
    OUTLINE_WHOLE,      /* the value has ended */
    OUTLINE_INVALID,    /* this is not JSON in UTF-8 */
    OUTLINE_TOO_LARGE,  /* there is not enough room for the outline, or the nesting is too deep */
};

struct outline;

/* Return an empty outline, NULL if there is no memory. */
EXPORT struct outline *new_outline(void);
EXPORT void free_outline(struct outline *outline);

/* Read the next bytes and return an outline_result; after an error all others return the same.

   The outline is JSON. It keeps all members of the outermost object and of the objects directly in
   it. Lists and inner objects lose their later items once the value of a member has enough of
   them. Strings above 8 KiB and nesting above 8 levels are cut. */
EXPORT int32_t add_to_outline(struct outline *outline, const byte *data, uint64_t size);

/* Return the text so far and set its size; it is valid until more is added. */
EXPORT const byte *outline_text(const struct outline *outline, uint64_t *size);

#endif
