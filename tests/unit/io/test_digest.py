"""The digest that a thread computes, and what is said where it differs."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest
from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.io import digest as mismatch
from evalstream.io.digest import MOST_WAITING, BackgroundDigest, RunningDigest
from evalstream.io.file import FileSource


@bounded(max_examples=examples(100))
@given(pieces=st.lists(st.binary(max_size=50), max_size=30), start=st.integers(0, 30))
def test_the_digest_is_that_of_all_pieces(pieces: list[bytes], start: int) -> None:
    digest = BackgroundDigest(RunningDigest(["sha256", "md5"]))
    for place, piece in enumerate(pieces):
        if place == start:
            digest.start()
        digest.add(piece)
    whole = b"".join(pieces)
    expected = {name: hashlib.new(name, whole).hexdigest() for name in ("sha256", "md5")}
    assert digest.result() == expected
    digest.close()
    assert "evalstream-digest" not in {thread.name for thread in threading.enumerate()}


def test_without_another_thread_this_one_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    digest = BackgroundDigest(RunningDigest(["sha256"]))
    digest.start()
    digest.add(b"row")
    assert digest.result() == {"sha256": hashlib.sha256(b"row").hexdigest()}
    digest.close()


def test_few_pieces_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = BackgroundDigest(RunningDigest(["md5"]))
    digest.start()
    behind = []
    for number in range(200):
        digest.add(bytes(1 << 14))
        behind.append(number + 1 - digest._done)
    assert max(behind) <= MOST_WAITING
    digest.close()


SEALED = b'{"a": 1}\n{"b": 2}\n{"c": 3}\n'
ADDED = "a final newline was added"
MISSING = "its final newline is missing"
APPENDED = "its first 3 lines match, so rows were appended"
TO_DOS = "its line ends were changed from LF to CR LF"
TO_UNIX = "its line ends were changed from CR LF to LF"
DOS = SEALED.replace(b"\n", b"\r\n")

CASES = [
    (SEALED, SEALED[:-1], False, MISSING),
    (SEALED, SEALED + b"\n", False, ADDED),
    (SEALED, SEALED + b"{}\n", True, APPENDED),
    (SEALED, SEALED + b"{}", True, APPENDED),
    (SEALED, SEALED + b"{}\n", False, None),
    (SEALED, DOS, False, TO_DOS),
    (SEALED, b'{"a": 1}\r\n{"b": 2}\n{"c": 3}\n', False, TO_DOS),
    (DOS, SEALED, False, TO_UNIX),
    (DOS, SEALED, True, TO_UNIX),
    (SEALED, SEALED.replace(b"1", b"2"), True, None),
    (SEALED, b"", True, None),
]


def diagnosed(path: Path, sealed: bytes, found: bytes, *, grew: bool) -> str | None:
    path.write_bytes(found)
    source = FileSource(str(path), 1000)
    source.start_digest(["sha256"])
    source.checksums()
    declared = hashlib.sha256(sealed).hexdigest()
    reason = source.diagnose("sha256", declared, grew=grew)
    source.close()
    return reason


@each(("sealed", "found", "grew", "reason"), CASES)
def test_a_small_file_is_read_again(
    tmp_path: Path, sealed: bytes, found: bytes, reason: str | None, *, grew: bool
) -> None:
    assert diagnosed(tmp_path / "rows", sealed, found, grew=grew) == reason


@each(("sealed", "found", "grew", "reason"), CASES)
def test_a_large_file_is_read_again_only_for_rows_that_may_have_been_appended(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sealed: bytes,
    found: bytes,
    reason: str | None,
    *,
    grew: bool,
) -> None:
    monkeypatch.setattr(mismatch, "LINE_ENDS_BYTES", 0)
    known = reason if grew or reason in (ADDED, MISSING) else None
    assert diagnosed(tmp_path / "rows", sealed, found, grew=grew) == known


@bounded(max_examples=examples(200))
@given(pieces=st.lists(st.sampled_from([b"", b"\n", b"a", b"b\n", b"c\nd"]), max_size=6))
def test_the_digest_without_a_final_newline(pieces: list[bytes]) -> None:
    running, whole = RunningDigest(["md5"]), b"".join(pieces)
    for piece in pieces:
        running.update(piece)
    assert running.result() == {"md5": hashlib.md5(whole).hexdigest()}
    expected = {"md5": hashlib.md5(whole[:-1]).hexdigest()} if whole.endswith(b"\n") else {}
    assert running.without_newline() == expected
