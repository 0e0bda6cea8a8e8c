"""Our own corpus: what references without any code of the package expect of it, is found.

Pairs and logs were written by both harnesses and the converters of all versions over made-up
questions; `tests/corpus/README.md` says how. Every error must be one that the reference found.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import corpus_changes
import corpus_documents
import corpus_expectations
import pytest
from corpus import reference_errors, schema_errors_of
from corpus_changes import files_of
from corpus_reference import COVERED, HARMLESS, SCHEMA_CODES
from depth import some
from each import each
from paths import CORPUS_PAIRS

import evalstream
from evalstream.formats.eee import versions
from evalstream.model.finding import Severity

EXPECTED = corpus_expectations.read()
PAIRS, DOCUMENTS = EXPECTED["pairs"], EXPECTED["documents"]

every_pair = each("name", list(PAIRS), str, group=12)
PORTABLE = some(list(PAIRS), 16)
every_pair_and_engine = each(
    ("name", "engine"),
    [(name, "auto") for name in PAIRS] + [(name, "portable") for name in PORTABLE],
    group=12,
)


@lru_cache(maxsize=512)
def report_of(name: str, engine: str = "auto") -> evalstream.Report:
    """Check a pair once for all tests."""
    _, aggregate = files_of(name)
    version = corpus_expectations.version_of(name)
    return evalstream.check(
        aggregate, max_findings=0, jobs=1, engine=engine, schema_version=version or "auto"
    )


def places(report: evalstream.Report, rows: Path) -> dict[str, list[int | str]]:
    """Return where each code that the reference knows was found: lines of rows, or pointers."""
    found = defaultdict(list)
    for one in report:
        is_counted = one.severity is Severity.ERROR or one.code in HARMLESS
        if one.code in COVERED - SCHEMA_CODES and is_counted:
            found[one.code].append((one.file == str(rows) and one.line) or one.pointer or "")
    return {code: sorted(at, key=str) for code, at in found.items()}


def test_the_corpus_has_every_version_and_both_harnesses() -> None:
    declared = {
        corpus_expectations.version_of(name)
        or json.loads(files_of(name)[1].read_bytes())["schema_version"]
        for name in PAIRS
    }
    missing = set(versions.INSTANCE_VERSIONS) - declared
    assert not missing, f"run scripts/corpus with {missing} in SHAPED of corpus_changes.py"
    assert set(corpus_changes.names()) == PAIRS.keys()
    harnesses = {name.split("-")[1] for name in PAIRS if name[0].isdigit()}
    assert harnesses == {"inspect", "lm_eval"}
    assert len(PAIRS) >= 60
    files = (path for path in CORPUS_PAIRS.parent.rglob("*") if path.is_file())
    assert sum(path.stat().st_size for path in files) < 3_000_000


def test_the_expectations_are_those_of_the_references() -> None:
    assert json.loads(json.dumps(corpus_expectations.compute())) == EXPECTED


@every_pair_and_engine
def test_every_error_is_found_at_its_place_and_no_other(name: str, engine: str) -> None:
    rows, _ = files_of(name)
    report = report_of(name, engine)
    assert places(report, rows) == PAIRS[name]["places"]
    errors = {one.code for one in report if one.severity is Severity.ERROR}
    assert errors <= COVERED


@every_pair
def test_the_verdict_and_the_totals_are_right(name: str) -> None:
    (run,), expected = report_of(name).runs, PAIRS[name]
    assert run.verdict == expected["verdict"]
    assert (run.rows, run.bytes) == (expected["rows"], expected["bytes"])
    assert run.actual == expected[run.algorithm or "sha256"]
    assert run.recipe in (expected["recipes"] or [None])


@every_pair_and_engine
def test_schemas_are_breached_where_the_reference_says(name: str, engine: str) -> None:
    rows, aggregate = files_of(name)
    report, expected = report_of(name, engine), PAIRS[name]["schema"]
    lines = rows.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    by_line = defaultdict(list)
    for one in report:
        if one.file == str(rows) and one.keyword and one.line:
            by_line[str(one.line)].append(one)
    for line in by_line.keys() | expected["rows"].keys():
        found = by_line.get(line, [])
        document = json.loads(lines[int(line) - 1])
        wanted = reference_errors(expected["rows"].get(line, []), document, found)
        assert schema_errors_of(found) == wanted, line
    found = [one for one in report if one.file == str(aggregate)]
    document = json.loads(aggregate.read_bytes())
    wanted = reference_errors(expected["aggregate"], document, found)
    assert schema_errors_of(found) == wanted


@every_pair
def test_figures_have_the_state_and_the_value_of_the_reference(name: str) -> None:
    (run,) = report_of(name).runs
    claims = {claim.pointer: claim for claim in run.claims}
    for place, (state, value) in PAIRS[name]["figures"].items():
        claim = claims[place]
        assert claim.state.value == state, place
        if value is not None and state != "open":
            assert claim.recomputed == pytest.approx(value, rel=1e-12, abs=1e-15), place


def verdicts(report: evalstream.Report) -> set[str]:
    return {run.verdict for run in report.runs}


@each("name", DOCUMENTS)
def test_documents_of_other_formats_have_the_errors_of_the_reference(name: str) -> None:
    expected: Mapping[str, Any] = DOCUMENTS[name]
    report = evalstream.check(corpus_documents.folder_of(name), max_findings=0, jobs=1)
    assert (
        sorted({one.code for one in report if one.severity is Severity.ERROR}) == expected["errors"]
    )
    assert ("failed" in verdicts(report)) == expected["fails"]
    if not expected["fails"]:
        # Attachments in logs of Inspect are verified where mmh3 is installed.
        is_half = name.startswith("inspect") and find_spec("mmh3") is None
        rest = {"incomplete"} if is_half else {"passed", "unconfirmed"}
        assert verdicts(report) <= rest
