"""What every registered reporter must do, on the same small reports."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from paths import EXAMPLES

import evalstream
from evalstream.io.output import Output
from evalstream.reporters import REPORTERS, reporter_type

every_reporter = pytest.mark.parametrize("name", REPORTERS)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, Path], bytes]:
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
@pytest.mark.parametrize("which", ["valid", "zwölf", "empty", "missing"])
def test_a_report_is_text_that_its_reporter_recognises(
    name: str, which: str, written: Callable[[str, Path], bytes], inputs: dict[str, Path]
) -> None:
    report = written(name, inputs[which])
    assert report.decode().endswith("\n")
    assert reporter_type(name).wrote(report)


@every_reporter
def test_a_finding_is_shown_with_its_code_and_file(
    name: str, written: Callable[[str, Path], bytes], inputs: dict[str, Path]
) -> None:
    report = written(name, inputs["zwölf"]).decode()
    assert "ES103" in report
    assert "zwölf.jsonl" in report or json.dumps("zwölf.jsonl")[1:-1] in report


@every_reporter
def test_a_reporter_refuses_files_of_others(name: str) -> None:
    wrote = reporter_type(name).wrote
    for path in ("run.jsonl", "aggregate.json"):
        assert not wrote((EXAMPLES / path).read_bytes())
