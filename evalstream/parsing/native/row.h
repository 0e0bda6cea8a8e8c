/* A row of Every Eval Ever: what it says, which rules may object to it, and what it amounts to. */

#ifndef EVALSTREAM_ROW_H
#define EVALSTREAM_ROW_H

#include "digest.h"
#include "shape.h"

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

enum answer { NO, YES, PERHAPS };

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
    int32_t deviating;               /* whether rows are taken that deviate from the schema */
    int32_t judges_binary;           /* whether scores other than 0 and 1 may be wrong */
    int32_t compares;                /* whether rows of one sample are compared: their choices, too */
    int32_t identity;                /* how samples are identified, if they are wanted */
    int32_t counts_turns;            /* whether num_turns may not be null where turns are */
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
    PROMPTED = 262144, /* input.formatted holds input.raw, or */
    UNPROMPTED = 524288, /* does not */
    SOURCED = 1048576, /* output.raw holds the answer that was extracted from it, or */
    UNSOURCED = 2097152, /* does not */
    REFERRED = 4194304, /* the answer is a reference, or */
    RIVAL = 8388608, /* a letter, integer or word that none of them can stand for */
    ALIASED = 16777216, /* and there are several references */
};

/* Where the texts of a row are: one behind the other, each ends where the next one starts. */
struct row_texts {
    uint64_t sample;    /* sample_id */
    uint64_t hash;      /* sample_hash, if there is one */
    uint64_t input;     /* input.raw and all of input.reference, parted by what no UTF-8 holds */
    uint64_t choices;   /* input.choices */
    uint64_t covered;   /* what sample_hash is the digest of */
    uint64_t mark;      /* what tells the repeats of a sample apart */
    uint64_t raw;       /* input.raw, and */
    uint64_t reference; /* input.reference with the choices, if any, where rows are linked */
    uint64_t options;   /* input.choices, each behind what no UTF-8 holds, and */
    uint64_t prompt;    /* input.formatted, where samples are wanted */
    uint64_t end;
};

struct spans {
    size_t count;
    struct span *span;
    size_t most;
};

struct facts {
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

/* Return a text without the white space around it. */
struct span bare(const byte *start, size_t length);

/* Tell whether two ASCII texts differ at most in the case of letters. */
bool are_alike(const struct span *one, const struct span *other);

/* Return the letter that a text like A, (a) or b. is, in lower case; 0 for others. */
byte letter_of(struct span text);

/* Tell whether a text holds another one, both as they are written; perhaps, where that takes long. */
enum answer finds(const struct span *text, const struct span *part);

/* Return the place of a text among others; their number where it is none of them as it is written. */
size_t place_of(const struct spans *texts, const struct span *text);

/* Tell whether an array may have texts that are not kept, where the schema wants none. */
bool has_more(const struct value *value, const struct spans *kept);

void start_facts(struct facts *facts);

/* Forget a row. */
void clear_facts(struct facts *facts);

/* Take a value of a row; see `keep`. */
bool keep_fact(struct walk *walk, enum slot slot, const struct value *value);

/* Return the score, of which true is 1 and false 0; NAN where it is not a number. */
double score_of(const struct facts *facts);

/* Add to the signature how a row deviates from the conditions of its schema; and, if it deviates at
   all, what conditions depend on. */
void check_conditions(struct walk *walk, const struct demands *demands);

/* Judge a row: what its flags say, and which of the enabled rules may find something, as bits.
   Return false for a row that is for others to look at. */
bool judge(
    const struct facts *facts, const struct demands *demands, uint64_t *flags, uint32_t *doubts
);

/* Write what a recipe makes sample_hash the digest of. */
void write_covered(const struct facts *facts, enum recipe recipe, struct texts *texts);

/* Write the texts of a row that is judged, and say where they are. Return false where that cannot
   be done exactly, or there is no room. */
bool write_row(
    const struct facts *facts, const struct demands *demands, struct texts *texts,
    struct row_texts *at, uint64_t *flags, uint32_t *doubts
);

#endif
