"""Write the page of a made-up run, and take the picture of it that the documentation shows.

    python scripts/html_example.py PAGE.html [PICTURE.png]

The picture needs Chromium. The figures are drawn by a generator with a fixed seed; no evaluation
has them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from evalstream.formats.registry import CATALOGUE
from evalstream.io.output import Output
from evalstream.model.claim import JudgedClaim, State
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report, Totals
from evalstream.model.run_summary import RunSummary, Verified
from evalstream.model.sketch import Histogram, Sketch, Strip
from evalstream.reporters.html import HtmlReporter

ROWS = "data/word_sums/acme/acorn-7b/5b7e0c1a_samples.jsonl"
AGGREGATE = "data/word_sums/acme/acorn-7b/5b7e0c1a.json"
COLUMNS, LINES = 180, 64
COUNT = COLUMNS * LINES
BAD_SHARD = range(92, 104)
DIGESTS = ("9f2d6a1c" * 8, "41b7e05d" * 8)


def sketch(draw: Random) -> Sketch:
    """Return the sketch of rows that drift, with a shard that was spoilt and a torn tail."""
    scored = tuple(LINES for _ in range(COLUMNS))
    scores = tuple(
        float(
            sum(
                draw.random() < (0.05 if place in BAD_SHARD else 0.86 - place / 900)
                for _ in range(LINES)
            )
        )
        for place in range(COLUMNS)
    )
    errors = tuple(
        1 if place == COLUMNS - 1 else draw.randint(3, 9) if place in BAD_SHARD else 0
        for place in range(COLUMNS)
    )
    warnings = tuple(0 for _ in range(COLUMNS))
    infos = tuple(draw.choice((0, 0, 1)) if place > 120 else 0 for place in range(COLUMNS))
    strip = Strip(LINES, scored, scored, scores, errors, warnings, infos, COUNT)
    right = int(sum(scores))
    return Sketch(
        strip,
        Histogram("linear", 0.05, 0, (COUNT - right, *[0] * 19, right)),
        {
            "input": Histogram("log", 2**0.25, 26, _hill(draw, 16)),
            "output": Histogram("log", 2**0.25, 8, _hill(draw, 28), 37),
        },
        Histogram("log", 2**0.25, 34, _hill(draw, 22)),
    )


def _hill(draw: Random, bins: int) -> tuple[int, ...]:
    """Return the counts of values that lie around the middle."""
    counts = [0] * bins
    for _ in range(COUNT):
        counts[min(bins - 1, max(0, int(draw.gauss(bins * 0.45, bins / 7))))] += 1
    return tuple(counts)


def findings() -> list[Finding]:
    """Return a few findings."""
    said = []
    for number in range(12):
        line = BAD_SHARD.start * LINES + 7 + 11 * number
        said.append(
            _finding("ES401", "the sample_hash does not match the input and reference", line)
        )
    pointer = "/detailed_evaluation_results/checksum"
    checksum = _finding("ES501", "the checksum does not match the rows", None, AGGREGATE)
    said.append(checksum._replace(pointer=pointer, expected=DIGESTS[1], found=DIGESTS[0]))
    score = _finding(
        "ES801", f"the mean of the scores of {COUNT:,} rows is not the claim", None, AGGREGATE
    )
    pointer = "/evaluation_results/0/score_details/score"
    said.append(score._replace(pointer=pointer, expected=0.7048, found=0.7631))
    return said


def _finding(code: str, message: str, line: int | None, file: str = ROWS) -> Finding:
    rule = CATALOGUE[code]
    return Finding(
        code,
        rule.name,
        rule.severity,
        file,
        line,
        None,
        None,
        None,
        None,
        message,
        None,
        None,
        None,
        None,
    )


def _claims(number: int, name: str, *figures: tuple[float, float, State]) -> Iterator[JudgedClaim]:
    """Iterate over the claims of a result: its score, standard deviation and standard error."""
    kinds = ("mean", "standard deviation", "standard error")
    members = ("score", "uncertainty/standard_deviation", "uncertainty/standard_error/value")
    for kind, member, (claimed, recomputed, state) in zip(kinds, members, figures, strict=True):
        pointer = f"/evaluation_results/{number}/score_details/{member}"
        is_score = kind == "mean"
        label = name if is_score else f"{name}: {kind}"
        yield JudgedClaim(
            pointer, label, kind, claimed, recomputed, state, None, COUNT, is_score=is_score
        )


def report(found: list[Finding]) -> Report:
    """Return the report of the made-up run."""
    drawn = sketch(Random(7))
    bad = sum(drawn.strip.errors)
    counts = {"ES401": bad, "ES402": sum(drawn.strip.infos), "ES501": 1, "ES801": 1, "ES803": 2}
    severities = {Severity.ERROR: bad + 4, Severity.INFO: counts["ES402"]}
    verified = Verified(False, True, COUNT - bad, COUNT)
    run = RunSummary(ROWS, AGGREGATE, "eee", version="0.3.0", rows=COUNT, verdict="failed")
    run.algorithm, (run.declared, run.actual), run.covers = "sha256", DIGESTS, "stored"
    run.recipe, run.bytes, run.verified = "json-str", 21_482_117, verified
    run.counts, run.severities, run.sketch = counts, severities, drawn
    refuted, rounded, confirmed = State.REFUTED, State.ROUNDED, State.CONFIRMED
    scores = ((0.7631, 0.7048, refuted), (0.4252, 0.45614, refuted), (0.00396, 0.00425, refuted))
    ratios = ((0.98, 0.98104, rounded), (0.113, 0.11297, confirmed), (0.00105, 0.00105, confirmed))
    run.claims = [*_claims(0, "exact_match", *scores), *_claims(1, "length_ratio", *ratios)]
    totals = Totals()
    totals.add(run)
    texts = {code: CATALOGUE[code].text() for code in counts}
    return Report([run], found, len(found), 1, totals, texts, options={"recipe": "json-str"})


def write(path: str) -> None:
    """Write the page."""
    found = findings()
    with Output(path) as output:
        reporter = HtmlReporter(output)
        for finding in found:
            reporter.finding(finding)
        reporter.finish(report(found))


def photograph(page: str, picture: str) -> None:
    """Take a picture of the beginning of a page."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed")
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                chromium,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-sync",
                "--disable-component-update",
                f"--user-data-dir={profile}",
                "--window-size=1050,1330",
                "--force-device-scale-factor=0.7",
                f"--screenshot={picture}",
                Path(page).resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )


if __name__ == "__main__":
    write(sys.argv[1])
    if len(sys.argv) > 2:
        photograph(*sys.argv[1:3])
