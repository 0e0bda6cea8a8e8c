"""The fast path of YAML: documents without anchors, tags, directives or anything to report."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, Final

from evalstream.parsing.strict_json import SURROGATE
from evalstream.parsing.yaml_scalars import FIRST_LETTERS, Mark, resolved, spelling_of

MOST_CHARACTERS: Final = 1 << 16
"""Longer texts may exceed the limit of nodes, or take so long that a signal must be noticed."""

OLD_BREAKS: Final = "\x85\u2028\u2029"
"""Line breaks in YAML 1.1 and in the library, but plain characters in YAML 1.2."""


def line_breaks(characters: str) -> list[int]:
    """Return the positions of all line feeds."""
    return [found.start() for found in re.finditer("\n", characters)]


def line_of(breaks: list[int], event: Any) -> int:
    """Return the line on which an event begins; the library's own count may be one more."""
    return bisect_right(breaks, event.start_mark.index - 1) + 1


class _NotPlain(Exception):
    """The document needs the exact reader, which may report something."""


def read_plain(characters: str, max_depth: int, yaml: Any) -> tuple[Any, Mark] | None:
    """Return the value and the marks of a document, or None if it needs the exact reader.

    `yaml` is the module of PyYAML.
    """
    if len(characters) > MOST_CHARACTERS or any(mark in characters for mark in OLD_BREAKS):
        return None
    try:
        # The C loader where PyYAML was built with libyaml.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(characters)
        return _Composer(loader.get_event, characters, max_depth, yaml).document(yaml)
    except (_NotPlain, yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


class _Composer:
    """Composes the one document of a stream from its events."""

    __slots__ = (
        "_breaks",
        "_mapping_end",
        "_max_depth",
        "_next",
        "_scalar",
        "_sequence",
        "_sequence_end",
    )

    def __init__(
        self, following: Callable[[], Any], characters: str, max_depth: int, yaml: Any
    ) -> None:
        self._next, self._max_depth = following, max_depth
        self._breaks = line_breaks(characters)
        self._scalar, self._sequence = yaml.ScalarEvent, yaml.SequenceStartEvent
        self._mapping_end, self._sequence_end = yaml.MappingEndEvent, yaml.SequenceEndEvent

    def document(self, yaml: Any) -> tuple[Any, Mark]:
        """Return the value and the marks of the document. Raises _NotPlain."""
        self._next()
        start = self._next()
        if start.__class__ is not yaml.DocumentStartEvent or start.version is not None:
            raise _NotPlain
        found = self._node(self._next(), 0)
        self._next()
        if self._next().__class__ is not yaml.StreamEndEvent:
            raise _NotPlain
        return found

    def _node(self, event: Any, depth: int) -> tuple[Any, Mark]:
        # An alias has an anchor, too.
        if event.anchor is not None or event.tag is not None:
            raise _NotPlain
        line = line_of(self._breaks, event)
        if event.__class__ is self._scalar:
            text = event.value
            _require_sound(text)
            if not event.implicit[0] or text[:1] not in FIRST_LETTERS:
                return text, Mark(line)
            value = resolved(text)
            return value, Mark(line, None, spelling_of(text, value))
        if depth == self._max_depth:
            raise _NotPlain
        read = self._items if event.__class__ is self._sequence else self._members
        return read(line, depth + 1)

    def _items(self, line: int, depth: int) -> tuple[list[Any], Mark]:
        values: list[Any] = []
        marks: list[Mark] = []
        while (event := self._next()).__class__ is not self._sequence_end:
            value, mark = self._node(event, depth)
            values.append(value)
            marks.append(mark)
        return values, Mark(line, marks)

    def _members(self, line: int, depth: int) -> tuple[dict[str, Any], Mark]:
        values: dict[str, Any] = {}
        marks: dict[str, Mark] = {}
        while (event := self._next()).__class__ is not self._mapping_end:
            if event.__class__ is not self._scalar or not (event.anchor is event.tag is None):
                raise _NotPlain
            key = event.value
            _require_sound(key)
            if key in values or key == "<<":
                raise _NotPlain
            values[key], marks[key] = self._node(self._next(), depth)
        return values, Mark(line, marks)


def _require_sound(text: str) -> None:
    if not text.isascii() and SURROGATE.search(text):
        raise _NotPlain
