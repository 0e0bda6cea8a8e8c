"""Digests of rows, equal on the fast path and the exact path, and of whole aggregates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import xxhash

from evalstream.formats.eee import row_view
from evalstream.io.digest import digest128
from evalstream.model.block import Bytes
from evalstream.model.data_class import NamedTuple
from evalstream.model.row_record import ABSENT, pack
from evalstream.parsing import json

if TYPE_CHECKING:
    from evalstream.formats.eee.row_groups import RowGroup


from collections.abc import Mapping

from xxhash import xxh3_128_hexdigest

from evalstream.parsing.json import canonical

_MODULUS: Final = 1 << 64
_LONG_BYTES: Final = 241
"""XXH3 computes the digests of texts from this length on in one way, which the scanner knows."""


class Shown(NamedTuple):
    """The content of a row besides its ids.

    `input` is equal for rows with the same input, None if the row has none; `output` digests the
    choices and the answer (0: not read).
    """

    input: bytes | None
    metadata: Any
    output: int
    score: Any


def sample_digest(sample: Any, group: RowGroup) -> bytes | None:
    """Return the digest of a sample_id within its evaluation, None if it cannot have one.

    A row whose evaluation_name is not text has none either, as its evaluation is unknown. The
    second half of a digest does not depend on the evaluation_name.
    """
    if not group.is_named:
        return None
    if sample.__class__ is str:
        return digest128(sample.encode(errors="surrogatepass"), group.name, group.evaluation)
    if isinstance(sample, float) and sample.is_integer():
        sample = int(sample)  # JSON Schema counts 1.0 as an integer
    if isinstance(sample, int):
        # The integer 1 and the text "1" are different samples.
        seeds = ~group.name % _MODULUS, ~group.evaluation % _MODULUS
        return digest128(f"{sample}".encode(), *seeds)
    return None


def answer_digest(answer: Any) -> int:
    """Return a number that is equal for rows with the same model output."""
    return xxhash.xxh3_64_intdigest(json.canonical(answer))


def choices_digest(choices: str) -> int:
    """Return a number that is equal for rows with the same choices, 0 for none."""
    return xxhash.xxh64_intdigest(choices.encode(errors="surrogatepass")) if choices else 0


def record(
    number: int, offset: int, line: Bytes, key: bytes | None, group: RowGroup, shown: Shown
) -> bytes:
    """Pack one row: its line and offset, and digests of its score, input and output.

    `key` digests its sample, None if the row has no sample id.
    """
    content, score = content_digest(line), to_double(shown.score)
    ids = group.place, offset, group.name, score
    if key is None:
        return pack(number, digest128(line), ABSENT, content, 0, 0, 0, *ids)
    return pack(
        number,
        key,
        ABSENT if shown.input is None else digest128(shown.input, group.evaluation),
        content,
        shown.output,
        row_view.mark_digest(row_view.repeat_mark(shown.metadata)),
        group.result,
        *ids,
    )


def content_digest(line: Bytes) -> int:
    """Return a number that is equal for equal lines, as the scanner computes it."""
    digest = xxhash.xxh64_intdigest if len(line) < _LONG_BYTES else xxhash.xxh3_64_intdigest
    return digest(line)


def to_double(score: Any) -> float:
    """Return a score as a double, NaN if a double cannot hold it exactly."""
    if not isinstance(score, (int, float)):
        return math.nan
    try:
        double = float(score)
    except OverflowError:
        return math.nan
    return double if double == score else math.nan


_DETAILS: Final = "detailed_evaluation_results"
_OF_ONE_COPY: Final = frozenset({"evaluation_id", "retrieved_timestamp"})
"""Members that differ between copies of a record, at any depth."""

_CONTAINERS: Final = frozenset({dict, list})


def record_digest(document: Mapping[str, Any]) -> str | None:
    """Digest an aggregate, with the same result for all copies of its record.

    The order of keys and of list items does not count, nor do evaluation_id and retrieved_timestamp
    at any depth, nor file_path, which names the location of the rows. The digest is None if the
    document nests deeper than Python can follow.
    """
    rest = dict(document)
    details = rest.get(_DETAILS)
    if isinstance(details, dict):
        rest[_DETAILS] = {name: value for name, value in details.items() if name != "file_path"}
    try:
        return xxh3_128_hexdigest(canonical(_without_order(rest)))
    except RecursionError:
        return None


def _without_order(value: Any) -> Any:
    """Return an object or list without what differs between copies; other values unchanged.

    A list of strings is sorted. Any other list becomes the sorted digests of its items, so a list
    in a list is written once, not once for each list around it.
    """
    if value.__class__ is dict:
        if _OF_ONE_COPY.isdisjoint(value) and _CONTAINERS.isdisjoint(map(type, value.values())):
            return value
        return {
            name: _without_order(member) if member.__class__ in _CONTAINERS else member
            for name, member in value.items()
            if name not in _OF_ONE_COPY
        }
    if value.__class__ is not list:
        return value
    if set(map(type, value)) == {str}:
        return sorted(value)
    return sorted(xxh3_128_hexdigest(canonical(_without_order(item))) for item in value)
