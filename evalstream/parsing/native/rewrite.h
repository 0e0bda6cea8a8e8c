/* Rows that are rewritten by a tree of places, to the bytes and with the changes of `reshape.py`.
   The exact path takes a row wherever this is not certain. */

#ifndef EVALSTREAM_REWRITE_H
#define EVALSTREAM_REWRITE_H

#include "export.h"
#include "json.h"

enum json_type { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT, NO_TYPE };

enum { JSON_TYPES = NO_TYPE, MOST_CHANGES = 64, MOST_WATCHES = 64, FIRST_LINES = 3 };

/* What is done with a value, as `Action` numbers it. */
enum action { KEEP, DROP, TO_LIST, TO_TEXT, TO_NUMBER, SET, TURN, TO_DIGEST };

/* What a member of the outermost object is tested for, as `rewrite.py` numbers it. */
enum test { PRESENT, NOT_NULL, UNSET, EQUALS, DIFFERS };

#define NO_PLACE UINT32_MAX

/* A text of the tables: where it starts in `texts`, and its size. */
struct table_text {
    uint32_t start, size;
};

/* What to do with values by their type, and which change that is; then what is within them. A text
   that is replaced `is_kept` in the object or null of the row that `keeps` it: there it becomes a
   member, whose name is the constant. */
struct place {
    byte action[JSON_TYPES], change[JSON_TYPES];
    byte renaming;  /* the change that a new name is */
    byte is_closed; /* the exact path takes rows with other members */
    byte is_kept, keeps;
    uint32_t others, items;          /* places, or NO_PLACE */
    uint32_t first_member, members;
    struct table_text name, constant; /* JSON texts; a size of 0 says that there is none */
};

struct place_member {
    struct table_text name;
    uint32_t place; /* or NO_PLACE */
    uint32_t is_known;
    uint32_t first_watch, watches;
};

struct watch {
    uint32_t test;
    struct table_text text;
};

/* The first place is that of rows. Each group is a set of watches as bits; a row is left where all
   watches of a group are true. */
struct rewrite_tables {
    const struct place *places;
    const struct place_member *members;
    const struct watch *watches;
    const uint64_t *groups;
    const byte *texts;
    uint64_t place_count, member_count, watch_count, group_count;
};

/* In how many rows a change was made, the numbers of the first lines, the place of the change among
   those of the first row, and where that row is. */
struct change_count {
    uint64_t rows, line[FIRST_LINES], order, start, stop;
};

/* A row that was left: its number from 1, where it is in the bytes without its newline, and the
   place in the text that it would have. */
struct left_row {
    uint64_t line, start, stop, at;
};

struct rewritten {
    const byte *text;
    uint64_t size, rows;
    const struct left_row *left;
    uint64_t left_count;
    struct change_count changes[MOST_CHANGES];
};

struct rewriter;

/* Write the sizes of `struct place`, `place_member`, `watch`, `rewrite_tables` and `rewritten`. */
EXPORT void tell_rewriter_sizes(uint64_t sizes[5]);

/* Return a rewriter, NULL if there is no memory. What the tables hold must last as long. */
EXPORT struct rewriter *new_rewriter(const struct rewrite_tables *tables);
EXPORT void free_rewriter(struct rewriter *rewriter);

/* Rewrite whole lines; the last byte is a newline. Return 0 if there is no memory. The result is
   valid until the next call. */
EXPORT int32_t rewrite_lines(
    struct rewriter *rewriter, const byte *bytes, uint64_t size, struct rewritten *result
);

/* Tell whether all lines end in a newline alone, and none begins like a blank one. */
EXPORT int32_t are_plain_lines(const byte *bytes, uint64_t size);

#endif
