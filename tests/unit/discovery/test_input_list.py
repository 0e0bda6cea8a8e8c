"""Inputs that are named in a list."""

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from paths import REPOSITORY

from evalstream.discovery import input_list
from evalstream.discovery.input_list import inputs_from
from evalstream.model.errors import UsageError


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    return tmp_path / "list"


def named(place: Path, text: bytes) -> list[str]:
    """Return what a list names."""
    place.write_bytes(text)
    return list(inputs_from(str(place)))


@each(
    ("text", "expected"),
    [
        (b"a.jsonl\nb/c.json\n", ["a.jsonl", "b/c.json"]),
        (b"a.jsonl\nb/c.json", ["a.jsonl", "b/c.json"]),
        (b"a.jsonl\r\nb/c.json\r\n", ["a.jsonl", "b/c.json"]),
        (b"\n  \n\r\na\n\n\n", ["a"]),
        (b" a \n\tb\n", [" a ", "\tb"]),
        (b"# a\n#b\n", ["# a", "#b"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        (b"-\n./-\n", ["./-", "./-"]),
        (b"s3://bucket/x/\ndata/**/*.json\n", ["s3://bucket/x/", "data/**/*.json"]),
        (b"a\xff.jsonl\n", [os.fsdecode(b"a\xff.jsonl")]),
        ("é\u2028ü\n".encode(), ["é\u2028ü"]),
        (b"a\0b\nc\0\0-\0", ["a", "b\nc", "./-"]),
        (b"a\r\0b", ["a\r", "b"]),
        (b"a\0\n", ["a"]),
    ],
)
def test_lists_name_inputs(listed: Path, text: bytes, expected: list[str]) -> None:
    assert named(listed, text) == expected


@each("text", [b"", b"\n \r\n", b"\0\0"])
def test_a_list_that_names_nothing_makes_no_sense(listed: Path, text: bytes) -> None:
    with pytest.raises(UsageError, match="names nothing"):
        named(listed, text)


def test_what_is_no_list_makes_no_sense(listed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="UTF-16"):
        named(listed, "a\nb\n".encode("utf-16"))
    monkeypatch.setattr(input_list, "LONGEST_NAME", 100_000)
    with pytest.raises(UsageError, match="100,000 bytes"):
        named(listed, b"x" * 200_000)


def test_a_list_that_cannot_be_read_is_told_at_once(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", f"{tmp_path}/a\0b"):
        with pytest.raises(UsageError, match="cannot be read"):
            inputs_from(str(path)) if path != tmp_path else list(inputs_from(str(path)))


def _can_be_listed(name: bytes) -> bool:
    return b"\0" not in name and bool(name.strip()) and not name.startswith((b"\xff", b"\xfe"))


@given(st.lists(st.binary(min_size=1).filter(_can_be_listed)))
def test_any_name_can_be_listed_with_nuls(names: list[bytes]) -> None:
    pieces = iter([*(bytes([byte]) for byte in b"".join(name + b"\0" for name in names)), b""])
    told = [name for name in input_list._names(lambda: next(pieces, b""), "a list") if name.strip()]
    assert told == names


def test_long_lists_are_read_piece_by_piece(listed: Path) -> None:
    line = b"data/some/folder/with/a/longer/name/run_%d_samples.jsonl\n"
    listed.write_bytes(b"".join(line % number for number in range(50_000)))
    tracemalloc.start()
    count = sum(1 for _ in inputs_from(str(listed)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 50_000
    assert peak < 2 << 20


@each("pieces", [[b"a\0", b"b\0"], [b"a\nb", b"\n"], [b"a", b"\0b\nc\0"]])
def test_a_list_may_come_through_a_pipe(pieces: list[bytes]) -> None:
    program = (
        "from evalstream.discovery.input_list import inputs_from; print(list(inputs_from('-')))"
    )
    whole = b"".join(pieces)
    expected = whole.split(b"\0" if b"\0" in whole else b"\n")[:-1]
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    ) as process:
        assert process.stdin is not None
        for piece in pieces:
            process.stdin.write(piece)
            process.stdin.flush()
        told, _ = process.communicate(timeout=60)
    assert told.decode().strip() == repr([os.fsdecode(name) for name in expected])


def test_standard_input_that_is_closed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match="standard input cannot be read"):
        inputs_from("-")


def test_the_list_is_closed_by_who_stops_early(listed: Path) -> None:
    listed.write_bytes(b"a\nb\n")
    names = inputs_from(str(listed))
    assert isinstance(names, Iterator)
    assert next(names) == "a"
    del names
