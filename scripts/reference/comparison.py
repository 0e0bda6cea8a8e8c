"""The page about reports of comparisons: the formats, and every key of the JSON report."""

import sys

from evalstream.reporters import COMPARISON_REPORTERS, comparison_type
from reference.report import described

INTRODUCTION = """# Reports of comparisons

`evalstream compare --format` takes one of these names. [Compare runs](../how-to/compare.md)
explains the figures.
"""

SCHEMA = """## Keys of the JSON report

`evalstream schema show comparison` prints the JSON Schema of this report. Keys come in the order of
the tables. A later version may add keys; it raises `schema` if it changes or removes one.

Each line of `--format jsonl` fits `#/$defs/line` of the same schema: first come the drifts, then
the comparisons, then the flips, and last an object with the key `summary`.
"""


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for name in COMPARISON_REPORTERS:
        kind = comparison_type(name)
        # A module of one format describes it.
        module = sys.modules[kind.__module__]
        text = module.__doc__ if kind.__module__.endswith(f".{name}") else kind.__doc__
        parts += [f"## {name}\n", f"{(text or '').strip()}\n"]
    return "\n".join([*parts, SCHEMA, *described("comparison")])
