/* Scores of a row of lm-eval that its own answers confirm: accuracy of choices, exact matches. */

#ifndef EVALSTREAM_LM_SCORES_H
#define EVALSTREAM_LM_SCORES_H

#include "cursor.h"

enum { MOST_LM_CHOICES = 32 };

/* How the harness scored the rows of a task. */
enum lm_scoring {
    LM_UNSCORED,  /* nothing is known */
    LM_FILTERED,  /* only that the first answer to each request is taken */
    LM_CHOICES,   /* also that acc and acc_norm are of the likeliest choice */
    LM_GENERATED, /* also that exact_match compares the answer with the target */
};

/* The parts of a row that its scores follow from. */
struct lm_answers {
    const byte *resps, *filtered; /* where the lists begin */
    struct span only; /* the one answer, if it is a text; without a start otherwise */
    bool is_only;     /* and the filter gives this answer */
    struct span target;
    struct span prompts[MOST_LM_CHOICES], choices[MOST_LM_CHOICES];
    size_t request_count;
    /* Values of metrics that the row has. */
    bool has_acc, has_norm, has_match;
    double acc, norm, match;
};

/* Tell whether the answers of a row surely give its scores; the lists are valid JSON. */
bool gives_scores(
    const struct lm_answers *row, enum lm_scoring scoring, const byte *delimiter, size_t length,
    bool is_chat, const struct cursor *cursor
);

#endif
