"""EVG: EvalGuard: tasks, metrics, thresholds and reports, in a folder of documents."""

from __future__ import annotations

from typing import Final

from evalstream.rule import Rule

RULES: Final[tuple[Rule, ...]] = ()
