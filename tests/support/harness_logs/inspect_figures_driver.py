"""Runs under the harnesses' Python: write Inspect logs with every metric and reducer it ships.

Arguments: the folder to write in, then the names of logs, or none for all of them. The log `NAME`
is the only file of `FOLDER/NAME`. Without names, logs whose scores were edited, added or replaced
by means of the harness follow, and a folder that `eval_set` wrote.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import inspect_driver
import numpy as np
import tiktoken
from inspect_ai import Epochs, Task, eval, eval_set, score  # noqa: A004 - the library's name
from inspect_ai.agent import react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import ProvenanceData, edit_score, read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import (
    Score,
    ScoreEdit,
    accuracy,
    aggregate,
    answer,
    bootstrap_stderr,
    choice,
    ci,
    ci_wilson,
    exact,
    f1,
    frequency,
    grouped,
    includes,
    krippendorff_alpha,
    match,
    mean,
    metric,
    pattern,
    perplexity_per_seq,
    perplexity_per_token,
    scorer,
    std,
    stderr,
    var,
)
from inspect_ai.solver import (
    basic_agent,
    chain,
    generate,
    multiple_choice,
    solver,
    system_message,
    use_tools,
)
from inspect_ai.tool import tool

Words = inspect_driver.Words
COUNT = 9


def sums() -> MemoryDataset:
    """Return sums in three groups, one of which is named like a number."""
    return MemoryDataset(
        [
            Sample(
                id=f"s/{n}",
                input=f"What is {n} + {n}?",
                target=str(2 * n) if n % 2 else [str(2 * n), f"{2 * n}.0"],
                metadata={"kind": ("odd", "even", 3)[n % 3], "pair": n // 2},
            )
            for n in range(1, COUNT + 1)
        ],
        name="sums",
    )


def unscored(n: int, value: Any) -> Any:
    """Return NaN for every fifth score."""
    return float("nan") if n % 5 == 4 else value


def counter() -> Callable[[], int]:
    """Return a function that counts its calls."""
    numbers = iter(range(10**6))
    return lambda: next(numbers)


def valued(metrics: Any, value: Callable[[int], Any], **more: Any) -> Any:
    """Return a scorer that gives values in turn."""

    @scorer(metrics=metrics, name=more.get("name", "valued"))
    def valued_scorer() -> Any:
        following = counter()

        async def scored(_state: Any, _target: Any) -> Score:
            n = following()
            metadata = more["metadata"](n) if "metadata" in more else None
            return Score(value=value(n), answer=f"answer {n}", metadata=metadata)

        return scored

    return valued_scorer()


@metric
def own_score() -> Any:
    """Count letters that no formula knows."""

    def compute(scores: list[Any]) -> float:
        return 7.0 * len(scores) + 0.5

    return compute


@solver
def shouts() -> Any:
    """Change the completion after generating, as solvers of one's own do."""

    async def solve(state: Any, generate: Any) -> Any:
        state = await generate(state)
        state.output.completion = state.output.completion.upper() + "!"
        return state

    return solve


@solver
def recovers() -> Any:
    """Fail with one sample at the first attempt."""
    failed: set[Any] = set()

    async def solve(state: Any, generate: Any) -> Any:
        if "3 + 3" in state.input_text and state.sample_id not in failed:
            failed.add(state.sample_id)
            raise ValueError("the third sum is too hard at first")
        return await generate(state)

    return solve


def submits(n: int) -> ModelOutput:
    """Submit an answer by a tool call."""
    return ModelOutput.for_tool_call(
        "mockllm/model", "submit", {"answer": str(2 * n + 2)}, content=f"I submit {n}."
    )


@tool
def add() -> Any:
    """Add numbers."""

    async def execute(x: int, y: int) -> str:
        """Add two numbers.

        Args:
            x: The first number.
            y: The second number.
        """
        return f"{x + y} " + "is the sum " * 20

    return execute


def calls(n: int) -> ModelOutput:
    """Call a tool, and answer when it has returned."""
    if n % 2:
        return ModelOutput.from_content("mockllm/model", f"It is {n + 1}")
    return ModelOutput.for_tool_call("mockllm/model", "add", {"x": n, "y": 2}, content="I add.")


def pictures() -> MemoryDataset:
    """Return questions with pictures."""
    return MemoryDataset(
        [
            Sample(
                id=n,
                input=[
                    ChatMessageUser(
                        content=[
                            ContentText(text=f"How many are in picture {n}? " + "Look! " * 30),
                            ContentImage(image="data:image/png;base64," + "iVBORw0K" * (50 + n)),
                        ]
                    )
                ],
                target=str(n),
            )
            for n in range(1, COUNT + 1)
        ],
        name="pictures",
    )


def texts(n: int) -> str:
    """Answer some of the sums."""
    return f"It is {2 * (n % COUNT + 1)}" if n % 4 else "No idea"


LETTERS = [accuracy(), stderr(), frequency(categories=["C", "I", "P", "N", "X"])]
NUMBERS = [
    *(accuracy(), mean(), std(), var(), stderr(), stderr(cluster="pair")),
    *(bootstrap_stderr(), bootstrap_stderr(num_samples=400)),
    *(ci(), ci(level=0.8), ci(cluster="pair"), ci(method="bootstrap")),
    ci(method="bootstrap", cluster="kind", level=0.9, num_samples=500),
]
SHARES = [accuracy(), ci_wilson(), ci_wilson(level=0.9), ci_wilson(cluster="pair")]
GROUPED = [
    accuracy(),
    grouped(accuracy(), "kind"),
    grouped(
        mean(), "kind", all="groups", all_label="of groups", name_template="group {group_name}"
    ),
    grouped(std(), "pair", all=False),
    grouped(stderr(cluster="pair"), "kind", name_template="{group_name} error"),
]
PARTS: Any = {"length": [mean(), std(), grouped(mean(), "kind")], "e*": [accuracy(), stderr()]}
PICKED = [
    *(aggregate("length", mean()), aggregate("even", accuracy()), aggregate("length", stderr())),
    *(aggregate("rare", mean(), on_missing="skip"), aggregate("rare", mean(), on_missing="zero")),
    aggregate("length", grouped(mean(), "kind")),
]
RATERS = [krippendorff_alpha(), krippendorff_alpha("interval"), krippendorff_alpha("ordinal")]
TEXTS = [perplexity_per_token(), perplexity_per_seq()]
REDUCERS = ["mean", "median", "mode", "max", "majority", "at_least_2", "pass_at_2", "pass_k_2"]


def part(n: int) -> dict[str, Any]:
    """Return a score of three parts, one of them rare."""
    return {"length": unscored(n, n % 7), "even": n % 2 == 0, "every": "CPIN"[n % 4]}


def rare(n: int) -> dict[str, Any]:
    """Return a score with a part that most do not have."""
    return {"length": n % 5, "even": n % 2 == 0, **({"rare": n / 3} if n % 3 == 0 else {})}


def tokens(n: int) -> dict[str, Any]:
    """Return the metadata of a perplexity."""
    return {"num_tokens": n % 6, "sum_log_probs": -1.25 * (n % 6) - 0.5 * (n % 3)}


def task(scorers: Any, epochs: Any = 1, **more: Any) -> Task:
    """Return a task with scorers."""
    return Task(dataset=sums(), solver=generate(), scorer=scorers, epochs=epochs, **more)


LOGS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
    "numbers": lambda: (task(valued(NUMBERS, lambda n: unscored(n, (n * 7 % 10) / 3))), {}),
    "shares": lambda: (task(valued(SHARES, lambda n: (n * n) % 2)), {}),
    "letters": lambda: (task(valued(LETTERS, lambda n: "CPIN"[n * n % 7 % 4])), {}),
    "grouped": lambda: (task(valued(GROUPED, lambda n: n % 4)), {}),
    "parts": lambda: (task(valued(PARTS, part), 3), {}),
    "star": lambda: (task(valued({"*": [mean(), frequency()]}, part), 2), {}),
    "picked": lambda: (task(valued(PICKED, rare)), {}),
    "picked-epochs": lambda: (task(valued([*PICKED[:3], PICKED[5]], lambda n: {
        "length": n % 5, "even": n % 3 == 0}), 2), {}),
    "raters": lambda: (task(valued(RATERS, lambda n: [n % 3, n % 2, (n + 1) % 4])), {}),
    "raters-letters": lambda: (
        task(valued([krippendorff_alpha()], lambda n: ["C", "I", "CI"[n % 2]])), {}
    ),
    "raters-epochs": lambda: (
        task(valued([krippendorff_alpha()], lambda n: ["C", "I", "CI"[n % 2]]), 2), {}
    ),
    "collected": lambda: (
        task(valued([krippendorff_alpha()], lambda n: n % 3), Epochs(3, "collect")), {}
    ),
    "texts": lambda: (task(valued(TEXTS, lambda _n: 1.0, metadata=tokens)), {}),
    "no-texts": lambda: (
        task(valued(TEXTS, lambda _n: 1.0, metadata=lambda _n: {"num_tokens": 0,
             "sum_log_probs": 0.0})), {}
    ),
    "reducers": lambda: (
        task(
            [
                valued([accuracy(), stderr(), frequency()], lambda n: "CIPC"[n * 5 % 11 % 4]),
                valued([mean(), var()], lambda n: unscored(n, n * 3 % 5 / 4), name="numbers"),
            ],
            Epochs(4, REDUCERS),
        ),
        {},
    ),
    "parts-reduced": lambda: (task(valued({"*": [mean()]}, part), Epochs(3, REDUCERS)), {}),
    "lists-reduced": lambda: (
        task(valued([krippendorff_alpha()], lambda n: [n % 3, n % 2]), Epochs(3, REDUCERS[:4])), {}
    ),
    "no-reducer": lambda: (
        task(valued([accuracy(), stderr()], lambda n: n % 2), Epochs(3, [])), {}
    ),
    "mixed": lambda: (task(valued(LETTERS, lambda n: "CI"[n % 2]), 3), {}),
    "mixed-named": lambda: (
        task(valued(LETTERS, lambda n: "CI"[n * 3 % 5 % 2]), Epochs(3, ["mode", "at_least_2"])), {}
    ),
    "all-unscored": lambda: (
        task(valued([accuracy(), grouped(mean(), "kind"), ci()], lambda _n: float("nan"))), {}
    ),
    "own": lambda: (task(valued([accuracy(), own_score()], lambda n: n % 2)), {}),
    "own-alone": lambda: (task(valued([own_score()], lambda n: n % 2)), {}),
    "task-metrics": lambda: (task(match(), metrics=[accuracy(), std()]), {}),
    "includes": lambda: (task([includes(), includes(ignore_case=False), match()]), {}),
    "f1": lambda: (task(f1()), {}),
    "unlogged": lambda: (
        task([match(), valued(LETTERS[:2], lambda n: "CIP"[n % 3])], 2), {"log_samples": False}
    ),
    "unlogged-plain": lambda: (task(match()), {"log_samples": False}),
    "unlogged-frequency": lambda: (
        task([match(), valued(LETTERS, lambda n: "CIP"[n % 3])]), {"log_samples": False}
    ),
    "unlogged-grouped": lambda: (
        task(valued(GROUPED, lambda n: n % 4)), {"log_samples": False}
    ),
    "unlogged-unreduced": lambda: (
        task(valued([accuracy()], lambda n: n % 2), Epochs(2, [])), {"log_samples": False}
    ),
    "unlogged-errors": lambda: (
        Task(dataset=inspect_driver.sums(), solver=inspect_driver.fails_once(), scorer=match(),
             fail_on_error=False), {"log_samples": False}
    ),
    "errors-allowed": lambda: (
        Task(dataset=inspect_driver.sums(), solver=inspect_driver.fails_once(), scorer=match(),
             fail_on_error=0.5), {}
    ),
    "errors-scored": lambda: (
        Task(dataset=inspect_driver.sums(), solver=inspect_driver.fails_once(), scorer=match(),
             fail_on_error=False, score_on_error=True), {}
    ),
    "errors-mended": lambda: (
        Task(dataset=inspect_driver.sums(), solver=recovers(), scorer=match()),
        {"retry_on_error": 1},
    ),
    "no-scores": lambda: (task(match()), {"score": False}),
    "limited": lambda: (
        Task(dataset=sums(), solver=react(), scorer=includes(), message_limit=3),
        {"outputs": lambda n: ModelOutput.from_content("mockllm/model", texts(n))},
    ),
    "errors-retried": lambda: (
        Task(dataset=inspect_driver.sums(), solver=inspect_driver.fails_once(), scorer=match(),
             fail_on_error=False), {"retry_on_error": 2}
    ),
    "error-at-last": lambda: (
        Task(dataset=inspect_driver.sums(), solver=inspect_driver.fails_once(), scorer=match(),
             continue_on_fail=True), {}
    ),
    "basic-agent": lambda: (
        Task(dataset=sums(), solver=basic_agent(), scorer=includes()), {"outputs": submits}
    ),
    "react": lambda: (
        Task(dataset=sums(), solver=react(), scorer=includes()), {"outputs": submits}
    ),
    "shouts": lambda: (Task(dataset=sums(), solver=shouts(), scorer=includes()), {}),
    "calls": lambda: (
        Task(dataset=sums(), solver=[use_tools(add()), generate()], scorer=includes()),
        {"outputs": calls},
    ),
    "mechanical": lambda: (
        task([match("any"), match("begin"), match("exact", ignore_case=False), exact(),
              answer("word"), answer("line"), match(numeric=True), pattern(r"(\d+)")]),
        {"outputs": lambda n: ModelOutput.from_content(
            "mockllm/model", ("{}", "It is {}.", "No idea", "So:\nANSWER: {}")[n % 4].format(
                2 * (n % COUNT + 1)))},
    ),
    "chosen": lambda: (
        Task(dataset=inspect_driver.choices(), solver=multiple_choice(cot=True),
             scorer=[choice(), answer("letter")]),
        {"outputs": lambda n: ModelOutput.from_content(
            "mockllm/model", f"I think so.\nANSWER: {'ABCD'[n % 4]}")},
    ),
    "pictures": lambda: (Task(dataset=pictures(), solver=generate(), scorer=includes()), {}),
    "twice": lambda: (
        Task(dataset=sums(), solver=chain(system_message("Be short."), generate(), generate()),
             scorer=includes()), {}
    ),
    "cached": lambda: (
        Task(dataset=sums(), solver=generate(cache=True), scorer=includes(), epochs=2), {}
    ),
    "shuffled": lambda: (
        Task(
            dataset=inspect_driver.choices(),
            solver=multiple_choice(shuffle=True), scorer=choice(),
        ),
        {"outputs": lambda n: ModelOutput.from_content(
            "mockllm/model", f"ANSWER: {'ABCD'[n % 4]}")},
    ),
    "several": lambda: (
        Task(dataset=sums(), solver=generate(), scorer=includes(),
             config=GenerateConfig(num_choices=2)), {}
    ),
}  # fmt: skip
"""The logs by name: the task, and options of the run."""


def answered(outputs: Any) -> Any:
    """Return a mock model that gives outputs in turn."""
    made = outputs or (lambda n: ModelOutput.from_content("mockllm/model", texts(n)))
    return get_model("mockllm/model", custom_outputs=[made(n) for n in range(60 * COUNT)])


def make(folder: str, name: str) -> str:
    """Write one log, and return its path."""
    made, options = LOGS[name]()
    model = answered(options.pop("outputs", None))
    (log,) = eval(made, model=model, log_dir=os.path.join(folder, name),
                 log_format="json", display="none", **options)  # fmt: skip
    return str(log.location)


def edited(folder: str) -> None:
    """Write a log one of whose scores was edited, with the library's own means."""
    log = read_eval_log(make(folder, "includes"))
    by = ProvenanceData(author="a person", reason="the answer was right")
    edit_score(log, "s/4", "includes", ScoreEdit(value="C", provenance=by), True)
    os.makedirs(os.path.join(folder, "edited"), exist_ok=True)
    write_eval_log(log, os.path.join(folder, "edited", "log.json"))


def rescored(folder: str) -> None:
    """Write logs to which scores were added, also with another reducer, or whose were replaced."""
    path = make(folder, "mixed")
    for name, reducer, action in (
        ("appended", None, "append"),
        ("appended-max", "max", "append"),
        ("overwritten", "max", "overwrite"),
    ):
        log = score(
            *(read_eval_log(path), includes()),
            epochs_reducer=reducer,
            action=action,
            model=answered(None),
        )
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        write_eval_log(log, os.path.join(folder, name, "log.json"))


def listed(folder: str) -> None:
    """Write logs with the files that list them."""
    tasks = [
        Task(dataset=sums(), solver=generate(), scorer=one, name=name)
        for name, one in (("one", includes()), ("two", match()))
    ]
    eval_set(tasks, log_dir=folder, log_format="json", model=answered(None), display="none")


if __name__ == "__main__":
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda _name: Words()
    # Bootstrapped figures are drawn with the global generator of numpy.
    np.random.seed(1)
    target = sys.argv[1]
    for chosen in sys.argv[2:] or LOGS:
        make(target, chosen)
    if not sys.argv[2:]:
        edited(os.path.join(target, "of-edits"))
        rescored(os.path.join(target, "of-scoring"))
        listed(os.path.join(target, "of-sets"))
