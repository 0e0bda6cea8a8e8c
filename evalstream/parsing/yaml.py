"""YAML in: the only home of PyYAML, whose events are read here by the rules of YAML 1.2."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from evalstream.model.block import MEBIBYTE
from evalstream.model.errors import MissingExtra
from evalstream.model.signals import STOPPING
from evalstream.parsing.json import pointer, shorten
from evalstream.parsing.limits import MOST_YAML_BYTES, MOST_YAML_NODES, TooLarge
from evalstream.parsing.strict_json import EXCERPT_CHARACTERS, SyntaxIssue
from evalstream.parsing.yaml_scalars import (
    CORE_TAGS,
    Mark,
    NotOfTag,
    is_finite,
    resolved,
    spelling_of,
    tagged,
)

INVALID: Final = "invalid-yaml"
"""The name of troubles that no text in JSON can have."""

OLDER: Final = "older-yaml"
"""The name of the remark that a document declares an older version of YAML."""

MOST_UNFOLDED: Final = 1_000_000
"""How many characters and nodes all aliases of a document may stand for together."""

_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_OLD_BREAKS: Final = "\x85\u2028\u2029"
"""Line breaks in YAML 1.1, and so to the library, but plain characters in YAML 1.2."""

_STAND_INS: Final = range(0x10F000, 0x10FFFD)
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")


class Yaml(NamedTuple):
    """What was read: the value, the marks of its nodes, and all troubles.

    Without `readable` there is no value that other rules could look at. `spelled` says that
    the value holds numbers to be settled (`yaml_scalars.settle`).
    """

    value: Any
    mark: Mark
    readable: bool
    troubles: list[SyntaxIssue]
    spelled: bool = False


def read_yaml(text: bytes, max_depth: int) -> Yaml:
    """Read the one document in a text, and say everything that is wrong with it.

    No tag makes an object, aliases unfold to at most a million characters, and time and memory
    grow with the text alone. Raises MissingExtra where PyYAML is not installed, TooLarge for a
    text of too many bytes or nodes, and Stopped.
    """
    if len(text) > MOST_YAML_BYTES:
        most = MOST_YAML_BYTES // MEBIBYTE
        raise TooLarge(f"it has more than {most} MiB, the most that a document in YAML may have")
    try:
        characters = text.decode()
    except UnicodeDecodeError as error:
        return _unreadable(_undecodable(text, error))
    controls = _CONTROL.search(characters)
    if controls:
        return _unreadable(_controls(characters, controls))
    return _Composer(characters, max_depth).read()


def line_at(mark: Mark, path: str | None) -> int | None:
    """Return the line on which the node at a JSON Pointer begins, None where none is known.

    The nearest node round the place stands for one that has no line of its own.
    """
    if path is None:
        return None
    for step in path.split("/")[1:]:
        inner, key = mark.inner, step.replace("~1", "/").replace("~0", "~")
        if isinstance(inner, list):
            known = key.isascii() and key.isdigit() and len(key) < 10 and int(key) < len(inner)
            found = inner[int(key)] if known else None
        else:
            found = (inner or {}).get(key)
        if found is None:
            break
        mark = found
    return mark.line or None


def _unreadable(trouble: SyntaxIssue) -> Yaml:
    return Yaml(None, Mark(0), False, [trouble])


def _undecodable(text: bytes, error: UnicodeDecodeError) -> SyntaxIssue:
    start = error.start
    line = text.count(b"\n", 0, start) + 1
    if text.startswith(_WIDE):
        message = "the document is in UTF-16 or UTF-32, not UTF-8"
        return SyntaxIssue("byte-order-mark", message, line=1)
    message = f"byte {text[start]:#04x} at byte {start:,} is no UTF-8: {error.reason}"
    return SyntaxIssue("invalid-utf8", message, offset=start, line=line)


def _controls(characters: str, found: re.Match[str]) -> SyntaxIssue:
    offset, length = len(characters[: found.start()].encode()), len(found.group())
    kind = "NUL" if set(found.group()) == {"\0"} else "raw control"
    noun = "character" if length == 1 else "characters"
    message = f"{length} {kind} {noun} at byte {offset:,}"
    line = characters.count("\n", 0, found.start()) + 1
    return _placed("nul-bytes", message, characters, found.start(), line)


def _placed(
    name: str, message: str, characters: str, position: int, line: int, path: Any = None
) -> SyntaxIssue:
    """Return a trouble with its line and an excerpt."""
    start = max(characters.rfind("\n", 0, position) + 1, position - EXCERPT_CHARACTERS // 2)
    shown = characters[start : start + EXCERPT_CHARACTERS].partition("\n")[0].rstrip("\r")
    return SyntaxIssue(
        name,
        message,
        line=line,
        pointer=None if path is None else pointer(path),
        excerpt="".join(letter if letter.isprintable() else "·" for letter in shown),
        caret=position - start,
    )


class _Anchored(NamedTuple):
    """A node that aliases can stand for: how much it unfolds to, and how deep it nests.

    `key` is its text, where it is a scalar; `nodes` counts it and those in it, aliases unfolded.
    """

    value: Any
    mark: Mark
    weight: int
    height: int
    key: str | None
    nodes: int = 1


class _Frame:
    """A container that is being read."""

    def __init__(self, line: int, anchor: str | None, *, is_map: bool) -> None:
        self.line, self.anchor, self.is_map = line, anchor, is_map
        self.value: Any = {} if is_map else []
        self.marks: Any = {} if is_map else []
        self.weight, self.height, self.nodes = 1, 1, 1
        self.key: str | None = None
        self.waits_for_key = is_map
        self.times: dict[str, int] = {}

    @property
    def step(self) -> str | int:
        """The key or index of the node that comes next."""
        return (self.key or "") if self.is_map else len(self.value)


class _StopReading(Exception):
    """What follows in the text cannot be told, or is not worth reading."""


class _Composer:
    """Makes a value of the events of one document, without recursion."""

    def __init__(self, characters: str, max_depth: int) -> None:
        self._characters, self._max_depth = characters, max_depth
        self._breaks = [found.start() for found in re.finditer("\n", characters)]
        self._text, self._restored = _without_old_breaks(characters)
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self._unfolded = self._nodes = 0
        self._documents = 0
        self._spelled = False
        self._readable = True
        self._troubles: list[SyntaxIssue] = []
        self._root: tuple[Any, Mark] = (None, Mark(1))

    def read(self) -> Yaml:
        """Read the text."""
        yaml = _library()
        actions: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceStartEvent: self._sequence,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.DocumentStartEvent: self._document,
        }
        try:
            for event in _events(yaml, self._text):
                STOPPING.check()
                action = actions.get(type(event))
                if action is not None:
                    action(event)
        except _StopReading:
            pass
        except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
            self._broken(error)
        value, mark = self._root
        return Yaml(value, mark, self._readable, self._troubles, self._spelled)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            message = "a second document begins; one file holds one document"
            self._refuse(message, event, path=None, stop=True)
        if event.version is not None and tuple(event.version) < (1, 2):
            version = ".".join(map(str, event.version))
            message = f"declares YAML {version} and is read as YAML 1.2, in which no is a text"
            self._troubles.append(self._trouble(OLDER, message, event, None))

    def _scalar(self, event: Any) -> None:
        text = self._restored(event.value)
        if _SURROGATE.search(text):
            message = "half of a surrogate pair: no UTF-8 text can hold it"
            self._note("unpaired-surrogate", message, event)
            text = _SURROGATE.sub("\ufffd", text)
        value = self._meaning(text, event)
        is_plain = event.implicit[0] and event.tag is None
        spelling = spelling_of(text, value) if is_plain else None
        self._spelled = self._spelled or spelling is not None
        if not is_plain and not is_finite(value):
            self._refuse("it is tagged as a number and is not a finite one", event)
        if is_plain and text == "<<" and self._wants_key():
            self._refuse("merge keys (<<) are no part of YAML 1.2; write the members out", event)
        mark = Mark(self._line(event), None, spelling)
        self._count()
        self._take(_Anchored(value, mark, len(text) + 1, 0, text), event.anchor)

    def _meaning(self, text: str, event: Any) -> Any:
        tag = event.tag
        if tag is None:
            return resolved(text) if event.implicit[0] else text
        try:
            return tagged(text, tag)
        except NotOfTag:
            self._refuse(
                f"the text is no {tag.removeprefix(CORE_TAGS)}, as which it is tagged", event
            )
        except KeyError:
            self._refuse(_unknown_tag(tag), event)
        return text

    def _alias(self, event: Any) -> None:
        known = self._anchors.get(event.anchor)
        if known is None:
            is_open = event.anchor in self._anchors
            reason = "stands for a node that it is a part of" if is_open else "has no anchor"
            self._refuse(f"the alias {shorten(event.anchor)!r} {reason}", event)
            known = _Anchored(None, Mark(self._line(event)), 1, 0, None)
        self._unfolded += known.weight
        self._nodes += known.nodes
        if self._unfolded > MOST_UNFOLDED or self._nodes > MOST_YAML_NODES:
            most = f"{MOST_UNFOLDED:,} characters or {MOST_YAML_NODES:,} nodes"
            self._refuse(f"the aliases unfold to more than {most}", event, stop=True)
        if len(self._frames) + known.height > self._max_depth:
            self._too_deep(event)
        self._take(known, None)

    def _mapping(self, event: Any) -> None:
        self._open(event, "map", is_map=True)

    def _sequence(self, event: Any) -> None:
        self._open(event, "seq", is_map=False)

    def _open(self, event: Any, kind: str, *, is_map: bool) -> None:
        if event.tag not in (None, "!", CORE_TAGS + kind):
            self._refuse(_unknown_tag(event.tag), event)
        if self._wants_key():
            self._refuse("a list or an object stands in the place of a key", event)
        if len(self._frames) >= self._max_depth:
            self._too_deep(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._count()
        self._frames.append(_Frame(self._line(event), event.anchor, is_map=is_map))

    def _end(self, event: Any) -> None:
        del event
        frame = self._frames.pop()
        mark = Mark(frame.line, frame.marks)
        weight, height, nodes = frame.weight, frame.height, frame.nodes
        anchored = _Anchored(frame.value, mark, weight, height, None, nodes)
        self._take(anchored, frame.anchor)

    def _take(self, node: _Anchored, anchor: str | None) -> None:
        """Put a finished node where it belongs."""
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._frames:
            self._root = (node.value, node.mark)
            return
        frame = self._frames[-1]
        frame.weight += node.weight
        frame.nodes += node.nodes
        frame.height = max(frame.height, node.height + 1)
        if not frame.is_map:
            frame.value.append(node.value)
            frame.marks.append(node.mark)
        elif frame.waits_for_key:
            frame.waits_for_key = False
            frame.key = node.key if node.key is not None else ""
            self._repeated(frame, node.mark.line)
        else:
            frame.waits_for_key = True
            frame.value[frame.key], frame.marks[frame.key] = node.value, node.mark

    def _repeated(self, frame: _Frame, line: int) -> None:
        """Count a key that stands again in its object; it is told of once."""
        key = frame.key or ""
        if key not in frame.value:
            return
        frame.times[key] = frame.times.get(key, 1) + 1
        if frame.times[key] == 2:
            message = f"the key {shorten(key)!r} stands more than once in one object"
            place = pointer(self._path())
            self._troubles.append(SyntaxIssue("duplicate-key", message, line=line, pointer=place))

    def _count(self) -> None:
        """Count one more node. Raises TooLarge."""
        self._nodes += 1
        if self._nodes > MOST_YAML_NODES:
            message = f"it has more than {MOST_YAML_NODES:,} nodes, the most that YAML may have"
            raise TooLarge(message)

    def _wants_key(self) -> bool:
        return bool(self._frames) and self._frames[-1].waits_for_key

    def _path(self) -> list[str | int]:
        """Return the path of the node that comes next, of its object where it is a key."""
        steps = [frame.step for frame in self._frames]
        return steps[:-1] if self._wants_key() else steps

    def _line(self, event: Any) -> int:
        return self._line_at(event.start_mark.index)

    def _line_at(self, position: int) -> int:
        return bisect_right(self._breaks, position - 1) + 1

    def _trouble(self, name: str, message: str, event: Any, path: Any) -> SyntaxIssue:
        position = min(event.start_mark.index, len(self._characters))
        return _placed(name, message, self._characters, position, self._line(event), path)

    def _note(self, name: str, message: str, event: Any) -> None:
        place = pointer(self._path())
        line = self._line(event)
        self._troubles.append(SyntaxIssue(name, message, line=line, pointer=place))

    def _refuse(self, message: str, event: Any, *, stop: bool = False, path: Any = ()) -> None:
        """Note what makes the document no value that could be judged."""
        place = self._path() if path == () else path
        self._troubles.append(self._trouble(INVALID, message, event, place))
        self._readable = False
        if stop:
            raise _StopReading

    def _too_deep(self, event: Any) -> None:
        message = f"nested deeper than {self._max_depth} levels"
        self._troubles.append(SyntaxIssue("too-deep-or-too-big", message, line=self._line(event)))
        self._readable = False
        raise _StopReading

    def _broken(self, error: Exception) -> None:
        """Note where and why the library could read no further."""
        self._readable = False
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        position = len(self._characters) if mark is None else mark.index
        position = min(position, len(self._characters))
        said = self._restored(str(getattr(error, "problem", None) or "it cannot be read"))
        if self._characters[position : position + 1] == "\t" and "token" in said:
            said = "a tab stands where only spaces may indent"
        context = getattr(error, "context", None)
        column = position - self._characters.rfind("\n", 0, position)
        message = f"{said} at column {column}" + (f", {context}" if context else "")
        line = self._line_at(position)
        self._troubles.append(_placed(INVALID, message, self._characters, position, line))


def _unknown_tag(tag: str) -> str:
    shown = tag.replace(CORE_TAGS, "!!", 1)
    return f"the tag {shorten(shown)} is none of YAML 1.2's core schema; no object is made of it"


def _without_old_breaks(characters: str) -> tuple[str, Callable[[str], str]]:
    """Return a text without line breaks that are none in YAML 1.2, and what brings them back."""
    if not any(letter in characters for letter in _OLD_BREAKS):
        return characters, str
    free: Iterator[int] = (code for code in _STAND_INS if chr(code) not in characters)
    stand_ins = {ord(letter): next(free) for letter in _OLD_BREAKS}
    back = {code: letter for letter, code in stand_ins.items()}
    return characters.translate(stand_ins), lambda text: text.translate(back)


def _events(yaml: Any, text: str) -> Iterator[Any]:
    """Return the events of a text, from libyaml where PyYAML was built with it."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events: Iterator[Any] = yaml.parse(text, Loader=loader)
    return events


def _library() -> Any:
    try:
        import yaml
    except ImportError as error:
        message = "YAML documents need: pip install 'evalstream[yaml]'"
        raise MissingExtra(message) from error
    return yaml
