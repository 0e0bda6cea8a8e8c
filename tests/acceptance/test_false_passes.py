"""Tampered pairs that must not pass, each beside an honest neighbour that must, under --strict."""

import copy
import io
import json
import struct
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from depth import is_deep
from each import each
from rows import DETAILS, Row, aggregate_of, bytes_of, hashed

import evalstream
from evalstream.model.claim import State
from evalstream.model.finding import Severity
from evalstream.model.report import Report
from evalstream.reporters.run_lines import run_line

RECIPES = {"0.2.0": "concat", "0.3.0": "json-list"}
RESULT = "exact_match"


class Pair:
    """A pair of rows and their aggregate that is sound, to be changed before it is checked."""

    engine = "auto"

    def __init__(self, version: str = "0.3.0", scores: tuple[float, ...] = (1, 1, 0, 0)) -> None:
        self.version, self.recipe = version, RECIPES[version]
        self.document = aggregate_of(version, b"", 0)
        first = self.document["evaluation_results"][0]
        self.name = first["evaluation_name"]
        self.results = [first]
        self.document["evaluation_results"] = self.results
        if version != "0.2.0":
            first["evaluation_result_id"] = RESULT
        first["source_data"].pop("samples_number", None)
        first["score_details"] = {"score": sum(scores) / len(scores)}
        self.rows = [self.row(f"s{number}", score) for number, score in enumerate(scores)]

    def row(self, sample: str, score: float, **members: Any) -> Row:
        """Make a row of a sample of its own."""
        reference: Any = f"answer to {sample}"
        row = {
            "schema_version": self.version,
            "evaluation_id": self.document["evaluation_id"],
            "model_id": self.document["model_info"]["id"],
            "evaluation_name": self.name,
            "sample_id": sample,
            "interaction_type": "single_turn",
            "input": {"raw": f"question {sample}?", "reference": reference},
            "output": {"raw": "an answer"},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": "an answer",
                    "extraction_method": "regex",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": score, "is_correct": score == 1},
        }
        if self.version != "0.2.0":
            row["evaluation_result_id"] = RESULT
            row["input"]["reference"] = [reference]
            row["output"]["raw"] = ["an answer"]
        return hashed({**row, **members}, self.recipe)

    def again(self, row: Row, **members: Any) -> Row:
        """Return a row once more, with other members."""
        return hashed({**copy.deepcopy(row), **members}, self.recipe)

    def check(self, folder: Path, **settings: Any) -> Report:
        """Seal the pair, write it and check it strictly."""
        folder.mkdir(exist_ok=True)
        data = bytes_of(self.rows)
        sealed = aggregate_of(self.version, data, len(self.rows))[DETAILS]
        self.document[DETAILS] = {**sealed, **self.document[DETAILS].get("kept", {})}
        path, aggregate = folder / "run_samples.jsonl", folder / "run.json"
        path.write_bytes(data)
        aggregate.write_text(json.dumps(self.document))
        settings = {"ignore": ("ES507", "ES7"), "engine": self.engine, **settings}
        return evalstream.check(path, aggregate=aggregate, strict=True, **settings)


@pytest.fixture(params=["scanner", "exact path"])
def _each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check rows by the scanner and without it."""
    if request.param == "exact path":
        monkeypatch.setattr(Pair, "engine", "rust")


pytestmark = pytest.mark.usefixtures("_each_way")

Change = Callable[[Pair], object]


def two_results(pair: Pair) -> None:
    """Add a second result, whose rows are right half of the time, too."""
    second = copy.deepcopy(pair.results[0])
    second["evaluation_name"] = "second"
    if pair.version != "0.2.0":
        second["evaluation_result_id"] = "second"
    pair.results.append(second)
    for row in pair.rows[:4]:
        members: dict[str, Any] = {"evaluation_name": "second"}
        if pair.version != "0.2.0":
            members["evaluation_result_id"] = "second"
        pair.rows.append(pair.again(row, **members))


def claim(score: Any, place: int = 0) -> Change:
    """Claim another score."""

    def change(pair: Pair) -> None:
        if place:
            two_results(pair)
        pair.results[place]["score_details"]["score"] = score

    return change


def both(*changes: Change) -> Change:
    """Make several changes."""

    def change(pair: Pair) -> None:
        for one in changes:
            one(pair)

    return change


def says(place: str, value: Any) -> Change:
    """Let the first result say something."""

    def change(pair: Pair) -> None:
        owner: Any = pair.results[0]
        *path, last = place.split("/")
        for key in path:
            owner = owner.setdefault(key, {})
        owner[last] = value

    return change


def named(name: str) -> Change:
    """Name the evaluation, in the result and in its rows."""

    def change(pair: Pair) -> None:
        pair.results[0]["evaluation_name"] = name
        for row in pair.rows:
            row["evaluation_name"] = name

    return change


def doubled(score: float, times: int = 1, **members: Any) -> Change:
    """Add the rows with a score once more, with other members."""

    def change(pair: Pair) -> None:
        rows = [row for row in pair.rows if row["evaluation"]["score"] == score]
        for _ in range(times):
            pair.rows += [pair.again(row, **members) for row in rows]
        joined = [row["evaluation"]["score"] for row in pair.rows]
        pair.results[0]["score_details"]["score"] = sum(joined) / len(joined)

    return change


def one_reference_more(pair: Pair) -> None:
    """Accept another answer in one row, whose hash stays."""
    pair.recipe = "concat"
    pair.rows += [pair.row(f"s{number}", number % 2) for number in (4, 5)]
    pair.rows = [hashed(row, "concat") for row in pair.rows]
    pair.rows[3]["input"]["reference"].append("an answer")


def without_hashes(pair: Pair) -> None:
    """Leave all sample hashes out."""
    for row in pair.rows:
        del row["sample_hash"]


def other_choices(pair: Pair) -> None:
    """Show one input a second time, with choices, under an id of its own."""
    row = pair.again(pair.rows[0], sample_id="new")
    row["input"]["choices"] = ["a", "b", *row["input"]["reference"]]
    pair.rows.append(row)
    pair.results[0]["score_details"]["score"] = 0.6


def dropped(place: int, *members: str, **others: Any) -> Change:
    """Take members out of a row, and give it others."""

    def change(pair: Pair) -> None:
        for member in members:
            pair.rows[place].pop(member, None)
        pair.rows[place].update(others)

    return change


def hidden(name: str) -> Change:
    """Let wrong rows bear another name and no result id, and claim the score of the others."""

    def change(pair: Pair) -> None:
        for place in (2, 3):
            dropped(place, "evaluation_result_id", evaluation_name=name)(pair)
        pair.results[0]["score_details"]["score"] = 1.0
        pair.results[0]["source_data"]["dataset_name"] = "the data set"

    return change


def strayed(pair: Pair) -> None:
    """Give the wrong rows of a version without result ids one that no result has."""
    for row in pair.rows[2:]:
        row["evaluation_result_id"] = "elsewhere"
    pair.results[0]["score_details"]["score"] = 1.0


def swapped(pair: Pair) -> None:
    """Give rows the id of one result and the name of the other."""
    two_results(pair)
    for row in pair.rows[4:]:
        row["evaluation_name"] = pair.name


def without_results(pair: Pair) -> None:
    """Claim nothing at all."""
    pair.document["evaluation_results"] = []


def accepted(*places: int) -> Change:
    """Accept another answer in some rows after they were hashed."""

    def change(pair: Pair) -> None:
        for place in places:
            pair.rows[place]["input"]["reference"].append("an answer")

    return change


def under(recipe: str) -> Change:
    """Hash the rows by another recipe."""

    def change(pair: Pair) -> None:
        pair.recipe = recipe
        pair.rows = [hashed(row, recipe) for row in pair.rows]

    return change


def by_algorithm(algorithm: str) -> Change:
    """Let hashes be those of an algorithm that is not the one the aggregate names."""

    def change(pair: Pair) -> None:
        pair.rows = [hashed(row, pair.recipe, algorithm) for row in pair.rows]

    return change


NAME, ID = "metric_config/metric_name", "metric_config/metric_id"
ERROR = "score_details/uncertainty/standard_error"
DRAWS = "score_details/uncertainty/num_bootstrap_samples"


def resampled_beside(error: float) -> Change:
    """Write a second standard error as the converter of Inspect's logs does."""
    settings = json.dumps({"num_samples": 1000})
    details = {"bootstrap_stderr": str(error), "bootstrap_stderr_params": settings}
    return says("score_details/details", details)


def interval(lower: float, upper: float, level: float | None, **method: str) -> Change:
    """Claim a confidence interval, with its level if there is one."""
    stated = {} if level is None else {"confidence_level": level}
    bounds = {"lower": lower, "upper": upper, **stated, **method}
    return says("score_details/uncertainty/confidence_interval", bounds)


def levelled(pair: Pair) -> None:
    """Let scores be levels, of which one does not exist."""
    says("metric_config/score_type", "levels")(pair)
    says("metric_config/level_names", ["low", "high"])(pair)
    pair.rows[0]["evaluation"]["score"] = 7
    pair.results[0]["score_details"]["score"] = 2.0


def levels(*names: str) -> Change:
    """Let the scores be levels."""
    metric = {
        "score_type": "levels",
        "level_names": list(names),
        "has_unknown_level": True,
        "lower_is_better": False,
        "evaluation_description": "how well it went",
    }
    return says("metric_config", metric)


def unknown_level(pair: Pair) -> None:
    """Let one sample have an unknown level."""
    pair.rows[0]["evaluation"] = {"score": -1, "is_correct": False}
    pair.results[0]["score_details"]["score"] = 1 / 3


def cloned(times: int) -> Change:
    """Repeat every sample, with the same score each time."""

    def change(pair: Pair) -> None:
        rows = pair.rows
        pair.rows = [
            pair.again(row, metadata={"epoch": str(number)})
            for number in range(times)
            for row in rows
        ]

    return change


def called_wrong(place: int, bound: Any) -> Change:
    """Call a right answer wrong, and give the metric a bound that no row reaches."""

    def change(pair: Pair) -> None:
        pair.rows[place]["evaluation"]["is_correct"] = False
        says("metric_config/max_score", bound)(pair)

    return change


def logged(*kept: Any) -> Change:
    """Keep metrics of the first rows as the converter of lm-eval's logs does, as text or object."""

    def change(pair: Pair) -> None:
        for row, metrics in zip(pair.rows, kept, strict=False):
            row["metadata"] = {"lm_eval_metrics": metrics}

    return change


def hashed_by_the_harness(*prompts: str, target: str | None = None) -> Change:
    """Keep hashes of prompts and of a target as the converter of lm-eval's logs does."""

    def change(pair: Pair) -> None:
        for row, prompt in zip(pair.rows, prompts, strict=False):
            texts = {"prompt_hash": prompt} if target is None else {"target_hash": target}
            row["metadata"] = {
                name: sha256(text.encode()).hexdigest() for name, text in texts.items()
            }

    return change


def hashed_in_full(**changes: object) -> Change:
    """Keep both hashes of the harness in all rows, but for changes of the last one."""

    def change(pair: Pair) -> None:
        for row in pair.rows:
            texts = {"prompt_hash": row["input"]["raw"], "target_hash": row["input"]["reference"]}
            row["metadata"] = {
                name: sha256("".join(text).encode()).hexdigest() for name, text in texts.items()
            } | {"lm_eval_metrics": json.dumps({"exact_match": row["evaluation"]["score"]})}
        row["metadata"] |= changes

    return change


def chosen(*answers: str) -> Change:
    """Let rows be of a multiple choice, as the converter of lm-eval's logs writes them."""

    def change(pair: Pair) -> None:
        pair.document["eval_library"] = {"name": "lm_eval", "version": "0.4.9"}
        pair.results[0]["evaluation_result_id"] = "acc"
        says(NAME, "acc")(pair)
        for place, (row, answer) in enumerate(zip(pair.rows, answers, strict=True)):
            row["evaluation_result_id"] = "acc"
            row["input"] |= {"reference": ["0"], "choices": ["Paris", "Lyon"]}
            row["output"]["raw"] = [answer]
            row["answer_attribution"][0] |= {"extracted_value": answer, "extraction_method": "none"}
            pair.rows[place] = hashed(row, pair.recipe)

    return change


def by(library: str) -> Change:
    """Name another harness."""

    def change(pair: Pair) -> None:
        pair.document["eval_library"] = {"name": library, "version": "1"}

    return change


def without_references(pair: Pair) -> None:
    """Take the references out of all rows, and hash them again."""
    for row in pair.rows:
        row["input"]["reference"] = []
    pair.rows = [hashed(row, pair.recipe) for row in pair.rows]


def says_in_rows(name: str, value: Any) -> Change:
    """Give the input of each row one more member."""
    return lambda pair: [row["input"].update({name: value}) for row in pair.rows]


def without_result_ids(pair: Pair) -> None:
    """Write rows as converters did before results had ids."""
    for owner in (*pair.rows, *pair.results):
        owner.pop("evaluation_result_id", None)


def listed(*samples: str, number: int = 4) -> Change:
    """List samples as the converter of Inspect's logs does for a dataset of its own."""
    ids = ",".join(samples)
    details = {"shuffled": "False", "samples_number": str(number), "sample_ids": ids}
    return says("source_data/additional_details", details)


def enormous(pair: Pair) -> None:
    """Let scores be so large that the rounding of their sum is more than the number of rows."""
    says("metric_config/max_score", 1e20)(pair)
    for row in pair.rows:
        row["evaluation"] |= {"score": 1e20, "is_correct": True}
    claim(1e20)(pair)
    says("score_details/uncertainty/num_samples", 2)(pair)


def graded(pair: Pair) -> None:
    """Let the scores be grades from 0 to 2, of which 1 is not yet right."""
    says("metric_config/max_score", 2)(pair)
    for row, score in zip(pair.rows, (2, 1, 1, 0), strict=True):
        row["evaluation"] = {"score": score, "is_correct": score == 2}
    pair.results[0]["score_details"]["score"] = 1.0


@each(
    ("version", "change", "code"),
    [
        # A size of the data set says nothing of what a claim covers.
        ("0.3.0", both(two_results, says("source_data/samples_number", 9), claim(0.99)), "ES801"),
        ("0.2.0", both(two_results, says("source_data/samples_number", 9), claim(0.99)), "ES801"),
        ("0.3.0", claim(0.99, place=1), "ES801"),
        ("0.3.0", both(claim(0.99), says("score_details/uncertainty/num_samples", 9)), "ES801"),
        ("0.3.0", both(claim(0.7), says("score_details/uncertainty/num_samples", 9)), "ES804"),
        # Digits.
        ("0.3.0", claim(0.4), "ES801"),
        ("0.3.0", claim(0.49), "ES801"),
        ("0.3.0", claim(1), "ES801"),
        ("0.3.0", claim(0.499), "ES801"),
        # No row joins.
        (
            "0.2.0",
            both(two_results, lambda pair: pair.results[1].update(evaluation_name="x")),
            "ES605",
        ),
        ("0.2.0", both(two_results, named("second"), claim(0.99)), "ES804"),
        # Words in a name make no other statistic.
        ("0.3.0", both(named("vqav2-test-std"), claim(0.57735026919)), "ES801"),
        ("0.3.0", both(named("glue-sem"), claim(0.288675134594)), "ES801"),
        ("0.2.0", both(named("var"), claim(0.333333333333)), "ES801"),
        # The same samples again.
        ("0.3.0", doubled(1, evaluation_name="tiny-arithmetic/sub"), "ES409"),
        ("0.3.0", doubled(1, sample_id="new"), "ES407"),
        ("0.3.0", doubled(1, evaluation_name="tiny-arithmetic/sub", sample_id="new"), "ES407"),
        ("0.3.0", doubled(1, metadata={"epoch": "2"}), "ES610"),
        ("0.3.0", other_choices, "ES407"),
        # Inputs.
        ("0.3.0", one_reference_more, "ES401"),
        ("0.3.0", without_hashes, "ES406"),
        ("0.3.0", accepted(0, 1, 2, 3), "ES404"),
        ("0.3.0", accepted(1, 3), "ES401"),
        ("0.3.0", both(under("concat"), accepted(0, 1, 2, 3)), "ES402"),
        ("0.3.0", both(under("concat"), accepted(1, 3)), "ES402"),
        ("0.3.0", by_algorithm("md5"), "ES405"),
        # Rows that count for no claim.
        ("0.2.0", hidden("the data set"), "ES801"),
        ("0.2.0", hidden("tiny-arithmetic/hard"), "ES801"),
        ("0.3.0", hidden("the data set"), "ES604"),
        ("0.2.0", strayed, "ES801"),
        ("0.3.0", without_results, "ES603"),
        ("0.2.0", without_results, "ES604"),
        ("0.3.0", swapped, "ES605"),
        # Copies under another mark.
        ("0.3.0", doubled(1, evaluation_name="other", metadata={"epoch": "2"}), "ES409"),
        # Numbers at the edge of what they can be.
        ("0.3.0", claim(10**400), "ES801"),
        ("0.3.0", both(claim(0.5), says("score_details/uncertainty/num_samples", 40)), "ES802"),
        ("0.3.0", enormous, "ES802"),
        ("0.3.0", says("source_data/samples_number", 20.0), "ES609"),
        ("0.3.0", levelled, "ES308"),
        ("0.3.0", interval(0.2, 0.3, level=0), "ES804"),
        ("0.3.0", interval(0.2, 0.3, level=1), "ES804"),
        ("0.3.0", says(ERROR, {"value": 0.0, "method": "bootstrap"}), "ES803"),
        # One word in the document does not switch the check off.
        ("0.2.0", claim(0.05), "ES801"),
        ("0.3.0", both(levels("low", "high"), claim(1)), "ES804"),
        ("0.3.0", both(says(NAME, "median"), claim(0.9)), "ES801"),
        ("0.3.0", both(says(NAME, "mine"), claim(0.9)), "ES805"),
        ("0.3.0", both(says(NAME, "my accuracy"), claim(0.9)), "ES805"),
        ("0.3.0", both(says(NAME, "accuracy"), says(ID, "median"), claim(0.5)), "ES807"),
        ("0.3.0", says(ERROR, {"value": 0.9, "method": "mine"}), "ES803"),
        ("0.3.0", says(ERROR, {"value": 0.21, "method": "mine"}), "ES804"),
        ("0.3.0", says(ERROR, {"value": 0.0, "method": "mine"}), "ES803"),
        (
            "0.3.0",
            both(says(ERROR, {"value": 0.016, "method": "bootstrap"}), says(DRAWS, 10)),
            "ES804",
        ),
        ("0.3.0", interval(0.4999, 0.5001, level=0.95, method="bootstrap"), "ES804"),
        ("0.3.0", interval(0.9, 1, level=0.95, method="bootstrap"), "ES804"),
        ("0.3.0", interval(0.0, 0.6, level=0.95, method="bootstrap"), "ES803"),
        # Ten times the same repeat.
        ("0.3.0", both(cloned(10), says(ERROR, {"value": 0.0801, "method": "analytic"})), "ES803"),
        ("0.3.0", called_wrong(0, 1), "ES808"),
        ("0.3.0", called_wrong(0, 2), "ES808"),
        ("0.3.0", both(says(NAME, "accuracy"), called_wrong(0, "Infinity")), "ES307"),
        # The harness had another score.
        ("0.3.0", logged('{"exact_match": 0.0, "f1": [1, 1]}'), "ES808"),
        ("0.3.0", logged('{"acc": 1.0, "exact_match":0}'), "ES808"),
        ("0.3.0", logged('{"x": {"exact_match": 1.0}, "exact_match": 0.0}'), "ES808"),
        ("0.3.0", logged('{"a\\"exact_match": 1.0, "exact_match": false}'), "ES808"),
        ("0.2.0", logged({"exact_match": 0.0, "acc": 0.5}), "ES808"),
        ("0.3.0", both(without_result_ids, logged('{"acc": 0.0, "f1": 0.5}')), "ES808"),
        # Rows say nothing of the score that the harness had.
        *(("0.3.0", logged(kept), "ES808") for kept in ("{}", "no JSON", "[1]", "null", "")),
        ("0.3.0", logged('{"acc": 1.0}'), "ES808"),
        ("0.3.0", logged('{"exact": 1.0, "match": 1.0}'), "ES808"),
        # The harness hashed another question, or another target.
        ("0.3.0", hashed_by_the_harness("question s0?", "question s9?"), "ES410"),
        ("0.2.0", hashed_by_the_harness("question s0?", "question s1? "), "ES410"),
        ("0.3.0", hashed_by_the_harness("", "", target="answer to s0"), "ES410"),
        ("0.3.0", hashed_by_the_harness("of another form"), "ES410"),
        ("0.3.0", both(hashed_by_the_harness("", target="5"), without_references), "ES410"),
        ("0.3.0", hashed_in_full(target_hash="0" * 63), "ES410"),
        ("0.2.0", hashed_in_full(prompt_hash=""), "ES410"),
        (
            "0.3.0",
            both(hashed_in_full(), lambda pair: pair.rows[-1]["input"].update(formatted="other")),
            "ES410",
        ),
        # An answer that another row has, or nobody.
        ("0.3.0", chosen("Lyon", "Paris", "Paris", "Lyon"), "ES808"),
        ("0.3.0", chosen("Paris", "Paris", "Paris", "Lyon"), "ES808"),
        ("0.3.0", chosen("", "Paris", "Lyon", "Lyon"), "ES808"),
        ("0.3.0", chosen("Rome", "Paris", "Rome", "Lyon"), "ES808"),
        # Another harness is named, so that its rules do not hold.
        (
            "0.3.0",
            both(chosen("Lyon", "Paris", "Lyon", "Lyon"), by("promptfoo"), logged('{"acc": 1.0}')),
            "ES808",
        ),
        # Samples that are listed have no rows, or others have.
        ("0.3.0", listed("s0", "s1", "s2", "s3", "s4", number=5), "ES609"),
        ("0.3.0", listed("s0", "s1", "s2", "s9"), "ES609"),
        # Figures beside a true score.
        ("0.3.0", says("score_details/details", {"accuracy": "0.99"}), "ES801"),
        ("0.3.0", says("score_details/details", {"n_correct": "3"}), "ES801"),
        ("0.3.0", says("score_details/details", {"f1": "0.99"}), "ES804"),
        ("0.3.0", says("score_details/details", {"pass@1": "0.99"}), "ES804"),
        ("0.3.0", says("score_details/details", {"accuracy": "99%"}), "ES804"),
        ("0.3.0", says("score_details/details", {"accuracy": "0.99 ± 0.01"}), "ES804"),
        ("0.3.0", says("score_details/details", {"accuracy_all": "1.5"}), "ES801"),
        ("0.2.0", says("score_details/details", {"all": {"accuracy": 0.99}}), "ES804"),
        ("0.3.0", says("score_details/details", {"all": '{"accuracy": 0.99}'}), "ES804"),
        ("0.3.0", says("score_details/details", {"average": "2.3"}), "ES801"),
        ("0.3.0", says("score_details/details", {"accuracy_at_time": "2.3"}), "ES801"),
        ("0.3.0", says("score_details/details", {"max": "0.9"}), "ES804"),
        ("0.3.0", resampled_beside(0.1), "ES803"),
        ("0.3.0", resampled_beside(0.4), "ES803"),
        ("0.3.0", says("score_details/details", {"clustered_stderr": "0.1"}), "ES804"),
        ("0.3.0", says("score_details/accuracy", 0.99), "ES801"),
        ("0.3.0", says("score_details/uncertainty/variance", 0.99), "ES803"),
    ],
)
def test_it_does_not_pass(tmp_path: Path, version: str, change: Change, code: str) -> None:
    pair = Pair(version)
    change(pair)
    # That rows on disk are found like those in memory is tested with duplicates.
    for limit in (1, 1 << 25) if is_deep() else (1 << 25,):
        report = pair.check(tmp_path, memory_limit=limit)
        assert code in {finding.code for finding in report if finding.severity > 1}
        assert report.exit_code == 1
        assert not report.passed


def fanned_out(pair: Pair) -> None:
    """Score every sample by a second metric as well."""
    two_results(pair)
    pair.results[1]["evaluation_name"] = pair.name
    for row in pair.rows[4:]:
        row["evaluation_name"] = pair.name


def subtasks(pair: Pair) -> None:
    """Number the samples of a subtask from 0 again, each with an input of its own."""
    for number, row in enumerate(pair.rows[:4]):
        again = pair.again(row, evaluation_name=f"{pair.name}/hard")
        again["input"] = {**again["input"], "raw": f"hard question {number}?"}
        pair.rows.append(hashed(again, pair.recipe))


def epochs(pair: Pair) -> None:
    """Repeat every sample."""
    for row in pair.rows:
        row["metadata"] = {"epoch": "1"}
    pair.rows += [pair.again(row, metadata={"epoch": "2"}) for row in pair.rows]


def several_references(pair: Pair) -> None:
    """Accept two answers in each row, and hash as HELM's converter does."""
    pair.document["eval_library"] = {"name": "helm", "version": "1"}
    for row in pair.rows:
        row["input"]["reference"] = ["one", "two", row["sample_id"]]
    pair.rows = [hashed(row, "concat-first") for row in pair.rows]


def extra_ids(pair: Pair) -> None:
    """Give rows of a version without result ids one, which no result has."""
    for row in pair.rows:
        row["evaluation_result_id"] = "an extra member"


def noisy(pair: Pair) -> None:
    """Let scores be what sums of floats leave."""
    for row in pair.rows[:2]:
        row["evaluation"]["score"] = 0.1 + 0.2
    pair.results[0]["score_details"]["score"] = 0.15


def one_third_in_single_precision(pair: Pair) -> None:
    """Claim the mean as a library of single precision prints it."""
    pair.rows.pop()
    pair.rows[1]["evaluation"] |= {"score": 0, "is_correct": False}
    (single,) = struct.unpack("f", struct.pack("f", 1 / 3))
    pair.results[0]["score_details"]["score"] = single


@each(
    ("version", "change"),
    [
        ("0.2.0", lambda _: None),
        ("0.3.0", lambda _: None),
        ("0.3.0", two_results),
        ("0.2.0", two_results),
        ("0.3.0", fanned_out),
        ("0.3.0", subtasks),
        ("0.3.0", epochs),
        ("0.3.0", several_references),
        ("0.3.0", claim(0.5000000001)),
        ("0.3.0", claim(0.5)),
        ("0.3.0", both(named("vqav2-test-std"), says("metric_config/metric_name", "accuracy"))),
        ("0.3.0", both(claim(0.57735026919), says("metric_config/metric_name", "std"))),
        ("0.3.0", says("score_details/uncertainty/num_samples", 4)),
        ("0.2.0", extra_ids),
        ("0.3.0", noisy),
        ("0.3.0", one_third_in_single_precision),
        ("0.3.0", both(levels("low", "high"), claim(0.5))),
        ("0.3.0", both(levels("low", "high"), unknown_level)),
        ("0.3.0", both(says(NAME, "median"), claim(0.5))),
        ("0.3.0", graded),
        ("0.3.0", says(NAME, "mine")),
        ("0.3.0", both(says(ERROR, {"value": 0.3, "method": "bootstrap"}), says(DRAWS, 1000))),
        ("0.3.0", interval(0.05, 0.95, level=0.95, method="bootstrap")),
        ("0.3.0", interval(0.0252, 0.9748, level=None)),
        ("0.3.0", both(cloned(10), says(ERROR, {"value": 0.288675}))),
        ("0.3.0", says("score_details/details", {"accuracy": "0.5", "num_train_trials": "3"})),
        ("0.3.0", says("score_details/details", {"accuracy_percent": "50.0", "mean": "50.0%"})),
        ("0.2.0", says("score_details/details", {"all": {"accuracy": 0.5, "seed": 3}})),
        ("0.2.0", says("score_details/details", {"accuracy": {"value": 0.5, "seed": 3}})),
        ("0.3.0", says("score_details/details", {"sem_params": '{"num_samples": 50}'})),
        ("0.3.0", says("score_details/details", {"avg_tokens": "321.5", "latency_mean_ms": "2.3"})),
        ("0.3.0", says("score_details/details", {"max": "1.0", "min": "0", "median": "0.5"})),
        ("0.3.0", resampled_beside(0.24)),
        ("0.3.0", logged('{"exact_match": 1.0, "f1": [0, 1]}', '{"acc": 0.0, "exact_match":true}')),
        ("0.3.0", logged('{"acc": 0.0, "exact_match": 1}')),
        ("0.3.0", logged('{"x": {"exact_match": 0.0}, "exact_match": 1.0}')),
        ("0.2.0", logged({"exact_match": 1.0}, {"exact_match": None}, {"word_perplexity": [1]})),
        ("0.3.0", both(without_result_ids, logged('{"acc": 0.0, "f1": 1.0}', '{"f1": [1, 2]}'))),
        ("0.3.0", hashed_in_full()),
        ("0.2.0", hashed_in_full()),
        ("0.3.0", hashed_by_the_harness("question s0?", "question s1?")),
        ("0.2.0", hashed_by_the_harness("question s0?")),
        ("0.3.0", hashed_by_the_harness("", target="answer to s0")),
        ("0.3.0", both(hashed_by_the_harness("other"), says_in_rows("formatted", "a prompt"))),
        ("0.3.0", listed("s0", "s1", "s2", "s3")),
        ("0.3.0", both(hashed_by_the_harness("", target=""), without_references)),
        ("0.3.0", chosen("Paris", "Paris", "Lyon", "Lyon")),
        ("0.3.0", both(chosen("Lyon", "Paris", "Lyon", "Lyon"), by("promptfoo"))),
        (
            "0.3.0",
            both(chosen("Paris", "Paris", "Lyon", "Lyon"), by("promptfoo"), logged('{"acc": 1.0}')),
        ),
        ("0.3.0", says("score_details/details", {"n_correct": "2", "n_samples": "4"})),
        (
            "0.3.0",
            both(chosen("Lyon", "Paris", "Lyon", "Lyon"), says_in_rows("choices", ["1", "2"])),
        ),
    ],
)
def test_its_honest_neighbour_passes(tmp_path: Path, version: str, change: Change) -> None:
    pair = Pair(version)
    change(pair)
    report = pair.check(tmp_path)
    assert [finding.message for finding in report if finding.severity > 1] == []
    assert (report.exit_code, report.passed) == (0, True)
    (run,) = report.runs
    assert {claim.state for claim in run.claims} == {State.CONFIRMED}
    assert run.verified is not None
    assert run.verified.hashes == run.rows


def test_a_rounded_claim_passes_with_a_word(tmp_path: Path) -> None:
    pair = Pair(scores=(1, 1, 0))
    pair.results[0]["score_details"]["score"] = 0.67
    report = pair.check(tmp_path)
    (finding,) = [finding for finding in report if finding.code == "ES806"]
    assert finding.severity.label == "info"
    assert "too few digits" in finding.message
    assert (report.exit_code, report.passed) == (0, True)
    assert "claims: 1 rounded" in run_line(report.runs[0])


def test_a_mean_without_errors_says_how_many_rows_it_is_of(tmp_path: Path) -> None:
    pair = Pair()
    for row in pair.rows[2:]:
        row["error"] = "timeout"
    pair.results[0]["score_details"]["score"] = 1.0
    (one,) = pair.check(tmp_path).runs[0].claims
    assert (one.state, one.recomputed, one.rows) == (State.CONFIRMED, 1, 2)


@each("place", ["uncertainty/num_samples", "details/n_samples"])
def test_a_count_of_more_rows_than_there_are_is_named_as_written(
    tmp_path: Path, place: str
) -> None:
    pair, (holder, name) = Pair(), place.split("/")
    pair.results[0]["score_details"].setdefault(holder, {})[name] = 400
    found = [one.message for one in pair.check(tmp_path) if one.code == "ES802"]
    assert found == [f"{name} is above the number of rows, 4: rows are missing"]


def test_a_part_that_agrees_is_unconfirmed(tmp_path: Path) -> None:
    pair = Pair()
    says("score_details/uncertainty/num_samples", 400)(pair)
    report = pair.check(tmp_path, ignore=("ES507", "ES7", "ES802", "ES804", "ES805"))
    assert report.exit_code == 1
    assert report.runs[0].verdict == "unconfirmed"
    assert "claims: 2 open; strict demands that a score and every claim are confirmed" in run_line(
        report.runs[0]
    )


@each("rules", [("ES501",), ("ES1", "ES2")])
def test_strict_is_0_for_confirmed_claims_alone_whatever_rules_are_left_out(
    tmp_path: Path, rules: tuple[str, ...]
) -> None:
    pair = Pair()
    assert pair.check(tmp_path, select=rules).exit_code == 0
    (tmp_path / "run.json").unlink()
    rows = tmp_path / "run_samples.jsonl"
    assert evalstream.check(rows, select=rules).exit_code == 0
    assert evalstream.check(rows, select=rules, fail_on=Severity.WARNING).exit_code == 0
    alone = evalstream.check(rows, select=rules, strict=True)
    assert (alone.exit_code, alone.runs[0].verdict) == (1, "unconfirmed")


def test_strict_is_not_0_for_an_open_claim_beside_a_confirmed_one(tmp_path: Path) -> None:
    pair = Pair()
    says("score_details/details", {"other_accuracy": "0.4"})(pair)
    left_out = ("ES507", "ES7", "ES804")
    report = pair.check(tmp_path, ignore=left_out)
    assert (report.exit_code, report.runs[0].verdict) == (1, "unconfirmed")
    assert report.counts == {}
    shown = io.StringIO()
    pair.check(tmp_path, ignore=left_out, reporter=evalstream.JunitReporter(shown))
    assert "no score was confirmed" not in shown.getvalue()
    assert "strict demands that a score and every claim are confirmed" in shown.getvalue()


def test_a_baseline_does_not_confirm_a_claim(tmp_path: Path) -> None:
    pair, known = Pair(), str(tmp_path / "known.jsonl")
    claim(0.99)(pair)
    assert pair.check(tmp_path / "run", write_baseline=known).exit_code == 1
    rows, aggregate = tmp_path / "run/run_samples.jsonl", tmp_path / "run/run.json"
    settings = {"aggregate": aggregate, "ignore": ("ES507", "ES7"), "baseline": known}
    lenient = evalstream.check(rows, **settings, fail_on=Severity.WARNING)
    assert (lenient.exit_code, lenient.runs[0].verdict) == (0, "unconfirmed")
    assert evalstream.check(rows, **settings, strict=True).exit_code == 1


def test_a_refuted_claim_whose_rule_is_left_out_does_not_pass(tmp_path: Path) -> None:
    pair = Pair()
    claim(0.99, place=1)(pair)
    report = pair.check(tmp_path, ignore=("ES507", "ES7", "ES801"))
    assert report.runs[0].verdict == "unconfirmed"
    assert not report.passed
    assert "claims: 1 confirmed, 1 refuted" in run_line(report.runs[0])


def test_published_figures_without_rows_do_not_pass(tmp_path: Path) -> None:
    pair = Pair()
    pair.check(tmp_path)
    (tmp_path / "run_samples.jsonl").unlink()
    del pair.document[DETAILS]
    pair.document["source_metadata"]["source_type"] = "documentation"
    aggregate = tmp_path / "run.json"
    aggregate.write_text(json.dumps(pair.document))
    report = evalstream.check(aggregate, ignore=("ES7",))
    assert (report.exit_code, report.passed) == (0, False)
    assert report.runs[0].verdict == "unconfirmed"
    assert evalstream.check(aggregate, ignore=("ES7",), strict=True).exit_code == 1


def test_the_version_has_a_key_of_its_own(tmp_path: Path) -> None:
    pair = Pair("0.2.0", scores=(1,))
    turns = [
        {"turn_idx": 0, "role": "user", "content": "question s0?"},
        {
            "turn_idx": 1,
            "role": "assistant",
            "content": "I call.",
            "tool_calls": [{"id": "c1", "name": "search", "arguments": {}}],
        },
        {"turn_idx": 2, "role": "tool", "content": "found", "tool_call_id": "c1"},
        {"turn_idx": 3, "role": "assistant", "content": "done"},
    ]
    row = pair.rows[0]
    del row["output"]
    row.update(interaction_type="agentic", interactions=turns)
    row["evaluation"] |= {"num_turns": 4, "tool_calls_count": 1}
    row["answer_attribution"][0] |= {"turn_idx": 3, "source": "interactions[3].content"}
    assert pair.check(tmp_path).exit_code == 0
    # A conversation that hangs together under another key hides nothing of the one that counts.
    row["messages"] = copy.deepcopy(turns)
    row["interactions"][2]["tool_call_id"] = "c9"
    report = pair.check(tmp_path)
    assert {"ES305", "ES319"} <= report.counts.keys()
    assert report.exit_code == 1


def test_room_above_the_highest_score_silences_nothing(tmp_path: Path) -> None:
    pair = Pair()
    says("metric_config/max_score", 1.01)(pair)
    pair.rows[0]["evaluation"]["is_correct"] = False
    assert pair.check(tmp_path).counts["ES307"] == 1
    says("metric_config/max_score", 100)(pair)
    assert "ES307" not in pair.check(tmp_path).counts
