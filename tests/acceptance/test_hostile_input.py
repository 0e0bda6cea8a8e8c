"""Hostile inputs: what a user sees of each, and the exit code."""

import errno
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from depth import deep
from each import each
from paths import REPOSITORY
from rows import aggregate_of, bytes_of, line_of, reported, sound_rows, write_run

import evalstream
from evalstream.engine import row_pass
from evalstream.formats.eee import block_pass
from evalstream.formats.eee.sample_hash import RECIPES
from evalstream.io import file as file_source
from evalstream.io.file import FileSource
from evalstream.model.block import MEBIBYTE
from evalstream.model.errors import UsageError

LINES = [line_of(row) for row in sound_rows()]
GOOD, CHECKED = b"".join(LINES), ("ES0", "ES1", "ES2", "ES4", "ES504")
LONGER = bytes_of(sound_rows(count=60))
PEAK = """
import sys
import evalstream

def peak():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except OSError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

if __name__ == "__main__":
    before = peak()
    report = evalstream.check(sys.argv[1], jobs=int(sys.argv[2]), max_line_bytes=int(sys.argv[3]))
    print(report.exit_code, report.runs[0].rows, report.counts.get("ES003"), peak() - before)
"""
See = Callable[..., tuple[int, str]]


@pytest.fixture
def see(tmp_path: Path) -> See:
    """Check some bytes, or a path; return the exit code and the text report."""

    def seen(data: bytes | Path, name: str = "rows.jsonl", **options: Any) -> tuple[int, str]:
        path = data if isinstance(data, Path) else tmp_path / name
        if isinstance(data, bytes):
            path.write_bytes(data)
        code, report = reported(path, tmp_path, **{"select": CHECKED, **options})
        return code, report.decode()

    return seen


def test_a_sound_file_passes_with_its_aggregate_alone(tmp_path: Path, see: See) -> None:
    rows, aggregate = write_run(tmp_path, GOOD)
    code, text = see(rows, aggregate=aggregate, select=())
    assert (code, ": 8 rows, no findings" in text) == (0, True)
    assert see(GOOD, select=())[0] == 0


def test_a_torn_last_line_was_cut_off(see: See) -> None:
    code, text = see(GOOD[:-100])
    assert code == 1
    assert "ES104 truncated-record: 1" in text
    assert "line 8: the last line breaks off" in text


def test_a_torn_line_inside_is_no_json_and_hides_nothing(see: See) -> None:
    changed = LINES[2].replace(b"Question", b"Another question")
    code, text = see(LINES[0][:-100] + b"\n" + LINES[1] + changed + LINES[3])
    assert code == 1
    assert "ES103 invalid-json: 1" in text
    assert "line 1: " in text
    assert "ES401 sample-hash-mismatch: 1" in text
    assert "line 3: /sample_hash: " in text
    assert "4 rows" in text


@pytest.mark.parametrize("torn", [LINES[0][:-1], LINES[0][:300], LINES[0][:30], LINES[0][:700]])
def test_spliced_rows_say_where_the_next_begins(see: See, torn: bytes) -> None:
    code, text = see(torn + LINES[1] + LINES[2])
    assert code == 1
    assert "ES105 spliced-record: 1" in text
    assert f"a whole object begins again at byte {len(torn)} of the line" in text
    assert "2 rows" in text


def test_a_torn_end_that_closes_an_inner_object_is_still_torn(see: See) -> None:
    torn = b'{"schema_version": "0.2.0", "metadata": {"schema_version": "0.2.0"}'
    code, text = see(LINES[0] + torn)
    assert code == 1
    assert "ES104 truncated-record: 1" in text


@pytest.mark.parametrize("hole", [1, 2, 3, 4, 100_000])
@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_a_hole_of_nuls_costs_its_own_line_alone(see: See, hole: int, place: str) -> None:
    nuls, rest = b"\0" * hole, b"".join(LINES[:3])
    wrong = LINES[3].replace(b'"score": ', b'"score": "x", "was": ')
    data = {"start": nuls + rest + wrong, "middle": rest + nuls + wrong + LINES[4] + wrong}
    code, text = see(data.get(place, rest + wrong + nuls))
    assert code == 1
    assert "ES106 nul-bytes: 1" in text
    assert f"{hole} NUL byte" in text
    assert "ES202 wrong-type: 1" in text


def test_a_byte_order_mark_is_read_over(see: See) -> None:
    code, text = see(b"\xef\xbb\xbf" + GOOD)
    assert code == 0
    assert "ES102 byte-order-mark: 1" in text
    assert "8 rows, 1 warning" in text


def test_a_byte_order_mark_does_not_shorten_a_long_first_line(
    see: See, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 1000)
    data = b'\xef\xbb\xbf{"a": "' + b"x" * 9000 + b'"}\n' + LINES[1]
    code, text = see(data, max_line_bytes=2000)
    assert code == 1
    assert "ES003 line-too-long: 1" in text
    assert "ES103" not in text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_named_and_not_passed(see: See, encoding: str) -> None:
    code, text = see(GOOD.decode().encode(encoding))
    assert code == 1
    assert f"the file is in {encoding[:6].upper()}, not UTF-8" in text


@pytest.mark.parametrize("byte", [b"\xff", b"\xe9", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80"])
def test_bytes_that_are_no_utf8_are_placed(see: See, byte: bytes) -> None:
    place = LINES[1].index(b"Question")
    code, text = see(LINES[0] + LINES[1].replace(b"Question", byte, 1) + LINES[2])
    assert code == 1
    assert "ES101 invalid-utf8: 1" in text
    assert f"line 2: byte {byte[0]:#04x} at byte {place} of the line" in text


def test_carriage_returns_are_noticed_on_once(see: See) -> None:
    code, text = see(GOOD.replace(b"\n", b"\r\n"))
    assert code == 0
    assert "ES112 carriage-return: 8" in text
    assert "lines end in CR LF (first on line 1)" in text


def test_a_bare_carriage_return_is_no_line_end(see: See) -> None:
    code, text = see(LINES[0].replace(b'", "', b'",\r"') + LINES[1])
    assert (code, "2 rows, no findings" in text) == (0, True)


def test_half_a_surrogate_pair_beside_an_integer_of_too_many_digits(see: See) -> None:
    line = LINES[0].replace(b'"subject": "', b'"long": ' + b"9" * 5000 + rb', "subject": "\ud800')
    assert line != LINES[0]
    code, report = see(line + b"".join(LINES[1:]))
    assert code == 1
    assert "ES113" in report
    assert "ES114" in report


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x1c", "\x0c"])
def test_unicode_line_separators_inside_texts_are_fine(see: See, separator: str) -> None:
    row = {**sound_rows(count=1)[0], "metadata": {"note": f"a{separator}b"}}
    escaped = ord(separator) < 32
    line = json.dumps(row, ensure_ascii=escaped).encode() + b"\n"
    code, text = see(LINES[1] + line + LINES[2])
    assert (code, "3 rows, no findings" in text) == (0, True)


@pytest.mark.parametrize("data", [b"", b"\n", b" \n\t\r\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_a_row_is_no_sound_file(see: See, data: bytes) -> None:
    code, text = see(data)
    assert code == 1
    assert "ES504 no-rows: 1" in text
    assert "the file holds no row" in text


def test_an_empty_file_is_not_passed_by_an_aggregate_that_expects_no_row(
    tmp_path: Path, see: See
) -> None:
    rows, aggregate = write_run(tmp_path, b"", count=0)
    assert see(rows, aggregate=aggregate)[0] == 1


@pytest.mark.parametrize(("piped", "jobs"), [(False, 2), (True, 1), deep(False, 1), deep(True, 2)])
def test_a_line_of_100_mb_takes_no_memory(tmp_path: Path, piped: bool, jobs: int) -> None:
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.write(LINES[0])
        for _ in range(100):
            file.write(b"x" * MEBIBYTE)
        file.write(b"\n" + LINES[1])
    script = tmp_path / "peak.py"
    script.write_text(PEAK)
    command = [sys.executable, str(script), "-" if piped else str(path), str(jobs), str(MEBIBYTE)]
    paths = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    with path.open("rb") as file:
        done = subprocess.run(
            command,
            stdin=file if piped else None,
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
    code, rows, too_long, kilobytes = map(int, done.stdout.split())
    assert (code, rows, too_long) == (1, 3, 1)
    assert kilobytes < 60_000


def test_a_folder_with_the_name_of_a_rows_file_is_a_folder(tmp_path: Path, see: See) -> None:
    (tmp_path / "run.jsonl").mkdir()
    assert see(tmp_path / "run.jsonl")[0] == 3


def test_a_file_below_a_file_cannot_be_read(tmp_path: Path, see: See) -> None:
    (tmp_path / "file").write_bytes(b"")
    code, text = see(tmp_path / "file" / "run.jsonl")
    assert code == 3
    assert "ES001 unreadable-input: 1" in text
    assert "cannot be opened: Not a directory" in text


class Faulty(io.FileIO):
    """A file that may not be opened, or fails when read past a place."""

    place = 0

    def __init__(self, path: str, mode: str, buffering: int = -1) -> None:
        if self.place < 0:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        super().__init__(path, mode)

    def read(self, size: int | None = -1, /) -> bytes:
        self._fail(size)
        return super().read(-1 if size is None else size)

    def readinto(self, buffer: Any, /) -> int | None:
        self._fail(len(buffer))
        return super().readinto(buffer)

    def _fail(self, size: int | None) -> None:
        left = os.fstat(self.fileno()).st_size - self.tell()
        if self.tell() + min(left, size or 0) > self.place:
            raise OSError(errno.EIO, "Input/output error")


def faulty(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    """Make files fail when read past a place; not be opened at all with one below 0."""
    monkeypatch.setattr(Faulty, "place", place)
    monkeypatch.setattr(file_source, "open", Faulty, raising=False)


def test_a_file_that_may_not_be_opened(monkeypatch: pytest.MonkeyPatch, see: See) -> None:
    faulty(monkeypatch, -1)
    code, text = see(GOOD)
    assert code == 3
    assert "ES001 unreadable-input: 1" in text
    assert "cannot be opened: Permission denied" in text


@pytest.mark.parametrize("memory_limit", [1, 1 << 28])
def test_reading_that_fails_part_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, see: See, memory_limit: int
) -> None:
    rows, aggregate = write_run(tmp_path, LONGER)
    faulty(monkeypatch, 30_000)
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 3000)
    monkeypatch.setattr(FileSource, "head", lambda _: GOOD)
    code, text = see(
        rows, aggregate=aggregate, memory_limit=memory_limit, select=(), ignore=("ES2", "ES4")
    )
    assert code == 3
    assert "ES001 unreadable-input: 1" in text
    assert "reading failed part-way: Input/output error" in text
    assert "incomplete" in text
    assert "ES503" not in text


def test_what_was_found_before_reading_failed_is_shown(
    monkeypatch: pytest.MonkeyPatch, see: See
) -> None:
    faulty(monkeypatch, 30_000)
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 3000)
    monkeypatch.setattr(FileSource, "head", lambda _: GOOD)
    for memory_limit in (1 << 28, 1):
        code, text = see(b"{torn\n" + LONGER, memory_limit=memory_limit)
        assert code == 3
        assert "line 1: " in text
        assert "reading failed part-way" in text


def while_read(monkeypatch: pytest.MonkeyPatch, step: str, change: Callable[[], object]) -> None:
    """Let something happen to the file right before a step of its reading."""
    original = getattr(FileSource, step)

    def changed_first(source: FileSource, *arguments: Any) -> Any:
        change()
        return original(source, *arguments)

    monkeypatch.setattr(FileSource, step, changed_first)


def test_a_file_that_grows_is_checked_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, see: See
) -> None:
    rows, aggregate = write_run(tmp_path, GOOD)

    def grow() -> None:
        with rows.open("ab") as file:
            file.write(b"{torn")

    while_read(monkeypatch, "head", grow)
    code, text = see(rows, aggregate=aggregate, select=())
    assert code == 3
    assert "incomplete" in text
    assert "ES004 changed-while-read: 1" in text
    assert f"{len(GOOD):,} bytes when it was opened, {len(GOOD) + 5:,} at the end" in text
    assert "8 rows" in text


def test_a_file_that_shrinks_was_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, see: See
) -> None:
    path = tmp_path / "rows.jsonl"
    monkeypatch.setattr(FileSource, "head", lambda _: GOOD)
    while_read(monkeypatch, "blocks", lambda: os.truncate(path, 100))
    code, text = see(GOOD)
    assert code == 3
    assert "the file became shorter while it was read" in text
    assert "ES004 changed-while-read: 1" in text


@pytest.mark.parametrize("step", ["blocks", "checksums"])
def test_a_file_that_is_replaced_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, see: See, step: str
) -> None:
    path, other = tmp_path / "rows.jsonl", tmp_path / "other"
    other.write_bytes(GOOD)
    while_read(monkeypatch, step, lambda: other.exists() and other.replace(path))
    code, text = see(GOOD)
    assert (code, "it was replaced by another file" in text) == (3, True)


def test_of_a_short_file_that_is_replaced_what_was_read_is_judged_and_digested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, see: See
) -> None:
    path, other = tmp_path / "rows.jsonl", tmp_path / "other"
    other.write_bytes(b"no rows")
    while_read(monkeypatch, "blocks", lambda: other.exists() and other.replace(path))
    code, text = see(GOOD)
    assert (code, "it was replaced by another file" in text) == (3, True)
    assert "8 rows" in text


def test_a_file_that_is_gone_at_the_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, see: See
) -> None:
    while_read(monkeypatch, "checksums", (tmp_path / "rows.jsonl").unlink)
    code, text = see(GOOD)
    assert (code, "changed while it was read: it no longer exists" in text) == (3, True)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("declared", ["json", "jsonl"])
def test_rows_in_one_array_are_checked(
    tmp_path: Path, see: See, indent: int | None, declared: str
) -> None:
    data = json.dumps(sound_rows(), indent=indent).encode()
    rows, aggregate = write_run(tmp_path, data, count=8)
    text = aggregate.read_text().replace('"format": "jsonl"', f'"format": "{declared}"')
    aggregate.write_text(text)
    code, text = see(rows, aggregate=aggregate, select=())
    assert code == (0 if declared == "json" else 1)
    assert ("ES505 format-mismatch: 1" in text) == (declared == "jsonl")
    assert "8 rows" in text


def test_gzip_under_a_plain_name_is_unpacked(see: See) -> None:
    code, text = see(gzip.compress(GOOD))
    assert (code, "8 rows" in text) == (0, True)
    code, text = see(gzip.compress(GOOD)[:-9])
    assert (code, "ES002 broken-compression: 1" in text) == (1, True)
    assert see(gzip.compress(GOOD)[:-9], select=("ES4",))[0] == 3


def test_an_aggregate_under_the_name_of_rows_is_told(see: See) -> None:
    code, text = see(json.dumps(aggregate_of("0.2.0", GOOD, 8)).encode())
    assert (code, "this is an aggregate; name its rows" in text) == (3, True)


def test_rows_in_place_of_an_aggregate_are_told(tmp_path: Path, see: See) -> None:
    (tmp_path / "other.json").write_bytes(GOOD)
    code, text = see(GOOD, aggregate=tmp_path / "other.json")
    assert (code, "these are rows; name their aggregate" in text) == (3, True)
    document = json.dumps(aggregate_of("0.2.0", GOOD, 8)).encode()
    (tmp_path / "other.json").write_bytes(document + b"\n" + document)
    code, text = see(GOOD, aggregate=tmp_path / "other.json")
    assert (code, "ES105 spliced-record: 1" in text) == (1, True)


@pytest.mark.parametrize("depth", [198, 199, deep(5000), 200_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_deep_nesting_is_told_and_hides_nothing(
    see: See, depth: int, opening: bytes, closing: bytes
) -> None:
    deep = opening * depth + b"1" + closing * depth
    line = LINES[0].replace(b'"subject"', b'"deep": ' + deep + b', "subject"')
    code, text = see(line + b"{torn\n")
    assert code == 1
    assert ("line 1: nested deeper than 200 levels" in text) == (depth > 198)
    assert "line 2: " in text


@pytest.mark.parametrize("depth", [250, 450, 700, 990, 3000])
def test_a_higher_bound_for_depth_is_no_crash(see: See, depth: int) -> None:
    deep = b"[" * depth + b'"\\u0041"' + b"]" * depth
    line = LINES[0].replace(b'"subject"', b'"deep": ' + deep + b', "subject"')
    code, text = see(line + LINES[1], max_depth=1_000_000)
    assert code in (0, 1)
    assert code == 0 or "ES113" in text


@pytest.mark.parametrize("digits", [20, 400, 4300, 4301, 100_000])
@pytest.mark.parametrize("place", [b'"score": 1.0', b'"epoch": 1', b'"sample_id": "sample-0"'])
def test_huge_integers_are_told(see: See, digits: int, place: bytes) -> None:
    name = place.partition(b":")[0]
    code, text = see(LINES[0].replace(place, name + b": " + b"9" * digits) + b"{torn\n")
    assert code == 1
    assert ("line 1: /" in text and "of more than 4,300 digits" in text) == (digits > 4300)
    assert "line 2: " in text


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"NaN", b"Infinity", b"-Infinity"])
@pytest.mark.parametrize("place", [b'"score": 1.0', b'"epoch": 1', b'"latency_ms": 210.5'])
def test_numbers_that_are_not_finite_are_told(see: See, number: bytes, place: bytes) -> None:
    name = place.partition(b":")[0]
    code, text = see(LINES[1] + LINES[0].replace(place, name + b": " + number))
    assert code == 1
    assert "ES108 non-finite-number: 1" in text
    assert f"/{name.decode().strip(chr(34))}: a number that is not finite" in text


def test_a_lone_surrogate_is_told_and_hashed_by_nobody(see: See) -> None:
    code, text = see(LINES[0].replace(b"Question", b"\\ud800") + LINES[1])
    assert "ES114 unpaired-surrogate: 1" in text
    assert "line 1: /input/raw: " in text
    assert code == 1


def test_two_keys_of_lone_surrogates_are_not_the_same_key(see: See) -> None:
    text = see(LINES[0].replace(b'"epoch": 1', b'"\\ud800": 1, "\\udbff": 2'))[1]
    assert "ES114 unpaired-surrogate: 2" in text
    assert "ES107" not in text


def test_a_key_twice_is_told_at_any_depth(see: See) -> None:
    nested = b'"a": [{"b/c": {"d": 1, "d": 1}}], "epoch": 1'
    code, text = see(LINES[1] + LINES[0].replace(b'"epoch": 1', nested))
    assert code == 1
    assert "ES107 duplicate-key: 1" in text
    assert "line 2: /metadata/a/0/b~1c/d: the key 'd' occurs 2 times" in text


FAULTY_LINES = [
    b"{torn", b"", b"[]", b"null", b"1", b'"text"', b"\0\0", b"\xff", LINES[0][:-1] * 2, b"}",
    b"{}", b'{"schema_version": 1}', b'{"schema_version": []}', b'{"a": 1, "a": 1e999}',
    b"\xef\xbb\xbf", b"x" * 5000, b"[" * 300 + b"]" * 300, b'"\\ud800"',
    b'{"input": 3, "sample_id": []}',
    b'{"sample_id": true, "metadata": [], "sample_hash": 3, "evaluation": null}',
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(FAULTY_LINES)))
def test_no_violation_hides_the_next_row(see: See, number: int) -> None:
    wrong = LINES[3].replace(b'"score": ', b'"score": "x", "was": ')
    code, text = see(LINES[1] + FAULTY_LINES[number] + b"\n" + wrong, max_line_bytes=4000)
    assert code == 1
    assert "3: /evaluation/score: string where" in text


@pytest.mark.parametrize("line", [b"{torn", b"[]", b"\0", b"\xff", b"x" * 5000, b"[" * 300])
@pytest.mark.parametrize("codes", [("ES5",), ("ES401",), ("ES2", "ES6")])
def test_a_selection_that_hides_an_unreadable_row_does_not_pass(
    tmp_path: Path, see: See, line: bytes, codes: tuple[str, ...]
) -> None:
    rows, aggregate = write_run(tmp_path, GOOD + line + b"\n")
    code, text = see(rows, aggregate=aggregate, select=codes, max_line_bytes=4000)
    assert code == 3
    assert "incomplete" in text
    assert "1 row could not be read" in text


def test_an_ignored_unreadable_row_does_not_pass(tmp_path: Path, see: See) -> None:
    rows, aggregate = write_run(tmp_path, GOOD + b"{torn\n")
    assert see(rows, aggregate=aggregate, select=(), ignore=("ES1",))[0] == 3


def test_a_selection_that_hides_a_missing_file_does_not_pass(tmp_path: Path, see: See) -> None:
    assert see(tmp_path / "none.jsonl", select=("ES4",))[0] == 3
    assert see(tmp_path, select=("ES4",))[0] == 3


def test_an_aggregate_that_cannot_be_read_does_not_pass_its_rows(tmp_path: Path, see: See) -> None:
    rows, aggregate = write_run(tmp_path, GOOD)
    for text in (b"", b"{", b"[]", b"\xff", b"null"):
        aggregate.write_bytes(text)
        assert see(rows, aggregate=aggregate, select=())[0] == 1
        assert see(rows, aggregate=aggregate, select=("ES5",))[0] != 0
    aggregate.unlink()
    assert see(rows, aggregate=aggregate, select=())[0] == 3


def fill(fifo: Path, source: Path) -> "subprocess.Popen[bytes]":
    """Let another process write a file into a new named pipe."""
    os.mkfifo(fifo)
    return subprocess.Popen(["/bin/sh", "-c", 'cat "$1" > "$2"', "sh", str(source), str(fifo)])


def test_a_named_pipe_is_read_like_standard_input(tmp_path: Path, see: See) -> None:
    rows, aggregate = write_run(tmp_path, GOOD)
    with fill(tmp_path / "pipe", rows):
        code, text = see(tmp_path / "pipe", aggregate=aggregate, select=())
    assert code == 0
    assert "8 rows, no findings; checksum ok (sha256)" in text


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_run(folder, GOOD)
    for name in ("waits.jsonl", "waits.json"):
        os.mkfifo(folder / name)
    command = "import evalstream, sys; print(evalstream.check(sys.argv[1]).exit_code)"
    paths = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", command, str(folder)],
        capture_output=True,
        check=True,
        timeout=5,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.stdout.strip() == b"3"


def test_the_null_device_holds_no_rows(see: See) -> None:
    code, text = see(Path("/dev/null"))
    assert code == 1
    assert "ES504 no-rows: 1" in text


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
def test_a_name_that_is_no_utf8_is_shown_as_far_as_it_can_be(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.jsonl")
    with open(path, "wb") as file:
        file.write(LINES[0] + b"{torn\n")
    for form in ("text", "jsonl", "json"):
        for name in (os.fsdecode(path), str(tmp_path)):
            code, report = reported(name, tmp_path, form)
            assert code == 1
            assert "caf\ufffd.jsonl" in report.decode() or b"\\ufffd" in report


def test_a_version_of_any_length_is_cut_short(see: See) -> None:
    long = LINES[0].replace(b'"0.2.0"', b'"' + b"9" * 100_000 + b'"')
    code, text = see(long + LINES[1])
    assert code == 1
    assert len(text) < 5000


def test_a_schema_that_is_no_json_is_wrong_usage(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD)
    for schema in ("{", "[]", '{"type": 3}', ""):
        with pytest.raises(evalstream.UsageError):
            evalstream.check(path, schema=schema)


def test_a_file_without_rows_is_no_pass_even_when_its_rule_is_deselected(see: See) -> None:
    code, text = see(b"", select=("ES4",))
    assert (code, "no row was checked" in text) == (3, True)


def test_a_file_whose_first_bytes_cannot_be_read_stops_no_other_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_bytes(GOOD)
    second.write_bytes(GOOD)
    original = FileSource.head

    def head(source: FileSource) -> bytes:
        if source.path == str(first):
            raise OSError(errno.EIO, "Input/output error")
        return original(source)

    def blocks(source: FileSource, length: int) -> Any:
        head(source)
        return original_blocks(source, length)

    original_blocks = FileSource.blocks
    monkeypatch.setattr(FileSource, "head", head)
    monkeypatch.setattr(FileSource, "blocks", blocks)
    report = evalstream.check([first, second])
    assert [run.rows for run in report.runs] == [0, 8]
    assert [run.verdict for run in report.runs] == ["incomplete", "unconfirmed"]
    assert report.counts["ES001"] == 1
    assert report.exit_code == 3


@pytest.mark.parametrize("recipe", ["json-list", "concat"])
def test_half_a_surrogate_is_hashed_where_a_recipe_escapes_it(see: See, recipe: str) -> None:
    rows = sound_rows()
    for row in rows:
        raw, reference = row["input"]["raw"], row["input"]["reference"]
        row["sample_hash"] = hashlib.sha256(RECIPES[recipe](raw, reference)).hexdigest()
    rows[1]["input"]["raw"] += "\ud800"
    raw, reference = rows[1]["input"]["raw"], rows[1]["input"]["reference"]
    rows[1]["sample_hash"] = hashlib.sha256(RECIPES["json-list"](raw, reference)).hexdigest()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    code, report = see(text.encode())
    assert "ES114 unpaired-surrogate: 1" in report
    assert "ES403" not in report
    assert (code, "ES401" in report) == ((0, False) if recipe == "json-list" else (1, True))
    rows[1]["sample_hash"] = "0" * 64
    text = "".join(json.dumps(row) + "\n" for row in rows)
    code, report = see(text.encode())
    assert (code, "ES401 sample-hash-mismatch: 1" in report) == (1, True)


def test_half_pairs_where_no_recipe_is_known_end_nothing(see: See) -> None:
    rows = sound_rows()
    for row in rows:
        row["input"]["raw"] += "\ud800"
        row["sample_id"] += "\udc00"
        row["metadata"] = {"epoch": "\ud801"}
        row["sample_hash"] = "0" * 64
    text = "".join(json.dumps(row) + "\n" for row in rows)
    code, report = see(text.encode())
    assert (code, "ES404" in report) == (1, True)


@pytest.mark.parametrize("most", [3, deep(0), deep(100)])
@each("blank", [b"\n", b" \t\n", b"\r\n", b" " * 70 + b"\n"])
def test_many_blank_lines_are_told_like_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blank: bytes, most: int
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(blank * 50 + LINES[0] + blank * 20 + b"{torn\n" + blank * 200 + LINES[1])

    def seen(**more: Any) -> Any:
        report = evalstream.check(path, max_findings=most, **more)
        return list(report), report.counts, report.exit_code

    quick = seen(), seen(strict=True), seen(ignore=("ES110",)), seen(max_line_bytes=60)
    monkeypatch.setattr(block_pass, "BLANKS", re.compile(b"never(?!)"))
    assert quick == (seen(), seen(strict=True), seen(ignore=("ES110",)), seen(max_line_bytes=60))
    assert quick[0][1]["ES110"] == 270


def test_a_limit_of_lines_above_256_mib_is_refused(tmp_path: Path) -> None:
    rows = tmp_path / "run.jsonl"
    rows.write_text("{}\n")
    with pytest.raises(UsageError, match="256 MiB"):
        evalstream.check(rows, max_line_bytes=(256 << 20) + 1)
    assert evalstream.check(rows, max_line_bytes=256 << 20).exit_code == 1


def test_a_salvage_says_which_output_has_no_room(tmp_path: Path) -> None:
    """A bound of the size of files stands for a full disk: writing fails, and reading does not."""
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"a": "' + "x" * 1000 + '"}\n' * 1 + "{torn\n" + '{"b": 1}\n' * 400_000)
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
        "sys.argv = ['evalstream', 'salvage', 'torn.jsonl', '--to', 'whole.jsonl']\n"
        "from evalstream.cli import main; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 3
    assert "whole.jsonl cannot be written: File too large" in done.stderr
    assert "could not be read" not in done.stdout + done.stderr
    assert os.listdir(tmp_path) == ["torn.jsonl"]
