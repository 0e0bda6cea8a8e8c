"""Rows made of the samples that an aggregate of version 0.1.0 lists itself."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Set
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.block_rewriting import RewrittenBlock
from evalstream.formats.eee.changes.moves import AggregateRefused
from evalstream.formats.eee.changes.supplied import INLINE_SCORES, MIGRATED
from evalstream.model.changes import ChangeTally, make_applied
from evalstream.model.text import count_noun
from evalstream.parsing.json_tree import JsonType, Node, compact, decode_string

if TYPE_CHECKING:
    from evalstream.formats.eee.changes.aggregate import AggregateMigration

PLACED: Final = ("sample_id", "input", "ground_truth", "response")
"""Members that each row has a place for."""

FEWEST_DIGITS: Final = 3
"""Number of decimals to which a claimed score agrees with the mean that confirms it, at least."""

MOST_DIGITS: Final = 9
"""Number of decimals that the error of float sums leaves right."""


class InlineSamples:
    """The samples that an aggregate lists, as rows of a version.

    They have no scores. Where that is decided, a response that equals its ground truth scores 1 and
    any other 0, provided that their mean confirms the score that the aggregate claims.
    """

    def __init__(
        self, aggregate: AggregateMigration, target: str, decisions: Collection[str]
    ) -> None:
        self._aggregate, self._target, self._decisions = aggregate, target, decisions
        self._text = aggregate.text

    def rows(self) -> RewrittenBlock:
        """Return the rows. Raises AggregateRefused where the samples cannot be rows."""
        samples = self._aggregate.inline_samples
        items = [] if samples is None else samples.items
        if INLINE_SCORES.name not in self._decisions:
            raise AggregateRefused(
                f"the aggregate lists {count_noun(len(items), 'sample')} without scores; "
                f"--decide {INLINE_SCORES.name} scores them by equality with their ground truth"
            )
        name = self._evaluation_name()
        scores = [self._score(sample) for sample in items]
        self._confirm(sum(scores) / len(scores))
        lines = [
            json.dumps(self._row(sample, name, score), ensure_ascii=False)
            for sample, score in zip(items, scores, strict=True)
        ]
        tally = ChangeTally()
        for number, score in enumerate(scores, 1):
            change = make_applied(INLINE_SCORES, "/evaluation/score", None, str(score))
            tally.add_each([change], number)
        data = "".join(f"{line}\n" for line in lines).encode()
        return RewrittenBlock(data, len(lines), tally)

    def _evaluation_name(self) -> str:
        names = {
            self._aggregate.read_string(one, "evaluation_name") for one in self._aggregate.results()
        }
        if len(names) != 1 or None in names:
            raise AggregateRefused("the samples it lists belong to results of different names")
        (name,) = names
        return str(name)

    def _confirm(self, mean: float) -> None:
        """Refuse scores that no result claims. Raises AggregateRefused."""
        for result in self._aggregate.results():
            lower = result.value("metric_config", "lower_is_better")
            if lower is not None and self._write_value(lower) == "true":
                continue  # Such a score counts what is wrong, and agrees with the mean by chance.
            score = result.value("score_details", "score")
            is_number = score is not None and score.type is JsonType.NUMBER
            if is_number and score is not None and _confirms(mean, self._write_value(score)):
                return
        raise AggregateRefused(
            "no result claims the score that equality of response and ground truth gives to the "
            f"samples it lists ({mean:g}), so that they cannot be scored"
        )

    def _score(self, sample: Node) -> int:
        response, truth = sample.value("response"), sample.value("ground_truth")
        if response is None or truth is None or response.type is not JsonType.TEXT:
            raise AggregateRefused("a sample it lists has no response or no ground truth")
        given = decode_string(self._text, response)
        return int(given in self._texts(truth))

    def _row(self, sample: Node, name: str, score: int) -> dict[str, Any]:
        aggregate = self._aggregate
        response, prompt = sample.value("response"), sample.value("prompt")
        answer = "" if response is None else decode_string(self._text, response)
        row: dict[str, Any] = {
            "schema_version": self._target,
            "evaluation_id": aggregate.evaluation_id or "",
            "model_id": aggregate.model_id or "",
            "evaluation_name": name,
            "sample_id": self._id(sample),
            "interaction_type": "single_turn",
            "input": {
                "raw": self._input(sample),
                "reference": self._texts(sample.value("ground_truth")),
            },
            "output": {"raw": [answer]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": answer,
                    "extraction_method": "none",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": score, "is_correct": bool(score)},
        }
        placed = {*PLACED}
        if prompt is not None and prompt.type is JsonType.TEXT:
            row["input"]["formatted"] = decode_string(self._text, prompt)
            placed.add("prompt")
        choices = sample.value("choices")
        texts = self._choices(choices)
        if choices is not None and texts:
            row["input"]["choices"] = texts
            if all(item.type is JsonType.TEXT for item in choices.items):
                placed.add("choices")
        kept = dict(self._iterate_kept(sample, placed))
        return row | ({"metadata": kept} if kept else {})

    def _input(self, sample: Node) -> str:
        given = self._aggregate.read_string(sample, "input")
        if given is None:
            raise AggregateRefused("the input of a sample it lists is not text")
        return given

    def _iterate_kept(self, sample: Node, placed: Set[str]) -> Iterator[tuple[str, str]]:
        """Iterate over the texts of members that the row has no place for."""
        for member in sample.members:
            if member.name in placed or member.value.type is JsonType.NULL:
                continue
            if member.value.type is JsonType.TEXT:
                yield MIGRATED + member.name, decode_string(self._text, member.value)
            else:
                yield MIGRATED + member.name, compact(self._text, member.value)

    def _choices(self, choices: Node | None) -> list[str]:
        """Return the texts of choices, which may be pairs of a letter and a text."""
        if choices is None or choices.type is not JsonType.LIST:
            return []
        nodes = [item.items[-1] if item.items else item for item in choices.items]
        if any(node.type is not JsonType.TEXT for node in nodes):
            return []
        return [decode_string(self._text, node) for node in nodes]

    def _texts(self, node: Node | None) -> list[str]:
        nodes = [] if node is None else node.items if node.type is JsonType.LIST else [node]
        if any(one.type is not JsonType.TEXT for one in nodes):
            raise AggregateRefused("the ground truth of a sample it lists is not text")
        return [decode_string(self._text, one) for one in nodes]

    def _id(self, sample: Node) -> str:
        node = sample.value("sample_id")
        if node is None or node.type not in {JsonType.TEXT, JsonType.NUMBER}:
            raise AggregateRefused("a sample it lists has no sample_id")
        is_text = node.type is JsonType.TEXT
        return decode_string(self._text, node) if is_text else self._write_value(node)

    def _write_value(self, node: Node) -> str:
        return self._text[node.start : node.end]


def _confirms(mean: float, written: str) -> bool:
    _, _, decimals = written.lower().partition("e")[0].partition(".")
    digits = MOST_DIGITS if "e" in written.lower() else len(decimals)
    digits = min(max(digits, FEWEST_DIGITS), MOST_DIGITS)
    tolerance: float = 0.5 * 10.0**-digits
    return abs(float(written) - mean) <= tolerance * (1 + 1e-9)
