"""A short campaign of the fuzzer, and what its campaigns rest on."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from fuzz import native, oracle
from fuzz.blocks import some_lines
from fuzz.campaign import compare, described, kind_of
from fuzz.cases import Case, as_json, case_of, from_json
from fuzz.oracle import differences
from fuzz.shrink import shrunk
from fuzz.templates import templates, with_hash
from rows import line_of

from evalstream.engine.result import BlockResult
from evalstream.formats.eee import row_engine, versions

CASES = examples(150)
ROWS = 300


@pytest.fixture(autouse=True)
def restored_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the size from which the fast path is used, which the oracle sets."""
    monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", 0)


@pytest.mark.parametrize("first", [0, 10_000_000])
def test_both_paths_agree_on_every_block(first: int, tmp_path: Path) -> None:
    outcome = compare(range(first, first + CASES), tmp_path, ROWS)
    assert not outcome.failures, sorted(tmp_path.glob("*.md"))


def test_a_seed_gives_one_case() -> None:
    for seed in range(20):
        assert case_of(seed, 50) == case_of(seed, 50)
        case = case_of(seed, 50)
        assert from_json(as_json(case)) == case


@pytest.mark.parametrize("version", versions.INSTANCE_VERSIONS)
def test_templates_are_sound(version: str) -> None:
    """Rows of a template have no finding but notices; the fuzzer would else know no sound row."""
    case = sound_case(version)
    found = oracle.exactly(row_engine.RowEngine(case.context()), next(case.blocks()))
    assert {located.violation.code for located in found.violations} == set()


def sound_case(version: str) -> Case:
    """Return a case of all templates of a version."""
    lines = []
    for number, text in enumerate(templates(version)):
        row = json.loads(text)
        row["sample_id"] = f"s{number}"
        with_hash(row, versions.VERSIONS[version].preferred_recipe)
        lines.append(line_of(row))
    settings = {"max_findings": 0, "schema_version": version if "+" in version else "auto"}
    return Case(0, settings, None, tuple(lines), b"".join(lines))


def test_a_difference_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = oracle.quickly

    def careless(engine: Any, lines: Any) -> BlockResult:
        """Overlook what rows without a score lack."""
        found = whole(engine, lines)
        kept = [one for one in found.violations if one.violation.code != "ES201"]
        return found._replace(violations=kept)

    lines = [line.replace(b'"score"', b'"scor"') for line in sound_case("0.3.0").lines]
    case = Case(7, {"max_findings": 0, "strict": True}, None, tuple(lines), b"".join(lines))
    assert not differences(case)
    monkeypatch.setattr(oracle, "quickly", careless)
    found = differences(case)
    assert "ES201" in kind_of(found)
    small = shrunk(case, lambda other: bool(differences(other)))
    assert len(small.lines) == 1
    assert len(small.lines[0]) < len(min(lines, key=len))
    assert any("violations" in line for line in described(small, kind_of(found)))


def test_the_scanner_stays_in_its_memory(tmp_path: Path) -> None:
    """Compiled without optimisation, in a third of the time."""
    reason = native.compile_targets(tmp_path, "-O0")
    if reason is not None:
        pytest.skip(reason)
    for kind in native.KINDS:
        native.write_inputs(tmp_path / kind, seed=5, count=40, kind=kind)
        failures = tmp_path / f"failures-{kind}"
        assert native.run(tmp_path / kind, failures, "-runs=200", workers=1) == 0, kind


def test_blocks_hold_many_kinds_of_lines() -> None:
    chance = random.Random(1)
    lines = [line for _ in range(60) for line in some_lines(chance, 60)]
    assert len({*lines}) > len(lines) / 2
    assert any(b"null" in line for line in lines)
    assert not all(line.endswith(b"\n") for line in lines)
