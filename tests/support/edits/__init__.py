"""The edit scripts of the rules' cases: changes to the example runs, one directive a line."""

from importlib import import_module
from pathlib import Path

from paths import CASES

from edits.case import Case
from edits.eee import DETAILS
from edits.eee import apply as apply_eee

__all__ = ["DETAILS", "Case", "apply", "apply_case"]


def apply(script: str, folder: Path) -> Case:
    """Write the files that a script describes into `folder`.

    A script that begins with `format NAME` is about the files of another format, which the
    module of that name here knows how to edit; others are about a run of Every Eval Ever.
    """
    first, _, rest = script.partition("\n")
    if first.startswith("format "):
        case: Case = import_module(f"edits.{first.split()[1]}").apply(rest, folder)
        return case
    return apply_eee(script, folder)


def apply_case(code: str, side: str, folder: Path) -> Case:
    """Write the files of a rule's case into `folder`; `side` is `bad` or `good`."""
    return apply((CASES / code / f"{side}.txt").read_text(encoding="utf-8"), folder)
