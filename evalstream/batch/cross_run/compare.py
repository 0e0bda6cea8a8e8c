"""SQL that compares the links of all runs, in a database on disk."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Collection, Iterator
from enum import StrEnum
from itertools import chain, groupby, repeat, starmap
from operator import itemgetter
from typing import Final

from evalstream.batch.cross_run.collisions import collide
from evalstream.model.data_class import NamedTuple
from evalstream.stats.run_links import WORDS


class CrossRunKind(StrEnum):
    """The kinds of matches, as named in the database; their order is that of the codes."""

    RECORD = "903 record"
    CLAIM = "904 claim"
    CUT = "904 cut"
    ROWS = "904 rows"
    LIKE = "905 like"
    ANSWERS = "907 answers"
    NEAR = "907 near"
    LOG = "905 log"
    SAMPLE = "905 sample"
    UUID = "906 uuid"
    CASE = "908 case"


MOST_COUNTED: Final = 1_000_000
COUNTED_AT_ONCE: Final = 250_000
"""Most rows of a benchmark that are counted to find shared samples, in all and at once."""


class CrossRunMatch(NamedTuple):
    """A match that is reported for a run: for its aggregate, its rows, or one row.

    `line` is the third word of a row, and `earlier_line` that of a row of the run `earlier`.
    `count` counts samples, and `several` means that there are more earlier runs than one. `path` is
    a path that differs from the path `earlier_path` only in case.
    """

    run: int
    is_aggregate: int
    line: int | None
    offset: int | None
    kind: str
    earlier: int | None
    earlier_line: int | None
    count: int | None  # type: ignore[assignment]  # hides tuple.count, not needed here
    several: int | None
    path: str | None
    earlier_path: str | None


TABLES: Final = """
CREATE TABLE runs (number INTEGER PRIMARY KEY, file TEXT, aggregate TEXT, record TEXT,
    evaluation INTEGER, is_array INTEGER, is_cut INTEGER, uuid TEXT);
CREATE TABLE sets (id INTEGER PRIMARY KEY, benchmark INTEGER, samples INTEGER, inputs INTEGER,
    rows INTEGER, run INTEGER, place INTEGER, UNIQUE (benchmark, samples, inputs, rows));
CREATE TABLE members (run INTEGER, place INTEGER, evaluation INTEGER, result INTEGER,
    set_id INTEGER, PRIMARY KEY (run, place)) WITHOUT ROWID;
CREATE TABLE chunks (set_id INTEGER, part INTEGER, words BLOB, PRIMARY KEY (set_id, part));
"""
"""Runs, and their groups of rows as members of sets.

Groups of one benchmark with the same samples and inputs are one set, whose words are stored once,
from the first of these groups.
"""

_FOUND: Final = """
DROP TABLE IF EXISTS found;
CREATE TABLE found (run INTEGER, is_aggregate INTEGER, line INTEGER, offset INTEGER,
    kind TEXT, earlier INTEGER, earlier_line INTEGER, count INTEGER, several INTEGER);
DROP TABLE IF EXISTS collisions;
CREATE TABLE collisions (run INTEGER, is_aggregate INTEGER, here TEXT, there TEXT);
DROP TABLE IF EXISTS own;
CREATE TABLE own (aggregate INTEGER, run INTEGER, PRIMARY KEY (aggregate, run)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS holding ON members (set_id, run);
INSERT INTO own SELECT 0, MIN(number) FROM runs WHERE file IS NOT NULL GROUP BY file;
INSERT INTO own SELECT 1, MIN(number) FROM runs WHERE aggregate IS NOT NULL GROUP BY aggregate;
"""
"""A file that is in several runs counts for the first of them only.

Statements write `+m.run IN (...)` so that SQLite does not look up members by each of these runs, as
3.53 would: that takes the square of their number.
"""

_RECORDS: Final = """
INSERT INTO found SELECT number, 1, NULL, NULL, '903 record', first, NULL, NULL, NULL
    FROM runs JOIN (
        SELECT record AS same, MIN(number) AS first FROM runs WHERE record IS NOT NULL
        GROUP BY record HAVING COUNT(*) > 1
    ) ON record = same
    WHERE number > first AND number IN (SELECT run FROM own WHERE aggregate = 1);
"""

_UUIDS: Final = """
INSERT INTO found SELECT r.number, 1, NULL, NULL, '906 uuid', f.number, NULL, NULL, NULL
    FROM runs AS r CROSS JOIN (
        SELECT uuid AS same, MIN(number) AS first FROM runs
        WHERE uuid IS NOT NULL AND record IS NOT NULL GROUP BY uuid HAVING COUNT(*) > 1
    ) ON r.uuid = same JOIN runs AS f ON f.number = first
    WHERE r.number > first AND r.record <> f.record
        AND r.number IN (SELECT run FROM own WHERE aggregate = 1);
"""

_CLAIMS: Final = """
DROP TABLE IF EXISTS claims;
CREATE TABLE claims (evaluation INTEGER, run INTEGER, has_rows INTEGER);
INSERT INTO claims SELECT evaluation, number, number IN (SELECT run FROM own WHERE aggregate = 0)
        AND EXISTS (SELECT 1 FROM members AS m WHERE m.run = number AND m.evaluation = r.evaluation)
    FROM runs AS r WHERE evaluation IS NOT NULL
        AND number IN (SELECT run FROM own WHERE aggregate = 1);
INSERT INTO found SELECT run, 1, NULL, NULL, '904 claim',
        CASE WHEN has_rows THEN rowless ELSE first END AS earlier, NULL, NULL, NULL
    FROM claims AS c JOIN (
        SELECT evaluation AS same, MIN(run) AS first,
            MIN(CASE WHEN has_rows THEN NULL ELSE run END) AS rowless
        FROM claims GROUP BY evaluation HAVING COUNT(*) > 1
    ) ON evaluation = same
    WHERE earlier < run
        AND run NOT IN (SELECT run FROM found WHERE kind = '903 record');
DROP TABLE claims;
INSERT INTO found SELECT number, 0, NULL, NULL, '904 cut', NULL, NULL, NULL, NULL
    FROM runs WHERE is_cut AND number IN (SELECT run FROM own WHERE aggregate = 0);
"""

_HOLDERS: Final = """
DROP TABLE IF EXISTS holders;
CREATE TABLE holders (set_id INTEGER, result INTEGER, run INTEGER, PRIMARY KEY (set_id, result))
    WITHOUT ROWID;
INSERT INTO holders SELECT set_id, result, MIN(members.run) FROM members JOIN sets ON id = set_id
    WHERE sets.inputs <> sets.rows
        AND members.run IN (SELECT run FROM own WHERE aggregate = 0) AND result IN (
        SELECT result FROM members WHERE run IN (SELECT run FROM own WHERE aggregate = 0)
        GROUP BY result HAVING COUNT(DISTINCT run) > 1
    ) GROUP BY set_id, result;
"""
"""Results with rows in several files: each of their sets, and the first run with that set.

Sets of answers are left out: their samples are in another set of the same log.
"""

_OVERLAPS: Final = """
DROP TABLE IF EXISTS held;
CREATE TABLE held (set_id INTEGER, sample INTEGER, PRIMARY KEY (set_id, sample)) WITHOUT ROWID;
INSERT INTO held SELECT DISTINCT set_id, sample FROM words ORDER BY set_id, sample;
DROP TABLE IF EXISTS firsts;
CREATE TABLE firsts (result INTEGER, sample INTEGER, run INTEGER, PRIMARY KEY (result, sample))
    WITHOUT ROWID;
INSERT INTO firsts SELECT h.result, x.sample, MIN(h.run)
    FROM held AS x CROSS JOIN holders AS h ON h.set_id = x.set_id GROUP BY h.result, x.sample;
DROP TABLE IF EXISTS overlaps;
CREATE TABLE overlaps (set_id INTEGER, result INTEGER, run INTEGER, samples INTEGER,
    before INTEGER, first INTEGER, last INTEGER, last_before INTEGER, PRIMARY KEY (set_id, result));
INSERT INTO overlaps SELECT h.set_id, h.result, h.run, COUNT(*), SUM(f.run < h.run), MIN(f.run),
        MAX(f.run), MAX(CASE WHEN f.run < h.run THEN f.run END)
    FROM held AS x CROSS JOIN holders AS h ON h.set_id = x.set_id
    CROSS JOIN firsts AS f ON f.result = h.result AND f.sample = x.sample
    GROUP BY h.set_id, h.result;
INSERT INTO found SELECT m.run, 0, NULL, NULL, '904 rows', MIN(o.first), NULL,
        SUM(CASE WHEN m.run > o.run THEN o.samples ELSE o.before END),
        MAX(CASE WHEN m.run > o.run THEN o.last ELSE o.last_before END) > MIN(o.first)
    FROM members AS m JOIN overlaps AS o ON o.set_id = m.set_id AND o.result = m.result
    WHERE +m.run IN (SELECT run FROM own WHERE aggregate = 0) AND (m.run > o.run OR o.before > 0)
    GROUP BY m.run, m.evaluation;
DROP TABLE held; DROP TABLE firsts; DROP TABLE overlaps; DROP TABLE holders; DROP TABLE words;
"""
"""The number of samples of each run that earlier runs score as well.

In the first run with a set, these are the samples that an earlier set has; in every later run with
the set, they are all of its samples.
"""

_ANSWERS: Final = """
DROP TABLE IF EXISTS firsts;
CREATE TABLE firsts (set_id INTEGER, run INTEGER, evaluation INTEGER,
    PRIMARY KEY (set_id, run, evaluation)) WITHOUT ROWID;
INSERT INTO firsts SELECT set_id, MIN(run), evaluation FROM members GROUP BY set_id, evaluation;
INSERT INTO found SELECT number, 0, NULL, NULL, '907 answers', MIN(earlier), NULL, NULL, NULL
    FROM (
        SELECT m.run AS number, (
            SELECT f.run FROM firsts AS f
            WHERE f.set_id = s.id AND f.run < m.run AND f.evaluation <> m.evaluation
            ORDER BY f.run LIMIT 1
        ) AS earlier
        FROM sets AS s JOIN members AS m ON m.set_id = s.id
        WHERE s.rows > 0 AND s.inputs = s.rows
            AND +m.run IN (SELECT run FROM own WHERE aggregate = 0)
    ) WHERE earlier IS NOT NULL GROUP BY number;
DROP TABLE firsts;
"""
"""The harness logs whose answers are those of an earlier log of another model.

The input digest of each answer is 1 (`ANSWER` in stats/log_links.py).
"""

_OF_ANSWERS: Final = """
SELECT id FROM sets WHERE rows > 0 AND inputs = rows AND benchmark IN (
    SELECT benchmark FROM sets WHERE rows > 0 AND inputs = rows GROUP BY benchmark
    HAVING COUNT(*) > 1
) ORDER BY id
"""

_NEAR_ANSWERS: Final = """
DROP TABLE IF EXISTS holders;
CREATE TABLE holders (benchmark INTEGER, answer INTEGER, run INTEGER,
    PRIMARY KEY (benchmark, answer)) WITHOUT ROWID;
INSERT INTO holders SELECT s.benchmark, w.sample, MIN(s.run)
    FROM words AS w CROSS JOIN sets AS s ON s.id = w.set_id GROUP BY s.benchmark, w.sample;
INSERT INTO found SELECT m.run, 0, NULL, NULL, '907 near', h.run, NULL, COUNT(DISTINCT h.answer),
        NULL
    FROM words AS w CROSS JOIN sets AS s ON s.id = w.set_id
    CROSS JOIN holders AS h ON h.benchmark = s.benchmark AND h.answer = w.sample
    CROSS JOIN members AS m ON m.set_id = s.id AND m.run > h.run
    WHERE +m.run IN (SELECT run FROM own WHERE aggregate = 0)
        AND m.run NOT IN (SELECT run FROM found WHERE kind = '907 answers')
        AND NOT EXISTS (SELECT 1 FROM members AS f JOIN sets AS t ON t.id = f.set_id
            WHERE f.run = h.run AND f.evaluation = m.evaluation AND t.benchmark = s.benchmark)
    GROUP BY m.run, h.run HAVING COUNT(DISTINCT h.answer) >= MAX(2, (s.rows + 1) / 2);
DROP TABLE holders; DROP TABLE words;
"""
"""The harness logs of which at least half of the answers are those of an earlier log of another
model."""

_UNLIKE: Final = """
SELECT id FROM sets WHERE benchmark IN (SELECT benchmark FROM shared) ORDER BY id
"""

_DRIFT: Final = """
DROP TABLE IF EXISTS pairs;
CREATE TABLE pairs (benchmark INTEGER, sample INTEGER, input INTEGER, run INTEGER,
    PRIMARY KEY (benchmark, sample, input)) WITHOUT ROWID;
INSERT INTO pairs SELECT s.benchmark, w.sample, w.input, MIN(s.run)
    FROM words AS w CROSS JOIN sets AS s ON s.id = w.set_id
    WHERE w.input <> 0 GROUP BY s.benchmark, w.sample, w.input;
DROP TABLE IF EXISTS origins;
CREATE TABLE origins (benchmark INTEGER, sample INTEGER, run INTEGER,
    PRIMARY KEY (benchmark, sample)) WITHOUT ROWID;
INSERT INTO origins SELECT benchmark, sample, MIN(run) FROM pairs GROUP BY benchmark, sample
    HAVING MAX(run) > MIN(run);
DROP TABLE IF EXISTS places;
CREATE TABLE places (benchmark INTEGER, sample INTEGER, line INTEGER,
    PRIMARY KEY (benchmark, sample)) WITHOUT ROWID;
INSERT INTO places SELECT s.benchmark, w.sample, MIN(w.line)
    FROM words AS w CROSS JOIN sets AS s ON s.id = w.set_id
    CROSS JOIN origins AS o ON o.benchmark = s.benchmark AND o.sample = w.sample AND o.run = s.run
    WHERE w.input <> 0 GROUP BY s.benchmark, w.sample;
DROP TABLE IF EXISTS drifted;
CREATE TABLE drifted (set_id INTEGER, run INTEGER, benchmark INTEGER, sample INTEGER,
    input INTEGER, line INTEGER, offset INTEGER, origin INTEGER);
INSERT INTO drifted SELECT s.id, s.run, s.benchmark, w.sample, w.input, MIN(w.line), w.offset, o.run
    FROM words AS w CROSS JOIN sets AS s ON s.id = w.set_id
    CROSS JOIN origins AS o ON o.benchmark = s.benchmark AND o.sample = w.sample
    CROSS JOIN pairs AS p
        ON p.benchmark = s.benchmark AND p.sample = w.sample AND p.input = w.input
    WHERE p.run > o.run AND w.input <> 0
    GROUP BY s.id, w.sample, w.input;
INSERT INTO found SELECT d.run, 0, MIN(d.line), d.offset, '905 sample', d.origin, p.line,
        NULL, NULL
    FROM drifted AS d CROSS JOIN places AS p
        ON p.benchmark = d.benchmark AND p.sample = d.sample
    WHERE d.line > 0
    GROUP BY d.run, d.benchmark, d.sample, d.input;
INSERT INTO found SELECT run, 0, NULL, NULL, '905 log', MIN(origin), NULL,
        COUNT(DISTINCT sample), NULL
    FROM drifted WHERE line = 0 GROUP BY run;
INSERT INTO found SELECT DISTINCT m.run, 0, NULL, NULL, '905 like', c.run, NULL, c.count, NULL
    FROM (
        SELECT set_id, run, COUNT(*) AS count FROM drifted GROUP BY set_id
    ) AS c
    JOIN members AS m ON m.set_id = c.set_id AND m.run > c.run
    WHERE +m.run IN (SELECT run FROM own WHERE aggregate = 0);
DROP TABLE pairs; DROP TABLE origins; DROP TABLE places; DROP TABLE drifted; DROP TABLE words;
"""
"""The inputs that differ from those of the origin, the first run with a sample.

A different input is reported once for each first run of a set, on its first line; samples of
harness logs, which have the line 0, are counted.
"""


_ALL: Final = """
SELECT * FROM (
    SELECT *, NULL AS here, NULL AS there FROM found
    UNION ALL
    SELECT run, is_aggregate, NULL, NULL, '908 case', NULL, NULL, NULL, NULL, here, there
        FROM collisions
) ORDER BY run, is_aggregate, line IS NULL, line, kind, earlier, earlier_line, offset, count, here
"""


def find_matches(base: sqlite3.Connection, wanted: Collection[str]) -> Iterator[CrossRunMatch]:
    """Compare records, uuids, files, answers, samples or paths, and return ordered matches."""
    base.executescript(_FOUND)
    if "records" in wanted:
        base.executescript(_RECORDS)
    if "uuids" in wanted:
        base.executescript(_UUIDS)
    if "files" in wanted:
        base.executescript(_CLAIMS)
        base.executescript(_HOLDERS)
        _compare_words(base, "SELECT DISTINCT set_id FROM holders ORDER BY set_id", _OVERLAPS)
    if "answers" in wanted:
        base.executescript(_ANSWERS)
        _compare_words(base, _OF_ANSWERS, _NEAR_ANSWERS)
    if "samples" in wanted:
        base.executescript("DROP TABLE IF EXISTS shared; CREATE TABLE shared (benchmark INTEGER);")
        base.executemany("INSERT INTO shared VALUES (?)", _benchmarks_with_shared_samples(base))
        _compare_words(base, _UNLIKE, _DRIFT)
    if "paths" in wanted:
        collide(base)
    return starmap(CrossRunMatch, base.execute(_ALL))


def _benchmarks_with_shared_samples(base: sqlite3.Connection) -> list[tuple[int]]:
    """Return the benchmarks of which several runs may share samples: only those can drift."""
    several = base.execute(
        "SELECT benchmark, SUM(rows) FROM sets GROUP BY benchmark HAVING COUNT(DISTINCT run) > 1"
    ).fetchall()
    return [
        (benchmark,)
        for benchmark, rows in several
        if rows > MOST_COUNTED or _has_shared(base, benchmark, rows // COUNTED_AT_ONCE + 1)
    ]


def _has_shared(base: sqlite3.Connection, benchmark: int, parts: int) -> bool:
    """Tell whether two sets of a benchmark share a sample, some samples at a time."""
    query = (
        "SELECT set_id, words FROM chunks JOIN sets ON id = set_id WHERE benchmark = ? ORDER BY 1"
    )
    for part in range(parts):
        seen: set[int] = set()
        total = 0
        for _, chunks in groupby(base.execute(query, (benchmark,)), itemgetter(0)):
            words = chain.from_iterable(array("Q", data)[::WORDS] for _, data in chunks)
            own = {word for word in words if word % parts == part}
            seen |= own
            total += len(own)
            if len(seen) < total:
                return True
    return False


def _compare_words(base: sqlite3.Connection, chosen: str, script: str) -> None:
    """Run a script over a table of the words of some sets, with a row for each row of a run."""
    base.executescript(
        "DROP TABLE IF EXISTS words; CREATE TABLE words (set_id INTEGER, sample INTEGER,"
        " input INTEGER, line INTEGER, offset INTEGER); BEGIN;"
    )
    rows = _select_rows(base, chosen)
    count = base.executemany("INSERT INTO words VALUES (?, ?, ?, ?, ?)", rows).rowcount
    base.execute("COMMIT")
    if count:
        base.executescript(script)


def _select_rows(base: sqlite3.Connection, chosen: str) -> Iterator[tuple[int, ...]]:
    chunks = base.execute(
        f"SELECT set_id, words FROM chunks WHERE set_id IN ({chosen}) ORDER BY set_id, part"  # noqa: S608 - our own text
    )
    for set_id, data in chunks:
        # SQLite has signed integers only.
        words = array("q", data)
        yield from zip(repeat(set_id), *(words[place::WORDS] for place in range(WORDS)))
