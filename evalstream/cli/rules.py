"""The command `rules`."""

import sys
from typing import Annotated, Final

from evalstream.cli.command import command
from evalstream.cli.options import ArgumentText, Color
from evalstream.cli.rule_texts import FORMS, write_rules
from evalstream.cli.terminal import guard_output
from evalstream.formats.registry import CATALOGUE
from evalstream.model.errors import UsageError
from evalstream.model.option_fields import OptionText
from evalstream.rules.base import Rule

CODES: Final = "Codes, beginnings of codes, or names."

Form = Annotated[
    str, OptionText("How the rules are written.", choices=FORMS, flags=("--format", "-f"))
]


@command(
    examples=(
        "evalstream rules",
        "evalstream rules ES4 ES5",
        "evalstream rules sample-hash-mismatch",
        "evalstream rules --format json",
    )
)
def rules(
    *,
    codes: Annotated[list[str] | None, ArgumentText("CODES", CODES)] = None,
    form: Form = "text",
    digest: Annotated[
        bool, OptionText("Show the SHA-256 of the catalogue alone, as attestations name it.")
    ] = False,
    color: Color = "auto",
) -> None:
    """List the rules; explain the ones that you name.

    Without CODES it lists all rules. It explains rules if each of CODES names exactly one.
    """
    if digest:
        if codes:
            raise UsageError("--digest is one of all rules; leave CODES out")
        # Nothing else of this command needs the statements.
        from evalstream.attestation.statement import digest_rules

        with guard_output():
            sys.stdout.write(f"{digest_rules()}\n")
            sys.stdout.flush()
        return
    if not codes:
        write_rules(list(CATALOGUE.values()), form, color, in_full=False)
        return
    found = [CATALOGUE.find_rules(text) for text in codes]
    write_rules(chosen(found), form, color, in_full=all(len(some) == 1 for some in found))


def chosen(found: list[list[Rule]]) -> list[Rule]:
    """Return the rules, each once, in the order of their codes."""
    by_code = {rule.code: rule for some in found for rule in some}
    return [rule for _, rule in sorted(by_code.items())]
