"""Hash functions by name, without OpenSSL where few bytes are hashed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hashlib import _Hash

WORTH_OPENSSL_BYTES: Final = 1 << 18
"""From this size in bytes it is worth loading OpenSSL, which takes longer than hashing less."""

_OWN: Final = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
"""The module of Python that hashlib uses where it has no OpenSSL."""


def hash_function(algorithm: str, size: int = 0) -> Callable[..., _Hash]:
    """Return the constructor of a hash, as `hashlib` has it, for texts or `size` bytes."""
    made: Callable[..., _Hash]
    if algorithm == "sha256" and size < WORTH_OPENSSL_BYTES and "hashlib" not in sys.modules:
        with suppress(ImportError):  # Python was built without it.
            made = import_module(_OWN).sha256
            return made
    made = getattr(import_module("hashlib"), algorithm)
    return made
