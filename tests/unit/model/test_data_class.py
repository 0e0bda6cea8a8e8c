"""Data classes: fields, defaults, equality, copies, and what they refuse."""

import pickle
from functools import cached_property
from typing import Any

import pytest

from evalstream.model.data_class import DataClass, field, replace, values_of


class Point(DataClass, frozen=True):
    """A point."""

    x: int
    y: int = 2
    notes: tuple[str, ...] = field(default_factory=tuple, compare=False)

    @cached_property
    def total(self) -> int:
        """The sum."""
        return self.x + self.y


class Place(Point, frozen=True, kw_only=True):
    """A point with a name."""

    name: str


class Box(DataClass):
    """Something to fill."""

    items: list[int] = field(default_factory=list)
    label: str = field(default="", description="what is on it")


def test_values_come_by_position_by_name_or_by_default() -> None:
    assert values_of(Point(1)) == {"x": 1, "y": 2, "notes": ()}
    assert values_of(Point(1, y=3)) == {"x": 1, "y": 3, "notes": ()}
    assert values_of(Place(x=1, name="a")) == {"x": 1, "y": 2, "notes": (), "name": "a"}
    assert Point(1).total == 3


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1, 2, (), 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]
)
def test_wrong_values_are_refused(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="Point: "):
        Point(*values, **named)


def test_values_by_name_alone() -> None:
    with pytest.raises(TypeError, match="too many values"):
        Place(1, name="a")  # type: ignore[misc]


def test_defaults_are_made_for_each_object() -> None:
    one, other = Box(), Box()
    one.items.append(1)
    assert other.items == []
    assert Box.__data_fields__["label"].description == "what is on it"


def test_equality_goes_by_class_and_compared_fields() -> None:
    assert Point(1, notes=("a",)) == Point(1)
    assert hash(Point(1, notes=("a",))) == hash(Point(1))
    assert Point(1) != Point(2)
    assert Point(1) != Place(x=1, name="")
    assert Box([1]) == Box([1])
    with pytest.raises(TypeError, match="unhashable"):
        hash(Box())


def test_frozen_objects_do_not_change() -> None:
    point: Any = Point(1)
    with pytest.raises(AttributeError, match=r"Point\.x cannot be changed"):
        point.x = 2
    with pytest.raises(AttributeError, match=r"Point\.y cannot be changed"):
        del point.y


def test_copies_are_changed_where_asked() -> None:
    assert replace(Place(x=1, name="a"), y=5) == Place(x=1, y=5, name="a")
    with pytest.raises(TypeError, match="unknown z"):
        replace(Point(1), z=2)


def test_objects_travel_between_processes() -> None:
    sent = Place(x=1, notes=("b",), name="a")
    received = pickle.loads(pickle.dumps(sent))
    assert received == sent
    assert values_of(received) == values_of(sent)


def test_they_show_what_is_compared() -> None:
    assert repr(Point(1, notes=("a",))) == "Point(x=1, y=2)"
