/* Samples of lm-eval as the harness writes them: rows that are certainly sound, and what they say.

   A row is taken only where nothing can be wrong in it: strict JSON, no key twice, the members of
   the harness with their types, digests that are those of the texts. All others are left. */

#ifndef EVALSTREAM_LM_EVAL_H
#define EVALSTREAM_LM_EVAL_H

#include "digest.h"
#include "export.h"
#include "lm_request.h"

enum {
    LM_DIGESTS = 96,    /* bytes of the three digests of a row */
    MOST_LM_NAMES = 64 /* filters, and lists of metrics, of a block */
};

/* Rows that follow each other, with one filter, the same metrics and consecutive doc_ids on
   consecutive lines. */
struct lm_run {
    uint64_t filter, metrics; /* their numbers in the block */
    uint64_t doc_id, line, rows;
    uint64_t value; /* the place of the first value of its rows */
};

/* Where a name stands in the bytes, without its quotes or brackets, or a value. */
struct lm_name {
    uint64_t start, length;
};

/* Where the answers of a row stand in the bytes, and the target that they are compared with. */
struct lm_place {
    struct lm_name target, resps, filtered;
};

/* Bytes in, runs out. */
struct lm_scan {
    const byte *bytes;
    uint64_t size;
    uint64_t longest;    /* line, in bytes, that is looked at */
    uint64_t at;         /* where the next line starts */
    uint64_t line;       /* its number */
    struct lm_run *runs;
    uint64_t most_runs, run_count;
    byte *digests;       /* of all taken rows, in order */
    uint64_t most_rows, row_count;
    double *values;      /* of the metrics, row by row; NaN for those that are not numbers */
    uint64_t most_values, value_count;
    byte *texts;
    uint64_t most_bytes;
    struct lm_name filters[MOST_LM_NAMES], metrics[MOST_LM_NAMES];
    uint64_t metric_counts[MOST_LM_NAMES];
    uint64_t filter_count, metrics_count;
    uint64_t scoring;      /* an enum lm_scoring */
    const byte *delimiter; /* before each choice, as it is written */
    uint64_t delimiter_length, is_chat;
    const byte *gold;      /* the member of docs that is their target; of length 0 for none */
    uint64_t gold_length;
    const byte *known_filters; /* each with BEHIND_NAME; of length 0 for any */
    uint64_t known_length;
    uint64_t *contents; /* digests of what the rows of a doc have in common; NULL for none */
    struct lm_place *places; /* of what Python compares in each row; NULL for nothing */
    struct lm_form form;
};

/* Return the size of `struct lm_scan` in bytes, as Python lays it out, too. */
EXPORT uint64_t lm_scan_size(void);

/* Look at lines until one is left, or there is no more room. Return how many were taken. */
EXPORT uint64_t scan_lm_rows(struct lm_scan *scan, const struct hasher *hasher);

#endif
