"""The tables of the compiled rewriter, and the trees of places that have none."""

from collections.abc import Mapping

import pytest
from each import each

from evalstream.model.changes import NULL_DROPPED, RENAMED, Change, ChangeClass, ChangeKind
from evalstream.parsing.json_tree import JsonType
from evalstream.parsing.native.place_tables import NotCompiled, compiled_tables
from evalstream.parsing.reshape import Action, Place, Probe, RowPlace
from evalstream.parsing.reshape import Test as WatchTest

KIND = ChangeKind("set", ChangeClass.DECIDED, "set")


def acting(action: Action, *types: JsonType, **more: object) -> Place:
    return Place("/a", dict.fromkeys(types, action), **more)  # type: ignore[arg-type]


def row(members: Mapping[str, Place], *exact: tuple[Probe, ...]) -> RowPlace:
    return RowPlace(Place(members=members), exact)


def test_equal_changes_have_one_number() -> None:
    place = Place("/*", {JsonType.NULL: Action.DROP}, name="b")
    tables = compiled_tables(row({"a": place, "c": place}))
    assert set(tables.changes) == {Change(NULL_DROPPED, "/*"), Change(RENAMED, "/*")}
    assert list(tables.counts) == [3, 2, 0, 0]


def test_watched_members_are_members() -> None:
    watch = Probe("a", WatchTest.PRESENT)
    tables = compiled_tables(row({"b": Place("/b")}, (watch,), (watch, watch)))
    assert list(tables.counts) == [2, 2, 1, 2]


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
