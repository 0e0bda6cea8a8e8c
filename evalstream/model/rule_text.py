"""What reports say about a rule, as data: reporters know no rules."""

from typing import NamedTuple


class RuleText(NamedTuple):
    """The texts of one rule.

    `summary` is a phrase that says what the rule finds, `fix` a sentence that says how to fix it,
    empty where the documentation does not say it. `help` is the whole documentation.
    """

    name: str
    summary: str
    fix: str
    help: str

    def as_dict(self) -> dict[str, str]:
        """Return the texts as the output contract writes them."""
        return {"name": self.name, "summary": self.summary, "fix": self.fix}
