"""Whole runs that are migrated: odd ones, faulty ones, and what upstream says of the results."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aggregate_reference import Supplied as Given
from aggregate_reference import migrate_aggregate
from changed_runs import errors_in, files_of, link_cases, older
from corpus import CORPUS, expectations, needs_corpus
from depth import some
from each import each
from migration_reference import Facts, migrate_row
from odd_run import Source
from odd_sources import sources
from rows import aggregate_of, bytes_of, hashed, sound_rows
from spelled_json import differences, leaves, parse
from upstream import needs_upstream, said_of

from evalstream.api.changes import migrate
from evalstream.batch.rewriting.outcome import ChangeStatus, Outcome

ALL = ("all",)
HASHES = {"ES401", "ES403", "ES404", "ES405"}
LEGITIMATE = {
    "ES204": "null in an optional member is dropped",
    "ES205": "unknown members are kept elsewhere",
    "ES405": "sample hashes of SHA-256 under a seal of md5, which becomes one of SHA-256",
    "ES505": "arrays become lines, and the format says so",
    "ES601": "the evaluation_id was decided",
}
"""The errors of sources that a migration mends, and how."""


def migrated(source: Path, target: Path, **how: Any) -> list[Outcome]:
    """Migrate runs with all that may be needed; require that the sources stay as they are."""
    before = files_of(source)
    chosen = {"fill": True, "decide": ALL, "collection": "some", **how}
    outcomes = migrate(source, target, **chosen).outcomes
    assert files_of(source) == before
    assert not [path for path in target.rglob("*") if path.is_file() and "data" not in path.parts]
    return outcomes


SOURCES = list(sources())


@each("source", some(SOURCES, 20), ids=lambda source: source.name)
def test_odd_runs_are_migrated_or_refused(source: Source, tmp_path: Path) -> None:
    folder, target = source.written(tmp_path / "source"), tmp_path / "target"
    (outcome,) = migrated(folder, target)
    assert (outcome.status is ChangeStatus.WRITTEN) == source.migrates, outcome.reasons
    if source.migrates:
        assert len(files_of(target)) == 2
        assert not errors_in(target)
    else:
        assert not target.exists() or not files_of(target)
        assert source.needs in " ".join(outcome.reasons)


UNDECIDED = [source for source in SOURCES if source.migrates and source.needs]


@each("source", UNDECIDED, ids=lambda source: source.name)
def test_what_is_not_decided_is_refused_with_the_option(source: Source, tmp_path: Path) -> None:
    folder, target = source.written(tmp_path / "source"), tmp_path / "target"
    (outcome,) = migrated(folder, target, decide=())
    assert outcome.status is ChangeStatus.REFUSED
    assert f"--decide {source.needs}" in " ".join(outcome.reasons)
    assert not target.exists() or not files_of(target)


def wrong_hashes() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Iterate over rows whose hashes a check refuses."""
    rows = sound_rows()
    yield "one wrong", [rows[0] | {"sample_hash": "0" * 64}, *rows[1:]]
    yield "all wrong", [row | {"sample_hash": "0" * 64} for row in rows]
    yield "no digest", [rows[0] | {"sample_hash": "n/a"}, *rows[1:]]
    mixed = [
        hashed(row, ("json-str", "json-list-spaced")[place % 2]) for place, row in enumerate(rows)
    ]
    yield "two recipes", mixed
    changed = json.loads(json.dumps(rows))
    changed[3]["input"]["raw"] += " Or not?"
    yield "input changed", changed


@each(("name", "rows"), list(wrong_hashes()))
@pytest.mark.parametrize("rehash", ["keep", "json-list"])
def test_wrong_hashes_are_never_replaced_by_right_ones(
    name: str, rows: list[dict[str, Any]], rehash: str, tmp_path: Path
) -> None:
    data = bytes_of(rows)
    aggregate = json.dumps(aggregate_of("0.2.0", data, len(rows))).encode()
    folder = Source(name, data, aggregate, migrates=False).written(tmp_path / "source")
    assert errors_in(folder).keys() & HASHES
    (outcome,) = migrated(folder, tmp_path / "target", rehash=rehash)
    assert outcome.status is ChangeStatus.REFUSED
    assert any(code in " ".join(outcome.reasons) for code in HASHES)


@pytest.mark.parametrize("rehash", ["keep", "json-list"])
def test_md5_hashes_need_to_be_computed_again(rehash: str, tmp_path: Path) -> None:
    rows = [hashed(row, "concat", "md5") for row in sound_rows()]
    data = bytes_of(rows)
    document = aggregate_of("0.2.0", data, len(rows))
    document["detailed_evaluation_results"] |= {
        "hash_algorithm": "md5",
        "checksum": hashlib.md5(data).hexdigest(),
    }
    source = Source("md5", data, json.dumps(document).encode(), migrates=True)
    (outcome,) = migrated(source.written(tmp_path / "a"), tmp_path / "b", rehash=rehash)
    assert (outcome.status is ChangeStatus.WRITTEN) == (rehash == "json-list"), outcome.reasons
    assert ("ES405" in " ".join(outcome.reasons)) == (rehash == "keep")


@needs_corpus
@each(
    ("case", "rehash"),
    [(case, "keep") for case in some(link_cases(), 20)]
    + [(case, "json-list") for case in some(link_cases(), 8)],
    group=32,
)
def test_no_fault_of_a_pair_is_hidden(case: str, rehash: str, tmp_path: Path) -> None:
    folder, target = older(case, tmp_path / "source"), tmp_path / "target"
    before = errors_in(folder)
    outcomes = migrated(folder, target, rehash=rehash)
    if any(outcome.status is ChangeStatus.WRITTEN for outcome in outcomes):
        assert not errors_in(target)
        assert before.keys() <= LEGITIMATE.keys()
    else:
        assert before or case == "lone-surrogate-escape"
        assert not target.exists() or not files_of(target)
        assert all(outcome.reasons for outcome in outcomes)


def pairs() -> list[dict[str, Any]]:
    """Return the pairs of the corpus that have an aggregate."""
    found = expectations("eee-pairs/expected.json").get("pairs", [])
    return [pair for pair in found if pair.get("aggregate_facts")]


CUT = {
    *("conv-0.2.0-inspect-compute-eval", "conv-0.2.0-inspect-paws"),
    *("conv-0.2.0-inspect-sad-facts-llms", "conv-0.2.1-inspect-compute-eval"),
    *("conv-0.2.1-inspect-drop", "conv-0.2.1-inspect-paws", "conv-0.2.1-inspect-sad-facts-llms"),
    *("conv-0.2.2-inspect-drop", "conv-0.2.3rc1-inspect-drop", "conv-0.3.0-inspect-class-eval"),
    *("conv-0.3.0-inspect-drop", "conv-0.3.0-inspect-lab-bench-litqa", "git-main-skill-reference"),
}
"""Pairs whose rows refute a score: those of logs that were cut to a few samples."""

MADE_UP = {
    *("conv-0.2.0-inspect-home_a_plain", "conv-0.2.1-inspect-home_a_plain"),
    "conv-0.2.1-inspect-home_a_shop-helper",
}
"""Pairs whose rows refute a score: converters before 0.2.2 made up the scores of rows."""

TWICE = "conv-0.3.0-inspect-mbpp"
"""The pair that holds the same row twice."""

FAILING = {TWICE, *CUT, *MADE_UP}
"""Pairs that fail their own check."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Outcome]]:
    """Migrate all pairs of the corpus into one store, each with all decisions."""
    target = tmp_path_factory.mktemp("store")
    made: dict[str, Outcome] = {}
    for pair in pairs():
        (made[pair["id"]],) = migrated(CORPUS / "eee-pairs" / pair["id"], target)
    return target, made


@pytest.mark.deep
@needs_corpus
def test_pairs_of_the_corpus_are_migrated(store: tuple[Path, dict[str, Outcome]]) -> None:
    target, made = store
    assert {name for name, one in made.items() if one.status is not ChangeStatus.WRITTEN} == FAILING
    assert errors_in(CORPUS / "eee-pairs" / TWICE).keys() == {"ES408", "ES606"}
    for name in (*CUT, *MADE_UP):
        assert "ES801" in errors_in(CORPUS / "eee-pairs" / name)
    assert not errors_in(target, profile="datastore")


@pytest.mark.deep
@needs_corpus
def test_migrated_pairs_are_those_of_the_reference(store: tuple[Path, dict[str, Outcome]]) -> None:
    _, made = store
    for pair in pairs():
        if pair["id"] in FAILING or not pair.get("instance_facts"):
            continue
        root, aggregate = CORPUS / "eee-pairs" / pair["id"], Path(made[pair["id"]].target or "")
        source, found = (
            parse((root / pair["aggregate"]).read_bytes()),
            parse(aggregate.read_bytes()),
        )
        expected = migrate_aggregate(source, Given(fill=True))
        assert not {
            place.split("/")[1]
            for place, _, _ in differences(expected, found)
            if not place.startswith("/source_metadata/additional_details")
        } - {"detailed_evaluation_results"}
        facts = Facts(
            evaluation_id=source["evaluation_id"],
            decisions=frozenset({"evaluation-id", "transcript", "output"}),
        )
        lines = (root / pair["instance"]).read_text(encoding="utf-8").split("\n")
        wanted = [migrate_row(parse(line), facts) for line in lines if line.strip()]
        rows = aggregate.with_name(f"{aggregate.stem}_samples.jsonl").read_bytes()
        new = [parse(line) for line in rows.split(b"\n")[:-1]]
        assert not list(differences(wanted, new))
        seal = found["detailed_evaluation_results"]
        assert seal["checksum"] == hashlib.sha256(rows).hexdigest()
        assert seal["total_rows"].spelling == str(len(new))


@needs_corpus
@pytest.mark.deep
def test_a_second_migration_changes_nothing(store: tuple[Path, dict[str, Outcome]]) -> None:
    target, made = store
    before = files_of(target)
    for name, first in made.items():
        if name in FAILING:
            continue
        (again,) = migrated(CORPUS / "eee-pairs" / name, target)
        assert (again.status, again.target) == (ChangeStatus.PRESENT, first.target)
    assert files_of(target) == before


@pytest.mark.deep
@needs_upstream
@needs_corpus
def test_upstream_accepts_what_was_migrated(store: tuple[Path, dict[str, Outcome]]) -> None:
    target, _ = store
    files = sorted(path for path in files_of(target) if path.suffix in {".json", ".jsonl"})
    refused = {path for path, said in zip(files, said_of(files), strict=True) if said.refused}
    # Upstream takes U+2028 and its like within a text for the end of a line.
    marks = (b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85")
    broken = {
        path.stem.removesuffix("_samples")
        for path in files
        if any(mark in path.read_bytes() for mark in marks)
    }
    assert {path.stem.removesuffix("_samples") for path in refused} == broken
    assert len(broken) == 9


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Outcome]]:
    """Migrate all aggregates of the corpus that have no file of rows."""
    target = tmp_path_factory.mktemp("single")
    made: dict[str, Outcome] = {}
    for one in expectations("eee-aggregates/expected.json")["files"]:
        path = CORPUS / "eee-aggregates" / one["file"]
        (made[one["file"]],) = migrate(
            path, target, fill=True, decide=ALL, collection="some"
        ).outcomes
    return target, made


@pytest.mark.deep
@needs_corpus
def test_single_aggregates_are_migrated_or_refused_for_what_is_wrong_with_them(
    single: tuple[Path, dict[str, Outcome]],
) -> None:
    target, made = single
    assert Counter(outcome.status for outcome in made.values()) == {
        ChangeStatus.WRITTEN: 57,
        ChangeStatus.REFUSED: 26,
    }
    for name, outcome in made.items():
        if outcome.status is ChangeStatus.REFUSED and "does not pass" in outcome.reasons[0]:
            codes = {reason.split()[0] for reason in outcome.reasons[1:]}
            assert codes <= errors_in(CORPUS / "eee-aggregates" / name).keys()
    assert not errors_in(target, profile="datastore")


@pytest.mark.deep
@needs_corpus
def test_listed_samples_become_rows(single: tuple[Path, dict[str, Outcome]]) -> None:
    _, made = single
    count = 0
    for name, outcome in made.items():
        source = parse((CORPUS / "eee-aggregates" / name).read_bytes())
        samples = source.get("detailed_evaluation_results_per_samples")
        if outcome.status is not ChangeStatus.WRITTEN or not isinstance(samples, list):
            continue
        aggregate = Path(outcome.target or "")
        text = aggregate.with_name(f"{aggregate.stem}_samples.jsonl").read_text(encoding="utf-8")
        rows = [parse(line) for line in text.split("\n")[:-1]]
        assert len(rows) == len(samples) == outcome.row_count
        for sample, row in zip(samples, rows, strict=True):
            assert leaves(sample).keys() - {"null"} <= leaves(row).keys()
            truth = sample["ground_truth"]
            truths = truth if isinstance(truth, list) else [truth]
            is_right = sample["response"] in truths
            assert (row["sample_id"], row["input"]["raw"]) == (sample["sample_id"], sample["input"])
            assert (row["input"]["reference"], row["output"]["raw"]) == (
                truths,
                [sample["response"]],
            )
            assert row["evaluation"]["is_correct"] == is_right
            assert row["evaluation"]["score"].spelling == str(int(is_right))
        kept = parse(aggregate.read_bytes())
        claims = [one["score_details"]["score"].spelling for one in kept["evaluation_results"]]
        mean = sum(row["evaluation"]["is_correct"] for row in rows) / len(rows)
        assert any(abs(float(claim) - mean) < 1e-9 for claim in claims)
        count += 1
    assert count == 7


@pytest.mark.deep
@needs_upstream
@needs_corpus
def test_upstream_accepts_migrated_aggregates(single: tuple[Path, dict[str, Outcome]]) -> None:
    target, _ = single
    files = sorted(path for path in files_of(target) if path.suffix in {".json", ".jsonl"})
    said = dict(zip(files, said_of(files), strict=True))
    assert {path: one for path, one in said.items() if one.refused} == {}
