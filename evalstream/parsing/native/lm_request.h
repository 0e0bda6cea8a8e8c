/* How the rows of a task of lm-eval were asked for, as its configuration says. */

#ifndef EVALSTREAM_LM_REQUEST_H
#define EVALSTREAM_LM_REQUEST_H

#include "lm_row.h"

enum { BEHIND_NAME = 0xff }; /* a byte that UTF-8 does not use */

/* What stands in the place of the target in the first request. */
enum lm_target { LM_ANYTHING, LM_PROMPT, LM_SECOND };

/* Bytes of Python, of length 0 for nothing. */
struct lm_bytes {
    const byte *start;
    uint64_t length;
};

/* All texts are as JSON writes them. */
struct lm_form {
    struct lm_bytes generation; /* the second argument */
    struct lm_bytes openings;   /* texts of all prompts, each with BEHIND_NAME */
    struct lm_bytes fields;     /* members of docs, each with BEHIND_NAME */
    struct lm_bytes question;   /* texts, between them BEHIND_NAME and the place of a field */
    struct lm_bytes constant;   /* the question of docs without the one field */
    struct lm_bytes choices;    /* those of all docs, each with BEHIND_NAME */
    uint64_t is_named;          /* the question is one field, a text */
    uint64_t choice_place;      /* of the field with the choices, and 1; 0 for none */
    uint64_t member_count;      /* of the first fields, which each doc has */
    uint64_t repeats;           /* 0 for any */
    uint64_t target;            /* an enum lm_target */
};

/* What stands before each choice. */
struct lm_delimiter {
    const byte *start;
    size_t length;
    bool is_optional; /* in a chat, where choices are not compared */
};

/* Have a reader note the fields. */
void read_field_names(const struct lm_form *form, struct lm_reader *reader);

/* Tell whether a row was certainly asked for in this form; `texts` has room for its question. */
bool was_asked_for(
    const struct lm_form *form, const struct lm_row *row, const struct lm_delimiter *delimiter,
    struct texts *texts, const struct cursor *cursor
);

#endif
