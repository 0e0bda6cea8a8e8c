"""Editing a document's text: what is asked changes, every other byte stands."""

import codecs
import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import EXAMPLES

from evalstream.engine.sealed_document import LONGEST_LINE, diff_text
from evalstream.parsing.json_edit import set_members

AGGREGATE = EXAMPLES / "aggregate.json"
HELD = "detailed_evaluation_results"
HUGE = "9" * 5000

PRETTY = """{
  "id": "a",
  "x": {
    "format": "jsonl",
    "rows": 7
  },
  "score": 0.50
}
"""
PRETTY_EDITED = """{
  "id": "a",
  "x": {
    "format": "jsonl",
    "rows": 8,
    "checksum": "ab"
  },
  "score": 0.50
}
"""
WANTED: dict[str, Any] = {"rows": 8, "checksum": "ab"}


def edited(document: str, members: Mapping[str, Any] = WANTED) -> str:
    return set_members(document.encode(), "x", members).decode()


@each(
    "spelled",
    [
        lambda text: text,
        lambda text: text.replace("  ", "    "),
        lambda text: text.replace("  ", "\t"),
        lambda text: text.replace("  ", ""),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "\ufeff" + text,
        lambda text: text.removesuffix("\n"),
        lambda text: f"\n {text}\n\n",
        lambda text: text.replace(": ", ":"),
        lambda text: text.replace(": ", " :  "),
        lambda text: text.replace(",\n", " ,\n\n"),
        lambda text: text.replace("\n", " "),
        lambda text: text.replace("\n", "").replace("  ", ""),
        lambda text: text.replace("\n", "").replace(" ", ""),
        lambda text: text.replace("\n", "").replace(" ", "").replace(",", " , "),
    ],
    ids=[
        *("two spaces", "four spaces", "tabs", "no indentation", "CRLF", "CR", "BOM"),
        *("no last line end", "space around", "tight colons", "wide colons", "blank lines"),
        *("padded line", "spaced line", "compact", "wide commas"),
    ],
)
def test_new_members_look_like_their_neighbours(spelled: Any) -> None:
    assert edited(spelled(PRETTY)) == spelled(PRETTY_EDITED)


@each(
    ("before", "after"),
    [
        ("{}", '{"x": {"rows": 8, "checksum": "ab"}}'),
        ("{ }\n", '{"x": {"rows": 8, "checksum": "ab"}}\n'),
        ('{"a":1}', '{"a":1,"x":{"rows":8,"checksum":"ab"}}'),
        ('{"x":null}', '{"x":{"rows":8,"checksum":"ab"}}'),
        ('{"a": 1, "x": null}', '{"a": 1, "x": {"rows": 8, "checksum": "ab"}}'),
        ('{ "x": {}, "b": 2 }', '{ "x": { "rows": 8, "checksum": "ab" }, "b": 2 }'),
        ('{"x":{"a":1}, "b":2}', '{"x":{"a":1, "rows":8, "checksum":"ab"}, "b":2}'),
        (
            '{\n  "x": {"a": [1e5, {"x": 2}]}\n}',
            '{\n  "x": {"a": [1e5, {"x": 2}], "rows": 8, "checksum": "ab"}\n}',
        ),
        ('{"a": 1,\n "b": 2}', '{"a": 1,\n "b": 2,\n "x": {"rows": 8, "checksum": "ab"}}'),
        ('{"a": 1\n}', '{"a": 1, "x": {"rows": 8, "checksum": "ab"}\n}'),
    ],
)
def test_layouts_with_little_to_go_by(before: str, after: str) -> None:
    assert edited(before) == after


@each("held", [', "x": null', ', "x": "run.jsonl"', ', "x": {}', ', "x": {\n}'])
@pytest.mark.parametrize("space", ["  ", "    ", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_whole_object_is_indented_as_the_document_is(
    held: str, space: str, line_end: str
) -> None:
    before = f'{{\n{space}"a": 1{held.replace(", ", f",{chr(10)}{space}")}\n}}\n'
    after = (
        f'{{\n{space}"a": 1,\n{space}"x": {{\n{space}{space}"rows": 8,\n'
        f'{space}{space}"checksum": "ab"\n{space}}}\n}}\n'
    )
    assert edited(before.replace("\n", line_end)) == after.replace("\n", line_end)


def test_a_missing_object_is_appended_in_the_layout_of_the_document() -> None:
    assert edited('{\n\t"a": 1\n}', {"rows": 8}) == '{\n\t"a": 1,\n\t"x": {\n\t\t"rows": 8\n\t}\n}'


def test_no_members_make_an_empty_object_or_no_change() -> None:
    assert edited('{"x": null}', {}) == '{"x": {}}'
    assert edited(PRETTY, {}) == PRETTY


def test_the_aggregate_of_the_examples_keeps_all_but_one_line() -> None:
    before = AGGREGATE.read_bytes()
    after = set_members(before, HELD, {"format": "jsonl", "total_rows": 9})
    assert after == before.replace(b'"total_rows": 8', b'"total_rows": 9')


@each(
    ("spelled", "value", "expected"),
    [
        ("8.0", 8, "8.0"),
        ("80e-1", 8, "80e-1"),
        ("8", 8.0, "8"),
        ("0.50", 0.5, "0.50"),
        ("true", 1, "1"),
        ("1", True, "true"),
        ("false", 0, "0"),
        ("0", False, "false"),
        ("null", None, "null"),
        ("0", None, "null"),
        ('"\\u0061"', "a", '"\\u0061"'),
        ('"8"', 8, "8"),
        ("8", "8", '"8"'),
        ("NaN", 8, "8"),
        ("1e999999999999999999999", 8, "8"),
        (HUGE, 8, "8"),
        ("9007199254740993", 9007199254740992, "9007199254740992"),
        ('[ 1, {"a": 2.0} ]', [1, {"a": 2}], '[ 1, {"a": 2.0} ]'),
        ('[ 1, {"a": 2.0} ]', [1, {"a": 3}], '[1, {"a": 3}]'),
        ('{"a": 1, "a": 2}', {"a": 2}, '{"a": 2}'),
    ],
)
def test_a_value_is_written_anew_only_if_it_is_another(
    spelled: str, value: Any, expected: str
) -> None:
    assert edited(f'{{"x":{{"v":{spelled}}}}}', {"v": value}) == f'{{"x":{{"v":{expected}}}}}'


def test_a_name_is_known_however_it_is_escaped() -> None:
    assert edited('{"\\u0078":{"r\\u006fws":1}}', {"rows": 2}) == '{"\\u0078":{"r\\u006fws":2}}'


def test_non_ascii_is_written_as_the_document_writes_it() -> None:
    name = {"path": "Läufe/✓.jsonl"}
    assert edited('{"x":{},"a":"ä"}', name) == '{"x":{"path":"Läufe/✓.jsonl"},"a":"ä"}'
    assert edited('{"x":{}}', name) == '{"x":{"path":"L\\u00e4ufe/\\u2713.jsonl"}}'
    undecodable = {"path": "run\udce4.jsonl"}
    assert edited('{"x":{},"a":"ä"}', undecodable) == '{"x":{"path":"run\\udce4.jsonl"},"a":"ä"}'


@each(
    "strange",
    [
        *(HUGE, f"-{HUGE}.5e{HUGE}", "NaN", "-Infinity", "1e999", "-0", '"\\ud83d"'),
        *("[" * 400 + "]" * 400, '{"a":' * 400 + "1" + "}" * 400, '{"a": 1, "a": 2}'),
        *('"\\/\\u007a\u2028\u0085"', "[ ]", "{\t}"),
    ],
)
def test_what_is_strange_elsewhere_survives(strange: str) -> None:
    before = f'{{"a": {strange}, "x": {{"b": {strange}, "rows": 7}}, "c": {strange}}}'
    assert edited(before) == before.replace('"rows": 7', '"rows": 8, "checksum": "ab"')


def test_names_that_repeat_where_nothing_is_set_survive() -> None:
    before = '{"a":1,"a":2,"x":{"b":1,"b":2,"rows":7}}'
    assert edited(before, {"rows": 8}) == before.replace("7", "8")


@each(
    ("document", "reason"),
    [
        (b'{"x": {}, "x": {}}', "the key 'x' occurs 2 times in one object"),
        (b'{"x": {}, "\\u0078": null}', "the key 'x' occurs 2 times"),
        (b'{"x": {"rows": 1, "rows": 1}}', "the key 'rows' occurs 2 times"),
        (b"[]", "the document is not a JSON object"),
        (b"", "the document is not a JSON object"),
        (b"null", "the document is not a JSON object"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "the document is not a JSON object"),
        (b'{"x": {}} {}', r"not valid JSON: Extra data: line 1 column 11"),
        (b'{"x": {},}', "not valid JSON"),
        (b'{"x" {}}', "not valid JSON: Expecting ':'"),
        (b'{"x": {"a": 01}}', "not valid JSON"),
        (b'{"x": {"a": 1}', "not valid JSON: Expecting ','"),
        (b'{"x": "\n"}', "not valid JSON: Invalid control character"),
        (b"{x: 1}", "not valid JSON"),
        (b'{"a": \xff}', "byte 6 of the text is not valid UTF-8"),
        (b'\xef\xbb\xbf{"a": \xff}', "byte 9 of the text is not valid UTF-8"),
        (b'{"a": "\xed\xa0\x80"}', "byte 7 of the text is not valid UTF-8"),
        ("{}".encode("utf-16"), "the text is UTF-16, not UTF-8"),
        ("{}".encode("utf-16-be"), "the text is UTF-16-BE, not UTF-8"),
        ("{}".encode("utf-32"), "the text is UTF-32, not UTF-8"),
        (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deep"),
    ],
)
def test_what_cannot_be_edited_is_refused(document: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        set_members(document, "x", WANTED)


@each("value", [math.nan, -math.inf, {1: 2}, "\ud83d\ude00"])
def test_a_value_that_would_read_otherwise_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"does not survive JSON|not JSON compliant"):
        edited(PRETTY, {"rows": value})


def test_a_difference_of_lines_is_a_unified_diff() -> None:
    shown = diff_text(PRETTY.encode(), PRETTY_EDITED.encode(), "a.json")
    assert shown.splitlines() == [
        *("--- a.json", "+++ a.json", "@@ -2,7 +2,8 @@"),
        *('   "id": "a",', '   "x": {', '     "format": "jsonl",'),
        *('-    "rows": 7', '+    "rows": 8,', '+    "checksum": "ab"'),
        *("   },", '   "score": 0.50', " }"),
    ]
    assert diff_text(PRETTY.encode(), PRETTY.encode(), "a.json") == ""


def test_a_difference_tells_of_a_last_line_without_an_end() -> None:
    assert diff_text(b'{"x":{}}', b'{"x":1}', "a.json").splitlines() == [
        *("--- a.json", "+++ a.json", "@@ -1 +1 @@"),
        *('-{"x":{}}', "\\ No newline at end of file"),
        *('+{"x":1}', "\\ No newline at end of file"),
    ]


def test_a_difference_keeps_a_line_whole_that_is_just_bearable() -> None:
    before = f'{{"x":{{"path":"{"a" * 380}"}}}}'.encode()
    lines = diff_text(before, before.replace(b"path", b"file"), "a.json").splitlines()
    assert lines[3:5] == [f"-{before.decode()}", "\\ No newline at end of file"]


def test_a_difference_breaks_lines_at_line_feeds_only() -> None:
    before = '{\n"a\u2028\u0085": 1\r\n}'.encode()
    shown = diff_text(before, before.replace(b"1", b"2"), "a.json")
    assert shown.split("\n")[4:6] == ['-"a\u2028\u0085": 1\r', '+"a\u2028\u0085": 2\r']


def test_a_difference_cuts_long_lines_that_stay() -> None:
    before = f'{{\n  "a": "{"b" * 1000}",\n  "x": {{}}\n}}\n'
    lines = diff_text(before.encode(), edited(before).encode(), "a.json").splitlines()
    assert max(map(len, lines)) == LONGEST_LINE
    assert lines[4].startswith('   "a": "bbb')
    assert lines[4].endswith("…" + "b" * 197 + '",')
    assert '+    "rows": 8,' in lines


def test_a_difference_of_a_long_line_breaks_it_at_its_commas() -> None:
    long = "r" * 200
    before = f'{{"a":"{"b" * 400}","x":{{"rows":7,"path":"{long}","checksum":"cd"}}}}\n'
    shown = diff_text(before.encode(), edited(before).encode(), "a.json")
    assert shown.splitlines() == [
        *("--- a.json\tbroken at commas", "+++ a.json\tbroken at commas", "@@ -1,4 +1,4 @@"),
        f' {{"a":"{"b" * 193}…{"b" * 197}",',
        *('-"x":{"rows":7,', '+"x":{"rows":8,'),
        f' "path":"{long}",',
        *('-"checksum":"cd"}}', '+"checksum":"ab"}}'),
    ]


def test_a_difference_counts_the_lines_that_stay() -> None:
    before = '{\n"a": [\n' + "1,\n" * 300_000 + '1],\n"x": {"rows": 7},\n"b": 2\n}\n'
    shown = diff_text(before.encode(), edited(before, {"rows": 8}).encode(), "a.json")
    assert shown.splitlines()[2] == "@@ -300001,6 +300001,6 @@"


def test_a_difference_over_very_many_lines_is_not_compared() -> None:
    many = "1,\n" * 30_000
    before = f'{{"x": {{"rows": 7,\n"a": [{many}1],\n"checksum": "cd"}}}}\n'
    shown = diff_text(before.encode(), edited(before).encode(), "a.json").splitlines()
    assert shown[2] == "@@ 30,003 lines from line 1 on: too many to compare @@"


def test_a_difference_cuts_a_long_value() -> None:
    before = '{"x":{"path":"a"}}'
    after = edited(before, {"path": "b" * 1000})
    lines = diff_text(before.encode(), after.encode(), "a.json").splitlines()
    assert max(map(len, lines)) <= LONGEST_LINE + 4
    assert "b…b" in lines[-1]


NAMES = st.sampled_from(["format", "rows", "x", "ä", "", "a\n", "😀"]) | st.text(max_size=3)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
    st.sampled_from(["}", '{"x":', '\\"', ",\n", "\ud800", 2**70]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
DOCUMENTS = st.tuples(OBJECTS, st.none() | SCALARS | OBJECTS, st.booleans()).map(
    lambda parts: {**parts[0], "x": parts[1]} if parts[2] else parts[0]
)


@st.composite
def texts(draw: st.DrawFn, documents: st.SearchStrategy[dict[str, Any]]) -> bytes:
    """Write documents in the ways in which they are written."""
    document = draw(documents)
    separators = draw(st.tuples(st.sampled_from([",", ", ", " ,"]), st.sampled_from([":", ": "])))
    indent: int | str | None = draw(st.sampled_from([None, 0, 2, 4, "\t"]))
    written = json.dumps(
        document,
        indent=indent,
        separators=separators,
        ensure_ascii="\\ud8" in json.dumps(document) or draw(st.booleans()),
    )
    written = written.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    mark = draw(st.sampled_from([b"", codecs.BOM_UTF8]))
    return mark + written.encode() + draw(st.sampled_from([b"", b"\n", b"\r\n"]))


def updated(document: dict[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
    held = document.get("x")
    return {**document, "x": {**(held if isinstance(held, dict) else {}), **members}}


def told(value: Any, depth: int = 2) -> Any:
    """Tell a value so that true is not 1, but 1.0 is; and the order of the outer names counts."""
    if isinstance(value, dict):
        pairs = [(name, told(member, depth - 1)) for name, member in value.items()]
        return pairs if depth > 0 else sorted(pairs, key=lambda pair: pair[0])
    if isinstance(value, list):
        return [told(item, 0) for item in value]
    return isinstance(value, bool), value


@settings(deadline=None, max_examples=examples(300))
@given(texts(DOCUMENTS), OBJECTS)
def test_the_result_reads_as_the_document_updated(text: bytes, members: dict[str, Any]) -> None:
    result = set_members(text, "x", members)
    expected = updated(json.loads(text), members)
    assert told(json.loads(result)) == told(expected)
    assert set_members(result, "x", members) == result
    assert text.startswith(codecs.BOM_UTF8) == result.startswith(codecs.BOM_UTF8)
    assert (b"\r\n" in text) >= (b"\r\n" in result)


@settings(deadline=None, max_examples=examples(200))
@given(texts(st.fixed_dictionaries({"mark": st.just("ä"), "x": OBJECTS})), st.data())
def test_setting_back_gives_the_bytes_that_were(text: bytes, data: st.DataObject) -> None:
    before = {
        name: value
        for name, value in json.loads(text)["x"].items()
        if not isinstance(value, dict | list)
    }
    members = {name: data.draw(SCALARS) for name in before}
    result = set_members(text, "x", members)
    assert set_members(result, "x", before) == text
    start = text.index(b'"x"')
    assert result[:start] == text[:start]


@settings(deadline=None, max_examples=examples(100))
@given(OBJECTS, st.sampled_from([None, 2]), st.data())
def test_layout_of_new_members_is_that_of_the_standard_writer(
    members: dict[str, Any], indent: int | None, data: st.DataObject
) -> None:
    scalars = {name: value for name, value in members.items() if not isinstance(value, dict | list)}
    held = data.draw(st.dictionaries(st.sampled_from(["p", "q"]), SCALARS, max_size=2))
    whole = {"a": [], "x": held, "b": 1}
    text = json.dumps(whole, indent=indent).encode()
    expected = json.dumps(updated(whole, scalars), indent=indent)
    assert set_members(text, "x", scalars).decode() == expected


@settings(deadline=None, max_examples=examples(100))
@given(st.binary(max_size=30) | texts(DOCUMENTS).map(lambda text: text[:-2]))
def test_any_bytes_are_edited_or_refused(text: bytes) -> None:
    try:
        result = set_members(text, "x", WANTED)
    except ValueError:
        return
    assert json.loads(result)["x"]["rows"] == 8


@settings(deadline=None, max_examples=examples(100))
@given(texts(DOCUMENTS), OBJECTS)
def test_a_difference_is_empty_only_without_one(text: bytes, members: dict[str, Any]) -> None:
    result = set_members(text, "x", members)
    assert (diff_text(text, result, "a.json") == "") == (text == result)
