"""Paths of a call that differ in case alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import PAIRS

import evalstream
from evalstream.api.check import merge
from evalstream.batch.cross_run import collisions
from evalstream.batch.cross_run.collisions import leading_folder, without_case
from evalstream.batch.parts import PartReporter
from evalstream.io.output import Output
from evalstream.model.finding import Severity
from evalstream.rules.catalogue import DATASTORE

(PAIR,) = (PAIRS / "0.3.0").rglob("*.json")


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder that tells upper from lower case."""
    monkeypatch.chdir(tmp_path)
    Path("case").touch()
    if Path("CASE").exists():
        pytest.skip("this file system does not tell upper from lower case")
    Path("case").unlink()


def put(*paths: str) -> None:
    """Put aggregates of different runs at some places."""
    for number, place in enumerate(paths):
        document = json.loads(PAIR.read_bytes())
        del document["detailed_evaluation_results"]
        document["evaluation_id"] = f"tiny-arithmetic/acme/acorn-7b/{number}"
        document["source_metadata"]["source_organization_name"] = str(number)
        path = Path(place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))


def told(inputs: Any = ".", **settings: Any) -> list[tuple[str, str, str]]:
    """Return of each ES908 the file, the path found, and the earlier one."""
    report = evalstream.check(inputs, **settings)
    found = [finding for finding in report if finding.code == "ES908"]
    assert all(finding.severity is Severity.WARNING for finding in found)
    assert report.counts.get("ES908", 0) == len(found)
    return [
        (finding.file, finding.found, finding.message.split(" from ")[1].split(";")[0])
        for finding in found
    ]


@pytest.mark.parametrize("profile", ["default", DATASTORE])
def test_files_that_differ_in_case_alone_are_found(profile: str) -> None:
    put("runs/A.json", "runs/a.json", "runs/b.json")
    assert told("runs", profile=profile) == [("runs/a.json", "runs/a.json", "runs/A.json")]
    assert evalstream.check("runs", select=("ES908",), strict=True).exit_code == 1
    assert evalstream.check("runs", select=("ES908",)).exit_code == 0


def test_a_folder_is_told_once_for_each_further_spelling() -> None:
    put("data/ACME/x/1.json", "data/Acme/x/2.json", "data/Acme/y/3.json", "data/acme/x/1.json")
    assert told("data") == [
        ("data/Acme/x/2.json", "data/Acme", "data/ACME"),
        ("data/acme/x/1.json", "data/acme", "data/ACME"),
    ]


def test_each_folder_of_a_path_is_looked_at() -> None:
    put("data/ACME/X/1.json", "data/acme/x/2.json")
    assert told("data") == [
        ("data/acme/x/2.json", "data/acme", "data/ACME"),
        ("data/acme/x/2.json", "data/acme/x", "data/ACME/X"),
    ]


def test_other_paths_are_fine() -> None:
    put("data/acme/a.json", "data/acme-labs/A.json", "data/acme/b.json", "ACME/a.json")
    assert told() == []
    assert told("data/acme/a.json") == []
    assert told(["data/acme/a.json", "./data/acme/a.json"]) == []


def test_inputs_in_other_spellings_of_the_same_folder_are_one() -> None:
    put("data/Acme/a.json", "data/acme/b.json")
    assert told(["./data/Acme", "data//acme/"]) == [("data/acme/b.json", "data/acme", "data/Acme")]


def test_shards_tell_what_one_check_tells() -> None:
    put("data/ACME/1.json", "data/Acme/2.json", "data/acme/1.json", "data/other/1.json")
    whole = evalstream.check("data", select=("ES9",))
    for shard in (1, 2):
        with Output(f"part-{shard}") as part:
            reporter = PartReporter(part)
            evalstream.check("data", select=("ES9",), shard=f"{shard}/2", reporter=reporter)
    assert whole.counts["ES908"] == 2
    assert list(merge(["part-2", "part-1"])) == list(whole)


@each(
    ("one", "other"),
    [("Acorn", "aCORN"), ("MÜLLER", "müller"), ("ΑΣ", "ας"), ("Ⅷ", "ⅷ"), ("Æ", "æ")],
)
def test_names_without_their_case_are_the_same(one: str, other: str) -> None:
    assert without_case(one) == without_case(other)


@each(("one", "other"), [("straße", "strasse"), ("ﬁ", "fi"), ("é", "e")])
def test_names_that_differ_in_more_than_case_are_not(one: str, other: str) -> None:
    assert without_case(one) != without_case(other)


@each(
    ("beginning", "expected"),
    [
        ("", ["", ""]),
        ("./", ["", ""]),
        ("/", ["/", "/"]),
        ("a/B/", ["a/B/", "a/b/", "a", "a/B"]),
        (".//a/./B//", ["a/B/", "a/b/", "a", "a/B"]),
        ("../A/", ["../A/", "../a/", "..", "../A"]),
        ("/A/b/", ["/A/b/", "/a/b/", "/A", "/A/b"]),
        ("s3://Bucket/", ["s3://Bucket/", "s3://bucket/"]),
        (
            "s3://Bucket/A/b/",
            ["s3://Bucket/A/b/", "s3://bucket/a/b/", "s3://Bucket/A", "s3://Bucket/A/b"],
        ),
    ],
)
def test_the_folder_of_a_path_and_the_steps_to_it(beginning: str, expected: list[str]) -> None:
    folder = leading_folder(beginning)
    assert [folder.path, folder.folded, *(step.path for step in folder.steps)] == expected


def test_however_few_folders_are_remembered_the_same_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(*(f"data/{name}/{number}.json" for number in range(3) for name in ("ACME", "acme", "b")))
    whole = told("data")
    monkeypatch.setattr(collisions, "MOST_FOLDERS", 1)
    assert told("data") == whole
    assert len(whole) == 1
