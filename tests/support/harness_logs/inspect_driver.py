"""Runs under the harnesses' Python: write real Inspect logs of the mock model, in both layouts.

Arguments: the folder to write in, then the names of logs, or none for all of them. The log `NAME`
in layout `eval` is the only file of `FOLDER/NAME-eval`.
"""

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

import tiktoken
from inspect_ai import Epochs, Task, eval  # noqa: A004 - the library's name
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import (
    Score,
    accuracy,
    bootstrap_stderr,
    choice,
    exact,
    grouped,
    includes,
    match,
    mean,
    model_graded_qa,
    scorer,
    std,
    stderr,
    var,
)
from inspect_ai.solver import generate, multiple_choice, solver, system_message, use_tools
from inspect_ai.tool import tool


class Words:
    """Counts words as tokens: the real tables of tokens would come from the network."""

    def encode(self, text: str, **_options: Any) -> list[str]:
        """Return the words of a text."""
        return text.split()


COUNT = 6
FRUIT = ("apple", "pear", "plum", "fig", "quince", "lime")


def sums(prefix: str = "") -> MemoryDataset:
    """Return sums, among them texts with letters outside ASCII and line separators."""
    return MemoryDataset(
        [
            Sample(
                id=f"{prefix}{n}" if prefix else n,
                input=f"What is {n} + {n}? \u00e9\u2028 {'long ' * (60 if n % 2 else 1)}",
                target=str(2 * n) if n % 2 else [str(2 * n), f"{2 * n}.0"],
                metadata={"kind": "odd" if n % 2 else "even", "pair": n // 2},
            )
            for n in range(1, COUNT + 1)
        ],
        name="sums",
    )


def choices() -> MemoryDataset:
    """Return questions with choices."""
    return MemoryDataset(
        [
            Sample(input=f"Which is fruit {n}?", choices=list(FRUIT[:4]), target="ABCD"[n % 4])
            for n in range(COUNT)
        ],
        name="fruit",
    )


def chats() -> MemoryDataset:
    """Return questions that are lists of messages."""
    return MemoryDataset(
        [
            Sample(
                id=f"chat {n}",
                input=[ChatMessageSystem(content="Be short."), ChatMessageUser(content=f"Say {n}")],
                target=str(n),
            )
            for n in range(COUNT)
        ],
        name="chats",
    )


def pictures() -> MemoryDataset:
    """Return questions about images, one of which is short enough to be no attachment."""
    return MemoryDataset(
        [
            Sample(
                id=f"picture {n}",
                input=[
                    ChatMessageUser(
                        content=[
                            ContentText(text=f"What is in picture {n}?"),
                            ContentImage(image=f"data:image/png;base64,{'A' * (8 if n else 400)}"),
                        ]
                    )
                ],
                target=str(n),
            )
            for n in range(COUNT)
        ],
        name="pictures",
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
        return str(x + y)

    return execute


def calling(n: int) -> Any:
    """Call the tool, and answer after it."""
    if n % 2:
        return f"It is {n}."
    return ModelOutput.for_tool_call("mockllm/model", "add", {"x": n, "y": 1})


def answers(texts: Callable[[int], Any]) -> Any:
    """Return a mock model that gives texts or outputs in turn, far more than any log needs."""
    given = [texts(n) for n in range(40 * COUNT)]
    outputs = [
        ModelOutput.from_content("mockllm/model", one) if isinstance(one, str) else one
        for one in given
    ]
    return get_model("mockllm/model", custom_outputs=outputs)


@scorer(metrics={"*": [mean(), stderr()]})
def two_parts() -> Any:
    """Give a score of two parts."""

    async def score(state: Any, _target: Any) -> Score:
        size = len(state.input_text)
        return Score(value={"length": size % 3, "even": size % 2 == 0})

    return score


@scorer(metrics=[accuracy(), stderr()])
def not_a_number() -> Any:
    """Give NaN to one sample."""

    async def score(state: Any, _target: Any) -> Score:
        return Score(value=float("nan") if "2 + 2" in state.input_text else "C")

    return score


@scorer(metrics=[mean(), std(), var(), stderr(cluster="pair"), grouped(mean(), "kind")])
def length() -> Any:
    """Give the length of the input as score."""

    async def score(state: Any, _target: Any) -> Score:
        return Score(value=len(state.input_text) / 7, answer="counted", explanation="by length")

    return score


@scorer(metrics=[accuracy(), stderr(), bootstrap_stderr(num_samples=50)])
def letters() -> Any:
    """Give each letter that Inspect knows."""

    async def score(state: Any, _target: Any) -> Score:
        return Score(value="CPIN"[len(state.input_text) % 4], explanation="a letter")

    return score


@solver
def fails_once() -> Any:
    """Fail with one sample."""

    async def solve(state: Any, generate: Any) -> Any:
        if "3 + 3" in state.input_text:
            raise ValueError("the third sum is too hard")
        return await generate(state)

    return solve


@solver
def crashes() -> Any:
    """Interrupt the run at one sample, as a user does."""

    async def solve(state: Any, generate: Any) -> Any:
        if "4 + 4" in state.input_text:
            raise KeyboardInterrupt
        return await generate(state)

    return solve


def right(n: int) -> str:
    """Answer two of three sums correctly."""
    return "no idea" if n % 3 == 0 else str(2 * (n % COUNT + 1))


def option(n: int) -> str:
    """Answer a question with choices."""
    return f"ANSWER: {'ABCD'[n * n % 4]}"


def grade(n: int) -> str:
    """Grade an answer."""
    return f"GRADE: {'CI'[n % 2]}"


LOGS: dict[str, Callable[[], tuple[Task, Callable[[int], Any], dict[str, Any]]]] = {
    "plain": lambda: (Task(dataset=sums(), solver=generate(), scorer=match()), right, {}),
    "slashes": lambda: (
        Task(dataset=sums("set/a "), solver=generate(), scorer=[match(), includes()]),
        right,
        {},
    ),
    "choices": lambda: (
        Task(dataset=choices(), solver=multiple_choice(), scorer=choice()),
        option,
        {},
    ),
    "pictures": lambda: (Task(dataset=pictures(), solver=generate(), scorer=includes()), right, {}),
    "tools": lambda: (
        Task(dataset=sums(), solver=[use_tools(add()), generate()], scorer=includes()),
        calling,
        {"temperature": 0.25, "max_tokens": 64},
    ),
    "chats": lambda: (Task(dataset=chats(), solver=generate(), scorer=exact()), right, {}),
    "epochs": lambda: (
        Task(dataset=sums(), solver=generate(), scorer=match(), epochs=3),
        right,
        {},
    ),
    "reducers": lambda: (
        Task(
            dataset=sums(),
            solver=generate(),
            scorer=match(),
            epochs=Epochs(4, ["mean", "mode", "median", "max", "at_least_2", "pass_at_2"]),
        ),
        right,
        {},
    ),
    "parts": lambda: (
        Task(dataset=sums(), solver=generate(), scorer=two_parts(), epochs=2),
        right,
        {},
    ),
    "nan": lambda: (
        Task(dataset=sums(), solver=generate(), scorer=[not_a_number(), match()]),
        right,
        {},
    ),
    "numbers": lambda: (Task(dataset=sums(), solver=generate(), scorer=length()), right, {}),
    "letters": lambda: (Task(dataset=sums(), solver=generate(), scorer=letters()), right, {}),
    "errored": lambda: (
        Task(dataset=sums(), solver=fails_once(), scorer=match(), fail_on_error=False),
        right,
        {},
    ),
    "failed": lambda: (
        Task(dataset=sums(), solver=fails_once(), scorer=match()),
        right,
        {"max_samples": 1},
    ),
    "cancelled": lambda: (
        Task(dataset=sums(), solver=crashes(), scorer=match()),
        right,
        {"max_samples": 1},
    ),
    "limited": lambda: (
        Task(dataset=sums(), solver=generate(), scorer=match()),
        right,
        {"limit": 4},
    ),
    "attachments": lambda: (
        Task(
            dataset=MemoryDataset(
                [Sample(input=f"{n} " + "y" * 4000, target=str(n)) for n in range(4)]
            ),
            solver=[system_message("z" * 3000), generate()],
            scorer=includes(),
        ),
        right,
        {},
    ),
    "graded": lambda: (
        Task(dataset=sums(), solver=generate(), scorer=model_graded_qa(model=answers(grade))),
        right,
        {},
    ),
    "unscored": lambda: (Task(dataset=sums(), solver=generate()), right, {}),
}
"""The logs by name: task, answers of the model, and options of the run."""


def make(folder: str, name: str) -> None:
    """Write one log in both layouts."""
    for layout in ("eval", "json"):
        task, texts, options = LOGS[name]()
        where = os.path.join(folder, f"{name}-{layout}")
        with contextlib.suppress(KeyboardInterrupt):
            eval(
                task, model=answers(texts), log_dir=where, log_format=layout, display="none",
                **options,
            )  # fmt: skip


if __name__ == "__main__":
    tiktoken.get_encoding = tiktoken.encoding_for_model = lambda _name: Words()
    for chosen in sys.argv[2:] or LOGS:
        make(sys.argv[1], chosen)
