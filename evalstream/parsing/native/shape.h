/* Values held against a schema, which comes as tables, and what they hold by name. */

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
    slot(REFERENCE, "input.reference")                                                             \
    slot(A_REFERENCE, "input.reference[]")                                                         \
    slot(A_CHOICE, "input.choices[]")                                                              \
    slot(OUTPUT, "output")                                                                         \
    slot(OUTPUT_TEXT, "output.raw")                                                                \
    slot(AN_OUTPUT_TEXT, "output.raw[]")                                                           \
    slot(TURNS, "turns")                                                                           \
    slot(A_TURN, "turns[]")                                                                        \
    slot(TURN_PLACE, "turns[].turn_idx")                                                           \
    slot(TURN_ROLE, "turns[].role")                                                                \
    slot(TURN_CONTENT, "turns[].content")                                                          \
    slot(TURN_ANSWERS, "turns[].tool_call_id")                                                     \
    slot(TURN_ANSWERS_ONE, "turns[].tool_call_id[]")                                               \
    slot(CALL_ID, "turns[].tool_calls[].id")                                                       \
    slot(AN_ANSWER, "answer_attribution[]")                                                        \
    slot(ANSWER_TURN, "answer_attribution[].turn_idx")                                             \
    slot(ANSWER_SOURCE, "answer_attribution[].source")                                             \
    slot(ANSWER_IS_LAST, "answer_attribution[].is_terminal")                                       \
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
    slot(SEED, "metadata.seed")

#define NAME_OF_SLOT(name, path) name,
enum slot { NO_SLOT = -1, SLOTS(NAME_OF_SLOT) SLOT_COUNT };
#undef NAME_OF_SLOT

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
    int32_t choice;           /* which of the texts that the schema lists, from 0 */
    const byte *start, *stop; /* as it is written, quotes and brackets included */
    union {
        struct span span;     /* of a STRING */
        struct number number; /* of an INTEGER or a FRACTION; 1 and 0 of a BOOLEAN */
    };
};

/* One schema. Places of nodes, members and texts count from 0, and -1 stands for none. */
struct node {
    int32_t kinds;                     /* that a value may be of, added up */
    int32_t items;                     /* the node of each element */
    int32_t others;                    /* the node of members that have no node of their own */
    int32_t first_member, members;     /* those that have, at most 64 */
    int32_t first_choice, choices;     /* the texts that a STRING may be; any without choices */
    int32_t slot;                      /* where to keep the value */
    int32_t has_least;
    int32_t watched;                   /* whether it matters that a row holds this */
    uint64_t required;                 /* a bit for each member that has to be there */
    double least;                      /* the smallest number */
};

struct member {
    int32_t text, node;
};

struct label {
    int32_t start, length; /* in `letters` */
};

struct tables {
    const struct node *nodes; /* the first is that of a row */
    const struct member *members;
    const struct label *labels; /* names of members, and texts that may be chosen */
    const byte *letters;
};

struct walk;

/* Takes a value that has a slot. Returns whether to go on. */
typedef bool (*keep)(struct walk *walk, enum slot slot, const struct value *value);

struct walk {
    const struct tables *tables;
    const byte *end; /* of the memory */
    keep keep;
    void *facts;
    int32_t watched; /* whether a value was there that is watched; 0 at the start */
};

/* Hold the value at `at` against the first node. Return what follows it; NULL if it is no JSON,
   not what the schema wants, or if that cannot be told: where a key has escapes or comes twice,
   of which there may be 64 that have no node, and where it is nested deeper than 64. */
const byte *walk_value(struct walk *walk, const byte *at);

#endif
