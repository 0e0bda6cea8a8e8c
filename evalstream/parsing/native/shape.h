/* Values checked against a schema, which comes as tables, and what they contain by name. */

#ifndef EVALSTREAM_SHAPE_H
#define EVALSTREAM_SHAPE_H

#include "json.h"

enum kind {
    ABSENT = 0,
    NULL_KIND = 1,
    BOOLEAN = 2,
    INTEGER = 4,
    FRACTION = 8,
    STRING = 16,
    ARRAY = 32,
    OBJECT = 64,
};

struct value {
    enum kind kind;
    const byte *start, *stop; /* as it is written, quotes and brackets included */
    union {
        struct span span;     /* of a STRING */
        struct number number; /* of an INTEGER or a FRACTION; 1 and 0 of a BOOLEAN */
    };
};

/* How a node differs from one of a plain value. */
enum trait {
    HAS_LEAST = 1,
    WATCHES = 2,  /* it matters that a row contains this */
    CLOSED = 4,   /* members without a node deviate */
    IS_MAP = 8,   /* the names of its members say nothing of its shape */
    UNKNOWN = 16, /* the schema does not know the member, and allows none that it does not know */
    STRICT = 32,  /* the exact path judges a value of another kind */
};

/* One schema. Places of nodes, members and texts count from 0; a slot of -1 is none. */
struct node {
    int32_t kinds;                  /* that a value may be of, added up */
    int32_t items;                  /* the node of each element */
    int32_t others;                 /* the node of members without a node of their own */
    int32_t first_member, members;  /* those with one, at most 64 */
    int32_t first_choice, choices;  /* the texts that a STRING may be; any without choices */
    int32_t slot;                   /* where to keep the value */
    int32_t traits;
    int32_t plain;                  /* kinds of which nothing else is to be told */
    int32_t unused[2];
    uint64_t required;              /* a bit for each member that has to be there */
    double least;                   /* the smallest number */
};

/* A text in `letters`, behind which 2 * LANES more bytes are. */
struct label {
    int32_t start, length;
};

/* Behind the members of a node stands one that is never next. */
struct member {
    byte next[2 * LANES]; /* the label, if it is not longer, and zeros */
    uint32_t letters;     /* of it, as bits from the lowest one on; all for one that is never next */
    struct label label;   /* a comma, its name in quotes, a colon, and a space behind both signs */
    int32_t node;
};

struct tables {
    const struct node *nodes; /* the first is that of a row */
    const struct member *members;
    const struct label *labels; /* texts that may be chosen */
    const byte *letters;
};

/* How a value deviates from its node. */
enum deviation {
    WRONG_KIND = 'k',
    TOO_SMALL = 's',
    NOT_LISTED = 'l',
    NOT_KNOWN_HERE = 'n',
    MISSING = 'm',
    CONDITION = 'c',
};

struct walk;

/* Takes a value that has one of the slots from `first_collected` on. Returns whether to go on. */
typedef bool (*keep)(struct walk *walk, int32_t slot, const struct value *value);

enum { DEEPEST = 64, MOST_SIGNATURE_BYTES = 1 << 12, MOST_RECORDED = 128 };

/* A step of the path to a value that its node does not tell: an index, or the name of a member. */
struct step {
    const byte *name; /* NULL for an index */
    size_t size;      /* the index, or the length of the name */
};

/* A value that was read, behind those that are in it. */
struct recorded {
    struct value value;
    const struct node *node;
    int depth;   /* how many values it is in */
    bool varies; /* others were written in its place */
};

struct walk {
    const struct tables *tables;
    const byte *end; /* of the memory */
    keep keep;
    void *facts;            /* for whoever keeps values */
    struct value *slots;    /* where values are kept, behind one for those without a slot */
    int32_t first_collected; /* from this slot on, values are handed on as soon as they are read */
    struct recorded *records; /* room for MOST_RECORDED of all values, if they are wanted */
    size_t recorded;          /* how many there were */
    bool watched;           /* a value was there that is watched */
    bool nameless;          /* a key is empty; the exact path finds the paths to its value */
    bool digests;           /* whether to digest the shape */
    uint64_t seed, shape;   /* how it begins, and a digest of the names and kinds of all values */
    struct texts signature; /* all deviations, each with its node and its path */
    size_t steps;
    struct step step[DEEPEST];
};

/* Check the value at `at` against the first node, and add how it deviates to the signature: two
   values with the same signature deviate from this schema alike, and with the same shape from all
   schemas of the format. Return what follows the value; NULL if it is not JSON, or if this cannot
   be decided: where a key has escapes or comes twice, where an object has more than 64 keys without
   a node, and below 64 levels. */
const byte *walk_value(struct walk *walk, const byte *at);

/* Walk a value in so many others, without forgetting what was before. */
const byte *walk_inner(struct walk *walk, const struct node *node, const byte *at, int depth);

/* Forget the value before. */
static inline void begin_walk(struct walk *walk) {
    walk->steps = 0;
    walk->watched = walk->nameless = false;
    walk->shape = walk->seed;
    walk->signature.size = 0;
    walk->signature.full = false;
}

/* Return the shape of the value at `at`, which was walked; without digests it is walked again. */
uint64_t shape_of(const struct walk *walk, const byte *at);

/* Add a deviation of a value that `node` is the schema of. */
void deviate(
    struct walk *walk, enum deviation deviation, int32_t node, const void *more, size_t size
);

#endif
