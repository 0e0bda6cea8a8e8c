"""Composes sound rows of every interaction type, with every field that the format has."""

from __future__ import annotations

from benchmarks.generate.composer import Composer, attribution
from benchmarks.generate.dialect import Document
from benchmarks.generate.mixes import Interaction

TURN_BYTES = 60
SHARE_WITH_TRACE = 0.4
TOOLS = ("bash", "python", "web_search", "read_file")
METHOD = "regex: Answer: (.+)$"


class GeneratorComposer(Composer):
    """Composes rows that are complete, and sound but for the flaw of a mix."""

    frame_bytes = 1_200

    def _row(
        self, index: int, interaction: Interaction, size: int, *, is_correct: bool
    ) -> Document:
        """Compose a row of any interaction type."""
        row = self._question(index, interaction, min(size // 2, 6_000))
        answer = self._answer(row, is_correct=is_correct)
        row["evaluation"] = {"score": 1.0 if is_correct else 0.0, "is_correct": is_correct}
        left = size - len(row["input"]["raw"].encode())
        match interaction:
            case "single_turn":
                self._fill_single_turn(row, answer, left)
            case "multi_turn":
                self._fill_multi_turn(row, answer, left)
            case "agentic":
                self._fill_agentic(row, answer, left)
        self._add_accounts(row, size)
        self._add_flaw(row)
        return row

    def _question(self, index: int, interaction: Interaction, size: int) -> Document:
        """Begin a row: who, what, and the input with its hash."""
        dialect = self._dialect
        choices = self._pool.phrases(self._random, 4)
        reference = self._random.choice(choices)
        listed = "\n".join(map("{}) {}".format, "ABCD", choices))
        raw = f"Task {index + 1}. {self._pool.text(self._random, size)}\n\n{listed}\n\nAnswer:"
        row = self._head()
        row["sample_id"] = f"{self._identity.evaluation_name}-{index:07d}"
        row["sample_hash"] = dialect.preferred(raw, reference)
        row["interaction_type"] = interaction
        row["input"] = {"raw": raw, "reference": dialect.texts(reference), "choices": choices}
        return row

    def _answer(self, row: Document, *, is_correct: bool) -> str:
        """Choose what the model answers: the reference, or another choice."""
        reference = row["input"]["reference"]
        right = str(reference[0] if isinstance(reference, list) else reference)
        return self._chosen(row["input"]["choices"], right, is_correct=is_correct)

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
        row["answer_attribution"] = [attribution(0, "output.raw", answer, METHOD)]

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
        row["answer_attribution"] = [attribution(last, f"{key}[{last}].content", answer, METHOD)]

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

    def _add_flaw(self, row: Document) -> None:
        """Give the row what costs it an info, where the mix has one."""
        if self._mix.flaw == "no answer":
            row["answer_attribution"] = []
        if self._mix.flaw == "other choice":
            choices, reference = row["input"]["choices"], row["input"]["reference"]
            right = reference[0] if isinstance(reference, list) else reference
            row["input"]["choices"] = [
                f"{text}, too" if text == right else text for text in choices
            ]
