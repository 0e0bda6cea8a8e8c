/* Entries of HELM that are written like others: all but the id and the figures is the same text. */

#ifndef EVALSTREAM_HELM_H
#define EVALSTREAM_HELM_H

#include "items.h"

enum { FIGURES = 7 }; /* sum, sum_squared, min, max, mean, variance, stddev */

/* How entries are written: texts, behind the first of which is an id, and behind each other but the
   last a number, FIGURES for each statistic over one value. */
struct entry_form {
    const byte *letters;
    const uint32_t *ends; /* of the texts in the letters */
    uint64_t texts, values;
};

/* The forms that are known, with the number of the one that last came behind each, and the values of
   the entries that were found. */
struct entry_forms {
    const struct entry_form *forms;
    uint32_t *next;
    uint64_t count, last;
    double *values;
    uint64_t used, most;
};

/* Find the entries that follow each other, have a form, and whose statistics agree with their one
   value; return how many, and go behind the last one. Write where they and their ids stand, and their
   values. */
EXPORT uint64_t scan_entries(struct item_scan *scan, struct entry_forms *forms);

/* Sums over values, by number. */
struct value_sums {
    double *entries, *values; /* terms, and those with a value */
    double *sum, *largest;
};

/* What is added to the sums of a number: the least of the values at some places, nothing but an entry
   where there are none. */
struct sum_term {
    uint32_t number, first, count;
};

/* Add `count` terms over `stride` values, as often as there are values for them. */
EXPORT void add_values(
    const struct value_sums *sums, const struct sum_term *terms, uint64_t count,
    const uint32_t *places, const double *values, uint64_t stride, uint64_t times
);

#endif
