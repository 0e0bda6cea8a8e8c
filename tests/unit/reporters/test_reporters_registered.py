"""What every registered reporter must do, on the same small reports."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from comparison_fixture import flip, report, written
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.cli.command import load_command, option_flags
from evalstream.io.output import Output
from evalstream.reporters import (
    COMPARISON_REPORTERS,
    REPORTERS,
    comparison_type,
    is_comparison,
    is_report,
    reporter_type,
)

every_reporter = pytest.mark.parametrize("name", REPORTERS)


@pytest.fixture
def checked(tmp_path: Path) -> Callable[[str, Path], bytes]:
    """Check an input and return the bytes of the report."""

    def write(name: str, path: Path) -> bytes:
        place = tmp_path / "report"
        with Output(str(place)) as output:
            evalstream.check(path, reporter=reporter_type(name)(output))
        return place.read_bytes()

    return write


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    """Return valid rows, rows with an error, an empty file and a file that is missing."""
    valid = (EXAMPLES / "run.jsonl").read_bytes()
    texts = {"valid": valid, "zwölf": valid + b"{\n", "empty": b""}
    for name, text in texts.items():
        (tmp_path / f"{name}.jsonl").write_bytes(text)
    return {name: tmp_path / f"{name}.jsonl" for name in (*texts, "missing")}


@every_reporter
@each("which", ["valid", "zwölf", "empty", "missing"])
def test_a_report_is_text_that_its_reporter_recognises(
    name: str, which: str, checked: Callable[[str, Path], bytes], inputs: dict[str, Path]
) -> None:
    report = checked(name, inputs[which])
    assert report.decode().endswith("\n")
    assert reporter_type(name).wrote(report)


@every_reporter
def test_a_finding_is_shown_with_its_code_and_file(
    name: str, checked: Callable[[str, Path], bytes], inputs: dict[str, Path]
) -> None:
    report = checked(name, inputs["zwölf"]).decode()
    assert "ES103" in report
    assert "zwölf.jsonl" in report or json.dumps("zwölf.jsonl")[1:-1] in report


@every_reporter
def test_a_reporter_refuses_files_of_others(name: str) -> None:
    wrote = reporter_type(name).wrote
    for path in ("run.jsonl", "aggregate.json"):
        assert not wrote((EXAMPLES / path).read_bytes())


@each("name", COMPARISON_REPORTERS)
def test_formats_of_comparisons_recognise_their_reports(name: str) -> None:
    shown = written(name, report(), [flip()]).encode()
    assert comparison_type(name).wrote(shown)
    assert is_comparison(shown)
    for path in ("run.jsonl", "aggregate.json"):
        other = (EXAMPLES / path).read_bytes()
        assert not comparison_type(name).wrote(other)
        assert not is_report(other)


@pytest.mark.parametrize(
    ("command", "names"), [("check", REPORTERS), ("compare", COMPARISON_REPORTERS)]
)
def test_every_registered_format_can_be_chosen(command: str, names: Mapping[str, str]) -> None:
    (option,) = [one for one in load_command(command).options if "--format" in option_flags(one)]
    assert option.text.choices == tuple(names)


@each(
    ("name", "sign"),
    [
        ("junit", '<failure message="strict demands that a score and every claim are confirmed'),
        ("sarif", 'strict demands that a score and every claim are confirmed"},"level":"error"'),
        ("eee", '"valid": false'),
        ("html", "fails the check, but strict demands that a score and every claim are confirmed"),
    ],
)
def test_an_unconfirmed_run_fails_a_strict_check_in_every_report(
    name: str, sign: str, tmp_path: Path, inputs: dict[str, Path]
) -> None:
    place = tmp_path / "report"
    with Output(str(place)) as output:
        checked = evalstream.check(
            inputs["valid"],
            reporter=reporter_type(name)(output),
            strict=True,
            ignore=["ES506", "ES805"],
        )
    assert (checked.exit_code, checked.counts) == (1, {})
    assert sign in place.read_text()
