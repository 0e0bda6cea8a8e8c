"""The rows files beside aggregates: found again after every change of their folder."""

import os
from pathlib import Path

import pytest
from each import each

from evalstream.batch.ledger import run_state
from evalstream.batch.ledger.run_state import CompanionFinder
from evalstream.io import readers
from evalstream.io.names import rows_named_like


def in_the_past(folder: Path) -> None:
    """Let a folder seem unchanged for a while, so that its listing is kept."""
    os.utime(folder, (1, 1))


@pytest.mark.parametrize("is_large", [False, True])
@each("stem", ["run", "RUN", "l\u00e4uf", "a_samples"])
def test_all_rows_files_named_like_an_aggregate_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stem: str, is_large: bool
) -> None:
    if is_large:
        monkeypatch.setattr(run_state, "MOST_NAMES", 3)
    aggregate = str(tmp_path / f"{stem}.json")
    expected = list(rows_named_like(aggregate))
    for path in expected:
        Path(path).touch()
    (tmp_path / f"{stem}_other.jsonl").touch()
    assert list(CompanionFinder().beside(aggregate)) == expected


def test_a_new_file_is_seen_although_the_folder_was_listed(tmp_path: Path) -> None:
    finder, aggregate = CompanionFinder(), str(tmp_path / "run.json")
    in_the_past(tmp_path)
    assert not list(finder.beside(aggregate))
    rows = tmp_path / "run.jsonl"
    rows.touch()
    assert list(finder.beside(aggregate)) == [str(rows)]
    in_the_past(tmp_path)
    rows.unlink()
    assert not list(finder.beside(aggregate))


def test_a_folder_that_changed_just_now_is_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "YOUNG_NANOSECONDS", 3600 * 10**9)
    finder, aggregate = CompanionFinder(), str(tmp_path / "run.json")
    assert not list(finder.beside(aggregate))
    state = os.stat(tmp_path)
    monkeypatch.setattr(os, "stat", lambda _path: state)  # as of a clock that ticks slowly
    (tmp_path / "run.jsonl").touch()
    assert list(finder.beside(aggregate)) == [str(tmp_path / "run.jsonl")]


def test_links_count_and_missing_folders_hold_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run_samples.jsonl").symlink_to("nowhere")
    finder = CompanionFinder()
    assert list(finder.beside(str(tmp_path / "run.json"))) == [str(tmp_path / "run_samples.jsonl")]
    assert not list(finder.beside(str(tmp_path / "none" / "run.json")))
    monkeypatch.chdir(tmp_path)
    assert list(finder.beside("run.json")) == ["run_samples.jsonl"]


def test_listings_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_state, "MOST_NAMES", 10)
    finder = CompanionFinder()
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in range(4):
            (folder / f"{name}.jsonl").touch()
        in_the_past(folder)
        assert list(finder.beside(str(folder / "1.json"))) == [str(folder / "1.jsonl")]
    assert list(finder.beside(str(tmp_path / "0" / "2.json"))) == [str(tmp_path / "0" / "2.jsonl")]
