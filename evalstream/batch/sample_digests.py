"""Hold the samples of a run against the ids that its benchmark has, or digests of another copy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from operator import attrgetter
from typing import Any, Final

from evalstream.formats.registry import FORMATS
from evalstream.io.names import printable
from evalstream.io.output import Output, writing
from evalstream.io.overwriting import OutputKind
from evalstream.io.spill_table import SpillTable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, UsageError, describe_error
from evalstream.model.finding import Violation
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked
from evalstream.model.text import count_noun
from evalstream.parsing import json
from evalstream.rules.inputs import ES011, ES012
from evalstream.stats.run_samples import RowPlaces, RunSamples, SampleRows
from evalstream.stats.sample_digests import sample_text, text_identity

MOST_NAMED: Final = 5
"""Number of missing samples whose ids a finding holds."""

Identity = tuple[int, int]


class ExpectedSample(NamedTuple):
    """A sample that a benchmark has: its id, and the number of its rows, None if any will do."""

    sample_id: Any
    rows: int | None


def hold_expected(samples: RunSamples | None, path: str) -> tuple[list[Violation], list[Checked]]:
    """Report samples that a run did not score, or scored besides those of the file `path`.

    The second list says for the verdict how many it scored.

    A sample is scored if a row of it has a score under any result. Where the file gives a number of
    rows, each result that has the sample must have so many of them.
    """
    expected = read_expected_ids(path)
    if samples is None:
        message = "the run holds no scores of single samples"
        return [ES011.violation(message, expected=len(expected), found=0)], []
    missing = dict(expected)
    others, first_other = set[Identity](), 0
    uneven: list[tuple[SampleRows, int]] = []
    rows_of_samples = () if samples.counts is None else samples.counts.samples()
    for one in filter(attrgetter("scored"), rows_of_samples):
        identity = one.high, one.low
        known = expected.get(identity)
        if known is None:
            others.add(identity)
            first_other = min(first_other or one.line, one.line)
            continue
        missing.pop(identity, None)
        if known.rows not in (None, one.rows):
            uneven.append((one, known.rows or 0))
    violations = []
    if missing:
        message = f"{len(missing):,} of {count_noun(len(expected), 'expected sample')} not scored"
        named = [one.sample_id for one in islice(missing.values(), MOST_NAMED)]
        violations.append(ES011.violation(message, expected=named, count=len(missing)))
    if others:
        message = (
            f"{count_noun(len(others), 'scored sample')} not among the expected ones (the first in"
            f" line {first_other:,})"
        )
        violations.append(ES011.violation(message, count=len(others)))
    if uneven:
        one, rows = min(uneven, key=lambda pair: pair[0].line)
        message = (
            f"{count_noun(len(uneven), 'sample')} with another number of rows than expected "
            f"(the first in line {one.line:,})"
        )
        violations.append(
            ES011.violation(message, count=len(uneven), expected=rows, found=one.rows)
        )
    scored = len(expected) - len(missing)
    text = f"{scored:,} of {count_noun(len(expected), 'expected sample')} scored"
    return violations, [Checked(text, not violations)]


def read_expected_ids(path: str) -> Mapping[Identity, ExpectedSample]:
    """Return the samples that a file lists, by identity. Raises UsageError for a file without any.

    The file is UTF-8. It is a JSON array of ids, or has one id a line: the id itself or a JSON
    string, and after a tab the number of its rows. The number 1 and the text "1" are one id.
    """
    try:
        state = os.stat(path)
        return _read(path, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError) as error:
        reason = describe_error(error)
    raise UsageError(f"--expect-ids {printable(path)}: {reason}")


@lru_cache(maxsize=4)
def _read(path: str, _changed: int, _size: int) -> Mapping[Identity, ExpectedSample]:
    """Read a file of ids. Raises OSError, and ValueError for one that is not a list of ids."""
    with open(path, "rb") as file:
        data = file.read().removeprefix(json.UTF8_MARK)
    entries = _of_lines(data)
    if data.lstrip().startswith(b"["):
        entries = (ExpectedSample(sample_id, None) for sample_id in json.fast(data))
    found: dict[Identity, ExpectedSample] = {}
    for entry in entries:
        text = sample_text(entry.sample_id)
        if not text or isinstance(entry.sample_id, (dict, list, bool)):
            raise ValueError("an id is a text or a number, and not empty")
        if found.setdefault(text_identity(text), entry) is not entry:
            raise ValueError(f"an id is listed twice: {printable(text.decode(errors='replace'))}")
    if not found:
        raise ValueError("the file lists no id")
    return found


def _of_lines(data: bytes) -> Iterator[ExpectedSample]:
    for number, line in enumerate(data.decode().splitlines(), start=1):
        text, tab, rows = line.strip().partition("\t")
        if not text:
            continue
        if tab and not (rows.isascii() and rows.isdecimal() and int(rows)):
            raise ValueError(f"line {number:,}: after the tab comes the number of rows")
        sample_id = json.fast(text.encode()) if text.startswith('"') else text
        yield ExpectedSample(sample_id, int(rows) if tab else None)


DIGEST_BYTES: Final = 16
_LINE: Final = re.compile(rb"([0-9a-f]{32}) ([0-9a-f]{32})\r?\n?")

DIGESTS: Final = OutputKind(
    "a file of sample digests", lambda begin: _LINE.match(begin) is not None
)

_EXPECTED: Final = """
    CREATE TABLE expected (
        identity BLOB, answer BLOB, PRIMARY KEY (identity, answer)
    ) WITHOUT ROWID;
"""


class SampleDigest(NamedTuple):
    """The digests of a sample: of its id and its repeat, and of its other members."""

    line: int
    identity: bytes
    content: bytes


def hold_digests(
    samples: RunSamples | None, rows: int, run: Run, options: Options
) -> tuple[list[Violation], list[Checked]]:
    """Write the digests of a run's samples, and find which differ from those of a file.

    `rows` is the number of its rows, each of which should have a digest. The second list says for
    the verdict what was written and compared.

    Raises UsageError for a file that holds no digests, CannotWrite, and CannotCheck where the rows
    cannot be read again.
    """
    places = None if samples is None else samples.places
    if places is None:
        return [ES012.violation("the run holds no scores of single samples")], []
    found: list[Violation] = []
    checked: list[Checked] = []
    number = 0
    if options.sample_digests is not None:
        path = options.sample_digests
        with writing(path), Output(path, kind=DIGESTS) as output:
            for one in digest_samples(places, run, options):
                output.write(f"{one.identity.hex()} {one.content.hex()}\n")
                number += 1
        checked.append(Checked(f"{count_noun(number, 'sample digest')} written", True))
    if options.expect_digests is not None:
        digests = digest_samples(places, run, options)
        found, number, compared = _compare(options.expect_digests, digests)
        checked.append(compared)
    if (lacking := rows - number) > 0:
        it, have = ("it", "has") if lacking == 1 else ("they", "have")
        message = (
            f"{count_noun(lacking, 'row')} {have} no digest: {it} cannot be read, or {have} no"
        )
        found.insert(0, ES012.violation(f"{message} sample id", count=lacking))
    return found, checked


def digest_samples(places: RowPlaces, run: Run, options: Options) -> Iterator[SampleDigest]:
    """Iterate over the digests of a run's samples, in the order of the rows. Raises CannotCheck."""
    wanted = ((record.line, record.offset) for record in places.records())
    try:
        answers = FORMATS[run.format].answers(run, options, wanted)
        for record, answered in zip(places.records(), answers, strict=True):
            if answered is None:
                raise CannotCheck(f"the answer on line {record.line:,} cannot be read again")
            scores = [score.hex() for score in places.scores(record)]
            identity = record.sample + record.time.to_bytes(8, "big")
            content = json.canonical([json.reduce_value(answered.record), answered.answer, scores])
            yield SampleDigest(record.line, _digest(identity), _digest(content))
    except OSError as error:
        raise CannotCheck(describe_error(error)) from error


def read_digests(path: str) -> Iterator[tuple[bytes, bytes]]:
    """Iterate over the digests in a file. Raises UsageError for a file without any."""
    name = f"--expect-digests {printable(path)}"
    number = 0
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                found = _LINE.fullmatch(line)
                if found is None:
                    raise UsageError(f"{name}: line {number:,} holds no digests")
                yield bytes.fromhex(found[1].decode()), bytes.fromhex(found[2].decode())
    except OSError as error:
        raise UsageError(f"{name}: {describe_error(error)}") from error
    if not number:
        raise UsageError(f"{name}: the file holds no digests")


def _compare(path: str, digests: Iterable[SampleDigest]) -> tuple[list[Violation], int, Checked]:
    """Return how samples differ from another copy, how many there are, and what was compared."""
    # Number and first line of samples that are new, and of those with another content.
    times, first = [0, 0], [0, 0]
    equal = 0
    with closing(SpillTable(_EXPECTED)) as table:
        table.change("INSERT OR REPLACE INTO expected VALUES (?, ?)", read_digests(path))
        for one in digests:
            known = table.rows("SELECT answer FROM expected WHERE identity = ?", one.identity)
            table.change("DELETE FROM expected WHERE identity = ?", [(one.identity,)])
            if known == [(one.content,)]:
                equal += 1
                continue
            is_known = bool(known)
            times[is_known] += 1
            first[is_known] = first[is_known] or one.line
        ((missing,),) = table.rows("SELECT COUNT(*) FROM expected")
    new, changed = times
    found = []
    if changed:
        message = f"{count_noun(changed, 'sample')} with another content than expected"
        message += f" (the first on line {first[True]:,})"
        found.append(ES012.violation(message, count=changed))
    if missing:
        message = f"{count_noun(missing, 'expected sample')} missing"
        found.append(ES012.violation(message, count=missing))
    if new:
        message = f"{count_noun(new, 'sample')} not among the expected ones"
        message += f" (the first on line {first[False]:,})"
        found.append(ES012.violation(message, count=new))
    expected = count_noun(equal + changed + missing, "sample digest")
    return found, equal + new + changed, Checked(f"{equal:,} of {expected} as expected", not found)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
