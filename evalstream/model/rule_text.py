"""What reports say about a rule, as data: reporters know no rules."""

from enum import Enum
from typing import NamedTuple


class Status(str, Enum):
    """How far a rule is: in preview it never fails a run, retired it is never applied."""

    STABLE = "stable"
    PREVIEW = "preview"
    RETIRED = "retired"


class RuleText(NamedTuple):
    """The texts of one rule, and its status.

    `summary` is a phrase that says what the rule finds, `fix` a sentence that says how to fix it,
    empty where the documentation does not say it. `help` is the whole documentation.
    """

    name: str
    summary: str
    fix: str
    help: str
    status: Status = Status.STABLE

    def as_dict(self) -> dict[str, str]:
        """Return the texts as the output contract writes them, and a status that is not stable."""
        texts = {"name": self.name, "summary": self.summary, "fix": self.fix}
        return texts if self.status is Status.STABLE else {**texts, "status": self.status.value}
