"""Digests that identify samples across runs, of whatever format the runs are."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from xxhash import xxh64_intdigest

from evalstream.io.digest import digest128
from evalstream.model.sample_record import UNKNOWN
from evalstream.parsing import json

APART: Final = b"\xff"
"""A byte that UTF-8 does not use, between texts that are digested together."""

_WORDS: Final = struct.Struct(">QQ")


class InputDigests:
    """The digests of an input: its identity, its question and the input itself.

    An identity is two digests of 64 bits, which are the same for the same raw input, references and
    choices. A question is the raw input with the choices.
    """

    __slots__ = ("high", "input", "low", "question")

    def __init__(self, raw: str, references: Sequence[str], choices: Sequence[str]) -> None:
        question = encode_text(raw)
        covered = b"".join([question, *(APART + encode_text(text) for text in references)])
        options = b"".join([APART + encode_text(text) for text in choices])
        seed = xxh64_intdigest(options) if options else 0
        self.high, self.low = text_identity(covered, seed)
        self.input = bytes_digest(covered, seed)
        self.question = bytes_digest(question, seed)


def text_identity(text: bytes, seed: int = 0) -> tuple[int, int]:
    """Return both halves of the identity that a text gives."""
    high, low = _WORDS.unpack(digest128(text, seed))
    return high, low


def bytes_digest(text: bytes, seed: int = 0) -> int:
    """Return the digest of a text, which is never UNKNOWN."""
    return xxh64_intdigest(text, seed) or UNKNOWN + 1


def text_digest(text: Any) -> int:
    """Return the digest of a text such as a prompt, UNKNOWN for none and for an empty one."""
    return bytes_digest(encode_text(text)) if text and isinstance(text, str) else UNKNOWN


def sample_text(sample: Any) -> bytes:
    """Return a sample id as text: the number 1 and the text "1" are the same sample."""
    if isinstance(sample, str):
        return encode_text(sample)
    if isinstance(sample, float) and sample.is_integer():
        sample = int(sample)  # JSON Schema counts 1.0 as an integer
    return b"" if sample is None else json.canonical(sample)


def cluster_digest(value: Any) -> int:
    """Return the digest of the value by which samples are clustered, UNKNOWN for null."""
    return UNKNOWN if value is None else bytes_digest(json.canonical(value))


def encode_text(text: str) -> bytes:
    """Return the bytes of a text, which may contain lone surrogates."""
    return text.encode(errors="surrogatepass")
