"""The format's own validator beside ours: every disagreement belongs to a class with a reason.

docs/agreement.md tells the reasons. The test needs `scripts/upstream` to have been run, or the
Python of an environment with every-eval-ever 0.3.0 in EVALSTREAM_UPSTREAM.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from corpus import CORPUS, expectations, lines_of, needs_corpus
from edits import apply
from paths import REPOSITORY
from upstream import answers, needs_upstream, said_of
from verdicts import BOTH_ACCEPT, BOTH_REFUSE, CLASSES, Verdicts, classes_of, judged

import evalstream
from evalstream.model.finding import Severity

pytestmark = needs_upstream


ELSEWHERE = ("path", "companion", "sibling", "uuid", "expected exactly")
"""What upstream's errors about the place of a file speak of."""


def of_model(identity: str, folder: str) -> str:
    """Return an edit that makes the pair one of another model, in a folder of the datastore."""
    return (
        f"folder data/tiny-arithmetic/{folder}\n"
        f'rows /model_id = "{identity}"\n'
        f'aggregate /model_info/id = "{identity}"\n'
    )


def of_metric(members: str) -> str:
    """Return an edit that gives the aggregate's result a metric with these members."""
    metric = json.dumps({"lower_is_better": False, **json.loads(members)})
    return f"aggregate /evaluation_results/0/metric_config = {metric}\n"


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
    ('aggregate /detailed_evaluation_results/checksum = "' + 64 * "0" + '"', "seal"),
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
    (of_model("acme/-acorn-7b", "acme/-acorn-7b"), "portable-names"),
    (of_metric('{"score_type": "continuous", "min_score": 0, "max_score": null}'), BOTH_REFUSE),
    (of_metric('{"score_type": "continuous", "min_score": null, "max_score": 1}'), BOTH_REFUSE),
    (
        of_metric('{"score_type": "continuous", "min_score": 0, "max_score": "Infinity"}'),
        BOTH_ACCEPT,
    ),
    (of_metric('{"score_type": "binary", "min_score": null, "max_score": null}'), BOTH_ACCEPT),
    (of_model("acme/acorn-7b", "acme/Acorn-7B"), BOTH_REFUSE),
    (of_model("acme/acorn-7b", "Acme/acorn-7b"), BOTH_REFUSE),
    (of_model("acme/acorn/7b", "acme/acorn-7b"), BOTH_REFUSE),
    (of_model("unknown/acorn", "unknown/acorn"), BOTH_REFUSE),
    (of_model("acorn-7b", "acme/acorn-7b"), BOTH_ACCEPT),
    (
        of_model("acorn-7b", "acme/acorn-7b") + "aggregate /model_info/developer removed",
        BOTH_REFUSE,
    ),
    (of_model("openai/azure/gpt-4:mini", "openai/azure_gpt-4_mini"), BOTH_ACCEPT),
    *(
        (
            f'rows /evaluation_id = "{identity}"\naggregate /evaluation_id = "{identity}"',
            BOTH_ACCEPT,
        )
        for identity in ("livebench/2024-11-25/gpt-4o", "alpaca_eval_2/gpt-4o@cd543a14aaaa")
    ),
    (
        of_metric(
            '{"score_type": "levels", "level_names": ["a", "b"], "has_unknown_level": true,'
            ' "min_score": 0, "max_score": 1}'
        )
        + 'aggregate /evaluation_results/0/score_details = {"score": -1}',
        "level-bounds",
    ),
    ("aggregate /evaluation_results/0/score_details/score = 1.0000000000000002", "rounding"),
    (
        "aggregate /evaluation_results/0/generation_config/generation_args/max_tokens = 1e308",
        "huge-integers",
    ),
]
"""Edits of the 0.3.0 pair, and the class of disagreement that each belongs to."""


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


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("file unchanged", 0),
        ("row 1 /output removed", 1),
        ("folder data/tiny-arithmetic/acme/Acorn-7B", 2),
    ],
)
def test_exit_codes_are_what_the_table_says(script: str, code: int, tmp_path: Path) -> None:
    case = apply(f"version 0.3.0\n{script}", tmp_path)
    assert answers([("exit", str(case.rows), str(case.aggregate))]) == [code]
    assert all(verdicts.refused == bool(code) for verdicts in judged([(case.rows, case.aggregate)]))


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
    for path, said in zip(paths, said_of(paths), strict=True):
        report = evalstream.check(
            path, select=("ES1", "ES2", "ES3", "ES4", "ES7"), profile="datastore", jobs=1
        )
        codes = {finding.code for finding in report if finding.severity is Severity.ERROR}
        # A mutant has no place in a datastore and no companion; that is not its fault.
        refusals = (*said.errors, *said.warnings)
        own = tuple(one for one in refusals if not any(map(one[1].count, ELSEWHERE)))
        verdicts = Verdicts(frozenset(codes), own, path.read_bytes())
        assert classes_of(verdicts), (path.name, verdicts[:3])
