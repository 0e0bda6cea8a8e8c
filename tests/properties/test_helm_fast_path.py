"""Runs of HELM are checked alike with and without the scanner, whatever is changed in them."""

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from depth import examples, is_deep
from each import each
from paths import EXAMPLES
from rows import at, places

import evalstream
from evalstream.formats.helm import store as helm_store
from evalstream.formats.helm.entries import EntryCollector
from evalstream.formats.helm.reader import make_element
from evalstream.formats.helm.requests import TOLD
from evalstream.formats.helm.rules.documents import check_values
from evalstream.formats.helm.statistics import InstanceEntry, make_entry
from evalstream.formats.helm.store import InstanceStore
from evalstream.parsing.array_elements import Element, Piece
from evalstream.parsing.array_splitter import ArraySplitter
from evalstream.parsing.native.binding import library
from evalstream.parsing.native.items import ItemPlace, KeepingScanner, KeptMembers

RUN = EXAMPLES / "helm" / "pens-model=acme_acorn-7b"
ENTRIES, STATISTICS, STATE = (
    f"{name}.json" for name in ("per_instance_stats", "stats", "scenario_state")
)
CASES = 60 if is_deep() else 15
ODD = (
    *("NaN", "-Infinity", "1e400", "1" + "0" * 400, "-0.0", "01", "1.", "123456789012345678901"),
    *("null", "true", "[]", "{}", '""', '"\\ud800"', "[" * 90 + "]" * 90, "1152921504606846977"),
)
INSERTED = (
    *(b"\xff", b'"', b"\\", b",", b"}", b"\xed\xa0\x80", b"\x00", b"\\ud800", b"\xef\xbb\xbf"),
    *(b'"sum": 2, ', b'"count": 1, ', b'"id": "id9", ', b'"instance_id": "q", '),
)


def change_bytes(text: bytes, dice: random.Random) -> bytes:
    """Change, remove or insert some bytes, or the layout."""
    at = dice.randrange(len(text))
    return dice.choice(
        (
            text[:at] + bytes([dice.randrange(256)]) + text[at + 1 :],
            text[:at] + text[at + dice.choice((1, 2, 30)) :],
            text[:at] + dice.choice(INSERTED) + text[at:],
            text[:at],
            b"\xef\xbb\xbf" + text,
            text.replace(b"\n", b"\r\n"),
            json.dumps(json.loads(text), indent=dice.choice((None, 1))).encode(),
        )
    )


def change_value(text: bytes, dice: random.Random) -> bytes:
    """Replace, remove or repeat a value."""
    value = json.loads(text)
    path = dice.choice(list(places(value)))
    where, key = at(value, path[:-1]), path[-1]
    act = dice.randrange(3)
    if act == 0:
        where[key] = "@"
        return json.dumps(value, indent=2).replace('"@"', dice.choice(ODD)).encode()
    if act == 1 or not isinstance(where, list):
        del where[key]
    else:
        where.insert(dice.randrange(len(where) + 1), where[key])
    return json.dumps(value, indent=2).encode()


def reports(folder: Path) -> Iterator[Any]:
    """Iterate over what a check says with the scanner and without it."""
    for engine in ("auto", "portable"):
        report = evalstream.check([folder], engine=engine, jobs=1, max_findings=0)
        runs = [
            (run.verdict, run.rows, run.incomplete_reason, run.claims, run.checked)
            for run in report.runs
        ]
        yield [str(one) for one in report.findings], str(runs), report.exit_code


@each("seed", range(5))
def test_changed_runs_are_checked_alike(seed: int, tmp_path: Path) -> None:
    dice, folder = random.Random(seed), tmp_path / "run"
    for _ in range(CASES // 5):
        shutil.copytree(RUN, folder, dirs_exist_ok=True)
        path = folder / dice.choice((ENTRIES, STATE, STATISTICS))
        change = dice.choice((change_bytes, change_value))
        path.write_bytes(change(path.read_bytes(), dice))
        quick, exact = reports(folder)
        assert quick == exact
        assert "ES010" not in str(quick)


@each("figure", ["sum", "sum_squared", "min", "max", "mean", "variance"])
def test_no_statistic_that_was_changed_passes(figure: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(RUN, folder)
    for place in range(0, 71, 5 if is_deep() else 12):
        stats = json.loads((RUN / STATISTICS).read_bytes())
        if not stats[place]["count"]:
            continue
        stats[place][figure] += 0.25
        (folder / STATISTICS).write_text(json.dumps(stats, indent=2))
        (run,) = evalstream.check([folder], jobs=1).runs
        assert run.verdict == "failed"


def scan(text: bytes, size: int, longest: int = 1 << 20) -> tuple[list[Element], list[Any]]:
    """Return the elements of a list that arrives in pieces, and what is kept of plain ones."""
    loaded, found, kept = library(), list[Element](), list[Any]()

    def take(piece: Piece, places: Sequence[ItemPlace], text: bytes) -> None:
        kept.extend(json.loads(text))
        found.extend(make_element(piece, place) for place in places)

    splitter = ArraySplitter(longest, scanner=KeepingScanner(loaded, KEPT, take))
    for start in range(0, len(text), size):
        found += splitter.feed(text[start : start + size])
    return found + splitter.end(), kept


KEPT: KeptMembers = {
    "instance_id": None,
    "stats": {"name": {"name": None}, "sum": None, "count": {"a": None}},
    "a": {"b": None},
}


def keep(value: Any, kept: KeptMembers | None) -> Any:
    """Return what is kept of a value."""
    if kept and isinstance(value, list):
        return [keep(one, kept) for one in value]
    if kept and isinstance(value, dict):
        return {key: keep(one, kept[key]) for key, one in value.items() if key in kept}
    return value


@each("size", [1, 7, 1000, 5000, 1 << 20])
@pytest.mark.parametrize("indent", [2, None])
def test_the_scanner_finds_the_elements_that_the_splitter_finds(
    size: int, indent: int | None
) -> None:
    value = json.loads((RUN / ENTRIES).read_bytes().replace(b"id1", "ï1".encode()))
    text = b"\xef\xbb\xbf \n" + json.dumps(value, indent=indent, ensure_ascii=False).encode()
    splitter = ArraySplitter(1 << 20)
    expected = [*splitter.feed(text), *splitter.end()]
    found, kept = scan(text, size)
    assert found == expected
    assert kept == [keep(one, KEPT) for one in value][: len(kept)]
    assert size < 5000 or len(kept) > 2


LISTS = (
    '[{"a": [{"b": 1, "c": "x"}, {"b": 2, "c": "y"}, {"c": 3, "b": -0.5e3}, {}, 7, [], {"b": 0}]}]',
    '[{"a": {"b": [{"x": 1, "y": [1]}, {"x": 1, "y": [2, 3]}]}, "b": 3}, {}, {"a": null}]',
    '[{"m": [{"x": 1, "y": "a"}, {"x": 12, "y": "{}"}, {"x": true, "y": "\\u00e9"}, {"x": 1}]}]',
    '[{"a": "b"}, {"a": [[{"b": 1}]]}, {"stats": [{"name": {"name": "x", "split": 1}, "sum": 2}]}]',
)


@each("text", LISTS)
def test_what_is_kept_is_what_stands_there(text: str) -> None:
    value = json.loads(text)
    for layout in (text, json.dumps(value, indent=1), json.dumps(value, separators=(",", ":"))):
        _, kept = scan(layout.encode(), 1 << 20)
        assert kept == [keep(one, KEPT) for one in value]


def test_objects_that_are_written_alike_are_read_as_others() -> None:
    """In a list of flat objects only the first is compared with the grammar as a whole."""
    dice, plain = random.Random(3), '{"a": 1, "b": "x"}'
    signs = ['"', ",", ":", "}", "{", "]", "[", "1", "e", ".", "-", "\\", "t", "\x00", " ", ""]
    for _ in range(examples(6_000)):
        at, sign = dice.randrange(len(plain)), dice.choice(signs)
        other = plain[:at] + sign + plain[at + dice.randrange(2) :]
        alone, behind = (f'[{{"m": [{one}]}}]'.encode() for one in (other, f"{plain}, {other}"))
        assert bool(scan(alone, 1 << 20)[1]) == bool(scan(behind, 1 << 20)[1]), other
        if scan(behind, 1 << 20)[1]:
            json.loads(behind)


@each(
    "text",
    [
        *(b'{"a": 1, "a": 2}', b'{"\\u0061": 1}', b'{"a": NaN}', b'{"a": 1e400}', b'{"a": 01}'),
        *(b'{"a": "\xff"}', b'{"a": "\\ud800"}', b'{"a": 1.}', b'{"a": "\t"}', b'{"a": tru}'),
        *(b"{" + b'"a": {' * 80 + b"}" * 81, b'{"a": 1234567890123456789}', b'{"a": -}', b"1"),
    ],
)
def test_what_may_be_wrong_is_not_plain(text: bytes) -> None:
    shown = [text, b'{"x": [%b]}' % text, b'{"x": [{"a": 1}, %b]}' % text]
    for one in shown[: 1 if text == b"1" else None]:
        _, kept = scan(b'[{"b": 1}, %b, {}]' % one, 1 << 20)
        assert len(kept) == 1


def test_items_above_the_limit_are_left() -> None:
    assert scan(b'[{}, {"a": 1}]', 1 << 20, longest=7)[1] == [{}]


def collect(text: bytes, *, is_quick: bool, pieces: int = 1 << 20) -> tuple[Any, ...]:
    """Return what a collector makes of entries, and how many were not written as one before."""
    store = InstanceStore()
    scored = ("exact_match", *TOLD)
    entries, plain = EntryCollector(store, scored, None, is_windowed=False), 0

    def read(element: Element) -> InstanceEntry:
        found = make_entry(json.loads(element.text))
        assert not list(check_values(found, ""))
        entries.add(found, element.line, element.column, element.offset)
        return found

    def take(piece: Piece, place: ItemPlace) -> None:
        nonlocal plain
        plain += 1
        element = make_element(piece, place)
        entries.learn(element.text, read(element))

    splitter = ArraySplitter(1 << 20, scanner=entries.make_scanner(take) if is_quick else None)
    for start in range(0, len(text), pieces):
        for element in splitter.feed(text[start : start + pieces]):
            read(element)
    for element in splitter.end():
        read(element)
    entries.close()
    totals = entries.totals
    rows = [store.make_rows(one) for one in store.iterate()]
    names = [
        *totals.names,
        *(name._replace(perturbation=worst) for name in totals.names for worst in OVER_COPIES),
    ]
    return [totals.recompute(name) for name in names], rows, entries.count, plain


OVER_COPIES = tuple(
    json.dumps({"computed_on": on, "name": name}, separators=(",", ":"))
    for on in ("worst", "original")
    for name in ("robustness", "fairness", "misspelling")
)


@each("pieces", [1 << 20, 9000, 4001])
@pytest.mark.parametrize("order", [1, 2])
def test_entries_that_are_written_alike_give_what_others_give(pieces: int, order: int) -> None:
    dice, entries = random.Random(pieces), json.loads((RUN / ENTRIES).read_bytes())
    for number in range(12):
        for one in entries[: dice.choice((1, 2, 4))]:
            copy = json.loads(json.dumps(one))
            copy["instance_id"] = f"more{number}"
            for stat in copy["stats"][:5]:
                if stat["count"] == 1:
                    value = round(dice.uniform(-2, 2), dice.randrange(18))
                    stat.update(dict.fromkeys(("sum", "min", "max", "mean"), value))
                    stat["sum_squared"] = value * value
            # The best of several answers is called so; what requests tell has one value.
            best = next(stat for stat in copy["stats"] if stat["name"]["name"] == "exact_match")
            copy["stats"].append({**best, "name": {**best["name"], "name": "exact_match@5"}})
            entries.append(copy)
    text = json.dumps(entries[::order] + entries[1::2][: order - 1], indent=2).encode()
    quick, exact = (collect(text, is_quick=is_quick, pieces=pieces) for is_quick in (True, False))
    assert quick[:3] == exact[:3]
    assert quick[3] <= 8


@each("digits", range(1, 21))
def test_values_are_the_doubles_that_are_nearest(digits: int) -> None:
    """The scanner converts fractions by itself."""
    dice, entries = random.Random(digits), []
    for number in range(examples(400)):
        whole = dice.randrange(10 ** dice.randrange(digits + 1))
        text = f"{dice.choice(('', '-'))}{whole}.{dice.randrange(10**digits):0{digits}}"
        shown = dict.fromkeys(("sum", "min", "max", "mean"), "@")
        stat = {"name": {"name": "x"}, "count": 1, **shown, "variance": 0, "stddev": 0}
        stat["sum_squared"] = float(text) * float(text)
        one = {"instance_id": f"id{number}", "train_trial_index": 0, "stats": [stat]}
        entries.append(json.dumps(one).replace('"@"', text))
    listed = f"[{', '.join(entries)}]".encode()
    assert collect(listed, is_quick=True)[:3] == collect(listed, is_quick=False)[:3]


@each(
    ("old", "new"),
    [
        *(('"count": 1', '"count": 2'), ('"split"', '"Split"'), ('"test"', '"valid"')),
        *(('"train_trial_index": 0', '"train_trial_index": 1'), ("}\n  ]", "} \n  ]")),
    ],
)
def test_an_entry_of_another_form_is_left(old: str, new: str) -> None:
    first = json.dumps(json.loads((RUN / ENTRIES).read_bytes())[0], indent=2)
    other = first.replace(old, new, 1)
    assert other != first
    for text, number in ((f"[{first}, {first}]", 1), (f"[{first}, {other}]", 2)):
        listed = text.replace("id0", "id1", 1).encode()
        store = InstanceStore()
        entries, plain = EntryCollector(store, (), None, is_windowed=False), []

        def take(
            piece: Piece,
            place: ItemPlace,
            entries: EntryCollector = entries,
            plain: list[bytes] = plain,
        ) -> None:
            plain.append(make_element(piece, place).text)
            entry = make_entry(json.loads(plain[-1]))
            entries.add(entry, 1, None, 0)
            entries.learn(plain[-1], entry)

        ArraySplitter(1 << 20, scanner=entries.make_scanner(take)).feed(listed)
        assert (len(plain), entries.count) == (number, 2)


def test_rows_on_disk_give_the_same_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    shutil.copytree(RUN, folder)
    entries = json.loads((RUN / ENTRIES).read_bytes())
    entries[0]["stats"][0]["name"]["split"] = "valid"
    (folder / ENTRIES).write_text(json.dumps([*entries[:-1], entries[2]], indent=2))
    kept = list(reports(folder))
    monkeypatch.setattr(helm_store, "MOST_BYTES", 0)
    monkeypatch.setattr(helm_store, "MOST_LAYOUTS", 1)
    assert list(reports(folder)) == kept
