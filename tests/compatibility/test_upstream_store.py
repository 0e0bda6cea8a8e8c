"""The store that upstream's nightly job makes of the records of a made store, byte for byte.

Needs what test_upstream needs.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import made_store
import pytest
from made_store import NEW, OLD, make_record, make_store, object_at, rows_beside, uuid_of
from upstream import answers, needs_upstream

from evalstream.api.store import verify

pytestmark = needs_upstream

LATER = "2026-01-03T03:00:00+00:00"
Change = Callable[[Path], object]


def files_of(root: Path) -> dict[str, bytes]:
    """Return all files of a store, but those of retired collections, whose names have a date."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "retired" not in path.parts
    }


def rebuild(root: Path, time: str) -> None:
    """Let upstream rebuild a store."""
    (conflicts,) = answers([("rebuild", str(root), time)])
    assert conflicts == []


def data_of(root: Path, number: int) -> Path:
    """Return the file of a record in data/."""
    (path,) = (root / "data").rglob(f"{uuid_of(number)}.json")
    return path


def withdraw(root: Path) -> None:
    """Delete a record of data/, and its rows."""
    rows_beside(data_of(root, 0)).unlink()
    data_of(root, 0).unlink()


def move(root: Path) -> None:
    """Move a record to another collection, whose name has letters that entries escape."""
    path = data_of(root, 3)
    target = root / "data/tiny-caf\u00e9/acme/acorn-7b" / path.name
    target.parent.mkdir(parents=True)
    path.rename(target)


def test_upstream_makes_the_same_store_of_the_same_records(tmp_path: Path) -> None:
    ours, theirs = make_store(tmp_path / "ours"), tmp_path / "theirs"
    for number in range(6):
        made_store.write_record(theirs, make_record(number))
        if number == 3:
            rebuild(theirs, OLD)
    rebuild(theirs, NEW)
    assert files_of(theirs) == files_of(ours)


@pytest.mark.parametrize("change", [withdraw, move])
def test_upstream_changes_a_store_alike(tmp_path: Path, change: Change) -> None:
    ours = make_store(tmp_path / "ours")
    change(ours)
    theirs = Path(shutil.copytree(ours, tmp_path / "theirs"))
    made_store.rebuild(ours, LATER)
    rebuild(theirs, LATER)
    assert files_of(theirs) == files_of(ours)
    assert verify(theirs).exit_code == 0


def test_upstream_launders_what_verify_finds(tmp_path: Path) -> None:
    root = make_store(tmp_path / "store")
    for path in (object_at(root, uuid_of(0)), data_of(root, 0)):
        path.write_bytes(path.read_bytes().replace(b"0.75", b"0.95"))
    made_store.write_record(root, make_record(9))
    rebuild(root, LATER)
    assert set(verify(root).counts) == {"ES924", "ES927"}
