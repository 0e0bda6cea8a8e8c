"""The compiled row rewriter leaves a row, or rewrites it as the exact path does."""

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from depth import deep, examples, is_deep
from fuzz.blocks import some_lines
from fuzz.lines import spoilt
from fuzz.rewritings import some_rewriting
from fuzz.templates import EVALUATION, templates
from hypothesis import given
from hypothesis import strategies as st

from evalstream.formats.eee import versions
from evalstream.formats.eee.changes.row_rewriter import RowRepairer, RowRepairs, RowRewriter
from evalstream.formats.eee.changes.rows import RowMigration, RowMigrator
from evalstream.model.changes import Applied, Change, ChangeClass, ChangeKind, ChangeTally
from evalstream.parsing.json_tree import JsonType, Node, Splices, decode_string, parse_tree
from evalstream.parsing.native.rewrite import CompiledPlace, rewriters
from evalstream.parsing.reshape import Action, Place, Probe, RowPlace, reshape
from evalstream.parsing.reshape import Test as WatchTest
from evalstream.rules.base import RepairAction

pytestmark = pytest.mark.skipif(rewriters() is None, reason="the scanner is not compiled")

SET = ChangeKind("set", ChangeClass.DECIDED, "set")


def block(chance: random.Random, most: int) -> bytes:
    """Return rows, some of them damaged, without blank lines."""
    sound = templates(chance.choice(versions.INSTANCE_VERSIONS))
    lines = []
    for line in [*some_lines(chance, most), *chance.choices(sound, k=most)]:
        text = line.rstrip(b"\r\n")
        while chance.random() < 0.4:
            text = spoilt(text, chance)
        lines += [piece for piece in text.split(b"\n") if piece.strip()]
    return b"".join(line + b"\n" for line in lines)


def exactly(
    exact: RowMigrator | RowRepairer, data: bytes
) -> tuple[bytes, ChangeTally, list[int], dict[int, list[Applied]]]:
    """Return rewritten rows, their changes, the numbers of those left, and the changes of each."""
    tally, parts, left, changes = ChangeTally(), [], [], {}
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            text, applied = exact.rewrite(line.decode())
        except ValueError:
            left.append(number)
            continue
        parts.append(text.encode() + b"\n")
        tally.add_each(applied, number)
        changes[number] = applied
    return b"".join(parts), tally, left, changes


def check_block(chance: random.Random, most: int) -> tuple[int, int]:
    """Compare both paths on a block; return the number of rows, and of those compiled."""
    asked, data = some_rewriting(chance), block(chance, most)
    exact = RowMigrator(asked) if isinstance(asked, RowMigration) else RowRepairer(asked)
    expected, tally, left, _ = exactly(exact, data)
    rewritten = RowRewriter(asked).rewrite(data)
    assert rewritten.data == expected
    assert rewritten.rows == expected.count(b"\n")
    assert [row.line for row in rewritten.left] == left
    assert list(rewritten.tally.seen.items()) == list(tally.seen.items())
    compiled = CompiledPlace.from_place(asked.place())
    return data.count(b"\n"), 0 if compiled is None else compiled.rewrite(data).rows


@pytest.mark.parametrize("first", [0, deep(40), deep(80), deep(120)])
def test_blocks_of_rows_are_rewritten_alike(first: int) -> None:
    rows = compiled = 0
    for seed in range(first, first + (40 if is_deep() else 10)):
        more = check_block(random.Random(seed), 60)
        rows, compiled = rows + more[0], compiled + more[1]
    assert compiled > rows / 10


names = st.sampled_from(["a", "b", "c", "é", "", "eight by", "nine bytes", "a much longer name"])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["interactions[0]", "interactions", "é", '"', "set", f" SHA256:{'Ab' * 32}"])
    | st.sampled_from(["md5:" + "0F" * 16, "0F" * 16, "ab" * 32, "\u00a0" + "ab" * 16]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
rows = st.dictionaries(names, values, max_size=6)

ONLY = {Action.NUMBER: JsonType.BOOLEAN, Action.TURN: JsonType.TEXT, Action.DIGEST: JsonType.TEXT}


@st.composite
def places(
    draw: st.DrawFn, pointer: str = "", depth: int = 2, *, drops: bool = False, is_row: bool = False
) -> Place:
    kinds = [kind for kind in JsonType if not is_row or kind is not JsonType.OBJECT]
    actions: dict[JsonType, Action] = {}
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=3)):
        allowed = [
            action
            for action in Action
            if ONLY.get(action, kind) is kind and (drops or action is not Action.DROP)
        ]
        actions[kind] = draw(st.sampled_from(allowed))
    members: Mapping[str, Place] = {}
    others = items = None
    if depth:
        keys = draw(st.lists(names, max_size=4, unique=True))
        members = {key: draw(places(f"{pointer}/{key}", depth - 1, drops=True)) for key in keys}
        if draw(st.booleans()):
            others = draw(places(f"{pointer}/*", depth - 1, drops=True))
        if draw(st.booleans()):
            items = draw(places(f"{pointer}/*", depth - 1))
    return Place(
        pointer,
        actions,
        members,
        others,
        items,
        name=draw(st.sampled_from([None, None, "new", 'a "name"'])),
        constant=draw(st.sampled_from(['"set"', '"é"', '"\\""', "1", "[]"])),
        kind=SET,
        closed=draw(st.integers(0, 4)) == 0,
    )


watches = st.builds(
    Probe, names, st.sampled_from(WatchTest), st.sampled_from(["é", '"', "set", "", "\\u0022"])
)


def spelled(value: Any, chance: random.Random) -> str:
    """Write a value with white space, escapes and, at times, repeated names."""

    def space() -> str:
        return chance.choice(["", "", "", " ", "\t", " \r "])

    def joined(parts: Iterator[str]) -> str:
        return f"{space()},{space()}".join(parts)

    if isinstance(value, dict):
        pairs = list(value.items())
        if pairs and chance.random() < 0.03:
            pairs.append(chance.choice(pairs))
        written = (
            f"{spelled(key, chance)}{space()}:{space()}{spelled(one, chance)}" for key, one in pairs
        )
        return f"{{{space()}{joined(written)}{space()}}}"
    if isinstance(value, list):
        return f"[{space()}{joined(spelled(one, chance) for one in value)}{space()}]"
    return json.dumps(value, ensure_ascii=chance.random() < 0.3)


def is_true(watch: Probe, text: str, tree: Node) -> bool:
    """Tell what a watch tells of a row."""
    value = tree.value(watch.name)
    given = value is not None and value.type is JsonType.TEXT and decode_string(text, value)
    return {
        WatchTest.PRESENT: value is not None,
        WatchTest.NOT_NULL: value is not None and value.type is not JsonType.NULL,
        WatchTest.UNSET: value is None or value.type is JsonType.NULL,
        WatchTest.EQUALS: given == watch.text,
        WatchTest.DIFFERS: given != watch.text,
    }[watch.test]


def has_others(node: Node, place: Place) -> bool:
    """Tell whether a closed object that is reshaped has other members."""
    if place.actions.get(node.type, Action.KEEP) is not Action.KEEP:
        return False
    if node.type is JsonType.LIST:
        return place.items is not None and any(has_others(item, place.items) for item in node.items)
    for member in node.members:
        if place.closed and member.name not in place.members:
            return True
        inner = place.members.get(member.name, place.others)
        if inner is not None and has_others(member.value, inner):
            return True
    return False


@given(places(is_row=True), st.lists(st.lists(watches, max_size=2), max_size=3), rows, st.data())
def test_any_row_is_reshaped_alike(
    place: Place, groups: list[list[Probe]], row: dict[str, Any], data: st.DataObject
) -> None:
    chance = data.draw(st.randoms(use_true_random=False))
    exact = tuple(tuple(group) for group in groups if group)
    compiled = CompiledPlace.from_place(RowPlace(place, exact))
    assert compiled is not None
    line = spelled(row, chance)
    result = compiled.rewrite(line.encode() + b"\n")
    if not result.rows:
        (left,) = result.left()
        assert left == (1, 0, len(line.encode()), 0)
        return
    tree = parse_tree(line)
    splices = Splices(line, tree)
    applied = reshape(splices, place)
    assert result.data.decode() == splices.apply() + "\n"
    assert {one.change for one in result.changes} == {one.change for one in applied}
    assert not any(all(is_true(watch, line, tree) for watch in group) for group in exact)
    assert not has_others(tree, place)


def is_whole(line: str) -> bool:
    """Tell whether the exact path reads a line: names are not repeated."""
    try:
        parse_tree(line)
    except ValueError:
        return False
    return True


def test_a_usual_row_is_not_left() -> None:
    changes: set[Change] = set()
    compiled = CompiledPlace.from_place(RowMigration("0.3.0", EVALUATION).place())
    assert compiled is not None
    for number in range(200):
        chance = random.Random(number)
        row: dict[str, Any] = {"schema_version": "0.2.0", "evaluation_id": EVALUATION}
        row |= {"sample_id": number, "input": {"raw": "x", "reference": "y", "choices": None}}
        row["metadata"] = {"a": [chance.random(), None, "é\n"], "b": 1e-7, "c": None}
        line = spelled(row, chance)
        result = compiled.rewrite(line.encode() + b"\n")
        changes |= {one.change for one in result.changes}
        assert result.rows == is_whole(line)
    assert {f"{one.kind.name} {one.pointer}" for one in changes} == {
        "version /schema_version",
        "to-text /sample_id",
        "to-text /metadata/*",
        "null-dropped /metadata/*",
        "to-list /input/reference",
    }


METADATA = [
    None,
    {},
    {"epoch": "1"},
    {"epoch": None},
    {"epoch": 1, "x": None},
    {"a": "é", "b": [1, {"c": None}], "c": "\\"},
    {"migrated.evaluation_id": "y"},
    "text",
]


def some_id_row(chance: random.Random) -> str:
    """Return a row with an evaluation_id of any kind, and metadata of any kind at any place."""
    own = chance.choice(
        ["foreign", "foreign", "f\u00e9", "back\\slash", EVALUATION, None, 5, ["x"]]
    )
    pairs = [("evaluation_id", own), ("metadata", chance.choice(METADATA)), ("sample_id", "s")]
    if chance.random() < 0.2:
        chance.shuffle(pairs)
    row = {"schema_version": "0.2.0", **dict(pairs[: chance.choice([1, 2, 3, 3, 3])])}
    if chance.random() < 0.5:
        return json.dumps(row, separators=chance.choice([(",", ":"), (", ", ": ")]))
    return spelled(row, chance)


def test_a_replaced_id_is_kept_alike() -> None:
    compiled = 0
    for seed in range(examples(1000)):
        chance = random.Random(seed)
        data = "".join(some_id_row(chance) + "\n" for _ in range(3)).encode()
        asked: RowMigration | RowRepairs = RowMigration(
            "0.3.0", EVALUATION, decisions=("evaluation-id",)
        )
        if seed % 2:
            asked = RowRepairs(
                "0.2.0",
                (RepairAction.DROP_NULL, RepairAction.WRITE_TEXT, RepairAction.WRITE_EVALUATION_ID),
                EVALUATION,
            )
        exact = RowMigrator(asked) if isinstance(asked, RowMigration) else RowRepairer(asked)
        expected, tally, left, changes = exactly(exact, data)
        rewritten = RowRewriter(asked).rewrite(data)
        assert rewritten.data == expected
        assert [row.line for row in rewritten.left] == left
        assert list(rewritten.tally.seen.items()) == list(tally.seen.items())
        place = CompiledPlace.from_place(asked.place())
        assert place is not None
        alone = {line.number for line in place.rewrite(data).left()}
        kept = {
            number
            for number, applied in changes.items()
            if any(one.change.kind.name == "evaluation-id" for one in applied)
        }
        compiled += len(kept - alone)
    assert compiled > examples(1000) * 0.3
