"""The Python API of attestations: attest."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from evalstream.api.arguments import Input, optional_path, require_path, require_paths
from evalstream.api.check_inputs import check_inputs
from evalstream.api.reports import FindingSink, Report
from evalstream.attestation.envelope import SigningKey, read_signing_key, write_envelope
from evalstream.attestation.statement import (
    Statement,
    digest_policies,
    find_refusal,
    list_properties,
    list_subjects,
    write_statement,
)
from evalstream.io.names import find_folders, is_remote, printable
from evalstream.io.output import Output, writing
from evalstream.io.overwriting import OutputKind, refuse_overwriting
from evalstream.model.data_class import DataClass
from evalstream.model.errors import UsageError
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options
from evalstream.model.run import STDIN
from evalstream.reporters.base import Reporter
from evalstream.settings.options import reported_options, whole_check

if TYPE_CHECKING:
    from evalstream.store.snapshot import AcceptedRuns

EPOCH: Final = "SOURCE_DATE_EPOCH"
"""The variable that holds the time of builds that can be repeated, in seconds."""

ATTESTATION: Final = OutputKind(
    "an attestation of evalstream",
    lambda head: head.startswith((b'{"payload":"', b'{"_type":"https://in-toto.io/Statement/')),
)


class Attestation(DataClass):
    """The outcome of a call that attests.

    Attributes:
        report: The report of the check.
        statements: The number of statements that were written, one for each run; 0 without a file.
        refusals: Why nothing was written, by the name of the run; empty if the file was written.

    """

    report: Report
    statements: int
    refusals: dict[str, str]

    @property
    def exit_code(self) -> int:
        """The exit code of the command: that of the check, and 1 where it alone would be 0."""
        return self.report.exit_code or (ExitCode.FAILED if self.refusals else ExitCode.PASSED)


def attest(
    inputs: Input | Iterable[Input],
    output: Input,
    *,
    key: Input | None = None,
    unsigned: bool = False,
    time: str | None = None,
    allow_open: bool = False,
    store: Input | None = None,
    aggregate: Input | None = None,
    outputs: Iterable[Input] = (),
    overwrite: bool = False,
    options: Options | None = None,
    reporter: Reporter | None = None,
    progress: bool = False,
) -> Attestation:
    """Check runs in full, and write a signed statement about each to the file `output`.

    `inputs` and `aggregate` are those of `check`. Nothing is written unless every run passes and
    all its claims are confirmed; with `allow_open` they may be open. `key` is a file with a private
    key of Ed25519, in PEM or as OpenSSH writes it, without a password. With `unsigned` the bare
    statements are written in its place, to be signed by another program. `time` is the time of the
    statements (RFC 3339; default: the variable SOURCE_DATE_EPOCH, else now). The same files, key,
    options and time give the same bytes. `store` is the folder or URL of a public store: where its
    latest snapshot lists the files of a run, the statement says so. `outputs` are files that the
    caller writes meanwhile; with `overwrite` the file may replace any other. `options` may not
    leave out rules.

    Raises UsageError for a call that makes no sense, MissingExtra where cryptography is not
    installed, CannotWrite, and CannotCheck for a store that does not match its digests.
    """
    paths, target = list(require_paths(inputs)), require_path(output, "the output")
    created = _format_time(time)
    signing = _read_key(None if key is None else os.fspath(key), target, unsigned=unsigned)
    chosen = whole_check(options or Options())
    if STDIN in paths or is_remote(target):
        raise UsageError("files have names that an attestation can hold; a stream has none")
    if not overwrite:
        ATTESTATION.refuse_foreign(target)
    report = check_inputs(
        paths,
        chosen,
        FindingSink(reporter),
        aggregate=optional_path(aggregate, "the aggregate"),
        outputs=[target, *outputs],
        progress=progress,
    )
    refusals = {} if report.exit_code else _list_refusals(report, allow_open=allow_open)
    if report.exit_code or refusals:
        return Attestation(report, 0, refusals)
    accepted: AcceptedRuns | None = None
    if store is not None:
        from evalstream.store.snapshot import AcceptedRuns

        accepted = AcceptedRuns(os.fspath(store))
    folders = find_folders(paths)
    policies = digest_policies(reported_options(chosen))
    with writing(target), Output(target, kind=None if overwrite else ATTESTATION) as file:
        for run in report.runs:
            core = None if accepted is None else accepted.find_core(run.digests)
            properties = list_properties(run, chosen.schema_version, core)
            statement = Statement(list_subjects(run.digests, folders), properties)
            payload = write_statement(statement, policies, created)
            file.write((payload if signing is None else write_envelope(payload, signing)) + b"\n")
    return Attestation(report, len(report.runs), {})


def _list_refusals(report: Report, *, allow_open: bool) -> dict[str, str]:
    found = ((one, find_refusal(one, allow_open=allow_open)) for one in report.runs)
    names = ((one.file or one.aggregate or one.inputs or "", reason) for one, reason in found)
    return {name: reason for name, reason in names if reason is not None}


def _read_key(path: str | None, target: str, *, unsigned: bool) -> SigningKey | None:
    if (path is None) != unsigned:
        raise UsageError("give either --key, which signs the statements, or --unsigned")
    if path is None:
        return None
    refuse_overwriting([target], [path])
    return read_signing_key(path)


def _format_time(text: str | None) -> str:
    """Return a time in UTC, to the second. Raises UsageError for a text that is not a time."""
    epoch = os.environ.get(EPOCH)
    try:
        if text is not None:
            moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")
            if moment.tzinfo is None:  # Python 3.15 takes a time without a zone
                raise ValueError(text)  # noqa: TRY301 - as strptime does before
        else:
            moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError) as error:
        name = EPOCH if text is None else f"--time {printable(text)}"
        raise UsageError(f"{name}: not a time such as 2026-11-26T12:00:00Z") from error
