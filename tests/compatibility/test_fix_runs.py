"""Repairs of real and of faulty runs: findings only go, and what passed still passes."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from corpus import CORPUS, needs_corpus
from depth import some
from each import each

import evalstream
from evalstream.api.changes import fix
from evalstream.batch.rewriting.outcome import ChangeStatus
from evalstream.model.options import Options
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary

pytestmark = needs_corpus

ALONE = Options(jobs=1)


def runs_by_file(report: Report) -> dict[str, RunSummary]:
    """Return the runs of a report by the file of their rows, or of their aggregate."""
    return {run.file or run.aggregate or "": run for run in report.runs if not run.is_note}


def assert_fixed(folder: Path) -> Counter[ChangeStatus]:
    """Fix a folder in place; compare what a check finds before and after."""
    before = runs_by_file(evalstream.check(folder, jobs=1))
    made = fix(folder, write=True, unsafe=False, options=ALONE)
    after = runs_by_file(evalstream.check(folder, jobs=1))
    assert before.keys() == after.keys()
    for name, old in before.items():
        new = after[name]
        assert not new.fixable, name
        for code, count in old.fixable.items():
            assert new.counts.get(code, 0) == old.counts[code] - count, name
        # Another schema may fit now, which is an info.
        more = {code for code, count in new.counts.items() if count > old.counts.get(code, 0)}
        assert not more & new.failing.keys(), name
        assert new.verdict == old.verdict or old.verdict == "failed", name
        assert (old.verdict, new.verdict) != ("failed", "incomplete"), name
    again = fix(folder, write=True, options=ALONE)
    assert not any(one.row_changes or one.document_changes for one in again.outcomes)
    return Counter(one.status for one in made.outcomes if one.rows or one.aggregate)


@pytest.mark.deep
def test_pairs_of_the_corpus(tmp_path: Path) -> None:
    shutil.copytree(CORPUS / "eee-pairs", tmp_path / "pairs")
    (tmp_path / "pairs" / "expected.json").unlink()
    statuses = assert_fixed(tmp_path / "pairs")
    assert statuses == {
        ChangeStatus.WRITTEN: 38,
        ChangeStatus.PARTLY: 98,
        ChangeStatus.UNCHANGED: 44,
    }


CASES = sorted(path.name for path in (CORPUS / "link-cases").glob("*") if path.is_dir())


@each("case", some(CASES, 20))
def test_pairs_with_one_fault(case: str, tmp_path: Path) -> None:
    shutil.copytree(CORPUS / "link-cases" / case, tmp_path / case)
    assert_fixed(tmp_path / case)
