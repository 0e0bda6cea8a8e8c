"""The rules about logs of Inspect."""

from typing import Final

MODULES: Final = (
    *("coverage", "log", "messages", "missing_results", "samples"),
    *("score_events", "scores", "summaries", "usage"),
)
"""The modules of this folder; each lists its rules as `RULES`."""
