"""Runs under the harnesses' Python: write real logs of lm-eval with its dummy model.

Argument: the folder to write in. Each run writes below `FOLDER/RUN`; the tasks that it reads are in
`FOLDER/tasks`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from lm_eval.evaluator import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

COUNT = 40

CHOICE = """\
task: fruit
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/tasks/fruit.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "Q: {{question}}\\nA:"
doc_to_target: label
doc_to_choice: choices
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
  - {metric: f1, aggregation: f1, higher_is_better: true}
metadata: {version: 1.0}
"""

GENERATE = """\
task: words
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/tasks/words.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
repeats: 3
generation_kwargs: {until: ["\\n"], do_sample: true, temperature: 0.5}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true}
filter_list:
  - name: strict-match
    filter:
      - {function: regex, regex_pattern: "([a-z]+)"}
      - {function: take_first}
  - name: flexible
    filter:
      - {function: take_first}
metadata: {version: 2.0}
"""

PLAIN = """\
task: plain
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/tasks/words.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "Say: {{question}}"
doc_to_target: "{{answer}}"
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
metadata: {version: 1.0}
"""

GROUP = """\
group: both
task: [fruit, plain]
aggregate_metric_list:
  - {metric: acc, aggregation: mean, weight_by_size: true}
metadata: {version: 1.0}
"""

RUNS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "plain": (["fruit", "words", "plain"], {}),
    "group": (["both"], {}),
    "limited": (["fruit", "words"], {"limit": 7}),
    "chosen": (["fruit"], {"samples": {"fruit": [3, 5, 8]}}),
    "one": (["plain"], {"limit": 1}),
}
"""The runs by name: tasks and options. The dummy model answers by chance, so scores differ."""


def write_tasks(folder: Path) -> None:
    """Write the tasks and their documents."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("fruit", CHOICE), ("words", GENERATE), ("plain", PLAIN), ("both", GROUP)):
        (folder / f"{name}.yaml").write_text(text.replace("FOLDER", str(folder.parent)))
    fruit = (
        {
            "question": f'Is {n} a fruit? \u00e9 \u2028 \t"q"',
            "choices": [f"fruit {n}", "\u00e4pfel und birnen"],
            "label": n % 2,
            "weight": n / 10,
            "large": 1e22,
            "nested": {"empty": [], "none": None, "true": True},
        }
        for n in range(COUNT)
    )
    words = (
        {"question": f"Say word {n}", "answer": "lol" if n % 2 else str(n)} for n in range(COUNT)
    )
    for name, documents in (("fruit", fruit), ("words", words)):
        lines = "".join(json.dumps(document) + "\n" for document in documents)
        (folder / f"{name}.jsonl").write_text(lines)


def make(folder: Path, run: str) -> None:
    """Write the log of one run, as the command line does with `--log_samples`."""
    tasks, options = RUNS[run]
    tracker = EvaluationTracker(output_path=str(folder / run))
    manager = TaskManager(include_path=str(folder / "tasks"), include_defaults=False)
    results = simple_evaluate(
        model="dummy",
        model_args="pretrained=acme/acorn-1b",
        tasks=tasks,
        task_manager=manager,
        evaluation_tracker=tracker,
        bootstrap_iters=200,
        log_samples=True,
        **options,
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
