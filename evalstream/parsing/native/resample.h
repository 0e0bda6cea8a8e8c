/* Sums of random draws from rows of whole numbers, to the numbers of `stats/inference/draws.py`. */

#ifndef EVALSTREAM_RESAMPLE_H
#define EVALSTREAM_RESAMPLE_H

#include <stdint.h>

#include "export.h"

/* Draw rows and add them up. `values` has `count` rows of `width` numbers; the k-th resample draws
   `draws[k]` of them. Each draw takes the next word and adds row (word * count) >> 32. `sums` has
   room for a row for each resample. No sum may overflow, and `words` must have enough words. */
EXPORT void resample_sums(
    const int64_t *values, uint64_t count, uint64_t width, const uint32_t *words,
    const uint64_t *draws, uint64_t resamples, int64_t *sums
);

#endif
