"""The fast path of YAML: documents without anchors, tags, directives or anything to report."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from evalstream.parsing.yaml_scalars import FIRST_LETTERS, is_finite, resolve_plain

MOST_CHARACTERS: Final = 1 << 16
"""Longer texts may exceed the limit of nodes, or take so long that a signal must be noticed."""

OLD_BREAKS: Final = "\x85\u2028\u2029"
"""Line breaks in YAML 1.1 and in the library, but plain characters in YAML 1.2."""

_NOT_PLAIN: Final = re.compile(rf"[{OLD_BREAKS}]|\\[uU]")
"""What needs the exact reader; only the escapes can stand for half a surrogate pair."""

_resolved = lru_cache(maxsize=1024)(resolve_plain)


class NotPlain(Exception):
    """The document needs the exact reader, which may report something."""


def line_breaks(characters: str) -> list[int]:
    """Return the positions of all line feeds."""
    return [found.start() for found in re.finditer("\n", characters)]


def event_position(breaks: list[int], event: Any) -> tuple[int, int]:
    """Return the line and column where an event begins; the library's own line may be one more."""
    index = event.start_mark.index
    before = bisect_right(breaks, index - 1)
    return before + 1, index - (breaks[before - 1] if before else -1)


def read_plain(characters: str, max_depth: int, yaml: Any) -> Any:
    """Return the value of a document; `yaml` is the module of PyYAML. Raises NotPlain."""
    if len(characters) > MOST_CHARACTERS or _NOT_PLAIN.search(characters):
        raise NotPlain
    try:
        # The C loader where PyYAML was built with libyaml.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(characters)
        return _document(loader.get_event, max_depth, yaml)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise NotPlain from error


def _document(following: Callable[[], Any], max_depth: int, yaml: Any) -> Any:
    """Compose the one document of a stream from its events. Raises NotPlain."""
    following()
    start = following()
    if start.__class__ is not yaml.DocumentStartEvent or start.version is not None:
        raise NotPlain
    read = _reader(following, max_depth, yaml)
    value = read(following(), 0)
    following()
    if following().__class__ is not yaml.StreamEndEvent:
        raise NotPlain
    return value


def _reader(  # noqa: C901 - three functions that call each other
    following: Callable[[], Any], max_depth: int, yaml: Any
) -> Callable[[Any, int], Any]:
    """Return what reads the node that an event begins. A class would take a third longer."""
    scalar, sequence = yaml.ScalarEvent, yaml.SequenceStartEvent
    mapping_end, sequence_end = yaml.MappingEndEvent, yaml.SequenceEndEvent

    def node(event: Any, depth: int) -> Any:
        # An alias has an anchor, too.
        if event.anchor is not None or event.tag is not None:
            raise NotPlain
        kind = event.__class__
        if kind is scalar:
            text = event.value
            if text[:1] not in FIRST_LETTERS or not event.implicit[0]:
                return text
            value = _resolved(text)
            if not is_finite(value):
                raise NotPlain
            return value
        if depth == max_depth:
            raise NotPlain
        return items(depth + 1) if kind is sequence else members(depth + 1)

    def items(depth: int) -> list[Any]:
        values: list[Any] = []
        while (event := following()).__class__ is not sequence_end:
            values.append(node(event, depth))
        return values

    def members(depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while (event := following()).__class__ is not mapping_end:
            if event.__class__ is not scalar or not (event.anchor is event.tag is None):
                raise NotPlain
            key = event.value
            if key in values or key == "<<":
                raise NotPlain
            values[key] = node(following(), depth)
        return values

    return node
