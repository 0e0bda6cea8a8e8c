"""What a row is, as one record of digests, whichever way the row was read."""

from __future__ import annotations

from typing import Any, Final

import xxhash

from evalstream import parsing
from evalstream.digest import wide_digest
from evalstream.formats import eee
from evalstream.identities import ABSENT, pack
from evalstream.model import Bytes
from evalstream.scope import Scope

_MODULUS: Final = 1 << 64


def sample_digest(sample: Any, scope: Scope) -> bytes | None:
    """Return the digest of a sample_id within its evaluation, None for what can be none."""
    if sample.__class__ is str:
        return wide_digest(sample.encode(errors="surrogatepass"), scope.seed)
    if isinstance(sample, int):
        # The integer 1 and the text "1" are different samples.
        return wide_digest(f"{sample}".encode(), ~scope.seed % _MODULUS)
    return None


def answer_digest(answer: Any) -> int:
    """Return a number that rows share in which the model said the same."""
    return xxhash.xxh3_64_intdigest(parsing.canonical(answer))


def record(
    number: int,
    offset: int,
    line: Bytes,
    key: bytes | None,
    scope: Scope,
    shown: str | None,
    metadata: Any,
    answer: int,
) -> bytes:
    """Pack one row: its line and offset, and what it scores, shows and says.

    `key` digests its sample, None where it names none; `shown` is a text that rows with the
    same input share, None where a row shows none.
    """
    content = xxhash.xxh64_intdigest(line)
    if key is None:
        return pack(number, wide_digest(line), ABSENT, content, 0, 0, 0, scope.place, offset)
    mark = eee.repeat_mark(metadata)
    return pack(
        number,
        key,
        ABSENT if shown is None else wide_digest(shown.encode(errors="surrogatepass"), scope.seed),
        content,
        answer,
        xxhash.xxh64_intdigest(mark.encode(errors="surrogatepass")) if mark else 0,
        scope.result,
        scope.place,
        offset,
    )
