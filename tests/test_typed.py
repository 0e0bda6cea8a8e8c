"""The quick way of usual rows: it takes nothing that the exact ways would not take alike."""

import json
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS, needs_corpus
from hypothesis import given
from hypothesis import strategies as st
from rows import (
    Row,
    at,
    bounded,
    bytes_of,
    line_of,
    mutants,
    places,
    sound_rows,
    spoilt_bytes,
)
from test_properties import context_for, odd_files, outcome

import evalstream
from evalstream import engine
from evalstream.catalog import enabled_codes
from evalstream.formats import eee
from evalstream.model import Block, Options
from evalstream.reading import Reader
from evalstream.rule import Context
from evalstream.swift import swift_for, typed_rows
from evalstream.typed import NotTyped, TypedRows, keys_in, pinned, plain

VERSIONS = ("0.2.0", "0.3.0")


def typed(version: str) -> TypedRows:
    """Return the reader of rows of any declared version, judged by one."""
    rows = typed_rows(version, declared=False)
    assert rows is not None
    return rows


def exact(version: str) -> Reader:
    """Return the reader that parses and judges in two steps."""
    options = Options(schema_version=version, engine="rust")
    return Reader(Context(options=options, enabled=enabled_codes(options), version=version))


EXACT = {version: exact(version) for version in VERSIONS}


def taken(version: str, line: bytes) -> Any:
    """Return what the quick way makes of one line, as plain data."""
    spaces_only = b"\t" not in line and b"\r" not in line
    (row,) = typed(version).read([line], line, spaces_only=spaces_only)
    return None if row is None else plain(row)


def assert_taken_rightly(version: str, line: bytes) -> bool:
    """Require that a line is only taken if it is a sound row, with the same value."""
    row = taken(version, line)
    if row is not None:
        assert row == json.loads(line) == EXACT[version].accept(line)
        assert not EXACT[version].explain(line, torn=False)[1]
    return row is not None


@pytest.mark.parametrize("version", eee.INSTANCE_VERSIONS)
def test_every_version_has_types(version: str) -> None:
    assert typed_rows(version, declared=True) is not None


@pytest.mark.parametrize("version", VERSIONS)
def test_every_sound_row_is_taken(version: str) -> None:
    for row in sound_rows(version):
        assert taken(version, line_of(row)[:-1]) == row
        assert taken(version, json.dumps(row, separators=(",", ":")).encode()) == row
        assert taken(version, json.dumps(row, ensure_ascii=False).encode() + b"\r") == row


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_taken_is_sound(version: str) -> None:
    @given(row=mutants(version))
    @bounded(max_examples=400)
    def agree(row: Row) -> None:
        assert_taken_rightly(version, line_of(row)[:-1])

    agree()


@given(line=spoilt_bytes(line_of(sound_rows(count=1)[0])[:-1], 2))
@bounded(max_examples=1500)
def test_spoilt_bytes_are_not_taken(line: bytes) -> None:
    assert_taken_rightly("0.2.0", line)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("colon", [":", ": ", " :", "\t:", "\r:", "  : "])
def test_no_duplicate_key_is_taken(version: str, colon: str) -> None:
    for row in sound_rows(version, 6):
        for place in places(row):
            if not isinstance(place[-1], str):
                continue
            doubled = json.loads(json.dumps(row))
            owner = at(doubled, place[:-1])
            owner["@"] = owner[place[-1]]
            line = line_of(doubled)[:-1]
            once, key = b'"@": ', json.dumps(place[-1]).encode()
            assert line.count(once) == 1
            line = line.replace(once, key + colon.encode())
            assert taken(version, line) is None, place


@pytest.mark.parametrize("version", VERSIONS)
def test_no_unknown_key_is_taken(version: str) -> None:
    for row in sound_rows(version, 6):
        for place in places(row):
            holder = at(row, place)
            if isinstance(holder, dict) and not _is_free(place):
                changed = json.loads(json.dumps(row))
                at(changed, place)["unheard_of"] = None
                assert taken(version, line_of(changed)[:-1]) is None, place


def _is_free(place: tuple[Any, ...]) -> bool:
    return place[-1] in ("metadata", "arguments", "additional_details")


TEXTS = [
    '"',
    '":',
    '\\":',
    '\\\\":',
    "a : b",
    '" :',
    '{"a": 1}',
    '{"a": "\\"b\\": 2"}',
    "\\",
    "}\n{",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_texts_that_look_like_keys_do_not_mislead(version: str, text: str) -> None:
    (row, *_) = sound_rows(version, 1)
    row["input"]["raw"] = row["sample_id"] = text
    line = line_of(row)[:-1]
    assert assert_taken_rightly(version, line) or '" :' in text
    doubled = line.replace(b'"model_id": ', b'"model_id": "", "model_id": ')
    assert taken(version, doubled) is None


@pytest.mark.parametrize("digits", [19, 20, 25, 400, 4300, 4301, 20_000])
@pytest.mark.parametrize("number", ["{}", "-{}", "{}.5", "0.{}", "1e{:.30}", "-1E-{:.3}", "0{}"])
@pytest.mark.parametrize(
    "place", ['"score": 1.0', '"total_tokens": 28', '"epoch": 1', '"latency_ms": 210.5']
)
def test_numbers_of_any_length_are_taken_rightly(place: str, number: str, digits: int) -> None:
    written = number.format("1" * digits)
    line = line_of(sound_rows()[0])[:-1]
    longer = line.replace(place.encode(), f"{place.partition(' ')[0]} {written}".encode())
    assert longer != line
    assert_taken_rightly("0.2.0", longer)


@pytest.mark.parametrize("depth", [50, 5_000, 200_000])
@pytest.mark.parametrize("form", ['{"a":', "["])
def test_deep_values_are_left_to_others(form: str, depth: int) -> None:
    closing = "}" if form[0] == "{" else "]"
    deep = form * depth + "1" + closing * depth
    line = line_of(sound_rows()[0])[:-1].replace(b'"epoch": 1', f'"epoch": {deep}'.encode())
    assert taken("0.2.0", line) is None
    assert taken("0.2.0", (form * depth).encode()) is None


def test_free_values_are_taken_up_to_a_depth() -> None:
    (row, *_) = sound_rows("0.2.0", 1)
    row["metadata"] = {"list": [{"a": [1, 2.5, None]}], "map": {"b": {"c": True}}}
    assert taken("0.2.0", line_of(row)[:-1]) == row
    assert taken("0.2.0", line_of(row)[:-1].replace(b'"c":', b'"c": 1, "c":')) is None
    row["metadata"] = {"deep": [[[[[1]]]]]}
    assert taken("0.2.0", line_of(row)[:-1]) is None


WHOLE = [line_of(row)[:-1] for row in sound_rows("0.2.0", 3)]
SPLIT = WHOLE[0].replace(b', "sample_id"', b', \n"sample_id"').split(b"\n")
INSIDE = WHOLE[0].replace(b'"input": {', b'"input": \n{').split(b"\n")


@pytest.mark.parametrize(
    "lines",
    [
        [*SPLIT, WHOLE[1] + WHOLE[2]],
        [WHOLE[1] + b" " + WHOLE[2], *SPLIT],
        [*INSIDE, WHOLE[1] + WHOLE[2]],
        [WHOLE[0], b"", WHOLE[1] + WHOLE[2]],
        [b"", WHOLE[0]],
        [WHOLE[0] + WHOLE[1]],
    ],
)
def test_a_line_is_taken_only_for_itself(lines: list[bytes]) -> None:
    text = b"\n".join(lines) + b"\n"
    rows = typed("0.2.0").read(lines, text, spaces_only=True)
    for line, row in zip(lines, rows, strict=True):
        assert (row is not None) == (line in WHOLE)


@given(data=odd_files(), most=st.sampled_from([0, 1]))
@bounded(max_examples=150)
def test_the_quick_way_changes_no_outcome(data: bytes, most: int) -> None:
    block = Block("rows.jsonl", 0, len(data), len(data), data=data, final=True)
    quickly = context_for(data, most)
    slowly = context_for(data, most, engine="rust")
    assert swift_for(quickly) is not None
    assert swift_for(slowly) is None
    blocks = [block] if data else []
    assert outcome(quickly, blocks) == outcome(slowly, blocks)


@pytest.mark.parametrize("bytes_together", [1, 700, 5000, 100_000])
def test_how_many_rows_go_together_changes_nothing(
    bytes_together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row for _ in range(9) for row in sound_rows("0.2.0", 8)]
    rows[5] |= {"answer_attribution": []}
    rows[20]["evaluation"]["score"] = "1"
    data = bytes_of(rows).replace(b'"subject": "arithmetic"', b'"a": 1, "a": 1', 1)
    monkeypatch.setattr(engine, "BATCH_BYTES", bytes_together)
    block = Block("rows.jsonl", 0, len(data), len(data), data=data, final=True)
    context, other = context_for(data, 0), context_for(data, 0, engine="rust")
    assert outcome(context, [block]) == outcome(other, [block])


@needs_corpus
@pytest.mark.parametrize(
    "path", sorted((CORPUS / "eee-pairs").glob("*/")), ids=lambda path: path.name
)
def test_the_quick_way_changes_no_report(path: Path) -> None:
    quickly, slowly = (evalstream.check(path, engine=name) for name in ("auto", "rust"))
    assert list(quickly) == list(slowly)
    assert quickly.counts == slowly.counts
    assert [run.results for run in quickly.runs] == [run.results for run in slowly.runs]


def test_small_files_are_not_worth_the_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WORTH_TYPES_BYTES", 1 << 60)
    data = bytes_of(sound_rows())
    block = Block("rows.jsonl", 0, len(data), len(data), data=data, final=True)
    assert outcome(context_for(data, 3), [block]) == outcome(
        context_for(data, 3, engine="rust"), [block]
    )


BASE: dict[str, Any] = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "x": {"type": "null"}},
}


@pytest.mark.parametrize(
    "change",
    [
        {"required": []},
        {"patternProperties": {}},
        {"properties": {**BASE["properties"], "y": {"type": "string", "minLength": 1}}},
        {"properties": {**BASE["properties"], "y": {"type": "integer", "enum": [1]}}},
        {"properties": {**BASE["properties"], "y": {"type": "object", "required": ["z"]}}},
        {
            "properties": {
                **BASE["properties"],
                "y": {"oneOf": [{"type": "number"}, {"type": "integer"}]},
            }
        },
        {"allOf": [{"if": {"properties": {"kind": {"const": "a"}}}, "else": {}}]},
        {"allOf": [{"if": {"properties": {"x": {"const": "a"}}}, "then": {}}]},
        {"allOf": [{"if": {"properties": {"kind": {"pattern": "a"}}}, "then": {}}]},
        {
            "allOf": [
                {
                    "if": {"properties": {"kind": {"const": "a"}}},
                    "then": {"properties": {"x": {"type": "string"}}},
                }
            ]
        },
        {"allOf": [{"if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["x"]}}]},
    ],
)
def test_a_schema_that_types_cannot_say_is_refused(change: dict[str, Any]) -> None:
    assert TypedRows(BASE, "kind").view({"kind": "a"}) is not None
    with pytest.raises(NotTyped):
        TypedRows({**BASE, **change}, "kind")


def test_members_are_pinned_and_named_though_unknown() -> None:
    rows = TypedRows(pinned(BASE, "kind", ["b"]), "kind", also=("z",))
    assert rows.view({"kind": "a"}) is None
    row = rows.view({"kind": "b"})
    assert row is not None
    assert not row.z
    assert not row.x
    assert rows.view({"kind": "b", "z": 1}) is None


def test_keys_are_counted_at_any_depth() -> None:
    assert keys_in({"a": [{"b": 1}, {"c": {"d": []}}], "e": "f"}) == 5
