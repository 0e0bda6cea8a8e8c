/* The prefilters of rules about leaks: they flag the rows that the rules in Python look at. */

#ifndef EVALSTREAM_LEAK_H
#define EVALSTREAM_LEAK_H

#include "row.h"

/* The rules that have a prefilter here, by their codes. */
#define PREFILTERS(prefilter) prefilter(ES312) prefilter(ES316)

#define NAME_OF_PREFILTER(code) PLACE_OF_PREFILTER_##code,
enum prefilter_place { PREFILTERS(NAME_OF_PREFILTER) };
#undef NAME_OF_PREFILTER

#define NAME_OF_PREFILTER(code) PREFILTER_##code = 1 << PLACE_OF_PREFILTER_##code,
enum prefilter { PREFILTERS(NAME_OF_PREFILTER) };
#undef NAME_OF_PREFILTER

/* Tell whether one of the rules with a prefilter may find something in a row, which is written
   from `line` to `stop`; if not, none does. `room` is for texts that are decoded. */
bool may_leak(
    const struct facts *facts, const struct demands *demands, const byte *line, const byte *stop,
    struct texts room
);

#endif
