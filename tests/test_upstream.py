"""The format's own validator beside ours: every disagreement belongs to a class with a reason.

docs/agreement.md tells the reasons. The test needs `scripts/upstream` to have been run, or the
Python of an environment with every-eval-ever 0.3.0 in EVALSTREAM_UPSTREAM.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from corpus import CORPUS, REPOSITORY, expectations, lines_of, needs_corpus
from edits import apply

import evalstream
from evalstream.model import Severity

PYTHON = Path(
    os.environ.get("EVALSTREAM_UPSTREAM", REPOSITORY / ".venv-upstream" / "bin" / "python")
)
pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="scripts/upstream was not run, and EVALSTREAM_UPSTREAM is not set"
)

BOTH_REFUSE, BOTH_ACCEPT = "both refuse", "both accept"


class Verdicts(NamedTuple):
    """What both say of a run or document: our errors, upstream's, and the bytes of its rows."""

    codes: frozenset[str]
    refused: bool
    errors: tuple[tuple[str, str], ...]
    data: bytes


class Class(NamedTuple):
    """A kind of disagreement: who refuses, and what it is like."""

    ours_refuses: bool
    holds: Callable[[Verdicts], bool]


def speaks(*codes: str) -> Callable[[Verdicts], bool]:
    """Tell that one of our rules found an error."""
    return lambda verdicts: bool(verdicts.codes.intersection(codes))


def holds_bytes(*texts: bytes) -> Callable[[Verdicts], bool]:
    """Tell that the rows hold some bytes."""
    return lambda verdicts: any(text in verdicts.data for text in texts)


def declares_older(verdicts: Verdicts) -> bool:
    """Tell that the rows or the aggregate declare a version before 0.2.3."""
    return any(f'"0.2.{n}"'.encode() in verdicts.data for n in (0, 1, 2))


def says(text: str) -> Callable[[Verdicts], bool]:
    """Tell that upstream's errors hold a text."""
    return lambda verdicts: any(text in message for _, message in verdicts.errors)


CLASSES = {
    "seal": Class(True, speaks("ES501", "ES502")),
    "sample-hash": Class(True, speaks("ES401", "ES403", "ES404", "ES405")),
    "samples": Class(True, speaks("ES407", "ES408", "ES409")),
    "results": Class(True, speaks("ES603", "ES606")),
    "lenient-types": Class(True, speaks("ES202", "ES203", "ES204", "ES208")),
    "other-version": Class(True, speaks("ES205", "ES215")),
    "row": Class(True, speaks("ES302", "ES305", "ES308")),
    "uncertainty": Class(True, speaks("ES702")),
    "carriage-returns": Class(True, speaks("ES105")),
    "unicode-lines": Class(False, holds_bytes(b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85")),
    "byte-order-mark": Class(False, lambda verdicts: verdicts.data.startswith(b"\xef\xbb\xbf")),
    "older-versions": Class(False, declares_older),
    "null-bounds": Class(False, says("score_type 'continuous' requires")),
}

ELSEWHERE = ("path", "companion", "sibling", "uuid", "expected exactly")
"""What upstream's errors about the place of a file speak of."""

EDITS = [
    ("file unchanged", BOTH_ACCEPT),
    ('row 2 /metadata/note = "x"', BOTH_ACCEPT),
    ("row 2 /evaluation/is_correct removed", BOTH_REFUSE),
    ('row 2 /modell_id = "x"', BOTH_REFUSE),
    ('row 2 /interaction_type = "chat"', BOTH_REFUSE),
    ('row 2 /evaluation_id = "another/run/1700000000"', BOTH_REFUSE),
    ('row 2 /model_id = "another/model"', BOTH_REFUSE),
    ("row 1 /output removed", BOTH_REFUSE),
    ('line 2 bytes "{torn"', BOTH_REFUSE),
    ('line 2 bytes "\\u00ff"', BOTH_REFUSE),
    ('line 2 bytes "[]"', BOTH_REFUSE),
    ("aggregate /detailed_evaluation_results/total_rows = 7", BOTH_REFUSE),
    ('aggregate /evaluation_results/0/metric_config/score_type = "grades"', BOTH_REFUSE),
    ("aggregate /evaluation_results/0/score_details/score = 75", BOTH_REFUSE),
    ("aggregate /model_info/additional_details/deployment_type removed", BOTH_REFUSE),
    (
        'aggregate /detailed_evaluation_results/checksum = "' + 64 * "0" + '"',
        "seal",
    ),
    ('aggregate /detailed_evaluation_results/checksum = "n/a"', "seal"),
    ('row 2 /input/reference = ["another answer"]', "sample-hash"),
    ('row 2 /sample_hash = "not a digest"', "sample-hash"),
    ("row 2 hash json-str", "sample-hash"),
    ("hashes unknown", "sample-hash"),
    ("row 2 repeated", "samples"),
    ('row 2 repeated\nrow 3 /output/raw = ["another"]', "samples"),
    ('row 2 /sample_id = "arith-001"\nrow 2 /metadata/epoch = "2"', "samples"),
    ('row 2 /evaluation_result_id = "another-metric"', "results"),
    ('row 2 /evaluation/score = "0.5"', "lenient-types"),
    ('row 2 /evaluation/is_correct = "yes"', "lenient-types"),
    ("row 2 /evaluation/score = true", "lenient-types"),
    ("row 2 /evaluation_result_id = null", "lenient-types"),
    ('row 2 /schema_version = "0.2.1"', "other-version"),
    ('row 2 /schema_version = "9.9"', "other-version"),
    ('row 3 /messages/2/tool_call_id = ["nobody"]', "row"),
    ("row 1 /answer_attribution/0/turn_idx = 5", "row"),
    ("row 1 /evaluation/score = 100", "row"),
    (
        "aggregate /evaluation_results/0/score_details/uncertainty/standard_error/value = -0.1",
        "uncertainty",
    ),
    ('line 1 joined with line 2\nfile begins "\\r"', BOTH_REFUSE),
    ('row 2 /output/raw = ["one\\u2028two"]', "unicode-lines"),
    ('row 2 /output/raw = ["one\\u0085two"]', "unicode-lines"),
    ('file begins "\\u00ef\\u00bb\\u00bf"', "byte-order-mark"),
    ("aggregate /evaluation_results/0/metric_config/max_score = null", "null-bounds"),
]
"""Edits of the 0.3.0 pair, and the class of disagreement that each belongs to."""


def upstream(paths: Sequence[Path]) -> list[tuple[bool, list[list[str]]]]:
    """Let upstream judge files, all in one process."""
    asked = "".join(json.dumps(str(path)) + "\n" for path in paths)
    driver = Path(__file__).with_name("upstream_driver.py")
    answer = subprocess.run(
        [str(PYTHON), str(driver)], input=asked, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


def judged(runs: Sequence[tuple[Path, Path]]) -> Iterator[Verdicts]:
    """Judge pairs of rows and aggregate by both, as parts of a datastore."""
    files = [path for run in runs for path in run]
    answers = iter(upstream(files))
    for rows, aggregate in runs:
        both = [next(answers), next(answers)]
        report = evalstream.check(
            rows, aggregate=aggregate, profile="datastore", max_findings=0, jobs=1
        )
        yield Verdicts(
            frozenset(finding.code for finding in report if finding.severity is Severity.ERROR),
            not all(valid for valid, _ in both),
            tuple((kind, message) for _, errors in both for kind, message in errors),
            (rows.read_bytes() if rows.is_file() else b"") + aggregate.read_bytes(),
        )


def classes_of(verdicts: Verdicts) -> set[str]:
    """Return the classes that a disagreement belongs to, or that there is none."""
    ours = bool(verdicts.codes)
    if ours == verdicts.refused:
        return {BOTH_REFUSE if ours else BOTH_ACCEPT}
    return {
        name for name, kind in CLASSES.items() if kind.ours_refuses == ours and kind.holds(verdicts)
    }


def test_edits_are_judged_as_the_table_says(tmp_path: Path) -> None:
    runs = []
    for number, (script, _) in enumerate(EDITS):
        case = apply(f"version 0.3.0\n{script}", tmp_path / str(number))
        assert case.aggregate is not None
        runs.append((case.rows, case.aggregate))
    found = {
        script: classes_of(verdicts)
        for (script, _), verdicts in zip(EDITS, judged(runs), strict=True)
    }
    wrong = {script: found[script] for script, expected in EDITS if expected not in found[script]}
    assert not wrong


def test_rows_of_an_older_version_are_judged_by_it(tmp_path: Path) -> None:
    case = apply("file unchanged", tmp_path)
    assert case.aggregate is not None
    (verdicts,) = judged([(case.rows, case.aggregate)])
    assert verdicts.refused
    assert verdicts.codes <= {"ES901", "ES902", "ES507"}


def test_every_class_occurs_and_is_told_of() -> None:
    told = (REPOSITORY / "docs" / "agreement.md").read_text(encoding="utf-8")
    drawn = {name for _, name in EDITS} | {"older-versions", "carriage-returns"}
    assert drawn == {*CLASSES, BOTH_ACCEPT, BOTH_REFUSE}
    assert all(f"`{name}`" in told for name in CLASSES)


@needs_corpus
def test_disagreements_over_real_pairs_are_all_explained() -> None:
    pairs = [
        (CORPUS / "eee-pairs" / pair["id"] / pair["instance"],
         CORPUS / "eee-pairs" / pair["id"] / pair["aggregate"])
        for pair in expectations("eee-pairs/expected.json")["pairs"]
        if pair.get("instance_facts") and pair.get("aggregate_facts")
    ]  # fmt: skip
    assert_explained(pairs)


@needs_corpus
def test_disagreements_over_link_cases_are_all_explained() -> None:
    facts = expectations("link-cases/expected.json")
    folders = sorted(path for path in (CORPUS / "link-cases").iterdir() if path.is_dir())
    assert_explained(
        [(path / facts["samples_path"], path / facts["aggregate_path"]) for path in folders]
    )


def assert_explained(runs: Sequence[tuple[Path, Path]]) -> None:
    """Require a class for every disagreement."""
    unexplained = {
        run[0].parts[-6]: verdicts[:3]
        for run, verdicts in zip(runs, judged(runs), strict=True)
        if not classes_of(verdicts)
    }
    assert not unexplained


@needs_corpus
@pytest.mark.parametrize("kind", ["instance", "aggregate"])
def test_disagreements_over_mutants_are_all_explained(kind: str, tmp_path: Path) -> None:
    lines = lines_of(CORPUS / "mutants" / f"{kind}-0.3.0.jsonl")
    ending = "jsonl" if kind == "instance" else "json"
    paths = [tmp_path / f"{number}.{ending}" for number in range(len(lines))]
    for path, line in zip(paths, lines, strict=True):
        path.write_bytes(line + b"\n")
    for path, (_, errors) in zip(paths, upstream(paths), strict=True):
        report = evalstream.check(path, select=("ES1", "ES2", "ES3", "ES4", "ES7"), jobs=1)
        codes = {finding.code for finding in report if finding.severity is Severity.ERROR}
        # A mutant has no place in a datastore and no companion; that is not its fault.
        own = tuple((name, said) for name, said in errors if not any(map(said.count, ELSEWHERE)))
        verdicts = Verdicts(frozenset(codes), bool(own), own, path.read_bytes())
        assert classes_of(verdicts), (path.name, verdicts[:3])
