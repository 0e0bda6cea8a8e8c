"""Verdicts of upstream's validator beside ours, and the classes of their disagreements."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from upstream import said_of

import evalstream
from evalstream.model.finding import Severity

BOTH_REFUSE, BOTH_ACCEPT = "both refuse", "both accept"


class Verdicts(NamedTuple):
    """What both say of a run or document: our errors, what upstream refuses it for, its bytes."""

    codes: frozenset[str]
    refusals: tuple[tuple[str, str], ...]
    data: bytes

    @property
    def refused(self) -> bool:
        """Whether upstream's gate refuses it, for an error or a warning."""
        return bool(self.refusals)


class Class(NamedTuple):
    """A kind of disagreement: who refuses, and what it is like."""

    ours_refuses: bool
    holds: Callable[[Verdicts], bool]


def speaks(*codes: str) -> Callable[[Verdicts], bool]:
    """Tell that one of our rules found an error."""
    return lambda verdicts: bool(verdicts.codes.intersection(codes))


def holds_bytes(*texts: bytes) -> Callable[[Verdicts], bool]:
    """Tell that the rows hold some bytes."""
    return lambda verdicts: any(text in verdicts.data for text in texts)


def declares_older(verdicts: Verdicts) -> bool:
    """Tell that the rows or the aggregate declare a version before 0.2.3."""
    older = ("0.1.0", "0.2.0", "0.2.1", "0.2.2")
    return any(f'"{version}"'.encode() in verdicts.data for version in older)


def says(text: str) -> Callable[[Verdicts], bool]:
    """Tell that one of upstream's errors and warnings holds a text."""
    return lambda verdicts: any(text in message for _, message in verdicts.refusals)


OUTSIDE = re.compile(r"score (\S+) is outside \[min_score=(\S+), max_score=(\S+)\]")


def is_outside_by_rounding(verdicts: Verdicts) -> bool:
    """Tell that upstream finds a score outside its bounds that strays as sums of floats do."""
    found = (OUTSIDE.search(message) for _, message in verdicts.refusals)
    return any(
        math.isclose(float(score), float(bound), rel_tol=1e-9)
        for score, *bounds in (match.groups() for match in found if match)
        for bound in bounds
    )


def is_outside_of_levels(verdicts: Verdicts) -> bool:
    """Tell that upstream compares the index of a level with the bounds of a scale."""
    return says("is outside [min_score=")(verdicts) and b'"levels"' in verdicts.data


CLASSES = {
    "seal": Class(True, speaks("ES501", "ES502")),
    "sample-hash": Class(True, speaks("ES401", "ES403", "ES404", "ES405")),
    "samples": Class(True, speaks("ES407", "ES408", "ES409")),
    "results": Class(True, speaks("ES603", "ES606")),
    "lenient-types": Class(True, speaks("ES202", "ES203", "ES204", "ES208")),
    "other-version": Class(True, speaks("ES205", "ES215")),
    "row": Class(True, speaks("ES302", "ES305", "ES308")),
    "uncertainty": Class(True, speaks("ES702")),
    "carriage-returns": Class(True, speaks("ES105")),
    "portable-names": Class(True, speaks("ES901")),
    "unicode-lines": Class(False, holds_bytes(b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85")),
    "byte-order-mark": Class(False, lambda verdicts: verdicts.data.startswith(b"\xef\xbb\xbf")),
    "older-versions": Class(False, declares_older),
    "level-bounds": Class(False, is_outside_of_levels),
    "rounding": Class(False, is_outside_by_rounding),
    "huge-integers": Class(False, says("exceeded maximum size")),
}


def judged(runs: Sequence[tuple[Path, Path]]) -> Iterator[Verdicts]:
    """Judge pairs of rows and aggregate by both, as parts of a datastore."""
    files = [path for run in runs for path in run]
    said = iter(said_of(files))
    for rows, aggregate in runs:
        both = (next(said), next(said))
        report = evalstream.check(
            rows, aggregate=aggregate, profile="datastore", max_findings=0, jobs=1
        )
        yield Verdicts(
            frozenset(finding.code for finding in report if finding.severity is Severity.ERROR),
            tuple(refusal for one in both for refusal in (*one.errors, *one.warnings)),
            (rows.read_bytes() if rows.is_file() else b"") + aggregate.read_bytes(),
        )


def classes_of(verdicts: Verdicts) -> set[str]:
    """Return the classes that a disagreement belongs to, or that there is none."""
    ours = bool(verdicts.codes)
    if ours == verdicts.refused:
        return {BOTH_REFUSE if ours else BOTH_ACCEPT}
    return {
        name for name, kind in CLASSES.items() if kind.ours_refuses == ours and kind.holds(verdicts)
    }
