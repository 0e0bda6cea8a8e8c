"""Right answers in which a scorer of Inspect looks for a reference, in fast and exact checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from each import each
from rows import Row, aggregate_of, bytes_of, sound_rows

import evalstream
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.rules.searched_answers import shows_no_reference
from evalstream.formats.eee.score_scale import NUMBERED, list_searching


def answered(output: Any, references: Any) -> Row:
    (row,) = sound_rows("0.3.0", count=1)
    source = {**row["input"], "reference": references, "choices": None}
    judged = row["evaluation"] | {"score": 1.0, "is_correct": True}
    return row | {
        "interaction_type": "single_turn",
        "input": source,
        "output": {"raw": [output], "reasoning_trace": None},
        "messages": None,
        "answer_attribution": [],
        "evaluation": judged,
    }


@each(
    ("output", "references", "expected"),
    [
        ("no idea", ["2"], True),
        ("no idea", ["2", "12"], True),
        ("banana", ["a pear", "plum"], False),
        ("banana", ["pear", "plum"], True),
        ("I say: Ban-Ana!", ["banana"], False),
        ("Beatles", ["The Beatles"], False),
        ("12", ["13"], False),
        ("1e3", ["1,000"], False),
        ('line\n"two"', ["one"], True),
        ("caf\u00e9", ["tea"], False),
        ("tea", ["caf\u00e9"], False),
        ("tea", ["???"], False),
        ("tea", ["x" * 33], False),
        ("tea", ["pear " * 32], True),
        ("tea", ["pear " * 32, "plum"], False),
        ("", ["tea"], False),
        ("tea", "coffee", False),
        ("tea", ["coffee", 7], False),
        ("tea", [], False),
    ],
)
def test_an_answer_shows_no_reference_only_where_that_is_sure(
    output: str, references: Any, expected: bool
) -> None:
    assert shows_no_reference(answered(output, references), 1) is expected


@each(
    ("reference", "expected"),
    [("1", False), (" 12", False), ("-1", False), ("123", True), ("yes", True), ("1.", True)],
)
def test_a_reference_of_lm_eval_may_number_a_choice(reference: str, expected: bool) -> None:
    assert shows_no_reference(answered("no idea", [reference]), NUMBERED) is expected


def described(name: str, scorer: str) -> Row:
    return {"evaluation_description": name if name == scorer else f"{name} from {scorer}"}


def inspected(rows: list[Row], *scorers: str, library: str = "inspect_ai") -> Row:
    """Return an aggregate as the converter of Inspect writes it, with a result for each scorer."""
    document = aggregate_of("0.3.0", bytes_of(rows), len(rows))
    (result,) = document["evaluation_results"]
    metric = result["metric_config"]
    document["eval_library"] = {"name": library, "version": "0.3.285"}
    document["evaluation_results"] = [
        result | {"metric_config": metric | {"metric_name": name, **described(name, scorer)}}
        for scorer in scorers
        for name in ("accuracy" if "scorer" in scorer else scorer,)
    ]
    return document


@each(
    ("scorers", "library", "expected"),
    [
        (["scorer match"], "inspect_ai", True),
        (["scorer inspect_ai/includes"], "Inspect", True),
        (["scorer choice", "scorer choice"], "inspect_ai", True),
        (["scorer match", "scorer model_graded_qa"], "inspect_ai", False),
        (["scorer match", "scorer includes"], "inspect_ai", False),
        (["scorer my_match"], "inspect_ai", False),
        (["match"], "inspect_ai", False),
        (["scorer match"], "another", True),
        (["exact_match"], "lm_eval", True),
        (["exact_match"], "helm", False),
        (["acc"], "lm-evaluation-harness", False),
        ([], "inspect_ai", False),
    ],
)
def test_one_scorer_looks_for_references(scorers: list[str], library: str, expected: bool) -> None:
    aggregate = Aggregate(inspected([], *(scorers or ["match"]), library=library))
    results = aggregate.joinable if scorers else ()
    assert bool(list_searching(aggregate.library, results)) is expected


@pytest.mark.parametrize("engine", ["auto", "rust"])
@each(("references", "expected"), [(["5"], True), (["5", "6"], False), (["five"], False)])
def test_a_wrong_answer_is_not_the_reference(
    tmp_path: Path, references: list[str], expected: bool, engine: str
) -> None:
    rows = [answered("5", references)]
    rows[0]["evaluation"] |= {"score": 0.0, "is_correct": False}
    shown = found_in(tmp_path, rows, "scorer match", engine)
    message = (
        "is_correct is false though the answer is the reference (first on line 1),"
        " and match looks for one"
    )
    assert shown == expected * [message]


def found_in(folder: Path, rows: list[Row], scorer: str, engine: str) -> list[str]:
    """Check rows with an aggregate of one scorer, and return what refutes their judgements."""
    (folder / "rows.jsonl").write_bytes(bytes_of(rows))
    (folder / "aggregate.json").write_text(json.dumps(inspected(rows, scorer)))
    report = evalstream.check(
        folder / "rows.jsonl", aggregate=folder / "aggregate.json", select=["ES808"], engine=engine
    )
    found = [one for one in report.findings if "looks for" in one.message]
    places = {(one.severity.name, one.pointer) for one in found}
    assert places <= {("WARNING", "/evaluation_results/0")}
    return [one.message for one in found]


@pytest.mark.parametrize("engine", ["auto", "rust"])
@each(
    ("scorer", "output", "epochs", "expected"),
    [
        ("match", "no idea", 1, True),
        ("match", "7", 1, True),
        ("includes", "it is 5, I think", 1, False),
        ("model_graded_qa", "no idea", 1, False),
        # The score of an epoch is that of all of them.
        ("match", "no idea", 3, False),
    ],
)
def test_a_right_answer_shows_a_reference(
    tmp_path: Path, scorer: str, output: str, epochs: int, expected: bool, engine: str
) -> None:
    rows = [
        answered(output if not place else "5", ["5"])
        | {"sample_id": str(place // epochs), "metadata": {"epoch": str(place % epochs)}}
        for place in range(6)
    ]
    message = (
        "is_correct is true though the answer shows no reference (first on line 1),"
        f" and {scorer} looks for one"
    )
    assert found_in(tmp_path, rows, f"scorer {scorer}", engine) == expected * [message]
