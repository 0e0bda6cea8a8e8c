"""Digests: running checksums of a file's bytes and the recipes of sample_hash."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from io import RawIOBase
from json.encoder import encode_basestring_ascii
from typing import Final

Reference = str | Sequence[str]

ALGORITHM_OF_LENGTH: Final = {64: "sha256", 32: "md5"}
"""Which algorithm gives a digest of so many hex digits."""

ALGORITHMS: Final = tuple(ALGORITHM_OF_LENGTH.values())
CHUNK_BYTES: Final = 1 << 22
_HEX = frozenset("0123456789abcdef")


def concat(raw: str, reference: Reference) -> bytes:
    """Join the input and all references with nothing between (Inspect's converter)."""
    return (raw + (reference if isinstance(reference, str) else "".join(reference))).encode()


def concat_first(raw: str, reference: Reference) -> bytes:
    """Join the input and the first reference, or nothing (HELM's converter)."""
    if isinstance(reference, str):
        return (raw + reference).encode()
    return (raw + (reference[0] if reference else "")).encode()


def json_str(raw: str, reference: Reference) -> bytes:
    """Write input and reference text as sorted, spaced JSON (lm-eval's converter)."""
    text = reference if isinstance(reference, str) else "".join(reference)
    return (
        f'{{"raw": {encode_basestring_ascii(raw)}, "reference": {encode_basestring_ascii(text)}}}'
    ).encode()


def json_list(raw: str, reference: Reference) -> bytes:
    """Write input and list of references as sorted, compact JSON (upstream since 0.3.0)."""
    listed = ",".join(map(encode_basestring_ascii, _listed(reference)))
    return f'{{"raw":{encode_basestring_ascii(raw)},"reference":[{listed}]}}'.encode()


def json_list_spaced(raw: str, reference: Reference) -> bytes:
    """Write input and list of references as sorted, spaced JSON (LightEval's converter)."""
    listed = ", ".join(map(encode_basestring_ascii, _listed(reference)))
    return f'{{"raw": {encode_basestring_ascii(raw)}, "reference": [{listed}]}}'.encode()


Recipe = Callable[[str, Reference], bytes]

RECIPES: Final[dict[str, Recipe]] = {
    "concat": concat,
    "concat-first": concat_first,
    "json-str": json_str,
    "json-list": json_list,
    "json-list-spaced": json_list_spaced,
}
"""The ways in which sample_hash is computed in the wild, by name."""


def explained_by(
    digest: str, raw: str, reference: Reference, recipes: Sequence[str] = tuple(RECIPES)
) -> frozenset[str]:
    """Return the names of the recipes that give this hex digest for this input.

    The algorithm follows from the digest's length. A recipe that would have to encode half of
    a surrogate pair gives no digest; those that escape it do.
    """
    compute = getattr(hashlib, ALGORITHM_OF_LENGTH[len(digest)])

    def gives(name: str) -> bool:
        try:
            return bool(compute(RECIPES[name](raw, reference)).hexdigest() == digest)
        except UnicodeEncodeError:
            return False

    return frozenset(filter(gives, recipes))


def normalised(digest: str) -> str:
    """Return a digest in lower case and without a `sha256:` or `md5:` prefix or spaces."""
    bare = digest.strip().lower()
    for algorithm in ALGORITHMS:
        bare = bare.removeprefix(f"{algorithm}:")
    return bare


def is_hex_digest(text: str) -> bool:
    """Tell whether a text is a lower-case hex digest of a length we know."""
    return len(text) in ALGORITHM_OF_LENGTH and _HEX.issuperset(text)


class RunningDigest:
    """Digests of bytes that come piece by piece, in several algorithms at once."""

    def __init__(self, algorithms: Sequence[str]) -> None:
        self._running = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}

    def update(self, data: bytes | memoryview) -> None:
        """Take the next bytes."""
        for running in self._running.values():
            running.update(data)

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


class FileDigest(threading.Thread):
    """Digest the first `size` bytes of an open file beside the workers that check its rows."""

    def __init__(self, file: RawIOBase, size: int, algorithms: Sequence[str]) -> None:
        super().__init__(name="evalstream-digest", daemon=True)
        self._file, self._size, self._digest = file, size, RunningDigest(algorithms)
        self._error: OSError | None = None
        self._cancelled = False

    def run(self) -> None:
        """Read and digest; an error is kept for `result`."""
        try:
            self._read()
        except OSError as error:
            self._error = error

    def cancel(self) -> None:
        """Stop early; the result is then worthless."""
        self._cancelled = True

    def result(self) -> dict[str, str]:
        """Wait for the end and return the hex digests. Raises OSError of the reading."""
        self.join()
        if self._error is not None:
            raise self._error
        return self._digest.result()

    def _read(self) -> None:
        buffer = memoryview(bytearray(min(CHUNK_BYTES, max(self._size, 1))))
        left = self._size
        self._file.seek(0)
        while left and not self._cancelled:
            count = self._file.readinto(buffer[:left])
            if not count:
                raise OSError("the file became shorter while it was read")
            self._digest.update(buffer[:count])
            left -= count


def _listed(reference: Reference) -> Sequence[str]:
    return (reference,) if isinstance(reference, str) else reference
