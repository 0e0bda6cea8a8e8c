"""The tree of a JSON text with the position of each value, and splices that change the text.

Values are never decoded and encoded again: what a splice does not replace stays as it is written.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import pairwise
from operator import attrgetter
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.array_elements import DECODER
from evalstream.parsing.json import FAST_DEPTH, STRING, fast, is_finite
from evalstream.parsing.json_tokens import TOKEN
from evalstream.parsing.lazy_regex import LazyPattern


class JsonType(IntEnum):
    """The type of a JSON value; true and false are one."""

    NULL = 0
    BOOLEAN = 1
    NUMBER = 2
    TEXT = 3
    LIST = 4
    OBJECT = 5


class Node:
    """A value: its type, where it starts and ends in the text, and its members or items."""

    __slots__ = ("end", "items", "members", "start", "type")

    def __init__(self, kind: JsonType, start: int, end: int) -> None:
        self.type, self.start, self.end = kind, start, end
        self.members: list[JsonMember] = []
        self.items: list[Node] = []

    def member(self, name: str) -> JsonMember | None:
        """Return the member of that name, or None; names are not repeated."""
        # Not a generator, which takes three times as long.
        for member in self.members:
            if member.name == name:
                return member
        return None

    def value(self, *names: str) -> Node | None:
        """Return the value at a path of names, or None if there is none."""
        node: Node | None = self
        for name in names:
            found = None if node is None else node.member(name)
            node = None if found is None else found.value
        return node


class JsonMember(NamedTuple):
    """A member of an object: its name, where the name starts and ends, and its value."""

    name: str
    start: int
    name_end: int
    value: Node

    @property
    def end(self) -> int:
        """Where its value ends."""
        return self.value.end


def parse_tree(text: str) -> Node:
    """Parse a JSON text and return its outermost value. Raises ValueError.

    It refuses what the fast parser refuses: repeated names, NaN and infinities, unpaired
    surrogates, and more than 200 levels; and numbers such as 1e999, which overflow to an infinity.
    """
    if not is_finite(fast(text.encode())):
        raise ValueError("a number that is not finite")
    return build_tree(text)


def build_tree(text: str, start: int = 0, levels: int = FAST_DEPTH + 1) -> Node:
    """Return the value that begins at a position of a valid text, and so many levels within it."""
    holder = whole = Node(JsonType.LIST, start, start)
    around: list[Node] = []
    tokens = _VALUE.finditer(text, start)
    while token := next(tokens, None):
        name, sign = token.groups()
        if sign in "]}":
            holder.end, holder = token.end(), around.pop()
            if holder is whole:
                break
            continue
        node = Node(_TYPES.get(sign[0], JsonType.NUMBER), *token.span(2))
        if name is None:
            holder.items.append(node)
        else:
            holder.members.append(JsonMember(_decode_string(name), *token.span(1), node))
        if node.type < JsonType.LIST:
            continue
        if len(around) == levels:
            node.end = DECODER.raw_decode(text, node.start)[1]
            tokens = _VALUE.finditer(text, node.end)
        else:
            around.append(holder)
            holder = node
    return whole.items[0]


def compact(text: str, node: Node) -> str:
    """Return the text of a value without white space between its tokens."""
    return "".join(TOKEN.findall(text[node.start : node.end]))


def quote_text(text: str) -> str:
    """Return a text that is written in JSON as a JSON string that holds it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def read_string(text: str, node: Node | None) -> str | None:
    """Return the string that a value stands for, None for none and for a value of another type."""
    return decode_string(text, node) if node is not None and node.type is JsonType.TEXT else None


def decode_string(text: str, node: Node) -> str:
    """Return the string that a text value stands for."""
    return _decode_string(text[node.start : node.end])


def encode_string(value: str, *, ascii_only: bool) -> str:
    """Return a string as JSON text; `ascii_only` escapes all other characters."""
    return json.dumps(value, ensure_ascii=ascii_only)


def _decode_string(written: str) -> str:
    decoded: str = json.loads(written) if "\\" in written else written[1:-1]
    return decoded


_VALUE: Final = LazyPattern(
    rf'[\s,]*+(?:({STRING})\s*+:\s*+)?({STRING}|[{{}}\[\]]|[^\s{{}}\[\],:"]++)', re.DOTALL
)
"""A value of a valid text, up to what is within it, and before it the name of its member, if it is
one; or the end of an object or a list.
"""

_TYPES: Final = {
    "n": JsonType.NULL,
    "t": JsonType.BOOLEAN,
    "f": JsonType.BOOLEAN,
    '"': JsonType.TEXT,
    "[": JsonType.LIST,
    "{": JsonType.OBJECT,
}


class JsonLayout(NamedTuple):
    """The white space and punctuation of an object between braces, names and values."""

    opening: str = ""
    separator: str = ", "
    colon: str = ": "
    closing: str = ""

    def nest(self) -> JsonLayout:
        """Return the layout of an object nested in one of this layout."""
        if not _breaks(self.opening):
            separator = _after_colon(self.colon) if _breaks(self.separator) else self.separator
            return self._replace(separator=separator, closing=self.opening)
        step = _indentation(self.opening).removeprefix(_indentation(self.closing))
        opening, separator, closing = (
            space + step if _breaks(space) else space
            for space in (self.opening, self.separator, self.closing)
        )
        return JsonLayout(opening, separator, self.colon, closing)

    def member(self, name: str, value: str) -> str:
        """Return the text of a member from the JSON texts of its name and value."""
        return f"{name}{self.colon}{value}"

    def whole(self, members: Sequence[str]) -> str:
        """Return the text of an object from the texts of its members."""
        if not members:
            return "{}"
        return f"{{{self.opening}{self.separator.join(members)}{self.closing}}}"


def _detect_layout(characters: str, node: Node, outer: JsonLayout | None) -> JsonLayout:
    """Return the layout of an object in a text.

    It is derived from the layout of the `outer` object if there are too few members to show it.
    """
    members = node.members
    if not members:
        return JsonLayout() if outer is None else outer.nest()
    first, last = members[0], members[-1]
    opening = characters[node.start + 1 : first.start]
    colon = characters[last.name_end : last.value.start]
    seen = Counter(characters[member.end : after.start] for member, after in pairwise(members))
    if seen:
        separator = seen.most_common(1)[0][0]
    elif _breaks(opening):
        separator = f",{opening}"
    elif outer is not None and not _breaks(outer.separator):
        separator = outer.separator
    else:
        separator = _after_colon(colon)
    return JsonLayout(opening, separator, colon, characters[last.end : node.end - 1])


def _breaks(space: str) -> bool:
    return "\n" in space or "\r" in space


def _indentation(space: str) -> str:
    return space[max(space.rfind("\n"), space.rfind("\r")) + 1 :]


def _after_colon(colon: str) -> str:
    return f",{colon.partition(':')[2]}"


class _Edit(NamedTuple):
    """A text that replaces the characters from start to end."""

    start: int
    end: int
    text: str


class Splices:
    """Changes to a text, by the nodes of its tree; nothing else of the text changes.

    A value that is replaced or dropped takes no further splices within it. Of several replacements
    of one value the last counts.
    """

    def __init__(self, text: str, tree: Node) -> None:
        self.text, self.tree = text, tree
        self.ascii_only = text.isascii()
        self._edits: dict[int, _Edit] = {}
        self._dropped: dict[int, tuple[Node, set[str]]] = {}
        self._added: dict[int, tuple[Node, JsonLayout, list[str]]] = {}

    def of(self, node: Node) -> str:
        """Return the text of a value before any change."""
        return self.text[node.start : node.end]

    def as_text(self, node: Node) -> str:
        """Return a value as a JSON string: a text as it is written, the text of any other value."""
        is_text = node.type is JsonType.TEXT
        return self.of(node) if is_text else quote_text(compact(self.text, node))

    def replace(self, node: Node, text: str) -> None:
        """Replace a value by a JSON text."""
        self._edits[node.start] = _Edit(node.start, node.end, text)

    def rename(self, member: JsonMember, name: str) -> None:
        """Give a member another name."""
        written = encode_string(name, ascii_only=self.ascii_only)
        self._edits[member.start] = _Edit(member.start, member.name_end, written)

    def drop(self, holder: Node, name: str) -> None:
        """Drop a member of an object with the comma before it, or behind it if it is the first."""
        self._dropped.setdefault(id(holder), (holder, set()))[1].add(name)

    def is_dropped(self, holder: Node, name: str) -> bool:
        """Tell whether a member was dropped."""
        return name in self._dropped.get(id(holder), (holder, set()))[1]

    def add(self, holder: Node, name: str, value: str) -> None:
        """Add a member with a JSON text as its value behind the others of an object."""
        _, layout, added = self._additions(holder)
        added.append(layout.member(encode_string(name, ascii_only=self.ascii_only), value))

    def add_object(self, holder: Node, name: str, members: Mapping[str, str]) -> None:
        """Add a member whose value is an object of members with JSON texts, laid out alike."""
        self.add(holder, name, self.object_text(holder, members))

    def object_text(self, holder: Node, members: Mapping[str, str]) -> str:
        """Return the text of an object of members with JSON texts, laid out for a member."""
        layout = self._additions(holder)[1].nest()
        names = (encode_string(name, ascii_only=self.ascii_only) for name in members)
        return layout.whole(list(map(layout.member, names, members.values())))

    def apply(self) -> str:
        """Return the changed text."""
        edits = [*self._edits.values(), *self._drops(), *self._insertions()]
        edits.sort(key=lambda edit: (edit.start, edit.end))
        parts, done = [], 0
        for start, end, text in edits:
            parts += [self.text[done:start], text]
            done = end
        return "".join((*parts, self.text[done:]))

    def _additions(self, holder: Node) -> tuple[Node, JsonLayout, list[str]]:
        known = self._added.get(id(holder))
        if known is None:
            layout = self._layout(holder)
            known = self._added[id(holder)] = (holder, layout, [])
        return known

    def _layout(self, holder: Node) -> JsonLayout:
        """Return the layout of an object, with those of the objects around it in mind."""
        layout: JsonLayout | None = None
        for node in _objects_to(self.tree, holder):
            layout = _detect_layout(self.text, node, layout)
        return layout or JsonLayout()

    def _drops(self) -> Iterator[_Edit]:
        for holder, names in self._dropped.values():
            members = holder.members
            kept = [place for place, member in enumerate(members) if member.name not in names]
            first = kept[0] if kept else len(members)
            if first:
                end = members[first].start if kept else members[-1].end
                yield _Edit(members[0].start, end, "")
            for place in range(first + 1, len(members)):
                if members[place].name in names:
                    yield _Edit(members[place - 1].end, members[place].end, "")

    def _insertions(self) -> Iterator[_Edit]:
        for holder, layout, added in self._added.values():
            if not added:
                continue
            names = self._dropped.get(id(holder), (holder, set[str]()))[1]
            if not holder.members:
                yield _Edit(holder.start, holder.end, layout.whole(added))
                continue
            all_dropped = all(member.name in names for member in holder.members)
            lead = "" if all_dropped else layout.separator
            end = holder.members[-1].end
            yield _Edit(end, end, lead + layout.separator.join(added))


def _objects_to(tree: Node, holder: Node) -> Sequence[Node]:
    """Return the objects around a node and the node itself, from the outermost one on."""
    path, node = [], tree
    while node is not holder:
        if node.type is JsonType.OBJECT:
            path.append(node)
        within: Sequence[JsonMember | Node] = node.members or node.items
        child = within[bisect_right(within, holder.start, key=_start) - 1]
        node = child.value if isinstance(child, JsonMember) else child
    return [*path, holder]


_start: Final = attrgetter("start")
