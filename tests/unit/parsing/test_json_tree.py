"""Trees of JSON texts, and splices: what is asked changes, every other character stays."""

import json
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from evalstream.parsing.json_tree import (
    JsonType,
    Node,
    Splices,
    compact,
    decode_string,
    parse_tree,
    quote_text,
)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner), st.dictionaries(NAMES, inner)), max_leaves=20
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=6)
LAYOUTS = st.sampled_from(
    [{}, {"indent": 2}, {"separators": (",", ":")}, {"indent": "\t", "ensure_ascii": False}]
)


def value_of(text: str, node: Node) -> Any:
    """Return the value of a node, put together from its parts."""
    if node.type is JsonType.OBJECT:
        return {member.name: value_of(text, member.value) for member in node.members}
    if node.type is JsonType.LIST:
        return [value_of(text, item) for item in node.items]
    return json.loads(text[node.start : node.end])


def spliced(text: str) -> Splices:
    return Splices(text, parse_tree(text))


@given(VALUES, LAYOUTS)
def test_a_tree_holds_every_value_where_it_is_written(value: Any, layout: dict[str, Any]) -> None:
    text = json.dumps(value, **layout)
    tree = parse_tree(text)
    assert value_of(text, tree) == value
    assert json.loads(text[tree.start : tree.end]) == value
    assert Splices(text, tree).apply() == text


def test_each_kind_of_value_has_a_type_of_its_own() -> None:
    kinds = [item.type for item in parse_tree('[null, true, 1, "a", [], {}]').items]
    assert kinds == list(JsonType)
    assert len(set(kinds)) == 6


@given(VALUES, LAYOUTS)
def test_a_compact_text_quoted_is_a_string_that_holds_the_value(
    value: Any, layout: dict[str, Any]
) -> None:
    text = json.dumps(value, **layout)
    inner = json.loads(quote_text(compact(text, parse_tree(text))))
    assert json.loads(inner) == value
    assert "\n" not in inner


@given(OBJECTS, OBJECTS, LAYOUTS, st.randoms())
def test_members_are_dropped_and_added(
    before: dict[str, Any], more: dict[str, Any], layout: dict[str, Any], random: Any
) -> None:
    added = {name: value for name, value in more.items() if name not in before}
    splices = spliced(json.dumps(before, **layout))
    wanted = dict(before)
    for name in before:
        if random.random() < 0.5:
            splices.drop(splices.tree, name)
            del wanted[name]
    for name, value in added.items():
        splices.add(splices.tree, name, json.dumps(value))
    assert json.loads(splices.apply()) == wanted | added


@each(
    ("names", "left"),
    [
        ("a", '{ "b":2 , "c" : 3}'),
        ("b", '{ "a": 1.0 , "c" : 3}'),
        ("c", '{ "a": 1.0,"b":2 }'),
        ("ab", '{ "c" : 3}'),
        ("bc", '{ "a": 1.0}'),
        ("ac", '{ "b":2 }'),
        ("abc", "{ }"),
    ],
)
def test_a_dropped_member_takes_one_comma_with_it(names: str, left: str) -> None:
    splices = spliced('{ "a": 1.0,"b":2 , "c" : 3}')
    for name in names:
        splices.drop(splices.tree, name)
    assert splices.apply().replace(" }", "}") == left.replace(" }", "}")


def test_added_members_are_laid_out_like_the_others() -> None:
    text = '{\n  "a": {\n    "b": 1e5\n  },\n  "c": {}\n}'
    splices = spliced(text)
    inner, empty = splices.tree.value("a"), splices.tree.value("c")
    assert inner is not None
    assert empty is not None
    splices.add(inner, "d", "0.10")
    splices.add(empty, "e", "[]")
    splices.add_object(splices.tree, "f", {"g": '"h"'})
    assert splices.apply() == (
        '{\n  "a": {\n    "b": 1e5,\n    "d": 0.10\n  },\n  "c": {\n    "e": []\n  },\n'
        '  "f": {\n    "g": "h"\n  }\n}'
    )


def test_names_are_renamed_and_values_replaced_where_they_are_written() -> None:
    splices = spliced('{"a" : [1, {"b":2}], "c":"x"}')
    member = splices.tree.member("c")
    (one, two) = splices.tree.value("a").items  # type: ignore[union-attr]
    assert member is not None
    splices.rename(member, "d")
    splices.replace(one, '"1"')
    splices.replace(two.members[0].value, "3")
    assert splices.apply() == '{"a" : ["1", {"b":3}], "d":"x"}'


def test_of_several_replacements_of_a_value_the_last_counts() -> None:
    splices = spliced('{"a": [1, 22]}')
    value = splices.tree.value("a")
    assert value is not None
    for text in ('"2"', '"a longer text"', "[]"):
        splices.replace(value.items[1], text)
    assert splices.apply() == '{"a": [1, []]}'


@given(st.integers(0, 40), st.booleans())
def test_objects_in_long_lists_and_objects_are_found(count: int, in_list: bool) -> None:
    inner = [f'{{ "n" : {number} }}' for number in range(count)]
    names = (f'"{number}": ' for number in range(count))
    named = (name + one for name, one in zip(names, inner, strict=True))
    text = f"[{', '.join(inner)}]" if in_list else f"{{{', '.join(named)}}}"
    splices = spliced(text)
    for node in splices.tree.items or [member.value for member in splices.tree.members]:
        splices.add(node, "x", "0")
    made = splices.apply()
    assert made.count('"x" : 0 }') == count
    assert json.loads(made.replace(', "x" : 0', "")) == json.loads(text)


def test_a_name_written_with_escapes_is_the_name_it_stands_for() -> None:
    text = '{"\\u0061": "\\ud83d\\ude00"}'
    tree = parse_tree(text)
    value = tree.value("a")
    assert value is not None
    assert decode_string(text, value) == "😀"


@each(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":{"b":1,"b":1}}',
        "[NaN]",
        "[Infinity]",
        "[1e999]",
        "[-1E+400]",
        '["\\ud800"]',
        "[" * 300 + "]" * 300,
        "[1,]",
        "",
        "{} {}",
        '{"a" 1}',
        '{"a":1',
    ],
)
def test_what_the_fast_parser_refuses_has_no_tree(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_tree(text)


def test_long_integers_and_small_numbers_have_a_tree() -> None:
    text = f"[{'9' * 400}, 1e-999, 1e308]"
    assert [text[item.start : item.end] for item in parse_tree(text).items] == [
        "9" * 400,
        "1e-999",
        "1e308",
    ]
