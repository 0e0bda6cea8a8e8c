/* The items of a list that arrives in pieces: where each stands that is plain JSON. */

#ifndef EVALSTREAM_ITEMS_H
#define EVALSTREAM_ITEMS_H

#include "export.h"
#include "json.h"

/* Where an item stands; `breaks` counts the line feeds before it, and `line` is where its own
   begins. */
struct item {
    uint64_t start, stop, breaks, line;
};

/* A piece of a list, from the end of an item on, or from behind its bracket or a comma. */
struct item_scan {
    const byte *bytes;   /* behind which is a byte that no token holds */
    uint64_t size, at;
    uint64_t breaks, line; /* line feeds before `at`, and where its line begins */
    uint64_t longest;    /* item, in bytes, that is looked at */
    uint64_t is_behind;  /* whether `at` is behind an item, so that a comma comes first */
    struct item *items;
    uint64_t most;
};

/* Return how many items follow each other that are plain objects, and go behind the last one: strict
   JSON in UTF-8, with every key once and without escapes, and numbers within a double. */
EXPORT uint64_t scan_items(struct item_scan *scan);

#endif
