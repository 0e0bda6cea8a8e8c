"""The identity of a finding in a baseline: its code, its place in a file, its sample and values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from evalstream.io.remote import is_remote
from evalstream.io.spill_table import decode_name, encode_name
from evalstream.model.finding import Finding, KnownFinding
from evalstream.model.run import STDIN
from evalstream.parsing.json import dumps, read_back

Key = tuple[bytes, bytes, bytes, bytes, bytes]
"""File, code, pointer, sample id and digest of the values, as a table sorts them."""

DIGEST_BYTES: Final = 16

_ROW_OF_ARRAY: Final = re.compile(r"^/\d+(?=/|$)")
"""The number of a row in an array, with which a pointer begins."""


class FindingPlaces:
    """Names files as the baseline of a path does: below its folder relative to that."""

    def __init__(self, path: str) -> None:
        self._home = parent_folder(path)
        self.of = lru_cache(maxsize=1_000)(self._place)

    def rebase(self, place: str, folder: str) -> str:
        """Return the name of a file that a baseline in another folder names."""
        is_path = place != STDIN and not is_remote(place)
        return self._place(os.path.join(folder, place) if is_path else place)

    def _place(self, name: str) -> str:
        if name == STDIN or is_remote(name):
            return name
        path, above = os.path.abspath(name), os.path.join(self._home, "")
        if path == self._home:
            return os.curdir
        return path.removeprefix(above) if path.startswith(above) else path


def parent_folder(path: str) -> str:
    """Return the folder of a file."""
    return os.path.dirname(os.path.abspath(path))


def upwards(place: bytes) -> Iterator[bytes]:
    """Iterate over the name of a file and those of the folders above it."""
    yield place
    above = place
    while above := above.rpartition(b"/")[0]:
        yield above
    if not place.startswith(b"/"):
        yield os.curdir.encode()


def finding_key(place: str, one: Finding, secret: bytes) -> Key:
    """Return what identifies a finding; `secret` is the key of the digest of its values."""
    pointer = one.pointer or ""
    if one.offset is not None:
        # The number of a row is not part of it, in an array as on a line.
        pointer = _ROW_OF_ARRAY.sub("", pointer)
    return _key(place, one, pointer, _digest_values(one, secret))


def key_of_known(place: str, one: KnownFinding) -> Key:
    """Return what identifies a finding of a baseline."""
    return _key(place, one, one.pointer or "", (one.values or "").encode())


def _key(place: str, one: Finding | KnownFinding, pointer: str, values: bytes) -> Key:
    sample = b"" if one.sample_id is None else dumps(one.sample_id)
    return encode_name(place), encode_name(one.code), encode_name(pointer), sample, values


def _digest_values(finding: Finding, secret: bytes) -> bytes:
    """Return the keyed digest of what was found and expected; empty where neither is there.

    The name of the file itself, which depends on the current folder, is no such value.
    """
    values = {"expected": finding.expected, "found": finding.found}
    there = {
        name: value for name, value in values.items() if value is not None and value != finding.file
    }
    if not there:
        return b""
    text = dumps(there)
    return blake2b(text, digest_size=DIGEST_BYTES, key=secret).hexdigest().encode()


def known_finding(key: Key, count: int) -> KnownFinding:
    """Return the finding of a key, and how many occurrences there are."""
    file, code, pointer, sample, values = key
    return KnownFinding(
        decode_name(code),
        decode_name(file),
        decode_name(pointer) or None,
        read_back(sample) if sample else None,
        count,
        values.decode() or None,
    )
