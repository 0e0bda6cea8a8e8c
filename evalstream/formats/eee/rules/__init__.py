"""The rules of the format eee (Every Eval Ever)."""

from typing import Final

MODULES: Final = (
    *("version", "row", "attribution", "evidence", "transcript", "leak", "sample_hash", "seal"),
    *("coverage", "source", "aggregate", "members", "recompute", "datastore"),
)
"""The modules of this folder; each lists its rules as `RULES`."""
