"""Comparisons of generated runs say what an independent reference works out."""

import json
from pathlib import Path
from typing import Any

from compared_runs import Files, assert_equal_comparisons
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Row = dict[str, Any]

IDS = st.sampled_from(["1", 1, 2, "a", "b", "c", "d"]) | st.integers(0, 40)
INPUTS = st.fixed_dictionaries(
    {
        "raw": st.integers(0, 12).map("question {}".format),
        "reference": st.sampled_from(["x", ["x"], ["x", "y"], ["z"], []]),
    },
    optional={
        "choices": st.sampled_from([None, [], ["x", "y"]]),
        "formatted": st.sampled_from([None, "", "one prompt", "another prompt"]),
    },
)
BINARY = st.sampled_from([0, 1, 0.0, 1.0])
GRADED = st.sampled_from([0, 1, 0.25, 0.1, None, "unknown"])


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Return rows in which identities, ids and results often occur again."""
    scores = draw(st.sampled_from([BINARY, GRADED]))
    row = st.fixed_dictionaries(
        {
            "schema_version": st.just("0.3.0"),
            "evaluation_id": st.just("e"),
            "model_id": st.just("m"),
            "evaluation_name": st.sampled_from(["one", "one", "two"]),
            "sample_id": IDS,
            "interaction_type": st.just("single_turn"),
            "input": INPUTS | st.just({"raw": "without a reference"}),
            "output": st.just({"raw": ["answer"]}),
            "answer_attribution": st.just([]),
            "evaluation": st.fixed_dictionaries({"score": scores, "is_correct": st.booleans()}),
        },
        optional={"evaluation_result_id": st.sampled_from(["first", "second"])},
    )
    return draw(st.lists(row, min_size=1, max_size=25))


@st.composite
def changed(draw: st.DrawFn, source: list[Row]) -> list[Row]:
    """Return a copy of rows in another order, some of which are changed or lost."""
    copy = []
    for row in draw(st.permutations(source)):
        way = draw(st.integers(0, 12))
        shown = dict(row["input"])
        if way == 0 and copy:
            continue
        if way == 1:
            shown["raw"] = f"{shown['raw']}!"
        if way == 2:
            shown["reference"] = ["another"]
        sample = draw(IDS) if way == 3 else row["sample_id"]
        copy.append({**row, "input": shown, "sample_id": sample})
    return copy


RESULTS = st.lists(
    st.fixed_dictionaries(
        {
            "evaluation_name": st.sampled_from(["one", "two"]),
            "metric_config": st.fixed_dictionaries(
                {"lower_is_better": st.just(False), "min_score": st.just(0)},
                optional={
                    "max_score": st.just(1),
                    "metric_name": st.sampled_from(["metric", "other metric"]),
                },
            ),
        },
        optional={"evaluation_result_id": st.sampled_from(["first", "second"])},
    ),
    max_size=3,
)


def written(folder: Path, source: list[Row], results: list[Row] | None) -> Files:
    """Write a run, and return its files."""
    folder.mkdir(exist_ok=True)
    path, aggregate = folder / "run.jsonl", folder / "aggregate.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in source))
    aggregate.unlink(missing_ok=True)
    if results is None:
        return path, None
    document = {"schema_version": "0.3.0", "evaluation_id": "e", "evaluation_results": results}
    aggregate.write_text(json.dumps(document))
    return path, aggregate


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_generated_runs(tmp_path: Path, data: st.DataObject) -> None:
    source = data.draw(rows())
    others = data.draw(changed(source) | rows())
    results = data.draw(st.none() | RESULTS)
    a = written(tmp_path / "a", source, results)
    b = written(tmp_path / "b", others, data.draw(st.just(results) | RESULTS))
    assert_equal_comparisons(a, b)
