"""What rows have in common with those of other runs, and what tells them apart: as digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard

from xxhash import xxh64_intdigest

from evalstream.parsing import json

UNSHOWN: Final = 0
"""Stands for the input of a row that shows none; the database knows it by its value."""

GREATEST_HASH64: Final = (1 << 64) - 1
"""The greatest word."""

_HALF: Final = 32
_LINES: Final = (1 << 31) - 1
_ELEMENTS: Final = (1 << _HALF) - 1


class LinkKey(NamedTuple):
    """What the rows of one group have in common, as digests.

    Rows are of one `evaluation` by its evaluation_id, and of one `result` where
    evaluation_name and evaluation_result_id are the same as well. They are of one `benchmark`,
    whoever's evaluation it is, where evaluation_name, the first component of evaluation_id and
    what the joined result says of its data are the same.
    """

    evaluation: int
    result: int
    benchmark: int


def link_key_of(
    row: Mapping[str, Any], claimed: str | None, result: int, data: Sequence[str | None]
) -> LinkKey | None:
    """Return the ties of a row, None where its ids are no texts or blank.

    `claimed` is the evaluation_id of the row's aggregate, which is the evaluation's even where
    rows carry others: converters put names of files there. `result` digests the row's
    evaluation_result_id, and `data` is the dataset, repository and split of the result that it
    joins.
    """
    evaluation = claimed if is_name(claimed) else row.get("evaluation_id")
    name = row.get("evaluation_name")
    if not is_name(evaluation) or not is_name(name):
        return None
    return LinkKey(
        hash64(evaluation),
        xxh64_intdigest(json.canonical([evaluation, name, result])),
        xxh64_intdigest(json.canonical([evaluation.partition("/")[0], name, *data])),
    )


def sample_hash64(sample: str | int) -> int:
    """Return the digest of a sample_id; the integer 1 and the text "1" are different samples."""
    if not isinstance(sample, str):
        return hash64(f"{sample}", 1)
    try:
        return xxh64_intdigest(sample.encode())
    except UnicodeEncodeError:
        return hash64(sample)


def input_hash64(sample: int, raw: str, reference: str | Sequence[str], choices: str) -> int:
    """Return the digest of an input that is shown for a sample, given by its own digest.

    It depends on the sample since inputs are only compared within one, and sums of such digests
    tell which sample has which input. 64 bits do: of a billion pairs that are compared, one is
    mistaken with a chance of one in 18 billion.
    """
    if reference.__class__ is not str:
        reference = reference[0] if len(reference) == 1 else "\x1e".join(reference)
    rest = f"{reference}\x1f{choices}" if choices else reference
    try:
        # One after the other: to put a long text together takes longer than to hash it.
        return xxh64_intdigest(rest.encode(), xxh64_intdigest(raw.encode(), sample)) or 1
    except UnicodeEncodeError:
        return hash64(rest, hash64(raw, sample)) or 1


def element_place(line: int, number: int) -> int:
    """Return one word for where an element of an array stands: its line and its number."""
    return min(line, _LINES) << _HALF | min(number, _ELEMENTS)


def element_of(word: int) -> tuple[int, int]:
    """Return the line and the number of an element of an array."""
    return word >> _HALF, word & _ELEMENTS


def is_name(value: Any) -> TypeGuard[str]:
    """Tell whether an id or a name is a text, and not blank."""
    return isinstance(value, str) and bool(value) and not value.isspace()


def hash64(text: str, seed: int = 0) -> int:
    """Digest a text, which may have half of a surrogate pair."""
    return xxh64_intdigest(text.encode(errors="surrogatepass"), seed)
