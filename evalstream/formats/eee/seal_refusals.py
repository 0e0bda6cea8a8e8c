"""Reasons against a seal besides a check's findings: claims that the rows do not support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from evalstream.formats.eee.aggregate import DETAILS, RESULTS, Aggregate, Result
from evalstream.formats.eee.aggregate_check import ReadAggregate, read_aggregate
from evalstream.formats.eee.datastore import PATTERN, ROWS_ENDING
from evalstream.formats.eee.facts import RunFacts
from evalstream.formats.eee.file_violations import FileViolations, violation_key
from evalstream.formats.eee.rules.coverage import ES604, ES607, ES609, ES610
from evalstream.formats.eee.rules.recompute import ES801, ES802, ES803
from evalstream.formats.eee.rules.seal import ES503, ES509, Digests
from evalstream.formats.eee.rules.version import ES216
from evalstream.formats.eee.sample_hash import is_helm
from evalstream.model.changes import SealedText
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import PlacedViolation, Severity, Violation
from evalstream.model.options import Options
from evalstream.model.text import count_noun
from evalstream.parsing.json_values import is_number
from evalstream.rules.schema import ES213
from evalstream.stats.tally import ScoreSums

FILE_PATH: Final = f"{DETAILS}/file_path"
ROWS_PATTERN: Final = PATTERN + ROWS_ENDING
EXAMPLE: Final = (
    "data/tiny-arithmetic/acme/acorn-7b/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57_samples.jsonl"
)


MOST_DIGITS: Final = 20
"""The most digits of a plausible number of rows."""


CONTRADICTING: Final = (ES604, ES607, ES609, ES610, ES801, ES802, ES803)
"""The rules that find torn runs and refuted claims, whatever a check selects."""


class Refusal(NamedTuple):
    """The reason why rows are not sealed.

    `reason` is the message for users, `incomplete_reason` what kept something from being checked;
    both are None if they were reported already. A seal that `violations` or findings refute
    `refutes` the run. `others` would fail the run in the sealed aggregate.
    """

    reason: str | None = None
    incomplete_reason: str | None = None
    violations: tuple[Violation, ...] = ()
    refutes: bool = False
    others: tuple[Violation, ...] = ()

    def keep_reasons(self, violations: FileViolations) -> FileViolations:
        """Add the reasons to the violations of the files that are sealed all the same."""
        keys = violations.keys()
        return violations.with_those(
            one for one in self.violations if violation_key(one) not in keys
        )

    def added_to(self, violations: FileViolations) -> FileViolations:
        """Add the violations of the refusal to those of the unsealed files."""
        combined = violations.with_those(self.violations)
        combined = combined._replace(aggregate=without_advice(combined.aggregate))
        keys = combined.keys()
        lacking = [violation for violation in self.others if violation_key(violation) not in keys]
        return combined.with_those(map(would_be, lacking))


class Seal(NamedTuple):
    """An aggregate before and after its rows are sealed; `rows` is the path of the rows."""

    rows: str
    text: SealedText

    def read(self, options: Options) -> ReadAggregate:
        """Read the aggregate as it will be."""
        reading = read_aggregate(self.text.after, options)
        return reading._replace(violations=without_advice(reading.violations))


def replaced_seal(
    digests: Digests, state: Aggregate | None, sealed: Aggregate | None
) -> Iterator[Violation]:
    """Report a checksum that is that of other bytes, and that the seal replaces.

    One that no file can have (ES502) seals nothing.
    """
    declared = state.checksum if state is not None else None
    if declared is None or any(declared in known.values() for known in digests.values()):
        return
    yield ES509.violation(
        "the aggregate seals other rows than these",
        f"{DETAILS}/checksum",
        expected=None if sealed is None else sealed.checksum,
        found=declared,
    )


def find_row_conflicts(facts: RunFacts) -> Iterator[Violation]:
    """Report what shows that rows are missing, and claims that the rows refute.

    Rows beside an aggregate without results contradict nothing.
    """
    if facts.aggregate is None or not facts.context.results:
        return
    variants = set(_variants(facts))
    for rule in CONTRADICTING:
        for violation in rule.run(facts) if rule.run is not None else ():
            if rule is not ES604 or violation.found not in variants:
                yield violation


def _variants(facts: RunFacts) -> Iterator[str]:
    """Yield the ids of perturbed results of HELM, whose rows its converter does not write."""
    if not is_helm(facts.context.library):
        return
    with_rows = {
        result.id for result in facts.context.results if result.place in facts.tally.scores
    }
    for result in facts.context.results:
        if result.id is not None and result.id.rpartition(":")[0] in with_rows:
            yield result.id


def find_uncovered(facts: RunFacts, state: Aggregate | None) -> Iterator[Violation]:
    """Report the claims that the rows of a run do not cover, as errors.

    These are a total_rows above the number of rows in the aggregate before sealing, and each
    result's num_samples and sample_ids.
    """
    yield from _total_rows(facts, state)
    for result in facts.context.results if state is not None else ():
        yield from _num_samples(facts, result)
        yield from _sample_ids(facts, result)


def unfit(
    after: Iterable[PlacedViolation], before: Iterable[PlacedViolation]
) -> Iterator[Violation]:
    """Report what the seal would break in its aggregate that is not broken yet.

    `after` and `before` are the violations of the aggregate with and without the seal. A path that
    breaks its pattern is always reported, with advice.
    """
    known = {violation_key(placed.violation) for placed in before}
    for violation in (placed.violation for placed in after):
        is_seals = (violation.pointer or "").startswith(f"{DETAILS}/")
        if is_seals and is_path(violation):
            yield _path_wanted(violation)
        elif (
            is_seals
            and violation.severity in (None, Severity.ERROR)
            and violation_key(violation) not in known
        ):
            yield would_be(violation)


def would_be(violation: Violation) -> Violation:
    """Return a violation of the aggregate as it would be; it has no line or value yet."""
    return violation._replace(message=f"as it would be sealed: {violation.message}", found=None)


def is_path(violation: Violation) -> bool:
    """Return whether a violation is that of file_path against its version's pattern."""
    return violation_key(violation) == (ES213.code, FILE_PATH)


def without_advice(violations: Iterable[PlacedViolation]) -> list[PlacedViolation]:
    """Leave out that another version would allow the path that a seal was given."""
    known = list(violations)
    if not any(is_path(placed.violation) for placed in known):
        return known
    return [placed for placed in known if placed.violation.code != ES216.code]


def _total_rows(facts: RunFacts, state: Aggregate | None) -> Iterator[Violation]:
    declared: Any = state.claim("total_rows") if state is not None else None
    rows = facts.tally.rows
    # A number in quotes is ES503, but still a claim.
    if isinstance(declared, str) and declared.strip().isdecimal():
        declared = int(declared.strip()[:MOST_DIGITS])
    if is_number(declared) and declared > rows:
        message = f"total_rows is already {declared:,}, but the file has {count_noun(rows, 'row')}"
        yield ES503.violation(message, f"{DETAILS}/total_rows", expected=rows, found=declared)


def _num_samples(facts: RunFacts, result: Result) -> Iterator[Violation]:
    """Compare num_samples with the rows or samples of a result.

    It may count samples, rows, or rows with a score. More rows than it says, but fewer samples,
    mean that samples are missing among others that repeat.
    """
    claims = None if facts.aggregate is None else facts.aggregate.claims.get(result.place)
    claimed = None if claims is None else claims.num_samples
    if claimed is None or claimed < 1:
        return
    scores, samples = facts.tally.scores.get(result.place), _samples(facts, result)
    if samples >= claimed or claimed in _row_counts(facts, scores):
        return
    rows = facts.unjoined_rows if scores is None else scores.joined_rows
    which = "without a result" if scores is None and rows else "for it"
    message = f"num_samples of result {result.place} is {claimed:,}, but the run has "
    message += f"{count_noun(rows, 'row')} {which}"
    if 0 < samples < rows:
        message += f", of {count_noun(samples, 'sample')}"
    pointer = f"{RESULTS}/{result.place}/score_details/uncertainty/num_samples"
    at: dict[str, Any] = {"pointer": pointer, "severity": Severity.ERROR}
    yield ES802.violation(message, expected=rows, found=claimed, **at)


def _sample_ids(facts: RunFacts, result: Result) -> Iterator[Violation]:
    """Compare the samples that a result lists with those of its rows.

    Results over the splits of one dataset may each list all of it.
    """
    if not result.sample_ids:
        return
    listed, samples = len(result.sample_ids), _samples(facts, result)
    unlisted = sum(
        count for place, count, _ in facts.tally.unlisted.entries() if place == result.place
    )
    if samples - unlisted >= listed:
        return
    beside = facts.coverage_beside(result)
    if not unlisted and beside.is_even and beside.samples >= listed:
        return
    message = (
        f"sample_ids of result {result.place} lists {count_noun(listed, 'sample')}, "
        f"but its rows score {samples:,}"
    )
    if unlisted:
        message += f"; {count_noun(unlisted, 'row')} score others"
    pointer = f"{RESULTS}/{result.place}/source_data/sample_ids"
    yield ES609.violation(message, pointer, severity=Severity.ERROR)


def _row_counts(facts: RunFacts, scores: ScoreSums | None) -> tuple[int, ...]:
    """Return the numbers that num_samples may count, apart from samples."""
    if scores is None:
        return (facts.unjoined_rows,)
    return scores.joined_rows, scores.rows, scores.sound_rows


def _samples(facts: RunFacts, result: Result) -> int:
    """Return the number of samples that the rows of a result score.

    For a result that no row joins, these are the samples that may belong to it: those of unjoined
    rows, and of results over the same dataset. Converters write the rows of variants under one of
    them.
    """
    if result.place in facts.tally.scores:
        return facts.coverage.of(result.place).samples
    return facts.coverage_beside(result).samples + facts.unjoined_samples


def _path_wanted(violation: Violation) -> Violation:
    """Return which path a seal requires, and how to give it."""
    message = (
        f'file_path would be "{violation.found}", but this version requires {ROWS_PATTERN}: '
        f"give such a path, as in --file-path {EXAMPLE}"
    )
    return violation._replace(message=message, expected=ROWS_PATTERN, found=None)
