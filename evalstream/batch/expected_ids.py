"""Hold the samples that a run scored against those that its benchmark has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

from evalstream.io.names import printable
from evalstream.model.errors import UsageError
from evalstream.model.finding import Violation
from evalstream.model.report import Checked
from evalstream.model.text import count_noun
from evalstream.parsing import json
from evalstream.rules.inputs import ES011
from evalstream.stats.run_samples import RunSamples, SampleRows
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
    for one in _iterate_scores(samples):
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
        details = {"count": len(uneven), "expected": rows, "found": one.rows}
        violations.append(ES011.violation(message, **details))
    scored = len(expected) - len(missing)
    text = f"{scored:,} of {count_noun(len(expected), 'expected sample')} scored"
    return violations, [Checked(text, not violations)]


def _iterate_scores(samples: RunSamples) -> Iterator[SampleRows]:
    if samples.counts is not None:
        yield from (one for one in samples.counts.samples() if one.scored)


def read_expected_ids(path: str) -> Mapping[Identity, ExpectedSample]:
    """Return the samples that a file lists, by identity. Raises UsageError for a file without any.

    The file is UTF-8. It is a JSON array of ids, or has one id a line: the id itself or a JSON
    string, and after a tab the number of its rows. The number 1 and the text "1" are one id.
    """
    try:
        state = os.stat(path)
        return _read(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:
        reason = str(error)
    raise UsageError(f"--expect-ids {printable(path)}: {reason}")


@lru_cache(maxsize=4)
def _read(path: str, _changed: int, _size: int) -> Mapping[Identity, ExpectedSample]:
    """Read a file of ids. Raises OSError, and ValueError for one that is no list of ids."""
    with open(path, "rb") as file:
        data = file.read().removeprefix(json.UTF8_MARK)
    entries = _of_array(data) if data.lstrip().startswith(b"[") else _of_lines(data)
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


def _of_array(data: bytes) -> Iterator[ExpectedSample]:
    return (ExpectedSample(sample_id, None) for sample_id in json.fast(data))


def _of_lines(data: bytes) -> Iterator[ExpectedSample]:
    for number, line in enumerate(data.decode().splitlines(), start=1):
        text, tab, rows = line.strip().partition("\t")
        if not text:
            continue
        if tab and not (rows.isascii() and rows.isdecimal() and int(rows)):
            raise ValueError(f"line {number:,}: after the tab comes the number of rows")
        sample_id = json.fast(text.encode()) if text.startswith('"') else text
        yield ExpectedSample(sample_id, int(rows) if tab else None)
