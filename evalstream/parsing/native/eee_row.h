/* A row of Every Eval Ever: its members, the rules that may object to it, and its record. */

#ifndef EVALSTREAM_EEE_ROW_H
#define EVALSTREAM_EEE_ROW_H

#include <math.h>

#include "digest.h"
#include "shape.h"
#include "spans.h"

/* The members that the scanner reads, by path; `turns` is the transcript, whatever its name, and
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
    slot(FILTER, "metadata.filter")                                                                \
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

enum { FIRST_COLLECTED = REFERENCE };

enum {
    MOST_REFERENCES = 64,
    MOST_CHOICES = 256,
    MOST_ANSWERED = 64,
    MOST_CALLS = 4096,
    MOST_OUTPUTS = 64,
    MOST_SAID = 1024,
    MOST_ASKED = 4,
    USER_TURNS = 1024,
    CALL_BUCKETS = 2 * MOST_CALLS,
    INTERACTIONS = 3,
};

#define INTERACTION_TYPES(type)                                                                    \
    type(SINGLE_TURN, "single_turn") type(MULTI_TURN, "multi_turn") type(AGENTIC, "agentic")

#define NAME_OF_TYPE(name, text) name,
enum interaction { INTERACTION_TYPES(NAME_OF_TYPE) NO_INTERACTION };
#undef NAME_OF_TYPE

/* How sample_hash is computed; NO_RECIPE is for rows that have none. */
#define RECIPES(recipe)                                                                            \
    recipe(NO_RECIPE, "")                                                                          \
    recipe(CONCAT, "concat")                                                                       \
    recipe(CONCAT_FIRST, "concat-first")                                                           \
    recipe(JSON_STR, "json-str")                                                                   \
    recipe(JSON_LIST, "json-list")                                                                 \
    recipe(JSON_LIST_SPACED, "json-list-spaced")

#define NAME_OF_RECIPE(name, text) name,
enum recipe { RECIPES(NAME_OF_RECIPE) RECIPE_COUNT };
#undef NAME_OF_RECIPE

/* The rules that are tested here, by their codes. */
#define CHECKS(check)                                                                              \
    check(ES301) check(ES302) check(ES303) check(ES304) check(ES305) check(ES306) check(ES307)     \
    check(ES308) check(ES309) check(ES310) check(ES311) check(ES312) check(ES313) check(ES314)     \
    check(ES315) check(ES316) check(ES320) check(ES321) check(ES410) check(ES710) check(ES808)

#define NAME_OF_CHECK(code) PLACE_OF_##code,
enum check_place { CHECKS(NAME_OF_CHECK) };
#undef NAME_OF_CHECK

#define NAME_OF_CHECK(code) code = 1 << PLACE_OF_##code,
enum check { NO_CHECK = 0, CHECKS(NAME_OF_CHECK) };
#undef NAME_OF_CHECK

enum { DOUBTFUL_HASH = 1 << 30 };

/* What identifies a sample across runs, where rows are compared with those of other runs. */
enum identity { NO_IDENTITY, BY_INPUT, BY_HASH, BY_ID };

/* What is demanded of rows beyond the shape of their values. */
struct demands {
    double lowest, highest;          /* score */
    double right_up_to, right_from;  /* scores that contradict a right answer */
    double wrong_from, wrong_up_to;  /* scores that contradict a wrong one */
    double most_tokens, most_turns;  /* of one output, and of a transcript */
    uint64_t wanted[INTERACTIONS];   /* slots, as bits, that must be there and not be null */
    uint64_t unwanted[INTERACTIONS]; /* slots that must be null or absent */
    uint64_t seed;                   /* of the shapes of rows */
    int32_t recipe;
    int32_t tried;                   /* recipes that the file may follow, as bits */
    int32_t hash_digits;             /* how long sample_hash is */
    int32_t times_generation;        /* whether generation_time_ms is within latency_ms */
    int32_t lists_all;               /* whether all rows are listed, and their texts kept */
    int32_t links;                   /* whether it is wanted what ties rows to those of other runs */
    int32_t deviating;               /* whether to accept rows that deviate from the schema */
    int32_t judges_binary;           /* whether scores other than 0 and 1 may be wrong */
    int32_t reads_chosen;            /* whether a scorer reads the choice in the output */
    int32_t compares;                /* whether rows of one sample are compared: their choices, too */
    int32_t identity;                /* how samples are identified, if they are wanted */
    int32_t counts_turns;            /* whether num_turns may not be null where turns are */
    int32_t looks_for_references;    /* whether a right answer shows a reference, 2 if that may number a
                                        choice, 3 if digits are as written */
    uint32_t checks;                 /* the rules that are enabled, as bits */
    char transcript[16];             /* what the transcript is called */
};

enum flag {
    TAKEN = 1,           /* there is a record of the row */
    UNANSWERED = 2,      /* answer_attribution is empty */
    FOREIGN = 4,         /* the answer's source is outside of the row */
    CARRIAGE_RETURN = 8, /* before the newline */
    NUMBERED = 16,       /* sample_id is an integer */
    SEVERAL = 32,        /* references, which recipes write differently */
    IS_CORRECT = 64,
    FAILED = 128,        /* error is not empty */
    WATCHED = 256,       /* it holds what a rule looks at that is not tested here */
    UNSCORED = 512,      /* the score is not a number */
    UNJUDGED = 1024,     /* is_correct is neither true nor false */
    UNHASHED = 2048,     /* there is no sample_hash, or it is null */
    UNCHECKED = 4096,    /* sample_hash is not a text, or there is no input */
    UNCOVERED = 8192,    /* there is no input that a hash covers */
    NOT_CHOSEN = 16384,  /* a reference is not one of the choices */
    WRONG_HASH = 32768,  /* sample_hash is not what any recipe gives that is tried */
    LIKE_LOG = 65536,    /* prompt and target have the hashes that the harness logged, or */
    UNLIKE_LOG = 131072, /* one of them has another */
    LOGGED = 33554432,   /* all of them can be compared with such hashes, or */
    UNLOGGED = 67108864, /* not */
    PROMPTED = 262144, /* input.formatted holds input.raw, or */
    UNPROMPTED = 524288, /* does not */
    SOURCED = 1048576, /* output.raw holds the answer that was extracted from it, or */
    UNSOURCED = 2097152, /* does not */
    REFERRED = 4194304, /* the answer is a reference, or */
    RIVAL = 8388608, /* a letter, integer or word that none of them can stand for */
    ALIASED = 16777216, /* and there are several references */
    UNSHOWN = 134217728, /* a right answer that shows nothing of any reference */
};

/* Where the texts of a row are: one behind the other, each ends where the next one starts. */
struct row_texts {
    uint64_t sample;    /* sample_id */
    uint64_t hash;      /* sample_hash, if there is one */
    uint64_t input;     /* input.raw, and */
    uint64_t reference; /* all of input.reference, each behind what no UTF-8 holds */
    uint64_t choices;   /* input.choices */
    uint64_t covered;   /* what sample_hash is the digest of */
    uint64_t mark;      /* what tells the repeats of a sample apart */
    uint64_t linked;    /* input.reference with the choices, if any, where rows are linked */
    uint64_t options;   /* input.choices, each behind what no UTF-8 holds, and */
    uint64_t prompt;    /* input.formatted, where samples are wanted */
    uint64_t end;
};

struct facts {
    struct value no_slot;          /* see `walk` */
    struct value slot[SLOT_COUNT]; /* ABSENT ones too */
    struct spans references, choices, answered;
    struct spans outputs, said;    /* texts of the output, and of the assistant's turns */
    struct spans asked, told;      /* texts of the first turns of users, and of others */
    bool says_more;                /* there are more of those than are kept */
    size_t turns, assistants;
    uint64_t by_users[USER_TURNS / 64]; /* which turns may be a user's, as bits */
    size_t calls, calls_before;    /* in the whole row, and before this turn */
    size_t answers;
    enum interaction interaction;
    bool odd_references;           /* one of them is not a string */
    bool is_exact;                 /* an answer may be an exact match */
    bool is_bare;                  /* an answer may be the output as it is */
    uint32_t doubts;               /* rules that may have something to say, as bits */
    uint32_t generation;           /* of the entries in `bucket` that are this row's */
    struct span reference_room[MOST_REFERENCES], choice_room[MOST_CHOICES];
    struct span answered_room[MOST_ANSWERED], call[MOST_CALLS];
    struct span output_room[MOST_OUTPUTS], said_room[MOST_SAID];
    struct span asked_room[MOST_ASKED], told_room[MOST_ASKED];
    struct {
        uint32_t generation, call;
    } bucket[CALL_BUCKETS];
};

/* Return the string in a slot, an empty one where there is none. */
static inline const struct span *text_of(const struct facts *facts, enum slot slot) {
    static const struct span nothing = {.start = (const byte *)"\n", .ascii = true};
    return facts->slot[slot].kind == STRING ? &facts->slot[slot].span : &nothing;
}

static inline bool has_value(const struct facts *facts, enum slot slot) {
    return facts->slot[slot].kind != ABSENT && facts->slot[slot].kind != NULL_KIND;
}

static inline bool has_number(const struct facts *facts, enum slot slot) {
    return facts->slot[slot].kind == INTEGER || facts->slot[slot].kind == FRACTION;
}

/* Return the number in a slot, NAN where there is none, or none that a double holds exactly. */
static inline double number_of(const struct facts *facts, enum slot slot) {
    const struct value *const value = &facts->slot[slot];
    const bool is_known = value->kind == FRACTION || (value->kind == INTEGER && value->number.exact);
    return is_known ? value->number.value : NAN;
}

static inline bool is_true(const struct facts *facts, enum slot slot) {
    return facts->slot[slot].kind == BOOLEAN && facts->slot[slot].number.value == 1;
}

/* Tell whether an integer is written as Python writes it. */
static inline bool is_usual_integer(const struct value *value) {
    return value->kind == INTEGER && !(value->start[0] == '-' && value->start[1] == '0');
}

/* Tell whether a score is one that by the bounds of a metric no answer has that is right, or wrong. */
static inline bool eee_may_contradict(
    double score, bool is_right, const struct demands *demands
) {
    if (is_right)
        return score <= demands->right_up_to || score >= demands->right_from;
    return score >= demands->wrong_from || score <= demands->wrong_up_to;
}

/* Tell whether a score of 0 or 1 contradicts that an answer is right, or wrong. */
static inline bool eee_contradicts(double score, bool is_right) {
    return score == (is_right ? 0 : 1);
}

/* eee_facts.c: what a row says. */

/* Tell whether an array may have texts that are not kept, where the schema wants none. */
bool eee_has_more(const struct value *value, const struct spans *kept);

/* Prepare facts whose bytes are 0, once; they own all that they keep but the bytes of the row. */
void eee_start_facts(struct facts *facts);

/* Forget a row. */
void eee_clear_facts(struct facts *facts);

/* Take a value of a row for the facts of a walk; see `keep`. */
bool eee_keep_fact(struct walk *walk, int32_t slot, const struct value *value);

/* Return the score, of which true is 1 and false 0; NAN where it is not a number. */
double eee_score_of(const struct facts *facts);

/* Add to the signature how a row deviates from the conditions of its schema; and, if it deviates at
   all, what conditions depend on. */
void eee_check_conditions(struct walk *walk, const struct demands *demands);

/* eee_answers.c: whether answers, references and choices fit each other. */

/* Tell whether every reference is one of the choices, if there are any. */
enum answer eee_chooses(const struct facts *facts);

/* Return the rules that may object to the answer of a row, which is of a `single` turn or not, as
   bits, and add what its flags say of that. */
uint32_t eee_doubts_of_answer(
    const struct facts *facts, const struct demands *demands, bool single, uint64_t *flags
);

/* eee_doubts.c: what rules may find. */

enum { OF_TRANSCRIPTS = ES302 | ES303 | ES304 | ES305 | ES306 | ES315 | ES320 };

/* Judge a row: what its flags say, and which of the enabled rules may find something, as bits.
   Return false if the row needs the exact path. */
bool eee_judge(
    const struct facts *facts, const struct demands *demands, uint64_t *flags, uint32_t *doubts
);

/* eee_texts.c: what is digested of a row. */

/* Write what a recipe makes sample_hash the digest of; JSON is all `ascii`, or shows all letters. */
void eee_write_covered(
    const struct facts *facts, enum recipe recipe, bool ascii, struct texts *texts
);

/* Write the texts of a row that is judged, and say where they are. Return false where that cannot
   be done exactly, or there is no room. */
bool eee_write_row(
    const struct facts *facts, const struct demands *demands, struct texts *texts,
    struct row_texts *at, uint64_t *flags, uint32_t *doubts
);

#endif
