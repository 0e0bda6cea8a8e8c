"""The versions of Every Eval Ever: the documents of each, and the version for a document."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from evalstream.formats.eee import NAME
from evalstream.model.data_class import NamedTuple

ANNOTATION_PREFIX: Final = "instance_level_eval_"
"""How the schema's own annotation writes a version; rows should carry the plain number."""

OLDEST: Final = ("0.2.0", "0.2.0+list")
"""Versions that call the transcript `interactions`; later ones call it `messages`. Its counts
may be left out in these versions, but not null."""


class Version(NamedTuple):
    """One version of the format: its documents and its preferred hash recipe.

    `migrates` says that runs are migrated to it, as all members that it requires are written.
    """

    name: str
    instance: bool
    preferred_recipe: str
    migrates: bool = False


VERSIONS: Final[dict[str, Version]] = {
    version.name: version
    for version in (
        Version("0.1.0", instance=False, preferred_recipe="concat"),
        Version("0.2.0", instance=True, preferred_recipe="concat"),
        Version("0.2.0+list", instance=True, preferred_recipe="concat"),
        Version("0.2.1", instance=True, preferred_recipe="concat"),
        Version("0.2.2", instance=True, preferred_recipe="concat"),
        Version("0.2.3", instance=True, preferred_recipe="concat", migrates=True),
        Version("0.3.0", instance=True, preferred_recipe="json-list", migrates=True),
    )
}

DECLARED: Final = tuple(name for name in VERSIONS if "+" not in name)
"""The versions that a document can declare; `0.2.0+list` is a variant of the tag v0.2.0."""

INSTANCE_VERSIONS: Final = tuple(name for name in VERSIONS if VERSIONS[name].instance)

TARGETS: Final = tuple(name for name in DECLARED if VERSIONS[name].migrates)
"""The versions that runs are migrated to, by default to the last one."""

DEFAULT_VERSION: Final = "0.2.0"


def documents_by_version() -> dict[str, tuple[str, ...]]:
    """Return the documents that have a schema, by version in the order of the schemas' names."""
    return {
        name: (
            *(("aggregate",) if name in DECLARED else ()),
            *(("instance",) if VERSIONS[name].instance else ()),
        )
        for name in sorted(VERSIONS, key="{}/".format)
    }


def instance_schema_name(version: str) -> str:
    """Return the name of the schema for rows of a version."""
    return f"{NAME}/{version}/instance"


def aggregate_schema_name(version: str) -> str:
    """Return the name of the schema for aggregates of a version."""
    return f"{NAME}/{version.partition('+')[0]}/aggregate"


@lru_cache(maxsize=1024)
def nearest_version(declared: str, *, instance: bool) -> str:
    """Return the known version nearest to a declared one: the highest one not above it.

    A known version returns itself; the annotation form counts as the plain number.
    """
    plain = declared.removeprefix(ANNOTATION_PREFIX)
    known = [name for name in DECLARED if VERSIONS[name].instance or not instance]
    if plain in known:
        return plain
    wanted = _numbers(plain)
    if not wanted:
        return DEFAULT_VERSION
    below = [name for name in known if _numbers(name) <= wanted]
    return below[-1] if below else known[0]


def is_below(declared: str, other: str) -> bool:
    """Tell whether a version is surely below another one."""
    one = _numbers(declared.removeprefix(ANNOTATION_PREFIX))
    return bool(one) and one < _numbers(other)


def is_known(declared: str, *, instance: bool) -> bool:
    """Tell whether a version, in plain or annotation form, is known."""
    return nearest_version(declared, instance=instance) == declared.removeprefix(ANNOTATION_PREFIX)


def declared_forms(version: str) -> tuple[str, str]:
    """Return how rows may declare a version: its number, or the form of the annotation."""
    number = version.partition("+")[0]
    return number, ANNOTATION_PREFIX + number


KNOWN_VERSIONS: Final = frozenset(
    form for name in DECLARED if VERSIONS[name].instance for form in declared_forms(name)
)
"""The versions that a row may declare and be checked by: known ones, plain or annotated."""


def eee_schema(version: str, *, instance: bool) -> str:
    """Return the name of the schema for rows or aggregates of a version."""
    return instance_schema_name(version) if instance else aggregate_schema_name(version)


def others(version: str, *, instance: bool) -> list[str]:
    """Return the other versions that have such documents, the nearest first.

    A variant of the same number is the nearest.
    """
    known = list(INSTANCE_VERSIONS if instance else DECLARED)
    number, place = version.partition("+")[0], known.index(version)
    return sorted(
        (name for name in known if name != version),
        key=lambda name: (name.partition("+")[0] != number, abs(known.index(name) - place)),
    )


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first three numbers of a version for comparison, empty if it has none."""
    match = re.match(r"v?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?", version)
    return tuple(int(number or 0) for number in match.groups()) if match else ()
