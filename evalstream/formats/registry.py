"""The known formats: each is imported when it is needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from evalstream.formats import PREFIXES
from evalstream.formats.base import (
    AnyFormat,
    FolderFormat,
    Format,
    Kind,
    PairedFormat,
    RowFormat,
    load_catalogue,
)
from evalstream.io.names import is_yaml_name
from evalstream.model.options import Options
from evalstream.model.run import MAIN_FORMAT
from evalstream.rules.base import Rule
from evalstream.rules.catalogue import SHARED_RULES

if TYPE_CHECKING:
    from evalstream.io.beginning import Beginning

NAMES: Final = tuple(PREFIXES)
"""The formats as `--input-format` takes them."""

MAIN: Final = MAIN_FORMAT
"""The default format of rows."""

UNKNOWN: Final = f"not a document of a known format ({', '.join(NAMES)}); --input-format names one"
"""The reason for a document that no format recognises."""


class _Formats(Mapping[str, AnyFormat]):
    """The formats by name; each is imported when it is needed."""

    def __getitem__(self, name: str) -> AnyFormat:
        if name not in PREFIXES:
            raise KeyError(name)
        return _load_format(name)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


@cache
def _load_format(name: str) -> AnyFormat:
    found: AnyFormat = import_module(f"evalstream.formats.{name}.format").FORMAT
    return found


FORMATS: Final[Mapping[str, AnyFormat]] = _Formats()
"""The formats by name, in the order in which messages list them."""


def main_format() -> RowFormat:
    """Return the default format of rows."""
    return cast("RowFormat", FORMATS[MAIN])


def paired_format(name: str) -> PairedFormat | None:
    """Return a format whose documents are paired by their content, or None for another format."""
    found = FORMATS.get(name)
    return found if found is not None and found.grouping == "documents" else None


def folder_format(name: str) -> FolderFormat | None:
    """Return a format whose documents are checked as one folder, or None for another format."""
    found = FORMATS.get(name)
    return found if found is not None and found.grouping == "folder" else None


def detect_kind(file: Beginning, formats: Collection[str] = NAMES) -> Kind | None:
    """Return the kind of a file, or None if it shows none of the formats.

    Formats with certain signs are tried first, then harness logs, and last the formats whose
    documents are recognised only by their shape.
    """
    if is_yaml_name(file.name) and file.head[:1].isalnum():
        # JSON does not begin so: the other formats have no such document.
        return _first(file, (FORMATS[name] for name in formats if FORMATS[name].has_yaml))
    # Most files are of the main format, whose signs are certain: no other format need be loaded.
    if MAIN in formats and (kind := main_format().detect_kind(file)) is not None:
        return Kind(MAIN, kind)
    others = [FORMATS[name] for name in NAMES if name != MAIN and name in formats]
    sure = _first(file, (one for one in others if one.is_sure))
    if sure is not None:
        return sure
    from evalstream.engine.layout import FOREIGN, detect_log

    log = detect_log(file)
    if log is not None:
        return Kind(FOREIGN, f"{log.harness}: {log.what}")
    return _first(file, (one for one in others if not one.is_sure))


def kind_late(file: Beginning) -> Kind | None:
    """Return the kind of a file whose beginning shows none of the formats, or None."""
    found = ((one.name, one.detect_late(file)) for one in FORMATS.values())
    return next((Kind(name, kind) for name, kind in found if kind is not None), None)


def _first(file: Beginning, formats: Iterable[Format]) -> Kind | None:
    found = ((one.name, one.detect_kind(file)) for one in formats)
    return next((Kind(name, kind) for name, kind in found if kind is not None), None)


def find_formats(rule: Rule) -> tuple[str, ...]:
    """Return the formats whose files a rule checks: all of them for a shared rule."""
    if rule in SHARED_RULES:
        return NAMES
    letters = rule.code.rstrip("0123456789")
    return tuple(name for name, prefix in PREFIXES.items() if prefix == letters)


@lru_cache(maxsize=64)
def has_rules(name: str, enabled: frozenset[str]) -> bool:
    """Tell whether any of the enabled rules, by their codes, checks files of a format."""
    return any(name in find_formats(CATALOGUE[code]) for code in enabled)


def has_needed(code: str, options: Options) -> bool:
    """Tell whether the options have the one that a rule needs; checks of runs have no store."""
    rule = CATALOGUE[code]
    return not (rule.in_store or (rule.needs and getattr(options, rule.needs) is None))


CATALOGUE: Final = load_catalogue(*sorted(NAMES, key=PREFIXES.__getitem__))
"""The rules of all formats by code, with those that all formats share."""

MAIN_CATALOGUE: Final = load_catalogue(MAIN)
"""The shared rules and those of the main format, without the time to load those of others."""
