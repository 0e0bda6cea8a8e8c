"""What rules say of their repairs: `fix` mends exactly the findings that `check` counts."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from depth import deep, some
from each import each
from edits import apply_case
from paths import EXAMPLES
from rows import bytes_of, sound_rows, write_run

import evalstream
from evalstream.api.changes import fix
from evalstream.batch.rewriting.change_report import FIXED, ChangeReport
from evalstream.batch.rewriting.outcome import ChangeStatus
from evalstream.formats.registry import CATALOGUE, main_format
from evalstream.model.options import Options
from evalstream.model.report import Report
from evalstream.rules.base import RepairAction, Rule

SAFE, UNSAFE = main_format().repairs

ALONE = Options(jobs=1)

MAIN_RULES = [rule for code, rule in CATALOGUE.items() if code.startswith("ES")]
REPAIRED = [rule for rule in MAIN_RULES if rule.repair is not None]
OTHERS = [rule for rule in MAIN_RULES if rule.repair is None]
each_main_rule = each("rule", [*REPAIRED, *some(OTHERS, 40)], lambda rule: rule.code, group=8)
every_side = pytest.mark.parametrize("side", ["bad", deep("good")])


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def fixable(report: Report) -> dict[str, int]:
    """Return what a report counts as fixable, by code."""
    counts: dict[str, int] = {}
    for run in report.runs:
        for code, count in run.fixable.items():
            counts[code] = counts.get(code, 0) + count
    return counts


def test_the_rules_with_repairs_are_those_of_the_main_format() -> None:
    repaired = {code for code, rule in CATALOGUE.items() if rule.repair is not None}
    assert repaired == SAFE | UNSAFE
    assert {code for code, rule in CATALOGUE.items() if rule.fixable} == SAFE


def test_every_action_is_that_of_one_rule() -> None:
    actions = [rule.repair.action for rule in CATALOGUE.values() if rule.repair is not None]
    assert sorted(actions, key=list(RepairAction).index) == list(RepairAction)


def test_every_action_is_carried_out_where_rows_and_aggregates_are_rewritten() -> None:
    package = Path(evalstream.__file__).parent
    folders = (package / "batch" / "rewriting", package / "formats" / "eee" / "changes")
    text = "".join(path.read_text("utf-8") for one in folders for path in one.glob("*.py"))
    assert [one for one in RepairAction if f"RepairAction.{one.name}" not in text] == []


@every_side
@each_main_rule
def test_fix_mends_what_check_counts_and_nothing_else(
    rule: Rule, side: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    apply_case(rule.code, side, Path())
    files = contents(tmp_path)
    before = evalstream.check(".", jobs=1)
    counted = fixable(before)
    assert before.totals.fixable == sum(counted.values())
    assert counted.keys() <= SAFE & before.counts.keys()
    totals = before.totals
    marked = sum(finding.occurrences for finding in before if finding.fix is not None)
    assert marked == totals.fixable + totals.fixable_unsafely + totals.unfixable
    if not totals.unfixable:
        safe = sum(finding.occurrences for finding in before if finding.fix == "safe")
        assert safe == totals.fixable

    dry = fix(".", options=ALONE)
    assert contents(tmp_path) == files
    made = fix(".", write=True, options=ALONE)
    assert [one.status for one in made.outcomes] == [one.status for one in dry.outcomes]
    assert (contents(tmp_path) != files) == bool(counted)
    if not counted:
        return

    after = evalstream.check(".", jobs=1)
    for code, count in counted.items():
        assert after.counts.get(code, 0) == before.counts[code] - count
    assert not fixable(after)
    for old, new in zip(before.runs, after.runs, strict=True):
        assert all(count <= old.failing.get(code, 0) for code, count in new.failing.items())
        assert not (old.verdict == "passed" and new.verdict != "passed")

    fixed = contents(tmp_path)
    fix(".", write=True, options=ALONE)
    assert contents(tmp_path) == fixed


def with_ids(folder: Path, ids: list[str]) -> None:
    """Write the example run with other evaluation_ids of its first rows, not sealed."""
    lines = (EXAMPLES / "run.jsonl").read_bytes().splitlines(keepends=True)
    own = json.loads(lines[0])["evaluation_id"].encode()
    for number, other in enumerate(ids):
        lines[number] = lines[number].replace(own, other.encode())
    (folder / "run.jsonl").write_bytes(b"".join(lines))
    document = json.loads((EXAMPLES / "aggregate.json").read_bytes())
    document["detailed_evaluation_results"] = {"file_path": "run.jsonl"}
    (folder / "aggregate.json").write_text(json.dumps(document))


def test_fix_names_the_unsafe_repairs_that_it_leaves_out(tmp_path: Path) -> None:
    with_ids(tmp_path, ["another-key"] * 8)
    for unsafe in (False, True):
        summary = ChangeReport(FIXED, is_dry=True)
        (outcome,) = fix(tmp_path, unsafe=unsafe, options=ALONE).outcomes
        summary.add(outcome)
        text = "\n".join([*summary.describe_outcome(outcome), *summary.lines()])
        assert ("repairs left out: ES601 8 (unsafe: add --unsafe)" in text) != unsafe
        assert ("this call does not repair what fails it: ES601 8" in text) != unsafe
        assert "there is no repair" not in text


def test_a_selected_repair_that_is_unsafe_says_so(tmp_path: Path) -> None:
    with_ids(tmp_path, ["another-key"] * 8)
    with pytest.raises(evalstream.UsageError, match="the repair of ES601 is unsafe"):
        fix(tmp_path, select="ES601", options=ALONE)
    (outcome,) = fix(tmp_path, select="ES601", unsafe=True, options=ALONE).outcomes
    assert outcome.status is ChangeStatus.WRITTEN


@each(("algorithm", "word"), [("sha512", "unknown"), (5, "unknown"), (None, "missing")])
def test_an_unknown_algorithm_is_not_missing_and_has_no_repair(
    algorithm: Any, word: str, tmp_path: Path
) -> None:
    data = bytes_of(sound_rows("0.2.0", 2))
    _, aggregate = write_run(tmp_path, data + b"\n")
    document = json.loads(aggregate.read_bytes())
    seal = document["detailed_evaluation_results"]
    seal |= {"hash_algorithm": algorithm, "total_rows": 2}
    if algorithm is None:
        del seal["hash_algorithm"]
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(tmp_path, jobs=1)
    (found,) = (one for one in report if one.code == "ES502")
    assert found.message.startswith(f"hash_algorithm is {word}; by its length")
    assert found.fix == ("safe" if algorithm is None else None)
    (outcome,) = fix(tmp_path, options=ALONE).outcomes
    # The blank line has a repair, which is not made where the seal cannot be compared.
    assert bool(fixable(report)) == (outcome.status is ChangeStatus.WRITTEN) == (algorithm is None)
    assert bool(report.totals.unfixable) == (algorithm is not None)


@each(
    ("ids", "is_mended"),
    [
        (["another-key"] * 8, True),
        (["another-key"] * 3, True),
        (["another-key"] * 7 + ["a-third-key"], False),
        (["tiny-arithmetic/acme/acorn-7b/1760000000", "another-key"], False),
    ],
)
@pytest.mark.parametrize(
    ("max_findings", "show_values"), [(1, True), (100, False), deep(1, False), deep(100, True)]
)
def test_fix_unsafe_mends_exactly_the_ids_that_check_counts_for_it(
    ids: list[str], *, is_mended: bool, max_findings: int, show_values: bool, tmp_path: Path
) -> None:
    with_ids(tmp_path, ids)
    limits = {"max_findings": max_findings, "show_values": show_values, "jobs": 1}
    before = evalstream.check(tmp_path, **limits)  # type: ignore[arg-type]
    count = before.counts["ES601"]
    marks = [one.fix for one in before if one.code == "ES601"]
    if not is_mended and max_findings == 1 and len(ids) == 8:
        # The row of a third run is not among the findings that are shown.
        return
    assert before.totals.fixable_unsafely == (count if is_mended else 0)
    assert (set(marks) == {"unsafe"}) == is_mended
    (outcome,) = fix(tmp_path, write=True, unsafe=True, options=ALONE).outcomes
    assert (outcome.status is not ChangeStatus.REFUSED) == is_mended
    assert ("ES601" in evalstream.check(tmp_path, jobs=1).counts) != is_mended


def test_each_safe_repair_is_made_in_some_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mended = set()
    for code in sorted(SAFE - {"ES215", "ES405", "ES502", "ES507"}):
        folder = tmp_path / code
        folder.mkdir()
        monkeypatch.chdir(folder)
        apply_case(code, "bad", Path())
        mended |= fixable(evalstream.check(".", jobs=1)).keys()
    # The cases of the other four show what no repair can mend.
    assert mended == SAFE - {"ES215", "ES405", "ES502", "ES507"}


@each("code", sorted(SAFE | UNSAFE))
def test_the_text_of_a_rule_says_what_fix_does(code: str) -> None:
    rule = CATALOGUE[code]
    assert rule.repair is not None
    command = "evalstream fix: " if code in SAFE else "evalstream fix --unsafe: "
    assert f"\n\n{command}{rule.repair.title}" in rule.explain()


@each(
    ("last", "options"),
    [
        (b'{"torn', {"select": "ES112"}),
        (b"a message\r\n", {"skip_noise": True}),
        (b"", {"ignore": "ES501,ES503"}),
    ],
    ids=["torn", "noise", "seal"],
)
def test_what_was_not_reported_keeps_fix_from_a_run_as_well(
    last: bytes, options: dict[str, Any], tmp_path: Path
) -> None:
    rows = tmp_path / "run.jsonl"
    rows.write_bytes((EXAMPLES / "run.jsonl").read_bytes().replace(b"\n", b"\r\n") + last)
    if not last:
        shutil.copy(EXAMPLES / "aggregate.json", tmp_path)
    totals = evalstream.check(rows, **options).totals
    assert (totals.fixable, totals.unfixable > 0) == (0, True)
    (outcome,) = fix(rows, options=ALONE).outcomes
    assert outcome.status is ChangeStatus.REFUSED
