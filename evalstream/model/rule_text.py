"""What reports say about a rule, as data: reporters know no rules."""

from enum import Enum
from typing import Final

from evalstream.model.data_class import NamedTuple

FOUND: Final = "What it finds"
WHY: Final = "Why it matters"
FIX: Final = "How to fix"
BAD: Final = "Bad"
GOOD: Final = "Good"

EXAMPLES: Final = frozenset({BAD, GOOD})
"""The headings below which fragments of documents stand."""


class Status(str, Enum):
    """How far a rule is: in preview it never fails a run, retired it is never applied."""

    STABLE = "stable"
    PREVIEW = "preview"
    RETIRED = "retired"


class Section(NamedTuple):
    """A part of a rule's page: prose in lines, or an example, which keeps its layout."""

    heading: str
    text: str
    is_example: bool = False


class RuleText(NamedTuple):
    """The texts of one rule, and its status.

    Attributes:
        name: The name of the rule.
        summary: A phrase that says what the rule finds.
        fix: A sentence that says how to fix it; empty where it is not known.
        help: The whole page.
        severity: The label of the rule's own severity, which a finding may differ from; empty if
            unknown.
        sections: The parts of the page.
        status: Whether the rule is stable, in preview or retired.
        page: The path of its page in the repository; empty if unknown.

    """

    name: str
    summary: str
    fix: str
    help: str
    severity: str = ""
    sections: tuple[Section, ...] = ()
    status: Status = Status.STABLE
    page: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the texts as the output contract writes them, and a status that is not stable."""
        texts = {"name": self.name, "summary": self.summary, "fix": self.fix}
        return texts if self.status is Status.STABLE else {**texts, "status": self.status.value}
