"""Forged figures, scores and answers in a real log are refuted, also after the digests are redone.

The log was written by `tests/support/harness_logs/lm_eval_metrics_driver.py`, run `small`.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from lm_eval_logs import DIGESTS, digest, task_hash
from paths import EXAMPLES, REPOSITORY

import evalstream
from evalstream.model.claim import State
from evalstream.model.finding import Severity

ERROR, WARNING = Severity.ERROR, Severity.WARNING
LOG = REPOSITORY / "tests" / "logs" / "lm_eval" / "acme__acorn-1b"
(RESULTS,) = LOG.glob("results_*.json")
TASKS = sorted(path.name.split("_2026")[0].removeprefix("samples_") for path in LOG.glob("*.jsonl"))


class Log:
    """A copy of the log, to change and to check."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(LOG, folder)
        self.folder = folder
        self.document: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def of(self, task: str) -> list[dict[str, Any]]:
        """Return the rows of a task, which are written before the check."""
        if task not in self.rows:
            lines = self.path(task).read_text(encoding="utf-8").split("\n")
            self.rows[task] = [json.loads(line) for line in lines if line]
        return self.rows[task]

    def path(self, task: str) -> Path:
        """Return the samples file of a task."""
        (found,) = self.folder.glob(f"samples_{task}_2026*")
        return found

    def config(self, task: str) -> dict[str, Any]:
        """Return the configuration of a task."""
        found: dict[str, Any] = self.document["configs"][task]
        return found

    def figure(self, task: str, key: str, value: Any) -> None:
        """Set a figure of a task, or of a group in both places."""
        self.document["results"][task][key] = value
        if task in self.document["groups"]:
            self.document["groups"][task][key] = value

    def check(self, task: str | None = None, **options: Any) -> evalstream.Report:
        """Write all with new digests, and check a task with its results, or the results."""
        for name, rows in self.rows.items():
            for row in rows:
                doc = json.dumps(row["doc"], indent=2, ensure_ascii=False)
                prompt = row["arguments"]["gen_args_0"]["arg_0"]
                for member, text in zip(DIGESTS, (doc, prompt, row["target"]), strict=True):
                    row[member] = digest(text)
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            self.path(name).write_text(lines, encoding="utf-8")
            self.document["task_hashes"][name] = task_hash(rows)
        results = self.folder / RESULTS.name
        results.write_text(json.dumps(self.document), encoding="utf-8")
        named = self.folder if task is None else self.path(task)
        return evalstream.check(named, **options)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / LOG.name)


def errors(report: evalstream.Report) -> set[str]:
    return {one.code for one in report if one.severity is Severity.ERROR}


def set_mean(log: Log, task: str, metric: str, name: str = "none") -> None:
    """Set the figures of a metric to those of its rows, as a forger would."""
    values = [float(row[metric]) for row in log.of(task) if row["filter"] == name]
    mean = sum(values) / len(values)
    square = sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)
    log.figure(task, f"{metric},{name}", mean)
    log.figure(task, f"{metric}_stderr,{name}", square**0.5)


@each("task", [task for task in TASKS if task != "own"])
def test_each_task_of_the_log_passes_strictly(task: str, log: Log) -> None:
    report = log.check(task, fail_on=Severity.WARNING)
    (run,) = report.runs
    assert (run.verdict, report.exit_code, list(report)) == ("passed", 0, [])
    assert {claim.state for claim in run.claims} == {State.CONFIRMED}


def test_the_results_pass_strictly_beside_their_samples(log: Log) -> None:
    report = log.check(fail_on=Severity.WARNING)
    runs = [run for run in report.runs if run.rows == 0]
    assert [run.verdict for run in runs] == ["passed"]
    assert {claim.state for claim in runs[0].claims} == {State.CONFIRMED}


def test_a_figure_of_a_function_of_the_task_is_open(log: Log) -> None:
    report = log.check("own")
    states = {claim.label: claim.state for claim in report.runs[0].claims}
    assert states.pop("best,none of own") is State.OPEN
    assert set(states.values()) == {State.CONFIRMED}
    assert report.counts == {"LME303": 1}


FIGURES: dict[str, tuple[str, str, Any, str]] = {
    "accuracy": ("pairs", "acc,none", 0.97, "LME301"),
    "mcc": ("pairs", "mcc,none", 3, "LME301"),
    "mcc of four classes": ("quads", "mcc,none", 0.25, "LME301"),
    "f1": ("pairs", "f1,none", 0.99, "LME301"),
    "brier_score": ("pairs", "brier_score,none", 0.01, "LME301"),
    "brier_score of mutual information": ("mutual", "brier_score,none", 0.01, "LME301"),
    "perplexity": ("cloze", "perplexity,none", 1.5, "LME301"),
    "impossible perplexity": ("cloze", "perplexity,none", 0.5, "LME301"),
    "word_perplexity": ("rolling", "word_perplexity,none", 0.5, "LME301"),
    "byte_perplexity": ("rolling", "byte_perplexity,none", 2.0, "LME301"),
    "bits_per_byte": ("rolling", "bits_per_byte,none", 0.25, "LME301"),
    "bleu": ("translate", "bleu,none", 99.9, "LME301"),
    "chrf": ("translate", "chrf,none", 99.9, "LME301"),
    "chrf++": ("translate", "chrf++,none", 99.9, "LME301"),
    "ter": ("translate", "ter,none", 0.5, "LME301"),
    "median": ("own", "score,none", 9.0, "LME301"),
    "nanmean": ("own", "gaps,none", 9.0, "LME301"),
    "metric of a function": ("own", "length,none", 9.0, "LME301"),
    "no figure": ("pairs", "acc,none", "N/A", "LME301"),
    "error of a mean": ("pairs", "acc_stderr,none", 0.001, "LME302"),
    "no error of a mean": ("pairs", "acc_stderr,none", "N/A", "LME302"),
    "error of mcc": ("pairs", "mcc_stderr,none", 0.01, "LME302"),
    "error of f1": ("pairs", "f1_stderr,none", 0.01, "LME302"),
    "error of perplexity": ("cloze", "perplexity_stderr,none", 0.1, "LME302"),
    "error of bleu": ("translate", "bleu_stderr,none", 0.1, "LME302"),
    "error of chrf": ("translate", "chrf_stderr,none", 0.1, "LME302"),
    "error of ter": ("translate", "ter_stderr,none", 0.1, "LME302"),
    "error of a median": ("own", "score_stderr,none", 0.001, "LME302"),
    "error that is not computed": ("rolling", "word_perplexity_stderr,none", 0.1, "LME302"),
}
"""Figures that are forged, and the code of the error."""


@each("name", FIGURES)
def test_a_forged_figure_is_refuted(name: str, log: Log) -> None:
    task, key, value, code = FIGURES[name]
    log.figure(task, key, value)
    report = log.check(task)
    assert code in errors(report)
    assert report.runs[0].verdict == "failed"
    assert [claim.state for claim in report.runs[0].claims if key in claim.label] == [State.REFUTED]


def swap_scores(log: Log) -> None:
    rows = log.of("quads")
    wrong = next(row for row in rows if not row["acc"])
    right = next(row for row in rows if row["acc"])
    wrong["acc"], right["acc"] = 1.0, 0.0


def raise_score(log: Log, task: str, metric: str, value: Any = 1.0) -> None:
    row = next(row for row in log.of(task) if row[metric] != value)
    row[metric] = value
    set_mean(log, task, metric, row["filter"])


def swap_normalised(log: Log) -> None:
    raise_score(log, "pairs", "acc_norm")


def answer_other(log: Log) -> None:
    row = log.of("voted")[0]
    row["resps"] = [["it is three"] * 4]


def filter_other(log: Log) -> None:
    row = next(row for row in log.of("voted") if row["filter"] == "vote")
    row["filtered_resps"] = [row["target"]]
    row["exact_match"] = 1.0
    set_mean(log, "voted", "exact_match", "vote")


def change_prediction(log: Log) -> None:
    row = log.of("translate")[0]
    for metric in ("bleu", "chrf", "chrf++", "ter"):
        row[metric][1] = row[metric][0] + " so"


def change_pair(log: Log) -> None:
    for row in log.of("pairs"):
        row["f1"] = [1, 1]
    log.figure("pairs", "f1,none", 1.0)
    log.figure("pairs", "f1_stderr,none", 0.0)


def change_likelihood(log: Log) -> None:
    log.of("cloze")[0]["perplexity"] = -0.001


def change_sum(log: Log) -> None:
    log.of("rolling")[3]["byte_perplexity"][0] /= 2


def change_probabilities(log: Log) -> None:
    row = log.of("quads")[0]
    row["brier_score"][1] = "[0.25 0.25 0.25 0.25]"


def word_probabilities(log: Log) -> None:
    log.of("quads")[0]["brier_score"][1] = "[a quarter each]"


def change_target(log: Log) -> None:
    for row in log.of("quads"):
        row["target"] = "1"


ROWS: dict[str, tuple[str, Callable[[Log], object], str]] = {
    "swapped scores": ("quads", swap_scores, "LME210"),
    "raised acc_norm": ("pairs", swap_normalised, "LME210"),
    "raised acc_bytes": ("pairs", lambda log: raise_score(log, "pairs", "acc_bytes"), "LME210"),
    "raised acc of texts": ("texts", lambda log: raise_score(log, "texts", "acc"), "LME210"),
    "raised acc of several": (
        "several",
        lambda log: raise_score(log, "several", "acc", 0.0),
        "LME210",
    ),
    "raised acc of no choice": ("beyond", lambda log: raise_score(log, "beyond", "acc"), "LME210"),
    "raised mutual information": (
        "mutual",
        lambda log: raise_score(log, "mutual", "acc_mutual_info"),
        "LME210",
    ),
    "raised match of choices": (
        "pairs",
        lambda log: raise_score(log, "pairs", "exact_match", 1),
        "LME210",
    ),
    "raised match with options": (
        "options",
        lambda log: raise_score(log, "options", "exact_match"),
        "LME210",
    ),
    "raised match of any": (
        "any_of",
        lambda log: raise_score(log, "any_of", "exact_match"),
        "LME210",
    ),
    "raised acc of a likelihood": ("cloze", lambda log: raise_score(log, "cloze", "acc"), "LME210"),
    "likelihood": ("cloze", change_likelihood, "LME210"),
    "likelihood of a text": ("rolling", change_sum, "LME210"),
    "pairs": ("pairs", change_pair, "LME210"),
    "probabilities": ("quads", change_probabilities, "LME210"),
    "probabilities in words": ("quads", word_probabilities, "LME210"),
    "prediction": ("translate", change_prediction, "LME210"),
    "targets": ("quads", change_target, "LME210"),
    "answers": ("voted", answer_other, "LME211"),
    "filtered answer": ("voted", filter_other, "LME211"),
}
"""Rows that are forged with their figures, and the code of the error."""


@each("name", ROWS)
def test_a_forged_row_is_refuted(name: str, log: Log) -> None:
    task, forge, code = ROWS[name]
    forge(log)
    assert code in errors(log.check(task))


def listed(log: Log, task: str, metric: str) -> dict[str, Any]:
    """Return the entry of a metric in a task's list."""
    entries = log.config(task)["metric_list"]
    found: dict[str, Any] = next(one for one in entries if one["metric"] == metric)
    return found


def use_median(log: Log) -> None:
    listed(log, "pairs", "acc")["aggregation"] = "median"
    log.figure("pairs", "acc,none", 0.97)


def use_median_that_fits(log: Log) -> None:
    listed(log, "cloze", "acc")["aggregation"] = "median"
    values = sorted(row["acc"] for row in log.of("cloze"))
    log.figure("cloze", "acc,none", values[3])


def use_f1(log: Log) -> None:
    listed(log, "pairs", "acc")["aggregation"] = "f1"
    log.figure("pairs", "acc,none", 0.99)


def rename_metric(log: Log) -> None:
    listed(log, "pairs", "acc")["metric"] = "accuracy"
    log.figure("pairs", "acc,none", 0.99)


def rename_metric_twice(log: Log) -> None:
    rename_metric(log)
    directions = log.document["higher_is_better"]["pairs"]
    directions["accuracy"] = directions.pop("acc")


def use_function(log: Log) -> None:
    listed(log, "pairs", "acc")["aggregation"] = "def best(items): return 1.2"
    log.figure("pairs", "acc,none", 1.2)


@each(("error", "code"), [(None, "LME301"), ("N/A", "LME303")])
def test_a_score_with_the_error_of_a_mean_is_the_mean(error: Any, code: str, log: Log) -> None:
    listed(log, "pairs", "acc")["aggregation"] = "best"
    log.figure("pairs", "acc,none", 0.97)
    if error is not None:
        log.figure("pairs", "acc_stderr,none", error)
    assert log.check("pairs").counts[code] == 1


def name_other_model(log: Log) -> None:
    log.document["model_name"] = "acme/acorn-9b"
    log.document["config"]["model_args"]["pretrained"] = "acme/acorn-9b"


def name_other_model_twice(log: Log) -> None:
    name_other_model(log)
    log.document["model_name_sanitized"] = "acme__acorn-9b"


def name_other_model_but_for_arguments(log: Log) -> None:
    log.document["model_name"] = "acme/acorn"
    log.document["model_name_sanitized"] = "acme__acorn"


def turn_direction(log: Log) -> None:
    log.document["higher_is_better"]["pairs"]["brier_score"] = True


def hide_examples(log: Log) -> None:
    log.document["n-shot"]["shots"] = 0


def hide_examples_twice(log: Log) -> None:
    hide_examples(log)
    log.config("shots")["num_fewshot"] = 0


def raise_limit(log: Log) -> None:
    log.document["config"]["limit"] = 12


def pick_documents(log: Log) -> None:
    for task in ("pairs",):
        for place, row in enumerate(log.of(task)):
            row["doc_id"] = 2 * place


def unbind_bits(log: Log) -> None:
    log.figure("rolling", "bits_per_byte,none", 0.1)


def name_other_source(log: Log) -> None:
    log.document["model_source"] = "hf"


def name_other_model_as_text(log: Log) -> None:
    name_other_model(log)
    log.document["config"]["model_args"] = "pretrained=acme/acorn-1b,dtype=float16"
    log.document["model_name_sanitized"] = "acme__acorn-9b"


def replace_template(log: Log) -> None:
    log.document["chat_template"] = "{{ messages }}"


def replace_instruction(log: Log) -> None:
    log.document |= {"system_instruction": "Be right.", "system_instruction_sha": digest("Be.")}


def hide_version(log: Log) -> None:
    log.document["versions"]["pairs"] = 7


def count_more_than_picked(log: Log) -> None:
    log.document["config"]["limit"] = 2


def claim_more_examples(log: Log) -> None:
    log.document["n-shot"]["shots"] = log.config("shots")["num_fewshot"] = 25


def claim_fewer_examples(log: Log) -> None:
    log.document["n-shot"]["shots"] = log.config("shots")["num_fewshot"] = 1


def cool_down(log: Log) -> None:
    log.config("options")["generation_kwargs"]["temperature"] = 0.125


def repeat_more(log: Log) -> None:
    log.config("voted")["repeats"] = 64


def put(*path: str, value: Any) -> Callable[[Log], None]:
    """Return the change that sets a member of the results."""

    def change(log: Log) -> None:
        holder = log.document
        for name in path[:-1]:
            holder = holder[name]
        holder[path[-1]] = value

    return change


SWITCHES: dict[str, Callable[[Log], object]] = {
    "no configuration": lambda log: log.document["configs"].clear(),
    "no output type": lambda log: log.config("any_of").pop("output_type"),
    "another output type": lambda log: log.config("any_of").update(output_type=""),
    "no metrics": lambda log: log.config("any_of").pop("metric_list"),
    "no metrics and no question": lambda log: [
        log.config("any_of").pop(name) for name in ("metric_list", "doc_to_text")
    ],
    "a metric without a name": lambda log: listed(log, "any_of", "exact_match").update(metric=""),
    "a metric of a longer name": lambda log: listed(log, "any_of", "exact_match").update(
        metric="exact_match\u200b"
    ),
    "a metric of another library": lambda log: listed(log, "any_of", "exact_match").update(
        hf_evaluate=True
    ),
    "choices": put("configs", "any_of", "doc_to_choice", value="x"),
    "choices that are true": put("configs", "any_of", "doc_to_choice", value=True),
    "a text for a function": put("configs", "any_of", "process_results", value="process_results"),
    "an object for a function": put("configs", "any_of", "process_results", value={}),
    "a filter of nobody": put(
        *("configs", "any_of", "filter_list"),
        value=[{"name": "none", "filter": [{"function": "take_second"}]}],
    ),
}


@each("name", SWITCHES)
def test_no_word_of_the_configuration_hides_a_raised_score(name: str, log: Log) -> None:
    raise_score(log, "any_of", "exact_match")
    SWITCHES[name](log)
    assert not errors(log.check("any_of")).isdisjoint({"LME106", "LME210", "LME306"})


FUNCTION = "def process_results(doc, results):\n    return {'acc': 1.0}\n"


def test_a_function_of_a_task_hides_no_single_raised_score(log: Log) -> None:
    """Its scores are those of the harness in all rows, or in few of them by chance."""
    log.config("quads")["process_results"] = FUNCTION
    (run,) = log.check("quads").runs
    assert (run.verdict, [one.text for one in run.checked if "derived" in one.text]) == (
        "passed",
        [],
    )
    raise_score(log, "quads", "acc")
    (run,) = log.check("quads").runs
    assert run.verdict == "unconfirmed"
    assert (
        run.remark == "acc of filter none cannot be derived from 1 row, and can be from all others"
    )


def test_a_function_of_a_task_may_give_other_scores(log: Log) -> None:
    log.config("quads")["process_results"] = FUNCTION
    for row in log.of("quads"):
        row["acc"] = 0.5
    set_mean(log, "quads", "acc")
    report = log.check("quads")
    assert (report.runs[0].verdict, errors(report)) == ("passed", set())


@each("delimiter", [None, " x", "A:"])
def test_another_delimiter_hides_no_raised_score(delimiter: str | None, log: Log) -> None:
    raise_score(log, "pairs", "acc")
    log.config("pairs")["target_delimiter"] = delimiter
    assert "LME210" in errors(log.check("pairs"))


def test_another_prompt_of_one_choice_hides_no_raised_score(log: Log) -> None:
    raise_score(log, "pairs", "acc")
    for row in log.of("pairs"):
        row["arguments"]["gen_args_1"]["arg_0"] += " "
    assert "LME210" in errors(log.check("pairs"))
    for row in log.of("pairs"):
        row["arguments"]["gen_args_1"]["arg_1"] = row["arguments"]["gen_args_0"]["arg_1"]
    assert "LME210" in errors(log.check("pairs"))


@each(("target", "is_known"), [("0", True), ("1", False), ("a pear", False)])
def test_a_target_may_be_a_choice_behind_another_delimiter(
    target: str, log: Log, *, is_known: bool
) -> None:
    log.config("pairs")["target_delimiter"] = "A:"
    (row, *_) = log.of("pairs")
    row["arguments"]["gen_args_1"]["arg_1"] = " 1"
    row["target"], row["acc"] = target, 0.0
    found = [one for one in log.check("pairs") if one.pointer == "/acc"]
    assert [one.code for one in found] == ["LME210"] * is_known


@each(
    ("choices", "target", "is_wrong"),
    [
        ("options", "1", False),
        ("options", "0", True),
        ("options", "9", False),
        (["one", "two"], "1", False),
        (["one", "two"], "0", True),
        ({"a": "one", "b": "two"}, "0", True),
        ([], "0", True),
        ("{{options}}", "0", False),
        ("nowhere", "1", True),
        ("options", "one", True),
    ],
)
def test_a_target_may_be_the_number_of_a_choice(
    choices: Any, target: str, log: Log, *, is_wrong: bool
) -> None:
    log.config("any_of")["doc_to_choice"] = choices
    row = log.of("any_of")[0]
    row["doc"]["options"] = ["one", "two"]
    row["resps"], row["filtered_resps"] = [["two"]], ["two"]
    row["target"], row["exact_match"] = target, 1.0
    assert ("LME210" in errors(log.check("any_of"))) == is_wrong


def test_a_task_without_a_configuration_is_unconfirmed(log: Log) -> None:
    assert log.check("any_of").runs[0].verdict == "passed"
    del log.document["configs"]
    raise_score(log, "any_of", "exact_match")
    (run,) = log.check("any_of").runs
    assert (run.verdict, "no configuration of any_of" in str(run.remark)) == ("unconfirmed", True)


def test_answers_of_an_unknown_filter_are_not_verified(log: Log) -> None:
    told = "filtered answers not verified in 6 of 6 rows"
    assert told not in [one.text for one in log.check("any_of").runs[0].checked]
    log.config("any_of")["filter_list"] = [{"name": "none", "filter": [{"function": "<class>"}]}]
    assert told in [one.text for one in log.check("any_of").runs[0].checked]


def test_an_answer_that_takes_too_long_to_filter_is_not_verified(log: Log) -> None:
    steps = [{"function": "regex", "regex_pattern": "[0-9]+x"}, {"function": "take_first"}]
    log.config("any_of")["filter_list"] = [{"name": "none", "filter": steps}]
    log.of("any_of")[0]["resps"] = [["1" * 10_000]]
    told = [one.text for one in log.check("any_of").runs[0].checked]
    assert "filtered answers not verified in 1 of 6 rows" in told


OPEN: dict[str, Callable[[Log], object]] = {
    "no numbers of samples": lambda log: log.document["n-samples"].pop("any_of"),
    "a metric with a hostile pattern": lambda log: listed(log, "any_of", "exact_match").update(
        regexes_to_ignore=["(a+)+b"]
    ),
    "a filter with a hostile pattern": lambda log: log.config("any_of").update(
        filter_list=[
            {"name": "none", "filter": [{"function": "regex", "regex_pattern": "(a+)+b|(.*)"}]}
        ]
    ),
}


@each("name", OPEN)
def test_what_cannot_be_followed_or_counted_is_unconfirmed(name: str, log: Log) -> None:
    OPEN[name](log)
    assert log.check("any_of").runs[0].verdict == "unconfirmed"


def test_a_list_without_filters_has_no_rows(log: Log) -> None:
    log.config("any_of")["filter_list"] = []
    assert "LME206" in errors(log.check("any_of"))


@each("answer", ["5", "5.0", "five"])
def test_an_answer_of_an_unknown_filter_may_be_a_number(answer: str, log: Log) -> None:
    log.config("any_of")["filter_list"] = [{"name": "none", "filter": [{"function": "<class>"}]}]
    row = log.of("any_of")[0]
    row["target"], row["filtered_resps"], row["exact_match"] = "5", [answer], 0.0
    assert ("LME210" in errors(log.check("any_of"))) == (answer == "5")


def claim_without_filter(log: Log) -> None:
    log.document["results"]["pairs"]["acc"] = 0.95


def drop_configuration(log: Log) -> None:
    del log.document["configs"]["pairs"]


def name_two_models(log: Log) -> None:
    log.document["config"]["model_args"] = "pretrained=acme/acorn-1b,pretrained=acme/acorn-9b"


def load_other_revision(log: Log) -> None:
    log.document["config"]["model_args"] |= {"revision": "main"}
    log.document["config"]["model_revision"] = "step-1000"


def instruct(log: Log) -> None:
    log.document |= {"system_instruction": "Lie.", "system_instruction_sha": digest("Lie.")}


def give_call_top_k(log: Log) -> None:
    log.document["config"]["gen_kwargs"] = {"top_k": 5}


def heat_call(log: Log) -> None:
    log.document["config"]["gen_kwargs"] = {**log.config("options")["generation_kwargs"]}
    log.document["config"]["gen_kwargs"]["do_sample"] = "yes"
    log.config("options")["generation_kwargs"] |= {"do_sample": False}


def hide_wrong_answer(log: Log) -> None:
    """Take a metric out of a row with a wrong answer, so that the mean is over the others."""
    row = next(one for one in log.of("options") if one["exact_match"] == 0)
    row["metrics"].remove("exact_match")
    del row["exact_match"]


def edit_target_of_a_filter(log: Log) -> None:
    log.of("voted")[0]["target"] += " "


def edit_doc_of_a_filter(log: Log) -> None:
    log.of("voted")[-1]["doc"]["more"] = 1


def edit_response_of_a_filter(log: Log) -> None:
    """Take the filter that finds nothing, so that its answers stay what it makes of them."""
    row = next(one for one in reversed(log.of("voted")) if len(set(one["resps"][0])) > 1)
    row["resps"][0].reverse()


def add_request(log: Log) -> None:
    """Add a request beside those that are numbered, with which no score was derived."""
    log.of("pairs")[0]["arguments"]["note"] = {}


def add_argument(log: Log) -> None:
    log.of("pairs")[0]["arguments"]["gen_args_0"]["note"] = ""


CONTRADICTIONS: dict[str, tuple[str, Callable[[Log], None], str]] = {
    "request": ("pairs", add_request, "LME101"),
    "argument": ("pairs", add_argument, "LME101"),
    "median": ("pairs", use_median, "LME301"),
    "median that fits": ("cloze", use_median_that_fits, "LME306"),
    "f1": ("pairs", use_f1, "LME301"),
    "renamed metric": ("pairs", rename_metric, "LME306"),
    "metric renamed twice": ("pairs", rename_metric_twice, "LME306"),
    "function out of range": ("pairs", use_function, "LME301"),
    "model": ("pairs", name_other_model, "LME306"),
    "model of the folder": ("pairs", name_other_model_twice, "LME306"),
    "model of the arguments": ("pairs", name_other_model_but_for_arguments, "LME306"),
    "direction": ("pairs", turn_direction, "LME306"),
    "examples": ("shots", hide_examples, "LME306"),
    "examples in both places": ("shots", hide_examples_twice, "LME306"),
    "limit": ("pairs", raise_limit, "LME306"),
    "documents": ("pairs", pick_documents, "LME306"),
    "bits per byte": ("rolling", unbind_bits, "LME306"),
    "source of the model": ("pairs", name_other_source, "LME306"),
    "model of the arguments as text": ("pairs", name_other_model_as_text, "LME306"),
    "chat template": ("pairs", replace_template, "LME306"),
    "system instruction": ("pairs", replace_instruction, "LME306"),
    "version": ("pairs", hide_version, "LME306"),
    "more than the limit": ("pairs", count_more_than_picked, "LME306"),
    "more examples": ("shots", claim_more_examples, "LME306"),
    "fewer examples": ("shots", claim_fewer_examples, "LME306"),
    "temperature": ("options", cool_down, "LME306"),
    "repeats": ("voted", repeat_more, "LME306"),
    "figure without filter": ("pairs", claim_without_filter, "LME301"),
    "task without configuration": ("pairs", drop_configuration, "LME306"),
    "task of the configuration": ("pairs", put("configs", "pairs", "task", value="x"), "LME306"),
    "name of the entry": ("pairs", put("results", "pairs", "name", value="quads"), "LME306"),
    "alias": ("pairs", put("results", "pairs", "alias", value="quads"), "LME306"),
    "argument twice": ("pairs", name_two_models, "LME306"),
    "revision": ("pairs", load_other_revision, "LME306"),
    "arguments of the call": ("options", heat_call, "LME306"),
    "argument of the call alone": ("options", give_call_top_k, "LME306"),
    "repeats of choices": ("pairs", put("configs", "pairs", "repeats", value=5), "LME306"),
    "description": ("pairs", put("configs", "pairs", "description", value="Lie."), "LME306"),
    "instruction with its digest": ("pairs", instruct, "LME306"),
    "date": ("pairs", put("date", value=1.0), "LME306"),
    "metric of a wrong answer": ("options", hide_wrong_answer, "LME306"),
    "target of a filter": ("voted", edit_target_of_a_filter, "LME206"),
    "doc of a filter": ("voted", edit_doc_of_a_filter, "LME206"),
    "response of a filter": ("voted", edit_response_of_a_filter, "LME206"),
    "filters of the configuration": (
        "voted",
        put("configs", "voted", "filter_list", value=None),
        "LME206",
    ),
}
"""Logs that contradict themselves, and the code of the error."""


@each("name", CONTRADICTIONS)
def test_a_contradiction_is_an_error(name: str, log: Log) -> None:
    task, forge, code = CONTRADICTIONS[name]
    forge(log)
    assert code in errors(log.check(task))


def test_a_renamed_folder_that_names_no_model_is_fine(tmp_path: Path) -> None:
    assert Log(tmp_path / "results").check("pairs", fail_on=Severity.WARNING).exit_code == 0
    assert (
        Log(tmp_path / "acme__acorn-1b-again").check("pairs", fail_on=Severity.WARNING).exit_code
        == 0
    )


def test_results_of_a_local_model_may_lie_in_a_folder_of_its_public_name(tmp_path: Path) -> None:
    log, name = Log(tmp_path / "acme__acorn-1b"), "/models/acorn-1b"
    log.document |= {"model_name": name, "model_name_sanitized": "__models__acorn-1b"}
    log.document["config"]["model_args"]["pretrained"] = name
    report = log.check("pairs")
    assert ("LME306" in report.counts, report.exit_code) == (True, 0)


@each(("release", "is_error"), [("0.4.9.2", False), ("0.4.13", True)])
def test_early_releases_found_no_model_in_arguments_that_are_an_object(
    release: str, is_error: bool, log: Log
) -> None:
    log.document |= {"lm_eval_version": release, "model_name": "", "model_name_sanitized": ""}
    for entry in log.document["results"].values():
        entry.pop("sample_len", None)
    assert ("LME306" in errors(log.check("pairs"))) is is_error


@each("key", ["acc,none", "acc_stderr,none", "acc_norm,none"])
@pytest.mark.parametrize("value", [0.99, "N/A"])
def test_a_forged_figure_of_a_group_is_refuted(key: str, value: Any, log: Log) -> None:
    log.figure("sized", key, value)
    report = log.check()
    refuted = errors(report) == {"LME304"}
    is_open = value == "N/A" and "stderr" not in key and "LME303" in report.counts
    assert refuted or is_open


def turn_group(log: Log) -> None:
    log.document["higher_is_better"]["sized"]["acc"] = False


def lengthen_group(log: Log) -> None:
    log.document["results"]["sized"]["sample_len"] += 1


def count_in_group(log: Log) -> None:
    log.document["results"]["sized"]["sample_count"]["acc,none"] += 1


def part_group(log: Log) -> None:
    log.document["groups"]["sized"]["acc,none"] += 0.25


def give_group_examples(log: Log) -> None:
    log.document["n-shot"]["sized"] = 5


def give_group_half_an_example(log: Log) -> None:
    log.document["n-shot"]["sized"] = 0.5


@each(
    ("forge", "code"),
    [
        (turn_group, "LME306"),
        (lengthen_group, "LME304"),
        (count_in_group, "LME304"),
        (part_group, "LME304"),
        (give_group_examples, "LME306"),
        (give_group_half_an_example, "LME306"),
    ],
)
def test_a_contradiction_of_a_group_is_an_error_once(
    forge: Callable[[Log], None], code: str, log: Log
) -> None:
    forge(log)
    report = log.check()
    pointers = [one.pointer for one in report if one.severity is Severity.ERROR]
    assert errors(report) == {code}
    assert len(pointers) == len(set(pointers))


def test_a_chat_template_with_its_digest_is_fine(log: Log) -> None:
    template = "{{ messages }}"
    log.document |= {"chat_template": template, "chat_template_sha": digest(template)}
    assert log.check("pairs", fail_on=Severity.WARNING).exit_code == 0


def test_results_alone_are_unconfirmed(log: Log) -> None:
    for path in log.folder.glob("*.jsonl"):
        path.unlink()
    log.document["task_hashes"] = {}
    report = log.check()
    (run,) = report.runs
    assert (run.verdict, report.exit_code) == ("unconfirmed", 0)
    assert {claim.state for claim in run.claims if claim.is_score} == {State.OPEN}
    assert report.counts.keys() == {"ES805", "LME303"}


UNSAMPLED: dict[str, tuple[str, Callable[[Log], None]]] = {
    "share": ("LME301", put("results", "beyond", "acc,none", value=0.4)),
    "share above 1": ("LME301", put("results", "any_of", "exact_match,none", value=1.5)),
    "perplexity below 1": ("LME301", put("results", "cloze", "perplexity,none", value=0.5)),
    "error": ("LME302", put("results", "inputs", "acc_stderr,none", value=0.1234567891234)),
    "small error": ("LME302", put("results", "inputs", "acc_stderr,none", value=0.0)),
    "large error": ("LME302", put("results", "options", "exact_match_stderr,none", value=0.6)),
    "negative error": ("LME302", put("results", "own", "score_stderr,none", value=-0.1)),
    "number": ("LME207", put("results", "own", "sample_len", value=7)),
    "more than there are": ("LME207", put("n-samples", "own", "original", value=5)),
}
"""Changed results without samples, with the code of what they refute."""


@each("name", UNSAMPLED)
def test_results_without_samples_that_no_answers_give_are_refuted(name: str, log: Log) -> None:
    code, forge = UNSAMPLED[name]
    for path in log.folder.glob("*.jsonl"):
        path.unlink()
    assert code not in {one.code for one in log.check()}
    forge(log)
    assert code in errors(log.check())


def forget_numbers(log: Log) -> None:
    """Make results of a release that does not tell how many samples were chosen."""
    for path in log.folder.glob("*.jsonl"):
        path.unlink()
    log.document["lm_eval_version"], log.document["config"]["limit"] = "0.4.9", None
    for task, counts in log.document["n-samples"].items():
        counts["original"] = counts["effective"]
        log.document["results"][task].pop("sample_len")


@each("key", ["acc,none", "acc_stderr,none"])
def test_some_number_of_answers_has_a_share_with_its_error(key: str, log: Log) -> None:
    forget_numbers(log)
    assert errors(log.check()).isdisjoint({"LME301", "LME302"})
    log.document["results"]["inputs"][key] *= 1.01
    assert "LME302" in errors(log.check())


def test_figures_without_samples_may_be_rounded(log: Log) -> None:
    for path in log.folder.glob("*.jsonl"):
        path.unlink()
    for figures in log.document["results"].values():
        figures |= {key: round(one, 3) for key, one in figures.items() if isinstance(one, float)}
    assert errors(log.check()).isdisjoint({"LME301", "LME302"})


def test_forged_results_are_compared_beside_others_of_the_same_time(log: Log) -> None:
    shutil.copy(RESULTS, log.folder / RESULTS.name.replace("results", "zz"))
    log.figure("pairs", "acc,none", 0.99)
    for named in (None, "pairs"):
        report = log.check(named)
        failed = {(run.file, run.aggregate) for run in report.runs if run.verdict == "failed"}
        assert report.counts["LME301"] == 1
        assert (str(log.path("pairs")), str(log.folder / RESULTS.name)) in failed


def test_figures_without_their_samples_are_open(log: Log) -> None:
    """No run compares them: the samples are left out, or the file has other rows."""
    report = log.check(exclude=["samples_*"])
    assert [run.verdict for run in report.runs] == ["unconfirmed"]
    assert "acc,none of pairs" in {one.label for one in report.runs[0].claims}
    for pattern in ("samples_pairs*", f"{log.folder.name}/samples_pairs*"):
        found = evalstream.check(log.folder.parent, exclude=[pattern])
        *_, alone = [run for run in found.runs if run.file is None]
        states = {one.label: one.state for one in alone.claims}
        assert states["acc,none of pairs"] is State.OPEN
    shutil.copy(EXAMPLES / "run.jsonl", log.path("pairs"))
    *_, alone = [run for run in log.check().runs if run.file is None]
    states = {one.label: one.state for one in alone.claims}
    assert (alone.verdict, states["acc,none of pairs"]) == ("failed", State.OPEN)


def test_a_ledger_knows_no_results_whose_samples_are_gone(log: Log, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    assert log.check(ledger=ledger).exit_code == 0
    log.path("inputs").unlink()
    assert evalstream.check(log.folder, ledger=ledger).exit_code == 1


@each(("left", "state"), [(None, State.CONFIRMED), (3, State.OPEN), (0, State.OPEN)])
def test_a_group_is_open_if_samples_of_a_task_may_be_chosen(
    tmp_path: Path, left: int | None, state: State
) -> None:
    log = Log(tmp_path / "log")
    for entry in log.document["results"].values():
        entry.pop("sample_len", None)
    log.document["lm_eval_version"] = "0.4.11"
    log.document["config"]["limit"] = None
    for counts in log.document["n-samples"].values():
        counts["original"] = counts["effective"]
    if left is not None:
        path = log.path(log.document["group_subtasks"]["sized"][0])
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:left]))
    claims = [one for run in log.check().runs for one in run.claims if one.is_score]
    assert {one.state for one in claims if "sized" in one.label} == {state}


def test_a_forged_group_is_refuted_without_samples(log: Log) -> None:
    for path in log.folder.glob("*.jsonl"):
        path.unlink()
    log.figure("sized", "acc,none", 0.99)
    assert "LME304" in errors(log.check())


def test_a_figure_that_was_cut_to_few_digits_is_not_the_harness_s(log: Log) -> None:
    exact = log.document["results"]["pairs"]["brier_score,none"]
    log.figure("pairs", "brier_score,none", round(exact, 4))
    assert not log.check("pairs").counts
    log.figure("pairs", "brier_score,none", round(exact, 1))
    assert errors(log.check("pairs")) == {"LME301"}


def test_translation_metrics_are_open_without_their_package(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalstream.formats.lm_eval import task_claims
    from evalstream.stats.claims import corpus_metrics

    for module in (task_claims, corpus_metrics):
        monkeypatch.setattr(module, "has_translation_metrics", lambda: False)
    report = log.check("translate")
    (run,) = report.runs
    assert run.verdict == "unconfirmed"
    reasons = {claim.reason for claim in run.claims if claim.state is State.OPEN}
    assert reasons == {"a package for the formula is not installed"}
    log.figure("translate", "bleu,none", 101)
    assert "LME301" in errors(log.check("translate"))


def test_answers_without_scores_are_no_claims(log: Log) -> None:
    """As with --predict_only, which writes 999 and N/A."""
    for row in log.of("options"):
        del row["exact_match"]
        row |= {"bypass": None, "metrics": ["bypass"]}
    entry = log.document["results"]["options"]
    for key in ("exact_match,none", "exact_match_stderr,none"):
        del entry[key]
    entry |= {"bypass,none": 999, "bypass_stderr,none": "N/A"}
    log.config("options")["metric_list"] = [{"metric": "bypass"}]
    log.config("options")["process_results"] = "process_results"
    log.document["higher_is_better"]["options"] = {"bypass": True}
    report = log.check("options")
    assert (report.runs[0].verdict, report.counts) == ("unconfirmed", {"ES805": 1})
    entry["bypass,none"] = 0.9
    assert "LME301" in errors(log.check("options"))


TASK_MEMBERS: dict[str, Any] = {
    "task": ["options"],
    "task_alias": 1,
    "output_type": "generate",
    "metric_list": {"exact_match": "mean"},
    "filter_list": "none",
    "num_fewshot": "0",
    "repeats": 1.5,
    "generation_kwargs": ["temperature"],
    "target_delimiter": [" "],
    "fewshot_delimiter": 0,
}
"""Members of a configuration in a type that the harness does not write."""


@each("name", TASK_MEMBERS)
def test_an_unreadable_member_of_a_configuration_is_an_error(name: str, log: Log) -> None:
    log.config("options")[name] = TASK_MEMBERS[name]
    report = log.check("options")
    found = {one.pointer for one in report if one.code == "LME106"}
    assert f"/configs/options/{name}" in found


@each("listed", ["acc", {"metric": 1}, {"metric": "exact_match", "regexes_to_ignore": "x"}])
def test_an_unreadable_entry_of_the_metrics_is_an_error(listed: Any, log: Log) -> None:
    log.config("options")["metric_list"].append(listed)
    assert "LME106" in errors(log.check("options"))


@each(
    "steps", [None, ["take_first"], [{"function": 1}], [{"function": "regex", "regex_pattern": 1}]]
)
def test_an_unreadable_filter_is_an_error(steps: Any, log: Log) -> None:
    log.config("options")["filter_list"] = [{"name": "none", "filter": steps}]
    assert "LME106" in errors(log.check("options"))


def test_a_pattern_that_cannot_be_read_is_a_warning(log: Log) -> None:
    log.config("options")["filter_list"] = [
        {"name": "none", "filter": [{"function": "regex", "regex_pattern": "(?P<"}]}
    ]
    report = log.check("options")
    (found,) = [one for one in report if one.code == "LME106"]
    assert found.severity is Severity.WARNING
    assert found.pointer == "/configs/options/filter_list/0/filter/0/regex_pattern"


@each(
    "path",
    [
        ("config", "limit"),
        ("config", "model_args"),
        ("config", "bootstrap_iters"),
        ("n-shot", "options"),
        ("higher_is_better", "options", "exact_match"),
        ("results", "options", "alias"),
        ("model_name",),
    ],
)
def test_an_unreadable_member_of_the_call_is_an_error(path: tuple[str, ...], log: Log) -> None:
    put(*path, value=[1])(log)
    report = log.check("options")
    assert "/" + "/".join(path) in {one.pointer for one in report if one.code == "LME106"}


def test_a_figure_without_a_filter_that_the_rows_give_is_confirmed(log: Log) -> None:
    own = log.document["results"]["pairs"]
    own["acc"], own["acc_stderr"] = own["acc,none"], own["acc_stderr,none"]
    report = log.check("pairs", fail_on=Severity.WARNING)
    assert report.exit_code == 0
    labels = {claim.label: claim.state for claim in report.runs[0].claims}
    assert labels["acc of pairs"] == labels["acc_stderr of pairs"] == State.CONFIRMED


def test_a_task_without_samples_is_counted(log: Log) -> None:
    log.document["results"]["ghost"] = {"alias": "ghost", "acc,none": 1.0}
    log.document["configs"]["ghost"] = {"task": "ghost"}
    report = log.check()
    (alone,) = [run for run in report.runs if not run.rows]
    assert [(one.text, one.is_ok) for one in alone.checked] == [
        ("samples of 15 of 16 tasks found, whose runs judge their figures", None)
    ]
    assert "LME303" in report.counts


def test_arguments_of_the_call_that_a_task_has_are_fine(log: Log) -> None:
    own = log.config("options")["generation_kwargs"]
    log.document["config"]["gen_kwargs"] = dict(own)
    args = "pretrained=acme/acorn-1b,revision=main,dtype=auto"
    log.document["config"] |= {"model_args": args, "model_revision": "main"}
    assert not errors(log.check("options"))


def test_a_group_that_only_the_copies_have_is_an_error(log: Log) -> None:
    log.document["groups"]["all"] = {"alias": "all", "acc,none": 1.0}
    assert "LME306" in errors(log.check())


PROMPTS: dict[str, Any] = {
    "doc_to_text": "Answer: {{question}}",
    "doc_to_choice": ["yes", "no"],
    "target_delimiter": " -- ",
}


@each("name", PROMPTS)
def test_another_way_to_ask_is_a_warning(name: str, log: Log) -> None:
    log.config("pairs")[name] = PROMPTS[name]
    found = {one.severity for one in log.check("pairs") if one.code == "LME306"}
    assert found == {Severity.WARNING}


def ask(task: str, *path: str, value: Any) -> Callable[[Log], None]:
    """Return a change of the last row of a task, by default without its last member."""

    def change(log: Log) -> None:
        *places, name = path
        holder = log.of(task)[-1]
        for place in places:
            holder = holder[place]
        if value is None:
            del holder[name]
        else:
            holder[name] = value

    return change


REQUEST = ("arguments", "gen_args_0")
LATER: dict[str, tuple[str, Callable[[Log], None], Severity]] = {
    "temperature": ("options", ask("options", *REQUEST, "arg_1", "temperature", value=2.5), ERROR),
    "argument left out": (
        "options",
        ask("options", *REQUEST, "arg_1", "do_sample", value=None),
        ERROR,
    ),
    "arguments left out": ("options", ask("options", *REQUEST, "arg_1", value=None), ERROR),
    "further argument": ("options", ask("options", *REQUEST, "arg_1", "top_k", value=1), WARNING),
    "no answer": ("options", ask("options", "resps", value=[[]]), ERROR),
    "answer of no request": ("rolling", ask("rolling", "resps", value=[["-1"], ["-1"]]), ERROR),
    "question": ("options", ask("options", *REQUEST, "arg_0", value="Lie."), WARNING),
    "doc": ("options", ask("options", "doc", "question", value="Lie."), WARNING),
    "choice of the doc": ("pairs", ask("pairs", "doc", "choices", value=["x", "y"]), WARNING),
    "prompt of a choice": (
        "pairs",
        ask("pairs", "arguments", "gen_args_1", "arg_0", value="Lie."),
        WARNING,
    ),
    "likelihood": ("cloze", ask("cloze", *REQUEST, "arg_1", value=" lie"), WARNING),
    "likelihood of nothing": ("cloze", ask("cloze", *REQUEST, "arg_1", value=None), WARNING),
    "text": ("rolling", ask("rolling", *REQUEST, "arg_0", value="Lie."), WARNING),
    "question of the doc": ("pairs", ask("pairs", "doc", "question", value=None), WARNING),
    "choices of the doc": ("mutual", ask("mutual", "doc", "choices", value=None), WARNING),
    "target of the doc": ("options", ask("options", "doc", "answer", value=None), WARNING),
    "list of targets": ("any_of", ask("any_of", "doc", "answers", value=["Lie."]), ERROR),
}
"""Later rows that were asked for otherwise, and how the contradiction counts."""


@each("name", LATER)
def test_a_later_row_is_asked_for_as_all(name: str, log: Log) -> None:
    task, change, severity = LATER[name]
    change(log)
    found = [(one.severity, one.line) for one in log.check(task) if one.code == "LME306"]
    assert found == [(severity, len(log.of(task)))]


def test_one_row_tells_of_all_that_were_asked_otherwise(log: Log) -> None:
    for row in log.of("options")[1:]:
        row["arguments"]["gen_args_0"]["arg_1"]["temperature"] = 2.5
    found = [one.line for one in log.check("options") if one.code == "LME306"]
    assert found == [*range(2, len(log.of("options")) + 1)]
    log.of("options")[0]["arguments"]["gen_args_0"]["arg_1"]["temperature"] = 2.5
    assert [one.line for one in log.check("options") if one.code == "LME306"] == [1]


def test_the_last_request_of_a_device_may_be_repeated(log: Log) -> None:
    for row in log.of("options")[1:]:
        row["resps"][0] *= 2
    assert "LME306" not in {one.code for one in log.check("options")}
    log.of("options")[0]["resps"][0] *= 2
    assert "/configs/options/repeats" in [one.pointer for one in log.check("options")]


def test_a_choice_that_is_an_input_may_end_with_its_number(log: Log) -> None:
    log.config("inputs")["doc_to_text"] = "{{label}}"
    row = log.of("inputs")[0]
    for request in row["arguments"].values():
        request["arg_0"] += f" {row['doc']['label']}"
    assert log.check("inputs").exit_code == 0


def test_early_releases_show_the_object_that_a_call_from_python_gave(log: Log) -> None:
    log.document["model_source"] = "<acme.models.Acorn object at 0x7f5258aa2fd0>"
    assert not errors(log.check("options"))
    log.document["model_source"] = "acorn"
    assert "LME306" in errors(log.check("options"))


def test_a_question_may_be_a_text_of_the_configuration(log: Log) -> None:
    log.config("options")["doc_to_text"] = "Say it."
    assert "LME306" in {one.code for one in log.check("options")}
    for row in log.of("options"):
        row["arguments"]["gen_args_0"]["arg_0"] = "Say it."
    assert "LME306" not in {one.code for one in log.check("options")}
    log.config("options")["doc_to_text"] = "def ask(doc):\n    return doc['question']"
    assert "LME306" not in {one.code for one in log.check("options")}


def lose(*path: str) -> Callable[[Log], None]:
    """Return a change that removes a member of the results."""

    def change(log: Log) -> None:
        holder = log.document
        for name in path[:-1]:
            holder = holder[name]
        del holder[path[-1]]

    return change


def turn_both_directions(log: Log) -> None:
    log.document["higher_is_better"]["options"]["exact_match"] = False
    log.config("options")["metric_list"][0]["higher_is_better"] = False
    del log.document["group_subtasks"]


HABITS: dict[str, tuple[Callable[[Log], object], str]] = {
    "counts": (lose("n-samples"), "LME106"),
    "configurations of an early release": (
        lambda log: [lose(name)(log) for name in ("configs", "lm_eval_version")],
        "LME106",
    ),
    "directions": (lose("higher_is_better"), "LME106"),
    "error": (lose("results", "options", "exact_match_stderr,none"), "LME305"),
    "direction": (turn_both_directions, "LME306"),
}
"""Members that each release writes which writes its version, and a usual direction."""


@each("name", HABITS)
def test_a_broken_habit_is_a_warning(name: str, log: Log) -> None:
    break_habit, code = HABITS[name]
    break_habit(log)
    found = {one.severity for one in log.check("options") if one.code == code}
    assert found == {Severity.WARNING}


@pytest.mark.parametrize("name", ["counts", "error"])
def test_early_releases_broke_habits(name: str, log: Log) -> None:
    """They did not write their version either."""
    HABITS[name][0](log)
    del log.document["lm_eval_version"]
    assert HABITS[name][1] not in log.check("options").counts


def test_a_function_of_the_task_may_leave_out_a_metric(log: Log) -> None:
    log.config("options")["process_results"] = "def process_results(doc, results): …"
    hide_wrong_answer(log)
    assert "LME306" not in log.check("options").counts


def test_a_metric_that_is_no_number_is_there(log: Log) -> None:
    row = log.of("options")[0]
    row["exact_match"] = float("nan")
    assert not any("which all rows have" in one.message for one in log.check("options"))


def test_filters_may_be_in_any_order(log: Log) -> None:
    log.of("voted").sort(key=lambda row: row["doc_id"])
    assert "LME206" not in log.check("voted").counts


@pytest.mark.parametrize("shift", [-14 * 3600, 14 * 3600])
def test_the_time_in_a_name_is_of_any_zone(shift: int, log: Log) -> None:
    log.document["date"] += shift
    assert not errors(log.check("pairs"))


def test_what_a_log_has_no_witness_of_is_silent(log: Log) -> None:
    """As the documentation lists it."""
    log.document |= {"git_hash": "x", "lm_eval_version": "0.4.99"}
    log.document["config"] |= {"batch_size": 64, "random_seed": 7, "fewshot_seed": 7}
    log.document["n-samples"]["pairs"]["original"] = 3000
    log.config("pairs").update(dataset_path="x", test_split="train")
    assert not log.check("pairs").counts


@pytest.mark.parametrize("template", ["label", "{{ label }}"])
def test_a_right_answer_is_that_of_its_doc(log: Log, template: str) -> None:
    log.config("shots")["doc_to_target"] = template
    for row in log.of("shots"):
        row["doc"]["label"] = str(1 - row["doc"]["label"])
    found = [one for one in log.check("shots") if one.code == "LME306"]
    assert {one.message for one in found} == {
        "the target is not label of its doc, which doc_to_target names"
    }
    assert len(found) == len(log.of("shots"))
    log.config("shots")["doc_to_target"] = "{{ label | int }}"
    assert "LME306" not in log.check("shots").counts


@each("constant", ["no", 7, "a b"])
def test_a_right_answer_may_be_a_text_of_the_configuration(log: Log, constant: Any) -> None:
    log.config("shots")["doc_to_target"] = constant
    found = [one for one in log.check("shots") if one.code == "LME306"]
    assert {one.message for one in found} == {"the target is not the text of doc_to_target"}
    assert len(found) == len(log.of("shots"))
    log.config("shots")["doc_to_target"] = log.of("shots")[0]["target"]
    found = [one for one in log.check("shots") if one.code == "LME306"]
    assert len(found) == sum(
        one["target"] != log.of("shots")[0]["target"] for one in log.of("shots")
    )
    log.config("shots")["doc_to_target"] = "def target(doc): ..."
    assert "LME306" not in log.check("shots").counts


def test_a_right_answer_may_be_missing_in_its_doc(log: Log) -> None:
    log.config("shots")["doc_to_target"] = "label"
    for row in log.of("shots"):
        row["doc"]["label"], row["target"] = None, "None"
    assert "LME306" not in log.check("shots").counts


def test_no_member_that_was_removed_keeps_samples_from_being_compared(log: Log) -> None:
    del log.config("shots")["doc_to_target"]
    assert log.check("shots").counts["LME106"] == 1
    del log.document["n-samples"]["shots"]
    assert log.check("shots").counts["LME106"] == 2


@each("limit", [None, 0, -1])
def test_rows_that_no_limit_picks_are_told(log: Log, limit: int | None) -> None:
    log.document["config"]["limit"] = limit
    log.document["n-samples"]["shots"]["original"] += 9
    assert log.check("shots").counts["LME207"] == 1
    del log.document["config"]["limit"]
    assert log.check("shots").counts["LME207"] == 1


def _put_choices_into_prompts(row: dict[str, Any]) -> None:
    for number, request in enumerate(row["arguments"].values()):
        request |= {"arg_0": f"{request['arg_0']} {number}", "arg_1": f" {row['target']}"}


def test_a_row_whose_score_alone_cannot_be_derived_leaves_its_task_unconfirmed(log: Log) -> None:
    """The request for a later choice has no digest; choices may be in the prompts."""
    rows = log.of("texts")
    _put_choices_into_prompts(rows[1])
    (run,) = log.check("texts").runs
    assert (run.verdict, run.remark is None) == ("unconfirmed", False)
    assert "cannot be derived from 1 row, and can be from all others" in str(run.remark)
    assert "10 of 12 scores derived from the answers" in [one.text for one in run.checked]
    for row in rows:
        _put_choices_into_prompts(row)
    (run,) = log.check("texts").runs
    assert run.verdict == "passed"
    assert "0 of 12 scores derived from the answers" in [one.text for one in run.checked]
