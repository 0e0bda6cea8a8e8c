"""The outcome of one run: its verdict, what was verified, and its counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import starmap
from typing import Any, Final, Literal, TypeVar

from evalstream.model.claim import STATES, JudgedClaim, State, confirms_score, count_states
from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.finding import Severity
from evalstream.model.sketch import Sketch


class Verified(NamedTuple):
    """The results of the checks of a run, and how much of it they covered.

    Attributes:
        checksum: Whether the declared checksum is that of the rows; None if none is declared, or
            the rows were not read to their end.
        row_count: Whether the declared number of rows is right; None as above.
        hashes: The number of rows whose sample_hash matches their input.
        rows: The number of rows.

    """

    checksum: bool | None = None
    row_count: bool | None = None
    hashes: int = 0
    rows: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return what was verified as the output contract writes it."""
        return {
            "checksum": self.checksum,
            "row_count": self.row_count,
            "sample_hashes": {"verified": self.hashes, "of": self.rows},
        }


class Checked(NamedTuple):
    """A part of what was verified, in the words of a format.

    Attributes:
        text: What was verified, or was not.
        is_ok: False where it contradicts, None where it is open.

    """

    text: str
    is_ok: bool | None

    def as_dict(self) -> dict[str, Any]:
        """Return the part as the output contract writes it."""
        return {"text": self.text, "ok": self.is_ok}


NOT_CHECKED: Final = frozenset({"ES001", "ES004", "ES005", "ES008", "ES010"})
"""Codes that mean that something could not be checked; they do not fail a run."""

Verdict = Literal["passed", "unconfirmed", "failed", "incomplete"]

VERDICTS: Final[tuple[Verdict, ...]] = ("passed", "unconfirmed", "failed", "incomplete")
"""The possible verdicts of a run."""


NOT_SEALED: Final = "it was not sealed"
"""The start of the message that rows were to be sealed and were not."""


UNPROVED: Final = "strict demands that a score and every claim are confirmed"
"""Why a run is unconfirmed though no rule that was left in fails it."""

NOUN: Final = "row"
"""The noun for the units of most formats."""


class RunSummary(DataClass):
    """The outcome of one run: a rows file with its aggregate, if it has one.

    Attributes:
        file: The rows file or stream as reports name it, None without one.
        aggregate: The aggregate as reports name it, None without one.
        format: The name of the format.
        inputs: A third document, where the format has one.
        version: The version of most rows, else that of the aggregate.
        rows: The number of rows, blank lines not counted.
        verdict: `failed` if a finding fails the run, `incomplete` if something could not be
            checked, `unconfirmed` if the rows confirm no score or refute a claim, else `passed`.
        algorithm: The algorithm of the checksum, None if there is none to compare with.
        declared: The checksum that the aggregate declares.
        actual: The checksum of the rows, in hex digits.
        recipe: The name of the recipe that the sample hashes follow.
        counts: Exact number of occurrences by code.
        seconds: Duration of the check, in seconds.
        bytes: Size of the rows that were checked, unpacked, in bytes.
        severities: Exact number of occurrences by severity.
        incomplete_reason: Why the run was not checked in full, None if it was.
        claims: The claims of its documents, each with its state.
        covers: Which bytes the checksum covers where there is a choice: `stored` or `unpacked`
            ones, `rows` without the noise between them, or rows `unended`, without their last line
            end.
        sealed: The aggregate that was sealed, None if none was.
        change: The diff that sealing would make, in a dry run.
        links: The digests that link the run to other runs of the call.
        samples: The samples of the run for a comparison, if they were asked for.
        unchanged: The time of the earlier check, for a run that a ledger answered.
        verified: What was verified, None without rows.
        selected: The codes or prefixes to which `select` limits the rules.
        ignored: The codes or prefixes of rules that `ignore` left out.
        schema: The version that the user named in place of the declared one, or `given` for rows
            that were checked against a schema of the user's.
        is_note: Whether this is not a run, but describes names that a search did not check.
        excluded: The number of names that a search excluded.
        missing: The number of names of a list that are gone.
        other_files: The number of files of a list that are not evaluation files.
        noun: What the format counts as `rows`, in singular.
        remark: Why the run is unconfirmed.
        sketch: A sketch of the rows, if it was asked for.
        failing: The number of occurrences that fail the run, by code.
        otherwise: The verdict without the failing occurrences.
        otherwise_reason: What was not checked in that case.
        known: The number of occurrences that a baseline knows, by code; the other counts are
            without it.
        known_severities: The number of occurrences that a baseline knows, by severity.
        fixable: The number of occurrences that `evalstream fix` mends, by code.
        checked: What was verified in the words of a format that has no sample_hash and no seal.
        digests: The SHA-256 of each file as it was read, by path, if they were asked for.
        fixable_unsafely: The number of those that it mends with `--unsafe` alone, by code.
        unfixable: The number of occurrences with a repair that it refuses to make, because the rows
            are damaged or the seal is wrong, by code.

    """

    file: str | None
    aggregate: str | None
    format: str
    inputs: str | None = None
    version: str | None = None
    rows: int = 0
    verdict: Verdict = "incomplete"
    algorithm: str | None = None
    declared: str | None = None
    actual: str | None = None
    recipe: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    bytes: int = 0
    severities: dict[Severity, int] = field(default_factory=dict)
    incomplete_reason: str | None = None
    claims: list[JudgedClaim] = field(default_factory=list)
    covers: str | None = None
    sealed: str | None = None
    change: str | None = None
    links: Any = None
    samples: Any = None
    unchanged: str | None = None
    verified: Verified | None = None
    selected: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    schema: str | None = None
    is_note: bool = False
    excluded: int = 0
    missing: int = 0
    other_files: int = 0
    noun: str = NOUN
    remark: str | None = None
    sketch: Sketch | None = None
    failing: dict[str, int] = field(default_factory=dict)
    otherwise: Verdict = "incomplete"
    otherwise_reason: str | None = None
    known: dict[str, int] = field(default_factory=dict)
    known_severities: dict[Severity, int] = field(default_factory=dict)
    fixable: dict[str, int] = field(default_factory=dict)
    fixable_unsafely: dict[str, int] = field(default_factory=dict)
    unfixable: int = 0
    checked: tuple[Checked, ...] = ()
    digests: dict[str, str] = field(default_factory=dict)

    @property
    def is_unchecked(self) -> bool:
        """Whether something of the run was not checked, for a reason outside of its data.

        Data that breaks off or cannot be decoded fails the run, and was looked at.
        """
        is_open = self.incomplete_reason is not None and self.verdict != "failed"
        return is_open or bool(NOT_CHECKED & self.counts.keys())

    @property
    def is_refuted(self) -> bool:
        """Whether the run failed, and at least one of its claims is refuted."""
        return self.verdict == "failed" and self.has_refuted_claims

    @property
    def has_refuted_claims(self) -> bool:
        """Whether at least one of the claims is refuted."""
        return any(one.state is State.REFUTED for one in self.claims)

    def count(self, code: str, severity: Severity, times: int) -> None:
        """Count more occurrences of a code."""
        self.counts[code] = self.counts.get(code, 0) + times
        self.severities[severity] = self.severities.get(severity, 0) + times

    def judge(self, failing: Mapping[str, int], *, has_scores: bool = True) -> None:
        """Set the verdict: failed because of some occurrences by code, or the one without them.

        Documents without scores, such as configurations, pass without a confirmed one.
        """
        self.failing = dict(failing)
        if self.incomplete_reason is not None:
            self.otherwise = "incomplete"
        elif (has_scores and not confirms_score(self.claims)) or self.has_refuted_claims:
            self.otherwise = "unconfirmed"
        else:
            self.otherwise = "passed"
        self.verdict = "failed" if self.failing else self.otherwise

    def fail(self, code: str, times: int) -> None:
        """Add occurrences that fail the run."""
        self.failing[code] = self.failing.get(code, 0) + times
        self.verdict = "failed"

    def leave_open(self, reason: str | None = None) -> None:
        """Make the verdict incomplete for a reason; of a run that fails, the one otherwise."""
        self.otherwise = "incomplete"
        if self.failing:
            self.otherwise_reason = self.otherwise_reason or reason
        elif self.verdict != "failed":
            self.verdict = self.otherwise
            self.incomplete_reason = self.incomplete_reason or reason

    def leave_unconfirmed(self, remark: str) -> None:
        """Make a verdict without failures unconfirmed, for a reason."""
        self.remark = remark
        if self.otherwise == "passed":
            self.otherwise = "unconfirmed"
        if self.verdict == "passed":
            self.verdict = self.otherwise

    def demand_claims(self) -> None:
        """Leave a run unconfirmed of which not every claim holds, as `--strict` demands."""
        if self.otherwise == "unconfirmed" or not all(one.state.holds for one in self.claims):
            self.leave_unconfirmed(self.remark or UNPROVED)

    def hide_claimed_texts(self) -> None:
        """Hide values of the data that stand where a claim must have a figure."""
        self.claims = [
            one._replace(claimed=None) if isinstance(one.claimed, (str, list, dict)) else one
            for one in self.claims
        ]

    def set_aside(self, known: Mapping[tuple[str, Severity], int], threshold: Severity) -> None:
        """Count occurrences, by code and severity, as known: they fail the run no longer.

        `threshold` is the lowest severity that fails it.
        """
        for (code, severity), times in known.items():
            _move(code, times, self.counts, self.known)
            _move(severity, times, self.severities, self.known_severities)
            if severity >= threshold and code in self.failing:
                _move(code, times, self.failing, {})
        self.fixable = _at_most(self.fixable, self.counts)
        self.fixable_unsafely = _at_most(self.fixable_unsafely, self.counts)
        self.unfixable = min(self.unfixable, sum(self.counts.values()))
        if self.verdict == "failed" and not self.failing:
            self.verdict = self.otherwise
            self.incomplete_reason = self.incomplete_reason or self.otherwise_reason

    def note_unsealed(self, reason: str | None = None) -> None:
        """Add to `incomplete_reason` that the rows were not sealed, and why."""
        message = NOT_SEALED if reason is None else f"{NOT_SEALED}: {reason}"
        if self.incomplete_reason is None:
            self.incomplete_reason = message
        elif NOT_SEALED not in self.incomplete_reason:
            self.incomplete_reason = f"{self.incomplete_reason}; {message}"

    def plain_values(self) -> list[Any]:
        """Return the values of the fields in their order; names and classes take long to pickle."""
        values = [*map(vars(self).__getitem__, _FIELDS)]
        values[_CLAIMS] = columns = [*zip(*self.claims, strict=True)]
        if columns:
            columns[_STATE] = tuple(one.value for one in columns[_STATE])
        values[_VERIFIED] = self.verified and (*self.verified,)
        return values

    @classmethod
    def from_plain(cls, values: list[Any]) -> RunSummary:
        """Return the summary of `plain_values`."""
        columns, verified = values[_CLAIMS], values[_VERIFIED]
        if columns:
            columns[_STATE] = map(_STATES.__getitem__, columns[_STATE])
        values[_CLAIMS] = [*starmap(JudgedClaim, zip(*columns, strict=True))]
        values[_VERIFIED] = verified and Verified(*verified)
        summary = cls.__new__(cls)
        vars(summary).update(zip(_FIELDS, values, strict=True))
        return summary

    def as_dict(self) -> dict[str, Any]:
        """Return the run as the output contract writes it."""
        checksum = {"algorithm": self.algorithm, "declared": self.declared, "actual": self.actual}
        if self.covers is not None:
            checksum["covers"] = self.covers
        return {
            "file": self.file,
            "aggregate": self.aggregate,
            **({} if self.inputs is None else {"inputs": self.inputs}),
            "format": self.format,
            "version": self.version,
            "rows": self.rows,
            "verdict": self.verdict,
            **({} if self.verified is None else {"verified": self.verified.as_dict()}),
            **({"checked": [one.as_dict() for one in self.checked]} if self.checked else {}),
            **({"selected": list(self.selected)} if self.selected else {}),
            **({"ignored": list(self.ignored)} if self.ignored else {}),
            **({} if self.schema is None else {"schema": self.schema}),
            "checksum": checksum,
            "recipe": self.recipe,
            "claims": {
                **count_states(self.claims),
                "list": [claim.as_dict() for claim in self.claims],
            },
            "counts": dict(sorted(self.counts.items())),
            "severities": count_by_label(self.severities),
            **_sorted_counts(self, "failing"),
            **encode_known(self.known, self.known_severities),
            **_sorted_counts(self, "fixable", "fixable_unsafely"),
            **({"unfixable": self.unfixable} if self.unfixable else {}),
            "seconds": round(self.seconds, 3),
            "bytes": self.bytes,
            **({} if self.noun == NOUN else {"noun": self.noun}),
            **self._states(),
            **({} if self.sketch is None else {"sketch": self.sketch.as_dict()}),
        }

    def _states(self) -> dict[str, Any]:
        """Return the members that few runs have."""
        states = {
            "incomplete_reason": self.incomplete_reason,
            "remark": self.remark,
            "sealed": self.sealed,
            "change": self.change,
            "unchanged": self.unchanged,
        }
        return {name: state for name, state in states.items() if state is not None}


_STATE: Final = JudgedClaim._fields.index("state")
_STATES: Final = {state.value: state for state in STATES}
_FIELDS: Final = tuple(RunSummary.__data_fields__)
_CLAIMS: Final = _FIELDS.index("claims")
_VERIFIED: Final = _FIELDS.index("verified")

_Key = TypeVar("_Key", bound=Hashable)


def add_counts(counts: dict[_Key, int], more: Mapping[_Key, int]) -> None:
    """Add counts to others."""
    for key, count in more.items():
        counts[key] = counts.get(key, 0) + count


def _move(key: _Key, times: int, source: dict[_Key, int], target: dict[_Key, int]) -> None:
    """Move occurrences from one count to another; a count of 0 is left out."""
    source[key] -= times
    if not source[key]:
        del source[key]
    target[key] = target.get(key, 0) + times


def _at_most(counts: Mapping[str, int], limits: Mapping[str, int]) -> dict[str, int]:
    """Return counts that are no larger than others; a count of 0 is left out."""
    limited = {code: min(n, limits.get(code, 0)) for code, n in counts.items()}
    return {code: n for code, n in limited.items() if n}


def count_by_label(severities: Mapping[Severity, int]) -> dict[str, int]:
    """Return counts by severity as the output contract writes them."""
    return {one.label: severities[one] for one in sorted(severities, reverse=True)}


def _sorted_counts(run: RunSummary, *names: str) -> dict[str, Any]:
    return {name: dict(sorted(one.items())) for name in names if (one := getattr(run, name))}


def encode_known(known: Mapping[str, int], severities: Mapping[Severity, int]) -> dict[str, Any]:
    """Return what a baseline knows as the output contract writes it."""
    if not known:
        return {}
    return {"known": dict(sorted(known.items())), "known_severities": count_by_label(severities)}
