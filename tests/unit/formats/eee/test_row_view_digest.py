"""Records that are the same, and records that are not but share a UUID."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
from corpus import lay_out_store, needs_corpus
from each import each
from hypothesis import given
from hypothesis import strategies as st
from paths import PAIRS

import evalstream
from evalstream.api.check import merge
from evalstream.batch.parts import PartReporter
from evalstream.formats.eee.row_view import record_digest
from evalstream.io.output import Output
from evalstream.model.finding import Severity
from evalstream.rules.catalogue import DATASTORE, DEFAULT

UUID = "5d2b9c1e-8f4a-4b7d-9c3e-6a1f0e2d7b84"
OTHER = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"
(PAIR,) = (PAIRS / "0.3.0-two-results").rglob("*.json")
FOLDER = "data/tiny-arithmetic/acme/acorn-7b"
FLAT = f"flat/objects/5d/2b/{UUID}.json"

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder."""
    monkeypatch.chdir(tmp_path)


def record() -> dict[str, Any]:
    """Return a sound aggregate without rows."""
    document: dict[str, Any] = json.loads(PAIR.read_bytes())
    del document["detailed_evaluation_results"]
    document["source_metadata"]["source_type"] = "documentation"
    return document


def put(path: str, change: Change = lambda _: None) -> str:
    """Put the aggregate, changed, at a place."""
    document = record()
    change(document)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(document))
    return path


def rescored(document: dict[str, Any]) -> None:
    """Make another record of an aggregate."""
    document["evaluation_results"][0]["score_details"]["score"] = 0.5


def told(code: str, inputs: Any = ".", **settings: Any) -> list[tuple[str, Severity, str]]:
    """Return of each finding with a code the file, its severity and the earlier file."""
    report = evalstream.check(inputs, **settings)
    return [
        (finding.file, finding.severity, finding.message.split()[-1])
        for finding in report
        if finding.code == code
    ]


COPIES: dict[str, Change] = {
    "evaluation_id": lambda one: one.update(evaluation_id="a/b/c"),
    "retrieved_timestamp": lambda one: one.update(retrieved_timestamp="1"),
    "no retrieved_timestamp": lambda one: one.pop("retrieved_timestamp"),
    "a timestamp further down": lambda one: one["model_info"]["additional_details"].update(
        retrieved_timestamp="7"
    ),
    "order of results": lambda one: one["evaluation_results"].reverse(),
    "order of keys": lambda one: one.update(model_info=dict(reversed(one["model_info"].items()))),
}
OTHERS: dict[str, Change] = {
    "score": rescored,
    "model": lambda one: one["model_info"].update(id="acme/birch-7b"),
    "a result less": lambda one: one["evaluation_results"].pop(),
    "a result twice": lambda one: one["evaluation_results"].append(one["evaluation_results"][0]),
    "an integer for a number": lambda one: one["evaluation_results"][0]["generation_config"][
        "generation_args"
    ].update(temperature=0),
}


@each("name", COPIES)
def test_copies_of_a_record_are_the_same(name: str) -> None:
    document = record()
    COPIES[name](document)
    assert record_digest(document) == record_digest(record())


@each("name", OTHERS)
def test_other_records_are_not(name: str) -> None:
    document = record()
    OTHERS[name](document)
    assert record_digest(document) != record_digest(record())


def test_the_time_of_collection_does_not_count_at_any_depth() -> None:
    digests = {
        record_digest({"a": [{"b": [{"retrieved_timestamp": time, "c": 1}]}]})
        for time in ("1", "2", 3, None, [1])
    }
    assert digests == {record_digest({"a": [{"b": [{"c": 1}]}]})}
    assert {record_digest({"evaluation_results": [{"evaluation_id": n}]}) for n in (1, 2)} == {
        record_digest({"evaluation_results": [{}]})
    }


def test_the_path_of_the_rows_counts_only_elsewhere() -> None:
    details = [{"detailed_evaluation_results": {"file_path": name}} for name in ("a", "b")]
    assert len(set(map(record_digest, details))) == 1
    assert len({record_digest({"a": one}) for one in details}) == 2


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-1, 1) | st.sampled_from(["", "a"]),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.sampled_from("ab"), some),
    max_leaves=12,
)


def shuffled(value: Any, chance: Random) -> Any:
    """Return a value with all its lists and objects in another order."""
    if isinstance(value, dict):
        names = chance.sample(sorted(value), len(value))
        return {name: shuffled(value[name], chance) for name in names}
    if isinstance(value, list):
        return [shuffled(item, chance) for item in chance.sample(value, len(value))]
    return value


def sorted_text(value: Any) -> str:
    """Write a value with all its lists sorted, plainly."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}:{sorted_text(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(sorted(map(sorted_text, value))) + "]"
    return json.dumps(value)


@given(VALUES, VALUES, st.randoms(use_true_random=False))
def test_order_does_not_count_and_everything_else_does(one: Any, other: Any, chance: Any) -> None:
    digests = record_digest({"a": one}), record_digest({"a": other})
    assert record_digest({"a": shuffled(one, chance)}) == digests[0]
    assert (digests[0] == digests[1]) == (sorted_text(one) == sorted_text(other))


@each(
    ("one", "other"),
    [([["a"], ["b"]], [["a", "b"]]), ([[1, 2], [3]], [[1, 3], [2]]), ([], [[]]), ([{}], [[]])],
)
def test_what_is_in_which_list_counts(one: Any, other: Any) -> None:
    assert record_digest({"a": one}) != record_digest({"a": other})


def test_a_document_is_not_changed() -> None:
    document = record()
    kept = deepcopy(document)
    record_digest(document)
    assert document == kept


@each("name", COPIES)
@pytest.mark.parametrize(
    ("profile", "severity"), [(DEFAULT, Severity.WARNING), (DATASTORE, Severity.ERROR)]
)
def test_the_same_record_twice_is_an_error_in_a_datastore(
    name: str, profile: str, severity: Severity
) -> None:
    first, second = f"{FOLDER}/{OTHER}.json", f"{FOLDER}/{UUID}.json"
    put(first)
    put(second, COPIES[name])
    assert told("ES903", profile=profile) == [(second, severity, first)]
    report = evalstream.check(".", profile=profile, select=("ES903",))
    assert report.exit_code == (1 if severity is Severity.ERROR else 0)
    assert [run.verdict == "failed" for run in report.runs] == [False, bool(report.exit_code)]


@each("name", ["score", "model", "a result less"])
@pytest.mark.parametrize("profile", [DEFAULT, DATASTORE])
def test_a_uuid_of_two_records_is_found(name: str, profile: str) -> None:
    first, second = f"{FOLDER}/{UUID}.json", f"data/tiny-arithmetic/acme/birch-7b/{UUID}.json"
    put(first)
    put(second, OTHERS[name])
    assert told("ES906", profile=profile) == [(second, Severity.ERROR, first)]
    assert told("ES906", [second, first], profile=profile) == [(first, Severity.ERROR, second)]
    assert told("ES903", profile=profile) == []
    report = evalstream.check(".", select=("ES906",))
    assert (report.exit_code, report.runs[1].verdict) == (1, "failed")


def test_both_layouts_of_a_store_are_compared() -> None:
    put(f"{FOLDER}/{UUID}.json")
    put(FLAT, rescored)
    assert told("ES906") == [(FLAT, Severity.ERROR, f"{FOLDER}/{UUID}.json")]
    put(FLAT)
    assert told("ES906") == []
    assert told("ES903") == [(FLAT, Severity.WARNING, f"{FOLDER}/{UUID}.json")]


@each("name", COPIES)
def test_where_the_content_is_the_same_only_the_copy_is_told_of(name: str) -> None:
    put(f"a/{UUID}.json")
    put(f"b/{UUID}.json", COPIES[name])
    assert set(evalstream.check(".", select=("ES9",), ignore=("ES901", "ES902")).counts) <= {
        "ES903",
        "ES904",
    }
    assert told("ES903") == [(f"b/{UUID}.json", Severity.WARNING, f"a/{UUID}.json")]


def test_the_first_record_with_a_uuid_is_named() -> None:
    for folder, change in (("a", None), ("b", rescored), ("c", None), ("d", rescored)):
        put(f"{folder}/{UUID}.json", change or (lambda _: None))
    put(f"e/{OTHER}.json", rescored)
    assert told("ES906") == [
        (f"b/{UUID}.json", Severity.ERROR, f"a/{UUID}.json"),
        (f"d/{UUID}.json", Severity.ERROR, f"a/{UUID}.json"),
    ]
    assert told("ES903") == [
        (f"c/{UUID}.json", Severity.WARNING, f"a/{UUID}.json"),
        (f"d/{UUID}.json", Severity.WARNING, f"b/{UUID}.json"),
        (f"e/{OTHER}.json", Severity.WARNING, f"b/{UUID}.json"),
    ]


def test_the_case_of_a_uuid_does_not_matter() -> None:
    put(f"a/{UUID}.json")
    put(f"b/{UUID.upper()}.json", rescored)
    assert [file for file, *_ in told("ES906", ["a", "b"])] == [f"b/{UUID.upper()}.json"]


@each("name", ["aggregate.json", "results_0001.json", f"0.2.0-{UUID}.json"])
def test_other_names_may_stand_in_several_folders(name: str) -> None:
    put(f"a/{name}")
    put(f"b/{name}", rescored)
    assert told("ES906", ["a", "b"]) == []


def test_one_file_that_is_named_twice_is_one_record() -> None:
    path = put(f"{FOLDER}/{UUID}.json")
    assert told("ES906", [path, f"./{path}", "data"]) == []


def test_an_aggregate_that_cannot_be_read_has_no_content() -> None:
    put(f"a/{UUID}.json")
    put(f"b/{UUID}.json")
    Path(f"a/{UUID}.json").write_text('{"evaluation_results": [')
    assert told("ES906", ["a", "b"]) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_shards_workers_and_ledgers_tell_what_one_check_tells(jobs: int) -> None:
    for number in range(6):
        put(f"{number}/{UUID}.json", rescored if number % 2 else lambda _: None)
        put(f"{number}/{OTHER}.json", COPIES["order of results"] if number else lambda _: None)
    whole = evalstream.check(".", jobs=1)
    assert (whole.counts["ES906"], whole.counts["ES903"]) == (3, 4 + 5 + 1)
    assert list(evalstream.check(".", jobs=jobs)) == list(whole)
    for _ in range(2):
        assert list(evalstream.check(".", jobs=jobs, ledger="../ledger")) == list(whole)
    for shard in (1, 2, 3):
        with Output(f"../part-{shard}") as part:
            reporter = PartReporter(part)
            evalstream.check(".", shard=f"{shard}/3", reporter=reporter, jobs=jobs)
    assert list(merge([f"../part-{shard}" for shard in (3, 1, 2)])) == list(whole)


FOREIGN = {
    "global-mmlu-lite/Alibaba/Qwen-3-235B-A22B-Instruct",
    "global-mmlu-lite/Cohere/Aya-Expanse-32B",
    "global-mmlu-lite/Google/Gemini-3-Pro-Preview",
    "hal-scicode/openai/gpt-4-1",
}
"""Where real records lie in the directory of another model: the store's own gate warns of these."""


@pytest.mark.deep
@needs_corpus
def test_what_is_told_of_a_store_of_real_records() -> None:
    lay_out_store(Path())
    found = list(
        evalstream.check("data", max_findings=0, select=("ES903", "ES906", "ES908", "ES910"))
    )
    foreign = [finding.file for finding in found if finding.code == "ES910"]
    assert {Path(file).parent.relative_to("data").as_posix() for file in foreign} == FOREIGN
    assert len(foreign) == len(FOREIGN)
    (collision,) = (finding for finding in found if finding.code == "ES908")
    assert collision.found == "data/global-mmlu-lite/google"
    assert len(found) == len(FOREIGN) + 1 + 2
