"""Composes rows as the converters of lm-eval and of Inspect write them, their nulls included."""

from __future__ import annotations

import json

from benchmarks.generate.composer import Composer, attribution
from benchmarks.generate.dialect import Document, concat, digest, json_str
from benchmarks.generate.mixes import Interaction

HASH_STEP, HASHES = 2_654_435_761, 2**32
"""An odd step visits each of these numbers once."""

SHARE_WITH_CHOICES = 0.55
SHORTEST_QUESTION = 30


class LmEvalComposer(Composer):
    """Composes rows of multiple-choice tasks: short, and every field that is unknown a null."""

    frame_bytes = 1_170

    def _row(
        self, index: int, interaction: Interaction, size: int, *, is_correct: bool
    ) -> Document:
        """Compose a row whose reference is the number of the right choice, counted from 0."""
        dialect, random = self._dialect, self._random
        choices = self._pool.phrases(random, 3)
        right = random.choice(choices)
        reference = str(choices.index(right))
        size = max(size, SHORTEST_QUESTION)
        raw = f"Question {index}: {self._pool.text(random, size)[:size]}\nAnswer:"
        answer = self._chosen(choices, right, is_correct=is_correct)
        return self._head() | {
            "sample_id": str(index) if dialect.is_current else index,
            "sample_hash": json_str(raw, reference),
            "interaction_type": interaction,
            "input": {
                "raw": raw,
                "formatted": None,
                "reference": dialect.texts(reference),
                "choices": choices,
            },
            "output": {"raw": dialect.texts(answer), "reasoning_trace": None},
            dialect.transcript: None,
            "answer_attribution": [attribution(0, "output.raw", answer, "none")],
            **self._accounts(index, raw, reference, is_correct=is_correct),
        }

    def _accounts(self, index: int, raw: str, reference: str, *, is_correct: bool) -> Document:
        """End the row: its score and the hashes of lm-eval."""
        score = 1.0 if is_correct else 0.0
        metrics = {"acc": score}
        hashed = {"doc_hash": f"doc {index}", "prompt_hash": raw, "target_hash": reference}
        return {
            "evaluation": {
                "score": score,
                "is_correct": is_correct,
                "num_turns": None,
                "tool_calls_count": None,
            },
            "token_usage": None,
            "performance": None,
            "error": None,
            "metadata": {
                **{name: digest(text) for name, text in hashed.items()},
                "filter": "none",
                "lm_eval_metrics": json.dumps(metrics) if self._dialect.is_current else metrics,
            },
        }


class InspectComposer(Composer):
    """Composes rows of any interaction type, none of which says where its answer is."""

    frame_bytes = 1_150

    def _row(
        self, index: int, interaction: Interaction, size: int, *, is_correct: bool
    ) -> Document:
        """Compose a row; the result has no id yet, which some versions write as null."""
        random = self._random
        choices = self._pool.phrases(random, 4)
        right = random.choice(choices)
        reference = "ABCD"[choices.index(right)]
        raw = f"Sample {index}. {self._pool.text(random, max(size // 4, 200))}"
        row = self._head() | {
            "sample_id": f"{self._identity.evaluation_name}_{index * HASH_STEP % HASHES:08x}",
            "sample_hash": concat(raw, reference),
            "interaction_type": interaction,
            "input": {
                "raw": raw,
                "formatted": None,
                "reference": [reference],
                "choices": choices if random.random() < SHARE_WITH_CHOICES else None,
            },
            "output": None,
            self._dialect.transcript: None,
            "answer_attribution": [],
        }
        self._fill(row, size - len(raw.encode()), is_correct=is_correct)
        return row | self._accounts()

    def _fill(self, row: Document, size: int, *, is_correct: bool) -> None:
        """Give the row its output or its transcript, and the score."""
        turns: list[Document] = []
        match row["interaction_type"]:
            case "single_turn":
                row["output"] = {"raw": [self._text(size)], "reasoning_trace": None}
            case "multi_turn":
                turns = self._dialogue(row["input"]["raw"], size)
            case "agentic":
                turns = self._session(row["input"]["raw"], size)
        if turns:
            row[self._dialect.transcript] = turns
        row["evaluation"] = {
            "score": 1.0 if is_correct else 0.0,
            "is_correct": is_correct,
            "num_turns": len(turns) or 1,
            "tool_calls_count": sum(len(turn["tool_calls"]) for turn in turns),
        }

    def _dialogue(self, raw: str, size: int) -> list[Document]:
        """Compose five questions and answers."""
        texts = [raw, *(self._text(size // 10) for _ in range(9))]
        roles = ("user", "assistant") * 5
        pairs = enumerate(zip(roles, texts, strict=True))
        return [_turn(number, role, text) for number, (role, text) in pairs]

    def _session(self, raw: str, size: int) -> list[Document]:
        """Compose one call of a tool and its answer."""
        call = {"id": "call-1", "name": "stock_lookup", "arguments": {"sku": '"K-9"'}}
        return [
            _turn(0, "user", raw),
            _turn(1, "assistant", "", [call]),
            _turn(2, "tool", self._text(size // 2), answered=["call-1"]),
            _turn(3, "assistant", self._text(size // 4)),
        ]

    def _text(self, size: int) -> str:
        """Cut a text of about so many bytes."""
        return self._pool.text(self._random, max(size, 1))

    def _accounts(self) -> Document:
        """End the row: tokens, times and metadata."""
        random = self._random
        read, written = random.randint(100, 2_500), random.randint(2, 500)
        return {
            "token_usage": {
                "input_tokens": read,
                "output_tokens": written,
                "total_tokens": read + written,
                "input_tokens_cache_write": None,
                "input_tokens_cache_read": None,
                "reasoning_tokens": None,
            },
            "performance": {
                "latency_ms": float(random.randint(0, 20)),
                "time_to_first_token_ms": None,
                "generation_time_ms": float(random.randint(500, 50_000)),
                "additional_details": None,
            },
            "error": None,
            "metadata": {"stop_reason": "stop", "epoch": "1"},
        }


def _turn(
    number: int,
    role: str,
    content: str,
    calls: list[Document] | None = None,
    answered: list[str] | None = None,
) -> Document:
    """Compose a turn, which always has every field."""
    return {
        "turn_idx": number,
        "role": role,
        "content": content,
        "reasoning_trace": None,
        "tool_calls": calls or [],
        "tool_call_id": answered,
    }
