/* Values checked against a schema, which comes as tables, and what they contain by name. */

#ifndef EVALSTREAM_SHAPE_H
#define EVALSTREAM_SHAPE_H

#include "json.h"

/* What is looked at in a row, by its path; `turns` is the transcript, whatever it is called, and
   `[]` stands for each element of an array. */
#define SLOTS(slot)                                                                                \
    slot(VERSION, "schema_version")                                                                \
    slot(EVALUATION, "evaluation_id")                                                              \
    slot(MODEL, "model_id")                                                                        \
    slot(NAME, "evaluation_name")                                                                  \
    slot(RESULT, "evaluation_result_id")                                                           \
    slot(SAMPLE, "sample_id")                                                                      \
    slot(HASH, "sample_hash")                                                                      \
    slot(INTERACTION, "interaction_type")                                                          \
    slot(RAW, "input.raw")                                                                         \
    slot(FORMATTED, "input.formatted")                                                             \
    slot(CHOICES, "input.choices")                                                                 \
    slot(OUTPUT, "output")                                                                         \
    slot(TURNS, "turns")                                                                           \
    slot(TURN_PLACE, "turns[].turn_idx")                                                           \
    slot(TURN_ROLE, "turns[].role")                                                                \
    slot(TURN_CONTENT, "turns[].content")                                                          \
    slot(TURN_ANSWERS, "turns[].tool_call_id")                                                     \
    slot(ANSWERS, "answer_attribution")                                                            \
    slot(ANSWER_TURN, "answer_attribution[].turn_idx")                                             \
    slot(ANSWER_SOURCE, "answer_attribution[].source")                                             \
    slot(ANSWER_IS_LAST, "answer_attribution[].is_terminal")                                       \
    slot(ANSWER_VALUE, "answer_attribution[].extracted_value")                                     \
    slot(ANSWER_METHOD, "answer_attribution[].extraction_method")                                  \
    slot(SCORE, "evaluation.score")                                                                \
    slot(CORRECT, "evaluation.is_correct")                                                         \
    slot(TURN_COUNT, "evaluation.num_turns")                                                       \
    slot(CALL_COUNT, "evaluation.tool_calls_count")                                                \
    slot(TOKENS, "token_usage.total_tokens")                                                       \
    slot(TOKENS_TAKEN, "token_usage.input_tokens")                                                 \
    slot(TOKENS_GIVEN, "token_usage.output_tokens")                                                \
    slot(TOKENS_WRITTEN, "token_usage.input_tokens_cache_write")                                   \
    slot(TOKENS_READ, "token_usage.input_tokens_cache_read")                                       \
    slot(TOKENS_REASONED, "token_usage.reasoning_tokens")                                          \
    slot(LATENCY, "performance.latency_ms")                                                        \
    slot(FIRST_TOKEN, "performance.time_to_first_token_ms")                                        \
    slot(GENERATION, "performance.generation_time_ms")                                             \
    slot(ERROR, "error")                                                                           \
    slot(EPOCH, "metadata.epoch")                                                                  \
    slot(REPEAT, "metadata.repeat")                                                                \
    slot(TRIAL, "metadata.trial")                                                                  \
    slot(SEED, "metadata.seed")                                                                    \
    slot(METRICS, "metadata.lm_eval_metrics")                                                      \
    slot(PROMPT_HASH, "metadata.prompt_hash")                                                      \
    slot(TARGET_HASH, "metadata.target_hash")                                                      \
    slot(REFERENCE, "input.reference")                                                             \
    slot(A_REFERENCE, "input.reference[]")                                                         \
    slot(A_CHOICE, "input.choices[]")                                                              \
    slot(OUTPUT_TEXT, "output.raw")                                                                \
    slot(AN_OUTPUT_TEXT, "output.raw[]")                                                           \
    slot(A_TURN, "turns[]")                                                                        \
    slot(TURN_ANSWERS_ONE, "turns[].tool_call_id[]")                                               \
    slot(A_CALL, "turns[].tool_calls[]")                                                           \
    slot(CALL_ID, "turns[].tool_calls[].id")                                                       \
    slot(AN_ANSWER, "answer_attribution[]")

#define NAME_OF_SLOT(name, path) name,
enum slot { SLOTS(NAME_OF_SLOT) SLOT_COUNT };
#undef NAME_OF_SLOT

/* From this slot on, values are handed on as soon as they are read. */
enum { FIRST_COLLECTED = REFERENCE };

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
    STRICT = 32,  /* a value of another kind is left to others */
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

struct member {
    struct label label; /* a comma, its name in quotes, a colon, and a space behind both signs */
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

/* Takes a value that has one of the slots from FIRST_COLLECTED on. Returns whether to go on. */
typedef bool (*keep)(struct walk *walk, enum slot slot, const struct value *value);

enum { DEEPEST = 64, MOST_SIGNATURE_BYTES = 1 << 12 };

/* A step of the path to a value that its node does not tell: an index, or the name of a member. */
struct step {
    const byte *name; /* NULL for an index */
    size_t size;      /* the index, or the length of the name */
};

struct walk {
    const struct tables *tables;
    const byte *end; /* of the memory */
    keep keep;
    void *facts;
    struct value *slots;    /* where values are kept that have a slot */
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

/* Return the shape of the value at `at`, which was walked; without digests it is walked again. */
uint64_t shape_of(const struct walk *walk, const byte *at);

/* Add a deviation of a value that `node` is the schema of. */
void deviate(
    struct walk *walk, enum deviation deviation, int32_t node, const void *more, size_t size
);

#endif
