"""The report `eee` beside that of upstream's validate command: its shape, its places, its verdicts.

Needs what test_upstream needs. The numbers are in docs/agreement.md.
"""

import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from corpus import CORPUS, expectations, lay_out_store, lines_of, needs_corpus
from each import each
from edits import apply
from members import VALUES, members
from paths import PAIRS
from upstream import answers, needs_upstream
from verdicts import Verdicts, classes_of

import evalstream
from evalstream.formats.registry import CATALOGUE
from evalstream.model.exit_codes import EEE, shown_exit_code
from evalstream.parsing.json import pointer
from evalstream.reporters.eee import READING_TYPES, TYPES, VALUE_TYPES, EeeReporter

pytestmark = needs_upstream

FILE_KEYS = ["file", "valid", "file_type", "line_count", "errors", "warnings"]
ENTRY_KEYS = (["loc", "msg", "type"], ["loc", "msg", "type", "input"])
CODE = re.compile(r"[A-Z]{2,3}[0-9]{3}")
BY_MODELS = {
    *("missing", "extra_forbidden", "enum", "string_type", "bool_type", "list_type", "model_type"),
    *("float_type", "float_parsing", "int_type", "int_parsing", "dict_type"),
}
"""Upstream's words for violations of its models, where the published schema says the same."""
WORDS = {
    *("not_checked", "failed", "truncated"),
    *(*TYPES.values(), *VALUE_TYPES.values(), *READING_TYPES.values(), "missing"),
}
"""The values of `type` that are not codes."""

File = dict[str, Any]


class Outcome(NamedTuple):
    """What a program writes and exits with."""

    text: str
    code: int

    @property
    def files(self) -> dict[str, File]:
        """The objects of the report by file."""
        return {one["file"]: one for one in json.loads(self.text)}


def ours(*inputs: Path, **options: Any) -> Outcome:
    """Check as `--profile datastore --format eee --exit-codes eee` does."""
    output = io.StringIO()
    report = evalstream.check(
        inputs,
        profile="datastore",
        jobs=1,
        reporter=EeeReporter(output),  # type: ignore[arg-type]  # it writes texts only
        **{"max_findings": 0, **options},
    )
    return Outcome(output.getvalue(), shown_exit_code(report.exit_code, report.totals, EEE))


def theirs(*files: Path) -> Outcome:
    """Let upstream's validate command write its report."""
    (outcome,) = all_theirs([files])
    assert outcome is not None
    return outcome


def all_theirs(calls: Iterable[Sequence[Path]]) -> list[Outcome | None]:
    """Return the outcome of each call of upstream's command; None where it ends in a traceback."""
    told = answers(("report", *map(str, files)) for files in calls)
    return [None if one is None else Outcome(*one) for one in told]


def assert_shaped_alike(files: Sequence[File]) -> None:
    """Require the keys of upstream's objects, and the types of their values."""
    for one in files:
        assert list(one) == FILE_KEYS
        assert [type(one[key]) for key in FILE_KEYS] == [str, bool, str, int, list, list]
        assert one["valid"] == (not one["errors"])
        assert one["file_type"] in ("aggregate", "instance", "unsupported")
        for entry in (*one["errors"], *one["warnings"]):
            assert list(entry) in ENTRY_KEYS
            assert {type(entry[key]) for key in ("loc", "msg", "type")} == {str}


def places(file: File) -> set[str]:
    """Return where upstream's models find violations."""
    return {one["loc"] for one in file["errors"] if one["type"] in BY_MODELS}


@each(
    ("script", "code"),
    [
        ("file unchanged", 0),
        ("row 1 /output removed", 1),
        ('line 2 bytes "{torn"', 1),
        ("aggregate /evaluation_results/0/metric_config/lower_is_better removed", 1),
    ],
)
def test_the_same_pair_has_the_same_shape_and_exit_code(
    script: str, code: int, tmp_path: Path
) -> None:
    case = apply(f"version 0.3.0\n{script}", tmp_path)
    assert case.aggregate is not None
    own, upstream = ours(case.rows), theirs(case.aggregate, case.rows)
    assert (own.code, upstream.code) == (code, code)
    for outcome in (own, upstream):
        assert_shaped_alike(list(outcome.files.values()))
    assert list(own.files) == list(upstream.files)
    for name, file in upstream.files.items():
        assert own.files[name]["file_type"] == file["file_type"]
        assert own.files[name]["line_count"] == file["line_count"]
        assert file["valid"] or not own.files[name]["valid"]
        assert places(file) <= {one["loc"] for one in own.files[name]["errors"]}


def test_the_report_of_a_clean_pair_is_the_same_to_the_byte(tmp_path: Path) -> None:
    case = apply("version 0.3.0\nfile unchanged", tmp_path)
    assert case.aggregate is not None
    assert ours(case.rows) == theirs(case.aggregate, case.rows)


def test_files_that_cannot_be_read_are_refused_alike(tmp_path: Path) -> None:
    other = tmp_path / "notes.md"
    other.write_text("# Notes\n")
    for path in (tmp_path / "missing.json", tmp_path / "missing.jsonl", other):
        own, upstream = ours(path), theirs(path)
        assert own.code == upstream.code == 1
        for key in ("file", "valid", "file_type", "line_count", "warnings"):
            assert own.files[str(path)][key] == upstream.files[str(path)][key]
        assert [one["loc"] for one in own.files[str(path)]["errors"]] == ["(file)"]


def is_among(place: str, found: set[str]) -> bool:
    """Tell whether a place was found; of a value with several forms upstream names the form."""
    return place in found or any(place.startswith(f"{one} -> ") for one in found)


def mutants(kind: str, folder: Path) -> Iterator[Path]:
    """Write each mutant of rows or of an aggregate to a file of its own."""
    ending = "jsonl" if kind == "instance" else "json"
    for number, line in enumerate(lines_of(CORPUS / "mutants" / f"{kind}-0.3.0.jsonl")):
        path = folder / f"{number}.{ending}"
        path.write_bytes(line + b"\n")
        yield path


@needs_corpus
@pytest.mark.parametrize("kind", ["instance", "aggregate"])
def test_mutants_are_refused_at_the_same_places(kind: str, tmp_path: Path) -> None:
    paths = list(mutants(kind, tmp_path))
    upstream = theirs(*paths).files
    count = 0
    for path in paths:
        own = ours(path).files[str(path)]
        assert_shaped_alike([own])
        found = {one["loc"] for one in own["errors"]}
        for place in places(upstream[str(path)]):
            assert is_among(place, found), (path, place, found)
            count += 1
    assert count > 20


def scripts() -> list[str]:
    """Return edits of a sound pair: members with another value, or removed."""
    (aggregate,) = (PAIRS / "0.3.0").rglob("*.json")
    (rows,) = (PAIRS / "0.3.0").rglob("*.jsonl")
    documents = {"aggregate": json.loads(aggregate.read_bytes())}
    for number, line in enumerate(rows.read_bytes().splitlines()[:3], 1):
        documents[f"row {number}"] = json.loads(line)
    made = [
        f"{name} {pointer(path)} {end}"
        for name, document in documents.items()
        for path in members(document)
        for end in ("removed", *(f"= {json.dumps(value)}" for value in VALUES))
    ]
    return Random(5).sample(made, 300)


def test_edits_are_refused_at_the_same_places(tmp_path: Path) -> None:
    cases = [
        apply(f"version 0.3.0\n{script}", tmp_path / str(number))
        for number, script in enumerate(scripts())
    ]
    runs = [(case.aggregate, case.rows) for case in cases if case.aggregate is not None]
    count = 0
    for files, upstream in zip(runs, all_theirs(runs), strict=True):
        own = ours(files[1])
        assert upstream is not None
        for name, file in upstream.files.items():
            found = {one["loc"] for one in own.files[name]["errors"]}
            assert all(is_among(place, found) for place in places(file)), (files, found)
            is_huge = any("exceeded maximum size" in one["msg"] for one in file["errors"])
            assert file["valid"] >= own.files[name]["valid"] or is_huge, (files, file["errors"])
            count += len(places(file))
    assert count > 150


def runs_of_the_corpus() -> Iterator[tuple[Path, Path]]:
    """Iterate over the pairs of the corpus, real ones and those with one fault each."""
    for pair in expectations("eee-pairs/expected.json")["pairs"]:
        if pair.get("instance_facts") and pair.get("aggregate_facts"):
            root = CORPUS / "eee-pairs" / pair["id"]
            yield root / pair["instance"], root / pair["aggregate"]
    facts = expectations("link-cases/expected.json")
    for path in sorted(path for path in (CORPUS / "link-cases").iterdir() if path.is_dir()):
        if (path / facts["samples_path"]).is_file():
            yield path / facts["samples_path"], path / facts["aggregate_path"]


@needs_corpus
def test_whatever_upstream_refuses_is_refused_but_for_the_known_classes() -> None:
    counts: Counter[str] = Counter()
    runs = list(runs_of_the_corpus())
    outcomes = all_theirs((aggregate, rows) for rows, aggregate in runs)
    for (rows, aggregate), upstream in zip(runs, outcomes, strict=True):
        own = ours(rows, aggregate)
        assert_shaped_alike(list(own.files.values()))
        if upstream is None:
            # The rows are not UTF-8, or nest too deep.
            assert own.code == 1
            continue
        counts.update([f"ours {own.code}, upstream {upstream.code}"])
        data = rows.read_bytes() + aggregate.read_bytes()
        for name, file in upstream.files.items():
            told = own.files[name]
            assert all(one["type"] in WORDS or one["type"] in CATALOGUE for one in told["errors"])
            refusals = tuple((one["type"], one["msg"]) for one in file["errors"])
            verdicts = Verdicts(codes_of(told), refusals, data)
            assert told["valid"] <= file["valid"] or classes_of(verdicts), (rows, verdicts[:2])
    assert counts["ours 1, upstream 1"] > 30


def codes_of(file: File) -> frozenset[str]:
    """Return our codes in the errors of a file; words of the validator stand for themselves."""
    return frozenset(CODE.findall("".join(one["msg"] for one in file["errors"])))


@needs_corpus
def test_a_store_has_one_object_for_each_file(tmp_path: Path) -> None:
    store = tmp_path.resolve()
    placed = lay_out_store(store)
    files = sorted(path for pair in placed for path in pair if path is not None)
    own = ours(store / "data", max_findings=3)
    assert_shaped_alike(list(own.files.values()))
    assert len(json.loads(own.text)) == len(own.files)
    assert {str(path) for path in files} <= set(own.files)
    full = ours(store / "data")
    assert {name: one["valid"] for name, one in own.files.items()} == {
        name: one["valid"] for name, one in full.files.items()
    }
