#include "samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Python rounds after each operation. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

/* The words of records, as `sample_record.py` lists them. */
enum {
    HIGH, LOW, SAMPLE, GROUP, LINE, OFFSET, SCORE, FLAGS, QUESTION, INPUT, PROMPT, CLUSTER,
    ROWS, SCORED, SPREAD, FAILED,
};

/* The words of kept rows that are at another place. */
enum { KEPT_SCORE = 4, KEPT_LINE = 5, KEPT_OFFSET = 6 };

enum { RIGHT = 1, WRONG = 2, HAS_FAILED = 4, AMBIGUOUS = 8, SEVERAL_PROMPTS = 16 };

#define OTHER_PROMPT ((uint64_t)1 << 32)
#define OTHER_INPUT ((uint64_t)1 << 33)
#define OTHER_REFERENCE ((uint64_t)1 << 34)
#define OTHER_CLUSTER ((uint64_t)1 << 35)
#define NOT_A_NUMBER 0x7FF8000000000000u

enum { B_SHIFT = 16, LEAST_ROOM = 1024 };

/* Where records that are matched have their input. */
enum { KEY_INPUT = 4 };

struct records {
    uint64_t *data;
    uint64_t capacity; /* in words */
};

static bool make_room(struct records *records, uint64_t words) {
    if (records->data && records->capacity >= words)
        return true;
    const uint64_t capacity = words + words / 2 + LEAST_ROOM;
    uint64_t *const data = realloc(records->data, capacity * sizeof *data);
    if (!data)
        return false;
    records->data = data;
    records->capacity = capacity;
    return true;
}

static inline double number_of(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static inline uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return isnan(number) ? NOT_A_NUMBER : bits;
}

static inline bool is_same(const uint64_t *a, const uint64_t *b, unsigned words) {
    for (unsigned word = 0; word < words; word++)
        if (a[word] != b[word])
            return false;
    return true;
}

static inline int compare(const uint64_t *a, const uint64_t *b, uint64_t words) {
    for (uint64_t word = 0; word < words; word++)
        if (a[word] != b[word])
            return a[word] < b[word] ? -1 : 1;
    return 0;
}

uint64_t keep_rows(
    const uint64_t *rows, uint64_t count, uint64_t *out, struct keeping *keeping
) {
    uint64_t kept = 0, groups = keeping->groups;
    for (uint64_t at = 0; at < count; at++) {
        const uint64_t *const row = rows + at * ROW_WORDS;
        if (!row[HIGH] && !row[LOW])
            continue;
        uint64_t *const copy = out + kept++ * ROW_WORDS;
        memcpy(copy, row, ROW_WORDS * sizeof *copy);
        if (keeping->count)
            copy[GROUP] =
                copy[GROUP] < keeping->count ? keeping->numbers[copy[GROUP]] : UINT64_MAX;
        copy[KEPT_SCORE] = row[SCORE];
        copy[KEPT_LINE] = row[LINE] + keeping->shift;
        copy[KEPT_OFFSET] = row[OFFSET];
        if (copy[GROUP] >= groups)
            groups = copy[GROUP] + (copy[GROUP] < UINT64_MAX);
    }
    keeping->groups = groups;
    return kept;
}

struct reducer {
    struct records records;
    uint64_t count, ready; /* of the records, and those that were returned */
    uint64_t first;        /* of the identity of the last one */
    uint64_t groups, samples;
    struct group_count *counts;
    bool is_open, is_ambiguous; /* the last record, and its identity */
    uint64_t prompt;            /* of the open record: the first one that is known */
    double mean, spread;
};

void free_reducer(struct reducer *reducer) {
    if (reducer) {
        free(reducer->records.data);
        free(reducer->counts);
    }
    free(reducer);
}

struct reducer *new_reducer(uint64_t groups) {
    struct reducer *const reducer = calloc(1, sizeof *reducer);
    if (!reducer)
        return NULL;
    reducer->groups = groups;
    reducer->counts = calloc(groups ? groups : 1, sizeof *reducer->counts);
    if (!reducer->counts) {
        free_reducer(reducer);
        return NULL;
    }
    return reducer;
}

static inline uint64_t *last_record(const struct reducer *reducer) {
    return reducer->count ? reducer->records.data + (reducer->count - 1) * SAMPLE_WORDS : NULL;
}

static void close_record(struct reducer *reducer) {
    uint64_t *const record = last_record(reducer);
    if (!record || !reducer->is_open)
        return;
    record[SCORE] = record[SCORED] ? bits_of(reducer->mean) : NOT_A_NUMBER;
    record[SPREAD] = bits_of(reducer->spread);
    reducer->is_open = false;
    if (record[GROUP] < reducer->groups) {
        struct group_count *const group = &reducer->counts[record[GROUP]];
        group->rows += record[ROWS];
        group->records++;
        group->repeated += record[ROWS] > 1;
    }
}

/* Take the members of a row that are those of the first one by line. */
static void take_first(uint64_t *record, const uint64_t *row) {
    record[LINE] = row[KEPT_LINE];
    record[OFFSET] = row[KEPT_OFFSET];
    memcpy(record + QUESTION, row + QUESTION, (CLUSTER + 1 - QUESTION) * sizeof *record);
}

static void add_score(struct reducer *reducer, uint64_t *record, double score) {
    if (isnan(score))
        return;
    if (++record[SCORED] == 1) {
        reducer->mean = score;
        return;
    }
    const double before = score - reducer->mean;
    const double step = before / (double)record[SCORED];
    reducer->mean = reducer->mean + step;
    const double after = score - reducer->mean;
    const double square = before * after;
    reducer->spread = reducer->spread + square;
}

static void open_record(struct reducer *reducer, const uint64_t *row) {
    const uint64_t *const last = last_record(reducer);
    uint64_t *const record = reducer->records.data + reducer->count++ * SAMPLE_WORDS;
    if (!last || !is_same(last, row, 2)) {
        reducer->first = reducer->count - 1;
        reducer->is_ambiguous = false;
        reducer->samples++;
    } else if (last[SAMPLE] != row[SAMPLE]) {
        reducer->samples++;
        if (!reducer->is_ambiguous)
            for (uint64_t at = reducer->first; at + 1 < reducer->count; at++)
                reducer->records.data[at * SAMPLE_WORDS + FLAGS] |= AMBIGUOUS;
        reducer->is_ambiguous = true;
    }
    memcpy(record, row, (GROUP + 1) * sizeof *record);
    take_first(record, row);
    record[FLAGS] = (row[FLAGS] & (RIGHT | WRONG | HAS_FAILED)) |
                    (reducer->is_ambiguous ? AMBIGUOUS : 0);
    record[ROWS] = 1;
    record[SCORED] = 0;
    record[FAILED] = (row[FLAGS] & HAS_FAILED) != 0;
    reducer->prompt = row[PROMPT];
    reducer->mean = reducer->spread = 0;
    reducer->is_open = true;
    add_score(reducer, record, number_of(row[KEPT_SCORE]));
}

static void extend_record(struct reducer *reducer, uint64_t *record, const uint64_t *row) {
    record[ROWS]++;
    record[FAILED] += (row[FLAGS] & HAS_FAILED) != 0;
    record[FLAGS] &= row[FLAGS] | ~(uint64_t)(RIGHT | WRONG);
    record[FLAGS] |= row[FLAGS] & HAS_FAILED;
    if (row[PROMPT]) {
        if (!reducer->prompt)
            reducer->prompt = row[PROMPT];
        else if (reducer->prompt != row[PROMPT])
            record[FLAGS] |= SEVERAL_PROMPTS;
    }
    const uint64_t place[2] = {record[LINE], record[OFFSET]};
    if (compare(row + KEPT_LINE, place, 2) < 0)
        take_first(record, row);
    add_score(reducer, record, number_of(row[KEPT_SCORE]));
}

/* Forget the records that were returned, but the last one, which tells what the next ones are. */
static void drop_returned(struct reducer *reducer) {
    uint64_t drop = reducer->ready;
    if (drop == reducer->count && drop)
        drop--;
    uint64_t *const data = reducer->records.data;
    if (drop)
        memmove(
            data, data + drop * SAMPLE_WORDS,
            (reducer->count - drop) * SAMPLE_WORDS * sizeof *data
        );
    reducer->count -= drop;
    reducer->first = reducer->first > drop ? reducer->first - drop : 0;
    reducer->ready -= drop;
}

int32_t reduce_rows(
    struct reducer *reducer, const uint64_t *rows, uint64_t count, int32_t is_last,
    struct reduced *result
) {
    drop_returned(reducer);
    const uint64_t start = reducer->ready;
    if (!make_room(&reducer->records, (reducer->count + count) * SAMPLE_WORDS))
        return 0;
    for (uint64_t at = 0; at < count; at++) {
        const uint64_t *const row = rows + at * ROW_WORDS;
        uint64_t *const record = last_record(reducer);
        if (record && reducer->is_open && is_same(record, row, GROUP + 1)) {
            extend_record(reducer, record, row);
        } else {
            close_record(reducer);
            open_record(reducer, row);
        }
    }
    if (is_last)
        close_record(reducer);
    uint64_t ready = reducer->is_ambiguous ? reducer->count - 1 : reducer->first;
    if (is_last || !reducer->count)
        ready = reducer->count;
    reducer->ready = ready;
    *result = (struct reduced){
        reducer->records.data + start * SAMPLE_WORDS, reducer->counts, ready - start,
        reducer->samples,
    };
    return 1;
}

/* The record of a sample that has a metric, among those of one sample. */
struct metric_slot {
    uint64_t sample;  /* the number of the sample that the rest is of */
    uint64_t place;
    bool is_repeated; /* several groups of the run have the metric */
};

struct join_side {
    int64_t *metrics;
    uint64_t groups;
    struct metric_slot *slots;
};

struct joiner {
    struct join_side a, b;
    uint64_t metrics, ordinal, matched;
    struct records pairs, only_a, only_b;
    uint64_t pair_count, a_count, b_count;
};

static bool make_side(
    struct join_side *side, const int64_t *metrics, uint64_t groups, uint64_t count
) {
    side->groups = groups;
    side->metrics = malloc((groups ? groups : 1) * sizeof *side->metrics);
    side->slots = calloc(count ? count : 1, sizeof *side->slots);
    if (!side->metrics || !side->slots)
        return false;
    if (groups)
        memcpy(side->metrics, metrics, groups * sizeof *metrics);
    return true;
}

static void free_side(struct join_side *side) {
    free(side->metrics);
    free(side->slots);
}

void free_joiner(struct joiner *joiner) {
    if (joiner) {
        free_side(&joiner->a);
        free_side(&joiner->b);
        free(joiner->pairs.data);
        free(joiner->only_a.data);
        free(joiner->only_b.data);
    }
    free(joiner);
}

struct joiner *new_joiner(
    const int64_t *metrics_a, uint64_t groups_a, const int64_t *metrics_b, uint64_t groups_b,
    uint64_t metrics
) {
    struct joiner *const joiner = calloc(1, sizeof *joiner);
    if (!joiner)
        return NULL;
    joiner->metrics = metrics;
    const bool has_a = make_side(&joiner->a, metrics_a, groups_a, metrics);
    if (!make_side(&joiner->b, metrics_b, groups_b, metrics) || !has_a) {
        free_joiner(joiner);
        return NULL;
    }
    return joiner;
}

/* Return how many records at the start of a window are of its first sample, 0 if this is not known
   yet. The window is not used up. */
static uint64_t first_sample(const struct join_window *window) {
    const uint64_t *const start = window->records + window->used * SAMPLE_WORDS;
    const uint64_t left = window->count - window->used;
    uint64_t size = 1;
    while (size < left && is_same(start, start + size * SAMPLE_WORDS, GROUP))
        size++;
    return size < left || window->is_last ? size : 0;
}

static inline int64_t metric_of(const struct join_side *side, const uint64_t *record) {
    return side->metrics[record[GROUP]];
}

static bool has_metrics(const struct join_side *side, const uint64_t *records, uint64_t count) {
    for (uint64_t at = 0; at < count; at++)
        if (records[at * SAMPLE_WORDS + GROUP] >= side->groups)
            return false;
    return true;
}

static void keep_alone(
    const struct join_side *side, const uint64_t *records, uint64_t count, struct records *only,
    uint64_t *size
) {
    for (uint64_t at = 0; at < count; at++) {
        const uint64_t *const record = records + at * SAMPLE_WORDS;
        if (metric_of(side, record) >= 0)
            memcpy(
                only->data + (*size)++ * SAMPLE_WORDS, record, SAMPLE_WORDS * sizeof *record
            );
    }
}

static void put_pair(
    struct joiner *joiner, const uint64_t *a, const uint64_t *b, uint64_t metric
) {
    uint64_t *const pair = joiner->pairs.data + joiner->pair_count++ * PAIR_WORDS;
    uint64_t flags = a[FLAGS] | b[FLAGS] << B_SHIFT;
    if (a[PROMPT] && b[PROMPT] && a[PROMPT] != b[PROMPT])
        flags |= OTHER_PROMPT;
    if (a[INPUT] && b[INPUT] && a[INPUT] != b[INPUT])
        flags |= a[QUESTION] && a[QUESTION] == b[QUESTION] ? OTHER_INPUT | OTHER_REFERENCE
                                                           : OTHER_INPUT;
    if (a[CLUSTER] != b[CLUSTER])
        flags |= OTHER_CLUSTER;
    const uint64_t words[PAIR_WORDS] = {
        metric,  flags,     a[SCORE],  b[SCORE],
        a[SCORED], b[SCORED], a[SPREAD], b[SPREAD],
        a[LINE], a[OFFSET], b[LINE],   b[OFFSET],
        a[CLUSTER] ? a[CLUSTER] : b[CLUSTER], a[SAMPLE], b[SAMPLE], joiner->ordinal,
    };
    memcpy(pair, words, sizeof words);
}

static void fill_slots(
    const struct join_side *side, const uint64_t *records, uint64_t count, uint64_t number
) {
    for (uint64_t place = 0; place < count; place++) {
        const int64_t metric = metric_of(side, records + place * SAMPLE_WORDS);
        if (metric < 0)
            continue;
        struct metric_slot *const slot = &side->slots[metric];
        *slot = (struct metric_slot){number, place, slot->sample == number};
    }
}

/* Return the place of the only record with a metric, or NO_PLACE. */
#define NO_PLACE UINT64_MAX
static inline uint64_t place_of(const struct join_side *side, int64_t metric, uint64_t number) {
    const struct metric_slot *const slot = &side->slots[metric];
    return slot->sample == number && !slot->is_repeated ? slot->place : NO_PLACE;
}

/* Pair the records of a sample of both runs by their metrics. */
static void pair_samples(
    struct joiner *joiner, const uint64_t *a, uint64_t a_count, const uint64_t *b, uint64_t b_count
) {
    if (a_count == 1 && b_count == 1) {
        const int64_t metric = metric_of(&joiner->a, a);
        if (metric >= 0 && metric == metric_of(&joiner->b, b)) {
            put_pair(joiner, a, b, (uint64_t)metric);
            return;
        }
        keep_alone(&joiner->a, a, 1, &joiner->only_a, &joiner->a_count);
        keep_alone(&joiner->b, b, 1, &joiner->only_b, &joiner->b_count);
        return;
    }
    const uint64_t number = ++joiner->matched;
    fill_slots(&joiner->a, a, a_count, number);
    fill_slots(&joiner->b, b, b_count, number);
    for (uint64_t at = 0; at < a_count; at++) {
        const uint64_t *const record = a + at * SAMPLE_WORDS;
        const int64_t metric = metric_of(&joiner->a, record);
        if (metric < 0)
            continue;
        const uint64_t place = place_of(&joiner->b, metric, number);
        if (place != NO_PLACE && place_of(&joiner->a, metric, number) != NO_PLACE)
            put_pair(joiner, record, b + place * SAMPLE_WORDS, (uint64_t)metric);
        else
            keep_alone(&joiner->a, record, 1, &joiner->only_a, &joiner->a_count);
    }
    for (uint64_t at = 0; at < b_count; at++) {
        const uint64_t *const record = b + at * SAMPLE_WORDS;
        const int64_t metric = metric_of(&joiner->b, record);
        if (metric >= 0 && (place_of(&joiner->a, metric, number) == NO_PLACE ||
                            place_of(&joiner->b, metric, number) == NO_PLACE))
            keep_alone(&joiner->b, record, 1, &joiner->only_b, &joiner->b_count);
    }
}

static bool make_room_to_join(
    struct joiner *joiner, const struct join_window *a, const struct join_window *b
) {
    const uint64_t pairs = a->count < b->count ? a->count : b->count;
    joiner->pair_count = joiner->a_count = joiner->b_count = 0;
    return make_room(&joiner->pairs, pairs * PAIR_WORDS) &&
           make_room(&joiner->only_a, a->count * SAMPLE_WORDS) &&
           make_room(&joiner->only_b, b->count * SAMPLE_WORDS);
}

/* Say which of two samples comes first, or that they meet. */
static int order_of(const uint64_t *a, const uint64_t *b) {
    const int order = compare(a, b, SAMPLE);
    if (order || !((a[FLAGS] | b[FLAGS]) & AMBIGUOUS))
        return order;
    return compare(a + SAMPLE, b + SAMPLE, 1);
}

int32_t join_samples(
    struct joiner *joiner, struct join_window *a, struct join_window *b, struct joined *result
) {
    if (!make_room_to_join(joiner, a, b))
        return JOIN_FAILED;
    for (;;) {
        const bool has_a = a->used < a->count, has_b = b->used < b->count;
        const uint64_t a_size = has_a ? first_sample(a) : 0;
        const uint64_t b_size = has_b ? first_sample(b) : 0;
        a->wants_more = has_a ? !a_size : !a->is_last;
        b->wants_more = has_b ? !b_size : !b->is_last;
        if (a->wants_more || b->wants_more || (!has_a && !has_b))
            break;
        const uint64_t *const of_a = a->records + a->used * SAMPLE_WORDS;
        const uint64_t *const of_b = b->records + b->used * SAMPLE_WORDS;
        const int order = !has_b ? -1 : !has_a ? 1 : order_of(of_a, of_b);
        if ((order <= 0 && !has_metrics(&joiner->a, of_a, a_size)) ||
            (order >= 0 && !has_metrics(&joiner->b, of_b, b_size)))
            return JOIN_UNKNOWN_GROUP;
        if (!order)
            pair_samples(joiner, of_a, a_size, of_b, b_size);
        else if (order < 0)
            keep_alone(&joiner->a, of_a, a_size, &joiner->only_a, &joiner->a_count);
        else
            keep_alone(&joiner->b, of_b, b_size, &joiner->only_b, &joiner->b_count);
        a->used += order <= 0 ? a_size : 0;
        b->used += order >= 0 ? b_size : 0;
        joiner->ordinal += order <= 0;
    }
    *result = (struct joined){
        joiner->pairs.data, joiner->only_a.data, joiner->only_b.data,
        joiner->pair_count, joiner->a_count,     joiner->b_count,
    };
    return JOIN_DONE;
}

uint64_t key_samples(
    const uint64_t *samples, uint64_t count, const int64_t *metrics, uint64_t groups,
    uint64_t set_words, uint64_t *out, uint64_t size
) {
    const uint64_t words = KEY_WORDS + set_words;
    for (uint64_t at = 0; at < count; at++) {
        const uint64_t *const sample = samples + at * SAMPLE_WORDS;
        if (sample[GROUP] >= groups)
            return NOT_KEYED;
        const uint64_t head[KEY_WORDS] = {
            sample[QUESTION], sample[SAMPLE], sample[LINE], sample[OFFSET],
            sample[INPUT],    sample[HIGH],   sample[LOW],
        };
        uint64_t *record = out + (size ? size - 1 : 0) * words;
        if (!size || record[1] != head[1] || !is_same(record + 5, head + 5, 2)) {
            record = out + size++ * words;
            memcpy(record, head, sizeof head);
            memset(record + KEY_WORDS, 0, set_words * sizeof *record);
        } else if (compare(head + 2, record + 2, 2) < 0) {
            memcpy(record, head, sizeof head);
        }
        const int64_t metric = metrics[sample[GROUP]];
        if (metric >= 0)
            record[KEY_WORDS + metric / 64] |= (uint64_t)1 << metric % 64;
    }
    return size;
}

static void leave_record(
    const struct matching *matching, const uint64_t *record, uint64_t *left, uint64_t *count
) {
    uint64_t *const copy = left + (*count)++ * matching->words;
    for (unsigned word = 0; word < 4; word++)
        copy[word] = record[matching->order[word]];
    memcpy(copy + 4, record + 4, (matching->words - 4) * sizeof *copy);
}

static void match_pair(
    const struct matching *matching, const uint64_t *a, const uint64_t *b, struct matched *result
) {
    const uint64_t line = matching->line, sample = matching->sample;
    if (a[KEY_INPUT] && b[KEY_INPUT] && a[KEY_INPUT] != b[KEY_INPUT]) {
        const uint64_t pair[MATCH_WORDS] = {
            a[line], a[line + 1], b[line], b[line + 1], a[sample], b[sample], matching->kind,
        };
        memcpy(result->pairs + result->pair_count++ * MATCH_WORDS, pair, sizeof pair);
        for (uint64_t word = KEY_WORDS; word < matching->words; word++)
            for (uint64_t both = a[word] & b[word], bit = 0; both; both >>= 1, bit++)
                result->metrics[(word - KEY_WORDS) * 64 + bit] += both & 1;
    } else if (matching->keeps_same) {
        leave_record(matching, a, result->left_a, &result->a_count);
        leave_record(matching, b, result->left_b, &result->b_count);
    }
}

void match_records(
    const struct matching *matching, struct join_window *a, struct join_window *b,
    struct matched *result
) {
    const uint64_t words = matching->words;
    result->pair_count = result->a_count = result->b_count = 0;
    for (;;) {
        const bool has_a = a->used < a->count, has_b = b->used < b->count;
        a->wants_more = !has_a && !a->is_last;
        b->wants_more = !has_b && !b->is_last;
        if (a->wants_more || b->wants_more || (!has_a && !has_b))
            break;
        const uint64_t *const of_a = a->records + a->used * words;
        const uint64_t *const of_b = b->records + b->used * words;
        const int order = !has_b   ? -1
                          : !has_a ? 1
                                   : compare(of_a, of_b, matching->key_words);
        /* What is not known does not match. */
        if (!order && of_a[0])
            match_pair(matching, of_a, of_b, result);
        else if (order <= 0)
            leave_record(matching, of_a, result->left_a, &result->a_count);
        else
            leave_record(matching, of_b, result->left_b, &result->b_count);
        a->used += order <= 0;
        b->used += order > 0 || (!order && of_a[0]);
    }
}

void tell_sample_sizes(uint64_t sizes[7]) {
    sizes[0] = sizeof(struct keeping);
    sizes[1] = sizeof(struct reduced);
    sizes[2] = sizeof(struct group_count);
    sizes[3] = sizeof(struct join_window);
    sizes[4] = sizeof(struct joined);
    sizes[5] = sizeof(struct matching);
    sizes[6] = sizeof(struct matched);
}
