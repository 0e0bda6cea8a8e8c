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

/* Read an entry of a form: write its values, and where its id stands. Return what follows it, NULL
   for any other entry. */
static const byte *read_entry(
    const struct entry_form *form, const byte *at, const byte *end, double *values, struct span *id
) {
    struct figures read = {0};
    for (uint64_t text = 0; text < form->texts; text++) {
        const uint32_t start = text ? form->ends[text - 1] : 0;
        const size_t length = form->ends[text] - start;
        if ((size_t)(end - at) < length || !equal(at, form->letters + start, length))
            return NULL;
        at += length;
        if (text + 1 == form->texts)
            break;
        if (!text) {
            at = *at == '"' ? read_string(at + 1, end, id) : NULL;
            if (!at || id->escaped)
                return NULL;
            continue;
        }
        const size_t place = (text - 1) % FIGURES;
        at = read_figure(at, end, place, &read);
        if (!at || (place == FIGURES - 1 && !is_single(&read)))
            return NULL;
        if (place == FIGURES - 1)
            *values++ = read.value;
    }
    return at;
}

uint64_t scan_entries(struct item_scan *scan, struct entry_forms *forms) {
    const byte *const end = scan->bytes + scan->size;
    uint64_t count = 0;
    while (count < scan->most && forms->count) {
        const byte *const at = find_item(scan), *stop = NULL;
        const uint64_t likely = forms->next[forms->last];
        uint64_t found = likely;
        struct span id;
        for (uint64_t tried = 0; at && !stop && tried < forms->count; tried++) {
            /* The likely one comes first, then all others. */
            found = tried ? tried - (tried <= likely) : likely;
            if (forms->forms[found].values <= forms->most - forms->used)
                stop = read_entry(
                    &forms->forms[found], at, end, forms->values + forms->used, &id);
        }
        struct item *const item = &scan->items[count];
        if (!stop || !take_item(scan, item, at, stop))
            break;
        item->form = forms->last = forms->next[forms->last] = (uint32_t)found;
        item->id = (uint64_t)(id.start - scan->bytes);
        item->id_stop = item->id + id.length;
        forms->used += forms->forms[found].values;
        count++;
    }
    return count;
}

void add_values(
    const struct value_sums *sums, const struct sum_term *terms, uint64_t count,
    const uint32_t *places, const double *values, uint64_t stride, uint64_t times
) {
    for (; times; times--, values += stride) {
        for (const struct sum_term *term = terms; term < terms + count; term++) {
            const uint32_t number = term->number;
            sums->entries[number]++;
            if (!term->count)
                continue;
            double least = values[places[term->first]];
            for (uint32_t place = 1; place < term->count; place++) {
                const double value = values[places[term->first + place]];
                least = value < least ? value : least;
            }
            sums->values[number]++;
            sums->sum[number] += least;
            if (fabs(least) > sums->largest[number])
                sums->largest[number] = fabs(least);
        }
    }
}
