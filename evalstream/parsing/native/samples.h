/* Records of `sample_record.py`: rows reduced to samples, and samples of two runs joined. All
   results do what the Python code of `stats/samples` does, to the bit. */

#ifndef EVALSTREAM_SAMPLES_H
#define EVALSTREAM_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "export.h"

enum { ROW_WORDS = 12, SAMPLE_WORDS = 16, PAIR_WORDS = 16 };

/* How rows are kept: their lines are raised by `shift`, and if there are any `numbers`, groups get
   theirs there, the greatest one without it. `groups` is raised above the numbers of all groups. */
struct keeping {
    const uint64_t *numbers;
    uint64_t count, shift, groups;
};

/* Copy the rows that have an identity, with the score before the line, so that their order does not
   depend on their lines. Return their number. */
EXPORT uint64_t keep_rows(
    const uint64_t *rows, uint64_t count, uint64_t *out, struct keeping *keeping
);

/* What is counted of a group. */
struct group_count {
    uint64_t rows, records, repeated;
};

/* Samples that are ready, and the counts so far. */
struct reduced {
    const uint64_t *records;
    const struct group_count *groups;
    uint64_t count, samples;
};

/* Reduces rows to samples. */
struct reducer;

/* Return a reducer, NULL if there is no memory. All rows are of the first `groups` groups. */
EXPORT struct reducer *new_reducer(uint64_t groups);
EXPORT void free_reducer(struct reducer *reducer);

/* Reduce the next rows, which are kept and sorted. Return 0 if there is no memory. The result is
   valid until the next call. */
EXPORT int32_t reduce_rows(
    struct reducer *reducer, const uint64_t *rows, uint64_t count, int32_t is_last,
    struct reduced *result
);

/* A window of a sorted run: whether it holds its last records, how many of them were used, and
   whether nothing goes on without more of them. */
struct join_window {
    const uint64_t *records;
    uint64_t count, is_last, used, wants_more;
};

/* Pairs, and the samples without one of both sides. */
struct joined {
    const uint64_t *pairs, *only_a, *only_b;
    uint64_t pair_count, a_count, b_count;
};

enum join_status { JOIN_FAILED, JOIN_UNKNOWN_GROUP, JOIN_DONE };

/* Joins the samples of two runs. */
struct joiner;

/* Return a joiner, NULL if there is no memory. For each group there is the number of its metric, or
   a negative one; they are copied. Metrics are numbered below `metrics`. */
EXPORT struct joiner *new_joiner(
    const int64_t *metrics_a, uint64_t groups_a, const int64_t *metrics_b, uint64_t groups_b,
    uint64_t metrics
);
EXPORT void free_joiner(struct joiner *joiner);

/* Join samples until a window does not hold a whole one. The result is valid until the next call. */
EXPORT int32_t join_samples(
    struct joiner *joiner, struct join_window *a, struct join_window *b, struct joined *result
);

/* Records of samples without a partner: these words, and the set of their metrics as bits. */
enum { KEY_WORDS = 7 };

#define NOT_KEYED UINT64_MAX

/* Append records of samples to the `size` ones in `out`, one for each sample; what follows may
   still belong to the last one. Return their number, NOT_KEYED for an unknown group. Groups and metrics are as
   those of a joiner, and `set_words` is how many words a set has. */
EXPORT uint64_t key_samples(
    const uint64_t *samples, uint64_t count, const int64_t *metrics, uint64_t groups,
    uint64_t set_words, uint64_t *out, uint64_t size
);

enum { MATCH_WORDS = 7 };

/* How records are matched: by how many words, whether those of the same input are left over, where
   their line (and the offset behind it) and their sample id are, the kind that matches are marked
   with, and the order of the first words in those that are left over. */
struct matching {
    uint64_t words, key_words, keeps_same;
    uint64_t line, sample, kind;
    uint64_t order[4];
};

/* Matches with other inputs, and what is left over. */
struct matched {
    uint64_t *pairs, *left_a, *left_b, *metrics;
    uint64_t pair_count, a_count, b_count;
};

/* Match sorted records one by one until a window is used up. The result has room for each record.
   `metrics` are counted up for each pair by the metrics that both have. */
EXPORT void match_records(
    const struct matching *matching, struct join_window *a, struct join_window *b,
    struct matched *result
);

/* Write the sizes of `struct keeping`, `reduced`, `group_count`, `join_window`, `joined`, `matching`
   and `matched`. */
EXPORT void tell_sample_sizes(uint64_t sizes[7]);

#endif
