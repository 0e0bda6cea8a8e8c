"""Sound rows as the lines of a file, and a faulty one."""

from rows import bytes_of, line_of, sound_rows

GOOD = bytes_of(sound_rows())
LINES = GOOD.splitlines(keepends=True)
LAST = sound_rows(count=9)[8]
FAULTY = line_of({**LAST, "evaluation": {**LAST["evaluation"], "score": "high"}})
