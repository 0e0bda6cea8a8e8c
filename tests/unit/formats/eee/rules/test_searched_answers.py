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
from evalstream.formats.eee.score_scale import AS_WRITTEN, NUMBERED, list_searching, search_mode


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
        ("Scoring pattern not matched in output: tea", ["tea"], True),
        ("Scoring pattern not matched in output: tea", ["tea", 7], False),
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


def test_each_of_several_scorers_shows_its_own_answer_where_ids_name_them() -> None:
    document = inspected([], "scorer match", "scorer model_graded_qa", "scorer includes")
    for result, scorer in zip(
        document["evaluation_results"], ("match", "model_graded_qa", "includes"), strict=True
    ):
        result["evaluation_result_id"] = f"{scorer}:accuracy"
    results = Aggregate(document).joinable
    assert list_searching("inspect", results) == {0, 2}
    assert search_mode("inspect", results) == 1
    assert list_searching("inspect", [results[1]]) == set()


@each(("name", "library", "mode"), [
    ("includes", "inspect_ai", AS_WRITTEN), ("f1", "inspect_ai", 1), ("match", "another", 0),
    ("arc", "inspect_ai", 0),
])  # fmt: skip
def test_the_first_converters_called_a_result_by_its_scorer(
    name: str, library: str, mode: int
) -> None:
    document = inspected([], "mean", library=library)
    document["evaluation_results"][0]["evaluation_name"] = name
    assert search_mode(library, Aggregate(document).joinable) == mode


def spoken(*texts: str | None, role: str = "assistant") -> Row:
    """Return a row of several turns, the last ones of a role."""
    row = answered("", ["5"])
    turns = [{"role": "user", "content": "How many, of 5 or 6?"}]
    turns += [{"role": role, "content": text, "tool_calls": []} for text in texts]
    return row | {"interaction_type": "multi_turn", "output": None, "messages": turns}


@each(
    ("row", "expected"),
    [
        (spoken("It is 7."), True),
        (spoken("It is 5, no 7."), False),
        (spoken("It is 5.", "It is 7."), False),
        (spoken(None, "No idea"), True),
        (spoken("No idea", ""), False),
        (spoken("No idea", role="tool"), False),
        (spoken(), False),
        (spoken("No idea") | {"answer_attribution": [{}]}, False),
        (spoken("No idea") | {"input": {"reference": ["5"], "choices": ["x", "y"]}}, False),
    ],
)
def test_the_last_turn_of_the_model_is_its_answer(row: Row, expected: bool) -> None:
    assert shows_no_reference(row, AS_WRITTEN) is expected


def test_a_call_may_give_the_answer() -> None:
    row = spoken("I submit it.", "Done.")
    row["messages"][1]["tool_calls"] = [{"name": "submit", "arguments": {"answer": "5"}}]
    assert not shows_no_reference(row, AS_WRITTEN)
    row["messages"][1]["tool_calls"] = [{"name": "submit", "arguments": {"answer": "6"}}]
    assert shows_no_reference(row, AS_WRITTEN)
    row["messages"][2]["tool_calls"] = [{"name": "submit", "arguments": {}}]
    assert not shows_no_reference(row, AS_WRITTEN)


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


def found_in(
    folder: Path, rows: list[Row], scorer: str, engine: str, words: str = "looks for"
) -> list[str]:
    """Check rows with an aggregate of one scorer, and return what refutes their judgements."""
    (folder / "rows.jsonl").write_bytes(bytes_of(rows))
    (folder / "aggregate.json").write_text(json.dumps(inspected(rows, scorer)))
    report = evalstream.check(
        folder / "rows.jsonl", aggregate=folder / "aggregate.json", select=["ES808"], engine=engine
    )
    found = [one for one in report.findings if words in one.message]
    places = {(one.severity.name, one.pointer) for one in found}
    assert places <= {("WARNING", "/evaluation_results/0"), ("WARNING", "/evaluation/is_correct")}
    return [one.message for one in found]


@pytest.mark.parametrize("engine", ["auto", "rust"])
@each(
    ("scorer", "output", "epochs", "expected"),
    [
        ("match", "no idea", 1, True),
        ("match", "7", 1, True),
        ("includes", "it is 5, I think", 1, False),
        ("model_graded_qa", "no idea", 1, False),
        ("includes", "7 of 12", 1, True),
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


@pytest.mark.parametrize("engine", ["auto", "rust"])
@pytest.mark.parametrize("keeps_own", [True, False])
def test_repeats_with_scores_of_their_own_are_judged(
    tmp_path: Path, keeps_own: bool, engine: str
) -> None:
    rows = [
        answered("5" if place % 3 else "no idea", ["5"])
        | {"sample_id": str(place // 3), "metadata": {"epoch": str(place % 3)}}
        for place in range(6)
    ]
    if keeps_own:
        rows[3]["evaluation"] |= {"score": 0.0, "is_correct": False}
    shown = found_in(tmp_path, rows, "scorer match", engine)
    assert len(shown) == keeps_own


@pytest.mark.parametrize("engine", ["auto", "rust"])
def test_a_right_answer_of_several_turns_shows_a_reference(tmp_path: Path, engine: str) -> None:
    rows = []
    for place, text in enumerate(("No idea", "It is 5.", "It is 7.")):
        row = spoken("Let me see.", text) | {"sample_id": str(place)}
        row["messages"] = [
            {"turn_idx": at, "tool_call_id": None, "reasoning_trace": None, **turn}
            for at, turn in enumerate(row["messages"])
        ]
        row["evaluation"] |= {"num_turns": 3, "tool_calls_count": 0}
        rows.append(row)
    (shown,) = found_in(tmp_path, rows, "scorer includes", engine)
    assert "shows no reference (first on line 1)" in shown


@pytest.mark.parametrize("engine", ["auto", "rust"])
@each(
    ("scorer", "output", "expected"),
    [("scorer choice", "", 1), ("scorer choice", "B", 0), ("acc", "", 0), ("scorer own", "", 0)],
)
def test_a_choice_is_not_right_with_an_empty_output(
    tmp_path: Path, scorer: str, output: str, expected: int, engine: str
) -> None:
    rows = [answered(text, ["B"]) | {"sample_id": text or "none"} for text in (output, "B")]
    for row in rows:
        row["input"]["choices"] = ["one", "two"]
    shown = found_in(tmp_path, rows, scorer, engine, "the output is empty")
    assert shown == ["is_correct is true, but the output is empty"] * expected
