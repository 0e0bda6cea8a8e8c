"""What a row is, as one record of digests, whichever way the row was read."""

from __future__ import annotations

from typing import Any, Final

import xxhash

from evalstream import parsing
from evalstream.formats import eee
from evalstream.identities import ABSENT, pack
from evalstream.model import Bytes
from evalstream.scope import Scope

_MODULUS: Final = 1 << 64


def sample_digest(sample: Any, scope: Scope) -> bytes | None:
    """Return the digest of a sample_id within its evaluation, None for what can be none."""
    if sample.__class__ is str:
        return xxhash.xxh3_128_digest(sample.encode(errors="surrogatepass"), scope.seed)
    if isinstance(sample, int):
        # The integer 1 and the text "1" are different samples.
        return xxhash.xxh3_128_digest(f"{sample}".encode(), ~scope.seed % _MODULUS)
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
    digest = xxhash.xxh3_128_digest
    content = digest(line)
    if key is None:
        return pack(number, content, content, ABSENT, 0, 0, 0, scope.place, offset)
    mark = eee.repeat_mark(metadata)
    return pack(
        number,
        key,
        content,
        ABSENT if shown is None else digest(shown.encode(errors="surrogatepass"), scope.seed),
        answer,
        xxhash.xxh3_64_intdigest(mark.encode(errors="surrogatepass")) if mark else 0,
        scope.result,
        scope.place,
        offset,
    )
