/* The prefilter of the rule about secrets. */

#ifndef EVALSTREAM_SECRET_H
#define EVALSTREAM_SECRET_H

#include "json.h"

/* Tell whether the rule ES316 may find something in a line of JSON; if not, it surely finds
   nothing. Looks at the bytes as they are written, up to `stop`. */
bool may_hold_secret(const byte *line, const byte *stop);

#endif
