"""EVG6: the manifest by which changes of a folder of EvalGuard are found."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Severity
from evalstream.rules.base import Rule

EVG601: Final = Rule(
    "EVG601",
    "malformed-manifest",
    Severity.ERROR,
    "the manifest of a folder is not one that evalstream writes",
)

EVG602: Final = Rule(
    "EVG602", "changed-document", Severity.ERROR, "a document is not the one that was sealed"
)

EVG603: Final = Rule(
    "EVG603", "missing-document", Severity.ERROR, "a document that was sealed is missing"
)

EVG604: Final = Rule(
    "EVG604", "unsealed-document", Severity.ERROR, "a document is not in the manifest of its folder"
)

RULES: Final = (EVG601, EVG602, EVG603, EVG604)
