"""Digests that link rows of different runs: of evaluation, result, benchmark, sample and input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeGuard

from xxhash import xxh64_intdigest

from evalstream.parsing import json

NO_INPUT_HASH: Final = 0
"""The input digest of a row without an input; the cross-run database uses the same value."""

GREATEST_HASH64: Final = (1 << 64) - 1
"""The greatest value of a digest."""

_HALF: Final = 32
_LINES: Final = (1 << 31) - 1
_ELEMENTS: Final = (1 << _HALF) - 1


class LinkKey(NamedTuple):
    """Digests of the ids that all rows of a group share.

    Rows are of one `evaluation` by its evaluation_id, and of one `result` where evaluation_name and
    evaluation_result_id are the same as well. They are of one `benchmark`, also across evaluations,
    where evaluation_name, the first component of evaluation_id and the data of the joined result
    are the same.
    """

    evaluation: int
    result: int
    benchmark: int


def make_link_key(
    row: Mapping[str, Any], claimed: str | None, result: int, data: Sequence[str | None]
) -> LinkKey | None:
    """Return the link key of a row, or None where its ids are blank or not strings.

    `claimed` is the evaluation_id of the row's aggregate. It takes precedence over the id in the
    row, because converters write file names there. `result` digests the row's evaluation_result_id,
    and `data` is the dataset, repository and split of the result that the row joins.
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
    """Return the digest of a sample_id; the integer 1 and the string "1" are different samples."""
    if not isinstance(sample, str):
        return hash64(f"{sample}", 1)
    try:
        return xxh64_intdigest(sample.encode())
    except UnicodeEncodeError:
        return hash64(sample)


def input_hash64(sample: int, raw: str, reference: str | Sequence[str], choices: str) -> int:
    """Return the digest of an input, seeded with the digest of its sample.

    Inputs are only compared within one sample, and sums of these digests tell which sample has
    which input. 64 bits are enough: of a billion compared pairs, one is wrong with a probability of
    one in 18 billion.
    """
    if reference.__class__ is not str:
        reference = reference[0] if len(reference) == 1 else "\x1e".join(reference)
    rest = f"{reference}\x1f{choices}" if choices else reference
    try:
        # Joining a long text takes longer than hashing its parts in turn.
        return xxh64_intdigest(rest.encode(), xxh64_intdigest(raw.encode(), sample)) or 1
    except UnicodeEncodeError:
        return hash64(rest, hash64(raw, sample)) or 1


def pack_element_position(line: int, number: int) -> int:
    """Pack the line and the number of an array element into one 64-bit number."""
    return min(line, _LINES) << _HALF | min(number, _ELEMENTS)


def unpack_element_position(word: int) -> tuple[int, int]:
    """Return the line and the number of an array element from its 64-bit number."""
    return word >> _HALF, word & _ELEMENTS


def is_name(value: Any) -> TypeGuard[str]:
    """Tell whether an id or a name is a string that is not blank."""
    return isinstance(value, str) and bool(value) and not value.isspace()


def hash64(text: str, seed: int = 0) -> int:
    """Digest a string, which may contain lone surrogates."""
    return xxh64_intdigest(text.encode(errors="surrogatepass"), seed)
