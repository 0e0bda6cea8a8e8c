"""The compiled rewriter: what it takes, what it leaves, and trees that it does not know."""

from collections.abc import Mapping

import pytest
from each import each

from evalstream.model.changes import NULL_DROPPED, RENAMED, Change, ChangeClass, ChangeKind
from evalstream.parsing.json_tree import JsonType
from evalstream.parsing.native import rewrite
from evalstream.parsing.native.rewrite import (
    CompiledPlace,
    LeftLine,
    NotCompiled,
    RewrittenLines,
    are_plain_lines,
    compiled_tables,
    count_lines,
    rewriters,
)
from evalstream.parsing.reshape import Action, Place, Probe, RowPlace
from evalstream.parsing.reshape import Test as WatchTest

pytestmark = pytest.mark.skipif(rewriters() is None, reason="the scanner is not compiled")

KIND = ChangeKind("set", ChangeClass.DECIDED, "set")
ANY = tuple(JsonType)


def acting(action: Action, *types: JsonType, **more: object) -> Place:
    return Place("/a", dict.fromkeys(types, action), **more)  # type: ignore[arg-type]


def row(members: Mapping[str, Place], *exact: tuple[Probe, ...], **more: object) -> RowPlace:
    return RowPlace(Place(members=members, **more), exact)  # type: ignore[arg-type]


def rewritten(place: RowPlace, *lines: str) -> RewrittenLines:
    compiled = CompiledPlace.from_place(place)
    assert compiled is not None
    return compiled.rewrite("".join(f"{line}\n" for line in lines).encode())


@each(
    ("place", "before", "after"),
    [
        (acting(Action.DROP, JsonType.NULL), '{"a":null, "b":1}', '{"b":1}'),
        (acting(Action.DROP, JsonType.NULL), '{"b":1 , "a":null , "c":2}', '{"b":1 , "c":2}'),
        (acting(Action.DROP, JsonType.NULL), '{ "a" : null }', "{  }"),
        (acting(Action.DROP, JsonType.NULL), '{"a":0, "b":1}', '{"a":0, "b":1}'),
        (acting(Action.LIST, JsonType.TEXT), ' {"a":"\\u0041"} ', ' {"a":["\\u0041"]} '),
        (acting(Action.TEXT, JsonType.NUMBER), '{"a":-0.10e+05}', '{"a":"-0.10e+05"}'),
        (acting(Action.TEXT, *ANY), '{"a":[1,\t"x\\n \\""]}', '{"a":"[1,\\"x\\\\n \\\\\\"\\"]"}'),
        (acting(Action.NUMBER, JsonType.BOOLEAN), '{"a":true}', '{"a":1}'),
        (acting(Action.SET, *ANY, constant='"é"', kind=KIND), '{"a":[{}]}', '{"a":"é"}'),
        (acting(Action.SET, *ANY, constant='"é"', kind=KIND), '{"a":"é"}', '{"a":"é"}'),
        (acting(Action.TURN, JsonType.TEXT), '{"a":"interactions[3]"}', '{"a":"messages[3]"}'),
        (acting(Action.DIGEST, JsonType.TEXT), f'{{"a":"MD5:{"AB" * 16}"}}',
         f'{{"a":"{"ab" * 16}"}}'),
        (Place("/a", name="z"), '{"a" :1}', '{"z" :1}'),
    ],
)  # fmt: skip
def test_an_action_changes_its_value_alone(place: Place, before: str, after: str) -> None:
    result = rewritten(row({"a": place}), before)
    assert result.data.decode() == f"{after}\n"
    assert [one.times for one in result.changes] == [1] * (before != after)


@each(
    "line",
    [
        "", "1", "[]", "{", '{"a"}', '{"a":1,}', '{"a":1}{}', '{"a":01}', '{"a":+1}', '{"a":1.}',
        '{"a":NaN}', '{"a":nul}', '{"a":truer}', '{"a":1e999}', '{"a":"\\ud800"}', '{"a":"\\x"}',
        '{"a":"\t"}', '{"a":1,"a":1}', '{"a":1,"\\u0061":1}', '{"b":{"c":1,"c":1}}',
        '{"b":[{"c":1,"d":2,"c":1}]}', '{"a":1}\x0c', "\ufeff{}", "{'a':1}", '{"a":1 2}', '{"a" 1}',
        '{"b":' + "[" * 150 + "]" * 150 + "}",
        '{"b":' + '{"c":' * 150 + "1" + "}" * 150 + "}",
        '{"b":' + "9" * 5000 + "}",
    ],
)  # fmt: skip
def test_what_may_not_be_strict_json_is_left(line: str) -> None:
    result = rewritten(row({"a": Place("/a", name="z")}), '{"a":1}', line, '{"a":2}')
    assert result.data == b'{"z":1}\n{"z":2}\n'
    assert (result.rows, [one.times for one in result.changes]) == (2, [2])
    size = len(line.encode())
    assert list(result.left()) == [LeftLine(2, 8, 8 + size, 8)]


def test_bytes_that_are_not_utf_8_are_left() -> None:
    compiled = CompiledPlace.from_place(row({}))
    assert compiled is not None
    for text in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"):
        assert compiled.rewrite(b'{"b":"' + text + b'"}\n').rows == 0


def test_many_members_are_taken_or_left_whole() -> None:
    for count, rows in ((64, 1), (65, 0)):
        line = "{" + ",".join(f'"m{number}":1' for number in range(count)) + "}"
        assert rewritten(row({}, others=acting(Action.TEXT, *ANY)), line).rows == rows


def test_changes_are_counted_by_rows_with_the_first_lines() -> None:
    place = row({"a": acting(Action.TEXT, JsonType.NUMBER)}, items=None)
    lines = ['{"a":""}', *('{"a":1}' for _ in range(5))]
    (change,) = rewritten(place, *lines).changes
    assert change.change == Change(change.change.kind, "/a")
    assert (change.times, change.lines, change.start, change.stop) == (5, (2, 3, 4), 9, 16)


@each(
    ("watch", "line", "rows"),
    [
        (Probe("a", WatchTest.PRESENT), '{"a":null}', 0),
        (Probe("a", WatchTest.PRESENT), '{"b":1}', 1),
        (Probe("a", WatchTest.NOT_NULL), '{"a":null}', 1),
        (Probe("a", WatchTest.NOT_NULL), '{"a":0}', 0),
        (Probe("a", WatchTest.UNSET), '{"a":null}', 0),
        (Probe("a", WatchTest.UNSET), "{}", 0),
        (Probe("a", WatchTest.UNSET), '{"a":false}', 1),
        (Probe("a", WatchTest.EQUALS, "x"), '{"a":"x"}', 0),
        (Probe("a", WatchTest.EQUALS, "x"), '{"a":"\\u0078"}', 0),
        (Probe("a", WatchTest.EQUALS, "x"), '{"a":"xx"}', 1),
        (Probe("a", WatchTest.DIFFERS, "x"), '{"a":"x"}', 1),
        (Probe("a", WatchTest.DIFFERS, "x"), '{"a":"y"}', 0),
        (Probe("a", WatchTest.DIFFERS, "x"), '{"a":["x"]}', 0),
        (Probe("a", WatchTest.DIFFERS, "x"), "{}", 0),
        (Probe("a", WatchTest.DIFFERS, "x"), '{"b":{"a":"x"}}', 0),
    ],
)
def test_watched_rows_are_left(watch: Probe, line: str, rows: int) -> None:
    assert rewritten(row({}, (watch,)), line).rows == rows


def test_all_watches_of_a_group_must_be_true() -> None:
    group = Probe("a", WatchTest.PRESENT), Probe("b", WatchTest.NOT_NULL)
    other = (Probe("c", WatchTest.EQUALS, ""),)
    lines = '{"a":1}', '{"b":1}', '{"a":1,"b":null}', '{"b":1,"a":1}', '{"c":""}'
    assert [one.number for one in rewritten(row({}, group, other), *lines).left()] == [4, 5]


def test_other_members_of_closed_objects_are_left() -> None:
    place = row({"a": Place("/a", members={"b": Place("/a/b")}, closed=True)}, closed=True)
    assert rewritten(place, '{"a":{"b":1}}').rows == 1
    assert rewritten(place, '{"a":{"c":1}}').rows == 0
    assert rewritten(place, '{"c":1}').rows == 0
    watched = RowPlace(place.place, ((Probe("c", WatchTest.EQUALS, "x"),),))
    assert rewritten(watched, '{"c":1}').rows == 0


def test_the_last_line_must_end() -> None:
    compiled = CompiledPlace.from_place(row({}))
    assert compiled is not None
    assert compiled.rewrite(b"") == RewrittenLines(b"", 0, (), b"")
    with pytest.raises(ValueError, match="does not end in a newline"):
        compiled.rewrite(b"{}")


def test_a_tree_that_is_not_compiled_takes_the_exact_path() -> None:
    assert CompiledPlace.from_place(row({"a": acting(Action.NUMBER, JsonType.NUMBER)})) is None


def test_without_the_library_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrite, "rewriters", lambda: None)
    assert CompiledPlace.from_place(row({})) is None


@each("data", [b"", b"\n", b"a", b"a\0\nb\n\n", b"\xff\n" * 1000 + b"\r\x8a", b"\n" * 5000])
def test_newlines_are_counted_as_python_counts_them(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert count_lines(data) == data.count(b"\n")
    monkeypatch.setattr(rewrite, "rewriters", lambda: None)
    assert count_lines(data) == data.count(b"\n")


@pytest.mark.parametrize("is_compiled", [True, False])
def test_plain_lines_end_in_a_newline_and_are_not_blank(
    is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_compiled:
        monkeypatch.setattr(rewrite, "rewriters", lambda: None)
    for plain in (b"", b"{}\n", b"{}\n[ \t]\n", b"a\0b\n" * 99, b"{ }\n\xff\n"):
        assert are_plain_lines(plain), plain
    for odd in (b"{}", b"\n", b" {}\n", b"{}\n\n", b"{}\n\t{}\n", b"{}\r\n", b"{}\n ", b"{}\n\0"):
        assert not are_plain_lines(odd), odd


def test_equal_changes_have_one_number() -> None:
    place = Place("/*", {JsonType.NULL: Action.DROP}, name="b")
    tables = compiled_tables(row({"a": place, "c": place}))
    assert set(tables.changes) == {Change(NULL_DROPPED, "/*"), Change(RENAMED, "/*")}
    assert list(tables.counts) == [3, 2, 0, 0]


def test_watched_members_are_members() -> None:
    watch = Probe("a", WatchTest.PRESENT)
    tables = compiled_tables(row({"b": Place("/b")}, (watch,), (watch, watch)))
    assert list(tables.counts) == [2, 2, 1, 2]


def test_a_row_with_members_of_a_base_is_rewritten_as_without_it() -> None:
    shared = {"a": acting(Action.DROP, JsonType.NULL), "b": acting(Action.LIST, JsonType.TEXT)}
    place = Place(members={**shared, "b": acting(Action.TEXT, JsonType.NUMBER), "c": Place("/c")})
    lines = '{"a":null,"b":1,"c":2}', '{"b":"x"}', '{"a":3,"c":"left"}'
    exact = ((Probe("c", WatchTest.EQUALS, "left"),),)
    bare = rewritten(RowPlace(place, exact), *lines)
    for _ in range(2):
        based = rewritten(RowPlace(place, exact, Place(members=shared)), *lines)
        assert (based.data, based.rows, based.packed) == (bare.data, bare.rows, bare.packed)
        assert set(based.changes) == set(bare.changes)


@each(
    "place",
    [
        RowPlace(acting(Action.TEXT, JsonType.OBJECT)),
        row({"a": Place("/a", items=acting(Action.DROP, JsonType.NULL))}),
        row({"a": acting(Action.NUMBER, JsonType.NUMBER)}),
        row({"a": acting(Action.TURN, JsonType.LIST)}),
        row({"a": acting(Action.DIGEST, JsonType.NULL)}),
        row({"a": acting(Action.SET, JsonType.NULL, kind=KIND)}),
        row({"a": acting(Action.SET, JsonType.NULL, constant="1")}),
        row({"a": Place("/a", name="é")}),
        row({"\ud800": Place("/a")}),
        row({f"{n}": Place(f"/{n}", {JsonType.NULL: Action.DROP}) for n in range(65)}),
        row({}, tuple(Probe(f"{number}", WatchTest.PRESENT) for number in range(65))),
    ],
)
def test_trees_that_only_the_exact_path_knows_are_refused(place: RowPlace) -> None:
    with pytest.raises(NotCompiled):
        compiled_tables(place)
