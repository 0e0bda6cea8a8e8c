"""Runs under the harnesses' Python: write real logs of every metric that lm_eval ships.

Argument: the folder to write in. Each run writes below `FOLDER/RUN`; the tasks are in
`FOLDER/tasks`. The model answers by chance with fixed seeds.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

from lm_eval.api.model import LM
from lm_eval.evaluator import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

COUNT = 30

HEAD = """\
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/tasks/DATA.jsonl}}
test_split: test
metadata: {version: 1.0}
"""

METRIC = "  - {metric: %s, aggregation: %s, higher_is_better: %s}\n"
LOWER = {
    *("brier_score", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ter")
}
AGGREGATIONS = {
    "mcc": "matthews_corrcoef",
    "word_perplexity": "weighted_perplexity",
    "byte_perplexity": "weighted_perplexity",
    **{
        name: name
        for name in (
            *("f1", "brier_score", "perplexity", "bits_per_byte", "bleu", "chrf", "chrf++", "ter"),
        )
    },
}


def metrics(*names: str) -> str:
    """Return a list of metrics with the harness's own aggregations."""
    return "metric_list:\n" + "".join(
        METRIC % (name, AGGREGATIONS.get(name, "mean"), str(name not in LOWER).lower())
        for name in names
    )


CHOICE = """\
output_type: multiple_choice
doc_to_text: "Q: {{question}}\\nA:"
doc_to_target: label
doc_to_choice: choices
"""

TASKS = {
    "pairs": (
        "two",
        CHOICE + metrics("acc", "acc_norm", "acc_bytes", "exact_match", "f1", "mcc", "brier_score"),
    ),
    "mutual": ("two", CHOICE + metrics("acc", "acc_norm", "acc_mutual_info", "brier_score")),
    "quads": ("four", CHOICE + metrics("acc", "acc_norm", "mcc", "brier_score")),
    "texts": ("four", CHOICE.replace("label", "answer") + metrics("acc", "acc_norm")),
    "several": (
        "four",
        CHOICE.replace("label", "labels") + metrics("acc", "acc_norm", "exact_match"),
    ),
    "beyond": ("four", CHOICE.replace("label", "none") + metrics("acc", "exact_match")),
    "inputs": (
        "four",
        """\
output_type: multiple_choice
doc_to_text: label
doc_to_target: question
doc_to_choice: choices
"""
        + metrics("acc", "acc_norm"),
    ),
    "shots": ("two", "num_fewshot: 2\n" + CHOICE + metrics("acc", "acc_norm")),
    "cloze": (
        "words",
        """\
output_type: loglikelihood
doc_to_text: "{{question}}"
doc_to_target: " {{answer}}"
"""
        + metrics("perplexity", "acc"),
    ),
    "rolling": (
        "prose",
        """\
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
"""
        + metrics("word_perplexity", "byte_perplexity", "bits_per_byte"),
    ),
    "translate": (
        "words",
        """\
output_type: generate_until
doc_to_text: "Say: {{question}}"
doc_to_target: "{{sentence}}"
"""
        + metrics("bleu", "chrf", "chrf++", "ter"),
    ),
    "options": (
        "words",
        """\
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: true
    ignore_numbers: true
    regexes_to_ignore: ["(?s).*#### ", ","]
""",
    ),
    "any_of": (
        "words",
        """\
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: answers
"""
        + metrics("exact_match"),
    ),
    "voted": (
        "words",
        """\
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
repeats: 4
generation_kwargs: {until: ["\\n"], do_sample: true, temperature: 0.5}
"""
        + metrics("exact_match")
        + """\
filter_list:
  - name: strict
    filter:
      - {function: regex, regex_pattern: "is (\\\\w+)|say (\\\\w+)", group_select: -1}
      - {function: take_first}
  - name: vote
    filter:
      - {function: take_first_k, k: 3}
      - {function: remove_whitespace}
      - {function: lowercase}
      - {function: majority_vote}
      - {function: take_first}
  - name: mapped
    filter:
      - {function: map, mapping_dict: {it is one: one}, default_value: other}
      - {function: uppercase}
      - {function: take_first}
""",
    ),
    "own": (
        "words",
        """\
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
process_results: !function own.process
metric_list:
  - {metric: score, aggregation: median, higher_is_better: true}
  - {metric: gaps, aggregation: nanmean, higher_is_better: true}
  - {metric: best, aggregation: !function own.most, higher_is_better: true}
""",
    ),
}
"""The tasks by name: their documents, and their configuration."""

OWN = """\
def process(doc, results):
    number = len(results[0]) + doc["weight"]
    gap = float("nan") if doc["weight"] > 2.5 else number
    return {"score": number, "gaps": gap, "best": number, "length": len(results[0])}


def most(items):
    return max(items)
"""

GROUPS = """\
group: GROUP
task: [pairs, quads, texts]
aggregate_metric_list:
  - {metric: acc, aggregation: mean, weight_by_size: SIZED}
  - {metric: acc_norm, aggregation: mean, weight_by_size: SIZED}
metadata: {version: 1.0}
"""

GROUPED = ("pairs", "quads", "texts")

RUNS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "all": ([name for name in TASKS if name != "own"], {}),
    "own": (["own"], {}),
    "sized": (["sized"], {"limit": 0.9}),
    "plain": (["plain"], {}),
    "none": (["pairs", "cloze"], {"bootstrap_iters": 0}),
    "few": (["pairs", "cloze", "translate"], {"limit": 5}),
    "one": (["pairs", "translate"], {"limit": 1}),
    "chosen": (["pairs"], {"samples": {"pairs": [2, 5, 9]}}),
    "silent": (["options", "pairs"], {"predict_only": True}),
    "small": ([*(name for name in TASKS if name not in GROUPED), "sized"], {"limit": 6}),
}
"""The runs by name: tasks and options."""


class Chance(LM):
    """A model that answers by chance."""

    def __init__(self) -> None:
        """Begin with a fixed seed."""
        super().__init__()
        self._random = random.Random(7)

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        """Return likelihoods, some of which are equal."""
        return [
            (-round(self._random.random() * 20, self._random.choice([1, 12])), greedy)
            for greedy in (self._random.random() < 0.4 for _ in requests)
        ]

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        """Return likelihoods of texts."""
        return [-len(one.args[0]) * self._random.random() for one in requests]

    def generate_until(self, requests: list[Any]) -> list[str]:
        """Return short answers."""
        answers = ["one", " It is one.", "it is one", "I say TWO", "two", "3", "so\u2028 it is two"]
        return [self._random.choice(answers) for _ in requests]


def write_tasks(folder: Path) -> None:
    """Write the tasks and their documents."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (data, text) in TASKS.items():
        head = HEAD.replace("FOLDER", str(folder.parent)).replace("DATA", data)
        (folder / f"{name}.yaml").write_text(f"task: {name}\n{head}{text}")
    (folder / "own.py").write_text(OWN)
    for name, sized in (("sized", "true"), ("plain", "false")):
        text = GROUPS.replace("GROUP", name).replace("SIZED", sized)
        (folder / f"{name}_group.yaml").write_text(text)
    chance = random.Random(3)
    choices = ["a pear", "an äpfel", "plums and figs", "nut"]
    documents: dict[str, list[dict[str, Any]]] = {"two": [], "four": [], "words": [], "prose": []}
    for n in range(COUNT):
        label = chance.randrange(2)
        two = {"question": f"Is {n} a fruit?", "choices": choices[:2], "label": label}
        documents["two"].append(two)
        if n < COUNT - 6:
            label = chance.randrange(4)
            documents["four"].append(
                {
                    "question": f"Which fruit is {n}?",
                    "choices": choices,
                    "label": label,
                    "labels": sorted({label, 3}),
                    "answer": choices[label],
                    "none": f"stone {n}",
                }
            )
        documents["words"].append(
            {
                "question": f"Say word {n}",
                "answer": chance.choice(["one", "two", "It is one", "4, say two"]),
                "answers": chance.choice([["one", "3"], ["two"], ["It is one", "it is one"]]),
                "sentence": chance.choice(["it is one and so it is", "so I say two", "it is one"]),
                "weight": n / 10,
            }
        )
        documents["prose"].append({"text": " ".join(["word", "é\n"] * (n + 1))})
    for name, rows in documents.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def make(folder: Path, run: str) -> None:
    """Write the log of one run, as the command line does with `--log_samples`."""
    tasks, options = RUNS[run]
    tracker = EvaluationTracker(output_path=str(folder / run))
    results = simple_evaluate(
        model=Chance(),
        model_args={"pretrained": "acme/acorn-1b"},
        tasks=tasks,
        task_manager=TaskManager(include_path=str(folder / "tasks"), include_defaults=False),
        evaluation_tracker=tracker,
        log_samples=True,
        **{"bootstrap_iters": 150, **options},
    )
    assert results is not None
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for task in results["configs"]:
        tracker.save_results_samples(task_name=task, samples=samples[task])


if __name__ == "__main__":
    where = Path(sys.argv[1]).resolve()
    write_tasks(where / "tasks")
    for name in sys.argv[2:] or RUNS:
        make(where, name)
