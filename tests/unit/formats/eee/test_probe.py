"""The recipes of sample_hash: what each hashes, and how a file's recipe is found out."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import (
    COVERED,
    PREFERRED,
    VERSIONS,
    Row,
    bounded,
    bytes_of,
    checked,
    hashed,
    sound_rows,
    write_run,
)

import evalstream
from evalstream.formats.eee.probe import PROBED_ROWS, UNANIMOUS, _votes
from evalstream.formats.eee.sample_hash import RECIPES, matching_recipes
from evalstream.model.report import Report
from evalstream.model.text import is_hex_digest, normalise_digest

ALGORITHMS = ("sha256", "md5")
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8")),
    st.text('"\\/\b\f\n\r\t\x00\x1f\x7f\u2028\u2029é\ufeff\U0001f600{}[],: '),
)


def report_of(
    rows: list[Row],
    folder: Path,
    version: str = "0.2.0",
    library: str | None = None,
    algorithm: str | None = "sha256",
    **named: Any,
) -> Report:
    """Check some rows with the aggregate that seals them, as a harness wrote it."""
    path, aggregate = write_run(folder, bytes_of(rows), version)
    document = json.loads(aggregate.read_bytes())
    if library is not None:
        document["eval_library"] = {"name": library, "version": "1"}
    if algorithm is None:
        del document["detailed_evaluation_results"]["hash_algorithm"]
    aggregate.write_text(json.dumps(document))
    return evalstream.check(path, aggregate=aggregate, **named)


def told(report: Report) -> set[tuple[str, str]]:
    """Return what a report finds about hashes, as codes with severities."""
    return {(f.code, f.severity.label) for f in report if f.code.startswith("ES4")}


def two_references(row: Row) -> Row:
    """Return a row of 0.3.0 whose sample has two references."""
    return {**row, "input": {**row["input"], "reference": ["five", "5"]}}


@given(raw=TEXTS, references=st.lists(TEXTS, max_size=3))
@bounded(max_examples=examples(200))
@pytest.mark.parametrize("recipe", sorted(COVERED))
def test_a_recipe_hashes_what_its_definition_says(
    recipe: str, raw: str, references: list[str]
) -> None:
    assert RECIPES[recipe](raw, references) == COVERED[recipe](raw, references).encode()
    if len(references) == 1:
        assert RECIPES[recipe](raw, references[0]) == RECIPES[recipe](raw, references)


def test_the_recipes_are_those_of_the_format() -> None:
    assert list(RECIPES) == list(COVERED)


@given(raw=TEXTS, references=st.lists(TEXTS, min_size=2, max_size=3))
@bounded(max_examples=examples(100))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_recipe_is_recognised_by_what_it_made(
    algorithm: str, raw: str, references: list[str]
) -> None:
    for recipe, covered in COVERED.items():
        digest = hashlib.new(algorithm, covered(raw, references).encode()).hexdigest()
        assert recipe in matching_recipes(digest, raw, references)
        assert matching_recipes(digest, raw, references, [recipe]) == {recipe}


@each("algorithm", ALGORITHMS)
@pytest.mark.parametrize("recipe", sorted(COVERED))
@pytest.mark.parametrize("version", VERSIONS)
def test_every_recipe_verifies_what_it_made(
    tmp_path: Path, version: str, recipe: str, algorithm: str
) -> None:
    rows = sound_rows(version)
    if version == "0.3.0":
        rows = [two_references(row) for row in rows]
    rows = [hashed(row, recipe, algorithm) for row in rows]
    path, aggregate = write_run(tmp_path, bytes_of(rows), version)
    if algorithm == "md5":
        sealed = aggregate.read_text().replace('"sha256"', '"md5"')
        aggregate.write_text(_with_md5(sealed, path))
    report = evalstream.check(path, aggregate=aggregate)
    found = {code for code, _ in told(report)}
    single = version == "0.2.0" and recipe.startswith("concat")
    expected = PREFERRED[version] if single else recipe
    assert report.runs[0].recipe == expected
    assert found == (set() if expected == PREFERRED[version] else {"ES402"})
    assert report.exit_code == 0


def _with_md5(sealed: str, path: Path) -> str:
    data = path.read_bytes()
    return sealed.replace(hashlib.sha256(data).hexdigest(), hashlib.md5(data).hexdigest())


@each("recipe", sorted(COVERED))
@pytest.mark.parametrize("version", VERSIONS)
def test_a_changed_input_is_found_on_its_line(tmp_path: Path, version: str, recipe: str) -> None:
    rows = [hashed(row, recipe) for row in sound_rows(version)]
    rows[3]["input"]["raw"] += " changed"
    report = report_of(rows, tmp_path, version)
    assert [(f.line, f.pointer) for f in report if f.code == "ES401"] == [(4, "/sample_hash")]
    assert report.exit_code == 1


@given(ballots=st.lists(st.sets(st.sampled_from("abc"), max_size=2), max_size=12))
@bounded(max_examples=examples(300))
def test_votes_that_are_counted_no_more_change_nothing(ballots: list[set[str]]) -> None:
    told, every = _votes(ballots, len(ballots)), Counter(name for one in ballots for name in one)
    winners = [
        {name for name in votes if votes[name] == max(votes.values())} for votes in (told, every)
    ]
    assert winners[0] == winners[1]


def test_no_more_rows_are_read_than_settle_it() -> None:
    ballots = iter([{"a"}] * 6 + [{"b"}] * 4)
    assert _votes(ballots, 10) == {"a": 6}
    assert len(list(ballots)) == 4


def test_so_many_rows_of_one_mind_settle_it() -> None:
    assert _votes([{"a"}] * UNANIMOUS + [{"b"}] * 100, UNANIMOUS + 100) == {"a": UNANIMOUS}
    ballots = [{"b"}] + [{"a"}] * UNANIMOUS + [{"b"}] * 100
    assert _votes(ballots, len(ballots))["b"] > UNANIMOUS
    assert _votes([{"a", "b"}] * UNANIMOUS + [{"b"}], UNANIMOUS + 1)["b"] == UNANIMOUS + 1


@each("place", [0, 5, PROBED_ROWS + 20])
@pytest.mark.parametrize("recipe", ["concat", "concat-first"])
def test_one_row_with_two_references_settles_the_recipe(
    tmp_path: Path, recipe: str, place: int
) -> None:
    rows = [hashed(row, recipe) for row in sound_rows("0.3.0", PROBED_ROWS + 30)]
    rows[place] = hashed(two_references(rows[place]), recipe)
    library = "HELM" if recipe == "concat-first" else None
    report = report_of(rows, tmp_path, "0.3.0", library)
    assert report.runs[0].recipe == recipe
    assert told(report) == {("ES402", "info")}


@each("place", [0, 5, PROBED_ROWS + 20])
def test_one_reference_more_than_was_hashed_is_a_wrong_hash(tmp_path: Path, place: int) -> None:
    rows = [hashed(row, "concat") for row in sound_rows("0.3.0", PROBED_ROWS + 30)]
    rows[place]["input"]["reference"].append("also right")
    report = report_of(rows, tmp_path, "0.3.0")
    assert report.runs[0].recipe == "concat"
    (finding,) = [finding for finding in report if finding.code == "ES401"]
    assert f"concat-first (first on line {place + 1:,})" in finding.message
    assert report.counts["ES401"] == 1
    assert report.runs[0].verified.hashes == len(rows) - 1
    assert report.exit_code == 1


@pytest.mark.parametrize("count", [5, 8])
@each(
    ("library", "severity"),
    [("HELM", "info"), ("crfm-helm", "info"), (None, "warning"), ("whelmed", "warning")],
)
def test_many_rows_with_several_references_settle_the_recipe(
    tmp_path: Path, count: int, library: str | None, severity: str
) -> None:
    rows = [hashed(row, "concat-first") for row in sound_rows("0.3.0", 8)]
    rows[:count] = [hashed(two_references(row), "concat-first") for row in rows[:count]]
    report = report_of(rows, tmp_path, "0.3.0", library)
    assert report.runs[0].recipe == "concat-first"
    assert told(report) == {("ES402", severity)}
    (finding,) = [finding for finding in report if finding.code == "ES402"]
    assert "the hash does not cover references after the first" in finding.message


def test_few_rows_of_another_recipe_are_the_finding(tmp_path: Path) -> None:
    rows = [hashed(row, "concat") for row in sound_rows("0.3.0", PROBED_ROWS + 30)]
    rows[1] = hashed(two_references(rows[1]), "concat")
    rows[-1] = hashed(two_references(rows[-1]), "concat-first")
    report = report_of(rows, tmp_path, "0.3.0")
    assert report.runs[0].recipe == "concat"
    assert told(report) == {("ES401", "error"), ("ES402", "info")}
    assert report.counts["ES401"] == 1


@pytest.mark.parametrize("place", [2, PROBED_ROWS + 20])
def test_mixed_recipes_are_named_with_their_first_lines(tmp_path: Path, place: int) -> None:
    rows = sound_rows("0.3.0", 2 * place - 1)
    rows[place:] = [hashed(row, "json-str") for row in rows[place:]]
    report = report_of(rows, tmp_path, "0.3.0")
    assert report.counts.get("ES403") == place - 1
    (message,) = [finding.message for finding in report if finding.code == "ES403"]
    assert f"json-str on {place - 1:,} (first on line {place + 1:,})" in message
    assert report.runs[0].recipe is None
    assert report.exit_code == 1


def test_hashes_of_no_known_recipe_are_not_called_checked(tmp_path: Path) -> None:
    rows = sound_rows()
    for row in rows:
        row["sample_hash"] = hashlib.sha256(row["sample_id"].encode()).hexdigest()
    report = report_of(rows, tmp_path)
    assert told(report) == {("ES404", "error")}
    assert report.counts["ES404"] == len(rows)
    assert (report.exit_code, report.runs[0].recipe) == (1, None)


def test_a_known_recipe_after_the_probed_rows_still_leaves_the_others_wrong(tmp_path: Path) -> None:
    rows = sound_rows(count=PROBED_ROWS + 10)
    for row in rows[:PROBED_ROWS]:
        row["sample_hash"] = "0" * 64
    report = report_of(rows, tmp_path)
    assert report.counts.get("ES401") == PROBED_ROWS
    assert report.exit_code == 1


@each("recipe", sorted(COVERED))
def test_a_forced_recipe_judges_every_row(tmp_path: Path, recipe: str) -> None:
    rows = [hashed(two_references(row), "concat") for row in sound_rows("0.3.0")]
    report = report_of(rows, tmp_path, "0.3.0", recipe=recipe)
    assert report.counts.get("ES401", 0) == (0 if recipe == "concat" else len(rows))
    assert "ES402" not in report.counts
    assert report.runs[0].recipe == (recipe if recipe == "concat" else None)


@pytest.mark.parametrize("recipe", ["concat", "concat-first"])
def test_a_forced_recipe_is_the_one_reported(tmp_path: Path, recipe: str) -> None:
    assert report_of(sound_rows(), tmp_path, recipe=recipe).runs[0].recipe == recipe


@each("prefix", ["", "sha256:", "SHA256:"])
@pytest.mark.parametrize("capitals", [False, True])
def test_dressed_hashes_are_read_and_noticed_on(
    tmp_path: Path, capitals: bool, prefix: str
) -> None:
    rows = sound_rows()
    for row in rows[:3]:
        digest = row["sample_hash"]
        row["sample_hash"] = prefix + (digest.upper() if capitals else digest)
    report = report_of(rows, tmp_path)
    plain = not prefix and not capitals
    assert told(report) == (set() if plain else {("ES405", "warning")})
    assert report.counts.get("ES405", 0) == (0 if plain else 3)
    assert (report.exit_code, report.runs[0].recipe) == (0, "concat")


@each("digest", ["", "n/a", "0" * 63, "g" * 64, "0" * 40, "sha256:", "\uff10" * 64])
def test_what_is_no_digest_is_malformed(tmp_path: Path, digest: str) -> None:
    rows = sound_rows()
    rows[1]["sample_hash"] = digest
    report = report_of(rows, tmp_path)
    assert [(f.code, f.line) for f in report if f.code[:3] == "ES4"] == [("ES405", 2)]
    assert report.exit_code == 1


def test_a_digest_of_the_other_length_is_malformed(tmp_path: Path) -> None:
    rows = sound_rows()
    rows[1] = hashed(rows[1], "concat", "md5")
    assert ("ES405", 2) in checked(*_written(tmp_path, rows))[1]


def _written(folder: Path, rows: list[Row]) -> tuple[Path]:
    return (write_run(folder, bytes_of(rows))[0],)


@given(digest=st.text(max_size=70))
@bounded(max_examples=examples(100))
def test_a_bare_digest_stays_bare(digest: str) -> None:
    bare = normalise_digest(digest)
    assert not is_hex_digest(bare) or normalise_digest(bare) == bare


def test_rows_without_a_hash_are_counted(tmp_path: Path) -> None:
    rows = sound_rows("0.3.0")
    del rows[2]["sample_hash"]
    rows[4]["sample_hash"] = None
    some = report_of(rows, tmp_path, "0.3.0")
    assert (told(some), some.counts["ES406"]) == ({("ES406", "warning")}, 2)
    none = report_of([{**row, "sample_hash": None} for row in rows], tmp_path, "0.3.0")
    assert (told(none), none.counts["ES406"]) == ({("ES406", "warning")}, 8)
    assert "the inputs were not verified" in next(iter(none)).message
    without = [{**row, "sample_hash": None} for row in rows]
    unnamed = report_of(without, tmp_path, "0.3.0", algorithm=None)
    assert (told(unnamed), unnamed.counts["ES406"]) == ({("ES406", "info")}, 8)
    assert none.exit_code == unnamed.exit_code == 0


def test_a_reference_that_is_no_text_is_never_explained(tmp_path: Path) -> None:
    rows = sound_rows()
    rows[0]["input"]["reference"] = {rows[0]["input"]["reference"]: 1}
    report = report_of(rows, tmp_path, select=("ES2", "ES4"))
    assert [(f.code, f.line, f.pointer) for f in report] == [("ES202", 1, "/input/reference")]
