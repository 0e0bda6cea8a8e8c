/* Strings of JSON as they are written: compared, searched and stripped, without a copy. */

#ifndef EVALSTREAM_SPANS_H
#define EVALSTREAM_SPANS_H

#include "json.h"

enum answer { NO, YES, PERHAPS };

/* Strings in an array of whoever owns them. */
struct spans {
    size_t count;
    struct span *span;
    size_t most;
};

/* Append a copy of a span. Return false without room. */
bool add_span(struct spans *spans, const struct span *span);

/* Return `length` bytes of ASCII from `start` on without the white space around them. */
struct span strip_span(const byte *start, size_t length);

/* Tell whether two ASCII texts differ at most in the case of letters. */
bool are_spans_alike(const struct span *one, const struct span *other);

/* Tell whether an ASCII text surely differs from another one in case-folded letters, white space
   around both aside: no byte above 127 comes before the first that is another one. */
bool are_spans_apart(const struct span *text, const struct span *other);

/* Return the letter that a text like A, (a) or b. is, in lower case; 0 for others. */
byte letter_of_span(struct span text);

/* Tell whether `text` holds `part`, both as they are written; perhaps, where that takes long. */
enum answer find_span(const struct span *text, const struct span *part);

/* Tell whether `text` ends with `part`, both as they are written. */
bool ends_span_with(const struct span *text, const struct span *part);

/* Return the place of a text among others; their number where it is none of them as it is written. */
size_t place_of_span(const struct spans *texts, const struct span *text);

#endif
