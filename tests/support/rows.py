"""Sound rows and aggregates made from the examples, and Hypothesis strategies that spoil them."""

import copy
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from paths import EXAMPLES, PAIRS

import evalstream
from evalstream.formats.eee.exact_path import RowReader
from evalstream.io.output import Output
from evalstream.model.options import Options
from evalstream.parsing.json_values import fast_or_none
from evalstream.reporters.json import JsonReporter
from evalstream.reporters.jsonl import JsonLinesReporter
from evalstream.reporters.text import TextReporter

VERSIONS = ("0.2.0", "0.3.0")
ENGINES = ("rust", "portable")
STEM = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"
PREFERRED = {"0.2.0": "concat", "0.3.0": "json-list"}
REPORTERS = {"text": TextReporter, "json": JsonReporter, "jsonl": JsonLinesReporter}
DETAILS = "detailed_evaluation_results"

Row = dict[str, Any]
Place = tuple[str | int, ...]
bounded = partial(settings, deadline=None, database=None)

COVERED: dict[str, Callable[[str, list[str]], str]] = {
    "concat": lambda raw, texts: raw + "".join(texts),
    "concat-first": lambda raw, texts: raw + (texts[0] if texts else ""),
    "json-str": lambda raw, texts: json.dumps(
        {"raw": raw, "reference": "".join(texts)}, sort_keys=True
    ),
    "json-list": lambda raw, texts: json.dumps(
        {"raw": raw, "reference": texts}, sort_keys=True, separators=(",", ":")
    ),
    "json-list-spaced": lambda raw, texts: json.dumps(
        {"raw": raw, "reference": texts}, sort_keys=True
    ),
}
"""What each recipe hashes, written down as the format's notes define it."""


def sample_hash(row: Row, recipe: str, algorithm: str = "sha256") -> str:
    """Compute the hash of a row's input by the recipe's definition."""
    raw, reference = row["input"]["raw"], row["input"]["reference"]
    texts = [reference] if isinstance(reference, str) else reference
    return hashlib.new(algorithm, COVERED[recipe](raw, texts).encode()).hexdigest()


def hashed(row: Row, recipe: str, algorithm: str = "sha256") -> Row:
    """Return a copy of a row with the hash that a recipe gives."""
    return {**row, "sample_hash": sample_hash(row, recipe, algorithm)}


@lru_cache(maxsize=4)
def _pair(version: str) -> tuple[str, str]:
    if version == "0.2.0":
        folder = EXAMPLES
        rows, aggregate = folder / "run.jsonl", folder / "aggregate.json"
    else:
        folder = PAIRS / version
        (rows,), (aggregate,) = folder.rglob("*.jsonl"), folder.rglob("*.json")
    return rows.read_text(encoding="utf-8"), aggregate.read_text(encoding="utf-8")


def sound_rows(version: str = "0.2.0", count: int = 8) -> list[Row]:
    """Make sound rows: the examples over and over, each with its own id, input and hash."""
    lines = _pair(version)[0].splitlines()
    rows = []
    for number in range(count):
        row = json.loads(lines[number % len(lines)])
        row["sample_id"] = f"sample-{number}"
        row["input"]["raw"] = f"Question {number}: {row['input']['raw']}"
        rows.append(hashed(row, PREFERRED[version]))
    return rows


def line_of(row: Any) -> bytes:
    """Write a row as one line, with its newline."""
    return json.dumps(row).encode() + b"\n"


def valid_row(reader: RowReader, line: bytes) -> Any:
    """Return the row of a line that is certainly well formed, else None."""
    row = fast_or_none(line)
    return row if reader.is_valid(row) else None


def bytes_of(rows: Sequence[Any]) -> bytes:
    """Write rows as lines."""
    return b"".join(map(line_of, rows))


def aggregate_of(version: str, data: bytes, count: int, name: str = f"{STEM}_samples.jsonl") -> Row:
    """Make an aggregate that seals some bytes of rows, and claims the mean of their scores."""
    aggregate: Row = json.loads(_pair(version)[1])
    scores = _scores_in(data)
    is_own = scores == _scores_in(_pair(version)[0].encode())
    if scores and not is_own and len(aggregate["evaluation_results"]) == 1:
        mean = float(sum(map(Fraction, scores)) / len(scores))
        aggregate["evaluation_results"][0]["score_details"] = {"score": mean}
    aggregate[DETAILS] = {
        "format": "jsonl",
        "file_path": f"data/tiny-arithmetic/acme/acorn-7b/{name}",
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(data).hexdigest(),
        "total_rows": count,
    }
    return aggregate


def _scores_in(data: bytes) -> list[float]:
    """Return the scores of the rows that can be read."""
    scores = []
    for line in data.split(b"\n"):
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            score = json.loads(line)["evaluation"]["score"]
            if isinstance(score, (int, float)) and math.isfinite(score):
                scores.append(score)
    return scores


def write_run(
    folder: Path, data: bytes, version: str = "0.2.0", count: int | None = None
) -> tuple[Path, Path]:
    """Write rows and the aggregate that seals them; return both paths, the rows' first."""
    rows, aggregate = folder / f"{STEM}_samples.jsonl", folder / f"{STEM}.json"
    rows.write_bytes(data)
    sealed = data.count(b"\n") if count is None else count
    aggregate.write_text(json.dumps(aggregate_of(version, data, sealed, rows.name)))
    return rows, aggregate


def checked(path: str | Path, **settings_: Any) -> tuple[int, set[tuple[str, int | None]]]:
    """Check an input; return its exit code and the codes found with their lines."""
    report = evalstream.check(path, **settings_)
    return report.exit_code, {(finding.code, finding.line) for finding in report}


def reported(
    path: str | Path, folder: Path, form: str = "text", aggregate: Path | None = None, **named: Any
) -> tuple[int, bytes]:
    """Check an input; return its exit code and the report that a user sees."""
    place = folder / "the-report"
    with Output(os.fspath(place)) as output:
        report = evalstream.check(
            path, aggregate=aggregate, options=Options(**named), reporter=REPORTERS[form](output)
        )
    return report.exit_code, re.sub(rb'"seconds":[0-9.e-]+', b"", place.read_bytes())


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Iterate over the places of all values inside a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*place, key)
        yield from places(inner, (*place, key))


def at(value: Any, place: Place) -> Any:
    """Return the value at a place."""
    for key in place:
        value = value[key]
    return value


ODD_VALUES = st.sampled_from(
    [
        None, True, False, 0, 1, -1, 1.0, 0.5, -0.0, 10**30, "", "text", "0.2.0", "single_turn",
        "agentic", [], ["text"], [1], [None], [[]], {}, {"a": 1}, {"a": "b"}, {"": {}},
        "\u2028\u0085\u2029", "caf\u00e9\U0001f600", "0" * 64, "a" * 32,
    ]
).map(copy.deepcopy)  # fmt: skip
ODD_KEYS = st.sampled_from(["", "a/b", "~0", "note", "raw", "epoch", "num_turns", "metrics", "é"])


@st.composite
def mutants(draw: st.DrawFn, version: str, violations: int = 3) -> Row:
    """Draw a row with up to `faults` random changes at any depth."""
    row: Row = copy.deepcopy(draw(st.sampled_from(sound_rows(version))))
    for _ in range(draw(st.integers(0, violations))):
        everywhere = list(places(row))
        if not everywhere:
            break
        place = draw(st.sampled_from(everywhere))
        owner, key = at(row, place[:-1]), place[-1]
        change = draw(st.sampled_from(["remove", "retype", "null", "rename", "add", "reorder"]))
        _change(draw, change, owner, key)
    return row


def _change(draw: st.DrawFn, change: str, owner: Any, key: Any) -> None:
    if change == "remove":
        del owner[key]
    elif change == "retype":
        owner[key] = draw(ODD_VALUES)
    elif change == "null":
        owner[key] = None
    elif isinstance(owner, list):
        owner.append(draw(ODD_VALUES)) if change == "add" else owner.reverse()
    elif change == "rename":
        owner[draw(ODD_KEYS)] = owner.pop(key)
    elif change == "add":
        owner[draw(ODD_KEYS)] = draw(ODD_VALUES)
    else:
        owner[key] = owner.pop(key)


@st.composite
def spoilt_bytes(draw: st.DrawFn, data: bytes, violations: int = 4) -> bytes:
    """Draw `data` with bytes flipped, deleted and inserted at random places."""
    spoilt = bytearray(data)
    for _ in range(draw(st.integers(1, violations))):
        if not spoilt:
            break
        place = draw(st.integers(0, len(spoilt) - 1))
        change = draw(st.sampled_from(["flip", "delete", "insert", "cut"]))
        if change == "flip":
            spoilt[place] ^= 1 << draw(st.integers(0, 7))
        elif change == "delete":
            del spoilt[place : place + draw(st.integers(1, 40))]
        elif change == "insert":
            spoilt[place:place] = draw(
                st.one_of(
                    st.binary(max_size=6),
                    st.sampled_from(
                        [b"1e999", b"NaN", b'"', b"\n", b"\0\0", b"\xef\xbb\xbf", b"{"]
                    ),
                )
            )
        else:
            del spoilt[place:]
    return bytes(spoilt)
