"""The documentation's table of changes in real runs is what a migration of them gives."""

import runpy
from collections import Counter

import pytest
from corpus import CORPUS, needs_corpus
from paths import REPOSITORY

from evalstream.batch.rewriting.outcome import ChangeStatus


@needs_corpus
@pytest.mark.deep
def test_the_table_of_changes_is_that_of_the_corpus() -> None:
    script = runpy.run_path(str(REPOSITORY / "scripts" / "migration_figures.py"))
    folders = [
        path
        for name in ("eee-pairs", "eee-aggregates")
        for path in sorted((CORPUS / name).iterdir())
        if path.is_dir()
    ]
    outcomes = script["outcomes_of"](folders)
    page = (REPOSITORY / "docs" / "how-to" / "migrate.md").read_text(encoding="utf-8")
    assert script["table_of"](outcomes) in page
    counts = Counter(outcome.status for outcome in outcomes if outcome.aggregate is not None)
    assert counts == {ChangeStatus.WRITTEN: 219, ChangeStatus.REFUSED: 43}
    assert "Of these, 219 were written and 43 refused" in page
