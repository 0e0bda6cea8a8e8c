"""Tests of what an evaluation gives to a comparison."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from compared_records import Collected, collected, compared
from each import each

from evalstream.formats.infereval.benchmark_hash import compute_hashes
from evalstream.formats.infereval.compared import read_scores
from evalstream.formats.infereval.votes import consensus
from evalstream.model.comparison import Answered
from evalstream.model.sample_record import UNKNOWN, SampleFlag
from evalstream.stats.sample_digests import BATCH_SAMPLES, text_identity

EXAMPLES = Path(__file__).parents[4] / "examples/infereval"
BENCHMARK = json.loads((EXAMPLES / "benchmark.json").read_text())
EVALUATION = json.loads((EXAMPLES / "evaluation.json").read_text())
AGREEMENT = f"{EVALUATION['benchmark_id']} / observed agreement"
COVERAGE = f"{EVALUATION['benchmark_id']} / coverage"
FAILED_CALL = {"parsed_verdict": "abstain", "provider_error": "timeout"}


def item(verdict: Any, *analysts: Any, **members: Any) -> dict[str, Any]:
    """Return an item with a verdict of the model and those of analysts."""
    return {"id": "i", "model_verdict": verdict, "analyst_verdicts": [*analysts], **members}


def written(evaluation: dict[str, Any]) -> str:
    """Return the text of an evaluation whose items begin on lines of their own, from line 1."""
    whole = json.dumps({**evaluation, "items": []}).partition('"items": []')
    return (
        whole[0] + '"items": [' + ",\n".join(map(json.dumps, evaluation["items"])) + "]" + whole[2]
    )


def checked(
    folder: Path, evaluation: Any, benchmark: Any = None, *, by: str = "input", **options: Any
) -> Collected:
    """Check an evaluation, written to a folder, with a benchmark if there is one."""
    folder.mkdir()
    (folder / "evaluation.json").write_text(written(evaluation))
    if benchmark is not None:
        (folder / "benchmark.json").write_text(json.dumps(benchmark))
    return collected(folder, by, **options)


@each(
    ("verdicts", "expected"),
    [
        (["good"], "good"),
        (["bad", "bad", "good"], "bad"),
        (["good", "bad"], "abstain"),
        (["good", "abstain", "abstain"], "good"),
        (["abstain"], "abstain"),
        ([], "abstain"),
        (["fine"], None),
        ([{}], None),
        ("good", None),
        (None, None),
    ],
)
def test_abstentions_do_not_outvote_the_analysts(verdicts: Any, expected: str | None) -> None:
    assert consensus(verdicts) == expected


@each(
    ("value", "agreement", "coverage", "flags"),
    [
        (item("good", "good"), 1, 1, SampleFlag.RIGHT),
        (item("bad", "good", "good"), 0, 1, SampleFlag.WRONG),
        (item("abstain", "good"), None, 0, 0),
        (item("good", "good", "bad"), None, 1, 0),
        (item("abstain", "abstain"), None, 0, 0),
        (item("good"), None, 1, 0),
        (item(None, "good"), None, None, 0),
        (item({}, "good"), None, None, 0),
        (item("good", None), None, 1, 0),
        (item("abstain", "good", samples=[FAILED_CALL] * 2), None, None, SampleFlag.FAILED),
        (item("good", "good", samples=[FAILED_CALL, {"parsed_verdict": "good"}]), 1, 1, 1),
        (item("good", "good", samples=[]), 1, 1, SampleFlag.RIGHT),
        (item("good", "good", samples="none"), 1, 1, SampleFlag.RIGHT),
    ],
)
def test_items_are_scored_where_the_score_is_defined(
    value: dict[str, Any], agreement: float | None, coverage: float | None, flags: int
) -> None:
    *scores, found = read_scores(value)
    assert [None if math.isnan(score) else score for score in scores] == [agreement, coverage]
    assert found == flags


def test_an_evaluation_gives_two_scores_for_each_item(tmp_path: Path) -> None:
    found = checked(tmp_path / "a", EVALUATION, BENCHMARK)
    assert found.checked.refusal is None
    for metric, place in ((AGREEMENT, 0), (COVERAGE, 1)):
        expected = [read_scores(one)[place] for one in EVALUATION["items"]]
        assert [*found.scores(metric)] != []
        seen = found.scores(metric)
        assert {line: str(score) for line, score in seen.items()} == {
            number: str(score) for number, score in enumerate(expected, 1)
        }


def test_the_means_are_those_of_the_evaluation() -> None:
    found = collected(EXAMPLES)
    verdicts = [one["model_verdict"] for one in EVALUATION["items"]]
    covered = [verdict != "abstain" for verdict in verdicts]
    coverage = [*found.scores(COVERAGE).values()]
    assert sum(coverage) / len(coverage) == sum(covered) / len(covered)


def test_an_evaluation_says_which_model_answered_and_how() -> None:
    described = collected(EXAMPLES).checked.description
    assert described.model == EVALUATION["model"]["model_id"]
    assert described.evaluation == EVALUATION["id"]
    assert described.settings["benchmark_hash"] == EVALUATION["benchmark_hash"]
    assert {metric.label for metric in described.metrics} == {AGREEMENT, COVERAGE}
    config = EVALUATION["endorsement_config"]
    assert described.generation[0]["endorsement_config/n_samples"] == str(config["n_samples"])


def test_inputs_are_the_texts_of_the_bearers_where_a_benchmark_gives_them(tmp_path: Path) -> None:
    renamed = json.loads(json.dumps([BENCHMARK, EVALUATION]))
    for document in renamed:
        for one in document["items"]:
            one["id"] = f"other {one['id']}"
    one = checked(tmp_path / "a", EVALUATION, BENCHMARK)
    same = checked(tmp_path / "b", renamed[1], renamed[0])
    assert one.identities() == same.identities()
    assert not any(UNKNOWN in identity for identity in one.identities().values())
    reworded = copy.deepcopy(BENCHMARK)
    changed_id = EVALUATION["items"][0]["premises"][0]
    reworded["bearers"][changed_id]["expression"] += " again"
    other = checked(tmp_path / "c", EVALUATION, reworded)
    for number, item in enumerate(EVALUATION["items"], 1):
        is_changed = changed_id in item["premises"] + item["conclusions"]
        assert (one.identities()[number] != other.identities()[number]) is is_changed


def test_a_paraphrase_is_another_input(tmp_path: Path) -> None:
    benchmark = copy.deepcopy(BENCHMARK)
    name = EVALUATION["items"][0]["premises"][0]
    benchmark["bearers"][name]["paraphrases"] = ["said otherwise"]
    varied = [
        checked(tmp_path / str(number), {**EVALUATION, "paraphrase_variant": number}, benchmark)
        for number in (0, 1, 2)
    ]
    plain, paraphrased, missing = (one.identities()[1] for one in varied)
    assert plain != paraphrased
    # A bearer without that paraphrase is shown by its expression.
    assert plain == missing


def test_without_a_benchmark_its_hash_says_what_the_bearers_are(tmp_path: Path) -> None:
    one = checked(tmp_path / "a", EVALUATION)
    again = checked(tmp_path / "b", EVALUATION)
    other = checked(tmp_path / "c", {**EVALUATION, "benchmark_hash": "sha256:" + "0" * 64})
    varied = checked(tmp_path / "d", {**EVALUATION, "paraphrase_variant": 1})
    known = checked(tmp_path / "e", EVALUATION, BENCHMARK)
    assert one.identities() == again.identities()
    for different in (other, varied, known):
        assert not set(one.identities().values()) & set(different.identities().values())
    assert one.checked.shown.settings != known.checked.shown.settings


def test_ids_of_bearers_do_not_show_that_inputs_differ(tmp_path: Path) -> None:
    found = checked(tmp_path / "a", EVALUATION)
    assert {(one.question, one.input) for one in found.samples.values()} == {(UNKNOWN, UNKNOWN)}
    known = checked(tmp_path / "b", EVALUATION, BENCHMARK)
    assert UNKNOWN not in {one.input for one in known.samples.values()}


def test_without_benchmark_and_hash_inputs_are_not_known(tmp_path: Path) -> None:
    bare = {name: value for name, value in EVALUATION.items() if name != "benchmark_hash"}
    found = checked(tmp_path / "a", bare)
    assert not found.samples
    assert found.checked.shown.without_identity == len(EVALUATION["items"])
    by_id = checked(tmp_path / "b", bare, by="sample_id")
    assert by_id.identities() == {
        number: text_identity(item["id"].encode())
        for number, item in enumerate(EVALUATION["items"], 1)
    }


def test_another_consensus_is_another_reference_of_the_same_question(tmp_path: Path) -> None:
    evaluation = copy.deepcopy(EVALUATION)
    first = evaluation["items"][0]
    first["analyst_verdicts"] = ["bad" for _ in first["analyst_verdicts"]]
    original = checked(tmp_path / "a", EVALUATION, BENCHMARK)
    changed = checked(tmp_path / "b", evaluation, BENCHMARK)
    assert consensus(EVALUATION["items"][0]["analyst_verdicts"]) == "good"
    was, now = (one.samples[1, COVERAGE] for one in (original, changed))
    assert was.question == now.question
    assert was.input != now.input


def test_items_are_clustered_by_a_value_of_theirs_or_of_the_benchmark(tmp_path: Path) -> None:
    benchmark = copy.deepcopy(BENCHMARK)
    for number, one in enumerate(benchmark["items"]):
        one["construction_metadata"] = {"source": f"book {number % 2}"}
    found = checked(tmp_path / "a", EVALUATION, benchmark, cluster="/construction_metadata/source")
    clusters = [
        one.cluster for (_, metric), one in sorted(found.samples.items()) if metric == COVERAGE
    ]
    assert len(set(clusters)) == 2
    assert clusters == [clusters[number % 2] for number in range(len(clusters))]
    alone = checked(tmp_path / "b", EVALUATION, cluster="/construction_metadata/source")
    assert {one.cluster for one in alone.samples.values()} == {UNKNOWN}


@pytest.mark.parametrize("indent", [None, 2])
def test_the_verdicts_of_items_are_read_again(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "evaluation.json"
    path.write_text(json.dumps(EVALUATION, indent=indent))
    text = path.read_bytes()
    items = EVALUATION["items"]
    ids = [json.dumps(item["id"]).encode() for item in items]
    offsets = [text.rindex(b"{", 0, text.index(b'"id": ' + name)) for name in ids]
    places = [(text.count(b"\n", 0, offset) + 1, offset) for offset in offsets]
    found = collected(path)
    beginnings = {(one.line, one.offset) for one in found.samples.values()}
    assert beginnings <= {*places}
    assert places[-1] in beginnings
    line, offset = places[-1]
    seen = found.answers(places[0], (line, offset - 1), places[-1], (line, offset + 1))
    first, last = (
        Answered(one["id"], one["model_verdict"], True, one) for one in (items[0], items[-1])
    )
    assert seen == [first, None, last, None]


def test_many_items_are_handed_on_in_parts(tmp_path: Path) -> None:
    many = {
        **EVALUATION,
        "items": [{**EVALUATION["items"][0], "id": f"{n}"} for n in range(BATCH_SAMPLES + 7)],
    }
    found = checked(tmp_path / "a", many, by="sample_id")
    assert len(found.scores(COVERAGE)) == BATCH_SAMPLES + 7


def test_repeated_ids_are_one_sample_with_several_rows(tmp_path: Path) -> None:
    twice = {**EVALUATION, "items": [EVALUATION["items"][0]] * 2}
    found = checked(tmp_path / "a", twice, by="sample_id")
    assert {one.rows for one in found.samples.values()} == {2}
    assert found.checked.summary.verdict == "failed"


def test_an_evaluation_that_breaks_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.json"
    text = json.dumps(EVALUATION)
    path.write_text(text[: text.index(EVALUATION["items"][-1]["id"])])
    assert collected(path).checked.refusal is not None


def test_a_benchmark_has_no_scores(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.json"
    path.write_text(json.dumps(BENCHMARK))
    assert collected(path).checked.samples is None


def many(times: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the example benchmark and evaluation, with each item several times."""
    benchmark, evaluation = (
        {
            **document,
            "items": [
                {**copy.deepcopy(item), "id": f"{item['id']} {number}"}
                for number in range(times)
                for item in document["items"]
            ],
        }
        for document in (BENCHMARK, EVALUATION)
    )
    benchmark["regularities"] = []  # they name items
    declared, _ = compute_hashes(benchmark, evaluation["framework_version"])
    return benchmark, {**evaluation, "benchmark_hash": declared}


def with_verdicts(evaluation: dict[str, Any], verdicts: dict[str, str]) -> dict[str, Any]:
    """Return an evaluation with other verdicts, by the ids of the items."""
    changed = copy.deepcopy(evaluation)
    for item in changed["items"]:
        verdict = item["model_verdict"] = verdicts[item["id"]]
        for one in item["samples"]:
            one |= {"parsed_verdict": verdict, "parse_status": "ok", "raw_response": verdict}
        counts = dict.fromkeys(("good", "bad", "abstain"), 0) | {verdict: len(item["samples"])}
        item["majority_vote"] = {**counts, "verdict": verdict, "tie_broken": False}
    return changed


def test_two_evaluations_are_compared_item_by_item(tmp_path: Path) -> None:
    benchmark, evaluation = many(3)
    right = {one["id"]: consensus(one["analyst_verdicts"]) or "" for one in evaluation["items"]}
    assert set(right.values()) == {"good", "bad"}
    *changed, last = right
    wrong = {name: "bad" if right[name] == "good" else "good" for name in changed}
    baseline = with_verdicts(evaluation, right)
    other = with_verdicts(evaluation, {**wrong, last: "abstain"})
    for folder, document in (("a", baseline), ("b", other)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "evaluation.json").write_text(json.dumps(document))
        (tmp_path / folder / "benchmark.json").write_text(json.dumps(benchmark))
    report, flips = compared(tmp_path / "a", tmp_path / "b")
    assert [run.verdict for run in report.runs] == ["passed", "passed"]
    found = {one.metric.label: one for one in report.comparisons}
    agreement, coverage = found[AGREEMENT], found[COVERAGE]
    assert agreement.alignment.matched == coverage.alignment.matched == len(right)
    assert agreement.estimate is not None
    assert coverage.estimate is not None
    assert agreement.estimate.n == len(right) - 1
    assert agreement.estimate.difference == pytest.approx(1)
    assert coverage.estimate.difference == pytest.approx(1 / len(right))
    shown = [(one.sample_id, one.answer_a, one.answer_b) for one in flips]
    # All items are on one line of the file.
    assert {one.line_a for one in flips} == {1}
    assert shown == [(name, right[name], wrong[name]) for name in changed]


def test_evaluations_on_other_benchmarks_do_not_drift(tmp_path: Path) -> None:
    other = {**EVALUATION, "benchmark_hash": "sha256:" + "0" * 64}
    paths = tmp_path / "a.json", tmp_path / "b.json"
    for path, document in zip(paths, (EVALUATION, other), strict=True):
        path.write_text(json.dumps(document))
    report, _ = compared(*paths)
    assert {one.alignment.matched for one in report.comparisons} == {0}
    assert report.drifts_in_all == 0
    assert "benchmark_hash" in {one.name for one in report.confounders}
    by_id, _ = compared(*paths, by="sample_id")
    assert {one.alignment.drifted for one in by_id.comparisons} == {0}
    assert {one.alignment.overlap for one in by_id.comparisons} == {1}


def test_a_reworded_bearer_is_drift(tmp_path: Path) -> None:
    reworded = copy.deepcopy(BENCHMARK)
    name = EVALUATION["items"][0]["premises"][0]
    reworded["bearers"][name]["expression"] += " again"
    changed = [
        item["id"] for item in EVALUATION["items"] if name in item["premises"] + item["conclusions"]
    ]
    hashed = {
        **EVALUATION,
        "benchmark_hash": compute_hashes(reworded, EVALUATION["framework_version"])[0],
    }
    for folder, documents in (("a", (EVALUATION, BENCHMARK)), ("b", (hashed, reworded))):
        (tmp_path / folder).mkdir()
        for kind, document in zip(("evaluation", "benchmark"), documents, strict=True):
            (tmp_path / folder / f"{kind}.json").write_text(json.dumps(document))
    report, _ = compared(tmp_path / "a", tmp_path / "b")
    assert report.refused is None
    assert {one.sample_id_a for one in report.drifts} == set(changed)
    by_id, _ = compared(tmp_path / "a", tmp_path / "b", by="sample_id")
    assert {one.alignment.drifted for one in by_id.comparisons} == {len(changed)}


def test_an_evaluation_without_its_benchmark_has_an_open_verdict(tmp_path: Path) -> None:
    paths = tmp_path / "a.json", tmp_path / "b.json"
    for path in paths:
        path.write_text(json.dumps(EVALUATION))
    report, _ = compared(*paths)
    assert "A has an open verdict (there was no benchmark to compare it with)" in report.first_line
