"""The formats that are known: the only module that names them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

from evalstream.model.options import Options
from evalstream.rules.base import Rule
from evalstream.rules.catalogue import SHARED_RULES, Catalogue, Selection

NAMES: Final = ("eee", "infereval", "harpia", "evalguard")
"""The formats by the names of their folders, as `--input-format` takes them."""

UNKNOWN: Final = f"not a document of a known format ({', '.join(NAMES)}); --input-format names one"
"""What is said of a document that none of them takes for its own."""


def checker_of(name: str) -> Any:
    """Return what finds and checks the files of a format."""
    return import_module(f"evalstream.formats.{name}.checker")


def _rules_of(name: str) -> Iterable[Rule]:
    rules: Iterable[Rule] = import_module(f"evalstream.formats.{name}.catalogue").rules()
    return rules


CATALOGUE: Final = Catalogue(
    {
        "ES": lambda: (*SHARED_RULES, *_rules_of("eee")),
        "EVG": lambda: _rules_of("evalguard"),
        "HAR": lambda: _rules_of("harpia"),
        "INF": lambda: _rules_of("infereval"),
    }
)
"""The rules of all formats by code."""


def selection(options: Options) -> Selection:
    """Return the rules of all formats that the options select."""
    return CATALOGUE.selection(options)
