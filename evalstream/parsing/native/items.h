/* The items of a list that arrives in pieces: where each stands that is plain JSON. */

#ifndef EVALSTREAM_ITEMS_H
#define EVALSTREAM_ITEMS_H

#include "cursor.h"
#include "export.h"

/* Where an item stands in a piece, and in the document: lines and columns count from 1, and a column
   that bytes do not tell is 0. The rest is about items that are written in known forms: which form,
   and where the id is. */
struct item {
    uint64_t start, stop, line, column;
    uint64_t form, id, id_stop;
};

/* A piece of a list, from the end of an item on, or from behind its bracket or a comma. */
struct item_scan {
    const byte *bytes;         /* behind which is a byte that no token holds */
    uint64_t size, at;
    uint64_t offset;           /* of the piece in the document */
    uint64_t line, line_start; /* of `at`: the number of its line, and its offset in the document */
    uint64_t wide;             /* the offset of the first byte above 127, or a later one */
    uint64_t behind;           /* the offset of the end of the item before */
    uint64_t longest;          /* item, in bytes, that is scanned */
    uint64_t is_behind;        /* whether `at` is behind an item, so that a comma comes first */
    struct item *items;
    uint64_t most;
};

/* A member that is kept, by its name: whole, or of an object, and of each object in a list, those
   members that come from `first` on. */
struct kept {
    uint32_t start, length; /* of its name among the letters */
    uint32_t first, count;
};

/* What is kept of items: the members of the first, and the texts of all items so far, with a comma
   behind each. */
struct keep {
    const byte *letters;
    const struct kept *members;
    struct texts texts;
};

/* Return how many items follow each other that are plain objects, and go behind the last one: strict
   JSON in UTF-8, with every key once and without escapes, and numbers within a double. Write what is
   kept of them; `keep` may be NULL. */
EXPORT uint64_t scan_items(struct item_scan *scan, struct keep *keep);

/* Return the number of newlines. */
EXPORT uint64_t count_newlines(const byte *bytes, uint64_t size);

/* Return where the next item of a list begins, NULL where none does. */
const byte *find_item(const struct item_scan *scan);

/* Note where an item stands, and go behind it. Return false for one that is too long. */
bool take_item(struct item_scan *scan, struct item *item, const byte *start, const byte *stop);

#endif
