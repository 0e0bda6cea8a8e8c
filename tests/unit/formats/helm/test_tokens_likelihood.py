"""The score of an instance is that of its most likely reference."""

import json
import math
import shutil
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.formats.helm.requests import PlainRequest
from evalstream.formats.helm.tokens import measure_reference, score_choices
from evalstream.model.report import Report

METRICS = ("exact_match", "max_prob")


def ask(index: int, likely: float, mode: str = "original", texts: Any = None) -> PlainRequest:
    """Return a request for the likelihood of one of two references, of which the first is right."""
    texts = ["Pens?", " ", f"{index}"] if texts is None else texts
    tokens = [{"text": text, "logprob": likely} for text in texts]
    references = [
        {"output": {"text": "0"}, "tags": ["correct"]},
        {"output": {"text": "1"}, "tags": []},
    ]
    value = {
        "instance": {"id": "id0", "input": {"text": "Pens?"}, "references": references},
        "train_trial_index": 0,
        "reference_index": index,
        "request_mode": mode,
        "result": {"completions": [{"text": "", "logprob": 0.0, "tokens": tokens}]},
    }
    return msgspec.convert(value, PlainRequest)


def score(requests: list[PlainRequest], *own: float) -> Any:
    """Return the exact match that requests give, None where it is not known."""
    packed = array("d", own).tobytes()
    found = score_choices([measure_reference(one) for one in requests], METRICS, packed)
    return found and array("d", found)[0]


def most(*likely: float) -> float:
    """Return the largest probability by softmax."""
    return max(map(math.exp, likely)) / sum(map(math.exp, likely))


def test_the_most_likely_reference_is_the_answer() -> None:
    requests = [ask(0, -1.0), ask(1, -2.0)]
    assert score(requests, 0.0, most(-1.0, -2.0)) == 1.0
    assert score([ask(0, -2.0), ask(1, -1.0)], 1.0, most(-1.0, -2.0)) == 0.0


def test_calibration_is_subtracted() -> None:
    requests = [ask(at, -1.0 - at) for at in range(2)]
    requests += [ask(at, -5.0 * at, "calibration") for at in range(2)]
    assert score(requests, 1.0, most(-2.0, -4.0 + 10.0)) == 0.0
    assert score(requests[:3], 1.0, most(-2.0, -4.0 + 10.0)) is None


@each(
    ("requests", "max_prob"),
    [
        ([], 1.0),
        ([ask(0, -1.0), ask(1, -2.0)], most(-1.0, -2.5)),
        ([ask(0, -1.0), ask(1, -1.0)], 0.5),
        ([ask(0, 10**400), ask(1, -1.0)], 1.0),
        ([ask(0, -90.0), ask(1, -1.0)], 1.0),
        ([ask(0, -1.0)] * 2, 1.0),
        ([ask(1, -1.0)], 1.0),
        ([ask(2, -1.0)], 1.0),
        ([ask(0, -1.0, texts=[])], 1.0),
        ([ask(0, -1.0, texts=["\u2581", "0"])], 1.0),
        ([ask(0, -1.0, texts=["0"])], 1.0),
        ([ask(0, -1.0, texts=[" ", "", "0"])], 1.0),
    ],
)
def test_a_score_is_known_only_where_the_tokens_give_its_probability(
    requests: list[PlainRequest], max_prob: float
) -> None:
    """A tokenizer may split the reference otherwise; releases differ in equal likelihoods."""
    if len(requests) == 2 and requests[0] is requests[1]:
        requests = [*requests, ask(1, -1.0, "calibration")]
    assert score(requests, 1.0, max_prob) is None


RUN = "pens-model=acme_acorn-7b"
ORIGINAL, CALIBRATED = (f"multiple_choice_separate_{one}" for one in ("original", "calibrated"))
ENGINES: tuple[Literal["auto", "portable"], ...] = ("auto", "portable")
UNDERIVED = ", but not by bits_per_byte, logprob_per_byte and perplexity"
BASIC = "helm.benchmark.metrics.basic_metrics."


def read(name: str) -> Any:
    return json.loads(Path(name).read_bytes())


def edit(name: str, change: Callable[[Any], Any]) -> None:
    value = read(name)
    change(value)
    Path(name).write_text(json.dumps(value))


def put(entry: Any, metric: str, value: float) -> None:
    """Set a statistic of an entry."""
    found = next(one for one in entry["stats"] if one["name"]["name"] == metric)
    found.update(dict.fromkeys(("sum", "min", "max", "mean"), value), sum_squared=value * value)


def value_of(entry: Any, metric: str) -> float:
    return float(next(one["sum"] for one in entry["stats"] if one["name"]["name"] == metric))


def ask_for_each(method: str) -> None:
    """Ask for each reference in place of the question, with the same scores."""
    entries, requests = read("per_instance_stats.json"), list[Any]()
    for entry, request in zip(entries, read("scenario_state.json")["request_states"], strict=True):
        references = request["instance"]["references"]
        right = [place for place, one in enumerate(references) if "correct" in one["tags"]]
        wrong = [place for place in range(len(references)) if place not in right]
        chosen = (right if value_of(entry, "exact_match") else wrong)[0]
        sums = [0.5 if place == chosen else 2.0 + place for place in range(len(references))]
        for place, reference in enumerate(references):
            for mode, logprob in (("original", -sums[place]), ("calibration", -0.25)):
                if mode == "original" or method == CALIBRATED:
                    spelled = f" {reference['output']['text']}"
                    tokens = [
                        {"text": "Output:", "logprob": -9.0},
                        {"text": spelled, "logprob": logprob},
                    ]
                    result = {"success": True, "completions": [{"text": "", "tokens": tokens}]}
                    each_one = {"reference_index": place, "request_mode": mode, "result": result}
                    requests.append(request | each_one | {"output_mapping": None})
        put(entry, "max_prob", 1 / sum(math.exp(sums[chosen] - one) for one in sums))
    Path("per_instance_stats.json").write_text(json.dumps(entries))
    edit("scenario_state.json", lambda state: state.update(request_states=requests))
    for name in ("scenario_state.json", "run_spec.json"):
        edit(name, lambda found: found["adapter_spec"].update(method=method))
    specs = [{"class_name": f"{BASIC}Basic{one}Metric", "args": {}} for one in ("Reference", "Own")]
    edit("run_spec.json", lambda found: found["metric_specs"].extend(specs))


def check() -> Report:
    """Check the run with the scanner and without, which see the same."""
    report, other = (
        evalstream.check(".", jobs=1, select=("HLM3",), engine=engine) for engine in ENGINES
    )
    assert seen(report) == seen(other)
    return report


def seen(report: Report) -> list[tuple[str, str]]:
    return [(one.severity.label, one.message) for one in report]


@pytest.fixture(params=[ORIGINAL, CALIBRATED])
def run_of_choices(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stand in a copy of the example that has a request for each reference."""
    shutil.copytree(EXAMPLES / "helm" / RUN, tmp_path / RUN)
    monkeypatch.chdir(tmp_path / RUN)
    ask_for_each(request.param)


def raise_one(entries: Any, probability: float | None = None) -> None:
    """Call the first wrong answer right, with another probability."""
    wrong = next(one for one in entries if not value_of(one, "exact_match"))
    put(wrong, "exact_match", 1.0)
    if probability is not None:
        put(wrong, "max_prob", probability)


@pytest.mark.usefixtures("run_of_choices")
def test_the_likeliest_reference_gives_the_score() -> None:
    report = check()
    assert seen(report) == []
    (checked,) = report.runs[0].checked
    assert checked.text == "8 of 8 instances scored again" + UNDERIVED


@pytest.mark.usefixtures("run_of_choices")
def test_a_score_that_was_raised_is_found() -> None:
    edit("per_instance_stats.json", raise_one)
    ((severity, message),) = seen(check())
    assert severity == "error"
    assert message.endswith(" is 1, by its answer 0")


@pytest.mark.usefixtures("run_of_choices")
def test_a_score_that_was_raised_with_its_probability_is_a_warning() -> None:
    edit("per_instance_stats.json", lambda entries: raise_one(entries, 0.99))
    report = check()
    assert seen(report) == [
        (
            "warning",
            "exact_match and max_prob of 1 instance do not follow from tokens, as of others",
        )
    ]
    assert report.runs[0].checked[0].text == "7 of 8 instances scored again" + UNDERIVED


@each(("tokens", "expected"), [([], "error"), ([{"text": "?", "logprob": -1.0}], None)])
@pytest.mark.usefixtures("run_of_choices")
def test_tokens_of_one_instance_may_spell_its_reference_in_another_way(
    tokens: list[Any], expected: str | None
) -> None:
    def change(state: Any) -> None:
        first = state["request_states"][0]["instance"]
        for one in state["request_states"]:
            if one["instance"] == first:
                one["result"]["completions"][0]["tokens"] = tokens

    edit("scenario_state.json", change)
    report = check()
    assert [severity for severity, _ in seen(report)] == ([expected] if expected else [])
    assert report.runs[0].checked[0].text == "7 of 8 instances scored again" + UNDERIVED


@pytest.mark.usefixtures("run_of_choices")
def test_without_tokens_no_score_is_confirmed() -> None:
    def change(state: Any) -> None:
        for one in state["request_states"]:
            del one["result"]["completions"][0]["tokens"]

    edit("scenario_state.json", change)
    (run,) = check().runs
    assert (run.verdict, run.remark) == ("unconfirmed", "no answer was scored again by exact_match")


@pytest.mark.usefixtures("run_of_choices")
def test_an_index_is_that_of_the_likeliest_reference() -> None:
    likely: dict[tuple[str, bool], tuple[float, int]] = {}
    for one in read("scenario_state.json")["request_states"]:
        if one["request_mode"] == "original":
            key = one["instance"]["id"], "perturbation" in one["instance"]
            logprob = one["result"]["completions"][0]["tokens"][-1]["logprob"]
            found = logprob, one["reference_index"]
            likely[key] = max(found, likely.get(key, found))

    def add(entries: Any) -> None:
        for entry in entries:
            stat = next(one for one in entry["stats"] if one["name"]["name"] == "exact_match")
            entry["stats"].append({**stat, "name": {**stat["name"], "name": "predicted_index"}})
            key = entry["instance_id"], "perturbation" in entry
            put(entry, "predicted_index", likely[key][1])

    edit("per_instance_stats.json", add)
    assert seen(check()) == []
    edit("per_instance_stats.json", lambda entries: put(entries[0], "predicted_index", 7))
    ((severity, message),) = seen(check())
    assert severity == "error"
    assert message.startswith("predicted_index of instance ")
