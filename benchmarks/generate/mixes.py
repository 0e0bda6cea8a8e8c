"""The mixtures of rows: which shapes they have, how large they are, and what a check finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Interaction = Literal["single_turn", "multi_turn", "agentic"]
Writer = Literal["generator", "lm-eval", "inspect"]
Flaw = Literal["other choice", "no answer"]

ERRORS = {"ES204", "ES601"}


@dataclass(frozen=True)
class Part:
    """A share of the rows: one interaction type and the sizes of its rows in bytes."""

    weight: float
    interaction: Interaction
    smallest: int
    largest: int


@dataclass(frozen=True)
class Foreign:
    """How often and how densely text is not ASCII, and how often such text is escaped."""

    rows: float
    sentences: float
    escaped: float


@dataclass(frozen=True)
class Mix:
    """A mixture of rows.

    `version` is the only one that these rows exist in, None for those in any version. Each row
    has one finding of each of the `codes`, and the run one of each of the `run_codes`, beside
    those that faults add. With `has_file_ids` the rows bear the name of their file as
    evaluation_id.
    """

    parts: tuple[Part, ...]
    foreign: Foreign
    writer: Writer = "generator"
    version: str | None = None
    flaw: Flaw | None = None
    codes: tuple[str, ...] = ()
    run_codes: tuple[str, ...] = ()
    has_file_ids: bool = False

    @property
    def has_errors(self) -> bool:
        """Tell whether a check must refuse the rows as they are."""
        return not ERRORS.isdisjoint(self.codes)

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
LM_EVAL = (Part(1, "single_turn", 1_150, 1_300),)
LONGER_LM_EVAL = (Part(0.6, "single_turn", 1_150, 1_300), Part(0.4, "single_turn", 2_500, 4_500))
INSPECT = (
    Part(0.9, "single_turn", 1_200, 3_400),
    Part(0.05, "multi_turn", 4_000, 11_000),
    Part(0.05, "agentic", 1_600, 2_000),
)

SOME = Foreign(rows=0.1, sentences=0.2, escaped=0.5)
CONVERTED = Foreign(rows=0.15, sentences=0.1, escaped=0.0)
"""Converters escape nothing."""

MIXES = {
    "mixed": Mix(USUAL, SOME),
    "single": Mix(SINGLE, SOME),
    "agentic": Mix(AGENTIC, Foreign(rows=0.05, sentences=0.2, escaped=0.0)),
    "unicode": Mix(UNICODE, Foreign(rows=1.0, sentences=0.85, escaped=0.0)),
    "other-choice": Mix(USUAL, SOME, flaw="other choice", codes=("ES313",)),
    "no-answer": Mix(USUAL, SOME, flaw="no answer", codes=("ES301",)),
    "lm-eval": Mix(LM_EVAL, CONVERTED, "lm-eval", "0.3.0", run_codes=("ES402",)),
    "lm-eval-0.2.0": Mix(
        LONGER_LM_EVAL,
        CONVERTED,
        "lm-eval",
        "0.2.0",
        codes=("ES204", "ES204", "ES204"),
        run_codes=("ES402",),
    ),
    "inspect-0.2.1": Mix(
        INSPECT, CONVERTED, "inspect", "0.2.1", codes=("ES301", "ES601"), has_file_ids=True
    ),
    "inspect-0.2.3rc1": Mix(INSPECT, CONVERTED, "inspect", "0.2.2", codes=("ES204", "ES301")),
}
