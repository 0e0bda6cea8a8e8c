"""Parts: the report of one shard, as JSON lines read back only if complete, and their merge."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import msgspec

from evalstream.batch.plan import MOST_SHARDS
from evalstream.batch.results import RunResult
from evalstream.batch.serialize import decode_stored_finding, decode_stored_run, encode_run
from evalstream.io.names import printable
from evalstream.io.output import Output
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Finding
from evalstream.model.report import Report
from evalstream.model.run_summary import RunSummary
from evalstream.parsing import json
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters.base import Recognized

FORMAT_VERSION: Final = 4
"""The version of the format of parts."""

MOST_NUMBER: Final = 1 << 53
"""Bound of the numbers of runs, between which there are gaps."""

TRAILER_BYTES: Final = 1 << 16
"""Upper limit of the length of the last line."""


class PartTrailer(msgspec.Struct, kw_only=True):
    """The content of the last line of a part.

    `plan` digests the names of all runs in their order, or of the files that were divided.
    `planned` is the number of all runs and `found` the digest of their names, None in a shard that
    did not look for all; `runs` of them are in this part. `options` are those that affect the
    report, `partial` means that the check was stopped, and `digest` is the SHA-256 of all lines
    before.
    """

    layout: int = FORMAT_VERSION
    tool: dict[str, str]
    shard: Annotated[int, msgspec.Meta(ge=1)]
    of: Annotated[int, msgspec.Meta(le=MOST_SHARDS)]
    plan: str
    planned: int | None
    found: str | None
    runs: Annotated[int, msgspec.Meta(ge=0)]
    options: dict[str, Any]
    partial: bool
    digest: str = ""

    def __post_init__(self) -> None:
        if self.shard > self.of:
            raise ValueError("there are fewer shards")


class PartReporter(Recognized):
    """Writes findings, after them their run, and at the end the links of all runs."""

    beginning = LazyPattern(
        rb'\{"(?:code":"[A-Z]+\d+","name":"|run":\{"file":|links":|part":\{"layout":)'
    )
    """A finding, a run without findings, or the last lines without runs."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._digest = hashlib.sha256()

    def finding(self, finding: Finding) -> None:
        """Write one finding."""
        self._line(finding.as_dict())

    def run(self, number: int, summary: RunSummary, shown: int) -> None:
        """Write a run, whose `shown` findings were written directly before."""
        self._line({"run": encode_run(summary), "number": number, "findings": shown})

    def links(self, links: Iterable[dict[str, Any]]) -> None:
        """Write the links of the runs."""
        for item in links:
            self._line({"links": item})

    def write_trailer(self, trailer: PartTrailer) -> None:
        """Write the last line."""
        trailer.digest = self._digest.hexdigest()
        self._output.write(json.dumps_visible({"part": msgspec.to_builtins(trailer)}) + b"\n")

    def finish(self, report: Report) -> None:
        """Write nothing: each run is already complete."""

    def _line(self, values: dict[str, Any]) -> None:
        line = json.dumps_visible(values) + b"\n"
        self._digest.update(line)
        self._output.write(line)


def is_part(path: str) -> bool:
    """Tell by its end whether a file is a part, also a damaged one. Raises OSError."""
    lines = _read_tail(path).splitlines()
    return bool(lines) and lines[-1].startswith(b'{"part":')


def _read_tail(path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, 2) - TRAILER_BYTES))
        return file.read()


class PartFile:
    """A part in a file, with `numbers` of its runs once verified. Raises CannotCheck, OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.trailer = self._read_trailer()
        self.numbers = array("q")

    def runs(self) -> Iterator[RunResult]:
        """Iterate over the runs, in the order of their numbers."""
        findings: list[Finding] = []
        for line, values in self._lines(b'{"run":', b'{"code":'):
            if "code" in values:
                with self._refuse_invalid(line):
                    findings.append(decode_stored_finding(values))
            else:
                if values.get("findings") != len(findings):
                    raise self._error("the number of findings of a run does not match")
                number = values.get("number")
                if type(number) is not int or not 0 <= number < MOST_NUMBER:
                    raise self._error(f"line {line:,}: /number: expected the number of a run")
                with self._refuse_invalid(line):
                    run = decode_stored_run(values["run"])
                yield RunResult(number, run, findings)
                findings = []

    def links(self, add: Callable[[Mapping[str, Any]], None]) -> None:
        """Pass on the links of the runs; `add` raises ValueError and its likes for others."""
        for line, values in self._lines(b'{"links":'):
            with self._refuse_invalid(line):
                add(values["links"])

    def verify(self) -> None:
        """Read the part once. Raises CannotCheck where its bytes changed after it was written."""
        digest = hashlib.sha256()
        for line in self._raw():
            digest.update(line)
            if line.startswith(b'{"run":'):
                number = line[line.rfind(b',"number":') + 10 :].split(b",", 1)[0]
                self.numbers.append(int(number) if number.isdigit() else 0)
        if digest.hexdigest() != self.trailer.digest:
            raise self._error("its content changed after it was written")

    def _lines(self, *beginnings: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(self._raw(), 1):
            if not line.startswith(beginnings):
                continue
            with self._refuse_invalid(number):
                values = json.read_back(line)
                if not isinstance(values, dict):
                    raise TypeError("expected an object")
            yield number, values

    @contextmanager
    def _refuse_invalid(self, line: int) -> Iterator[None]:
        """Raise CannotCheck for a line that is not valid."""
        try:
            yield
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise self._error(f"line {line:,} is not valid: {error}") from error

    def _raw(self) -> Iterator[bytes]:
        """Iterate over the lines before the last."""
        with open(self.path, "rb") as file:
            before = next(file, b"")
            for line in file:
                yield before
                before = line

    def _read_trailer(self) -> PartTrailer:
        tail = _read_tail(self.path)
        if not tail.endswith(b"\n"):
            raise self._error("it is truncated")
        line = tail[tail.rfind(b"\n", 0, -1) + 1 :]
        try:
            values = json.read_back(line)["part"]
            if values["layout"] != FORMAT_VERSION:
                raise self._error("it was written by another version of evalstream")
            return msgspec.convert(values, PartTrailer)
        except (KeyError, TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            message = "it is truncated, or was not written by --shard"
            raise self._error(message) from error

    def _error(self, reason: str) -> CannotCheck:
        return CannotCheck(f"{printable(self.path)}: {reason}; nothing was merged")


MOST_NAMED: Final = 10
"""Number of missing shards that the message names."""


def open_parts(paths: Sequence[str]) -> list[PartFile]:
    """Open the parts of one whole report. Raises CannotCheck with its part; UsageError; OSError."""
    if not paths:
        raise UsageError("no part given")
    parts = [PartFile(path) for path in paths]
    first = parts[0]
    seen: dict[int, PartFile] = {}
    for part in parts:
        _refuse_other_batch(part, first)
        number = part.trailer.shard
        if number in seen:
            raise CannotCheck(
                f"{part.path}: shard {number} is given twice, also as {seen[number].path}; "
                "nothing was merged"
            )
        seen[number] = part
        if part.trailer.partial:
            raise CannotCheck(
                f"{part.path}: the check of this shard was stopped before its last run; run it "
                "again; nothing was merged"
            )
    _refuse_missing(seen, first.trailer.of)
    for part in parts:
        part.verify()
    return [seen[number] for number in sorted(seen)]


def _refuse_other_batch(part: PartFile, first: PartFile) -> None:
    own, expected = part.trailer, first.trailer
    for what, one, other in (
        ("number of shards", own.of, expected.of),
        ("version of evalstream", own.tool, expected.tool),
        ("options", own.options, expected.options),
        ("list of runs", own.plan, expected.plan),
    ):
        if one != other:
            raise CannotCheck(
                f"{part.path}: different {what} than in {first.path}; nothing was merged"
            )


def _refuse_missing(seen: dict[int, PartFile], shards: int) -> None:
    missing = [number for number in range(1, shards + 1) if number not in seen]
    if missing:
        named = ", ".join(map(str, missing[:MOST_NAMED]))
        more = f" and {len(missing) - MOST_NAMED:,} more" if len(missing) > MOST_NAMED else ""
        raise CannotCheck(f"missing shards of {shards:,}: {named}{more}; nothing was merged")
    trailers = [part.trailer for part in seen.values()]
    runs = sum(trailer.runs for trailer in trailers)
    counts = {trailer.planned for trailer in trailers if trailer.planned is not None}
    for planned in sorted(counts - {runs}):
        raise CannotCheck(
            f"the parts contain {runs:,} of {planned:,} runs because files changed "
            "between the shards; nothing was merged"
        )
    if len({trailer.found for trailer in trailers} - {None}) > 1:
        raise CannotCheck(
            "the shards found other runs because files changed between them; nothing was merged"
        )
