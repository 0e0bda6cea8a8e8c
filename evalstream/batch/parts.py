"""Parts: the report of one shard, written as JSON lines and read back only if complete."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from evalstream._version import __version__
from evalstream.batch.serialize import decode_finding, decode_run, encode_run
from evalstream.batch.shards import Shard
from evalstream.io.output import Output
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding
from evalstream.model.report import Report, RunSummary
from evalstream.parsing import json

FORMAT_VERSION: Final = 3
"""The version of the format of parts."""

TRAILER_BYTES: Final = 1 << 16
"""Upper limit of the length of the last line."""


_BEGINNING: Final = re.compile(
    rb'\{"(?:code":"[A-Z]+\d+","name":"|run":\{"file":|links":|part":\{"layout":)'
)
"""The beginning of a part: a finding, a run without findings, or the last lines without runs."""


@dataclass(frozen=True, slots=True)
class PartTrailer:
    """The content of the last line of a part.

    `plan` digests the names of all runs in their order, of which there are `planned`; `runs` of
    them are in this part. `options` are those that affect the report, `partial` means that the
    check was stopped, and `digest` is the SHA-256 of all lines before.
    """

    shard: Shard
    plan: str
    planned: int
    runs: int
    options: dict[str, Any]
    partial: bool
    digest: str = ""
    tool: str = __version__


class PartReporter:
    """Writes findings, after them their run, and at the end the links of all runs."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._digest = hashlib.sha256()

    @staticmethod
    def wrote(head: bytes) -> bool:
        """Tell by its first bytes whether a file is a part."""
        return _BEGINNING.match(head) is not None

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
        values = {
            "layout": FORMAT_VERSION,
            "tool": {"name": "evalstream", "version": trailer.tool},
            "shard": trailer.shard.number,
            "of": trailer.shard.of,
            "plan": trailer.plan,
            "planned": trailer.planned,
            "runs": trailer.runs,
            "options": trailer.options,
            "partial": trailer.partial,
            "digest": self._digest.hexdigest(),
        }
        self._output.write(json.dumps({"part": values}) + b"\n")

    def finish(self, report: Report) -> None:
        """Write nothing: each run is already complete."""

    def _line(self, values: dict[str, Any]) -> None:
        line = json.dumps(values) + b"\n"
        self._digest.update(line)
        self._output.write(line)


@dataclass(frozen=True, slots=True)
class PartRun:
    """One run of a part."""

    number: int
    summary: RunSummary
    findings: list[Finding]


def is_part(path: str) -> bool:
    """Tell by its end whether a file is a part, also a damaged one. Raises OSError."""
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, 2) - TRAILER_BYTES))
        lines = file.read().splitlines()
    return bool(lines) and lines[-1].startswith(b'{"part":')


class Part:
    """A part in a file. Raises CannotCheck where it is not a complete part; OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.trailer = self._read_trailer()

    def runs(self) -> Iterator[PartRun]:
        """Iterate over the runs, in the order of their numbers."""
        findings: list[Finding] = []
        for values in self._lines():
            if "code" in values:
                findings.append(decode_finding(values))
            elif "run" in values:
                if values["findings"] != len(findings):
                    raise self._error("the number of findings of a run does not match")
                yield PartRun(values["number"], decode_run(values["run"]), findings)
                findings = []

    def links(self) -> Iterator[dict[str, Any]]:
        """Iterate over the links of the runs."""
        return (values["links"] for values in self._lines() if "links" in values)

    def verify(self) -> None:
        """Read the part once. Raises CannotCheck where its bytes changed after it was written."""
        digest = hashlib.sha256()
        for line in self._raw():
            digest.update(line)
        if digest.hexdigest() != self.trailer.digest:
            raise self._error("its content changed after it was written")

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            for line in self._raw():
                yield json.read_back(line)
        except (KeyError, TypeError, ValueError) as error:
            raise self._error("a line is not valid") from error

    def _raw(self) -> Iterator[bytes]:
        """Iterate over the lines before the last."""
        with open(self.path, "rb") as file:
            before = next(file, b"")
            for line in file:
                yield before
                before = line

    def _read_trailer(self) -> PartTrailer:
        with open(self.path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TRAILER_BYTES))
            tail = file.read()
        if not tail.endswith(b"\n"):
            raise self._error("it is truncated")
        line = tail[tail.rfind(b"\n", 0, -1) + 1 :]
        try:
            values = json.read_back(line)["part"]
            if values["layout"] != FORMAT_VERSION:
                raise self._error("it was written by another version of evalstream")
            return PartTrailer(
                Shard(values["shard"], values["of"]),
                values["plan"],
                values["planned"],
                values["runs"],
                values["options"],
                values["partial"],
                values["digest"],
                values["tool"]["version"],
            )
        except (KeyError, TypeError, ValueError) as error:
            message = "it is truncated, or was not written by --shard"
            raise self._error(message) from error

    def _error(self, reason: str) -> CannotCheck:
        return CannotCheck(f"{self.path}: {reason}; nothing was merged")
