"""Tests of what a log of HarpIA Lab gives to a comparison."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from compared_records import Collected, collected, compared
from each import each

from evalstream.engine import row_pass
from evalstream.formats.harpia.values import is_lower_better, iterate_scores
from evalstream.model.comparison import Answered, CompareVerdict
from evalstream.model.sample_record import SampleFlag
from evalstream.stats.sample_digests import InputDigests, bytes_digest, text_identity

EXAMPLES = Path(__file__).parents[4] / "examples/harpia"
INPUT = json.loads((EXAMPLES / "input.json").read_text())
LOG = [json.loads(line) for line in (EXAMPLES / "log.jsonl").read_text().splitlines()]
BLEU = 'BLEU NLTK / result {"max_order":2,"smoothing":true}'


def record(result: Any, instance: Any = "a", metric: Any = "M", **more: Any) -> dict[str, Any]:
    """Return a log record; its parameters are empty unless they are given."""
    return {"metric": metric, "instance_id": instance, "parameters": {}, "result": result, **more}


def checked(folder: Path, log: list[Any], read: Any = None, **options: Any) -> Collected:
    """Check a log, written to a folder, with its input if there is one."""
    folder.mkdir()
    (folder / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in log))
    if read is not None:
        (folder / "input.json").write_text(json.dumps(read))
    return collected(folder, **options)


@each(
    ("result", "expected"),
    [
        (0.5, {"": 0.5}),
        (True, {"": True}),
        (None, {"": None}),
        ([0.5], {"": 0.5}),
        ([0.5, 0.7], {}),
        ("0.5", {}),
        ({"f1": [0.5], "hash": "x", "n": {"a": 1, "b": None}}, {"f1": 0.5, "n/a": 1, "n/b": None}),
        ({}, {}),
    ],
)
def test_scores_are_the_numbers_of_a_result(result: Any, expected: dict[str, Any]) -> None:
    assert {"/".join(path): score for path, score in iterate_scores(result)} == expected


@each(
    ("metric", "expected"),
    [
        ("WER", True),
        ("Word Error Rate", True),
        ("TER sacrebleu", True),
        ("characterErrorRate", True),
        ("Levenshtein distance", True),
        ("Perplexity", True),
        ("BLEU NLTK", False),
        ("METEOR", False),
        ("Exact match", False),
        ("interval", False),
    ],
)
def test_lower_error_rates_are_better(metric: str, *, expected: bool) -> None:
    assert is_lower_better(metric) is expected


def test_a_log_gives_a_sample_for_each_number() -> None:
    found = collected(EXAMPLES)
    assert found.checked.refusal is None
    expected = {}
    for line, one in enumerate(LOG, 1):
        result = one["result"]
        numbers = result if isinstance(result, dict) else {"result": result}
        parameters = json.dumps(one["parameters"], separators=(",", ":"), sort_keys=True)
        for name, number in numbers.items():
            expected[line, f"{one['metric']} / {name} {parameters}"] = number
    assert {key: one.score for key, one in found.samples.items()} == expected


def test_the_input_of_a_record_is_that_of_its_instance() -> None:
    found = collected(EXAMPLES)
    instances = {one["id"]: one for one in INPUT["instances"]}
    for line, log in enumerate(LOG, 1):
        instance = instances[log["instance_id"]]
        digests = InputDigests(instance["input"], instance["expected-output"], ())
        assert found.identities()[line] == (digests.high, digests.low)


def test_without_an_input_records_have_no_identity_but_their_ids(tmp_path: Path) -> None:
    found = checked(tmp_path / "a", LOG)
    assert not found.samples
    assert found.checked.shown.without_identity == len(LOG)
    by_id = checked(tmp_path / "b", LOG, by="sample_id")
    assert by_id.identities() == {
        line: text_identity(one["instance_id"].encode()) for line, one in enumerate(LOG, 1)
    }


def test_ids_are_the_same_as_number_and_as_text(tmp_path: Path) -> None:
    numbers = checked(tmp_path / "a", [record(1, 7)], by="sample_id")
    texts = checked(tmp_path / "b", [record(1, "7")], by="sample_id")
    assert numbers.identities() == texts.identities() == {1: text_identity(b"7")}


def test_an_id_of_two_instances_has_no_input(tmp_path: Path) -> None:
    read = {**INPUT, "instances": [*INPUT["instances"], INPUT["instances"][0]]}
    found = checked(tmp_path / "a", LOG, read)
    repeated = INPUT["instances"][0]["id"]
    lines = {line for line, one in enumerate(LOG, 1) if one["instance_id"] != repeated}
    assert found.identities().keys() == lines


@each(
    "instance", [{"input": 5}, {"expected-output": {}}, {"expected-output": [5]}, {"input": None}]
)
def test_inputs_that_are_no_texts_are_not_known(tmp_path: Path, instance: dict[str, Any]) -> None:
    first = {**INPUT["instances"][0], **instance}
    read = {**INPUT, "instances": [first, *INPUT["instances"][1:]]}
    found = checked(tmp_path / "a", LOG, read)
    lines = {line for line, one in enumerate(LOG, 1) if one["instance_id"] != first["id"]}
    assert found.identities().keys() == lines


def test_metrics_with_other_parameters_are_other_metrics(tmp_path: Path) -> None:
    log = [record(1, parameters={"n": 1}), record(0, parameters={"n": 2}), record(0.5)]
    found = checked(tmp_path / "a", log, by="sample_id")
    assert {key: one.score for key, one in found.samples.items()} == {
        (1, 'M / result {"n":1}'): 1,
        (2, 'M / result {"n":2}'): 0,
        (3, "M / result"): 0.5,
    }


def test_long_parameters_that_differ_at_their_end_differ_in_name(tmp_path: Path) -> None:
    log = [record(1, parameters={"a": "x" * 500, "n": number}) for number in (1, 2)]
    found = checked(tmp_path / "a", log, by="sample_id")
    names = {label for _, label in found.samples}
    assert len(names) == 2
    assert max(map(len, names)) < 150


def test_true_and_false_are_right_and_wrong(tmp_path: Path) -> None:
    log = [record(True, "a"), record(False, "b"), record(1, "c")]
    found = checked(tmp_path / "a", log, by="sample_id")
    seen = {line: (one.score, one.flags) for (line, _), one in found.samples.items()}
    assert seen == {1: (1, SampleFlag.RIGHT), 2: (0, SampleFlag.WRONG), 3: (1, 0)}


def test_samples_without_a_score_are_kept_as_such(tmp_path: Path) -> None:
    log = [
        record({"p": 1, "r": 0.5}, "a"),
        record(None, "b"),
        record({"p": None, "r": 1}, "c"),
        {**record(0, "d"), "result": {"p": 1e999, "r": 1}},
    ]
    found = checked(tmp_path / "a", log, by="sample_id")
    scores = {key: one.score if one.scored else None for key, one in found.samples.items()}
    assert scores == {
        (1, "M / p"): 1,
        (1, "M / r"): 0.5,
        (2, "M / p"): None,
        (2, "M / r"): None,
        (3, "M / p"): None,
        (3, "M / r"): 1,
        (4, "M / p"): None,
        (4, "M / r"): None,
    }


def test_records_that_name_no_metric_or_instance_are_no_samples(tmp_path: Path) -> None:
    log = [record(1), record(1, None), record(1, "b", None), {**record(1, "c"), "parameters": 5}]
    assert checked(tmp_path / "a", log, by="sample_id").identities().keys() == {1}


def test_records_of_one_instance_and_metric_are_one_sample(tmp_path: Path) -> None:
    found = checked(tmp_path / "a", [record(1), record(0)], by="sample_id")
    ((_, one),) = found.samples.items()
    assert (one.rows, one.score) == (2, 0.5)


def test_instances_give_the_clusters_that_records_lack(tmp_path: Path) -> None:
    instances = [{**one, "topic": "t"} for one in INPUT["instances"]]
    log = [{**LOG[0], "topic": "own"}, *LOG[1:]]
    found = checked(tmp_path / "a", log, {**INPUT, "instances": instances}, cluster="/topic")
    clusters = {line: one.cluster for (line, _), one in found.samples.items()}
    assert clusters == {line: bytes_digest(b'"own"' if line == 1 else b'"t"') for line in clusters}
    # Without the option, the word is that of the input, by which copies are found.
    assert not {one.cluster for one in collected(EXAMPLES).samples.values()} & set(
        clusters.values()
    )


@each("name", ["log.jsonl", "log.json", "log.jsonl.gz"])
def test_the_responses_of_records_are_read_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "input.json").write_text(json.dumps(INPUT))
    text = json.dumps(LOG) if name == "log.json" else "".join(json.dumps(o) + "\n" for o in LOG)
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    found = collected(tmp_path)
    places = sorted(
        (one.line, one.offset) for (_, label), one in found.samples.items() if label == BLEU
    )
    responses = {one["id"]: one["actual-output"] for one in INPUT["instances"]}
    assert len(places) == len(responses)
    records = [LOG[line - 1] for line, _ in places]
    ids = [record["instance_id"] for record in records]
    assert found.answers(*places) == [
        Answered(one, responses[one], True, record)
        for one, record in zip(ids, records, strict=True)
    ]


def test_without_an_input_responses_are_not_known(tmp_path: Path) -> None:
    found = checked(tmp_path / "a", LOG, by="sample_id")
    name = LOG[0]["instance_id"]
    assert found.answers((1, 0)) == [Answered(name, None, True, LOG[0])]


def test_an_output_alone_has_no_scores_of_samples(tmp_path: Path) -> None:
    path = tmp_path / "output.json"
    path.write_bytes((EXAMPLES / "output.json").read_bytes())
    assert collected(path).checked.samples is None


def test_lines_and_offsets_are_those_of_the_file_whatever_its_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 256)
    log = [record(number / 100, number) for number in range(100)]
    found = checked(tmp_path / "a", log, by="sample_id")
    assert found.scores("M / result") == {n + 1: n / 100 for n in range(100)}
    starts = {line: one.offset for (line, _), one in found.samples.items()}
    text = (tmp_path / "a/log.jsonl").read_bytes()
    assert starts == {n + 1: text.index(f'"instance_id": {n},'.encode()) - 16 for n in range(100)}


def two_runs(tmp_path: Path) -> tuple[Path, Path]:
    """Write two runs, whose second one has two wrong answers; return their folders."""
    names = [one["id"] for one in INPUT["instances"]]
    folders = tmp_path / "a", tmp_path / "b"
    for folder, wrong in zip(folders, (0, 2), strict=True):
        read = {
            "instances": [
                {**one, "actual-output": f"{folder.name} says {one['id']}"}
                for one in INPUT["instances"]
            ],
            "metrics": [
                {"id": "WER", "enable": True, "parameters": {}},
                {"id": "Exact match", "enable": True, "parameters": {}},
            ],
        }
        log = [record(0.25 * (n < wrong), name, "WER") for n, name in enumerate(names)]
        log += [record(n >= wrong, name, "Exact match") for n, name in enumerate(names)]
        checked(folder, log, read)
    return folders


def test_two_logs_are_compared_instance_by_instance(tmp_path: Path) -> None:
    names = [one["id"] for one in INPUT["instances"]]
    report, flips = compared(*two_runs(tmp_path))
    found = {one.metric.label: one for one in report.comparisons}
    errors, exact = found["WER / result"], found["Exact match / result"]
    assert errors.metric.lower_is_better
    assert errors.estimate is not None
    assert exact.estimate is not None
    assert errors.estimate.difference == pytest.approx(-0.5 / len(names))
    assert exact.estimate.difference == pytest.approx(2 / len(names))
    assert (exact.right_to_wrong, exact.wrong_to_right) == (2, 0)
    shown = [(flip.sample_id, flip.answer_a, flip.answer_b) for flip in flips]
    assert shown == [(name, f"a says {name}", f"b says {name}") for name in names[:2]]


@pytest.mark.parametrize("name", ["log.jsonl", "input.json"])
def test_answers_of_a_file_that_changed_after_its_check_are_not_shown(
    tmp_path: Path, name: str
) -> None:
    first, second = two_runs(tmp_path)
    path = second / name

    def change() -> None:
        path.write_text(path.read_text().replace("says", "said") + "\n")

    report, flips = compared(first, second, meanwhile=change)
    assert len(flips) == 2
    assert {flip.answer_b for flip in flips} == {None}
    assert None not in {flip.answer_a for flip in flips}
    (warning,) = report.warnings
    assert warning.startswith("B: the file changed after its check")


def test_a_log_without_its_input_is_compared_by_the_ids_of_instances(tmp_path: Path) -> None:
    checked(tmp_path / "a", LOG)
    path = tmp_path / "a/log.jsonl"
    report, _ = compared(path, EXAMPLES)
    (warning,) = report.warnings
    assert warning.startswith("A: no log line has what samples are paired by (input)")
    assert "--by sample_id" in warning
    assert {one.verdict for one in report.comparisons} == {CompareVerdict.NOT_COMPARABLE}
    by_id, _ = compared(path, EXAMPLES, by="sample_id")
    assert by_id.warnings == []
    assert {one.alignment.overlap for one in by_id.comparisons} == {1}
    assert {one.alignment.drifted for one in by_id.comparisons} == {0}


def test_metrics_with_other_parameters_are_not_compared(tmp_path: Path) -> None:
    for number in (1, 2):
        checked(tmp_path / f"{number}", [record(1, parameters={"n": number})])
    report, _ = compared(tmp_path / "1/log.jsonl", tmp_path / "2/log.jsonl", by="sample_id")
    assert not report.comparisons
    assert report.refused is not None
