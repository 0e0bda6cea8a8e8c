"""A call whose folders did not change gets the report of the last one, and nothing is searched."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.api import check_inputs as api_check
from evalstream.batch.ledger import records
from evalstream.batch.ledger.entries import entries
from evalstream.batch.ledger.ledger import Ledger
from evalstream.io import readers
from evalstream.io.output import Output
from evalstream.reporters import reporter_type

FORMS = ("text", "concise", "jsonl", "json", "github", "sarif", "junit", "html")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a sound run and its copy, and a faulty one; it lies in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "store"
    for name in ("one", "two", "three"):
        (folder / name).mkdir(parents=True)
        for file in ("run.jsonl", "aggregate.json"):
            shutil.copy(EXAMPLES / file, folder / name / file)
    with (folder / "three" / "run.jsonl").open("a") as rows:
        rows.write('{"sample_id": 5}\n')
    (folder / "README.md").write_text("three runs")
    return folder


class Searches:
    """Counts the searches for runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, search = 0, api_check.find_all

        def find_all(*arguments: Any) -> Iterator[Any]:
            self.count += 1
            yield from search(*arguments)

        monkeypatch.setattr(api_check, "find_all", find_all)

    def of(self, call: Callable[[], Any]) -> int:
        """Return how many searches a call makes."""
        before = self.count
        call()
        return self.count - before


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Searches:
    """What counts searches."""
    return Searches(monkeypatch)


def checked(form: str = "jsonl", **options: Any) -> bytes:
    """Check the store with a ledger, and return the report."""
    place = Path("report")
    with Output(str(place)) as output:
        reporter = reporter_type(form)(output)
        evalstream.check(**{"inputs": "store", "ledger": "ledger", **options}, reporter=reporter)
    return place.read_bytes()


def forget_calls() -> None:
    """Leave only the records of runs in the ledger."""
    with closing(sqlite3.connect("ledger")) as base, base:
        base.execute("DELETE FROM chunk WHERE run NOT IN (SELECT key FROM run)")


@each("form", FORMS)
def test_a_repeated_call_has_the_same_report(form: str, store: Path, searches: Searches) -> None:
    checked()
    forget_calls()
    by_runs = checked(form)
    assert searches.count == 2
    assert checked(form) == by_runs
    assert searches.count == 2


def test_the_first_call_is_remembered(store: Path, searches: Searches) -> None:
    first = evalstream.check("store", ledger="ledger")
    again = evalstream.check("store", ledger="ledger")
    assert searches.count == 1
    assert list(again) == list(first)
    assert again.totals.unchanged == len(again.runs) == 3
    assert again.exit_code == first.exit_code == 1
    assert [one.file for one in again.runs[1:]] == [one.file for one in first.runs[1:]]
    assert again.runs[-2].verdict == "failed"
    with pytest.raises(IndexError):
        again.runs[3]
    assert all(run.unchanged for run in again.runs)


def _change(store: Path) -> None:
    """Change a byte and put the modification time back."""
    file = store / "one" / "run.jsonl"
    status = file.stat()
    text = file.read_bytes()
    file.write_bytes(text.replace(b"a", b"b", 1))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def _add(store: Path) -> None:
    shutil.copytree(store / "one", store / "four")


def _add_beside(store: Path) -> None:
    """Add a file, and put the times of its folder back, as some file systems do not keep them."""
    folder = store / "one"
    status = folder.stat()
    shutil.copy2(folder / "run.jsonl", folder / "more.jsonl")
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], Any]] = {
    "a byte": _change,
    "a new run": _add,
    "a new file": _add_beside,
    "a file less": lambda store: (store / "two" / "aggregate.json").unlink(),
    "another name": lambda store: (store / "two").rename(store / "2"),
    "another file": lambda store: (store / "README.md").write_text("four runs"),
    "an empty folder": lambda store: (store / "four").mkdir(),
    "a hidden folder": lambda store: (store / ".four").mkdir(),
    "a link": lambda store: (store / "four").symlink_to("one"),
}


@each("change", CHANGES.values(), ids=CHANGES)
def test_any_change_in_the_folder_is_seen(
    change: Callable[[Path], Any], store: Path, searches: Searches
) -> None:
    checked()
    assert searches.of(checked) == 0
    change(store)
    assert searches.of(checked) == 1


def test_a_call_in_which_some_runs_changed_is_remembered_once_none_does(
    store: Path, searches: Searches
) -> None:
    checked()
    _change(store)
    assert searches.of(checked) == 1
    assert searches.of(checked) == 1
    assert searches.of(checked) == 0


@each(
    "options",
    [
        {"select": "ES5"},
        {"max_findings": 1},
        {"exclude": "two"},
        {"sketches": True},
        {"inputs": "./store"},
        {"inputs": ["store", "store/one"]},
    ],
)
def test_another_call_is_checked(options: Any, store: Path, searches: Searches) -> None:
    checked()
    assert searches.of(lambda: checked(**options)) == 1
    assert searches.of(checked) == (
        1 if "inputs" not in options and "exclude" not in options else 0
    )


def test_a_name_means_another_folder_elsewhere(
    store: Path, searches: Searches, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    checked()
    shutil.copytree(store, tmp_path / "elsewhere" / "store", copy_function=os.link)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert searches.of(lambda: checked(ledger="../ledger")) == 1


def test_objects_of_a_store_whose_entries_lie_elsewhere_are_not_remembered(
    store: Path, searches: Searches
) -> None:
    store.rename("flat")
    checked(inputs="flat")
    assert searches.of(lambda: checked(inputs="flat")) == 1


def test_a_call_with_documents_named_beside_its_folder_is_not_remembered(
    store: Path, searches: Searches
) -> None:
    shutil.copytree(EXAMPLES / "evalguard", "config")
    named: dict[str, Any] = {"inputs": "config/reports", "aggregate": "config", "ledger": "ledger"}
    assert evalstream.check(**named).exit_code == 0
    Path("config/tasks/sums.yaml").write_text(": [")
    assert evalstream.check(**named).exit_code == 1
    shutil.copytree(EXAMPLES / "evalguard", "sound")
    assert evalstream.check(**{**named, "aggregate": "sound"}).exit_code == 0


def test_rows_of_rivals_are_checked_again(store: Path) -> None:
    for name in ("one/run.jsonl", "one"):
        rows, document = store / "one" / "run.jsonl", store / "one" / "aggregate.json"
        document.rename("aggregate")
        (store / "one" / "first.json").unlink(missing_ok=True)
        evalstream.check(store / name, ledger="ledger")
        for rival in ("first.json", "aggregate.json"):
            shutil.copy("aggregate", rows.parent / rival)
        again = evalstream.check(store / name, ledger="ledger")
        assert list(again) == list(evalstream.check(store / name))


@pytest.mark.parametrize("name", [".hidden", "link"])
def test_a_folder_that_a_search_meets_otherwise_is_not_remembered(
    name: str, store: Path, searches: Searches
) -> None:
    if name == "link":
        (store / "four").symlink_to("one")
    else:
        (store / name).mkdir()
    checked()
    assert searches.of(checked) == 1


def test_a_call_over_young_files_is_not_remembered(
    store: Path, searches: Searches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "YOUNG_NANOSECONDS", 3600 * 10**9)
    checked()
    assert searches.of(checked) == 1


def test_a_call_during_which_a_run_comes_and_goes_is_not_remembered(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = api_check.find_all

    def find_all(*arguments: Any) -> Iterator[Any]:
        shutil.copytree(store / "one", store / "four")
        return find(*arguments)

    monkeypatch.setattr(api_check, "find_all", find_all)
    assert b'"runs":4' in checked()
    monkeypatch.setattr(api_check, "find_all", find)
    shutil.rmtree(store / "four")
    assert b'"runs":3' in checked()


def test_a_call_that_could_not_check_a_run_is_not_remembered(
    store: Path, searches: Searches, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store / "two" / "run.jsonl").write_bytes(b"\xff\xfe\x00")
    (store / "two" / "aggregate.json").write_bytes(b"\xff\xfe\x00")
    report = evalstream.check("store", ledger="ledger")
    assert report.totals.unchecked + report.totals.damaged > 0
    assert searches.of(checked) == 1


@each("kind", [records.CALL, records.FINDINGS, records.RUNS])
def test_a_damaged_memory_counts_as_missing(kind: int, store: Path, searches: Searches) -> None:
    before = checked("json")
    with closing(sqlite3.connect("ledger")) as base, base:
        base.execute(
            "UPDATE chunk SET data = zeroblob(50) WHERE kind = ? AND run NOT IN "
            "(SELECT key FROM run)",
            (kind,),
        )
    assert searches.of(lambda: checked("json")) == 1
    assert searches.of(lambda: checked("json")) == 0
    assert len(checked("json")) > len(before)


def test_an_output_never_replaces_an_input_of_a_repeated_call(store: Path) -> None:
    checked()
    rows = store / "one" / "run.jsonl"
    with pytest.raises(evalstream.UsageError, match="would overwrite the input"):
        evalstream.check("store", ledger="ledger", outputs=[rows])
    os.link(rows, "linked.jsonl")
    checked()
    with pytest.raises(evalstream.UsageError, match="would overwrite the input"):
        evalstream.check("store", ledger="ledger", outputs=["linked.jsonl"])


def test_runs_that_are_gone_are_named_again(store: Path, searches: Searches) -> None:
    checked()
    shutil.rmtree(store / "two")
    first = evalstream.check("store", ledger="ledger")
    again = evalstream.check("store", ledger="ledger")
    assert searches.count == 2
    assert again.totals.gone.runs == first.totals.gone.runs == 1
    assert again.totals.gone == first.totals.gone


def test_a_ledger_lists_runs_and_no_calls(store: Path) -> None:
    checked()
    assert [one.file for one in entries("ledger")] == sorted(
        f"store/{name}/run.jsonl" for name in ("one", "two", "three")
    )


def test_a_run_that_the_ledger_lacks_keeps_its_call_from_being_remembered(
    store: Path, searches: Searches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "record", lambda *_: None)
    checked()
    assert searches.of(checked) == 1
