/* Entries of HELM that are written like others: all but the id and the figures is the same text. */

#ifndef EVALSTREAM_HELM_H
#define EVALSTREAM_HELM_H

#include "export.h"
#include "json.h"

enum {
    FIGURES = 7, /* sum, sum_squared, min, max, mean, variance, stddev */
    NO_FIGURES = UINT32_MAX,
};

/* How entries are written: texts, behind the first of which is an id, and behind each other but the
   last a number, FIGURES for each statistic over one value. */
struct entry_form {
    const byte *letters;
    const uint32_t *ends;   /* of the texts in the letters */
    uint64_t texts;
};

/* Sums over the instances of a run, by the number of the statistic and trial. */
struct entry_sums {
    double *entries, *values; /* entries with the statistic, and values in them */
    double *sum, *largest;
    double *lone, *lone_sum;  /* values of instances without a perturbed copy, and their sum */
};

/* Tell whether an entry has a form and each statistic in it agrees with its one value; write those
   values, and where the id begins and ends. */
EXPORT int32_t read_entry(
    const struct entry_form *form, const byte *bytes, uint64_t size, double *values, uint64_t *id
);

/* Add an entry to the sums: `numbers` has the number of each statistic, and `places` the place of its
   value, NO_FIGURES for a statistic without. */
EXPORT void add_entry(
    const struct entry_sums *sums, const double *values, const uint32_t *numbers,
    const uint32_t *places, uint64_t count, uint64_t is_lone
);

#endif
