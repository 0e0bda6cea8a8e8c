"""The fast path identifies rows as the exact path does: ids, hashes, samples, inputs, answers."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from depth import deep, examples, in_turn
from each import each
from fast_rows import (
    AGENTIC,
    BARE,
    HASHED,
    IDS,
    JOINED,
    MULTI,
    OPEN,
    SINGLE,
    agreed,
    all_records,
    asking,
    bare,
    changed,
    context,
    limit,
    outcome,
    rehashed,
    slowly,
    sound,
    taken,
    written,
)
from hypothesis import given
from hypothesis import strategies as st
from rows import COVERED, VERSIONS, Row, bounded, bytes_of, sample_hash, sound_rows

from evalstream.formats.eee import row_view
from evalstream.formats.eee.facts import RowContext
from evalstream.model.data_class import replace
from evalstream.parsing.native import binding

SCANNED = [recipe for recipe in binding.recipes() if recipe]
"""The recipes that the scanner knows; rows of others take the exact path."""

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


@each(
    ("before", "after"),
    [(0, 0), (7, 40), (15, 0), (15, 40), (16, 0), (31, 40)]
    + [deep(before, after) for before in (1, 7, 14, 16, 31) for after in (0, 40)],
)
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
            # Whether an output without a plain letter is empty, Python may have to decide.
            letters = re.sub(rb"\\u....", b"", before * b"z" + text + after * b"z")
            if name != '"raw"' or not is_good or re.search(rb"[!-~]", letters):
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


@each(
    ("recipe", "algorithm", "writing"),
    [
        *in_turn(binding.recipes(), ["sha256"], list(WRITINGS)),
        *in_turn(["concat"], ["md5"], list(WRITINGS)),
        *(
            deep(one, "md5", way)
            for one in binding.recipes()
            if one != "concat"
            for way in WRITINGS
        ),
    ],
)
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
        # Neither does it compare answers with references whose letters are escapes.
        hides_letters = writing == "units" and any(re.search("[ -~]", text) for text in listed)
        assert taken(within, line) != (doubtful or hides_letters)
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


@pytest.mark.parametrize("algorithm", ["sha256", deep("md5")])
@each("recipe", SCANNED)
@pytest.mark.parametrize("listed", [[], ["5"], ["5", "6"], ["5", ""], ["", "6"]])
def test_wrongly_hashed_rows_are_not_taken(recipe: str, algorithm: str, listed: list[str]) -> None:
    within = context("0.3.0", recipe, algorithm)
    row = asking(sound(OPEN, "0.3.0"), within, raw="q\u00fc\n\x7f", reference=listed)
    lines = [
        written({**row, "sample_hash": digest})
        for digest in other_hashes(row, recipe, algorithm)
        if isinstance(digest, str)
    ]
    lines += [line.replace(b"\\u00fc", b"u") for line in [written(row)]]
    named = replace(within, options=replace(within.options, recipe=recipe))
    for known in (within, named):
        assert not any(taken(known, line) for line in lines)
        agreed(known, *lines, written(row), written(bare(row)))


@each("recipe", SCANNED)
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


@each("place", ["sample_id", "input/raw", "input/reference", "error", "output/raw"])
@pytest.mark.parametrize("half", ["\ud800", "a\udbff", "b\udc00", "\udfff\ud800"])
def test_half_of_a_surrogate_pair_is_left_to_others(place: str, half: str) -> None:
    row = changed(bare(sound()), place, half)
    assert not agreed(BARE["0.2.0"], written(row))
    for recipe in SCANNED:
        within = context("0.2.0", recipe)
        assert not agreed(within, written(rehashed({**row, "sample_hash": "0" * 64}, within)))


def test_more_scopes_than_there_is_room_for() -> None:
    most = limit("MOST_SCOPES")
    row = bare(sound(SINGLE, "0.3.0"))
    numbers = [*range(most + 30), 0, most - 1, most, most + 29, most + 30]
    data = bytes_of([{**row, "evaluation_id": f"b/m/{number}"} for number in numbers])
    within = context("0.3.0", links=True)
    assert outcome(within, data) == outcome(slowly(within), data)


@each("length", [900, 5000, 70_000, 262_000, 262_143, 262_144, 300_000])
def test_ids_of_any_length(length: int) -> None:
    rows = [
        {**bare(sound(SINGLE, "0.3.0")), "evaluation_id": f"{number % 5}" + length * "x"}
        for number in range(10)
    ]
    assert agreed(context("0.3.0", links=True), *map(written, rows)) == (length <= 262_000)
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


@each("name", IDS[1:])
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
@bounded(max_examples=examples(60))
def test_scopes_that_alternate(picks: list[tuple[str, str]], violations: set[int]) -> None:
    within = JOINED["0.3.0"]
    rows = [
        {**row, name: value}
        for row, (name, value) in zip(sound_rows("0.3.0", len(picks)), picks, strict=True)
    ]
    for number in violations & {*range(len(rows))}:
        rows[number]["evaluation"]["score"] = [2, "1", 0.5][number % 3]
    agreed(within, *map(written, [*rows, *rows]))


def test_samples_that_are_not_listed_are_counted() -> None:
    within = JOINED["0.2.0"]
    names: list[Any] = ["sample-0", "sample-1", "sample-2", 7, "7", 8, "8", "x\u00fc", "xu\u0308"]
    rows = [{**sound(number % 3), "sample_id": name} for number, name in enumerate(names)]
    lines = [*map(written, rows), *(written(row, ensure_ascii=False) for row in rows)]
    assert agreed(within, *lines)
    data = b"".join(line + b"\n" for line in lines)
    assert outcome(within, data).tally.unlisted.count(0) == 4


@each(
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


@each(("marked", "name"), in_turn(MARK_VALUES, list(row_view.REPEAT_MARKS)))
def test_repeats_are_marked_alike(marked: tuple[str, bool], name: str) -> None:
    value, is_taken = marked
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
@each("version", VERSIONS)
def test_answers_are_compared(version: str, number: int) -> None:
    within = JOINED[version]
    row = changed(sound(number, version), "answer_attribution", [])
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


@pytest.mark.parametrize(
    "choices", [..., [], [""], ["5", "6"], ["5", ""], ["\x1f"], ["\u00fc", "5"]]
)
@each("version", VERSIONS)
def test_inputs_are_told_apart_alike(version: str, choices: Any) -> None:
    # Without ES313 the scanner takes rows whose reference is not among the choices.
    free = context(version, links=True, ignore=("ES313",))
    for within in (JOINED[version], context(version, links=True), free):
        rows = [rehashed(changed(sound(SINGLE, version), "input/choices", choices), within)]
        rows += [{**rows[0], "sample_id": name} for name in ("a", "", 1, "1", "\u00fc")]
        agreed(within, *map(written, rows), *(written(row, ensure_ascii=False) for row in rows))
