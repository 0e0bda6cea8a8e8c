"""The data that flows between the layers: findings, faults, blocks, options, reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

MEBIBYTE: Final = 1 << 20

Bytes = bytes | memoryview
"""Bytes of their own, or a part of others."""

TOO_LONG_BY: Final = 4
"""How many bytes more than is allowed are kept of a line so that it shows as too long; a byte
order mark of three bytes may be taken from them."""


class Severity(IntEnum):
    """How bad a finding is; the order is the order of badness."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        """The word used in reports: `error`, `warning` or `info`."""
        return self.name.lower()


class Excerpt(NamedTuple):
    """A piece of a line round a syntax fault, and the fault's place in it, from 0."""

    excerpt: str
    caret: int


class Fault(NamedTuple):
    """What a rule says: which code, where inside the document, and what.

    `severity` is None where the rule's own severity holds. `count` is the number of
    occurrences (rows) that one fault stands for; None means one. `about_rows` says of a rule
    that speaks about the aggregate that this fault is the rows file's.
    """

    code: str
    message: str
    pointer: str | None = None
    keyword: str | None = None
    expected: Any = None
    found: Any = None
    severity: Severity | None = None
    count: int | None = None  # type: ignore[assignment]  # hides tuple.count, not needed here
    about_rows: bool = False


def one_of(values: Iterable[Any]) -> dict[str, Any]:
    """Return what is expected where several values are right, in the terms of JSON Schema."""
    return {"enum": list(values)}


def of_length(items: int) -> dict[str, Any]:
    """Return what is expected where a list is to have so many items."""
    return {"minItems": items, "maxItems": items}


def at_least(limit: Any) -> dict[str, Any]:
    """Return what is expected where a limit and all numbers above it are right."""
    return {"minimum": limit}


def at_most(limit: Any) -> dict[str, Any]:
    """Return what is expected where a limit and all numbers below it are right."""
    return {"maximum": limit}


class Finding(NamedTuple):
    """One fault or remark with its place, in the order of the output contract.

    `found` is what stands at the pointer. `expected` is what should stand there: the value, or a
    small JSON Schema where several are right.

    `line` counts from 1 over all lines; `offset` is the byte offset of the line in the
    unpacked bytes; `pointer` is a JSON Pointer (RFC 6901) into the row or the aggregate.
    """

    code: str
    name: str
    severity: Severity
    file: str
    line: int | None
    offset: int | None
    pointer: str | None
    keyword: str | None
    message: str
    expected: Any
    found: Any
    sample_id: str | int | None
    count: int | None  # type: ignore[assignment]  # hides tuple.count, not needed here

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as the output contract writes it: absent keys left out."""
        shown: dict[str, Any] = {
            key: value for key, value in zip(_FIELDS, self, strict=True) if value is not None
        }
        shown["severity"] = _LABELS[self.severity]
        if self.found.__class__ is Excerpt:
            shown["found"] = self.found._asdict()
        return shown

    @property
    def occurrences(self) -> int:
        """How many occurrences this finding stands for."""
        return 1 if self.count is None else self.count

    def order(self) -> tuple[float, str, str]:
        """Sort key within one file: line, code, pointer; the whole file comes last."""
        line = float("inf") if self.line is None else self.line
        return line, self.code, self.pointer or ""


_FIELDS: Final = Finding._fields
_LABELS: Final = {severity: severity.label for severity in Severity}


class Block(NamedTuple):
    """A stretch of rows: a byte range of a file, or the bytes themselves.

    `size` is the number of bytes of the whole file when it was opened and `inode` tells that
    file from a later one of the same name, as does `modified`, its time in nanoseconds, for blocks
    that other machines read; a block with `data` says with `final` that the input ends with it.
    `places` are the lines and offsets of its rows, by turns and packed as 64-bit numbers, where
    they are not simply the lines of `data`. An `overlong` block is one line that is longer than is
    allowed; only the first bytes of its `data` need be there.
    """

    path: str
    offset: int
    length: int
    size: int
    inode: int = 0
    data: bytes | None = None
    final: bool = False
    places: bytes | None = None
    overlong: bool = False
    modified: int = 0

    def described(self) -> str:
        """Say where the block lies."""
        return f"the rows in bytes {self.offset:,} to {self.offset + self.length:,}"


class Reader(Protocol):
    """Bytes that come once and in order: a pipe, a file, an object in a store."""

    def read(self) -> bytes:
        """Return the next bytes as they come, about a MiB at most; nothing at the end.

        Raises OSError where they cannot be read, and CannotCheck where they make no sense.
        """

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` has something to say, the end included, within some seconds."""

    def close(self) -> None:
        """Let go of whatever the bytes come from."""


class Lines(NamedTuple):
    """The bytes of whole lines, uncopied.

    They begin at index `start` of `data`, whose first byte has the offset `base` in the
    input; `tail` is what is left of the last line behind `data`. `final` says that the input
    ends here, so that the last line may lack its newline. `places` and `overlong` are those of a
    block.
    """

    data: bytes
    start: int = 0
    base: int = 0
    tail: bytes = b""
    final: bool = False
    places: bytes | None = None
    overlong: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """What becomes of the rows of one input besides being checked, and how it is read.

    `tee` is a file that takes every byte as it comes; `passing` says which rows go through to
    standard output (`all` or `valid`); `accepted` and `rejected` are files that take the rows
    apart. `seal_to` is an aggregate that is sealed at the end, with `file_path` as the name of
    the rows (None: found by itself), begun anew where `create` allows it, and in spite of all that
    speaks against it where `force` says so; `dry_run` shows the change instead of making it.
    `expect_rows` and `expect_samples` are how many there must be. `follow` reads on while a file
    grows, until it has stood still for `idle_timeout` seconds.
    """

    tee: str | None = None
    passing: str | None = None
    accepted: str | None = None
    rejected: str | None = None
    seal_to: str | None = None
    file_path: str | None = None
    create: bool = False
    force: bool = False
    dry_run: bool = False
    expect_rows: int | None = None
    expect_samples: int | None = None
    follow: bool = False
    idle_timeout: float = 30.0

    @property
    def sorts(self) -> bool:
        """Whether rows go different ways by what was found in them."""
        return self.passing == "valid" or bool(self.accepted or self.rejected)

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for the rows while they are checked."""
        return self.passing is not None or self.sorts


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that steers a check, in one frozen object that is handed down whole.

    Sizes are in bytes. `max_findings` is per code, 0 shows all. `jobs` 0 means as many
    workers as there are usable cores and as the input is worth. `profile` names a set of
    severities and extra rules. With `skip_noise` lines that hold no row are stepped over, or
    those that `noise`, a regular expression, is found in. `exclude` are patterns of names that a
    search of a folder leaves out. `format_name` is the system whose files
    are checked, `auto` where they show it themselves. `executor` names who runs the work, and the
    two options of Dask its scheduler. With `links` a run gathers what ties it to others.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool = False
    fail_on: Severity = Severity.ERROR
    jobs: int = 0
    schema_version: str = "auto"
    schema: str | None = None
    recipe: str = "auto"
    engine: str = "auto"
    max_findings: int = 100
    show_values: bool = True
    max_line_bytes: int = 64 * MEBIBYTE
    max_depth: int = 200
    memory_limit: int = 38 * MEBIBYTE
    profile: str = "default"
    format_name: str = "auto"
    exclude: tuple[str, ...] = ()
    executor: str = "auto"
    dask_address: str | None = None
    dask_scheduler_file: str | None = None
    links: bool = False
    skip_noise: bool = False
    noise: str | None = None
    flow: Flow = Flow()

    @property
    def threshold(self) -> Severity:
        """The severity from which on a finding fails the check."""
        return min(self.fail_on, Severity.WARNING) if self.strict else self.fail_on


class Figures(NamedTuple):
    """Some numbers that describe a result, claimed or recomputed; None where not known.

    `samples` counts samples; the others are on the scale of the scores.
    """

    score: float | None
    standard_deviation: float | None
    standard_error: float | None
    samples: int | None

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the numbers as the output contract writes them."""
        return {
            "score": self.score,
            "standard_deviation": self.standard_deviation,
            "standard_error": self.standard_error,
            "num_samples": self.samples,
        }


class ResultSummary(NamedTuple):
    """One result of an aggregate: its claims beside what its rows amount to.

    `rows` counts the rows that join it; `recomputed` is None where they allow no verdict. `claims`
    counts its figures that rows can confirm, `claims_recomputed` those that were compared.
    """

    name: str | None
    id: str | None
    rows: int
    claimed: Figures
    recomputed: Figures | None
    claims: int = 0
    claims_recomputed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the output contract writes it."""
        return {
            "evaluation_name": self.name,
            "evaluation_result_id": self.id,
            "rows": self.rows,
            "claimed": self.claimed.as_dict(),
            "recomputed": self.recomputed.as_dict() if self.recomputed else None,
            "claims": {"recomputed": self.claims_recomputed, "of": self.claims},
        }


class Verified(NamedTuple):
    """What was verified of a run, and how much of it.

    `checksum` and `row_count` tell whether the declared one is that of the rows; None where none
    is declared, or where the rows were not read to their end. `hashes` counts the rows, of `rows`
    in all, whose sample_hash is that of their input; `claims` counts the figures of the
    aggregate that rows can confirm, `claims_recomputed` those that were compared with them.
    """

    checksum: bool | None = None
    row_count: bool | None = None
    hashes: int = 0
    rows: int = 0
    claims: int = 0
    claims_recomputed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return what was verified as the output contract writes it."""
        return {
            "checksum": self.checksum,
            "row_count": self.row_count,
            "sample_hashes": {"verified": self.hashes, "of": self.rows},
            "claims": {"recomputed": self.claims_recomputed, "of": self.claims},
        }


NOT_CHECKED: Final = frozenset({"ES001", "ES004", "ES005", "ES008"})
"""Codes which say that something was not looked at for sure; alone they lead to exit code 3."""

MORE: Final = "more findings of this kind, which are counted and not told one by one"
"""What stands for the findings of a document that are not held."""

VERDICTS: Final = ("passed", "failed", "incomplete")
"""What can become of a run."""


UNSEALED: Final = "it was not sealed"
"""How a run says that its rows were to be sealed and were not."""


@dataclass(slots=True)
class RunSummary:
    """What became of one run: a rows file with its aggregate, if it has one.

    `verdict` is `passed`, `failed`, or `incomplete` where no fault was found but
    something could not be checked. `counts` holds occurrences by code, `severities` by
    severity; `trouble` says what kept the rows from being checked in full. `results` are the
    aggregate's, claimed beside recomputed. `covers` says what the checksum is of where there
    is a choice: `stored` or `unpacked` bytes, or `rows` without the noise between them.
    `inputs` is a third document, where a system has one.
    `sealed` is the aggregate that was sealed; `change` is what sealing it would change. `links`
    are what ties the run to others of one call. `unchanged` says when it was checked, of a run
    that was not checked again since nothing changed. `verified` says how much was; `selected` and
    `ignored` are the codes or prefixes by which rules were left out.
    What `is_note` is not a run: it says what a search left unchecked that does not matter, and how
    many names it `excluded`.
    """

    file: str | None
    aggregate: str | None
    format: str
    inputs: str | None = None
    version: str | None = None
    rows: int = 0
    verdict: str = "incomplete"
    algorithm: str | None = None
    declared: str | None = None
    actual: str | None = None
    recipe: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    bytes: int = 0
    severities: dict[Severity, int] = field(default_factory=dict)
    trouble: str | None = None
    results: list[ResultSummary] = field(default_factory=list)
    covers: str | None = None
    sealed: str | None = None
    change: str | None = None
    links: Any = None
    unchanged: str | None = None
    verified: Verified | None = None
    selected: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    is_note: bool = False
    excluded: int = 0

    def count(self, code: str, severity: Severity, times: int) -> None:
        """Count more occurrences of what was found."""
        self.counts[code] = self.counts.get(code, 0) + times
        self.severities[severity] = self.severities.get(severity, 0) + times

    def tell_unsealed(self, reason: str | None = None) -> None:
        """Say that rows were not sealed, and why if that is not said by now."""
        said = UNSEALED if reason is None else f"{UNSEALED}: {reason}"
        if self.trouble is None:
            self.trouble = said
        elif UNSEALED not in self.trouble:
            self.trouble = f"{self.trouble}; {said}"

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
            **({"selected": list(self.selected)} if self.selected else {}),
            **({"ignored": list(self.ignored)} if self.ignored else {}),
            "checksum": checksum,
            "recipe": self.recipe,
            "results": [result.as_dict() for result in self.results],
            "counts": dict(sorted(self.counts.items())),
            "seconds": round(self.seconds, 3),
            "bytes": self.bytes,
            **({} if self.sealed is None else {"sealed": self.sealed}),
            **({} if self.unchanged is None else {"unchanged": self.unchanged}),
        }


@dataclass(slots=True)
class Totals:
    """What all runs of a check amount to.

    `verdicts` counts runs by verdict, `counts` occurrences by code and `severities` by severity;
    `unchanged` counts runs that a ledger answered for, `unreached` those that were not looked at
    since the check was stopped before, and `unchecked` those of which something was not.
    `excluded` counts the names that searches left out.
    """

    runs: int = 0
    rows: int = 0
    bytes: int = 0
    unchanged: int = 0
    unreached: int = 0
    unchecked: int = 0
    excluded: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    severities: dict[Severity, int] = field(default_factory=dict)

    def add(self, run: RunSummary) -> None:
        """Count one more run, or what a note says."""
        self.excluded += run.excluded
        self.runs += not run.is_note
        self.rows += run.rows
        self.bytes += run.bytes
        self.unchanged += run.unchanged is not None
        self.unchecked += bool(run.trouble or NOT_CHECKED & run.counts.keys())
        if not run.is_note:
            self.verdicts[run.verdict] = self.verdicts.get(run.verdict, 0) + 1
        for code, count in run.counts.items():
            self.counts[code] = self.counts.get(code, 0) + count
        for severity, count in run.severities.items():
            self.severities[severity] = self.severities.get(severity, 0) + count

    def as_dict(self) -> dict[str, Any]:
        """Return the totals as the output contract writes them."""
        return {
            "runs": self.runs,
            **{verdict: self.verdicts.get(verdict, 0) for verdict in VERDICTS},
            "rows": self.rows,
            "bytes": self.bytes,
            "counts": dict(sorted(self.counts.items())),
            **({"unchanged": self.unchanged} if self.unchanged else {}),
            **({"unreached": self.unreached} if self.unreached else {}),
            **({"excluded": self.excluded} if self.excluded else {}),
        }


@dataclass(slots=True)
class Report:
    """The outcome of a check: iterate over its findings, read its totals.

    The findings are those shown (at most `max_findings` per code and run); `counts`, `total`
    and `totals` are always exact. `runs` are in the order of the inputs.
    """

    runs: Sequence[RunSummary]
    findings: Iterable[Finding]
    shown: int
    exit_code: int
    totals: Totals

    def __iter__(self) -> Iterator[Finding]:
        """Iterate over the shown findings in their order."""
        return iter(self.findings)

    @property
    def counts(self) -> dict[str, int]:
        """Exact number of occurrences by code, over all runs."""
        return dict(sorted(self.totals.counts.items()))

    @property
    def total(self) -> int:
        """Exact number of occurrences of all codes, over all runs."""
        return sum(self.totals.counts.values())

    @property
    def passed(self) -> bool:
        """Whether every run was checked in full and has no finding that fails it."""
        totals = self.totals
        return totals.verdicts.get("passed", 0) == totals.runs > 0 and not totals.unreached


class Reporter(Protocol):
    """Takes findings one by one and then the outcome."""

    def finding(self, finding: Finding) -> None:
        """Take one finding; they come in order."""

    def finish(self, report: Report) -> None:
        """Take the outcome and write what is left to write."""
