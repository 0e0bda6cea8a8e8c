"""The command `explain`."""

from typing import Annotated

from evalstream.cli.command import command
from evalstream.cli.options import ArgumentText, Color
from evalstream.cli.rules import CODES, Form, chosen, write_rules
from evalstream.formats.registry import CATALOGUE


@command(examples=("evalstream explain ES401", "evalstream explain checksum-mismatch ES503"))
def explain(
    *,
    codes: Annotated[list[str], ArgumentText("CODES", CODES)],
    form: Form = "text",
    color: Color = "auto",
) -> None:
    """Explain rules: what each finds, why it matters, and how to fix it."""
    found = [CATALOGUE.find_rules(text) for text in codes]
    write_rules(chosen(found), form, color, in_full=True)
