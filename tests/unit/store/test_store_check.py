"""`check` of a store or of a part of it: entries judge objects, and no run counts twice."""

import shutil
from contextlib import chdir
from pathlib import Path

import pytest
from each import each
from made_store import make_store, object_at, rows_beside, uuid_of

import evalstream

GATE = {"profile": "datastore", "ignore": ("ES805",)}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store that tests only read."""
    return make_store(tmp_path_factory.mktemp("store"))


def aggregates(report: evalstream.Report) -> list[str]:
    """Return the names of the aggregates that were checked."""
    return sorted(Path(str(run.aggregate)).name for run in report.runs)


ALL = sorted(f"{uuid_of(number)}.json" for number in range(6))


@each("inputs", [[""], ["flat"], ["data"], ["flat/objects"], ["flat", "data"], ["data", "flat"]])
def test_each_run_of_a_store_is_checked_once(store: Path, inputs: list[str]) -> None:
    report = evalstream.check([store / name for name in inputs], **GATE)
    assert report.exit_code == 0
    assert aggregates(report) == ALL
    assert "ES007" not in {one.code for one in report if one.severity.label != "info"}


def test_the_folder_above_objects_may_be_the_working_directory(store: Path) -> None:
    with chdir(store / "flat"):
        report = evalstream.check(".", **GATE)
    assert (report.exit_code, aggregates(report)) == (0, ALL)


def test_what_was_not_checked_is_named_as_what_it_is(store: Path) -> None:
    notes = [one for one in evalstream.check(store, **GATE) if one.code == "ES007"]
    assert len(notes) == 2
    assert "6 objects of a datastore whose files in data/ are checked" in notes[1].message
    assert "manifests, indexes and lists of entries of a datastore" in notes[0].message


def test_an_object_at_a_path_that_is_no_datastore_path_is_found(
    store: Path, tmp_path: Path
) -> None:
    root = tmp_path / "store"
    shutil.copytree(store, root)
    shutil.rmtree(root / "flat/manifests")
    report = evalstream.check(object_at(root, uuid_of(0)), **GATE)
    assert set(report.counts) == {"ES901"}


def test_an_object_whose_record_was_withdrawn_is_judged_by_an_older_entry(
    store: Path, tmp_path: Path
) -> None:
    from made_store import edit_entries

    root = tmp_path / "store"
    shutil.copytree(store, root)
    (path,) = (root / "data").rglob(f"{uuid_of(0)}.json")
    rows_beside(path).unlink()
    path.unlink()
    edit_entries(root, lambda entries: entries.pop(0))
    report = evalstream.check(root, **GATE)
    assert (report.exit_code, aggregates(report)) == (0, ALL)


def test_an_object_with_another_file_path_than_its_entry_fails(store: Path, tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(store, root)
    path = object_at(root, uuid_of(0))
    path.write_bytes(path.read_bytes().replace(b"data/tiny-arithmetic/", b"data/tiny-other/"))
    report = evalstream.check(root / "flat", profile="flat", ignore=("ES805",))
    assert report.counts["ES507"] == 1
