"""The part of a report that one shard writes, and how it is read back: whole or not at all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from evalstream._version import __version__
from evalstream.batch.serialize import decode_finding, decode_run, encode_finding, encode_run
from evalstream.batch.shards import Shard
from evalstream.io.output import Output
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding
from evalstream.model.report import Report, RunSummary
from evalstream.parsing import json

LAYOUT: Final = 1
"""The version of the layout of parts."""

FOOT_BYTES: Final = 1 << 16
"""The last line of a part is shorter than this."""


_BEGINNING: Final = re.compile(
    rb'\{"(?:code":"[A-Z]+\d+","name":"|run":\{"file":|links":|part":\{"layout":)'
)
"""A finding, a run in which nothing was found, or the last lines of a part without runs."""


@dataclass(frozen=True, slots=True)
class PartTrailer:
    """What the last line of a part says.

    `plan` digests the names of all runs in their order, of which there are `planned`; `runs` of
    them are in this part. `options` are those that decide what is said, `partial` says that the
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
    """Writes findings as they come, behind them their run, and in the end what ties runs."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._digest = hashlib.sha256()

    @staticmethod
    def wrote(head: bytes) -> bool:
        """Tell by its first bytes whether a file is a part."""
        return _BEGINNING.match(head) is not None

    def finding(self, finding: Finding) -> None:
        """Write one finding."""
        self._line(encode_finding(finding))

    def run(self, number: int, summary: RunSummary, shown: int) -> None:
        """Write a run, whose `shown` findings came directly before."""
        self._line({"run": encode_run(summary), "number": number, "findings": shown})

    def links(self, links: Iterable[dict[str, Any]]) -> None:
        """Write what ties the runs to others."""
        for some in links:
            self._line({"links": some})

    def foot(self, footing: PartTrailer) -> None:
        """Write the last line."""
        said = {
            "layout": LAYOUT,
            "tool": {"name": "evalstream", "version": footing.tool},
            "shard": footing.shard.number,
            "of": footing.shard.of,
            "plan": footing.plan,
            "planned": footing.planned,
            "runs": footing.runs,
            "options": footing.options,
            "partial": footing.partial,
            "digest": self._digest.hexdigest(),
        }
        self._output.write(json.dumps({"part": said}) + b"\n")

    def finish(self, report: Report) -> None:
        """Write nothing: everything of a run is said with it."""

    def _line(self, said: dict[str, Any]) -> None:
        line = json.dumps(said) + b"\n"
        self._digest.update(line)
        self._output.write(line)


@dataclass(frozen=True, slots=True)
class PartRun:
    """One run of a part."""

    number: int
    summary: RunSummary
    findings: list[Finding]


class Part:
    """A part in a file. Raises CannotCheck where it is none, or is not whole; OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.footing = self._footing()

    def runs(self) -> Iterator[PartRun]:
        """Iterate over the runs, in the order of their numbers."""
        findings: list[Finding] = []
        for said in self._lines():
            if "code" in said:
                findings.append(decode_finding(said))
            elif "run" in said:
                if said["findings"] != len(findings):
                    raise self._damaged("a run has not as many findings as it says")
                yield PartRun(said["number"], decode_run(said["run"]), findings)
                findings = []

    def links(self) -> Iterator[dict[str, Any]]:
        """Iterate over what ties the runs to others."""
        return (said["links"] for said in self._lines() if "links" in said)

    def verify(self) -> None:
        """Read the part once, and raise CannotCheck where it is not what was written."""
        digest = hashlib.sha256()
        for line in self._raw():
            digest.update(line)
        if digest.hexdigest() != self.footing.digest:
            raise self._damaged("its lines are not those that were written")

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            for line in self._raw():
                yield json.read_back(line)
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged("a line makes no sense") from error

    def _raw(self) -> Iterator[bytes]:
        """Iterate over the lines before the last."""
        with open(self.path, "rb") as file:
            before = next(file, b"")
            for line in file:
                yield before
                before = line

    def _footing(self) -> PartTrailer:
        with open(self.path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - FOOT_BYTES))
            tail = file.read()
        if not tail.endswith(b"\n"):
            raise self._damaged("it was cut off")
        line = tail[tail.rfind(b"\n", 0, -1) + 1 :]
        try:
            said = json.read_back(line)["part"]
            if said["layout"] != LAYOUT:
                raise self._damaged("another version of evalstream wrote it")
            return PartTrailer(
                Shard(said["shard"], said["of"]),
                said["plan"],
                said["planned"],
                said["runs"],
                said["options"],
                said["partial"],
                said["digest"],
                said["tool"]["version"],
            )
        except (KeyError, TypeError, ValueError) as error:
            message = "it was cut off, or is no part that --shard wrote"
            raise self._damaged(message) from error

    def _damaged(self, reason: str) -> CannotCheck:
        return CannotCheck(f"{self.path}: {reason}; nothing was merged")
