"""The scanner without what processors offer, and its digests, beside what they must equal."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fast_rows import SINGLE, SOURCES, context, fast_path_of, sound, written
from fuzz.cases import case_of

from evalstream.formats.eee.exact_path import RowReader
from evalstream.formats.eee.fast_path import fast_path_for
from evalstream.formats.eee.row_view import content_digest
from evalstream.model.row_record import CONTENT_AT, KEY_BYTES, RECORD_BYTES
from evalstream.parsing.native import binding
from evalstream.parsing.native import scanner as native_scanner
from evalstream.parsing.native.binding import COLUMNS, Flag, StopReason
from evalstream.parsing.native.scanner import Scanner, ScannerConfig

COMPILER = shutil.which(os.environ.get("CC", "cc"))
CASES = 40


def portable_library(folder: Path) -> ctypes.CDLL:
    """Return the scanner, compiled for no processor in particular."""
    library = folder / Path(binding.LIBRARY).name
    flags = "-std=c11", "-O0", "-fPIC", "-shared", "-fvisibility=hidden", "-DPORTABLE_LANES"
    sources = sorted(SOURCES.glob("*.c"))
    subprocess.run([f"{COMPILER}", *flags, "-o", library, *sources, "-lm"], check=True)
    loaded = ctypes.CDLL(f"{library}")
    binding._declare(loaded)
    return loaded


def scanned(loaded: ctypes.CDLL, setting: ScannerConfig, data: bytes) -> list[Any]:
    """Return all that a scanner tells of lines."""
    scanner = Scanner(loaded)
    scanner.start(setting, data, 0, None, 1 << 20)
    told: list[Any] = []
    stopped = StopReason.NO_MORE_ROOM
    while stopped is not StopReason.NO_MORE_LINES:
        scanner.go_to(scanner.at, scanner.line, native_scanner.MOST_ROWS)
        while (stopped := scanner.scan()) is StopReason.NEW_SCOPE:
            told.append(scanner.new_ids())
            scanner.add_scope(usual=True, evaluation=1, name=2, result=3, doubts=0, place=-1)
        words = scanner.words().tolist()
        rows = [
            dict(zip(COLUMNS, words[at : at + len(COLUMNS)], strict=True))
            for at in range(0, len(words), len(COLUMNS))
        ]
        signatures = [scanner.signature(row["signature"]) for row in rows if row["signature"]]
        told += [rows, signatures, scanner.records(), scanner.texts()]
    return told


@pytest.mark.skipif(binding.library() is None or COMPILER is None, reason="nothing is compiled")
def test_processors_make_no_difference(tmp_path: Path) -> None:
    usual, portable = binding.library(), portable_library(tmp_path)
    assert usual is not None
    taken = 0
    for case in map(case_of, range(CASES), [30] * CASES):
        context = case.context()
        path = fast_path_for(context, RowReader(context))
        if path is None:
            continue
        data = case.data.removesuffix(b"\n") + b"\n"
        told = scanned(usual, path.setting, data)
        assert scanned(portable, path.setting, data) == told
        rows = [row for rows in told for row in rows if isinstance(row, dict)]
        taken += sum(row["flags"] & Flag.TAKEN for row in rows)
    assert taken > CASES


@pytest.mark.skipif(binding.library() is None, reason="the scanner is not compiled")
def test_lines_of_any_length_have_the_digests_of_python() -> None:
    loaded, short = binding.library(), {"sample_id": "a"}
    assert loaded is not None
    rows = [written(short), written(sound(SINGLE, "0.3.0"))]
    # XXH3 mixes its sums after 1,024 bytes, and takes the last 64 bytes as they come.
    lines = [b" " * spaces + row for row in rows for spaces in range(1, 1300)]
    setting = fast_path_of(context("0.3.0")).setting
    told = scanned(loaded, setting, b"".join(line + b"\n" for line in lines))
    records = b"".join(part for part in told if isinstance(part, bytes))
    places = range(CONTENT_AT, len(records), RECORD_BYTES)
    digests = [int.from_bytes(records[at : at + KEY_BYTES], "little") for at in places]
    assert digests == [*map(content_digest, lines)]
