/* Draws from tables in memory of their exact size, and compares the sums: a target of libFuzzer.

   The head of an input says how many rows, columns and resamples there are; its bytes are the
   words, the numbers of draws, and the values, each repeated if there are too few. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resample.h"

enum { HEAD = 4, MOST_RESAMPLES = 8, MOST_DRAWS = 64 };

static void demand(int is_so, const char *what) {
    if (is_so)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

static void *room(size_t size) {
    void *const found = malloc(size ? size : 1);
    demand(found != NULL, "there is memory");
    return found;
}

/* Fill memory with the bytes of an input, over and over. */
static void fill(void *memory, size_t length, const uint8_t *data, size_t size) {
    for (size_t place = 0; place < length; place++)
        ((uint8_t *)memory)[place] = data[place % size];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size <= HEAD)
        return 0;
    const uint64_t count = data[0] * (data[1] % 16u) + 1, width = data[2] % 5;
    const uint64_t resamples = data[3] % (MOST_RESAMPLES + 1);
    data += HEAD;
    size -= HEAD;
    uint64_t drawn = 0, *const draws = room(resamples * sizeof *draws);
    for (uint64_t k = 0; k < resamples; k++)
        drawn += draws[k] = data[k % size] % (MOST_DRAWS + 1);
    int64_t *const values = room(count * width * sizeof *values);
    fill(values, count * width * sizeof *values, data, size);
    for (uint64_t i = 0; i < count * width; i++)
        values[i] /= 1 << 12; /* no sum overflows */
    uint32_t *const words = room(drawn * sizeof *words);
    fill(words, drawn * sizeof *words, data + size / 2, size - size / 2);
    int64_t *const sums = room(resamples * width * sizeof *sums);
    memset(sums, 0xFF, resamples * width * sizeof *sums);

    resample_sums(values, count, width, words, draws, resamples, sums);

    const uint32_t *word = words;
    for (uint64_t k = 0; k < resamples; word += draws[k++])
        for (uint64_t column = 0; column < width; column++) {
            int64_t sum = 0;
            for (uint64_t draw = 0; draw < draws[k]; draw++) {
                const uint64_t row = (uint64_t)(((unsigned __int128)word[draw] * count) >> 32);
                demand(row < count, "a word draws a row");
                sum += values[row * width + column];
            }
            demand(sums[k * width + column] == sum, "each resample is the sum of its rows");
        }
    free(draws);
    free(values);
    free(words);
    free(sums);
    return 0;
}
