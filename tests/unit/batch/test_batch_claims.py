"""Claims of many runs: verdicts, exit codes, and what ledgers, parts and stored reports keep."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from rows import bytes_of, sound_rows, write_run

import evalstream
from evalstream.api.check import merge
from evalstream.io.output import Output
from evalstream.model.report import Report
from evalstream.reporters.jsonl import JsonLinesReporter

VERDICTS: Final = {"data/open": "unconfirmed", "data/refuted": "failed", "data/sound": "passed"}
"""The runs of the folder, in their order, and the verdict of each."""

IGNORED: Final = ["ES9"]
"""The runs share their ids, which is not the subject here."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a run whose score is true, one whose score is false, and rows without an aggregate."""
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(VERDICTS):
        place = Path(name)
        place.mkdir(parents=True)
        rows, aggregate = write_run(place, bytes_of(sound_rows(count=8 + number)))
        document = json.loads(aggregate.read_text())
        scores = [row["evaluation"]["score"] for row in sound_rows(count=8 + number)]
        claimed = 0.05 if name == "data/refuted" else sum(scores) / len(scores)
        document["evaluation_results"][0]["score_details"] = {"score": claimed}
        aggregate.write_text(json.dumps(document))
        if name == "data/open":
            aggregate.unlink()
            rows.rename(place / "run.jsonl")
    return Path("data")


def claims_of(report: Report) -> list[Any]:
    """Return verdict, exit code, claims and totals: what may not change on the way."""
    runs = [(run.verdict, run.claims) for run in report.runs]
    totals = report.totals
    return [runs, totals.verdicts, totals.claims, totals.refuted_runs, report.exit_code]


def part(shard: str) -> str:
    """Check a shard, and return its part."""
    path = f"{shard[0]}.part"
    with Output(path) as output:
        evalstream.check(
            "data", ignore=IGNORED, shard=shard, reporter=evalstream.PartReporter(output)
        )
    return path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("names", "code", "strict_code"),
    [
        (["data/sound"], 0, 0),
        (["data/open"], 0, 1),
        (["data/open", "data/sound"], 0, 1),
        (["data/refuted"], 1, 1),
        (list(VERDICTS), 1, 1),
    ],
)
def test_an_unconfirmed_run_fails_where_warnings_do(
    names: list[str], code: int, strict_code: int
) -> None:
    report = evalstream.check(names, ignore=IGNORED)
    assert [run.verdict for run in report.runs] == [VERDICTS[name] for name in names]
    assert report.exit_code == code
    assert evalstream.check(names, ignore=IGNORED, strict=True).exit_code == strict_code


def test_claims_survive_a_ledger_parts_and_a_stored_report(folder: Path) -> None:
    with Output("report.jsonl") as output:
        report = evalstream.check(
            folder, ignore=IGNORED, ledger="ledger", reporter=JsonLinesReporter(output)
        )
    expected = claims_of(report)
    assert expected[1:4] == [
        {"unconfirmed": 1, "failed": 1, "passed": 1},
        {"confirmed": 1, "rounded": 0, "refuted": 1, "open": 0},
        1,
    ]
    again = evalstream.check(folder, ignore=IGNORED, ledger="ledger")
    assert again.totals.unchanged == 3
    merged = merge([part("1/2"), part("2/2")])
    for other in (again, merged, evalstream.read_report("report.jsonl")):
        assert claims_of(other) == expected
