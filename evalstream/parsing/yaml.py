"""YAML 1.2 parsing, composed here from the events of PyYAML.

`yaml.compose` is not used: with libyaml it recurses in C, so that deep brackets crash the process,
and it builds all nodes before any limit can stop it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from evalstream.model.block import MEBIBYTE
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Position
from evalstream.model.signals import STOPPING
from evalstream.parsing.json import SyntaxIssue, pointer, shorten, split_pointer
from evalstream.parsing.limits import MOST_YAML_BYTES, MOST_YAML_NODES, TooLarge
from evalstream.parsing.strict_json import SURROGATE, excerpt
from evalstream.parsing.yaml_scalars import (
    CORE_TAGS,
    FIRST_LETTERS,
    INVALID,
    OLD_BREAKS,
    Mark,
    event_position,
    line_breaks,
    number_spelling,
    resolve_plain,
    resolve_tagged,
    unknown_tag,
)

OLDER: Final = "older-yaml"
"""The name of the notice for a document that declares an older version of YAML."""

MOST_UNFOLDED: Final = 1_000_000
"""Most characters and nodes that all aliases of a document may expand to."""

_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]+")
_STAND_INS: Final = range(0x10F000, 0x10FFFD)
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")

_Path = tuple[str | int, ...]


NOWHERE: Final = Mark(0, 0)
"""The mark of a node without a known line."""


class Yaml(NamedTuple):
    """A value, unless not `readable`, with the mark of its root, and all issues."""

    value: Any
    mark: Mark
    readable: bool
    issues: list[SyntaxIssue]


def read_yaml(text: bytes, max_depth: int) -> Yaml:
    """Parse the one document in a text, and return all violations.

    No tag creates an object, aliases expand to at most a million characters, and time and memory
    grow with the text alone. Raises TooLarge for a text of too many bytes or nodes, and Stopped.
    """
    if len(text) > MOST_YAML_BYTES:
        most = MOST_YAML_BYTES // MEBIBYTE
        raise TooLarge(f"it is larger than {most} MiB, the limit for YAML documents")
    try:
        characters = text.decode()
    except UnicodeDecodeError as error:
        return Yaml(None, NOWHERE, False, [_undecodable(text, error)])
    controls = _CONTROL.search(characters)
    if controls:
        return Yaml(None, NOWHERE, False, [_controls(characters, controls)])
    # Only YAML documents load PyYAML.
    import yaml

    return _Reader(characters, max_depth, yaml).read()


def find_marks(root: Mark, pointers: Iterable[str]) -> dict[str, Position]:
    """Return the positions of the nodes that JSON Pointers name, as in JSON documents.

    A pointer to a missing member has the position of the object that lacks it; other pointers that
    name nothing are left out.
    """
    found = {path: _mark_at(root, path) or _holder_at(root, path) for path in pointers}
    return {
        path: Position(mark.line, mark.column)
        for path, mark in found.items()
        if mark is not None and mark.line
    }


def _holder_at(mark: Mark, path: str) -> Mark | None:
    """Return the mark of the object that lacks the member which a pointer names."""
    found = _mark_at(mark, path.rpartition("/")[0]) if path else None
    return found if found is not None and isinstance(found.inner, dict) else None


def spelling_at(root: Mark, path: str) -> str | None:
    """Return the text of the number at a JSON Pointer if JSON would write it differently."""
    found = _mark_at(root, path)
    return None if found is None else found.spelling


def _mark_at(mark: Mark, path: str) -> Mark | None:
    """Return the mark of the node at a JSON Pointer, or None if there is none."""
    for key in split_pointer(path):
        inner = mark.inner
        if isinstance(inner, list):
            known = key.isascii() and key.isdigit() and len(key) < 10 and int(key) < len(inner)
            found = inner[int(key)] if known else None
        else:
            found = (inner or {}).get(key)
        if found is None:
            return None
        mark = found
    return mark


def _undecodable(text: bytes, error: UnicodeDecodeError) -> SyntaxIssue:
    start = error.start
    if text.startswith(_WIDE):
        message = "the document is in UTF-16 or UTF-32, not UTF-8"
        return SyntaxIssue("byte-order-mark", message, line=1)
    message = f"byte {text[start]:#04x} at byte {start:,} is not valid UTF-8: {error.reason}"
    return SyntaxIssue("invalid-utf8", message, offset=start, line=text.count(b"\n", 0, start) + 1)


def _controls(characters: str, found: re.Match[str]) -> SyntaxIssue:
    start, length = found.start(), len(found.group())
    kind = "NUL" if set(found.group()) == {"\0"} else "raw control"
    noun = "character" if length == 1 else "characters"
    message = f"{length} {kind} {noun} at byte {len(characters[:start].encode()):,}"
    return _place_issue("nul-bytes", message, characters, start)


def _place_issue(
    name: str, message: str, characters: str, position: int, path: _Path | None = None
) -> SyntaxIssue:
    start = characters.rfind("\n", 0, position) + 1
    shown, caret = excerpt(characters[start:].partition("\n")[0].rstrip("\r"), position - start)
    line = characters.count("\n", 0, position) + 1
    place = None if path is None else pointer(path)
    return SyntaxIssue(name, message, line=line, pointer=place, excerpt=shown, caret=caret)


class _Node(NamedTuple):
    """A node with its expanded size, for aliases to it.

    `key` is the text of a scalar; `weight` counts characters, and `nodes` nodes, with aliases
    expanded; `height` is the nesting of a container.
    """

    value: Any
    mark: Mark
    weight: int = 1
    height: int = 0
    nodes: int = 1
    key: str | None = None


class _StopReading(Exception):
    """The rest of the text cannot be parsed, or need not be."""


class _Reader:
    """Builds a value from the events of one document, recursing to the allowed depth."""

    def __init__(self, characters: str, max_depth: int, yaml: Any) -> None:
        self._characters, self._max_depth = characters, max_depth
        self._breaks = line_breaks(characters)
        self._yaml = yaml
        self._ends = yaml.MappingEndEvent, yaml.SequenceEndEvent
        self._flat = yaml.ScalarEvent, yaml.AliasEvent
        self._text, self._restored = _without_old_breaks(characters)
        self._next: Callable[[], Any] = lambda: None
        self._anchors: dict[str, _Node | None] = {}
        self._unfolded = self._nodes = 0
        self._readable = True
        self._issues: list[SyntaxIssue] = []

    def read(self) -> Yaml:
        """Parse the text."""
        yaml = self._yaml
        root, documents = _Node(None, Mark(1, 1)), 0
        try:
            # The C loader where PyYAML was built with libyaml.
            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(self._text)
            self._next = loader.get_event
            while (event := self._next()).__class__ is not yaml.StreamEndEvent:
                if isinstance(event, yaml.NodeEvent):
                    root = self._node(event, ())
                elif isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    self._begin(event, documents)
        except _StopReading:
            pass
        except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
            self._record_library_error(error)
        return Yaml(root.value, root.mark, self._readable, self._issues)

    def _begin(self, event: Any, documents: int) -> None:
        if documents > 1:
            message = "a second document begins; expected one document per file"
            self._refuse(message, event, None, stop=True)
        if event.version is not None and tuple(event.version) < (1, 2):
            version = ".".join(map(str, event.version))
            message = f"declares YAML {version} but is read as YAML 1.2, where no is a string"
            position = event.start_mark.index
            self._issues.append(_place_issue(OLDER, message, self._characters, position))

    def _node(self, event: Any, path: _Path, *, is_key: bool = False) -> _Node:
        """Return the node that begins with an event, read to its end. Raises TooLarge."""
        scalar, alias = self._flat
        if event.__class__ is alias:
            return self._alias(event, path)
        self._nodes += 1
        if self._nodes > MOST_YAML_NODES:
            message = f"it has more than {MOST_YAML_NODES:,} nodes, the limit for YAML documents"
            raise TooLarge(message)
        if event.__class__ is scalar:
            node = self._scalar(event, path, is_key)
        else:
            STOPPING.check()
            node = self._container(event, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _scalar(self, event: Any, path: _Path, is_key: bool) -> _Node:
        text, place = self._restored(event.value), event_position(self._breaks, event)
        if not text.isascii() and SURROGATE.search(text):
            message = "unpaired surrogate: UTF-8 cannot encode it"
            self._note("unpaired-surrogate", message, event, path)
            text = SURROGATE.sub("\ufffd", text)
        if event.tag is None and (not event.implicit[0] or text[:1] not in FIRST_LETTERS):
            # Quoted or ordinary text, which nearly all scalars are.
            return _Node(text, Mark(*place), len(text) + 1, key=text)
        is_plain, value = event.implicit[0] and event.tag is None, text
        try:
            value = resolve_plain(text) if is_plain else resolve_tagged(text, event.tag or "!")
        except ValueError as error:
            self._refuse(str(error), event, path)
        if is_plain and text == "<<" and is_key:
            message = "YAML 1.2 has no merge keys (<<); write the members out"
            self._refuse(message, event, path)
        mark = Mark(*place, None, number_spelling(text, value) if is_plain else None)
        return _Node(value, mark, len(text) + 1, key=text)

    def _alias(self, event: Any, path: _Path) -> _Node:
        known = self._anchors.get(event.anchor)
        if known is None:
            is_open = event.anchor in self._anchors
            reason = "refers to a node that contains it" if is_open else "has no anchor"
            self._refuse(f"the alias {shorten(event.anchor)!r} {reason}", event, path)
            known = _Node(None, Mark(*event_position(self._breaks, event)), key="")
        self._unfolded += known.weight
        self._nodes += known.nodes
        if self._unfolded > MOST_UNFOLDED or self._nodes > MOST_YAML_NODES:
            most = f"{MOST_UNFOLDED:,} characters or {MOST_YAML_NODES:,} nodes"
            self._refuse(f"the aliases expand to more than {most}", event, path, stop=True)
        self._refuse_deeper(len(path) + known.height, event)
        return known

    def _container(self, event: Any, path: _Path) -> _Node:
        self._refuse_deeper(len(path) + 1, event)
        is_map = isinstance(event, self._yaml.MappingStartEvent)
        if event.tag not in (None, "!", CORE_TAGS + ("map" if is_map else "seq")):
            self._refuse(unknown_tag(event.tag), event, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        keys: list[_Node] = []
        nodes: list[_Node] = []
        times: dict[str, int] = {}
        while (inner := self._next()).__class__ not in self._ends:
            step: str | int = len(nodes)
            if is_map:
                keys.append(self._key(inner, path, times))
                step, inner = keys[-1].key or "", self._next()
            nodes.append(self._node(inner, (*path, step)))
        value, marks = [node.value for node in nodes], [node.mark for node in nodes]
        names = [node.key or "" for node in keys]
        inner = dict(zip(names, marks, strict=True)) if is_map else marks
        return _Node(
            dict(zip(names, value, strict=True)) if is_map else value,
            Mark(*event_position(self._breaks, event), inner),
            weight=1 + sum([node.weight for node in (*keys, *nodes)]),
            height=1 + max([node.height for node in nodes], default=0),
            nodes=1 + len(keys) + sum([node.nodes for node in nodes]),
        )

    def _key(self, event: Any, path: _Path, times: dict[str, int]) -> _Node:
        """Read a key; a repeated one is reported once. `times` counts the keys of the object."""
        is_flat = event.__class__ in self._flat
        node = self._node(event, path, is_key=True) if is_flat else _Node(None, NOWHERE)
        if node.key is None:
            message = "a list or an object cannot be a key"
            self._refuse(message, event, path, stop=True)
        key = node.key or ""
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            message = f"the key {shorten(key)!r} occurs more than once in one object"
            self._note("duplicate-key", message, event, (*path, key))
        return node

    def _note(self, name: str, message: str, event: Any, path: _Path | None) -> None:
        place = None if path is None else pointer(path)
        line, _ = event_position(self._breaks, event)
        self._issues.append(SyntaxIssue(name, message, line=line, pointer=place))

    def _refuse(self, message: str, event: Any, path: _Path | None, *, stop: bool = False) -> None:
        """Record an issue that leaves the document without a value to check."""
        position = event.start_mark.index
        self._issues.append(_place_issue(INVALID, message, self._characters, position, path))
        self._readable = False
        if stop:
            raise _StopReading

    def _refuse_deeper(self, depth: int, event: Any) -> None:
        if depth > self._max_depth:
            message = f"nested deeper than {self._max_depth} levels"
            self._note("too-deep-or-too-big", message, event, None)
            self._readable = False
            raise _StopReading

    def _record_library_error(self, error: Exception) -> None:
        self._readable = False
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        position = min(len(self._characters) if mark is None else mark.index, len(self._characters))
        reason = self._restored(str(getattr(error, "problem", None) or "not valid YAML"))
        if self._characters[position : position + 1] == "\t" and "token" in reason:
            reason = "a tab is used for indentation; use spaces"
        context = getattr(error, "context", None)
        column = position - self._characters.rfind("\n", 0, position)
        message = f"{reason} at column {column}" + (f", {context}" if context else "")
        # libyaml looks ahead, and from 0.2.6 on has a limit of its own.
        name = "too-deep-or-too-big" if "nesting depth" in reason else INVALID
        self._issues.append(_place_issue(name, message, self._characters, position))


def _without_old_breaks(characters: str) -> tuple[str, Callable[[str], str]]:
    """Replace the line breaks of YAML 1.1; return the text and a function to restore them."""
    if not any(letter in characters for letter in OLD_BREAKS):
        return characters, str
    free: Iterator[int] = (code for code in _STAND_INS if chr(code) not in characters)
    stand_ins = {ord(letter): next(free) for letter in OLD_BREAKS}
    back = {code: letter for letter, code in stand_ins.items()}
    return characters.translate(stand_ins), lambda text: text.translate(back)
