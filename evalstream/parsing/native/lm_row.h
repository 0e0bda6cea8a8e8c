/* The members of a row of lm-eval, as they are written. */

#ifndef EVALSTREAM_LM_ROW_H
#define EVALSTREAM_LM_ROW_H

#include "digest.h"
#include "lm_scores.h"

enum {
    MOST_METRICS = 32,  /* of a row */
    MOST_LM_FIELDS = 16 /* members of docs that are compared with others */
};

/* The members of a row, beside its metrics; from DOC to RESPS the rows of a doc have the same. */
enum member {
    DOC_ID, DOC, TARGET, ARGUMENTS, RESPS, FILTERED, FILTER, METRICS, DOC_HASH, PROMPT_HASH,
    TARGET_HASH, MEMBERS
};

struct lm_row {
    uint64_t seen; /* members, as bits */
    uint64_t doc_id;
    const byte *starts[FILTERED + 1], *stops[FILTERED + 1]; /* of its first members */
    struct span target, prompt, filter, metrics, hashes[3];
    byte digests[3][MOST_DIGEST_BYTES]; /* those of its texts */
    bool has_prompt;
    struct span keys[MOST_METRICS];
    double values[MOST_METRICS];
    size_t metric_count;
    struct span second; /* the second argument of the first request, as it is written */
    struct span gold; /* the value of the doc that is its target, as it is written */
    struct span fields[MOST_LM_FIELDS]; /* other values of the doc; of length 0 for none */
    size_t doc_size; /* its text is at the start of the scan's texts */
    struct lm_answers answers;
};

struct lm_reader {
    struct cursor cursor;
    enum lm_scoring scoring;
    struct texts *texts; /* the text of the doc, as it is written */
    struct span gold_name;
    struct span field_names[MOST_LM_FIELDS];
    size_t field_count;
};

static inline bool is_number_at(const byte *at) { return *at == '-' || is_digit(*at); }

/* Read the object of a row, and write the text of its doc. Return what follows it, NULL for a row that
   is left. */
const byte *read_lm_row(const struct lm_reader *reader, const byte *at, struct lm_row *row);

#endif
