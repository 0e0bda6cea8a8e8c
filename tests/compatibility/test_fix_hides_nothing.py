"""Runs that are fixed: odd ones, and faulty ones whose fault a new seal must not hide."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from changed_runs import codes_in, errors_in, files_of, link_cases, older
from corpus import expectations, needs_corpus
from depth import some
from each import each
from odd_run import Source
from odd_sources import sources
from rows import sound_rows

from evalstream.api.changes import fix
from evalstream.batch.rewriting.outcome import ChangeStatus, Outcome

SUGGESTED = {"ES216": "the row now fits another version", "ES306": "a count that is now missing"}
"""What a repair may bring up: a hint, and a warning about what was null before."""

MENDED = {
    *("ES102", "ES110", "ES111", "ES112", "ES204", "ES208", "ES405", "ES502", "ES507", "ES215"),
    *("ES213", "ES216"),
}
"""The rules whose findings may go; ES213 is the pattern that a file_path must have."""


def assert_fixed(folder: Path) -> list[Outcome]:
    """Fix runs in place; require that findings only go, and that a second time changes nothing."""
    given, before = files_of(folder), codes_in(folder)
    planned = fix(folder).outcomes
    assert files_of(folder) == given
    done = fix(folder, write=True).outcomes
    assert [one.status for one in planned] == [one.status for one in done]
    made, after = files_of(folder), codes_in(folder)
    assert made.keys() == given.keys()
    fix(folder, write=True)
    assert files_of(folder) == made
    assert (after - before).keys() <= SUGGESTED.keys()
    assert (before - after).keys() <= MENDED
    if not any(code in before for code in MENDED):
        assert made == given
    return done


@each("source", some(list(sources()), 20), ids=lambda source: source.name)
def test_odd_runs_are_fixed_or_stay(source: Source, tmp_path: Path) -> None:
    assert_fixed(source.written(tmp_path / "source"))


SPOILS = {
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "blank lines": lambda data: data.replace(b"\n", b"\n\n"),
    "number in metadata": lambda data: data.replace(b'"metadata": {', b'"metadata": {"n": 1.50, '),
}
"""What is to be fixed in a run that has a fault as well."""

RESULT = "evaluation_result_id"


def spoilt(case: str, how: str, folder: Path) -> bool:
    """Copy a faulty pair with something to fix in it; what was sealed right stays so."""
    expected = expectations("link-cases/expected.json")
    older(case, folder)
    rows, aggregate = folder / expected["samples_path"], folder / expected["aggregate_path"]
    data = rows.read_bytes() if rows.exists() else b""
    changed = SPOILS[how](data)
    if changed == data:
        return False
    text = aggregate.read_bytes()
    for algorithm in ("sha256", "md5"):
        old, new = (hashlib.new(algorithm, one).hexdigest() for one in (data, changed))
        text = text.replace(old.encode(), new.encode())
        text = text.replace(old.upper().encode(), new.upper().encode())
    aggregate.write_bytes(text)
    rows.write_bytes(changed)
    return True


@needs_corpus
@pytest.mark.parametrize("how", SPOILS)
def test_a_new_seal_hides_nothing(how: str, tmp_path: Path) -> None:
    statuses: Counter[tuple[str, bool]] = Counter()
    cases = some(link_cases(), 8)
    for case in cases:
        folder = tmp_path / case
        if not spoilt(case, how, folder):
            continue
        before, given = errors_in(folder), files_of(folder)
        (outcome,) = fix(folder, write=True).outcomes
        after, is_same = errors_in(folder), files_of(folder) == given
        assert not (before - after).keys() - {"ES204", "ES208"}
        is_sealed_wrong = bool({"ES501", "ES503"} & before.keys())
        is_damaged = any(code.startswith("ES1") for code in before)
        if is_sealed_wrong or is_damaged:
            assert is_same
        if outcome.status is ChangeStatus.WRITTEN:
            assert not after
        statuses[outcome.status.value, is_same] += 1
    assert statuses["refused", True] >= len(cases) / 4


def test_bytes_beside_the_repairs_stay(tmp_path: Path) -> None:
    first, second = (
        json.dumps({name: row[name] for name in row if name != RESULT}).encode()
        for row in sound_rows("0.3.0", 2)
    )
    first = first.replace(b'"metadata": {', b'"metadata" :{ "\\u0061\\/":"\\u00e9" ,\t"n" : 0.10, ')
    second = second.replace(b'"score": 1.0', b'"score":  1.00e+0').replace(
        b'{"schema', b'{ "schema'
    )
    nulled = second[:-1] + b' , "evaluation_result_id" : null }'
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + first + b"\r\n\n" + nulled)
    fix(path, write=True)
    assert path.read_bytes() == (
        first.replace(b'"n" : 0.10', b'"n" : "0.10"') + b"\n" + second[:-1] + b" }\n"
    )


def test_the_seal_follows_the_rows(tmp_path: Path) -> None:
    (source,) = [one for one in sources() if one.name == "all of these"]
    folder = source.written(tmp_path / "source")
    (outcome,) = fix(folder, write=True).outcomes
    assert outcome.status is ChangeStatus.WRITTEN
    (rows,) = folder.rglob("*.jsonl")
    (aggregate,) = folder.rglob("*.json")
    seal = json.loads(aggregate.read_bytes())["detailed_evaluation_results"]
    assert seal["checksum"] == hashlib.sha256(rows.read_bytes()).hexdigest()
    assert not codes_in(folder)
