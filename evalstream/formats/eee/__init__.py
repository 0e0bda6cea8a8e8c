"""Every Eval Ever: rows and their aggregate."""

from typing import Final

NAME: Final = "eee"
"""The name of the format."""

AGGREGATE_SIGNS: Final = frozenset({"evaluation_results", "detailed_evaluation_results"})
"""Members that an aggregate alone has."""
