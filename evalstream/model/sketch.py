"""The sketch of a run: what a picture of its rows needs, in a bounded number of bins.

How sketches are collected is in `stats/sketch.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from evalstream.model.data_class import NamedTuple

LINEAR: Final = "linear"
LOG: Final = "log"
"""The scales of a histogram."""


class Histogram(NamedTuple):
    """How many values lie in each of some adjacent bins.

    On a `linear` scale bin number i, from 0, holds the values from `(first + i) * width` up to the
    next edge; on a `log` scale from `width ** (first + i)`. `zeros` counts the values of a log
    scale that are 0.
    """

    scale: str
    width: float
    first: int
    counts: tuple[int, ...]
    zeros: int = 0

    def edge(self, number: int) -> float:
        """Return the lower edge of a bin by its number, from 0; the last bin ends at the next."""
        at = self.first + number
        if self.scale == LINEAR:
            return at * self.width
        # A width of quarters of octaves is rounded itself, and its powers would be less exact.
        octaves = round(math.log2(self.width) * 4) / 4
        return 2.0 ** (at * octaves) if 2.0**octaves == self.width else self.width**at

    def as_dict(self) -> dict[str, Any]:
        """Return the histogram as the output contract writes it."""
        return {
            "scale": self.scale,
            "width": self.width,
            "first": self.first,
            "counts": list(self.counts),
            **({"zeros": self.zeros} if self.zeros else {}),
        }

    @classmethod
    def from_dict(cls, encoded: Mapping[str, Any]) -> Histogram:
        """Return a histogram from its JSON. Raises KeyError, TypeError or ValueError."""
        found = cls(
            encoded["scale"],
            float(encoded["width"]),
            encoded["first"],
            tuple(encoded["counts"]),
            encoded.get("zeros", 0),
        )
        try:
            edges = found.edge(0), found.edge(len(found.counts))
        except OverflowError:
            edges = math.inf, math.inf
        if not edges[0] < edges[1] < math.inf and found.counts:
            raise ValueError("the bins of a histogram have no edges")
        return found


class Strip(NamedTuple):
    """A profile of the rows along the file: each bin stands for `lines` lines, in their order.

    `rows` counts rows, `scored` those with a score, and `scores` adds the scores. `errors`,
    `warnings` and `infos` count all findings about single lines, shown or not, but for those about
    relations between runs. There are `total` lines; the last bin may stand for fewer than the
    others. In a JSON array rows are counted instead of lines.
    """

    lines: int
    rows: tuple[int, ...]
    scored: tuple[int, ...]
    scores: tuple[float, ...]
    errors: tuple[int, ...]
    warnings: tuple[int, ...]
    infos: tuple[int, ...]
    total: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the strip as the output contract writes it."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._asdict().items()
        }

    @classmethod
    def from_dict(cls, encoded: Mapping[str, Any]) -> Strip:
        """Return a strip from its JSON. Raises KeyError, TypeError or ValueError."""
        lists = {
            name: tuple(encoded[name])
            for name in ("rows", "scored", "scores", "errors", "warnings", "infos")
        }
        if len({*map(len, lists.values())}) > 1:
            raise ValueError("the lists of a strip differ in length")
        return cls(lines=encoded["lines"], total=encoded["total"], **lists)


class Sketch(NamedTuple):
    """The sketch of one run; None or absent is what its rows do not say.

    `tokens` has a histogram for each kind of token, by its name: `input`, `output` and others;
    `latency` is in milliseconds.
    """

    strip: Strip
    scores: Histogram | None = None
    tokens: Mapping[str, Histogram] = {}
    latency: Histogram | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the sketch as the output contract writes it."""
        return {
            "strip": self.strip.as_dict(),
            "scores": None if self.scores is None else self.scores.as_dict(),
            "tokens": {name: one.as_dict() for name, one in self.tokens.items()},
            "latency": None if self.latency is None else self.latency.as_dict(),
        }

    @classmethod
    def from_dict(cls, encoded: Mapping[str, Any]) -> Sketch:
        """Return a sketch from its JSON. Raises KeyError, TypeError or ValueError."""
        scores, latency = encoded["scores"], encoded["latency"]
        return cls(
            Strip.from_dict(encoded["strip"]),
            None if scores is None else Histogram.from_dict(scores),
            {name: Histogram.from_dict(one) for name, one in encoded["tokens"].items()},
            None if latency is None else Histogram.from_dict(latency),
        )
