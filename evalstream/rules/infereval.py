"""INF: infereval: a model's verdicts on the inferences of a benchmark."""

from __future__ import annotations

from typing import Final

from evalstream.rule import Rule

RULES: Final[tuple[Rule, ...]] = ()
