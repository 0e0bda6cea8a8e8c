"""Composes valid instance rows of every interaction type, mix by mix."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

from benchmarks.generate.dialect import Dialect, Document
from benchmarks.generate.text import text_pool

Interaction = Literal["single_turn", "multi_turn", "agentic"]

FRAME_BYTES = 1_200
"""About how many bytes of a row are not its long texts."""

TURN_BYTES = 60
SHARE_CORRECT = 0.62
SHARE_WITH_TRACE = 0.4
TOOLS = ("bash", "python", "web_search", "read_file")


@dataclass(frozen=True)
class Part:
    """A share of the rows: one interaction type and the sizes of its rows in bytes."""

    weight: float
    interaction: Interaction
    smallest: int
    largest: int


@dataclass(frozen=True)
class Mix:
    """A mixture of rows: its parts, and how often and how densely text is not ASCII."""

    parts: tuple[Part, ...]
    foreign_rows: float
    foreign_sentences: float
    escaped: float

    def mean_bytes(self) -> int:
        """Return about how many bytes a row has."""
        weights = sum(part.weight for part in self.parts)
        sizes = sum(part.weight * (part.smallest + part.largest) / 2 for part in self.parts)
        return round(sizes / weights)


USUAL = (
    Part(0.925, "single_turn", 2_000, 3_700),
    Part(0.07, "multi_turn", 3_000, 6_000),
    Part(0.005, "agentic", 20_000, 45_000),
)
SINGLE = (Part(1, "single_turn", 2_900, 3_100),)
AGENTIC = (Part(1, "agentic", 110_000, 470_000),)
UNICODE = (Part(0.95, "single_turn", 2_000, 4_000), Part(0.05, "multi_turn", 3_000, 6_000))
MIXES = {
    "mixed": Mix(USUAL, foreign_rows=0.1, foreign_sentences=0.2, escaped=0.5),
    "single": Mix(SINGLE, foreign_rows=0.1, foreign_sentences=0.2, escaped=0.5),
    "agentic": Mix(AGENTIC, foreign_rows=0.05, foreign_sentences=0.2, escaped=0.0),
    "unicode": Mix(UNICODE, foreign_rows=1.0, foreign_sentences=0.85, escaped=0.0),
}


@dataclass(frozen=True)
class Identity:
    """What every row of a run says about the run."""

    evaluation_id: str
    evaluation_name: str
    model_id: str
    result_id: str


class Composed(NamedTuple):
    """A row before it is written, its score, and whether to escape non-ASCII text."""

    row: Document
    score: float
    is_escaped: bool


class RowComposer:
    """Composes rows of one run in order; the same arguments give the same rows.

    The seed chooses the pools of text, the source what is drawn from them.
    """

    def __init__(
        self, mix: Mix, dialect: Dialect, identity: Identity, seed: int, source: str
    ) -> None:
        self._mix = mix
        self._weights = [part.weight for part in mix.parts]
        self._dialect = dialect
        self._identity = identity
        self._random = Random(f"rows {source}")
        self._plain = text_pool(seed, 0.0)
        self._foreign = text_pool(seed, mix.foreign_sentences)
        self._pool = self._plain

    def compose(self, index: int) -> Composed:
        """Compose the row with this index, which counts from 0."""
        random = self._random
        part = random.choices(self._mix.parts, self._weights)[0]
        size = random.randint(part.smallest, part.largest) - FRAME_BYTES
        is_foreign = random.random() < self._mix.foreign_rows
        self._pool = self._foreign if is_foreign else self._plain
        is_correct = random.random() < SHARE_CORRECT
        score = 1.0 if is_correct else 0.0
        row = self._head(index, part.interaction, min(size // 2, 6_000))
        answer = self._answer(row, is_correct=is_correct)
        row["evaluation"] = {"score": score, "is_correct": is_correct}
        left = size - len(row["input"]["raw"].encode())
        match part.interaction:
            case "single_turn":
                self._fill_single_turn(row, answer, left)
            case "multi_turn":
                self._fill_multi_turn(row, answer, left)
            case "agentic":
                self._fill_agentic(row, answer, left)
        self._add_accounts(row, size)
        return Composed(row, score, is_foreign and random.random() < self._mix.escaped)

    def _head(self, index: int, interaction: Interaction, size: int) -> Document:
        """Begin a row: who, what, and the input with its hash."""
        identity, dialect = self._identity, self._dialect
        choices = self._pool.phrases(self._random, 4)
        reference = self._random.choice(choices)
        listed = "\n".join(map("{}) {}".format, "ABCD", choices))
        raw = f"Task {index + 1}. {self._pool.text(self._random, size)}\n\n{listed}\n\nAnswer:"
        row: Document = {
            "schema_version": dialect.version,
            "evaluation_id": identity.evaluation_id,
            "model_id": identity.model_id,
            "evaluation_name": identity.evaluation_name,
        }
        if dialect.is_current:
            row["evaluation_result_id"] = identity.result_id
        row["sample_id"] = f"{identity.evaluation_name}-{index:07d}"
        row["sample_hash"] = dialect.sample_hash(raw, reference)
        row["interaction_type"] = interaction
        row["input"] = {"raw": raw, "reference": dialect.texts(reference), "choices": choices}
        return row

    def _answer(self, row: Document, *, is_correct: bool) -> str:
        """Choose what the model answers: the reference, or another choice."""
        reference = row["input"]["reference"]
        right = str(reference[0] if isinstance(reference, list) else reference)
        others = [str(text) for text in row["input"]["choices"] if text != right]
        return right if is_correct else self._random.choice(others)

    def _fill_single_turn(self, row: Document, answer: str, size: int) -> None:
        """Give the row one output, sometimes with a reasoning trace."""
        trace = None
        if self._random.random() < SHARE_WITH_TRACE:
            trace = self._dialect.texts(self._pool.text(self._random, size // 2))
            size -= size // 2
        text = f"{self._pool.text(self._random, size)}\n\nAnswer: {answer}"
        row["output"] = {"raw": self._dialect.texts(text), "reasoning_trace": trace}
        row[self._dialect.transcript] = None
        row["evaluation"] |= {"num_turns": 1, "tool_calls_count": 0}
        row["answer_attribution"] = [_attribution(0, "output.raw", answer)]

    def _fill_multi_turn(self, row: Document, answer: str, size: int) -> None:
        """Give the row a dialogue of two to four questions and answers."""
        exchanges = self._random.randint(2, 4)
        share = size // (2 * exchanges) - TURN_BYTES
        turns: list[Document] = []
        for exchange in range(exchanges):
            question = self._pool.text(self._random, share) if exchange else row["input"]["raw"]
            turns.append({"role": "user", "content": question})
            turns.append({"role": "assistant", "content": self._pool.text(self._random, share)})
        self._close_transcript(row, turns, answer)

    def _fill_agentic(self, row: Document, answer: str, size: int) -> None:
        """Give the row a session of tool calls and their results."""
        turns: list[Document] = [
            {"role": "system", "content": self._pool.text(self._random, min(size // 10, 3_000))},
            {"role": "user", "content": row["input"]["raw"]},
        ]
        largest = min(max(size // 6, 1_000), 16_000)
        calls = 0
        while size > 0:
            step = self._random.randint(largest // 4, largest)
            count = self._random.choice((1, 1, 1, 2))
            turns += self._tool_exchange(calls, count, min(step, size))
            calls += count
            size -= step
        turns.append({"role": "assistant", "content": self._pool.text(self._random, 400)})
        self._close_transcript(row, turns, answer)

    def _tool_exchange(self, first: int, count: int, size: int) -> list[Document]:
        """Let the assistant call tools and one tool turn answer them."""
        random, dialect = self._random, self._dialect
        calls: list[Document] = []
        for number in range(first, first + count):
            name, text = random.choice(TOOLS), self._pool.text(random, size // 10)
            arguments = dialect.mapping({"input": text, "timeout": 30})
            calls.append({"id": f"call_{number:04d}", "name": name, "arguments": arguments})
        ids = [str(call["id"]) for call in calls]
        thought = self._pool.text(random, size // 5)
        result = self._pool.text(random, size * 7 // 10)
        return [
            {"role": "assistant", "content": thought, "tool_calls": calls},
            {"role": "tool", "content": result, "tool_call_id": dialect.answered(ids)},
        ]

    def _close_transcript(self, row: Document, turns: list[Document], answer: str) -> None:
        """Let the last turn answer, number the turns and count what they hold."""
        turns[-1]["content"] += f"\n\nAnswer: {answer}"
        key, last = self._dialect.transcript, len(turns) - 1
        calls = sum(len(turn.get("tool_calls", ())) for turn in turns)
        row["output"] = None
        row[key] = [{"turn_idx": index} | turn for index, turn in enumerate(turns)]
        row["evaluation"] |= {"num_turns": len(turns), "tool_calls_count": calls}
        row["answer_attribution"] = [_attribution(last, f"{key}[{last}].content", answer)]

    def _add_accounts(self, row: Document, size: int) -> None:
        """End the row: tokens, times, error and metadata."""
        random = self._random
        read, written = len(row["input"]["raw"]) // 4 + 12, size // 8 + random.randint(1, 99)
        first_token = random.randint(80, 900) + 0.5
        generation = first_token + written * 9.25
        tokens = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        row["token_usage"] = {**tokens, "reasoning_tokens": None}
        row["performance"] = {
            "latency_ms": generation + random.randint(0, 400),
            "time_to_first_token_ms": first_token,
            "generation_time_ms": generation,
        }
        row["error"] = None
        row["metadata"] = self._dialect.mapping(
            {"epoch": 1, "stop_reason": "stop", "subset": random.choice(("law", "physics"))}
        )


def _attribution(turn: int, source: str, answer: str) -> Document:
    """Point at the scored answer."""
    return {
        "turn_idx": turn,
        "source": source,
        "extracted_value": answer,
        "extraction_method": "regex: Answer: (.+)$",
        "is_terminal": True,
    }
