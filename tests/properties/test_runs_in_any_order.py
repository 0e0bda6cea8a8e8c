"""What one run leaves behind in the process says nothing of another: scanners, plans, recipes."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import (
    COVERED,
    VERSIONS,
    Row,
    aggregate_of,
    bounded,
    bytes_of,
    hashed,
    mutants,
    sound_rows,
)

from evalstream.batch.single import check_any
from evalstream.formats.eee import fast_block, fast_path, probe
from evalstream.formats.eee.row_engine import RowEngine
from evalstream.io.progress import Progress
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.run import Run

LIBRARIES = ("lm_eval", "inspect_ai", "helm", "unknown")
OPTIONS = Options(max_findings=0, links=True)


@pytest.fixture(autouse=True)
def _with_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the scanner take rows of files of any size."""
    monkeypatch.setattr(RowEngine, "_expected", 1 << 30)


KINDS = st.tuples(
    st.sampled_from(VERSIONS),
    st.sampled_from([*COVERED]),
    st.sampled_from(["sha256", "md5"]),
    st.sampled_from(LIBRARIES),
)
"""The version of a run, the recipe and the algorithm of its hashes, and its harness."""


@st.composite
def batches(draw: st.DrawFn) -> list[tuple[bytes, Row]]:
    """Draw the rows and the aggregates of some runs, most of which are of one kind."""
    kind = draw(KINDS)
    of_kind = st.just(kind)
    kinds = draw(st.lists(st.one_of(of_kind, of_kind, of_kind, KINDS), min_size=3, max_size=5))
    return [draw(documents(*one)) for one in kinds]


@st.composite
def documents(
    draw: st.DrawFn, version: str, recipe: str, algorithm: str, library: str
) -> tuple[bytes, Row]:
    """Draw the rows of a run, with faults or without, and their aggregate."""
    rows = [hashed(row, recipe, algorithm) for row in sound_rows(version, 3)]
    rows += draw(st.lists(mutants(version), max_size=1))
    data = bytes_of(draw(st.permutations(rows)))
    aggregate = aggregate_of(version, data, len(rows))
    aggregate["eval_library"] = {"name": library, "version": "1"}
    (first,) = aggregate["evaluation_results"]
    first["metric_config"] |= draw(
        st.fixed_dictionaries({}, optional={"min_score": st.just(1), "max_score": st.just(0.5)})
    )
    added = draw(st.sampled_from(["", "", "", "sample_ids", "result"]))
    if added == "sample_ids":
        first["source_data"]["sample_ids"] = ["sample-0", "sample-2"]
    elif added == "result":
        another = {**first, "evaluation_name": "another", "evaluation_result_id": "another"}
        aggregate["evaluation_results"].append(another)
    return data, aggregate


def write(folder: Path, runs: Sequence[tuple[bytes, Row]]) -> Iterator[Run]:
    """Write runs, and iterate over them."""
    for number, (data, aggregate) in enumerate(runs):
        rows, document = folder / f"{number}_samples.jsonl", folder / f"{number}.json"
        rows.write_bytes(data)
        document.write_text(json.dumps(aggregate))
        yield Run(str(rows), str(document))


def report(run: Run) -> tuple[dict[str, Any], list[Finding], Any]:
    """Check a run, and return its whole report."""
    found: list[Finding] = []
    summary = check_any(run, OPTIONS, found.append, Progress(shown=False))
    links = summary.links
    words = links and [(group, list(links.chunks(group.link_key))) for group in links.groups()]
    return {**summary.as_dict(), "seconds": 0}, found, (links and links.record, words)


def forget() -> None:
    """Leave nothing of earlier runs."""
    fast_block._IDLE.clear()
    fast_path._setting.cache_clear()
    probe._recipes_of_one.cache_clear()


@given(batches())
@bounded(max_examples=examples(100))
def test_runs_say_the_same_alone_and_in_any_order(drawn: list[tuple[bytes, Row]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = list(write(Path(folder), drawn))
        alone = []
        for run in runs:
            forget()
            alone.append(report(run))
        assert list(map(report, runs)) == alone
        assert list(map(report, reversed(runs))) == alone[::-1]
