"""Runs of HELM are checked alike with and without the scanner, whatever is changed in them."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import EXAMPLES

import evalstream
from evalstream.formats.helm.entries import EntryForms, make_entry
from evalstream.parsing.array_splitter import ArraySplitter, Element
from evalstream.parsing.native.items import item_scanner

RUN = EXAMPLES / "helm" / "pens-model=acme_acorn-7b"
ENTRIES, STATISTICS, STATE = (
    f"{name}.json" for name in ("per_instance_stats", "stats", "scenario_state")
)
CASES = 60
ODD = (
    *("NaN", "-Infinity", "1e400", "1" + "0" * 400, "-0.0", "01", "1.", "123456789012345678901"),
    *("null", "true", "[]", "{}", '""', '"\\ud800"', "[" * 90 + "]" * 90, "1152921504606846977"),
)
INSERTED = (
    *(b"\xff", b'"', b"\\", b",", b"}", b"\xed\xa0\x80", b"\x00", b"\\ud800", b"\xef\xbb\xbf"),
    *(b'"sum": 2, ', b'"count": 1, ', b'"id": "id9", ', b'"instance_id": "q", '),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Iterate over the paths of all values in a value."""
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else members:
        yield from places(one, (*path, key))


def holder(value: Any, path: tuple[Any, ...]) -> Any:
    """Return what holds the value at a path."""
    for key in path[:-1]:
        value = value[key]
    return value


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
    where, key = holder(value, path), path[-1]
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


@pytest.mark.parametrize("seed", range(5))
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


@pytest.mark.parametrize("figure", ["sum", "sum_squared", "min", "max", "mean", "variance"])
def test_no_statistic_that_was_changed_passes(figure: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(RUN, folder)
    for place in range(0, 71, 5):
        stats = json.loads((RUN / STATISTICS).read_bytes())
        if not stats[place]["count"]:
            continue
        stats[place][figure] += 0.25
        (folder / STATISTICS).write_text(json.dumps(stats, indent=2))
        (run,) = evalstream.check([folder], jobs=1).runs
        assert run.verdict == "failed"


def plain_elements(text: bytes, size: int) -> list[Element]:
    """Return the elements of a list that arrives in pieces, as the scanner finds them."""
    scanner = item_scanner()
    assert scanner is not None
    splitter = ArraySplitter(1 << 20, scanner=scanner)
    found = [one for at in range(0, len(text), size) for one in splitter.feed(text[at : at + size])]
    return found + splitter.end()


@pytest.mark.parametrize("size", [1, 7, 1000, 5000, 1 << 20])
def test_the_scanner_finds_the_elements_that_the_splitter_finds(size: int) -> None:
    text = (RUN / ENTRIES).read_bytes().replace(b"id1", "ï1".encode())
    splitter = ArraySplitter(1 << 20)
    expected = [*splitter.feed(text), *splitter.end()]
    found = plain_elements(text, size)
    assert [one[:5] for one in found] == [one[:5] for one in expected]
    assert size < 5000 or any(one.is_plain for one in found)


@pytest.mark.parametrize(
    "text",
    [
        *(b'{"a": 1, "a": 2}', b'{"\\u0061": 1}', b'{"a": NaN}', b'{"a": 1e400}', b'{"a": 01}'),
        *(b'{"a": "\xff"}', b'{"a": "\\ud800"}', b'{"a": 1.}', b'{"a": "\t"}', b'{"a": tru}'),
        *(b"{" + b'"a": {' * 80 + b"}" * 81, b'{"a": 1234567890123456789}', b'{"a": -}', b"1"),
    ],
)
def test_what_may_be_wrong_is_not_plain(text: bytes) -> None:
    scanner = item_scanner()
    assert scanner is not None
    assert len(scanner.scan(b'{"b": 1}, ' + text + b", {}", 0, 1 << 20, is_behind=False)) == 1


def test_items_above_the_limit_are_left() -> None:
    scanner = item_scanner()
    assert scanner is not None
    assert [one.stop for one in scanner.scan(b'{}, {"a": 1}', 0, 7, is_behind=False)] == [2]


def test_an_entry_of_another_form_is_left() -> None:
    entries = json.loads((RUN / ENTRIES).read_bytes())
    first, text = entries[0], json.dumps(entries[0], indent=2).encode()
    forms = EntryForms(("exact_match",))
    forms.learn(text, make_entry(first))
    found = forms.read(text)
    assert found is not None
    known = make_entry(first)
    assert (found.instance, list(found.names)) == (known.instance, list(known.names))
    assert list(found.stats) == list(known.stats)
    for old, new in ((b'"count": 1', b'"count": 2'), (b'"split"', b'"Split"'), (b"]", b"] ")):
        assert forms.read(text.replace(old, new, 1)) is None
    # A figure that its value does not give is one for the exact path.
    first["stats"][0]["sum_squared"] += 1
    assert forms.read(json.dumps(first, indent=2).encode()) is None
