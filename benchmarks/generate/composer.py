"""The frame of every composer of rows: what is drawn for a row before its writer composes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from random import Random
from typing import ClassVar, NamedTuple

from benchmarks.generate.dialect import Dialect, Document
from benchmarks.generate.mixes import Interaction, Mix
from benchmarks.generate.text import text_pool

SHARE_CORRECT = 0.62


@dataclass(frozen=True)
class Identity:
    """What every row of a run says about the run; results may have no id."""

    evaluation_id: str
    evaluation_name: str
    model_id: str
    result_id: str | None


class Composed(NamedTuple):
    """A row before it is written, its score, and whether to escape non-ASCII text."""

    row: Document
    score: float
    is_escaped: bool


class Composer(ABC):
    """Composes rows of one run in order; the same arguments give the same rows.

    The seed chooses the pools of text, the source what is drawn from them.
    """

    frame_bytes: ClassVar[int]
    """About how many bytes of a row are not its long texts."""

    def __init__(
        self, mix: Mix, dialect: Dialect, identity: Identity, seed: int, source: str
    ) -> None:
        self._mix = mix
        self._weights = [part.weight for part in mix.parts]
        self._dialect = dialect
        self._identity = identity
        self._random = Random(f"rows {source}")
        self._plain = text_pool(seed, 0.0)
        self._foreign = text_pool(seed, mix.foreign.sentences)
        self._pool = self._plain

    def compose(self, index: int) -> Composed:
        """Compose the row with this index, which counts from 0."""
        random = self._random
        part = random.choices(self._mix.parts, self._weights)[0]
        size = random.randint(part.smallest, part.largest) - self.frame_bytes
        is_foreign = random.random() < self._mix.foreign.rows
        self._pool = self._foreign if is_foreign else self._plain
        is_correct = random.random() < SHARE_CORRECT
        row = self._row(index, part.interaction, size, is_correct=is_correct)
        is_escaped = is_foreign and random.random() < self._mix.foreign.escaped
        return Composed(row, 1.0 if is_correct else 0.0, is_escaped)

    @abstractmethod
    def _row(
        self, index: int, interaction: Interaction, size: int, *, is_correct: bool
    ) -> Document:
        """Compose a row with about `size` bytes of long texts."""

    def _head(self) -> Document:
        """Begin a row: the version, and what it says about the run."""
        identity, dialect = self._identity, self._dialect
        row: Document = {
            "schema_version": dialect.version,
            "evaluation_id": identity.evaluation_id,
            "model_id": identity.model_id,
            "evaluation_name": identity.evaluation_name,
        }
        if dialect.has_result_ids:
            row["evaluation_result_id"] = identity.result_id
        return row

    def _chosen(self, choices: list[str], right: str, *, is_correct: bool) -> str:
        """Choose what the model answers: the right choice, or another one."""
        others = [text for text in choices if text != right]
        return right if is_correct else self._random.choice(others)


def attribution(turn: int, source: str, answer: str, method: str) -> Document:
    """Point at the scored answer."""
    return {
        "turn_idx": turn,
        "source": source,
        "extracted_value": answer,
        "extraction_method": method,
        "is_terminal": True,
    }
