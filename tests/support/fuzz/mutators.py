"""Changes of rows: at any place, with any value, equal for many rows or other for each."""

import copy
import random
from collections.abc import Callable
from typing import Any, Final

from rows import Place, Row

from evalstream.formats.eee import versions
from fuzz import values
from fuzz.literals import again, escaped_key
from fuzz.templates import NEW, known_places

Edit = Callable[[Row, random.Random], None]
Maker = Callable[[random.Random, str], Edit]
"""Draws a change for rows of a version; the change itself is the same for each row."""


def holder(row: Row, place: Place) -> Any:
    """Return the value that a place is in, None where the row has none."""
    inner: Any = row
    for key in place[:-1]:
        if inner.__class__ is dict:
            inner = inner.get(key)
        elif inner.__class__ is list and key.__class__ is int and key < len(inner):
            inner = inner[key]
        else:
            return None
    return inner


def assign(row: Row, place: Place, value: Any) -> None:
    """Set the value at a place, if what it is in is there."""
    inner, key = holder(row, place), place[-1]
    if (inner.__class__ is dict and key.__class__ is str) or (
        inner.__class__ is list and key.__class__ is int and key < len(inner)
    ):
        # Rows share what is drawn once for many of them.
        inner[key] = copy.deepcopy(value) if value.__class__ in (list, dict) else value


def remove(row: Row, place: Place) -> Any:
    """Remove the value at a place, and return it; `...` where there is none."""
    inner, key = holder(row, place), place[-1]
    if inner.__class__ is dict and key in inner:
        return inner.pop(key)
    if inner.__class__ is list and key.__class__ is int and key < len(inner):
        return inner.pop(key)
    return ...


def some_place(chance: random.Random, version: str) -> Place:
    """Return a place of a value, mostly of the version itself and not deep."""
    if chance.random() < 0.1:
        version = chance.choice(versions.INSTANCE_VERSIONS)
    places = known_places(version)
    first, second = chance.choice(places), chance.choice(places)
    return min(first, second, key=len) if chance.random() < 0.5 else first


def set_value(chance: random.Random, version: str) -> Edit:
    place, value = some_place(chance, version), values.value(chance)
    return lambda row, _: assign(row, place, value)


def vary_value(chance: random.Random, version: str, place: Place = ()) -> Edit:
    """Set a place, any by default, to another value in each row; two or any number of them."""
    place = place or some_place(chance, version)
    some = [values.value(chance) for _ in range(chance.choice((2, 3, 30)))]
    return lambda row, draw: assign(row, place, draw.choice(some))


def thin_object(chance: random.Random, version: str, place: Place = ()) -> Edit:
    """Remove other members of an object in each row."""
    place = place or some_place(chance, version)[:-1]

    def edit(row: Row, draw: random.Random) -> None:
        inner: Any = holder(row, (*place, ""))
        if inner.__class__ is dict and inner:
            for name in draw.sample([*inner], draw.randrange(len(inner) + 1)):
                del inner[name]

    return edit


def vary_member(chance: random.Random, version: str) -> Edit:
    """Add a member with another value in each row."""
    owner = () if chance.random() < 0.5 else some_place(chance, version)
    name = values.key(chance)
    some = [values.value(chance) for _ in range(chance.choice((2, 3, 30)))]
    return lambda row, draw: assign(row, (*owner, name), draw.choice(some))


def set_null(chance: random.Random, version: str) -> Edit:
    place = some_place(chance, version)
    return lambda row, _: assign(row, place, None)


def set_number(chance: random.Random, version: str) -> Edit:
    numeric = [
        place for place in known_places(version)
        if place[-1].__class__ is str
        and place[-1].endswith(("idx", "score", "turns", "count", "tokens", "ms", "write", "read"))
    ]  # fmt: skip
    place, value = chance.choice(numeric), values.number(chance)
    return lambda row, _: assign(row, place, value)


def set_string(chance: random.Random, version: str) -> Edit:
    place, value = some_place(chance, version), values.string(chance)
    return lambda row, _: assign(row, place, value)


def remove_value(chance: random.Random, version: str) -> Edit:
    place = some_place(chance, version)

    def edit(row: Row, _: random.Random) -> None:
        remove(row, place)

    return edit


def rename(chance: random.Random, version: str) -> Edit:
    place, name = some_place(chance, version), values.key(chance)
    if place[-1].__class__ is str and place[-1] and chance.random() < 0.3:
        name = escaped_key(place[-1], chance.randrange(3))

    def edit(row: Row, _: random.Random) -> None:
        inner = holder(row, place)
        if inner.__class__ is dict and place[-1] in inner:
            inner[name] = inner.pop(place[-1])

    return edit


def add_member(chance: random.Random, version: str) -> Edit:
    owner = () if chance.random() < 0.4 else some_place(chance, version)
    name, value = values.key(chance), values.value(chance)
    return lambda row, _: assign(row, (*owner, name), value)


def add_members(chance: random.Random, version: str) -> Edit:
    """Add many members, or one with another name in each row."""
    owner = () if chance.random() < 0.6 else some_place(chance, version)
    count, length = chance.choice((1, 1, 3, 60, 64, 65, 200)), chance.choice((1, 9, 150))
    spread = chance.choice((1, 3, 3000))

    def edit(row: Row, draw: random.Random) -> None:
        first = draw.randrange(spread)
        for number in range(first, first + count):
            assign(row, (*owner, f"k{number}".ljust(length, "_")), number)

    return edit


def repeat_member(chance: random.Random, version: str) -> Edit:
    place, first = some_place(chance, version), chance.random() < 0.5
    other = values.value(chance) if chance.random() < 0.5 else ...

    def edit(row: Row, _: random.Random) -> None:
        inner = holder(row, place)
        if inner.__class__ is dict and place[-1] in inner:
            was = inner[place[-1]]
            members = [(again(str(place[-1])), was if other is ... else other)]
            members = [*members, *inner.items()] if first else [*inner.items(), *members]
            inner.clear()
            inner.update(members)

    return edit


def reorder(chance: random.Random, version: str) -> Edit:
    place = () if chance.random() < 0.5 else some_place(chance, version)

    def edit(row: Row, draw: random.Random) -> None:
        inner: Any = holder(row, (*place, ""))
        if inner.__class__ is dict:
            members = draw.sample([*inner.items()], len(inner))
            inner.clear()
            inner.update(members)

    return edit


def grow_list(chance: random.Random, version: str) -> Edit:
    lists = [place[:-1] for place in known_places(version) if place[-1].__class__ is int]
    place, times, value = chance.choice(lists), chance.choice((1, 1, 2, 70, 300)), None
    if chance.random() < 0.5:
        value = values.value(chance)

    def edit(row: Row, _: random.Random) -> None:
        inner = holder(row, (*place, 0))
        if inner.__class__ is list:
            inner += [inner[-1] if value is None and inner else value] * times

    return edit


def mix_list(chance: random.Random, version: str) -> Edit:
    """Set a place to a list of many kinds of elements, the same or others in each row."""
    lists = [place[:-1] for place in known_places(version) if place[-1].__class__ is int]
    place, count = chance.choice(lists), chance.choice((1, 3, 9, 20))
    some = [values.value(chance) for _ in range(count)]

    def edit(row: Row, draw: random.Random) -> None:
        inner: Any = holder(row, (*place, 0))
        if inner.__class__ is list:
            some_kept = [copy.deepcopy(inner[0])] if inner else []
            assign(row, place, [*some_kept, *draw.sample(some, draw.randrange(count + 1))])

    return edit


def nest(chance: random.Random, version: str) -> Edit:
    place, depth = some_place(chance, version), chance.choice((1, 3, 60, 64, 70, 130, 250))
    kind = chance.random() < 0.5

    def edit(row: Row, _: random.Random) -> None:
        value: Any = None
        for _level in range(depth):
            value = [value] if kind else {"a": value}
        assign(row, place, value)

    return edit


def declare(chance: random.Random, version: str) -> Edit:
    others = (
        *versions.INSTANCE_VERSIONS, "0.2.3rc1", "9.9.9", "0.1.0", "0.2", "0.2.2.1", "v0.2.1", "",
        "x", "instance_level_eval_0.2.0", "instance_level_eval_0.3.0", "instance_level_eval_9",
        None, 1, 0.2, True, ["0.2.0"], {},
    )  # fmt: skip
    declared = chance.choice(others)
    return lambda row, _: assign(row, ("schema_version",), declared)


def set_id(chance: random.Random, version: str) -> Edit:
    name = chance.choice(
        ("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id")
    )
    kinds: tuple[Any, ...] = (
        None, True, False, 0, 1, 1.0, values.number(chance), values.string(chance), "", " ",
        "acorn-7b", "acme/ acorn", "acme/acorn-7b", "another", "accuracy", [], ["x"], {}, {"a": 1},
    )  # fmt: skip
    value = chance.choice(kinds)
    spread = chance.random() < 0.05

    def edit(row: Row, draw: random.Random) -> None:
        if name == "evaluation_result_id" and version not in NEW and chance.random() < 0.5:
            return
        row[name] = f"id-{draw.randrange(3000)}" if spread else value

    return edit


GENERAL: Final[tuple[tuple[Maker, int], ...]] = (
    (set_value, 6), (vary_value, 6), (vary_member, 3), (thin_object, 2), (set_null, 6),
    (set_number, 4), (set_string, 4), (remove_value, 5), (rename, 3), (add_member, 5),
    (repeat_member, 1), (reorder, 1), (grow_list, 2), (mix_list, 2), (nest, 1), (add_members, 2),
    (declare, 2), (set_id, 4),
)  # fmt: skip
"""Changes that know nothing of what members mean, and how often each is drawn."""
