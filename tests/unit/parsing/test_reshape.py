"""Reshaping by places: each action, alone and within lists, maps and renamed members."""

import pytest
from each import each

from evalstream.model.changes import Change, ChangeClass, ChangeKind
from evalstream.parsing.json_tree import JsonType, Splices, parse_tree
from evalstream.parsing.reshape import Action, Place, reshape

KIND = ChangeKind("set", ChangeClass.DECIDED, "set")


def reshaped(text: str, place: Place) -> tuple[str, list[tuple[str, str]]]:
    splices = Splices(text, parse_tree(text))
    applied = reshape(splices, place)
    changes = [(one.change.kind.name, one.example.pointer) for one in applied]
    return splices.apply(), changes


def acting(action: Action, *types: JsonType, **more: object) -> Place:
    return Place("/a", dict.fromkeys(types, action), **more)  # type: ignore[arg-type]


ANY = tuple(JsonType)


@each(
    ("place", "before", "after"),
    [
        (acting(Action.DROP, JsonType.NULL), '{"a":null, "b":1}', '{"b":1}'),
        (acting(Action.DROP, JsonType.NULL), '{"a":0, "b":1}', '{"a":0, "b":1}'),
        (acting(Action.LIST, JsonType.TEXT), '{"a":"\\u0041"}', '{"a":["\\u0041"]}'),
        (acting(Action.LIST, JsonType.TEXT), '{"a":["A"]}', '{"a":["A"]}'),
        (acting(Action.TEXT, JsonType.NUMBER), '{"a":-0.10e+05}', '{"a":"-0.10e+05"}'),
        (acting(Action.TEXT, *ANY), '{"a":true}', '{"a":"true"}'),
        (acting(Action.TEXT, *ANY), '{"a":null}', '{"a":"null"}'),
        (acting(Action.TEXT, *ANY), '{"a":[1, "x\\n"]}', '{"a":"[1,\\"x\\\\n\\"]"}'),
        (acting(Action.TEXT, *ANY), '{"a":{"b c": 1.0}}', '{"a":"{\\"b c\\":1.0}"}'),
        (acting(Action.NUMBER, JsonType.BOOLEAN), '{"a":true}', '{"a":1}'),
        (acting(Action.NUMBER, JsonType.BOOLEAN), '{"a":false}', '{"a":0}'),
        (acting(Action.SET, *ANY, constant='"é"', kind=KIND), '{"a":[]}', '{"a":"é"}'),
        (acting(Action.SET, *ANY, constant='"é"', kind=KIND), '{"a":"\\u00e9"}', '{"a":"\\u00e9"}'),
        (
            acting(Action.TURN, JsonType.TEXT),
            '{"a":"interactions[3].content"}',
            '{"a":"messages[3].content"}',
        ),
        (acting(Action.TURN, JsonType.TEXT), '{"a":"output.raw"}', '{"a":"output.raw"}'),
        (
            acting(Action.DIGEST, JsonType.TEXT),
            f'{{"a":"SHA256:{"AB" * 32}"}}',
            f'{{"a":"{"ab" * 32}"}}',
        ),
        (acting(Action.DIGEST, JsonType.TEXT), '{"a":"ABC"}', '{"a":"ABC"}'),
        (Place("/a", name="z"), '{"a" :1}', '{"z" :1}'),
    ],
)
def test_an_action_changes_its_value_alone(place: Place, before: str, after: str) -> None:
    text, changes = reshaped(before, Place(members={"a": place}))
    assert text == after
    assert len(changes) == (before != after)


def test_places_lead_through_lists_maps_and_new_names() -> None:
    to_text = Place("/t/*/m/*", {JsonType.NUMBER: Action.TEXT, JsonType.NULL: Action.DROP})
    turns = Place(
        "/t", items=Place("/t/*", members={"m": Place("/t/*/m", others=to_text)}), name="u"
    )
    text, changes = reshaped(
        '{"t":[{"m":{"x":1,"y":null}},{},{"m":{"z":2}}]}', Place(members={"t": turns})
    )
    assert text == '{"u":[{"m":{"x":"1"}},{},{"m":{"z":"2"}}]}'
    assert changes == [
        ("renamed", "/t"),
        ("to-text", "/t/0/m/x"),
        ("null-dropped", "/t/0/m/y"),
        ("to-text", "/t/2/m/z"),
    ]


def test_a_member_that_was_dropped_before_is_left_out() -> None:
    text = '{"a":1,"b":2}'
    splices = Splices(text, parse_tree(text))
    splices.drop(splices.tree, "a")
    place = Place(members={"a": acting(Action.TEXT, JsonType.NUMBER)})
    assert reshape(splices, place) == []
    assert splices.apply() == '{"b":2}'


def test_an_action_without_a_kind_of_change_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="SET makes no change"):
        Place("/a").change(Action.SET)
    assert Place("/a", kind=KIND).change(Action.SET) == Change(KIND, "/a")
