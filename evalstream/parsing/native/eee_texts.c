#include "eee_row.h"

#include <string.h>

static const char BETWEEN = '\x1e', BEHIND = '\x1f', APART = '\xff';

static void write_joined(struct texts *texts, const struct spans *spans) {
    for (size_t place = 0; place < spans->count; place++) {
        if (place)
            write_bytes(texts, &BETWEEN, 1);
        write_decoded(texts, &spans->span[place]);
    }
}

/* How one of the recipes writes input and references as JSON: a text before each of both, and behind
   all; and quotes around a reference, and a text between two. */
struct json_form {
    struct literal {
        const char *text;
        size_t length;
    } raw, reference, quote, between, end;
};

#define LITERAL(text) {text, sizeof text - 1}

static const struct json_form json_forms[RECIPE_COUNT] = {
    [JSON_STR] = {
        LITERAL("{\"raw\": \""), LITERAL("\", \"reference\": \""), LITERAL(""), LITERAL(""),
        LITERAL("\"}"),
    },
    [JSON_LIST] = {
        LITERAL("{\"raw\":\""), LITERAL("\",\"reference\":["), LITERAL("\""), LITERAL(","),
        LITERAL("]}"),
    },
    [JSON_LIST_SPACED] = {
        LITERAL("{\"raw\": \""), LITERAL("\", \"reference\": ["), LITERAL("\""), LITERAL(", "),
        LITERAL("]}"),
    },
};

static inline void write_literal(struct texts *texts, const struct literal *literal) {
    write_bytes(texts, literal->text, literal->length);
}

static void write_json(
    const struct facts *facts, enum recipe recipe, bool ascii, struct texts *texts
) {
    const struct json_form *const form = &json_forms[recipe];
    write_literal(texts, &form->raw);
    write_json_text(texts, text_of(facts, RAW), ascii);
    write_literal(texts, &form->reference);
    for (size_t place = 0; place < facts->references.count; place++) {
        if (place)
            write_literal(texts, &form->between);
        write_literal(texts, &form->quote);
        write_json_text(texts, &facts->references.span[place], ascii);
        write_literal(texts, &form->quote);
    }
    write_literal(texts, &form->end);
}

static void write_references(const struct facts *facts, enum recipe recipe, struct texts *texts) {
    for (size_t place = 0; place < facts->references.count; place++)
        if (!place || recipe == CONCAT)
            write_decoded(texts, &facts->references.span[place]);
}

void eee_write_covered(
    const struct facts *facts, enum recipe recipe, bool ascii, struct texts *texts
) {
    switch (recipe) {
    case NO_RECIPE:
    case RECIPE_COUNT:
        break;
    case CONCAT:
    case CONCAT_FIRST:
        write_decoded(texts, text_of(facts, RAW));
        write_references(facts, recipe, texts);
        break;
    case JSON_STR:
    case JSON_LIST:
    case JSON_LIST_SPACED:
        write_json(facts, recipe, ascii, texts);
        break;
    }
}

/* Tell whether a row has a hash of the right length, in small hex digits. */
static bool is_hashed(const struct facts *facts, const struct demands *demands) {
    const struct span *const hash = text_of(facts, HASH);
    if (hash->length != (size_t)demands->hash_digits)
        return false;
    return are_hex_digits(hash->start, hash->length);
}

/* Tell whether a row has an input that a hash covers: a text, and texts as references. */
static bool is_covered(const struct facts *facts) {
    const enum kind reference = facts->slot[REFERENCE].kind;
    return facts->slot[RAW].kind == STRING && !facts->odd_references &&
           (reference == STRING || reference == ARRAY);
}

/* Write what tells the repeats of a sample apart, as `repeat_mark` does. */
static bool write_mark(const struct facts *facts, struct texts *texts) {
    static const struct {
        enum slot slot;
        const char *name;
    } marks[] = {{EPOCH, "epoch="}, {REPEAT, "repeat="}, {TRIAL, "trial="}, {SEED, "seed="}};
    for (size_t place = 0; place < sizeof marks / sizeof *marks; place++) {
        const struct value *const value = &facts->slot[marks[place].slot];
        if (!has_value(facts, marks[place].slot))
            continue;
        write_bytes(texts, marks[place].name, strlen(marks[place].name));
        if (value->kind == STRING)
            write_decoded(texts, &value->span);
        else if (is_usual_integer(value))
            write_bytes(texts, value->start, (size_t)(value->stop - value->start));
        else
            return false;
        write_bytes(texts, &BEHIND, 1);
    }
    return true;
}

/* Tell whether recipes write several references differently: there is more than the first. */
static bool differ(const struct spans *references) {
    for (size_t place = 1; place < references->count; place++)
        if (references->span[place].length)
            return true;
    return false;
}

/* Flag what is known of the hash of a row, before it is computed. */
static void judge_hash(
    const struct facts *facts, const struct demands *demands, uint64_t *flags, uint32_t *doubts
) {
    if (!has_value(facts, HASH))
        *flags |= UNHASHED;
    else if (*flags & UNCOVERED || facts->slot[HASH].kind != STRING)
        *flags |= UNCHECKED;
    else if (demands->recipe == NO_RECIPE || !is_hashed(facts, demands))
        *doubts |= DOUBTFUL_HASH;
    else if (facts->references.count > 1 && differ(&facts->references))
        *flags |= SEVERAL;
    else if (facts->references.count > 1)
        *doubts |= DOUBTFUL_HASH;
}

static void write_parted(struct texts *texts, const struct spans *spans) {
    for (size_t place = 0; place < spans->count; place++) {
        write_bytes(texts, &APART, 1);
        write_decoded(texts, &spans->span[place]);
    }
}

/* Write what a recipe makes sample_hash the digest of, as `write_covered` does; the text of
   input.raw is copied from where it stands decoded. */
static void write_covered_of(
    const struct facts *facts, enum recipe recipe, const struct row_texts *at, struct texts *texts
) {
    if (recipe != CONCAT && recipe != CONCAT_FIRST) {
        eee_write_covered(facts, recipe, true, texts);
        return;
    }
    write_bytes(texts, texts->data + at->input, at->reference - at->input);
    write_references(facts, recipe, texts);
}

bool eee_write_row(
    const struct facts *facts, const struct demands *demands, struct texts *texts,
    struct row_texts *at, uint64_t *flags, uint32_t *doubts
) {
    const struct value *const sample = &facts->slot[SAMPLE];
    const bool has_input = is_covered(facts);
    *flags |= has_input ? 0 : UNCOVERED;
    judge_hash(facts, demands, flags, doubts);
    at->sample = texts->size;
    if (sample->kind == STRING)
        write_decoded(texts, &sample->span);
    else
        write_bytes(texts, sample->start, (size_t)(sample->stop - sample->start));
    at->hash = texts->size;
    write_decoded(texts, text_of(facts, HASH));
    at->input = texts->size;
    if (has_input)
        write_decoded(texts, text_of(facts, RAW));
    at->reference = texts->size;
    if (has_input)
        write_parted(texts, &facts->references);
    at->choices = texts->size;
    if (demands->compares || demands->links)
        write_joined(texts, &facts->choices);
    at->covered = texts->size;
    if (!(*flags & (UNHASHED | UNCHECKED)) && !(*doubts & DOUBTFUL_HASH))
        write_covered_of(facts, (enum recipe)demands->recipe, at, texts);
    at->mark = texts->size;
    if (!write_mark(facts, texts))
        return false;
    at->linked = texts->size;
    if (demands->links && has_input) {
        write_joined(texts, &facts->references);
        write_bytes(texts, &BEHIND, at->covered > at->choices);
        write_joined(texts, &facts->choices);
    }
    at->options = texts->size;
    if (demands->identity)
        write_parted(texts, &facts->choices);
    at->prompt = texts->size;
    if (demands->identity)
        write_decoded(texts, text_of(facts, FORMATTED));
    at->end = texts->size;
    return !texts->full;
}
