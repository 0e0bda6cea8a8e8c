"""The small reports that every report format is tested on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from evalstream.model.claim import JudgedClaim, Reason, State
from evalstream.model.exit_codes import check_exit_code
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.report import Report, Totals
from evalstream.model.rule_text import RuleText
from evalstream.model.run_summary import RunSummary, Verified
from evalstream.reporters.base import PLAIN, Reporter, ReportFormat, Style

EMPTY: Final[dict[str, Any]] = dict.fromkeys(Finding._fields)
ROWS: Final = "zwölf/run.jsonl"
AGGREGATE: Final = "zwölf/aggregate.json"

STORE: Final = "data/made_up_benchmark/acme-research/acorn-7b-instruct"
STEM: Final = "0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57"
LONG_ROWS: Final = f"{STORE}/{STEM}_samples.jsonl"
LONG_AGGREGATE: Final = f"{STORE}/{STEM}.json"
"""A pair with paths as real ones have."""

MANY: Final = 10_000
"""How many findings the largest report has."""


def finding(code: str, name: str, severity: Severity, message: str, **details: Any) -> Finding:
    """Make a finding; what is not given is absent."""
    given = {"file": ROWS, **details}
    return Finding(
        **EMPTY | given | {"code": code, "name": name, "severity": severity, "message": message}
    )


SYNTAX: Final = finding(
    "ES103",
    "invalid-json",
    Severity.ERROR,
    "expecting value at column 9 (byte 9)",
    line=2,
    offset=940,
    found=Excerpt('{"é": 1,x}', 8),
)
TYPE: Final = finding(
    "ES202",
    "wrong-type",
    Severity.ERROR,
    "string where boolean or number is expected",
    line=3,
    offset=1000,
    pointer="/evaluation/score",
    keyword="type",
    expected={"type": ["boolean", "number"]},
    found="0.5",
    sample_id="arith-003",
)
ABSENT: Final = finding(
    "ES406", "hash-absent", Severity.WARNING, "some rows lack sample_hash", count=1234
)
CHECKSUM: Final = finding(
    "ES501",
    "checksum-mismatch",
    Severity.ERROR,
    "50% gone: 1, 2",
    file=AGGREGATE,
    line=12,
    column=17,
    pointer="/detailed_evaluation_results/checksum",
    expected="00ff",
    found="11ee",
)
NOTICE: Final = finding(
    "ES508", "weak-algorithm", Severity.INFO, "md5 finds accidents", file=AGGREGATE, found="md5"
)
FINDINGS: Final = [SYNTAX, TYPE, ABSENT, CHECKSUM, NOTICE]
RULES: Final = {
    "ES202": RuleText("wrong-type", "a value of another type", "Write “6” as a number.", "…"),
    "ES103": RuleText("invalid-json", "a line that is not valid JSON", "", "…"),
    "ES204": RuleText(
        "null-for-absent", "null instead of no field", "Leave the field out instead.", "…"
    ),
}
"""The texts of some rules; ES103 does not say how to fix what it finds."""


def claim(
    label: str,
    claimed: Any,
    recomputed: Any,
    state: State = State.CONFIRMED,
    reason: str | None = None,
    *,
    number: int = 0,
    kind: str = "mean",
    rows: int = 8,
    is_score: bool = True,
) -> JudgedClaim:
    """Make a claim of the result with a number, about its score unless its kind is another."""
    member = "score_details/score" if is_score else kind
    pointer = f"/evaluation_results/{number}/{member}"
    return JudgedClaim(pointer, label, kind, claimed, recomputed, state, reason, rows, is_score)


def failed_run() -> RunSummary:
    """Return the run that FINDINGS are about; three more of ES202 are not shown."""
    return RunSummary(
        file=ROWS,
        aggregate=AGGREGATE,
        format="eee",
        version="0.2.0",
        rows=2345,
        verdict="failed",
        algorithm="sha256",
        declared="00ff",
        actual="11ee",
        recipe="concat",
        counts={"ES508": 1, "ES406": 1234, "ES202": 4, "ES103": 1, "ES501": 1},
        seconds=1.23456,
        bytes=9876,
        severities={Severity.ERROR: 6, Severity.WARNING: 1234, Severity.INFO: 1},
        claims=[
            claim("größe", 0.75, 0.8125, State.REFUTED, number=0, rows=10),
            claim("samples of größe", 5, 5, kind="count", rows=10, is_score=False),
            claim("recall", 0.3, None, State.OPEN, Reason.UNJOINED.value, number=1, rows=0),
            claim("precision", 0.5, None, State.OPEN, Reason.UNJOINED.value, number=2, rows=0),
        ],
        verified=Verified(False, True, 1111, 2345),
        ignored=("ES7", "ES801"),
    )


def empty_run() -> RunSummary:
    """Return a run in which there was nothing to check."""
    return RunSummary(
        file="nichts", aggregate=None, format="eee", incomplete_reason="nothing to check: no rows"
    )


def sound_run(file: str = LONG_ROWS, aggregate: str = LONG_AGGREGATE) -> RunSummary:
    """Return a run in which everything was verified."""
    return RunSummary(
        file=file,
        aggregate=aggregate,
        format="eee",
        version="0.3.0",
        rows=8,
        verdict="passed",
        algorithm="sha256",
        declared="ab",
        actual="ab",
        recipe="concat",
        bytes=8052,
        claims=[
            claim("accuracy", 0.75, 0.75),
            claim("accuracy of arc", 0.8, 0.75, State.ROUNDED, number=1),
        ],
        verified=Verified(True, True, 8, 8),
    )


def null_findings() -> Iterator[Finding]:
    """Iterate over 10,000 equal findings in 2,500 rows, as older converters cause them."""
    for number in range(MANY):
        line, index = 1 + number // 4, number % 4
        yield finding(
            "ES204",
            "null-for-absent",
            Severity.ERROR,
            "null in 0.2.0; leave the field out or set a value",
            file=LONG_ROWS,
            line=line,
            offset=1000 * line,
            pointer=f"/interactions/{index * 4}/tool_call_id",
            sample_id=f"made-up-{line}",
        )


NULL_FINDINGS: Final = tuple(null_findings())


def null_run() -> RunSummary:
    """Return the run of `null_findings`."""
    run = RunSummary(LONG_ROWS, LONG_AGGREGATE, "eee", version="0.2.0", rows=2500, verdict="failed")
    run.verified = Verified(None, None, 2500, 2500)
    run.recipe = "concat"
    run.count("ES204", Severity.ERROR, MANY)
    return run


def several_formats() -> list[RunSummary]:
    """Return runs of every format, rows from standard input among them."""
    streamed = RunSummary("-", None, "eee", version="0.2.0", rows=3, verdict="unconfirmed")
    streamed.verified, streamed.recipe = Verified(None, None, 3, 3), "concat"
    streamed.count("ES506", Severity.WARNING, 1)
    evaluation = RunSummary(
        "größe/evaluation.json", "größe/benchmark.json", "infereval", version="0.17", rows=12
    )
    evaluation.verdict, evaluation.noun = "failed", "item"
    evaluation.count("INF201", Severity.ERROR, 1)
    log = RunSummary("log.jsonl", "output.json", "harpia", inputs="input.json", rows=4)
    log.verdict = "passed"
    report = RunSummary("reports/acorn-7b.yaml", None, "evalguard", rows=2, verdict="passed")
    return [sound_run(), streamed, evaluation, log, report]


def every_verdict() -> list[RunSummary]:
    """Return a run of each verdict; of the failed ones, one has refuted claims."""
    unjoined, trial = Reason.UNJOINED.value, "by trial: no row names its result"
    refuted = RunSummary("refuted.jsonl", "refuted.json", "eee", rows=8, verdict="failed")
    refuted.count("ES801", Severity.ERROR, 2)
    refuted.claims = [
        claim("accuracy", 0.05, 0.75, State.REFUTED),
        claim("interval", {"lower": 0.1, "upper": 0.2}, None, number=1, is_score=False),
        claim("perplexity", 0.5, None, State.REFUTED, number=2),
        claim("mean of `a`", 0.75, 0.75, State.CONFIRMED, trial, number=3),
    ]
    broken = RunSummary("broken.jsonl", None, "eee", rows=8, verdict="failed")
    broken.count("ES103", Severity.ERROR, 1)
    unconfirmed = RunSummary("open.jsonl", "open.json", "eee", rows=8, verdict="unconfirmed")
    unconfirmed.count("ES805", Severity.WARNING, 1)
    unconfirmed.claims = [
        *(claim(f"task {n}", n / 16, None, State.OPEN, unjoined, number=n) for n in range(16)),
        claim("task 16", 0.5, 0.25, State.OPEN, Reason.MISSING.value, number=16, rows=4),
        claim("samples", 8, 8, number=16, kind="count", is_score=False),
    ]
    return [sound_run("sound.jsonl", "sound.json"), empty_run(), broken, unconfirmed, refuted]


UNSEALED: Final = finding("ES506", "unsealed", Severity.WARNING, "no aggregate was given", file="-")
DESIGN: Final = finding(
    "INF201",
    "unknown-item",
    Severity.ERROR,
    "the benchmark does not have this item",
    file="größe/evaluation.json",
    pointer="/items/10/id",
    found="ü-10",
)


class Case(NamedTuple):
    """A report: its findings in their order, and its runs."""

    findings: Iterable[Finding]
    runs: list[RunSummary]

    def report(self) -> Report:
        """Return the outcome."""
        totals = Totals()
        for run in self.runs:
            totals.add(run)
        findings = list(self.findings)
        code = int(check_exit_code(totals))
        return Report(self.runs, findings, len(findings), code, totals, RULES)


def cases() -> dict[str, Case]:
    """Return the reports by name."""
    return {
        "nothing": Case([], []),
        "empty": Case([], [empty_run()]),
        "passed": Case([], [sound_run()]),
        "failed": Case(FINDINGS, [failed_run(), empty_run()]),
        "many": Case(NULL_FINDINGS, [null_run()]),
        "verdicts": Case([], every_verdict()),
        "several-formats": Case([UNSEALED, DESIGN], several_formats()),
    }


def render(reporter: ReportFormat[Reporter], case: Case, style: Style = PLAIN) -> str:
    """Return what a reporter writes of a report."""
    written: list[bytes] = []

    class Collected:
        def write(self, data: str | bytes, /) -> None:
            written.append(data.encode() if isinstance(data, str) else data)

    report = case.report()
    writer = reporter(Collected(), style)
    for one in case.findings:
        writer.finding(one)
    writer.finish(report)
    return b"".join(written).decode()
