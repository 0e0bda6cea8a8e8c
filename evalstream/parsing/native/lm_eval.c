#include "lm_eval.h"

#include "canonical.h"
#include "lm_row.h"

#include <string.h>

enum {
    MOST_DEPTH = 64,
    DIGEST_BYTES = LM_DIGESTS / 3,
};

/* Tell whether the metrics that a row lists are its other members, in their order. */
static bool lists_its_metrics(const struct lm_row *row) {
    const byte *at = skip_spaces(row->metrics.start);
    const byte *const stop = row->metrics.start + row->metrics.length;
    for (size_t place = 0; place < row->metric_count; place++) {
        const struct span *const key = &row->keys[place];
        if (place) {
            if (*at != ',')
                return false;
            at = skip_spaces(at + 1);
        }
        if ((size_t)(stop - at) < key->length + 2 || *at != '"' || at[key->length + 1] != '"' ||
            memcmp(at + 1, key->start, key->length))
            return false;
        at = skip_spaces(at + key->length + 2);
    }
    return at == stop;
}

/* Write the digest of a text for one of the hashes. Return whether it is the one that is declared. */
static bool is_digest_of(
    const struct hasher *hasher, struct lm_row *row, int hash, const byte *text, size_t size
) {
    const struct span *const declared = &row->hashes[hash];
    return declared->length == 2 * DIGEST_BYTES && !declared->escaped &&
           digest_bytes(hasher, text, size, row->digests[hash]) &&
           is_digest(hasher, row->digests[hash], declared->start);
}

/* Do so for a string, which is decoded behind what the texts hold. */
static bool is_digest_of_text(
    const struct hasher *hasher, struct texts *texts, struct lm_row *row, int hash,
    const struct span *text
) {
    if (!text->escaped)
        return is_digest_of(hasher, row, hash, text->start, text->length);
    texts->size = 0;
    if (texts->capacity < text->length)
        return false;
    write_decoded(texts, text);
    return !texts->full && is_digest_of(hasher, row, hash, texts->data, texts->size);
}

static bool is_sound(const struct hasher *hasher, struct texts *texts, struct lm_row *row) {
    const uint64_t all = (UINT64_C(1) << MEMBERS) - 1;
    return (row->seen & all) == all && row->has_prompt && row->filter.length &&
           !row->filter.escaped &&
           lists_its_metrics(row) &&
           is_digest_of(hasher, row, 0, texts->data, row->doc_size) &&
           is_digest_of_text(hasher, texts, row, 1, &row->prompt) &&
           is_digest_of_text(hasher, texts, row, 2, &row->target);
}

/* Tell whether the target is certainly the value of its doc, where that is a text or a number, or
   the name of the value, where the doc has none. */
static bool is_gold(const struct span *target, struct span gold, const byte *name) {
    const bool is_text = gold.length && gold.start != name && *gold.start == '"';
    if (gold.length && gold.start != name && *gold.start == '[')
        return false; /* Python writes a list in another way */
    if (!gold.length || !(gold.start == name || is_text || is_number_at(gold.start)))
        return true;
    if (is_text)
        gold = (struct span){.start = gold.start + 1, .length = gold.length - 2};
    return gold.length == target->length && !memcmp(gold.start, target->start, gold.length);
}

/* Return the number of a name, MOST_LM_NAMES where there is no room for it. */
static uint64_t number_of(
    const struct lm_scan *scan, struct lm_name *known, uint64_t *count, const struct span *name
) {
    for (uint64_t place = 0; place < *count; place++)
        if (known[place].length == name->length &&
            !memcmp(scan->bytes + known[place].start, name->start, name->length))
            return place;
    if (*count < MOST_LM_NAMES) {
        known[*count].start = (uint64_t)(name->start - scan->bytes);
        known[*count].length = name->length;
        return (*count)++;
    }
    return MOST_LM_NAMES;
}

/* Tell whether rows may have a filter of this name; any where none are named. */
static bool may_have_filter(const struct lm_scan *scan, const struct span *name) {
    const byte *at = scan->known_filters, *const stop = at + scan->known_length;
    const byte *end = at;
    for (; at < stop; at = end + 1) {
        end = memchr(at, BEHIND_NAME, (size_t)(stop - at));
        if ((size_t)(end - at) == name->length && !memcmp(at, name->start, name->length))
            return true;
    }
    return !scan->known_length;
}

/* Write the digest of what the rows of a doc have in common, in one form for all spellings. Return
   false for a row that may be spelled in another way. */
static bool digest_contents(
    const struct lm_scan *scan, const struct cursor *cursor, struct texts *texts,
    const struct lm_row *row
) {
    const struct writer writer = {*cursor, texts, false};
    texts->size = 0;
    for (int member = DOC; member <= RESPS; member++) {
        write_bytes(texts, member == DOC ? "[" : ",", 1);
        if (!write_value(&writer, row->starts[member], 0))
            return false;
    }
    write_bytes(texts, "]", 1);
    scan->contents[scan->row_count] = xxh64(texts->data, texts->size, row->doc_id);
    return !texts->full;
}

static struct lm_name place_of(const struct lm_scan *scan, const struct lm_row *row, int member) {
    const byte *const start = row->starts[member];
    return (struct lm_name){(uint64_t)(start - scan->bytes), (uint64_t)(row->stops[member] - start)};
}

/* Add a row to the runs. Return whether there was room. */
static bool add_row(struct lm_scan *scan, const struct lm_row *row) {
    if (scan->row_count == scan->most_rows || scan->run_count == scan->most_runs ||
        scan->most_values - scan->value_count < row->metric_count)
        return false;
    const uint64_t filter = number_of(scan, scan->filters, &scan->filter_count, &row->filter);
    const uint64_t metrics = number_of(scan, scan->metrics, &scan->metrics_count, &row->metrics);
    if (filter == MOST_LM_NAMES || metrics == MOST_LM_NAMES)
        return false;
    scan->metric_counts[metrics] = row->metric_count;
    struct lm_run *last = scan->run_count ? &scan->runs[scan->run_count - 1] : NULL;
    if (last && last->filter == filter && last->metrics == metrics &&
        last->doc_id + last->rows == row->doc_id && last->line + last->rows == scan->line)
        last->rows++;
    else
        scan->runs[scan->run_count++] = (struct lm_run){
            filter, metrics, row->doc_id, scan->line, 1, scan->value_count,
        };
    memcpy(scan->values + scan->value_count, row->values, row->metric_count * sizeof(double));
    scan->value_count += row->metric_count;
    for (size_t hash = 0; hash < 3; hash++)
        memcpy(
            scan->digests + scan->row_count * LM_DIGESTS + hash * DIGEST_BYTES, row->digests[hash],
            DIGEST_BYTES
        );
    if (scan->places)
        scan->places[scan->row_count] = (struct lm_place){
            place_of(scan, row, TARGET), place_of(scan, row, RESPS), place_of(scan, row, FILTERED),
        };
    scan->row_count++;
    return true;
}

/* Take the line up to its newline, if it is a sound row. */
static bool take(struct lm_scan *scan, const struct hasher *hasher, const byte *at, const byte *end) {
    const struct lm_delimiter delimiter = {
        scan->delimiter, scan->delimiter_length, scan->is_chat || scan->scoring != LM_CHOICES,
    };
    struct texts texts = {scan->texts, 0, scan->most_bytes, false};
    struct lm_row row;
    struct lm_reader reader = {
        {end, MOST_DEPTH, false}, (enum lm_scoring)scan->scoring, &texts,
        {.start = scan->gold, .length = scan->gold_length}, {{0}}, 0,
    };
    read_field_names(&scan->form, &reader);
    at = read_lm_row(&reader, at, &row);
    if (!at || skip_spaces(at) != end || end[-1] == '\r')
        return false;
    if (!is_sound(hasher, &texts, &row) || !is_gold(&row.target, row.gold, scan->gold))
        return false;
    row.answers.target = row.target;
    return may_have_filter(scan, &row.filter) &&
           gives_scores(
               &row.answers, reader.scoring, scan->delimiter, scan->delimiter_length,
               scan->is_chat, &reader.cursor
           ) &&
           was_asked_for(&scan->form, &row, &delimiter, &texts, &reader.cursor) &&
           scan->row_count < scan->most_rows &&
           (!scan->contents || digest_contents(scan, &reader.cursor, &texts, &row)) &&
           add_row(scan, &row);
}

uint64_t lm_scan_size(void) { return sizeof(struct lm_scan); }

uint64_t scan_lm_rows(struct lm_scan *scan, const struct hasher *hasher) {
    const uint64_t before = scan->row_count;
    while (scan->at < scan->size) {
        const byte *const start = scan->bytes + scan->at;
        const byte *const end = memchr(start, '\n', scan->size - scan->at);
        if (!end || (uint64_t)(end - start) > scan->longest || !take(scan, hasher, start, end))
            break;
        scan->at += (uint64_t)(end - start) + 1;
        scan->line++;
    }
    return scan->row_count - before;
}
