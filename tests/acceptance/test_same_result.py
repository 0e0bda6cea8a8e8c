"""Results that two runs name in two ways are compared where the user says that they are one."""

import json
import shutil
from pathlib import Path

import pytest
from each import each

import evalstream
from evalstream.model.comparison import CompareVerdict
from evalstream.model.errors import UsageError

TWO = Path(__file__).parents[2] / "examples" / "compare" / "data" / "tiny_sums" / "acme"
A = TWO / "acorn-7b"


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    """Copy the second run with another name of its first result, in rows and aggregate."""
    copied = tmp_path / "acorn-3b"
    shutil.copytree(TWO / "acorn-3b", copied)
    for path in copied.iterdir():
        path.write_text(path.read_text().replace("tiny_sums", "tiny_sums_all"))
    (aggregate,) = copied.glob("*.json")
    document = json.loads(aggregate.read_text())
    document.pop("detailed_evaluation_results")
    aggregate.write_text(json.dumps(document))
    return copied


@pytest.mark.parametrize("name", ["tiny_sums", "tiny_sums / exact"])
def test_two_names_are_one_result(renamed: Path, name: str) -> None:
    report = evalstream.compare(
        [A, renamed], verify=False, same_result=f"{name}=tiny_sums_all / exact"
    )
    first, _ = report.comparisons
    assert (first.metric.label, first.verdict) == ("tiny_sums / exact", CompareVerdict.SIGNIFICANT)
    assert f"; {name}=tiny_sums_all / exact is one result (--same-result)" in report.first_line
    assert report.unmatched_results == []


def test_without_it_they_are_listed_and_not_compared(renamed: Path) -> None:
    report = evalstream.compare([A, renamed], verify=False)
    assert [one.metric.label for one in report.comparisons] == ["tiny_products / closeness"]
    assert len(report.unmatched_results) == 2
    assert "--same-result" not in report.first_line
    gated = evalstream.compare([A, renamed], verify=False, fail_if="overlap")
    assert (gated.failed_on, gated.exit_code) == (["overlap"], 1)


@each(
    ("text", "reason"),
    [
        ("tiny_sums", "the form A=B"),
        ("tiny_sums=another", "no run has another"),
        ("another=tiny_sums", "no run has another"),
        ("tiny_sums=tiny_products", "a run has both"),
    ],
)
def test_names_that_make_no_sense_are_wrong_usage(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        evalstream.compare([A, TWO / "acorn-3b"], same_result=text)


def test_a_matrix_has_no_results() -> None:
    with pytest.raises(UsageError, match="same_result"):
        evalstream.compare([A], matrix=True, same_result="a=b")
