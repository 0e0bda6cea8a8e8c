"""Which rows belong to which aggregate."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each

import evalstream
from evalstream.discovery.inputs import find_all, find_runs
from evalstream.discovery.unrecognised import Unrecognised
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.model.run import NoInput, Run

DETAILS = "detailed_evaluation_results"
Found = list[tuple[str | None, str | None]]


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work inside the temporary folder, so that names are short."""
    monkeypatch.chdir(tmp_path)


def put(name: str, content: Any = b"{}\n") -> str:
    """Write a file below the working folder: bytes, or an aggregate that declares a path."""
    place = Path(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        place.write_bytes(content)
    else:
        details = {} if content is None else {DETAILS: {"file_path": content}}
        place.write_text(json.dumps({"evaluation_results": [], **details}))
    return name


def found(*inputs: str, aggregate: str | None = None) -> Found:
    """Return the pairs found, as plain names; what is missing or nothing shows as None."""
    pairs: Found = []
    for run in find_all(iter(inputs), aggregate, None, Options()):
        if isinstance(run, Unrecognised):
            continue
        if isinstance(run, NoInput):
            pairs.append((None, None))
        else:
            pairs.append((_plain(run.rows), _plain(run.aggregate)))
    return pairs


def _plain(path: str | None) -> str | None:
    return path and os.path.normpath(path)


def test_rows_alone_have_no_aggregate() -> None:
    assert found(put("run.jsonl")) == [("run.jsonl", None)]
    assert found(put("run.ndjson")) == [("run.ndjson", None)]


@each(
    ("rows", "aggregate"),
    [("a.jsonl", "a.json"), ("a_samples.jsonl", "a.json"), ("x/a_samples.ndjson", "x/a.json")],
)
def test_a_pair_is_found_by_name_from_either_side(rows: str, aggregate: str) -> None:
    put(rows)
    put(aggregate, None)
    assert found(rows) == found(aggregate) == [(rows, aggregate)]
    assert found(rows, aggregate) == [(rows, aggregate)]


def test_a_pair_is_found_by_its_declaration_from_either_side() -> None:
    put("rows.jsonl")
    put("claims.json", "rows.jsonl")
    put("other.json", "others.jsonl")
    assert found("rows.jsonl") == found("claims.json") == [("rows.jsonl", "claims.json")]


def test_two_that_declare_the_same_rows_settle_nothing() -> None:
    put("rows.jsonl")
    put("one.json", "rows.jsonl")
    put("two.json", "rows.jsonl")
    assert found("rows.jsonl") == [("rows.jsonl", None)]
    assert ("rows.jsonl", "two.json") in found(".")


def test_a_declared_path_is_looked_for_in_the_folders_above() -> None:
    rows = "data/maths/acme/acorn/rows.jsonl"
    put(rows)
    put("data/maths/acme/acorn/claims.json", rows)
    assert found("data/maths/acme/acorn/claims.json") == [
        (rows, "data/maths/acme/acorn/claims.json")
    ]


def test_a_declared_absolute_path_counts_by_its_name() -> None:
    put("x/rows.jsonl")
    put("x/claims.json", "/home/someone/rows.jsonl")
    assert found("x/claims.json") == [("x/rows.jsonl", "x/claims.json")]


def test_a_declared_path_never_leads_out_of_its_folder() -> None:
    put("rows.jsonl")
    put("x/claims.json", "../rows.jsonl")
    assert found("x/claims.json") == [(None, "x/claims.json")]


@each("declared", ["", ".", "/", "rows\0.jsonl", "é", 3, None, "x/" * 2000])
def test_an_odd_declaration_is_no_crash(declared: Any) -> None:
    put("claims.json", declared)
    assert found("claims.json") == [(None, "claims.json")]


def test_declared_rows_that_are_missing_are_not_passed_over() -> None:
    put("claims.json", "rows.jsonl")
    (run,) = find_runs(["claims.json"])
    assert isinstance(run, Run)
    assert run.missing is not None
    assert "rows.jsonl" in run.missing
    report = evalstream.check("claims.json", select=("ES0",))
    assert (report.exit_code, report.counts) == (3, {"ES001": 1})
    assert not report.passed


def test_a_folder_is_walked_in_order_and_each_pair_found_once() -> None:
    for stem in ("b/two", "a/one", "three"):
        put(f"{stem}_samples.jsonl")
        put(f"{stem}.json", None)
    put("a/notes.txt")
    put("a/settings.json", b'{"not": "an aggregate"}')
    assert found(".") == [
        ("three_samples.jsonl", "three.json"),
        ("a/one_samples.jsonl", "a/one.json"),
        ("b/two_samples.jsonl", "b/two.json"),
    ]
    assert found("a", "a/one.json", "./a") == [("a/one_samples.jsonl", "a/one.json")]


def test_rows_beneath_their_aggregate_are_found_once() -> None:
    put("claims.json", "rows/run.jsonl")
    put("rows/run.jsonl")
    assert found(".") == [("rows/run.jsonl", "claims.json")]


def test_an_aggregate_that_cannot_be_read_still_counts() -> None:
    put("broken.json", b'{"evaluation_results": [')
    assert found(".") == [(None, "broken.json")]


def test_hidden_files_and_links_are_left_alone() -> None:
    put("run.jsonl")
    put(".hidden.jsonl")
    put(".cache/run.jsonl")
    Path("link.jsonl").symlink_to("run.jsonl")
    Path("elsewhere").symlink_to("..", target_is_directory=True)
    assert found(".") == [("run.jsonl", None)]
    assert found(".hidden.jsonl", "link.jsonl") == [(".hidden.jsonl", None), ("link.jsonl", None)]


def test_a_link_to_rows_that_were_found_is_found_once() -> None:
    put("run.jsonl")
    Path("link.jsonl").symlink_to("run.jsonl")
    assert len(found("run.jsonl", "link.jsonl")) == 1


@each("names", [[], ["notes.txt"], ["settings.json"], [".hidden.jsonl"]])
def test_a_folder_without_data_is_nothing_to_check(names: list[str]) -> None:
    Path("empty").mkdir()
    for name in names:
        put(f"empty/{name}", b"{}")
    assert found("empty") == [(None, None)]
    report = evalstream.check("empty")
    left = {"ES007": 1} if names else {}
    assert (report.exit_code, report.counts, report.passed) == (3, {"ES005": 1, **left}, False)


def test_a_named_file_of_no_known_kind_is_nothing_to_check() -> None:
    assert found(put("notes.txt")) == [(None, None)]
    assert found(put("rows.jsonl.zip")) == [(None, None)]


@each("ending", ["gz", "zst", "bz2", "xz"])
def test_packed_rows_are_found_with_their_aggregate(ending: str) -> None:
    rows, aggregate = put(f"x_samples.jsonl.{ending}"), put("x.json", "x_samples.jsonl")
    for name in (rows, aggregate, "."):
        assert found(name) == [(rows, aggregate)]


@each("name", ["none.jsonl", "no/such/run.jsonl", "none.json", "none", "no/x.txt"])
def test_what_does_not_exist_is_unreadable_and_the_others_still_run(name: str) -> None:
    put("run.jsonl")
    report = evalstream.check([name, "run.jsonl"], select=("ES0",))
    assert report.counts == {"ES001": 1}
    assert report.exit_code == 3
    assert report.runs[-1].rows == 1


def test_a_folder_that_cannot_be_listed_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    put("data/run.jsonl")
    put("data/locked/run.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", _locked(os.scandir))
        report = evalstream.check("data", select=("ES0",))
    assert report.exit_code == 3
    assert report.counts == {"ES001": 1}


def _locked(scandir: Callable[..., Any]) -> Callable[..., Any]:
    def listed(path: Any = ".") -> Any:
        if os.fspath(path).endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    return listed


def test_an_aggregate_goes_with_exactly_one_rows_file() -> None:
    put("a.jsonl")
    put("b.jsonl")
    put("claims.json", None)
    assert found("a.jsonl", aggregate="claims.json") == [("a.jsonl", "claims.json")]
    assert found("-", aggregate="claims.json") == [("-", "claims.json")]
    for inputs in (["a.jsonl", "b.jsonl"], ["."], []):
        with pytest.raises(UsageError):
            found(*inputs, aggregate="claims.json")


def test_calls_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError):
        found()
    with pytest.raises(UsageError):
        found("-", "-")
