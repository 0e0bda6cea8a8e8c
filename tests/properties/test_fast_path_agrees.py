"""The fast path takes no row that the exact path would not take alike."""

import hashlib
import itertools
import json
import random
from array import array
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS, needs_corpus
from corpus_changes import BASE, SHAPED, files_of
from depth import deep, examples, in_turn, is_deep, some
from each import each
from fast_rows import (
    AGENTIC,
    BARE,
    CONTEXTS,
    HASHED,
    JOINED,
    OPEN,
    SINGLE,
    agreed,
    all_records,
    asking,
    bare,
    changed,
    context,
    limit,
    mixed_rows,
    outcome,
    rehashed,
    slowly,
    sound,
    taken,
    written,
)
from hypothesis import given
from hypothesis import strategies as st
from odd_files import context_for, odd_files
from odd_files import outcome as collected
from rows import (
    VERSIONS,
    Place,
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

import evalstream
from evalstream.formats.eee import fast_block, versions
from evalstream.formats.eee.exact_path import RowReader
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.fast_path import fast_path_for
from evalstream.formats.eee.row_engine import RowEngine
from evalstream.formats.eee.sample_hash import RECIPES
from evalstream.formats.eee.scan_results import TakenViolations
from evalstream.formats.eee.scanned_rows import ScannedRows
from evalstream.model.block import Block
from evalstream.model.data_class import replace
from evalstream.parsing.native import scanner as native_scanner

MANNERS: dict[str, Callable[[Row], bytes]] = {
    "usual": written,
    "compact": lambda row: written(row, separators=(",", ":")),
    "utf-8": lambda row: written(row, ensure_ascii=False),
    "sorted": lambda row: written(row, sort_keys=True),
    "spaced": lambda row: written(row, separators=(" \t,\r ", "\t: ")),
    "returning": lambda row: written(row) + b"\r",
    "indented": lambda row: b" \t\r " + written(row) + b" \t ",
}


@each("manner", MANNERS)
@pytest.mark.parametrize(("version", "within"), CONTEXTS)
def test_every_sound_row_is_taken(version: str, within: RowContext, manner: str) -> None:
    lines = [MANNERS[manner](rehashed(row, within)) for row in sound_rows(version)]
    assert agreed(within, *lines)


@each("version", versions.INSTANCE_VERSIONS)
def test_every_version_takes_the_rows_that_declare_it_and_no_others(version: str) -> None:
    rows, _ = files_of(f"sound-{version}" if version in SHAPED else BASE)
    row = bare(json.loads(rows.read_bytes().partition(b"\n")[0]))
    settled = context(version, schema_version=version)
    for declared in versions.KNOWN_VERSIONS | {"9.9", "", "0.2"}:
        line = written({**row, "schema_version": declared})
        assert agreed(settled, line), declared
        expected = "+" in version or declared in versions.declared_forms(version)
        assert agreed(BARE[version], line) == expected, declared


@each("declared", ["0.2.0", "0.2.1", "0.3.0", "9.9.9", "0.2.0rc1"])
def test_a_row_that_is_noise_belongs_to_no_group(declared: str) -> None:
    within = context("0.2.0", skip_noise=True, noise=".")
    row = {**bare(sound()), "schema_version": declared}
    agreed(within, written(row), written(bare(sound(OPEN))), written({**row, "sample_id": 1}))


def shuffled(value: Any, chance: random.Random) -> Any:
    """Return a value with the members of all its objects in another order."""
    if isinstance(value, list):
        return [shuffled(item, chance) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: shuffled(value[name], chance) for name in chance.sample([*value], len(value))}


@each(("version", "within"), CONTEXTS)
def test_members_may_come_in_any_order(version: str, within: RowContext) -> None:
    chance = random.Random(7)
    rows = [rehashed(row, within) for row in sound_rows(version, 48)]
    assert agreed(within, *(written(shuffled(row, chance)) for row in rows))


@pytest.mark.parametrize("version", VERSIONS)
def test_mutants_are_judged_alike(version: str) -> None:
    @given(rows=st.lists(mutants(version), min_size=1, max_size=2), is_hashed=st.booleans())
    @bounded(max_examples=examples(200))
    def agree(rows: list[Row], is_hashed: bool) -> None:
        for known, within in CONTEXTS:
            if known == version:
                some = [rehashed(row, within) for row in rows] if is_hashed else rows
                agreed(within, *map(written, some))

    agree()


@pytest.mark.parametrize(
    ("version", "number"),
    [("0.2.0", SINGLE), ("0.3.0", AGENTIC), deep("0.2.0", AGENTIC), deep("0.3.0", SINGLE)],
)
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


OTHER_VALUES = (..., None, True, 0, -1, 0.5, 1.0, "", "text", [], ["text"], {})


@given(
    line=st.one_of(
        [
            spoilt_bytes(written(rehashed(sound(number), within)), 2)
            for number in (SINGLE, AGENTIC)
            for within in (BARE["0.2.0"], HASHED["0.2.0"])
        ]
    )
)
@bounded(max_examples=examples(500))
def test_spoilt_bytes_are_judged_alike(line: bytes) -> None:
    agreed(BARE["0.2.0"], line)
    agreed(HASHED["0.2.0"], line)


@pytest.mark.parametrize("number", [SINGLE, deep(AGENTIC)])
def test_each_single_byte_counts(number: int) -> None:
    within = BARE["0.2.0"]
    line = written(changed(bare(sound(number)), "input/formatted", ...), separators=(",", ":"))
    odd = itertools.cycle(b'"\\,:{}[]0-. \x00\x80e+\t;x\x7f/')
    spoilt = [line[:place] + line[place + 1 :] for place in range(len(line))]
    for place in range(len(line)):
        for one in itertools.islice(odd, 11 if is_deep() else 3):
            spoilt.append(line[:place] + bytes([one]) + line[place + 1 :])
            spoilt.append(line[:place] + bytes([one]) + line[place:])
    accepted = [one for one in spoilt if taken(within, one)]
    assert 0.1 < len(accepted) / len(spoilt) < 0.8
    for one in accepted:
        json.loads(one)
    assert agreed(within, *accepted[::17])


def test_only_sequences_of_utf_8_are_texts() -> None:
    within = HASHED["0.2.0"]
    (line,) = bytes_of(sound_rows("0.2.0", 1)).splitlines(keepends=True)
    before, quote, after = line.partition(b'"raw": "')
    leads = (*range(0xC0, 0xC4), *range(0xDE, 0xE3), *range(0xEC, 0xF6))
    sequences = [
        bytes([lead, second, *rest])
        for lead in leads
        for second in (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
        for rest in ((), (0x80,), (0xBF, 0x80))
    ]
    data = b"".join(before + quote + one + after for one in sequences)
    assert outcome(within, data) == outcome(slowly(within), data)


@pytest.mark.parametrize("colon", [":", "\t:", "  : ", *map(deep, (": ", " :", "\r:"))])
@each("version", VERSIONS)
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


@each(
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


@each(
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
def test_an_unknown_key_is_taken_where_the_schema_allows_it(version: str) -> None:
    within = HASHED[version]
    for row in sound_rows(version, 6):
        for place in ((), *places(row)):
            holder = at(row, place)
            if isinstance(holder, dict):
                other = json.loads(json.dumps(row))
                at(other, place)["unheard_of"] = "text"
                assert agreed(within, written(other)) == _is_open(version, place), place


def _is_open(version: str, place: Place) -> bool:
    if version == "0.2.0" or place[-1:] in (("metadata",), ("arguments",), ("additional_details",)):
        return True
    # Only the row itself is closed in later versions.
    return place != ()


TEXTS = [
    '"', '":', '\\":', '\\\\":', "a : b", '" :', '{"a": 1}', '{"a": "\\"b\\": 2"}', "\\", "}\n{",
]  # fmt: skip


@each("text", TEXTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_texts_that_look_like_keys_do_not_mislead(version: str, text: str) -> None:
    within = HASHED[version]
    row = {**asking(sound(SINGLE, version), within, raw=text), "sample_id": text}
    line = written(row)
    assert agreed(within, line)
    assert not taken(within, line.replace(b'"model_id": ', b'"model_id": "", "model_id": '))


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch) -> Callable[[RowContext, int, int], RowEngine]:
    """Make engines whose scanner has room for so many rows and bytes of text."""

    def made(within: RowContext, rows: int, size: int) -> RowEngine:
        monkeypatch.setattr(native_scanner, "MOST_ROWS", rows)
        monkeypatch.setattr(native_scanner, "MOST_RECORDS", rows + 1)
        monkeypatch.setattr(native_scanner, "TEXT_BYTES", size)
        # Scanners of other sizes are idle there.
        monkeypatch.setattr(fast_block, "_IDLE", [])
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


@pytest.mark.parametrize("count", [1, deep(2), 3, 4, deep(5), 9])
@pytest.mark.parametrize("room", [1, 2, deep(3), 4])
def test_how_many_rows_go_together_changes_nothing(rooms: Rooms, room: int, count: int) -> None:
    for faulty in ((), (0,), (count - 1,), (room - 1, room), range(0, count, 2), range(count)):
        data = spoilt_rows(count, {*faulty} & {*range(count)})
        for within in (HASHED["0.2.0"], JOINED["0.2.0"]):
            expected = outcome(slowly(within), data)
            assert outcome(rooms(within, room, 1 << 20), data) == expected
            assert outcome(rooms(within, room, 1 << 20), data[:-1]) == outcome(
                slowly(within), data[:-1]
            )


@pytest.mark.parametrize("count", [-1, 0, 1])
def test_blocks_of_as_many_rows_as_go_together(count: int) -> None:
    most = fast_block.FIRST_ROWS
    data = spoilt_rows(most + count, [0, most - 2])
    more = spoilt_rows(2 * most + count, [most - 1, most, most + 1][: 2 + count] if count else [])
    for text in (data, more):
        assert outcome(HASHED["0.2.0"], text) == outcome(slowly(HASHED["0.2.0"]), text)


@pytest.mark.parametrize(
    ("version", "settings"),
    in_turn(VERSIONS, [{"max_findings": 20}, {"max_findings": 20, "samples": None}]),
)
def test_rows_of_which_no_more_is_shown_are_counted_alike(
    version: str, settings: dict[str, Any]
) -> None:
    lines = spoilt_rows(450, range(3, 450, 4)).splitlines(keepends=True)
    lines[::3] = [line.replace(b'_name": "', b'_name": "other ') for line in lines[::3]]
    data = b"".join(lines)
    contexts = [JOINED[version], BARE[version], HASHED[version], context(version, links=True)]
    for known in some(contexts, 2):
        within = replace(known, options=replace(known.options, **settings))
        assert outcome(within, data) == outcome(slowly(within), data)


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_alike_are_counted_in_later_blocks_and_listed_once_they_may_be_shown(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[int] = []

    def note(self: TakenViolations, rows: ScannedRows, *given: Any) -> Any:
        listed.append(len(rows))
        return violations_of(self, rows, *given)

    violations_of = TakenViolations.of
    monkeypatch.setattr(TakenViolations, "of", note)
    known = HASHED[version]
    within = replace(known, options=replace(known.options, max_findings=2, samples=None))
    rows = [
        changed(row, "evaluation/score", "1") if number % 3 else {**row, "sample_hash": "0" * 64}
        for number, row in enumerate(sound_rows(version, 60))
    ]
    data, engine = bytes_of(rows), RowEngine(within)
    counts = outcome(slowly(within), data).counts
    in_all = []
    for unshown in ((), counts, counts, [*counts][1:], counts, ()):
        lines = {"unshown": frozenset(unshown)}
        assert outcome(engine, data, **lines) == outcome(slowly(within), data, **lines)
        in_all.append(sum(listed))
        listed.clear()
    assert in_all[0] == len(rows)
    assert [in_all[2], in_all[4]] == [0, 0]
    assert 0 < in_all[3] < in_all[5] == len(rows)


def test_rows_of_more_kinds_than_are_known_at_once() -> None:
    known = HASHED["0.2.0"]
    within = replace(known, options=replace(known.options, max_findings=1, samples=None))
    engine, every = RowEngine(within), sound_rows(count=200)
    for block in range(8):
        some = [
            {**row, f"more{block}.{number % 90}": 1, "evaluation_id": f"e/{block}/{number % 90}"}
            for number, row in enumerate(every)
        ]
        data = bytes_of(some)
        counts = outcome(slowly(within), data).counts
        for unshown in ({}, counts):
            lines = {"unshown": frozenset(unshown)}
            assert outcome(engine, data, **lines) == outcome(slowly(within), data, **lines)


def test_more_scores_than_are_counted_in_one_go() -> None:
    lines = spoilt_rows(native_scanner.MOST_KINDS + 9, range(3, 900, 4)).splitlines(keepends=True)
    data = b"".join(line.replace(b"1.0", b"0.%05d" % number) for number, line in enumerate(lines))
    known = HASHED["0.2.0"]
    within = replace(known, options=replace(known.options, samples=None))
    assert outcome(within, data) == outcome(slowly(within), data)


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
    for room in some([*range(1, 400), *range(400, 1200, 7)], 60):
        assert outcome(rooms(within, 512, room), data) == expected, room


@pytest.mark.parametrize("recipe", ["json-str", "json-list", "json-list-spaced"])
@given(
    raw=st.text('a"\\/\n\x01\x7f\u00fc\u2028\U0001f600', max_size=6),
    reference=st.text("b\x7f\u00fc", max_size=2),
    escapes=st.booleans(),
    other=st.sampled_from(sorted(RECIPES)),
)
@bounded(max_examples=examples(60))
def test_json_may_show_all_letters(
    recipe: str, raw: str, reference: str, escapes: bool, other: str
) -> None:
    raw, reference = f"a{raw}", f"b{reference}"
    row = changed(sound(SINGLE, "0.3.0"), "input/choices", ...)
    row = asking(row, BARE["0.3.0"], raw=raw, reference=[reference])
    covered = json.dumps(
        {"raw": raw, "reference": reference if recipe == "json-str" else [reference]},
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":") if recipe == "json-list" else None,
    )
    row["sample_hash"] = hashlib.sha256(covered.encode()).hexdigest()
    within, line = context("0.3.0", recipe), written(row, ensure_ascii=escapes)
    assert agreed(within, line)
    assert outcome(within, line).tally.recipes.first(frozenset({recipe})) == 1
    agreed(context("0.3.0", other), line)
    wrong = written({**row, "sample_hash": "0" * 64}, ensure_ascii=escapes)
    agreed(within, wrong)


def test_texts_that_fill_all_room(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1 << 18
    monkeypatch.setattr(native_scanner, "TEXT_BYTES", most)
    monkeypatch.setattr(fast_block, "_IDLE", [])
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


@each("form", LINES)
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
    if b"\n" not in odd:
        assert taken(within, odd) == (form in USUAL_LINES)


def test_rows_are_found_wherever_the_block_begins() -> None:
    lines = [*map(written, sound_rows(count=3)), b"[]", written(sound())]
    data = b"".join(line + b"\n" for line in lines)
    for within in (HASHED["0.2.0"], JOINED["0.2.0"]):
        for base in (0, 1000, 1 << 40):
            where = {"base": base, "final": False}
            assert outcome(within, data, **where) == outcome(slowly(within), data, **where)
        offsets = [5, 1 << 33, 7, 8, 9]
        put = array("Q", itertools.chain.from_iterable(zip(range(1, 6), offsets, strict=True)))
        assert outcome(within, data, places=put.tobytes()) == outcome(
            slowly(within), data, places=put.tobytes()
        )
        found = all_records(outcome(within, data, places=put.tobytes()).row_records)
        assert [record.offset for record in found] == [5, 1 << 33, 7, 9]
        assert outcome(within, data, overlong=True) == outcome(slowly(within), data, overlong=True)


@each("spare", [-2, -1, 0, 1])
def test_lines_are_taken_up_to_a_length(spare: int) -> None:
    line = written(sound())
    within = context("0.2.0", "concat", max_line_bytes=len(line) + spare)
    assert agreed(within, line) == (spare >= 0)
    short = written({**sound(), "metadata": {}})
    data = b"\n".join([line, short, line + b"\r", short, b"x" * 5000, short, line])
    assert outcome(within, data) == outcome(slowly(within), data)


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


@each("depth", [50, 5_000, 200_000])
@pytest.mark.parametrize("form", ['{"a":', "["])
def test_deep_values_are_left_to_others(form: str, depth: int) -> None:
    closing = "}" if form[0] == "{" else "]"
    deep = form * depth + "1" + closing * depth
    for place in ('"epoch": 1', '"score": 1.0', '"raw": "The answer is 5."'):
        name = place.partition(" ")[0]
        line = written(bare(sound())).replace(place.encode(), f"{name} {deep}".encode())
        assert not taken(BARE["0.2.0"], line)
    assert not taken(BARE["0.2.0"], (form * depth).encode())


def test_what_rows_say_does_not_stay_for_the_next_one() -> None:
    within = JOINED["0.2.0"]
    rows = sound_rows(count=8)
    little = [
        {name: row[name] for name in row if name not in ("token_usage", "performance", "metadata")}
        for row in rows
    ]
    spoilt = [changed(row, "evaluation/score", "1") for row in rows]
    orders = itertools.permutations([rows[0], little[1], spoilt[2], little[5], rows[2]])
    for order in some([*orders], 40):
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
    for order in some([*itertools.permutations(range(len(blocks)))], 40):
        assert [outcome(together, blocks[place]) for place in order] == [
            alone[one] for one in order
        ]


def test_several_threads_do_not_disturb_each_other() -> None:
    chosen = [HASHED["0.2.0"], JOINED["0.2.0"]]
    blocks = [mixed_rows(), bytes_of(sound_rows(count=530)), bytes_of(sound_rows(count=3))]
    work = [*itertools.product(chosen, blocks)] * 2
    expected = {key: outcome(slowly(key[0]), key[1]) for key in work}
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda key: outcome(*key), work)
        assert [*found] == [expected[key] for key in work]


@given(data=odd_files(), most=st.sampled_from([0, 1]))
@bounded(max_examples=examples(100))
def test_the_scanner_changes_no_outcome(data: bytes, most: int) -> None:
    block = Block("rows.jsonl", 0, len(data), data, final=True)
    quickly = context_for(data, most)
    slow = context_for(data, most, engine="rust")
    assert fast_path_for(quickly, RowReader(quickly)) is not None
    assert fast_path_for(slow, RowReader(slow)) is None
    blocks = [block] if data else []
    assert collected(quickly, blocks) == collected(slow, blocks)


@needs_corpus
@each("path", some(sorted((CORPUS / "eee-pairs").glob("*/")), 20), ids=lambda path: path.name)
def test_the_scanner_changes_no_report(path: Path) -> None:
    quickly, slow = (evalstream.check(path, engine=name) for name in ("auto", "rust"))
    assert list(quickly) == list(slow)
    assert quickly.counts == slow.counts
    assert [run.claims for run in quickly.runs] == [run.claims for run in slow.runs]
