#include "helm.h"

#include <math.h>

/* The numbers of a statistic, read one after the other; many are written like the first. */
struct figures {
    const byte *first;
    size_t length; /* of the first, as it is written */
    double value, figure[FIGURES];
};

static const byte *read_figure(const byte *at, const byte *end, size_t place, struct figures *read) {
    struct number number;
    if (place && (size_t)(end - at) > read->length && equal(at, read->first, read->length) &&
        (at[read->length] == ',' || at[read->length] == '\n')) {
        read->figure[place] = read->value;
        return at + read->length;
    }
    const byte *const stop = read_number(at, &number);
    if (!stop || (number.whole && !number.exact))
        return NULL;
    if (!place) {
        read->first = at;
        read->length = (size_t)(stop - at);
        read->value = number.value;
    }
    read->figure[place] = number.value;
    return stop;
}

/* Tell whether the figures are those of one value. */
static bool is_single(const struct figures *read) {
    const double value = read->value, *const figure = read->figure;
    return figure[1] == value * value && figure[2] == value && figure[3] == value &&
           figure[4] == value && figure[5] == 0 && figure[6] == 0;
}

int32_t read_entry(
    const struct entry_form *form, const byte *bytes, uint64_t size, double *values, uint64_t *id
) {
    const byte *at = bytes, *const end = bytes + size;
    struct span span;
    struct figures read = {0};
    for (uint64_t text = 0; text < form->texts; text++) {
        const uint32_t start = text ? form->ends[text - 1] : 0;
        const size_t length = form->ends[text] - start;
        if ((size_t)(end - at) < length || !equal(at, form->letters + start, length))
            return false;
        at += length;
        if (text + 1 == form->texts)
            break;
        if (!text) {
            at = *at == '"' ? read_string(at + 1, end, &span) : NULL;
            if (!at || span.escaped)
                return false;
            id[0] = (uint64_t)(span.start - bytes);
            id[1] = id[0] + span.length;
            continue;
        }
        const size_t place = (text - 1) % FIGURES;
        at = read_figure(at, end, place, &read);
        if (!at)
            return false;
        if (place == FIGURES - 1) {
            if (!is_single(&read))
                return false;
            *values++ = read.value;
        }
    }
    return at == end;
}

void add_entry(
    const struct entry_sums *sums, const double *values, const uint32_t *numbers,
    const uint32_t *places, uint64_t count, uint64_t is_lone
) {
    for (uint64_t place = 0; place < count; place++) {
        const uint32_t number = numbers[place];
        sums->entries[number]++;
        if (places[place] == NO_FIGURES)
            continue;
        const double value = values[places[place]];
        sums->values[number]++;
        sums->sum[number] += value;
        if (fabs(value) > sums->largest[number])
            sums->largest[number] = fabs(value);
        if (is_lone) {
            sums->lone[number]++;
            sums->lone_sum[number] += value;
        }
    }
}
