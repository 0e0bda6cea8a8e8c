#include "resample.h"

#include <string.h>

static const uint32_t *add_single(
    const int64_t *values, uint64_t count, const uint32_t *word, uint64_t draws, int64_t *sum
) {
    int64_t total = 0;
    for (const uint32_t *end = word + draws; word < end; word++) {
        total += values[(*word * count) >> 32];
    }
    *sum = total;
    return word;
}

static const uint32_t *add_rows(
    const int64_t *values, uint64_t count, uint64_t width, const uint32_t *word, uint64_t draws,
    int64_t *sums
) {
    memset(sums, 0, width * sizeof *sums);
    for (const uint32_t *end = word + draws; word < end; word++) {
        const int64_t *row = values + ((*word * count) >> 32) * width;
        for (uint64_t column = 0; column < width; column++) {
            sums[column] += row[column];
        }
    }
    return word;
}

void resample_sums(
    const int64_t *values, uint64_t count, uint64_t width, const uint32_t *words,
    const uint64_t *draws, uint64_t resamples, int64_t *sums
) {
    for (uint64_t i = 0; i < resamples; i++) {
        words = width == 1 ? add_single(values, count, words, draws[i], sums + i)
                           : add_rows(values, count, width, words, draws[i], sums + i * width);
    }
}
