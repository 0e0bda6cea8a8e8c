/* Values in rows that are known to be JSON, by the paths to them. */

#ifndef EVALSTREAM_VALUES_H
#define EVALSTREAM_VALUES_H

#include "cursor.h"
#include "export.h"

enum { BEFORE_NAME = 0xff }; /* a byte that UTF-8 does not use */

/* A wanted value, and where it is. */
struct place_of_value {
    uint64_t start; /* of the row in the bytes; then that of the value */
    uint64_t stop;  /* the length of the path; then the end of the value: both 0 where there is none */
};

/* Find values. The paths to them stand one behind the other, with BEFORE_NAME before each name of a
   member and each index. No key in the rows has escapes or comes twice. */
EXPORT void find_values(
    const byte *bytes, uint64_t size, const byte *paths, struct place_of_value *places,
    uint64_t count
);

#endif
