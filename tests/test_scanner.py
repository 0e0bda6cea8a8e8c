"""The scanner: it takes nothing that the exact way would not take alike."""

import hashlib
import itertools
import json
import random
import re
import struct
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS, needs_corpus
from hypothesis import given
from hypothesis import strategies as st
from rows import (
    COVERED,
    PREFERRED,
    REPOSITORY,
    VERSIONS,
    Place,
    Row,
    aggregate_of,
    at,
    bounded,
    bytes_of,
    line_of,
    mutants,
    places,
    sample_hash,
    sound_rows,
    spoilt_bytes,
)
from test_properties import context_for, odd_files
from test_properties import outcome as collected

import evalstream
from evalstream.formats.eee import fast_path, row_engine, row_view
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.fast_path import FastPath, fast_path_for
from evalstream.formats.eee.probe import probe_context
from evalstream.formats.eee.row_engine import RowEngine
from evalstream.model.block import Block, Lines
from evalstream.model.options import Options
from evalstream.model.row_record import RowRecord, RowRecords
from evalstream.parsing.native import binding, schema_tables
from evalstream.parsing.native.schema_tables import NotTabled, pinned, tables_of
from evalstream.parsing.schema_files import builtin_schema
from evalstream.stats.tally import Tally

SOURCES = REPOSITORY / "evalstream" / "parsing" / "native"
SINGLE, AGENTIC, OPEN, MULTI = 0, 2, 3, 5
"""Which sound rows are what; the open one is single_turn, and has no choices."""


def context(
    version: str = "0.2.0",
    recipe: str = "",
    algorithm: str = "sha256",
    aggregate: Row | None = None,
    **settings: Any,
) -> RowContext:
    """Return a context of rows that all follow one recipe, or have no hash."""
    seen = None if aggregate is None else Aggregate("a.json", aggregate)
    settled = probe_context(Options(max_findings=0, **settings), seen, b"")
    recipes = (recipe,) if recipe else ()
    return replace(settled, version=version, algorithm=algorithm, recipes=recipes)


def claiming(version: str) -> Row:
    """Return an aggregate with two results, the first of which lists samples."""
    document = aggregate_of(version, b"", 0)
    (first,) = document["evaluation_results"]
    source = {**first["source_data"], "sample_ids": ["sample-0", "sample-1", 7, "8", "x\u00fc"]}
    second = {**first, "evaluation_name": "another", "evaluation_result_id": "another"}
    document["evaluation_results"] = [{**first, "source_data": source}, second]
    return document


BARE = {
    version: context(version, schema_version=version if "+" in version else "auto")
    for version in row_view.INSTANCE_VERSIONS
}
HASHED = {version: context(version, PREFERRED[version]) for version in VERSIONS}
JOINED = {
    version: context(version, PREFERRED[version], aggregate=claiming(version), links=True)
    for version in VERSIONS
}
CONTEXTS = [
    *((version, HASHED[version]) for version in VERSIONS),
    *((version, BARE[version]) for version in VERSIONS),
    *((version, JOINED[version]) for version in VERSIONS),
    ("0.2.0", context("0.2.0", "concat-first", schema_version="0.2.0+list", links=True)),
]


def slowly(within: RowContext) -> RowContext:
    """Return the same context without a scanner."""
    return replace(within, options=replace(within.options, engine="rust"))


@lru_cache(maxsize=512)
def engine_of(within: RowContext) -> RowEngine:
    """Return the engine of a context."""
    return RowEngine(within)


@lru_cache(maxsize=512)
def swift_of(within: RowContext) -> FastPath:
    """Return what takes the usual rows of a context."""
    found = fast_path_for(within)
    assert found is not None
    return found


def outcome(within: RowContext | RowEngine, data: bytes, **lines: Any) -> Any:
    """Return all that comes of a block; links of one group are in the order of their lines."""
    subject = within if isinstance(within, RowEngine) else engine_of(within)
    result = subject.run(Lines(data, **{"final": True, **lines}))
    links = defaultdict(list)
    for link_key, words in result.links:
        links[link_key] += rows_of(words)
    ordered = {link_key: sorted(rows, key=itemgetter(2)) for link_key, rows in links.items()}
    return result._replace(row_records=result.row_records.data, links=ordered)


def rows_of(words: bytes) -> list[tuple[int, ...]]:
    """Return the words of rows, four a row; the third is the line."""
    columns = iter(memoryview(words).cast("Q"))
    return list(zip(columns, columns, columns, columns, strict=True))


def passed_over(within: RowContext, line: bytes) -> Tally | None:
    """Return what is tallied of a line, None where the scanner does not take it."""
    tally = Tally()
    subject = swift_of(within).pass_over(engine_of(within).groups(), tally, line + b"\n", 0, None)
    left = subject.take(0, 1).left
    subject.close()
    return None if left else tally


def taken(within: RowContext, line: bytes) -> bool:
    """Tell whether the scanner takes a line."""
    return passed_over(within, line) is not None


def agreed(within: RowContext, *lines: bytes, **settings: Any) -> bool:
    """Require that both ways make the same of lines; tell whether all of them are taken."""
    data = b"".join(line + b"\n" for line in lines)
    assert outcome(within, data, **settings) == outcome(slowly(within), data, **settings)
    return all(taken(within, line) for line in lines)


def written(row: Any, **how: Any) -> bytes:
    """Write a row as one line, without its newline."""
    return json.dumps(row, **how).encode()


def sound(number: int = SINGLE, version: str = "0.2.0") -> Row:
    """Return a sound row."""
    return sound_rows(version)[number]


def bare(row: Row) -> Row:
    """Return a row without its hash."""
    return {name: value for name, value in row.items() if name != "sample_hash"}


def rehashed(row: Row, within: RowContext) -> Row:
    """Return a row with the hash that its context wants, as far as its input has one."""
    if not within.recipes:
        return bare(row)
    try:
        digest = sample_hash(row, within.recipes[0], within.algorithm)
    except (KeyError, TypeError, AttributeError, UnicodeEncodeError):
        return row
    return {**row, "sample_hash": digest}


def changed(row: Row, place: str, value: Any) -> Row:
    """Return a copy of a row with a member set at a pointer, or removed with `...`."""
    row = json.loads(json.dumps(row))
    *path, last = (int(key) if key.isdecimal() else key for key in place.split("/"))
    owner = at(row, tuple(path))
    owner[last] = value
    if value is ...:
        del owner[last]
    return row


def asking(row: Row, within: RowContext, **sample: Any) -> Row:
    """Return a row with another input, rightly hashed."""
    return rehashed({**row, "input": {**row["input"], **sample}}, within)


def limit(name: str) -> int:
    """Return how many of something the scanner takes, as its sources say."""
    texts = [path.read_text() for path in sorted(SOURCES.glob("*.[ch]"))]
    (found,) = {match for text in texts for match in re.findall(rf"\b{name} = (\d+)\b", text)}
    return int(found)


def test_every_version_is_taken() -> None:
    for version in row_view.INSTANCE_VERSIONS:
        assert fast_path_for(BARE[version]) is not None
        assert fast_path_for(slowly(BARE[version])) is None


SLOTS_WITHOUT_USE = {
    "0.2.0": {"evaluation_result_id", "input.reference[]"},
    "0.2.0+list": {"evaluation_result_id"},
    "0.2.1": {"evaluation_result_id"},
}


@pytest.mark.parametrize("version", row_view.INSTANCE_VERSIONS)
def test_what_is_looked_at_is_there_in_every_version(version: str) -> None:
    schema = builtin_schema(row_view.instance_schema_name(version))
    slots = binding.slots()
    aliases = {row_view.transcript_key(version): "turns"}
    packed = tables_of(schema, slots, "interaction_type", aliases)
    nodes = struct.Struct(schema_tables._NODE.format).iter_unpack(packed.nodes)
    unused = {*slots} - {slots[node[7]] for node in nodes if node[7] >= 0}
    assert unused == SLOTS_WITHOUT_USE.get(version, set())
    assert packed.wanted == (1 << slots.index("output"), *2 * [1 << slots.index("turns")])
    assert packed.unwanted == (1 << slots.index("turns"), *2 * [1 << slots.index("output")])


@pytest.mark.parametrize("version", row_view.INSTANCE_VERSIONS)
def test_what_arrays_hold_is_never_left_out(version: str) -> None:
    properties = builtin_schema(row_view.instance_schema_name(version))["properties"]
    turns = properties.get("messages", properties.get("interactions"))["items"]
    answers = properties["answer_attribution"]["items"]
    # What is not there would be what it was in the turn, the call or the answer before.
    assert {"turn_idx", "role"} <= {*turns["required"]}
    assert "id" in turns["properties"]["tool_calls"]["items"]["required"]
    assert {"turn_idx", "source", "is_terminal"} <= {*answers["required"]}
    assert ("messages" in properties) != ("interactions" in properties)


def members_of(text: str, struct_name: str) -> list[str]:
    """Return the names of the members of a C structure, those of inner structures in place."""
    names = []
    for declaration in filter(
        None, map(str.strip, body_of(text, f"struct {struct_name}").split(";"))
    ):
        inner = re.fullmatch(r"struct (\w+) texts", declaration)
        function = re.search(r"\(\*(\w+)\)", declaration)
        listed = re.findall(r"(\w+)(?:\[[^]]*\])?(?=,|$)", declaration)
        names += members_of(text, inner[1]) if inner else [function[1]] if function else listed
    return names


def constants_of(text: str, enum: str) -> dict[str, int]:
    """Return the constants of a C enumeration."""
    names = re.findall(r"(\w+)(?: = (\d+))?(?:,|\s*$)", body_of(text, f"enum {enum}"))
    return {name: int(value or place) for place, (name, value) in enumerate(names)}


def body_of(text: str, name: str) -> str:
    """Return what stands in the braces of a C type, without comments."""
    (body,) = re.findall(rf"^{name} {{(.*?)}};", text, re.DOTALL | re.MULTILINE)
    return re.sub(r"/\*.*?\*/", "", str(body), flags=re.DOTALL)


def test_both_languages_know_the_same_structures() -> None:
    text = "\n".join(path.read_text() for path in sorted(SOURCES.glob("*.h")))
    assert members_of(text, "row") == [*binding.COLUMNS]
    assert members_of(text, "record") == [*RowRecord._fields]
    for name, known in (
        ("demands", binding.RowConstraints),
        ("hasher", binding.Hasher),
        ("tables", binding._Tables),
        ("scope", binding._Scope),
        ("scan", binding._Scan),
    ):
        assert members_of(text, name) == [field[0] for field in known._fields_]
    flags = {name: value for name, value in vars(binding.Flag).items() if name.isupper()}
    assert constants_of(text, "flag") == flags
    assert constants_of(text, "pause") == dict(binding.StopReason.__members__)
    assert binding.slots()[: len(IDS)] == fast_path._IDS == IDS
    assert binding.recipes() == ("", *COVERED)
    assert tuple(constants_of(text, "interaction")) == tuple(
        map(str.upper, row_view.INTERACTION_TYPES)
    )


def test_a_known_row_gives_known_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever hashes what was written wants to read it.
    monkeypatch.setattr(fast_path, "hasher", lambda _: None)
    within = context("0.3.0", "json-list", links=True)
    first, second = sound(SINGLE, "0.3.0"), sound(AGENTIC, "0.3.0")
    second = {**second, "error": "late", "evaluation": {**second["evaluation"], "score": 0.25}}
    second["evaluation"]["is_correct"] = False
    second = asking(second, within, reference=["5535", "five"])
    lines = [written(first) + b"\r", b"no row", written(second)]
    data = b"".join(line + b"\n" for line in lines)
    swept = swift_of(within).pass_over(engine_of(within).groups(), Tally(), data, 0, None)
    swept.take(0, 1)
    words, texts = swept._scanner.words().tolist(), swept._scanner.texts()
    swept.close()
    width, flags = len(binding.COLUMNS), binding.Flag
    assert len(words) == 3 * width
    rows = [
        dict(zip(binding.COLUMNS, words[start : start + width], strict=True))
        for start in range(0, len(words), width)
    ]
    assert [data[row["start"] : row["stop"]] for row in rows] == lines
    assert [row["flags"] for row in rows] == [
        flags.ACCEPTED | flags.CARRIAGE_RETURN | flags.IS_CORRECT,
        0,
        flags.ACCEPTED | flags.SEVERAL | flags.FAILED,
    ]
    assert [row["scope"] for row in rows] == [0, 0, 0]
    said = (first, rows[0], "output", "output"), (second, rows[2], "turns", "messages")
    for row, told, column, member in said:
        assert struct.pack("=Q", told["score"]) == struct.pack("=d", row["evaluation"]["score"])
        assert json.loads(data[told[column] : told[f"{column}_end"]]) == row[member]
        assert texts_of(told, texts) == expected_texts(row)


def texts_of(told: dict[str, int], texts: bytes) -> list[str]:
    """Return the texts of a row."""
    names = ("sample", "hash", "input", "choices", "covered", "mark", "raw", "reference", "end")
    return [
        texts[told[one] : told[two]].decode("latin-1") for one, two in itertools.pairwise(names)
    ]


def expected_texts(row: Row) -> list[str]:
    """Return what the texts of a row have to be."""
    raw, listed = row["input"]["raw"], row["input"]["reference"]
    choices, covered = "\x1e".join(row["input"].get("choices", ())), COVERED["json-list"]
    shown = "\xff".join([raw, *listed])
    told = row["sample_id"], row["sample_hash"], shown, choices, covered(raw, listed), "epoch=1\x1f"
    reference = "\x1e".join(listed)
    return [*told, raw, f"{reference}\x1f{choices}" if choices else reference]


MANNERS: dict[str, Callable[[Row], bytes]] = {
    "usual": written,
    "compact": lambda row: written(row, separators=(",", ":")),
    "utf-8": lambda row: written(row, ensure_ascii=False),
    "sorted": lambda row: written(row, sort_keys=True),
    "spaced": lambda row: written(row, separators=(" \t,\r ", "\t: ")),
    "returning": lambda row: written(row) + b"\r",
    "indented": lambda row: b" \t\r " + written(row) + b" \t ",
}


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize(("version", "within"), CONTEXTS)
def test_every_sound_row_is_taken(version: str, within: RowContext, manner: str) -> None:
    lines = [MANNERS[manner](rehashed(row, within)) for row in sound_rows(version)]
    assert agreed(within, *lines)


@pytest.mark.parametrize("version", row_view.INSTANCE_VERSIONS)
def test_every_version_takes_the_rows_that_declare_it_and_no_others(version: str) -> None:
    (row,) = sound_rows("0.2.0" if version.startswith("0.2.0") else "0.3.0", 1)
    row = bare(row)
    if version in SLOTS_WITHOUT_USE:
        row.pop("evaluation_result_id", None)
    settled = context(version, schema_version=version)
    for declared in row_view.KNOWN_VERSIONS | {"9.9", "", "0.2"}:
        line = written({**row, "schema_version": declared})
        assert agreed(settled, line), declared
        expected = "+" in version or declared in row_view.forms_of(version)
        assert agreed(BARE[version], line) == expected, declared


def shuffled(value: Any, chance: random.Random) -> Any:
    """Return a value with the members of all its objects in another order."""
    if isinstance(value, list):
        return [shuffled(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: shuffled(value[name], chance) for name in chance.sample([*value], len(value))}


@pytest.mark.parametrize(("version", "within"), CONTEXTS)
def test_members_may_come_in_any_order(version: str, within: RowContext) -> None:
    chance = random.Random(7)
    rows = [rehashed(row, within) for row in sound_rows(version, 48)]
    assert agreed(within, *(written(shuffled(row, chance)) for row in rows))


@pytest.mark.parametrize("version", VERSIONS)
def test_mutants_are_judged_alike(version: str) -> None:
    @given(rows=st.lists(mutants(version), min_size=1, max_size=2), is_hashed=st.booleans())
    @bounded(max_examples=200)
    def agree(rows: list[Row], is_hashed: bool) -> None:
        for known, within in CONTEXTS:
            if known == version:
                some = [rehashed(row, within) for row in rows] if is_hashed else rows
                agreed(within, *map(written, some))

    agree()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("number", [SINGLE, AGENTIC])
def test_one_change_anywhere_is_judged_alike(version: str, number: int) -> None:
    within, row = HASHED[version], sound(number, version)
    found = []
    for place in places(row):
        others = [json.loads(json.dumps(row)) for _ in OTHER_VALUES]
        for other, value in zip(others, OTHER_VALUES, strict=True):
            at(other, place[:-1])[place[-1]] = value
        del at(others[0], place[:-1])[place[-1]]
        lines = [written(rehashed(other, within)) for other in others]
        agreed(within, *lines)
        found += [taken(within, line) for line in lines]
    assert len(found) / 8 < found.count(True) < len(found) / 3


OTHER_VALUES = (..., None, True, 0, -1, 1.0, "", "text", [], ["text"], {})


@given(
    line=st.one_of(
        [
            spoilt_bytes(written(rehashed(sound(number), within)), 2)
            for number in (SINGLE, AGENTIC)
            for within in (BARE["0.2.0"], HASHED["0.2.0"])
        ]
    )
)
@bounded(max_examples=500)
def test_spoilt_bytes_are_judged_alike(line: bytes) -> None:
    agreed(BARE["0.2.0"], line)
    agreed(HASHED["0.2.0"], line)


@pytest.mark.parametrize("number", [SINGLE, AGENTIC])
def test_each_single_byte_counts(number: int) -> None:
    within = BARE["0.2.0"]
    line = written(changed(bare(sound(number)), "input/formatted", ...), separators=(",", ":"))
    odd = itertools.cycle(b'"\\,:{}[]0-. \x00\x80e+\t;x\x7f/')
    spoilt = [line[:place] + line[place + 1 :] for place in range(len(line))]
    for place, others in ((place, itertools.islice(odd, 11)) for place in range(len(line))):
        for one in others:
            spoilt.append(line[:place] + bytes([one]) + line[place + 1 :])
            spoilt.append(line[:place] + bytes([one]) + line[place:])
    accepted = [one for one in spoilt if taken(within, one)]
    assert 0.1 < len(accepted) / len(spoilt) < 0.8
    for one in accepted:
        json.loads(one)
    assert agreed(within, *accepted[::17])


@pytest.mark.parametrize("colon", [":", ": ", " :", "\t:", "\r:", "  : "])
@pytest.mark.parametrize("version", VERSIONS)
def test_no_duplicate_key_is_taken(version: str, colon: str) -> None:
    within = HASHED[version]
    for row in sound_rows(version, 6):
        row["metadata"]["note"] = {"a": [{"b": {"c": 1}}]} if version == "0.2.0" else "a"
        for place in places(row):
            if not isinstance(place[-1], str):
                continue
            doubled = json.loads(json.dumps(row))
            owner = at(doubled, place[:-1])
            owner["@"] = owner[place[-1]]
            once, key = b'"@": ', json.dumps(place[-1]).encode()
            line = written(doubled)
            assert line.count(once) == 1
            line = line.replace(once, key + colon.encode())
            assert not taken(within, line), place
        line = written(row, separators=(", ", colon))
        assert taken(within, line)


@pytest.mark.parametrize(
    "metadata",
    [
        b'{"a": 1, "a": 1}',
        b'{"a": {"b": 1, "b": 2}}',
        b'{"a": [[{"b": {}, "b": {}}]]}',
        b'{"a": {"b": 1}, "c": {"b": 1}, "a": 1}',
        b'{"a": 1, "\\u0061": 2}',
        b'{"\\u0061": 1}',
        b'{"\\n": 1}',
        b'{"epoch": 1, "epoch": 2}',
        b'{"epoch": 1, "\\u0065poch": 2}',
        b'{"\\u0065poch": 2}',
        b'{"a": {"\\u0065poch": 2}}',
        b'{"\xc3\xbc": 1, "\xc3\xbc": 1}',
        b'{"": 1, "": 1}',
    ],
)
def test_keys_in_free_objects_come_once_and_are_written_plainly(metadata: bytes) -> None:
    line = written({**bare(sound()), "metadata": "@"}).replace(b'"@"', metadata)
    assert not agreed(BARE["0.2.0"], line)


@pytest.mark.parametrize(
    "metadata",
    [
        b"{}",
        b'{"": {"": [{"": 1}]}}',
        b'{"a": {"a": {"a": 1}}, "b": {"a": 1}}',
        b'{"a": [{"b": 1}, {"b": 1}], "\xc3\xbc": 1, "u\xcc\x88": 1}',
        b'{"epoch": 1, "repeat": "\\u0031", "a": {"epoch": {}}}',
        b'{"a": {"schema_version": 1, "epoch": [true, null, false, 1e5, -0.0]}}',
        b'{"schema_version": {"x": []}, "sample_id": 5, "input": null}',
    ],
)
def test_free_objects_are_taken(metadata: bytes) -> None:
    line = written({**bare(sound()), "metadata": "@"}).replace(b'"@"', metadata)
    assert agreed(BARE["0.2.0"], line)
    assert agreed(JOINED["0.2.0"], line[:-1] + b', "sample_hash": "%b"}' % hash_of(sound()))


def hash_of(row: Row) -> bytes:
    """Return the hash that a row has."""
    return str(row["sample_hash"]).encode()


@pytest.mark.parametrize("version", VERSIONS)
def test_known_keys_are_written_plainly(version: str) -> None:
    within = HASHED[version]
    for row in (sound(SINGLE, version), sound(AGENTIC, version)):
        line = written(row)
        for name in {place[-1] for place in places(row) if isinstance(place[-1], str)}:
            escaped = f'"\\u{ord(name[0]):04x}{name[1:]}":'.encode()
            other = line.replace(f'"{name}":'.encode(), escaped)
            assert other != line
            assert not agreed(within, other), name


@pytest.mark.parametrize("version", VERSIONS)
def test_no_unknown_key_is_taken(version: str) -> None:
    within = HASHED[version]
    for row in sound_rows(version, 6):
        for place in ((), *places(row)):
            holder = at(row, place)
            if isinstance(holder, dict):
                other = json.loads(json.dumps(row))
                at(other, place)["unheard_of"] = "text"
                assert taken(within, written(other)) == _is_free(place), place


def _is_free(place: Place) -> bool:
    return place[-1:] in (("metadata",), ("arguments",), ("additional_details",))


TEXTS = [
    '"', '":', '\\":', '\\\\":', "a : b", '" :', '{"a": 1}', '{"a": "\\"b\\": 2"}', "\\", "}\n{",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_texts_that_look_like_keys_do_not_mislead(version: str, text: str) -> None:
    within = HASHED[version]
    row = {**asking(sound(SINGLE, version), within, raw=text), "sample_id": text}
    line = written(row)
    assert agreed(within, line)
    assert not taken(within, line.replace(b'"model_id": ', b'"model_id": "", "model_id": '))


BAD_TEXTS = [
    *(bytes([control]) for control in range(32)),
    *(b"\\" + bytes([letter]) for letter in range(128) if chr(letter) not in 'u"\\/bfnrt'),
    b"\\u", b"\\u1", b"\\u123", b"\\u12g4", b"\\u 123", b"\\U0041", b"\\u+123", b"\\u00e",
    b"\\ud800", b"\\udbff", b"\\udc00", b"\\udfff", b"\\ud800\\ud800", b"\\udc00\\ud800",
    b"\\ud83dx", b"\\ud83d\\u0041", b"\\ud83d\\n", b"\\ud83d\\", b"\\ud83d\\u", b"\\ud83d\\ude0",
    b"\\ud83dxxde00", b"\\ud83d\\xde00", b"\\ud83d\\nde00", b"\\ud83dxude00", b"\\ud83d\\u0e00",
    b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xc3\xc3", b"\xe0\x80\x80",
    b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xe2\x82", b"\xe2\x28\xa1",
    b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xff",
    b"\xf5\x80\x80\x80", b"\xfe", b"\xf8\x88\x80\x80\x80", b"\xef\xbb", b"\xc3\xbc\x80",
]  # fmt: skip
GOOD_TEXTS = [
    b"", b"\x7f", b'\\"\\\\\\/\\b\\f\\n\\r\\t', b"\\u0000", b"\\u001F", b"\\u00FC",
    b"\\uD83D\\uDE00", b"\\ud7ff\\ue000\\uffff", b"\xc2\x80", b"\xdf\xbf", b"\xe0\xa0\x80",
    b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbf", b"\xef\xbb\xbf", b"\xf0\x90\x80\x80",
    b"\xf4\x8f\xbf\xbf", b"\xe2\x80\xa8\xc2\x85", b"\\\\u0041", b"\\\\\\\\", b"\\u005c",
    b"\\u0022", b"\xf0\x9f\x98\x80\\n\xc3\xbc\\\\",
]  # fmt: skip
ANYWHERE = ('"subject": "arithmetic"', '"raw": "The answer is 5."')


@pytest.mark.parametrize("before", [0, 1, 7, 14, 15, 16, 31])
@pytest.mark.parametrize("after", [0, 40])
def test_texts_are_taken_only_if_they_are_sound(before: int, after: int) -> None:
    within, line = BARE["0.2.0"], written(bare(sound()))
    for text, is_good in [
        *((one, False) for one in BAD_TEXTS),
        *((one, True) for one in GOOD_TEXTS),
    ]:
        for member in ANYWHERE:
            name, _, value = member.partition(": ")
            wrapped = f'{name}: "'.encode() + before * b"z" + text + after * b"z" + b'"'
            assert value.encode() in line
            other = line.replace(member.encode(), wrapped)
            assert taken(within, other) == is_good, text
    lines = [
        line.replace(b'arithmetic"}', before * b"z" + text + after * b"z" + b'"}')
        for text in [*BAD_TEXTS, *GOOD_TEXTS]
    ]
    agreed(within, *lines)


HARD = (
    "".join(map(chr, range(128)))
    + "\x80\u00e9\u07ff\u0800\u2028\ud7ff\ue000\uffff\U00010000\U0010ffff"
)
ASKED = {
    "plain": "What is 2 + 3?",
    "escaped": 'a"b\\c/d\b\f\n\r\te',
    "delete": "a\x7fb",
    "hard": HARD,
    "astral": "\U0001f600\U0001d518 and \u00fc",
    "json": '{"raw": "a", "reference": ["b"]}',
    "separated": "a\x1eb\x1fc",
    "long": 50 * HARD,
}


def units(text: str) -> str:
    """Write all of a text as escapes, the Q aside that it may begin with."""
    words = memoryview(text.removeprefix("Q").encode("utf-16-le")).cast("H")
    escapes = "".join(f"\\u{word:04X}" for word in words)
    return f'"{"Q" if text.startswith("Q") else ""}{escapes}"'


WRITINGS: dict[str, Callable[[str], str]] = {
    "usual": json.dumps,
    "utf-8": lambda text: json.dumps(text, ensure_ascii=False),
    "slashes": lambda text: json.dumps(text).replace("/", "\\/"),
    "units": units,
}


def with_texts(row: Row, texts: Sequence[str], writing: str) -> bytes:
    """Write a row in which numbers in marks stand for texts."""
    line = json.dumps(row)
    for number, text in enumerate(texts):
        line = line.replace(f'"<{number}>"', WRITINGS[writing](text))
    return line.encode()


def references(text: str) -> Iterator[list[str]]:
    """Return lists of references that have to do with a text."""
    yield from ([], [""], [text], ["", ""], ["", "", ""])
    yield from ([text, "b"], [text, ""], [text, "", ""], ["", text], ["", "", text], [text, text])


def asked_rows(
    version: str, within: RowContext, writing: str
) -> Iterator[tuple[Row, list[str], bytes]]:
    """Return inputs of all kinds, the references of each, and the row, written and hashed."""
    base = changed(sound(OPEN, version), "input/formatted", ...)
    texts = list(ASKED.values())
    for number, (text, other) in enumerate(zip(texts, texts[3:] + texts[:3], strict=True)):
        raw = f"Q{text}"
        for place, listed in enumerate(references(other)):
            if version == "0.2.0" and len(listed) != 1:
                continue
            reference: Any = listed if version != "0.2.0" else listed[0]
            row = asking(base, within, raw=raw, reference=reference)
            row["sample_id"] = f"{number}-{place}"
            marked: Any = [f"<{number + 1}>" for number in range(len(listed))]
            marks = {"raw": "<0>", "reference": marked if version != "0.2.0" else marked[0]}
            yield row, listed, with_texts({**row, "input": marks}, [raw, *listed], writing)


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
@pytest.mark.parametrize("recipe", ["", *COVERED])
def test_rightly_hashed_rows_are_taken(recipe: str, algorithm: str, writing: str) -> None:
    version = "0.3.0" if recipe != "concat" else "0.2.0"
    within = context(version, recipe, algorithm)
    lines = []
    for row, listed, line in asked_rows(version, within, writing):
        assert json.loads(line)["input"] == {
            name: row["input"][name] for name in ("raw", "reference")
        }
        # Whether all recipes that agree on one reference agree on these, the scanner does not ask.
        doubtful = bool(recipe) and len(listed) > 1 and not any(listed[1:])
        assert taken(within, line) != doubtful
        lines.append(line)
    agreed(within, *lines)


def hex_changed(digest: str, place: int) -> str:
    """Return a digest with one digit changed."""
    other = "0" if digest[place] != "0" else "f"
    return digest[:place] + other + digest[place + 1 :]


def other_hashes(row: Row, recipe: str, algorithm: str) -> Iterator[Any]:
    """Return hashes that a row should not have."""
    right = sample_hash(row, recipe, algorithm)
    other = {"sha256": "md5", "md5": "sha256"}[algorithm]
    yield from (hex_changed(right, place) for place in (0, 1, len(right) // 2, len(right) - 1))
    yield from (right.upper(), f"{algorithm}:{right}", f" {right}", right[:-1], right + "0")
    yield from (sample_hash(row, recipe, other), "", None, "z" * len(right), right[::-1])
    yield from ("\u0660" * len(right), "\x00" * len(right), 5, [right])
    yield hashlib.new(algorithm, b"").hexdigest()
    raw, listed = row["input"]["raw"], row["input"]["reference"]
    for written_out in (recipe_of(raw, listed) for recipe_of in COVERED.values()):
        # Brackets that are forgotten make another text, which is no JSON.
        for text in (written_out, re.sub(r"[][]", "", written_out), written_out.strip("{}")):
            digest = hashlib.new(algorithm, text.encode()).hexdigest()
            if digest != right:
                yield digest


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
@pytest.mark.parametrize("recipe", COVERED)
@pytest.mark.parametrize("listed", [[], ["5"], ["5", "6"], ["5", ""], ["", "6"]])
def test_wrongly_hashed_rows_are_not_taken(recipe: str, algorithm: str, listed: list[str]) -> None:
    within = context("0.3.0", recipe, algorithm)
    row = asking(sound(OPEN, "0.3.0"), within, raw="q\u00fc\n\x7f", reference=listed)
    lines = [
        written({**row, "sample_hash": digest}) for digest in other_hashes(row, recipe, algorithm)
    ]
    lines.append(written(bare(row)))
    lines += [line.replace(b"\\u00fc", b"u") for line in [written(row)]]
    assert not any(taken(within, line) for line in lines)
    agreed(within, *lines, written(row))
    for line in lines:
        assert not agreed(replace(within, options=replace(within.options, recipe=recipe)), line)


@pytest.mark.parametrize("recipe", COVERED)
def test_one_character_of_the_input_changes_the_hash(recipe: str) -> None:
    within = context("0.3.0", recipe)
    row = changed(sound(OPEN, "0.3.0"), "input/formatted", ...)
    row = asking(row, within, raw="abc" * 9, reference=["def" * 9, "ghi" * 9])
    line = written(row)
    start, stop = line.index(b"abc"), line.index(b"ghi" * 9)
    others = [
        line[:place] + b"z" + line[place + 1 :]
        for place in range(start, stop)
        if line[place : place + 1].isalpha()
    ]
    assert taken(within, line)
    assert not any(taken(within, one) for one in others)
    agreed(within, *others)


def test_rows_without_a_recipe_have_no_hash() -> None:
    within = BARE["0.3.0"]
    row = sound(SINGLE, "0.3.0")
    assert agreed(within, written({**row, "sample_hash": None}))
    assert not agreed(within, written(row))
    assert not agreed(within, written({**row, "sample_hash": ""}))


@pytest.mark.parametrize(
    "place", ["sample_id", "input/raw", "input/reference", "error", "output/raw"]
)
@pytest.mark.parametrize("half", ["\ud800", "a\udbff", "b\udc00", "\udfff\ud800"])
def test_half_of_a_surrogate_pair_is_left_to_others(place: str, half: str) -> None:
    row = changed(bare(sound()), place, half)
    assert not agreed(BARE["0.2.0"], written(row))
    for recipe in COVERED:
        within = context("0.2.0", recipe)
        assert not agreed(within, written(rehashed({**row, "sample_hash": "0" * 64}, within)))


IDS = ("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id")


def test_more_scopes_than_there_is_room_for() -> None:
    most = limit("MOST_SCOPES")
    row = bare(sound(SINGLE, "0.3.0"))
    numbers = [*range(most + 30), 0, most - 1, most, most + 29, most + 30]
    data = bytes_of([{**row, "evaluation_id": f"b/m/{number}"} for number in numbers])
    within = context("0.3.0", links=True)
    assert outcome(within, data) == outcome(slowly(within), data)


@pytest.mark.parametrize("length", [900, 5000, 70_000, 262_000, 262_143, 262_144, 300_000])
def test_ids_of_any_length(length: int) -> None:
    rows = [
        {**bare(sound(SINGLE, "0.3.0")), "evaluation_id": f"{number % 5}" + length * "x"}
        for number in range(10)
    ]
    assert agreed(context("0.3.0", links=True), *map(written, rows)) == (length < 262_000)
    half = [{**row, "evaluation_id": length * "\\"} for row in rows]
    agreed(BARE["0.3.0"], *map(written, half))


@pytest.mark.parametrize("within", [BARE["0.3.0"], JOINED["0.3.0"]])
def test_ids_may_be_written_in_several_ways(within: RowContext) -> None:
    rows = [rehashed(row, within) for row in sound_rows("0.3.0", 12)]
    lines = [
        written({**row, "evaluation_result_id": "another", "evaluation_name": "another"})
        if number % 2
        else written({**row, "evaluation_result_id": "accuracy"})
        for number, row in enumerate(rows)
    ]
    for number in range(1, len(lines), 2):
        name = rows[number]["evaluation_id"]
        lines[number] = lines[number].replace(json.dumps(name).encode(), units(name).encode())
    lines += [line.replace(b"tiny-arithmetic/", b"tiny-arithmetic\\/") for line in lines]
    lines += [line.replace(b'"accuracy"', b'"accurac\\u0079"') for line in lines]
    assert agreed(within, *lines)


@pytest.mark.parametrize("name", IDS[1:])
@pytest.mark.parametrize("value", ["", " ", "\u2003", "x", "x/y", "\u00fc\U0001f600", "a\nb", '"'])
def test_any_ids_are_judged_alike(name: str, value: str) -> None:
    rows = [rehashed({**row, name: value}, JOINED["0.3.0"]) for row in sound_rows("0.3.0", 3)]
    agreed(JOINED["0.3.0"], *map(written, [*rows, *sound_rows("0.3.0", 3), *rows]))
    absent = [{key: row[key] for key in row if key != name} for row in rows]
    agreed(JOINED["0.3.0"], *map(written, [*absent, *sound_rows("0.3.0", 3)]))


@given(
    picks=st.lists(
        st.tuples(
            st.sampled_from(IDS[1:]), st.sampled_from(["accuracy", "another", "x/y", "\u00fc"])
        ),
        min_size=1,
        max_size=12,
    ),
    violations=st.sets(st.integers(0, 11)),
)
@bounded(max_examples=60)
def test_scopes_that_alternate(picks: list[tuple[str, str]], violations: set[int]) -> None:
    within = JOINED["0.3.0"]
    rows = [
        {**row, name: value}
        for row, (name, value) in zip(sound_rows("0.3.0", len(picks)), picks, strict=True)
    ]
    for number in violations & {*range(len(rows))}:
        rows[number]["evaluation"]["score"] = [2, "1", 0.5][number % 3]
    agreed(within, *map(written, [*rows, *rows]))


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> Callable[[RowContext, int, int], RowEngine]:
    """Make engines whose scanner has room for so many rows and bytes of text."""

    def made(within: RowContext, rows: int, size: int) -> RowEngine:
        monkeypatch.setattr(binding, "MOST_ROWS", rows)
        monkeypatch.setattr(binding, "TEXT_BYTES", size)
        # Scanners of other sizes are idle there.
        monkeypatch.setattr(fast_path, "_IDLE", [])
        return RowEngine(within)

    return made


Rooms = Callable[[RowContext, int, int], RowEngine]


def spoilt_rows(count: int, faulty: Iterable[int]) -> bytes:
    """Write rows of which some are at fault, or none at all."""
    lines = [line_of(row) for row in sound_rows(count=count)]
    for number in faulty:
        lines[number] = [b"no row\n", b"\n", b"[]\n", lines[number].replace(b"1.0", b'"1"')][
            number % 4
        ]
    return b"".join(lines)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("room", [1, 2, 3, 4])
def test_how_many_rows_go_together_changes_nothing(rooms: Rooms, room: int, count: int) -> None:
    for some in ((), (0,), (count - 1,), (room - 1, room), range(0, count, 2), range(count)):
        data = spoilt_rows(count, {*some} & {*range(count)})
        for within in (HASHED["0.2.0"], JOINED["0.2.0"]):
            expected = outcome(slowly(within), data)
            assert outcome(rooms(within, room, 1 << 20), data) == expected
            assert outcome(rooms(within, room, 1 << 20), data[:-1]) == outcome(
                slowly(within), data[:-1]
            )


@pytest.mark.parametrize("count", [-1, 0, 1])
def test_blocks_of_as_many_rows_as_go_together(count: int) -> None:
    most = binding.MOST_ROWS
    data = spoilt_rows(most + count, [0, most - 2])
    more = spoilt_rows(2 * most + count, [most - 1, most, most + 1][: 2 + count] if count else [])
    for text in (data, more):
        assert outcome(HASHED["0.2.0"], text) == outcome(slowly(HASHED["0.2.0"]), text)


@pytest.mark.parametrize("within", [BARE["0.3.0"], JOINED["0.3.0"], context("0.3.0", "json-str")])
def test_how_much_room_there_is_for_texts_changes_nothing(rooms: Rooms, within: RowContext) -> None:
    row = changed(sound(SINGLE, "0.3.0"), "input/choices", ...)
    row = asking(row, within, raw='a"\u00fc\U0001f600', reference=["b\x7f", "cd"])
    lines = [
        *(written({**row, "sample_id": f"{number}"}, ensure_ascii=False) for number in range(3)),
        *(written({**row, "sample_id": f"\u00fc{number}"}) for number in range(3)),
    ]
    data = b"".join(line + b"\n" for line in lines)
    assert agreed(within, *lines)
    expected = outcome(slowly(within), data)
    for room in [*range(1, 400), *range(400, 1200, 7)]:
        assert outcome(rooms(within, 512, room), data) == expected, room


def test_texts_that_fill_all_room() -> None:
    most = binding.TEXT_BYTES
    for recipe, text in (("concat", "x"), ("json-list", "\u00fc"), ("", "\U0001f600")):
        within = context("0.3.0", recipe)
        row = sound(OPEN, "0.3.0")
        sizes = [most // 3, 10, most // 2, most // 2, most + 1, 10, most // 6, most // 6]
        rows = [
            asking({**row, "sample_id": f"{number}"}, within, raw=size // len(text.encode()) * text)
            for number, size in enumerate(sizes)
        ]
        lines = [written(one, ensure_ascii=False) for one in rows]
        assert not agreed(within, *lines)
        assert [taken(within, lines[place]) for place in (1, 4, 5)] == [True, False, True]


def test_samples_that_are_not_listed_are_counted() -> None:
    within = JOINED["0.2.0"]
    names: list[Any] = ["sample-0", "sample-1", "sample-2", 7, "7", 8, "8", "x\u00fc", "xu\u0308"]
    rows = [{**sound(number % 3), "sample_id": name} for number, name in enumerate(names)]
    lines = [*map(written, rows), *(written(row, ensure_ascii=False) for row in rows)]
    assert agreed(within, *lines)
    data = b"".join(line + b"\n" for line in lines)
    assert outcome(within, data).tally.unlisted.count(0) == 4


@pytest.mark.parametrize(
    ("sample", "is_taken"),
    [
        ("0", True), ("-1", True), ("7", True), ("999999999999999", True), ("9" * 18, True),
        ("-0", False), ("9" * 19, False), ("9" * 30, False), ("-" + "9" * 400, False),
        ("1.0", False), ("1e2", False), ("01", False), ("+1", False), ("true", False),
        ("null", False), ('""', False), ('"  "', False), ('"\\t\\u2003"', False), ('"7"', True),
        ('"-0"', True), ('"\\u0061"', False), ('"x\\u0061"', True), ('"\\u0020a"', True),
        ('"\xa0\u3000"', False),
        ('"\u3042"', True), ('"\u200b"', False), ('"\x7f"', False), ("[]", False), ("-", False),
    ],
)  # fmt: skip
def test_samples_may_be_numbers(sample: str, is_taken: bool) -> None:
    line = written({**sound(), "sample_id": "@"}).replace(b'"@"', sample.encode())
    for within in (HASHED["0.2.0"], JOINED["0.2.0"]):
        assert agreed(within, line, line) == is_taken


MARK_VALUES = [
    ("1", True), ("0", True), ("-7", True), ("9" * 18, True), ("9" * 19, False), ("-0", False),
    ("1.0", False), ("0.5", False), ("1e2", False), ("true", False), ("false", False),
    ("null", True), ('""', True), ('"a\\u0031\\n\\ud83d\\ude00"', True), ('"\u00fc"', True),
    ("{}", False), ('{"a": 1}', False), ("[]", False), ("[1]", False), ('"\\ud800"', False),
]  # fmt: skip


@pytest.mark.parametrize(("value", "is_taken"), MARK_VALUES)
@pytest.mark.parametrize("name", row_view.REPEAT_MARKS)
def test_repeats_are_marked_alike(name: str, value: str, is_taken: bool) -> None:
    for metadata in ({name: "@"}, {name: "@", "epoch2": 1, "seeds": 3}, {"a": [], name: "@"}):
        line = written({**sound(), "metadata": metadata}).replace(b'"@"', value.encode())
        assert agreed(JOINED["0.2.0"], line, line) == is_taken
    later = written({**sound(SINGLE, "0.3.0"), "metadata": {name: "@"}})
    is_text = value.startswith('"')
    assert agreed(JOINED["0.3.0"], later.replace(b'"@"', value.encode())) == (is_taken and is_text)


def test_marks_in_another_order_or_elsewhere() -> None:
    marks = {"seed": 1, "trial": "t", "repeat": None, "epoch": 3, "other": {"epoch": 4}}
    orders = [dict(order) for order in itertools.permutations(marks.items(), 5)]
    lines = [written({**sound(), "metadata": metadata}) for metadata in orders]
    assert agreed(JOINED["0.2.0"], *lines)
    for metadata in (..., None, "text", [], {}):
        agreed(JOINED["0.2.0"], written(changed(sound(), "metadata", metadata)))


@pytest.mark.parametrize("number", [SINGLE, AGENTIC, MULTI])
@pytest.mark.parametrize("version", VERSIONS)
def test_answers_are_compared(version: str, number: int) -> None:
    within = JOINED[version]
    row = sound(number, version)
    key = "interactions" if version == "0.2.0" else "messages"
    place = "output/raw" if number == SINGLE else f"{key}/3/content"
    listed = version != "0.2.0" and number == SINGLE
    said = ["5", "5 ", "\u00fc\x7f", "", '{"a": [1]}']
    rows = [changed(row, place, [text] if listed else text) for text in said]
    lines = [
        *map(written, rows),
        *(written(one, ensure_ascii=False, sort_keys=True) for one in rows),
    ]
    assert agreed(within, *lines)
    records = outcome(within, b"".join(line + b"\n" for line in lines)).row_records
    outputs = [record.output for record in all_records(records)]
    assert len({*outputs}) == len(said)
    assert 0 not in outputs


def all_records(packed: bytes) -> list[RowRecord]:
    """Return what rows were recorded as."""
    known = RowRecords(packed)
    return [known.record(place) for place in range(len(known))]


@pytest.mark.parametrize(
    "choices", [..., [], [""], ["5", "6"], ["5", ""], ["\x1f"], ["\u00fc", "5"]]
)
@pytest.mark.parametrize("version", VERSIONS)
def test_inputs_are_told_apart_alike(version: str, choices: Any) -> None:
    for within in (JOINED[version], context(version, links=True)):
        rows = [rehashed(changed(sound(SINGLE, version), "input/choices", choices), within)]
        rows += [{**rows[0], "sample_id": name} for name in ("a", "", 1, "1", "\u00fc")]
        agreed(within, *map(written, rows), *(written(row, ensure_ascii=False) for row in rows))


LINES: dict[str, Callable[[bytes], bytes]] = {
    "unchanged": lambda line: line,
    "returning": lambda line: line + b"\r",
    "returning twice": lambda line: line + b"\r\r",
    "indented": lambda line: b" \t\r" + line,
    "trailing": lambda line: line + b" \t\r ",
    "marked": lambda line: b"\xef\xbb\xbf" + line,
    "zeros": lambda line: b"\0" + line,
    "zeros behind": lambda line: line + b"\0",
    "form feed": lambda line: b"\f" + line,
    "form feed behind": lambda line: line + b"\v",
    "no-break": lambda line: b"\xc2\xa0" + line,
    "comma": lambda line: line + b",",
    "twice": lambda line: line + line,
    "in an array": lambda line: b"[" + line + b"]",
    "quoted": lambda line: json.dumps(line.decode()).encode(),
    "cut": lambda line: line[:-1],
    "beheaded": lambda line: line[1:],
    "comment": lambda line: line + b" // row",
    "in halves": lambda line: line.replace(b', "sample_id"', b', \n"sample_id"'),
    "in pieces": lambda line: line.replace(b'"input": {', b'"input": \n{'),
    "behind a blank": lambda line: b"\n" + line,
    "behind spaces": lambda line: b" \t\n\r\n" + line,
    "behind many blanks": lambda line: 40 * b"\n" + line,
    "before a blank": lambda line: line + b"\n",
}
USUAL_LINES = {"unchanged", "returning", "returning twice", "indented", "trailing"}


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize("ending", [b"\n", b"", b"\r\n", b"\r", b" ", b"\n\n", b"\n "])
def test_a_line_is_taken_only_for_itself(form: str, ending: bytes) -> None:
    first, second, third = (written(row) for row in sound_rows(count=3))
    odd = LINES[form](second)
    within = HASHED["0.2.0"]
    for data in (
        odd,
        first + b"\n" + odd,
        odd + b"\n" + first,
        b"\n".join([first, odd, third, first]),
    ):
        assert outcome(within, data + ending) == outcome(slowly(within), data + ending)
        assert outcome(within, data, tail=ending) == outcome(slowly(within), data, tail=ending)
    if b"\n" not in odd:
        assert taken(within, odd) == (form in USUAL_LINES)


def test_rows_are_found_wherever_the_block_begins() -> None:
    lines = [*map(written, sound_rows(count=3)), b"[]", written(sound())]
    data = b"".join(line + b"\n" for line in lines)
    for within in (HASHED["0.2.0"], JOINED["0.2.0"]):
        for start, base in ((0, 0), (0, 1 << 40), (7, 0), (7, 1000), (len(lines[0]) + 1, 5)):
            before = b"x" * 7 + data if start == 7 else data
            where = {"start": start, "base": base, "final": False}
            assert outcome(within, before, **where) == outcome(slowly(within), before, **where)
        offsets = [5, 1 << 33, 7, 8, 9]
        put = array("Q", itertools.chain.from_iterable(zip(range(1, 6), offsets, strict=True)))
        assert outcome(within, data, places=put.tobytes()) == outcome(
            slowly(within), data, places=put.tobytes()
        )
        found = all_records(outcome(within, data, places=put.tobytes()).row_records)
        assert [record.offset for record in found] == [5, 1 << 33, 7, 9]
        assert outcome(within, data, overlong=True) == outcome(slowly(within), data, overlong=True)


@pytest.mark.parametrize("spare", [-2, -1, 0, 1])
def test_lines_are_taken_up_to_a_length(spare: int) -> None:
    line = written(sound())
    within = context("0.2.0", "concat", max_line_bytes=len(line) + spare)
    assert agreed(within, line) == (spare >= 0)
    short = written({**sound(), "metadata": {}})
    data = b"\n".join([line, short, line + b"\r", short, b"x" * 5000, short, line])
    assert outcome(within, data) == outcome(slowly(within), data)


def escaped(text: str, place: int = -1) -> bytes:
    """Write a text with one of its characters escaped."""
    place %= len(text)
    return f'"{text[:place]}\\u{ord(text[place]):04x}{text[place + 1 :]}"'.encode()


@pytest.mark.parametrize(
    "text", ["single_turn", "agentic", "output.raw", "tool", "assistant", "user", "call-1", "0.2.0"]
)
@pytest.mark.parametrize("number", [SINGLE, AGENTIC, MULTI])
def test_words_that_are_written_with_escapes_do_not_mislead(number: int, text: str) -> None:
    within, plainly = HASHED["0.2.0"], f'"{text}"'.encode()
    line = written(sound(number))
    violations: list[tuple[bytes, bytes]] = [
        (b"", b""),
        (b'"tool_call_id": "call-1"', b'"content": "x"'),
        (b'"num_turns": 4', b'"num_turns": 5'),
        (b'"turn_idx": 0', b'"turn_idx": 1'),
        (b'"tool_calls_count": 1', b'"tool_calls_count": 0'),
        (b'"tool_calls": [{', b'"tool_calls": [{"id": "call-1", "name": "a"}, {'),
    ]
    for old, new in violations:
        spoilt = line.replace(old, new) if old else line
        for place in (0, -1):
            assert plainly not in spoilt or not agreed(
                within, spoilt.replace(plainly, escaped(text, place))
            )
        for place in range(spoilt.count(plainly)):
            parts = spoilt.split(plainly)
            head, rest = plainly.join(parts[: place + 1]), plainly.join(parts[place + 1 :])
            assert not agreed(within, head + escaped(text) + rest)


def test_choices_are_held_against_references_as_they_are_written() -> None:
    within = BARE["0.3.0"]
    base = bare(sound(SINGLE, "0.3.0"))
    for reference, choices, is_taken in (
        (["5"], ["5", "6"], True), (["5", "6"], ["6", "5"], True), (["a"], ["x"], True),
        (["B"], ["x", "y"], True), (["C"], ["x", "y"], False), (["2"], ["x", "y"], True),
        (["3"], ["x", "y"], False), (["0"], ["x"], True), (["00002"], ["x", "y"], False),
        (["002"], ["x", "y"], True), (["9999"], ["x"], False), ([""], ["x"], False),
        ([], ["x"], True), ([""], [""], True), (["x", "z"], ["x", "y"], False),
        (["\u00fc"], ["\u00fc"], True), (["u"], [], True), (["nobody"], None, True),
        (["@"], ["x"], False), (["`"], ["x"], False), (["{"], 30 * ["x"], False),
        (["["], 30 * ["x"], False), (["z"], 26 * ["x"], True), (["Z"], 25 * ["y"], False),
        (["9"], 9 * ["x"], True), (["9"], 8 * ["x"], False), (["0002"], ["x", "y"], True),
        ([":"], 30 * ["x"], False), (["/"], 30 * ["x"], False), (["1:"], 30 * ["x"], False),
        (["0/"], 30 * ["x"], False), (["aa"], 30 * ["x"], False), (["a1"], 30 * ["x"], False),
        (["1a"], 30 * ["x"], False), ([" 1"], ["x"], False), (["(A)"], ["x"], False),
        (["\u0662"], ["x", "y"], False), (["+1"], ["x"], False), (["-1"], ["x"], False),
    ):  # fmt: skip
        row = changed(changed(base, "input/reference", reference), "input/choices", choices)
        assert agreed(within, written(row)) == is_taken, (reference, choices)
        assert agreed(within, written(row, ensure_ascii=False)) == is_taken, (reference, choices)
    line = written(changed(base, "input/reference", ["fife"]))
    assert not agreed(within, line.replace(b'["5", "6"]', b'["fif\\u0065", "x"]'))
    assert agreed(within, line.replace(b"fife", b"f\\u0069fe").replace(b'"5",', b'"f\\u0069fe",'))


def with_calls(count: int, answered: int = 0, version: str = "0.3.0") -> Row:
    """Return an agentic row with so many calls, some of which one turn answers."""
    row = bare(sound(AGENTIC, version))
    key = "messages" if version == "0.3.0" else "interactions"
    row[key][1]["tool_calls"] = [{"id": f"c{number}", "name": "x"} for number in range(count)]
    row[key][2]["tool_call_id"] = [f"c{number}" for number in range(answered)]
    row["evaluation"]["tool_calls_count"] = count
    return row


@pytest.mark.parametrize("spare", [0, 1])
def test_what_there_is_room_for_is_taken(spare: int) -> None:
    within, base = BARE["0.3.0"], bare(sound(OPEN, "0.3.0"))
    calls, answered = limit("MOST_CALLS") + spare, limit("MOST_ANSWERED") + spare
    many = [f"{number}" for number in range(limit("MOST_CHOICES") + spare)]
    listed = [f"{number}" for number in range(limit("MOST_REFERENCES") + spare)]
    keys = {f"k{number}": "x" for number in range(limit("MOST_KEYS") + spare)}
    for row in (
        with_calls(calls, 1),
        with_calls(answered, answered),
        changed(changed(base, "input/choices", many), "input/reference", ["1"]),
        changed(base, "input/reference", listed),
        changed(base, "metadata", keys),
        changed(base, "metadata", {**keys, "epoch": "1", "seed": "2"}),
    ):
        assert agreed(within, written(row)) == (not spare)
    doubled = changed(base, "metadata", {**keys, "@": "x"})
    assert not agreed(within, written(doubled).replace(b'"@"', b'"k0"'))


def test_one_of_many_calls_is_at_violation() -> None:
    within, most = BARE["0.3.0"], limit("MOST_CALLS")
    row = with_calls(most, 3)
    line = written(row)
    assert agreed(within, line, line, written(bare(sound(AGENTIC, "0.3.0"))))
    for old, new in (
        (f'"c{most - 1}"', '"c0"'),
        ('["c0", "c1", "c2"]', '["c0", "c1", "d2"]'),
        ('"role": "tool"', '"role": "tool", "tool_calls": [{"id": "c5", "name": "x"}]'),
        (f'"tool_calls_count": {most}', f'"tool_calls_count": {most - 1}'),
    ):
        other = line.replace(old.encode(), new.encode())
        assert other != line
        assert not agreed(within, other)
    later = [*with_calls(3, 2)["messages"]]
    later[1], later[2] = {**later[1], "tool_call_id": ["c0"]}, {**later[2], "tool_call_id": ["c9"]}
    assert not agreed(within, written({**with_calls(3, 2), "messages": later}))


@pytest.mark.parametrize(("version", "answered"), [("0.2.0", "d0"), ("0.3.0", ["d0"])])
def test_no_turn_answers_its_own_calls(version: str, answered: Any) -> None:
    row = bare(sound(AGENTIC, version))
    key, turn = ("interactions", "messages")[version == "0.3.0"], {"role": "assistant"}
    calls = {"tool_calls": [{"id": "d0", "name": "x"}, {"id": "d1", "name": "y"}]}
    first, last = {**turn, **calls, "turn_idx": 4}, {"turn_idx": 5, "role": "user"}
    row["evaluation"] |= {"num_turns": 6, "tool_calls_count": 3}
    for where in (first, last):
        turns = [*row[key], first, last]
        turns[where["turn_idx"]] = {"tool_call_id": answered, **where}
        assert agreed(BARE[version], written({**row, key: turns})) == (where is last)
        turns[where["turn_idx"]] = {**where, "tool_call_id": answered}
        assert agreed(BARE[version], written({**row, key: turns})) == (where is last)


def test_values_are_taken_up_to_a_depth() -> None:
    within, line = BARE["0.2.0"], written({**bare(sound()), "metadata": {"@": "@"}})
    found = []
    for depth in [*range(70), 190, 195, 197, 198, 199, 200, 201, 202, 400, 5000]:
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            deep = f"{depth * opening}1{depth * closing}".encode()
            found.append((depth, agreed(within, line.replace(b'"@": "@"', b'"@": ' + deep))))
    most = max(depth for depth, is_taken in found if is_taken)
    assert all(is_taken == (depth <= most) for depth, is_taken in found)
    # The row and its metadata are two levels more, and a number has one of its own.
    assert most == limit("DEEPEST") - 3


@pytest.mark.parametrize("depth", [50, 5_000, 200_000])
@pytest.mark.parametrize("form", ['{"a":', "["])
def test_deep_values_are_left_to_others(form: str, depth: int) -> None:
    closing = "}" if form[0] == "{" else "]"
    deep = form * depth + "1" + closing * depth
    for place in ('"epoch": 1', '"score": 1.0', '"raw": "The answer is 5."'):
        name = place.partition(" ")[0]
        line = written(bare(sound())).replace(place.encode(), f"{name} {deep}".encode())
        assert not taken(BARE["0.2.0"], line)
    assert not taken(BARE["0.2.0"], (form * depth).encode())


@lru_cache(maxsize=1)
def unbounded() -> RowContext:
    """Return a context that bounds no scores, and sums them up."""
    document = claiming("0.2.0")
    for result in document["evaluation_results"]:
        result["metric_config"] = {}
    return context("0.2.0", "concat", aggregate=document)


def scoring(number: str) -> bytes:
    """Write a row with a score that is not correct."""
    line = written(sound()).replace(b'"is_correct": true', b'"is_correct": false')
    return line.replace(b'"score": 1.0', f'"score": {number}'.encode())


NUMBER_PLACES = [
    '"score": 1.0',
    '"total_tokens": 28',
    '"epoch": 1',
    '"latency_ms": 210.5',
    '"num_turns": 1',
]
LENGTHS = [1, 14, 15, 16, 17, 18, 19, 20, 25, 62, 63, 64, 65, 400, 4300, 4301, 20_000]


@pytest.mark.parametrize("digits", LENGTHS)
def test_numbers_of_any_length_are_judged_alike(digits: int) -> None:
    line = written(bare(sound()))
    forms = ["{}", "-{}", "{}.5", "0.{}", "1e{:.30}", "-1E-{:.3}", "0{}", "1.{}e1", "0.0{}E+0"]
    lines = []
    for place, form in itertools.product(NUMBER_PLACES, forms):
        number = form.format("1" * digits)
        longer = line.replace(place.encode(), f"{place.partition(' ')[0]} {number}".encode())
        lines.append(longer)
    agreed(BARE["0.2.0"], *lines)


@pytest.mark.parametrize(
    ("number", "is_taken"),
    [
        ("1", True), ("1.0", True), ("1e0", True), ("10e-1", True), ("0.1E1", True), ("1.00", True),
        ("1.0000000000000000001", True), ("0.99999999999999999999", True), ("1E+0", True),
        ("0.5", True), ("0", True), ("-0", True), ("-0.0", True), ("1e-400", True), ("0.1", True),
        ("5e-324", True), ("0." + 40 * "3", True), ("0." + 61 * "3", True), ("1e400", False),
        ("0." + 62 * "3", False), ("-1e400", False), ("1e999999999999", False), ("1e5", True),
        ("1.5", True), ("true", False), ("null", False), ("NaN", False), ("Infinity", False),
        ("-1", True), ("01", False), ("1.", False), (".5", False), ("+1", False), ("1e", False),
        ("1e+", False), ("0x1", False), ("1_0", False), ("1 1", False), ("--1", False),
        ("-", False), ("1,0", False), ("1e5.0", False), ("1d5", False), ("1f", False),
        ("123456789012345", True), ("1234567890123456", False), ("9007199254740993", False),
        ("9007199254740993.0", True), ("1" + 18 * "0", False), ("0e0", True), ("0.0e5", True),
        ("1.0e-0", True), ("-1e-400", True), ("0.3333333333333333148", True),
    ],
)  # fmt: skip
def test_scores_are_read_alike(number: str, is_taken: bool) -> None:
    wrong = scoring(number)
    line = wrong.replace(b'"is_correct": false', b'"is_correct": true')
    within = unbounded()
    assert agreed(within, line) == (is_taken and float(number) != 0)
    assert agreed(within, wrong) == (is_taken and float(number) != 1)


@given(
    numbers=st.lists(
        st.tuples(
            st.one_of(st.floats(0, 1), st.floats(allow_nan=False, allow_infinity=False)),
            st.sampled_from(["r", ".17e", ".25e", ".16g", ".40f", ".15f", ".14f", ".5g"]),
        ),
        min_size=1,
        max_size=4,
    )
)
@bounded(max_examples=150)
def test_scores_sum_up_alike(numbers: list[tuple[float, str]]) -> None:
    texts = [repr(one) if form == "r" else format(one, form) for one, form in numbers]
    agreed(unbounded(), *map(scoring, texts))


@pytest.mark.parametrize("sign", ["", "-"])
def test_decimals_are_rounded_alike(sign: str) -> None:
    digits = "9007199254740993", "9007199254740991", "9999999999999999", "900719925474099", "123"
    more = (
        "17976931348623157",
        "45035996273704985",
        "200000000000000005",
        "999999999999999",
        "3" * 30,
    )
    for text in (*digits, *more):
        numbers = [f"{text[:place]}.{text[place:]}" for place in range(1, len(text))]
        numbers += [f"0.{zeros * '0'}{text}" for zeros in (0, 1, 2, 7, 15, 20)]
        numbers += [f"{text[:1]}.{text[1:]}e{power}" for power in (-330, -308, -22, 5, 22, 23, 290)]
        numbers += [f"{text}.0", f"{text}.5"]
        assert agreed(unbounded(), *(scoring(sign + number) for number in numbers)), text


@pytest.mark.parametrize(
    ("metric", "taken_scores"),
    [
        ({}, [-5, 0, 0.5, 1, 5]),
        ({"min_score": 0, "max_score": 1}, [0, 0.5, 1]),
        ({"min_score": -5}, [-5, 0, 0.5, 1, 5]),
        ({"max_score": 0.5}, [-5, 0, 0.5]),
        ({"min_score": 0.25, "max_score": 0.75}, [0.5]),
        ({"min_score": 1, "max_score": 0}, []),
        ({"min_score": "-Infinity", "max_score": "Infinity"}, [-5, 0, 0.5, 1, 5]),
        ({"min_score": 10**400}, []),
    ],
)
def test_scores_are_within_all_bounds(metric: Row, taken_scores: list[float]) -> None:
    document = aggregate_of("0.2.0", b"", 0)
    document["evaluation_results"][0]["metric_config"] = metric
    within = context("0.2.0", "concat", aggregate=document)
    found = []
    for score in (-5, 0, 0.5, 1, 5):
        row = changed(sound(), "evaluation", {"score": score, "is_correct": score == 1})
        found += [score] * agreed(within, written(row))
    assert found == taken_scores


@pytest.mark.parametrize("version", VERSIONS)
def test_token_counts_add_up(version: str) -> None:
    within = BARE[version]
    nothing = [...] if version == "0.2.0" else [..., None]
    extras = "input_tokens_cache_write", "input_tokens_cache_read", "reasoning_tokens"
    lines, expected = [], []
    for counts in itertools.product([*nothing, 0, 5, 100], repeat=3):
        known = {
            name: count for name, count in zip(extras, counts, strict=True) if count is not ...
        }
        added = [count for count in known.values() if count is not None]
        sums = {sum(some) + 30 for size in range(4) for some in itertools.combinations(added, size)}
        for total in (29, 30, 31, 35, 40, 130, 135, 230, 330, 331):
            usage = {"input_tokens": 20, "output_tokens": 10, "total_tokens": total, **known}
            lines.append(written({**bare(sound(SINGLE, version)), "token_usage": usage}))
            expected.append(total in sums)
    agreed(within, *lines)
    assert [taken(within, line) for line in lines] == expected


SOURCES_OF_ANSWERS = {
    True: ["output.raw", "answer", "zeta", "Answer", "Zeta", "m", "x.output.raw", "a b", "z" * 500],
    False: [
        "", " ", "@x", "[x", "`x", "{x", "1x", "\u00fc", " answer", "output", "output.raw[0]",
        "outputs", "output_column", "output.reasoning_trace", "interactions[0].content", "messages",
        "messages[0]", "messages[0].content", "interactions", "a\\b", "a\nb", "_", "\noutput.raw",
        "output.raw ",
    ],
}  # fmt: skip


def test_sources_of_answers_are_judged_alike() -> None:
    for is_taken, sources in SOURCES_OF_ANSWERS.items():
        for source in sources:
            row = changed(bare(sound()), "answer_attribution/0/source", source)
            assert agreed(BARE["0.2.0"], written(row)) == is_taken, source
    for version, key in (("0.2.0", "interactions"), ("0.3.0", "messages")):
        for turn, named in itertools.product(range(-1, 6), repeat=2):
            row = changed(bare(sound(MULTI, version)), "answer_attribution/0/turn_idx", turn)
            row = changed(row, "answer_attribution/0/source", f"{key}[{named}].content")
            assert agreed(BARE[version], written(row)) == (turn == named and turn in range(4))
        for source in (
            f"{key}[3]",
            f"{key}[03].content",
            f"{key}[3].contents",
            "answer",
            f"{key}[3",
        ):
            row = changed(bare(sound(MULTI, version)), "answer_attribution/0/source", source)
            assert not agreed(BARE[version], written(row))


SPACES = [chr(point) for point in range(0x110000) if chr(point).isspace()]


@pytest.mark.parametrize("place", ["sample_id", "input/raw", "evaluation_id", "evaluation_name"])
def test_white_space_says_nothing(place: str) -> None:
    within = BARE["0.2.0"]
    for text in ["", *SPACES, "".join(SPACES), *map(("\u3000" + "{}" + " ").format, SPACES)]:
        row = changed(bare(sound()), place, text)
        assert not taken(within, written(row, ensure_ascii=False)), repr(text)
        assert not taken(within, written(row)), repr(text)
    for point in (0x21, 0x7E, 0xC0, 0x7FF, 0x3040, 0x4000, 0xD7FF, 0xE000, 0x1F600):
        row = changed(bare(sound()), place, f" {chr(point)}")
        assert agreed(within, written(row, ensure_ascii=False)), hex(point)


@pytest.mark.parametrize("library_name", ["unknown", "inspect_ai", "lm_eval"])
@pytest.mark.parametrize("member", ["generation_time_ms", "time_to_first_token_ms"])
@pytest.mark.parametrize("time", [0, 210.5, 210.50000001, 211, "0", None, -1])
def test_times_are_within_the_latency(library_name: str, member: str, time: Any) -> None:
    document = aggregate_of("0.3.0", b"", 0)
    document["eval_library"] = {"name": library_name, "version": "1"}
    within = context("0.3.0", "json-list", aggregate=document)
    row = changed(sound(SINGLE, "0.3.0"), f"performance/{member}", time)
    is_timed = member != "generation_time_ms" or library_name == "lm_eval"
    expected = time in (0, 210.5, None) or (not is_timed and time not in ("0", -1))
    assert agreed(within, written(row)) == expected
    for other in (
        {member: time},
        {"latency_ms": None, member: time},
        {"latency_ms": 0, member: time},
    ):
        agreed(within, written({**row, "performance": other}))


@pytest.mark.parametrize("number", [SINGLE, AGENTIC, MULTI])
def test_half_a_row_of_another_kind_is_not_taken(number: int) -> None:
    for version, within in HASHED.items():
        key = "interactions" if version == "0.2.0" else "messages"
        whole = {kind: sound(kind, version) for kind in (SINGLE, AGENTIC, MULTI)}
        row = whole[number]
        assert agreed(within, written(row))
        for kind in row_view.INTERACTION_TYPES:
            # A row with calls of tools may also be called multi_turn.
            expected = kind == row["interaction_type"] or (number, kind) == (
                AGENTIC,
                row_view.MULTI_TURN,
            )
            assert agreed(within, written({**row, "interaction_type": kind})) == expected
        for output, turns in itertools.product(
            [..., None, whole[SINGLE]["output"]],
            [..., None, [], whole[AGENTIC][key], whole[MULTI][key]],
        ):
            other = changed(changed(row, "output", output), key, turns)
            agreed(within, written(other))
            agreed(within, written({**other, "answer_attribution": []}))


def test_what_rows_say_does_not_stay_for_the_next_one() -> None:
    within = JOINED["0.2.0"]
    rows = sound_rows(count=8)
    little = [
        {name: row[name] for name in row if name not in ("token_usage", "performance", "metadata")}
        for row in rows
    ]
    spoilt = [changed(row, "evaluation/score", "1") for row in rows]
    for order in itertools.permutations([rows[0], little[1], spoilt[2], little[5], rows[2]], 5):
        agreed(within, *map(written, order))


def test_blocks_do_not_know_each_other() -> None:
    within = JOINED["0.3.0"]
    rows = sound_rows("0.3.0", 6)
    blocks = [
        bytes_of(rows),
        bytes_of([{**row, "evaluation_id": "other/m/1"} for row in rows]),
        b"",
        b"no newline",
        bytes_of(rows[::-1]),
    ]
    alone = [outcome(RowEngine(within), data) for data in blocks]
    together = RowEngine(within)
    for order in itertools.permutations(range(len(blocks))):
        assert [outcome(together, blocks[place]) for place in order] == [
            alone[one] for one in order
        ]


def mixed_rows() -> bytes:
    """Return rows with and without faults."""
    rows: list[Row] = [row for _ in range(9) for row in sound_rows("0.2.0", 8)]
    rows[5] |= {"answer_attribution": []}
    rows[20]["evaluation"]["score"] = "1"
    rows[30]["sample_hash"] = "0" * 64
    return bytes_of(rows).replace(b'"subject": "arithmetic"', b'"a": 1, "a": 1', 1)


def test_without_the_library_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    data = mixed_rows()
    for within in (HASHED["0.2.0"], JOINED["0.2.0"]):
        expected = outcome(RowEngine(within), data)
        monkeypatch.setattr(fast_path, "library", lambda: None)
        without = RowEngine(within)
        assert outcome(without, data) == expected
        assert without._fast_path is None
        monkeypatch.undo()
        monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", 0)


def test_a_library_that_cannot_be_loaded_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoilt = tmp_path / "library"
    spoilt.write_bytes(b"\x7fELF")
    for path in (tmp_path / "missing", spoilt, Path("libc.so.6")):
        monkeypatch.setattr(binding, "LIBRARY", path)
        assert binding.library.__wrapped__() is None


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
@pytest.mark.parametrize("recipe", ["", *COVERED])
def test_hashes_are_checked_without_openssl_too(
    monkeypatch: pytest.MonkeyPatch, recipe: str, algorithm: str
) -> None:
    monkeypatch.setattr(fast_path, "hasher", lambda _: None)
    for links in (False, True):
        within = context("0.3.0", recipe, algorithm, links=links)
        subject = RowEngine(within)
        rows = [rehashed(row, within) for row in sound_rows("0.3.0", 9)]
        data = bytes_of(rows)
        assert outcome(subject, data) == outcome(slowly(within), data)
        rows[3]["sample_hash"], rows[8]["sample_hash"] = rows[4].get("sample_hash"), "0" * 64
        data = b"no row\n" + bytes_of(rows)
        assert outcome(subject, data) == outcome(slowly(within), data)
        assert outcome(subject, bytes_of(rows[8:])) == outcome(slowly(within), bytes_of(rows[8:]))


def test_several_threads_do_not_disturb_each_other() -> None:
    chosen = [HASHED["0.2.0"], JOINED["0.2.0"]]
    blocks = [mixed_rows(), bytes_of(sound_rows(count=530)), bytes_of(sound_rows(count=3))]
    work = [*itertools.product(chosen, blocks)] * 4
    expected = {key: outcome(slowly(key[0]), key[1]) for key in work}
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda key: outcome(*key), work)
        assert [*found] == [expected[key] for key in work]


@given(data=odd_files(), most=st.sampled_from([0, 1]))
@bounded(max_examples=100)
def test_the_scanner_changes_no_outcome(data: bytes, most: int) -> None:
    block = Block("rows.jsonl", 0, len(data), len(data), data=data, final=True)
    quickly = context_for(data, most)
    slow = context_for(data, most, engine="rust")
    assert fast_path_for(quickly) is not None
    assert fast_path_for(slow) is None
    blocks = [block] if data else []
    assert collected(quickly, blocks) == collected(slow, blocks)


@needs_corpus
@pytest.mark.parametrize(
    "path", sorted((CORPUS / "eee-pairs").glob("*/")), ids=lambda path: path.name
)
def test_the_scanner_changes_no_report(path: Path) -> None:
    quickly, slow = (evalstream.check(path, engine=name) for name in ("auto", "rust"))
    assert list(quickly) == list(slow)
    assert quickly.counts == slow.counts
    assert [run.results for run in quickly.runs] == [run.results for run in slow.runs]


@pytest.mark.parametrize("codes", ["ES301", "ES303", "ES4", "ES1", "ES3"])
def test_rules_that_are_not_asked_for_say_nothing(codes: str, tmp_path: Path) -> None:
    rows = sound_rows(count=8)
    rows[0]["answer_attribution"] = []
    rows[1]["answer_attribution"][0]["source"] = "elsewhere"
    path = tmp_path / "rows.jsonl"
    path.write_bytes(bytes_of(rows) + b"no row\n")
    for settings in ({"select": (codes,)}, {"ignore": (codes,)}):
        quickly, slow = (evalstream.check(path, engine=one, **settings) for one in ("auto", "rust"))
        assert list(quickly) == list(slow)
        assert quickly.counts == slow.counts


@pytest.mark.parametrize(
    "settings",
    [
        {"engine": "rust"},
        {"engine": "portable"},
        {"schema": '{"type": "object"}'},
        {"max_depth": 100},
    ],
)
def test_some_options_want_no_scanner(settings: dict[str, Any]) -> None:
    assert fast_path_for(context("0.2.0", "concat", **settings)) is None


def test_small_files_are_not_worth_a_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    data = mixed_rows()
    monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", 1 << 60)
    subject = RowEngine(HASHED["0.2.0"])
    assert outcome(subject, data) == outcome(slowly(HASHED["0.2.0"]), data)
    assert subject._fast_path is None
    monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", RowEngine._expected)
    assert outcome(subject, data) == outcome(slowly(HASHED["0.2.0"]), data)
    assert subject._fast_path is not None


BASE: dict[str, Any] = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "x": {"type": "null"}},
}


def with_member(node: Any) -> dict[str, Any]:
    """Return what a schema with one more member differs in."""
    return {"properties": {**BASE["properties"], "y": node}}


def demanding(condition: Any, then: Any, **more: Any) -> dict[str, Any]:
    """Return what a schema with a condition differs in."""
    return {"allOf": [{"if": {"properties": condition}, "then": then, **more}]}


def tabled(schema: Any) -> Any:
    """Return the tables of a schema."""
    return tables_of(schema, ("kind", "x", "y"), "kind", {})


@pytest.mark.parametrize(
    "change",
    [
        {"required": []},
        {"patternProperties": {}},
        {"minProperties": 1},
        {"required": ["kind", "z"]},
        {"properties": {**BASE["properties"], "kind": {"type": "string"}}},
        with_member({"type": "string", "minLength": 1}),
        with_member({"type": "integer", "maximum": 1}),
        with_member({"type": "integer", "exclusiveMinimum": 1}),
        with_member({"type": "integer", "enum": [1]}),
        with_member({"type": ["string", "null"], "enum": ["a", None]}),
        with_member({"type": "string", "enum": ['"']}),
        with_member({"type": "string", "enum": ["\\"]}),
        with_member({"type": "string", "enum": ["\u00fc"]}),
        with_member({"type": "object", "required": ["z"]}),
        with_member({"type": "object", "additionalProperties": False}),
        with_member({"type": "array", "items": {"type": "string", "pattern": "a"}}),
        with_member({"type": "array", "minItems": 1}),
        with_member({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
        with_member({"oneOf": [{"type": "string"}, {"type": "string"}]}),
        with_member({"oneOf": [{"type": "string"}], "type": "string"}),
        with_member({"oneOf": [{"type": "integer", "minimum": 1}, {"type": "null", "minimum": 2}]}),
        with_member({"anyOf": [{"type": "string"}]}),
        with_member({"$ref": "#/properties/x"}),
        with_member({"not": {"type": "string"}}),
        with_member({"const": "a"}),
        with_member({"type": "object", "properties": {f"{place}": {} for place in range(65)}}),
        demanding({"kind": {"const": "a"}}, {}, **{"else": {}}),
        demanding({"x": {"const": "a"}}, {}),
        demanding({"kind": {"pattern": "a"}}, {}),
        demanding({"kind": {"const": "a"}, "x": {"const": "a"}}, {}),
        demanding({"kind": {"const": "c"}}, {"properties": {"x": {"type": "null"}}}),
        demanding({"kind": {"const": "a"}}, {"properties": {"x": {"type": "string"}}}),
        demanding({"kind": {"const": "a"}}, {"properties": {"x": {"type": "null", "minimum": 1}}}),
        demanding({"kind": {"const": "a"}}, {"required": ["x"]}),
        demanding({"kind": {"const": "a"}}, {"minProperties": 1}),
    ],
)  # fmt: skip
def test_a_schema_that_no_table_can_say_is_refused(change: dict[str, Any]) -> None:
    tabled(BASE)
    with pytest.raises(NotTabled):
        tabled({**BASE, **change})


@pytest.mark.parametrize(
    ("condition", "wanted", "unwanted"),
    [
        ({"properties": {"x": {"type": "null"}}}, (0, 0), (2, 0)),
        ({"properties": {"y": {"type": "string", "not": {"type": "null"}}}}, (4, 0), (0, 0)),
        ({"required": ["y"], "properties": {"y": {"type": "string"}}}, (4, 0), (0, 0)),
        ({"properties": {"unheard_of": {"type": "string"}}}, (0, 0), (0, 0)),
    ],
)
def test_conditions_are_demands(condition: Any, wanted: Any, unwanted: Any) -> None:
    schema = {**BASE, **with_member({"type": ["string", "null"]})}
    found = tabled({**schema, **demanding({"kind": {"const": "a"}}, condition)})
    assert (found.wanted, found.unwanted) == (wanted, unwanted)
    found = tabled({**schema, **demanding({"kind": {"enum": ["a", "b"]}}, condition)})
    assert (found.wanted, found.unwanted) == (2 * wanted[:1], 2 * unwanted[:1])
    with pytest.raises(NotTabled):
        tables_of({**schema, **demanding({"kind": {"const": "a"}}, _THEN)}, ("kind",), "kind", {})


_THEN = {"properties": {"x": {"type": "null"}}}


def test_a_schema_that_no_table_can_say_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> Any:
        raise NotTabled("x")

    monkeypatch.setattr(fast_path, "tables_of", refused)
    monkeypatch.setattr(fast_path, "_shape_of", fast_path._shape_of.__wrapped__)
    assert fast_path_for(HASHED["0.2.0"]) is None


def test_a_member_can_be_pinned() -> None:
    schema = pinned(BASE, "kind", ["b"])
    assert schema["properties"]["kind"] == {"type": "string", "enum": ["b"]}
    assert BASE["properties"]["kind"]["enum"] == ["a", "b"]
    assert len(tabled(schema).wanted) == 1
