"""A sample of rows has a whole one; a seal of compressed rows spares a digest of the others."""

import gzip
import hashlib
from pathlib import Path

import pytest
from each import each
from rows import bytes_of, sound_rows

from evalstream.engine.open_rows import SAMPLE_BYTES, OpenRows, open_rows
from evalstream.engine.row_pass import BLOCK_BYTES, MOST_LINES, plan_blocks
from evalstream.io.readers import FileReader
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options

ROWS = bytes_of(sound_rows(count=24))
PACKED = gzip.compress(ROWS)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def opened(path: Path, sealed: str | None) -> OpenRows:
    """Open rows and read all of them."""
    found = open_rows(str(path), path.name, Options(), ("sha256",), sealed=sealed)
    if found.sealed is None:
        found.source.start_digest(("sha256",))
    assert b"".join(block.data or b"" for block in found.blocks(1 << 20, 1 << 20) if block) == ROWS
    found.source.close()
    return found


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(PACKED)
    return path


def test_a_seal_of_the_stored_bytes_needs_no_digest_of_others(packed: Path) -> None:
    digests = opened(packed, sha256(PACKED)).digests()
    assert digests == {"stored": {"sha256": sha256(PACKED)}, "unpacked": {}}


@each("sealed", [None, sha256(ROWS), "0" * 64, "0" * 32])
def test_any_other_seal_is_compared_with_both(packed: Path, sealed: str | None) -> None:
    digests = opened(packed, sealed).digests()
    expected = {"stored": {"sha256": sha256(PACKED)}, "unpacked": {"sha256": sha256(ROWS)}}
    assert digests == expected


def test_large_files_are_read_once(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstream.io.stream.REREAD_BYTES", len(PACKED) - 1)
    assert opened(packed, sha256(PACKED)).sealed is None


def test_a_file_that_loses_the_digest_of_its_seal_has_changed(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tmp_path / "before.gz"
    before.write_bytes(gzip.compress(ROWS, 1))
    monkeypatch.setattr(FileReader, "reopen", lambda _: FileReader(str(before)))
    found = opened(packed, sha256(before.read_bytes()))
    with pytest.raises(CannotCheck, match="changed while it was read"):
        found.digests()


def test_a_sample_has_the_first_row_however_long_it_is(tmp_path: Path) -> None:
    path, rows = tmp_path / "rows.jsonl", [b'{"a": "' + b"x" * SAMPLE_BYTES + b'"}\n', ROWS]
    path.write_bytes(b"".join(rows))
    found = open_rows(str(path), path.name, Options(), ("sha256",))
    assert found.take_head() == b"".join(rows)
    assert (found.head, found.sample) == (rows[0][:-1], rows[0])
    found.source.close()


@each(("row", "most"), [(b"{}\n", 3 * MOST_LINES), (b"x" * 99 + b"\n", BLOCK_BYTES)])
def test_blocks_of_tiny_rows_are_small(row: bytes, most: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(row * (BLOCK_BYTES // len(row) + 1))
    found = open_rows(str(path), path.name, Options(), ("sha256",))
    found.take_head()
    plan = plan_blocks(found, Options(jobs=1), ("sha256",), is_native=lambda: True)
    sizes = [len(block.data) for block in plan.blocks if block is not None]
    assert len(sizes) > 1
    assert most - len(row) - 3 < max(sizes) <= most
    found.source.close()
