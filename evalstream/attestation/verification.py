"""Hold runs against the statements of a file: signer, digests, properties, and the check anew."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from evalstream.attestation.envelope import (
    Envelope,
    TrustedKey,
    find_signer,
    read_envelope,
    read_trusted_keys,
)
from evalstream.attestation.statement import Statement, read_statement
from evalstream.formats.registry import MAIN
from evalstream.io.digest import hash_stored
from evalstream.io.names import printable
from evalstream.model.errors import UsageError, describe_error
from evalstream.model.finding import Violation
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.rules.inputs import ES940, ES941, ES943, ES944, ES945

LONGEST_LINE: Final = 16 << 20
"""Most bytes of a line; a statement about two files takes 2 kB."""

NO_DIGESTS: Final = "the attestation was not compared: the run has no digests of its files"
ROWS_UNCHECKED: Final = "the attestation alone was verified, and no row was checked"


class AttestationFile:
    """The statements in a file, kept as places by digest of their files. Raises OSError.

    `fault` says why the first line without a statement has none.
    """

    def __init__(self, path: str, keys: tuple[TrustedKey, ...]) -> None:
        self._path, self._keys = path, keys
        self._places: dict[str, list[int]] = {}
        self.fault: str | None = "it holds no statement"
        offset = number = 0
        with open(path, "rb") as file:
            while line := file.readline(LONGEST_LINE):
                number += 1
                self.fault = None if number == 1 else self.fault
                try:
                    for one in _read_line(line)[1].subjects:
                        self._places.setdefault(one.digest, []).append(offset)
                except ValueError as error:
                    self.fault = self.fault or f"line {number:,}: {error}"
                offset += len(line)

    def verify(self, run: RunSummary, options: Options) -> tuple[list[Violation], str, str]:
        """Return what is wrong with the statements about a run.

        Where one holds, return who signed it, and the files of the run that it leaves out.
        """
        first: list[Violation] | None = None
        for envelope, statement in self._about(run.digests):
            signer = find_signer(envelope, self._keys)
            if isinstance(signer, Violation):
                found = [signer]
            else:
                found = [*_differences(statement, run.digests, options)]
                if not found:
                    left = map(printable, _find_unattested(statement, run.digests).values())
                    return [], signer.label, ", ".join(left)
            first = first or found
        name = printable(self._path)
        if first is None and self.fault is None:
            first = [ES941.violation(f"{name} has no statement about these files")]
        return first or [ES940.violation(f"{name}: {self.fault}")], "", ""

    def _about(self, digests: Mapping[str, str]) -> Iterator[tuple[Envelope, Statement]]:
        """Iterate over the statements about a file with one of some digests, else one so called."""
        offsets = {
            offset: None for digest in digests.values() for offset in self._places.get(digest, ())
        }
        with open(self._path, "rb") as file:
            for offset in offsets:
                file.seek(offset)
                yield _read_line(file.readline(LONGEST_LINE))
            if offsets or self.fault is not None:
                return
            file.seek(0)
            names = {os.path.basename(path) for path in digests}
            while line := file.readline(LONGEST_LINE):
                found = _read_line(line)
                if names & {os.path.basename(one.name) for one in found[1].subjects}:
                    yield found


def verify_run(run: RunSummary, options: Options) -> list[Violation]:
    """Return the violations of a run's attestation, and add to its summary what was verified.

    Its verdict must be that of all other rules.
    """
    names = {run.file, run.aggregate} - {None}
    if not run.digests or not names <= {printable(path) for path in run.digests}:
        run.leave_open(NO_DIGESTS)
        run.checked = (*run.checked, Checked("attestation not verified", None))
        return []
    file = open_attestation(options)
    found, signer, left = file.verify(run, options)
    fails = run.verdict in ("failed", "unconfirmed") and not options.attestation_only
    if not found and fails:
        message = f"{signer} attests that the run passed; its verdict is {run.verdict} now"
        found = [ES944.violation(message)]
    text = "attestation not ok" if found else f"attestation ok (signed by {signer})"
    text += f" but not of {left}" if left and not found else ""
    if file.fault is not None and not any(file.fault in one.message for one in found):
        text += f"; damaged {file.fault}"
    run.checked = (*run.checked, Checked(text, not found))
    return found


def digest_run(run: Run) -> RunSummary:
    """Return a summary of the digests of files alone. Raises OSError, CannotCheck, Stopped."""
    paths = (run.rows, run.aggregate) if run.format == MAIN else ()
    summary = RunSummary(
        None if run.rows is None else printable(run.rows),
        None if run.aggregate is None else printable(run.aggregate),
        run.format,
        digests={path: hash_stored(path) for path in paths if path is not None},
    )
    summary.judge({})
    summary.remark = ROWS_UNCHECKED
    if run.missing is not None:
        summary.leave_open(run.missing)
    return summary


def _find_unattested(statement: Statement, digests: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a run that a statement is not about, by their base names."""
    attested = {one.digest for one in statement.subjects}
    return {os.path.basename(path): path for path, one in digests.items() if one not in attested}


def _differences(
    statement: Statement, digests: Mapping[str, str], options: Options
) -> Iterator[Violation]:
    """Report subjects that are not files of a run, its other files, and missing properties."""
    left = _find_unattested(statement, digests)
    for one in statement.subjects:
        if one.digest in digests.values():
            continue
        name, path = printable(one.name), left.pop(os.path.basename(one.name), None)
        if path is None:
            message = f"the statement is about {name}, too, which is not a file of this run"
            yield ES941.violation(message, expected=one.digest)
        else:
            message = f"{printable(path)} has other bytes than the file that was attested"
            yield ES941.violation(message, expected=one.digest, found=digests[path])
    for path in left.values() if options.require or options.attestation_only else ():
        yield ES945.violation(f"{printable(path)} is not attested", found=digests[path])
    for name in options.require:
        if name not in statement.properties:
            yield ES943.violation(f"the statement does not say {printable(name)}", expected=name)


def _read_line(line: bytes) -> tuple[Envelope, Statement]:
    """Return the envelope on a line and its statement. Raises ValueError for any other line."""
    envelope = read_envelope(line)
    return envelope, read_statement(envelope.payload)


def open_attestation(options: Options) -> AttestationFile:
    """Return the file of statements. Raises UsageError for unreadable ones, and MissingExtra."""
    path = options.attestation or ""
    return _read(path, options.trust, tuple(map(_describe_state, (path, *options.trust))))


def _describe_state(path: str) -> tuple[int, ...]:
    """Return what changes with a file. Raises UsageError for a path that is not one."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{printable(path)}: {describe_error(error)}") from error
    if not stat.S_ISREG(status.st_mode):
        # Each worker reads it anew.
        raise UsageError(f"{printable(path)}: not a file, which can be read again")
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(maxsize=2)
def _read(path: str, trust: tuple[str, ...], _states: tuple[object, ...]) -> AttestationFile:
    try:
        return AttestationFile(path, read_trusted_keys(trust))
    except OSError as error:
        raise UsageError(f"{printable(path)}: {describe_error(error)}") from error
