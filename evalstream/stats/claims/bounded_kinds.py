"""Kinds of claims that have bounds whatever the rows are, and formulas that need more than them."""

from __future__ import annotations

from typing import Final

from evalstream.stats.claims.kinds import Kind

SHARE: Final = Kind("share", frozenset(), bounds=lambda _evidence: (0, 1))
COUNTS: Final = Kind("number of scores", frozenset(), bounds=lambda _evidence: (0, None))
ALPHA: Final = Kind("agreement of raters", frozenset(), bounds=lambda _evidence: (None, 1))
PERPLEXITY: Final = Kind("perplexity", frozenset(), bounds=lambda _evidence: (1, None))
