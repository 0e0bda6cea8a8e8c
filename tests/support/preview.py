"""Put a rule of the catalogue in preview, or retire it, for the time of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from evalstream.formats.base import load_catalogue
from evalstream.formats.registry import CATALOGUE, FORMATS, MAIN_CATALOGUE
from evalstream.model.finding import Status
from evalstream.rules.base import Rule


@contextmanager
def with_status(code: str, status: Status, **changes: object) -> Iterator[Rule]:
    """Give a rule of the catalogue a status."""
    before = CATALOGUE[code]
    rule = before._replace(status=status, **changes)  # type: ignore[arg-type]  # fields of a rule
    _replace(rule)
    try:
        yield rule
    finally:
        _replace(before)


def _replace(rule: Rule) -> None:
    """Put a rule in the place of the one with its code; what was selected before is forgotten."""
    own = (load_catalogue(name) for name in FORMATS)
    for catalogue in (CATALOGUE, MAIN_CATALOGUE, *own):
        if rule.code in catalogue:
            catalogue._loaded[rule.code.rstrip("0123456789")][rule.code] = rule
            catalogue._codes.cache_clear()
            catalogue._selection.cache_clear()
