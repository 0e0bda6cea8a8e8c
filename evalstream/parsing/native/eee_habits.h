/* What most rows of a file keep to, so that those which do not are to be named. */

#ifndef EVALSTREAM_EEE_HABITS_H
#define EVALSTREAM_EEE_HABITS_H

#include "eee_row.h"

/* Flag, for those of the rules ES303, ES320 and ES808 that are enabled, whether the prompt of a row
   holds its question, its output its answer, and whether the answer is a reference, or shows one.
   Return false if the row needs the exact path. */
bool eee_flag_habits(const struct facts *facts, const struct demands *demands, uint64_t *flags);

#endif
