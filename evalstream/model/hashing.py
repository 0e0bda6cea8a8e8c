"""Hash functions by name, without OpenSSL where few bytes are hashed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hashlib import _Hash

WORTH_OPENSSL_BYTES: Final = 1 << 18
"""From this size in bytes it is worth loading OpenSSL, which takes longer than hashing less."""

_OWN: Final = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
"""The module of Python that hashlib uses where it has no OpenSSL."""


def hash_function(algorithm: str, size: int = 0) -> Callable[..., _Hash]:
    """Return the constructor of a hash, as `hashlib` has it, for texts or `size` bytes."""
    loaded: Any = sys.modules.get("hashlib")
    if loaded is None and algorithm == "sha256" and size < WORTH_OPENSSL_BYTES:
        with suppress(ImportError):  # Python was built without it.
            loaded = import_module(_OWN)
    made: Callable[..., _Hash] = getattr(loaded or import_module("hashlib"), algorithm)
    return made
