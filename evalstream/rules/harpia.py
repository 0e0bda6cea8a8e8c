"""HAR: HarpIA Lab: what went into an evaluation, what came out, and its log."""

from __future__ import annotations

from typing import Final

from evalstream.rule import Rule

RULES: Final[tuple[Rule, ...]] = ()
