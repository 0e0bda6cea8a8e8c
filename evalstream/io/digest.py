"""Running checksums of a file's bytes, and digests that distinguish texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from xxhash import xxh64_digest

from evalstream.model.block import Bytes

_OTHER_SEED: Final = 0x27D4EB2F165667C5
"""Seed of the second half of a 128-bit digest; the scanner uses the same value."""


def digest128(data: Bytes, seed: int = 0, other: int | None = None) -> bytes:
    """Return a 128-bit digest made of two XXH64, not safe against an attacker.

    The second half has its own seed where `other` is given.
    """
    second = seed if other is None else other
    return xxh64_digest(data, seed) + xxh64_digest(data, second ^ _OTHER_SEED)


class RunningDigest:
    """Digests of consecutive pieces of bytes, in several algorithms at once."""

    def __init__(self, algorithms: Sequence[str]) -> None:
        self._running = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}
        self._before_newline: dict[str, str] = {}

    def update(self, data: bytes | memoryview) -> None:
        """Add the next bytes."""
        view, is_ended = memoryview(data), bool(data) and data[-1] == ord("\n")
        for running in self._running.values():
            running.update(view[:-1] if is_ended else view)
        if is_ended:
            self._before_newline = self.result()
            for running in self._running.values():
                running.update(b"\n")
        elif data:
            self._before_newline = {}

    def without_newline(self) -> dict[str, str]:
        """Return the hex digests as they would be without a final newline; empty without one."""
        return self._before_newline

    def result(self) -> dict[str, str]:
        """Return the hex digests so far, by algorithm."""
        return self.with_more(b"")

    def with_more(self, data: bytes) -> dict[str, str]:
        """Return the hex digests as they would be if `data` came next."""
        digests = {}
        for name, running in self._running.items():
            continued = running.copy()
            continued.update(data)
            digests[name] = continued.hexdigest()
        return digests
