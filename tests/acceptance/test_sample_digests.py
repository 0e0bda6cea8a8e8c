"""Digests of samples and answers: what writes them, and what another copy is held against."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from edits import apply, apply_case
from paths import EXAMPLES, PAIRS

import evalstream
from evalstream.model.finding import Severity

SUBMISSION = EXAMPLES / "swe_bench" / "submission"

LINE = re.compile(r"[0-9a-f]{32} [0-9a-f]{32}\n")


def written(folder: Path, script: str = "file unchanged") -> tuple[Any, Path]:
    """Return a case in a folder, and the digests of its samples."""
    (folder / "run").mkdir()
    case = apply(script, folder / "run")
    path = folder / "digests"
    case.check(sample_digests=str(path))
    return case, path


def messages(report: evalstream.Report) -> list[str]:
    return [one.message for one in report if one.code == "ES012"]


def rewrite(path: Path, edit: Callable[[list[dict[str, Any]]], object]) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    edit(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_each_sample_has_a_line_in_the_order_of_the_input(tmp_path: Path) -> None:
    case, path = written(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    assert len({*lines}) == 8
    assert all(map(LINE.fullmatch, lines))
    rewrite(case.rows, lambda rows: rows.reverse())
    case.check(sample_digests=str(path))
    assert path.read_text().splitlines(keepends=True) == lines[::-1]


EDITS: dict[str, tuple[Callable[[list[dict[str, Any]]], object], list[str]]] = {
    "nothing": (lambda _rows: None, []),
    "order": (lambda rows: rows.reverse(), []),
    "another id of the run": (lambda rows: [row.update(model_id="x/y") for row in rows], []),
    "answer": (
        lambda rows: rows[1]["output"].update(raw="so"),
        ["1 sample with another content than expected (the first on line 2)"],
    ),
    "score": (
        lambda rows: [row["evaluation"].update(score=0.5) for row in rows[4:6]],
        ["2 samples with another content than expected (the first on line 5)"],
    ),
    "extracted value": (
        lambda rows: rows[2]["answer_attribution"][0].update(extracted_value="8"),
        ["1 sample with another content than expected (the first on line 3)"],
    ),
    "usage": (
        lambda rows: rows[0]["token_usage"].update(output_tokens=1),
        ["1 sample with another content than expected (the first on line 1)"],
    ),
    "error": (
        lambda rows: rows[0].update(error="timed out"),
        ["1 sample with another content than expected (the first on line 1)"],
    ),
    "input": (
        lambda rows: rows[7]["input"].update(raw="Another?"),
        ["1 sample with another content than expected (the first on line 8)"],
    ),
    "null for absent": (lambda rows: [row.update(error=None) for row in rows[:1]], []),
    "removed": (lambda rows: rows.pop(3), ["1 expected sample missing"]),
    "added": (
        lambda rows: rows.append({**rows[0], "sample_id": "new"}),
        ["1 sample not among the expected ones (the first on line 9)"],
    ),
    "repeated": (
        lambda rows: rows.append(rows[0]),
        ["1 sample not among the expected ones (the first on line 9)"],
    ),
    "renamed": (
        lambda rows: rows[0].update(sample_id="new"),
        ["1 expected sample missing", "1 sample not among the expected ones (the first on line 1)"],
    ),
}


@each("name", EDITS)
def test_another_copy_is_held_against_the_digests(name: str, tmp_path: Path) -> None:
    case, path = written(tmp_path)
    edit, said = EDITS[name]
    rewrite(case.rows, edit)
    report = case.check(expect_digests=str(path), select="ES012")
    assert messages(report) == said
    assert report.exit_code == (1 if said else 0)


def compared(report: evalstream.Report) -> list[tuple[str, bool | None]]:
    """Return what the verdict says of digests and expected samples."""
    checked = (part for run in report.runs for part in run.checked)
    return [(one.text, one.is_ok) for one in checked if "sample" in one.text]


def test_the_verdict_says_what_was_compared(tmp_path: Path) -> None:
    case, path = written(tmp_path)
    ids = tmp_path / "ids"
    rows = [json.loads(line) for line in case.rows.read_text().splitlines()]
    ids.write_text("".join(f"{row['sample_id']}\n" for row in rows))
    written_again = case.check(sample_digests=str(tmp_path / "again"), expect_ids=str(ids))
    assert compared(written_again) == [
        ("8 of 8 expected samples scored", True),
        ("8 sample digests written", True),
    ]
    assert compared(case.check(expect_digests=str(path))) == [
        ("8 of 8 sample digests as expected", True)
    ]
    assert compared(case.check()) == []
    rewrite(case.rows, lambda rows: rows.pop())
    report = case.check(expect_digests=str(path), expect_ids=str(ids))
    assert compared(report) == [
        ("7 of 8 expected samples scored", False),
        ("7 of 8 sample digests as expected", False),
    ]


def test_the_last_of_two_digests_of_a_sample_hides_no_other(tmp_path: Path) -> None:
    case, path = written(tmp_path)
    first, *others = path.read_text().splitlines(keepends=True)
    other = f"{first[:33]}{others[0][33:]}"
    for lines in ((first, first), (other, first), (first, other)):
        path.write_text("".join((*lines, *others)))
        found = messages(case.check(expect_digests=str(path)))
        assert len(found) == len({*lines}) - 1


def test_repeats_of_a_sample_have_digests_of_their_own(tmp_path: Path) -> None:
    script = 'row 1 repeated\nrow 2 /output/raw = "so"\nrow 2 /metadata/epoch = 2'
    case, path = written(tmp_path, script)
    lines = path.read_text().splitlines()
    assert len({line.split()[0] for line in lines}) == 9
    rewrite(case.rows, lambda rows: rows[1]["output"].update(raw="so so"))
    report = case.check(expect_digests=str(path), select="ES012")
    assert messages(report) == ["1 sample with another content than expected (the first on line 2)"]


@pytest.mark.parametrize("code", ["LME301", "HAR202", "INF301"])
def test_every_format_has_digests(code: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    case = apply_case(code, "good", tmp_path / "run")
    rows = next(iter((tmp_path / "run").rglob("samples_*")), case.rows)
    beside = None if rows != case.rows else case.aggregate
    path = tmp_path / "digests"
    options = {**case.options, "aggregate": beside}
    evalstream.check(rows, sample_digests=str(path), **options)
    lines = path.read_text().splitlines(keepends=True)
    assert len({*lines}) > 1
    assert all(map(LINE.fullmatch, lines))
    assert not messages(evalstream.check(rows, expect_digests=str(path), **options))
    path.write_text("".join(lines[1:]))
    (message,) = messages(evalstream.check(rows, expect_digests=str(path), **options))
    assert message.startswith("1 sample not among the expected ones")


def test_rows_without_a_digest_are_an_error(tmp_path: Path) -> None:
    case, path = written(tmp_path)
    with case.rows.open("a") as file:
        file.write('{"torn": ')
    report = case.check(sample_digests=str(path))
    assert messages(report) == ["1 row has no digest: it cannot be read, or has no sample id"]
    case.rows.write_text(case.rows.read_text().partition('{"torn')[0])
    rewrite(case.rows, lambda rows: [row.pop("sample_id") for row in rows[:2]])
    report = case.check(expect_digests=str(path))
    assert messages(report)[0] == "2 rows have no digest: they cannot be read, or have no sample id"


def test_no_digests_are_written_of_an_incomplete_check(tmp_path: Path) -> None:
    case, path = written(tmp_path)
    before = path.read_text()
    packed = tmp_path / "run" / "run.jsonl.gz"
    packed.write_bytes(gzip.compress(case.rows.read_bytes())[:-20])
    report = evalstream.check(packed, sample_digests=str(path))
    found = [one for one in report if one.code == "ES012"]
    assert path.read_text() == before
    assert [one.severity for one in found] == [Severity.WARNING]
    assert report.runs[0].verdict != "passed"


@pytest.mark.parametrize("text", ["", "a b\n", "0" * 32 + "\n"])
def test_a_file_without_digests_is_wrong_usage(text: str, tmp_path: Path) -> None:
    case, path = written(tmp_path)
    path.write_text(text)
    with pytest.raises(evalstream.UsageError, match=r"expect_digests .*digests"):
        case.check(expect_digests=str(path))
    with pytest.raises(evalstream.UsageError, match="expect_digests"):
        case.check(expect_digests=str(tmp_path / "nothing"))


def test_another_file_is_not_replaced(tmp_path: Path) -> None:
    case, path = written(tmp_path)
    path.write_text("notes\n")
    with pytest.raises(evalstream.UsageError, match="digests"):
        case.check(sample_digests=str(path))
    assert path.read_text() == "notes\n"
    with pytest.raises(evalstream.UsageError):
        case.check(sample_digests=str(case.rows))
    with pytest.raises(evalstream.CannotWrite, match=r"nowhere.*cannot be written: No such file"):
        case.check(sample_digests=str(tmp_path / "nowhere" / "digests"))


def test_digests_are_of_one_run_in_files(tmp_path: Path) -> None:
    for option in ("sample_digests", "expect_digests"):
        with pytest.raises(evalstream.UsageError, match="exactly one run"):
            evalstream.check(PAIRS, **{option: str(tmp_path / "digests")})
        with pytest.raises(evalstream.UsageError, match="ledger"):
            evalstream.check(
                EXAMPLES / "run.jsonl",
                ledger=tmp_path / "ledger",
                **{option: str(tmp_path / "digests")},
            )


@pytest.mark.parametrize("option", ["sample_digests", "expect_digests"])
def test_digests_need_answers_that_are_read_again(option: str, tmp_path: Path) -> None:
    path = tmp_path / "digests"
    with pytest.raises(evalstream.UsageError, match=r"swe_bench: .* compare checksums"):
        evalstream.check(SUBMISSION, **{option: str(path)})
    assert not path.exists()


def test_a_submission_is_held_against_ids_although_it_has_no_digests(tmp_path: Path) -> None:
    ids = tmp_path / "ids"
    ids.write_text("acme__widgets-1\n")
    report = evalstream.check(SUBMISSION, expect_ids=str(ids))
    assert {one.code for one in report if one.code in ("ES011", "ES012")} == {"ES011"}
