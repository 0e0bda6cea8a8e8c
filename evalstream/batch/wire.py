"""How runs travel to other machines and their results come back: bytes of data, and no objects."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec

from evalstream.batch.packing import RunBundle, check_planned, planned_not_checked
from evalstream.batch.plan import PlannedRun
from evalstream.batch.results import RunResult
from evalstream.batch.serialize import (
    decode_stored_finding,
    decode_stored_run,
    encode_run,
    restore_options,
    verdict_options,
)
from evalstream.executors.base import RemoteFunction
from evalstream.io.progress import Progress
from evalstream.model.block import MEBIBYTE
from evalstream.model.data_class import field_values, replace
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.parsing.json import dumps_exactly, loads_exactly
from evalstream.stats.run_links import ROW_BYTES, RunLinks, decode_links, encode_links

MOST_LINK_BYTES: Final = 512 * MEBIBYTE
"""Most bytes of links in an answer, which a worker holds in memory: 16 million rows."""

_OTHER_OPTIONS: Final = ("exclude", "links", "memory_limit", "sketches")
"""The options that a worker needs beside those that decide the verdict."""


class _SentRun(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A run to check; `run` is JSON, as names may hold lone surrogates."""

    number: int
    size: int
    run: bytes


class _SentTask(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Runs to check, and the options as JSON."""

    options: bytes
    runs: list[_SentRun]


class _SentResult(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The result of a run, as ledgers and parts have it; or the type and message of an error."""

    number: int
    summary: bytes = b""
    findings: bytes = b""
    links: list[dict[str, Any]] | None = None
    error: tuple[str, str] | None = None


def remote_check(options: Options) -> RemoteFunction[RunBundle, list[RunResult]]:
    """Return the check of bundles as data; runs without a valid answer are not checked."""
    return RemoteFunction(
        answer_task, partial(encode_task, options), partial(decode_answer, options)
    )


def encode_task(options: Options, bundle: RunBundle) -> bytes:
    """Return the bytes of a task: options and runs, which all are of the class Run."""
    values = verdict_options(options) | {name: getattr(options, name) for name in _OTHER_OPTIONS}
    runs = [_SentRun(one.number, one.size, _exact(field_values(one.found))) for one in bundle.runs]
    return msgspec.msgpack.encode(_SentTask(_exact(values), runs))


def answer_task(task: bytes) -> bytes:
    """Check the runs of a task; workers run this. Raises ValueError, KeyError or TypeError."""
    sent = msgspec.msgpack.decode(task, type=_SentTask)
    options = replace(restore_options(loads_exactly(sent.options)), jobs=1, executor="serial")
    return msgspec.msgpack.encode([_check(one, options) for one in sent.runs])


def decode_answer(options: Options, bundle: RunBundle, data: bytes) -> list[RunResult]:
    """Return the results of a bundle from an answer; what is not valid counts as not checked."""
    try:
        sent = msgspec.msgpack.decode(data, type=list[_SentResult])
        if [one.number for one in sent] != [planned.number for planned in bundle.runs]:
            raise ValueError("it is about other runs")
    except _NOT_VALID as error:
        reason = _not_valid(error)
        return [planned_not_checked(planned, reason, options) for planned in bundle.runs]
    return [
        _decode_result(options, planned, one)
        for planned, one in zip(bundle.runs, sent, strict=True)
    ]


_NOT_VALID: Final = (msgspec.MsgspecError, ValueError, TypeError, LookupError, ArithmeticError)
"""The errors of decoding for unexpected values."""


def _not_valid(error: Exception) -> str:
    return f"a worker returned no valid result, so the run was not checked: {error}"


def _check(sent: _SentRun, options: Options) -> _SentResult:
    """Check one run; whatever it raises becomes its result."""
    try:
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in loads_exactly(sent.run).items()
        }
        planned = PlannedRun(sent.number, Run(**values), sent.size)
        _, summary, findings = check_planned(options, planned, Progress(shown=False))
        return _SentResult(
            sent.number,
            _exact(encode_run(summary)),
            _exact([finding.as_dict() for finding in findings]),
            None if summary.links is None else _encode_links(summary.links),
        )
    except Exception as error:  # noqa: BLE001 - one run must not take the others with it
        message = str(error).encode(errors="backslashreplace").decode()
        return _SentResult(sent.number, error=(type(error).__name__, message))


def _decode_result(options: Options, planned: PlannedRun, sent: _SentResult) -> RunResult:
    """Return the result of a run; one that is not valid counts as not checked."""
    if sent.error is not None:
        kind, message = sent.error
        reason = message if kind == CannotCheck.__name__ else f"{kind}: {message}"
        return planned_not_checked(planned, reason, options)
    try:
        summary = decode_stored_run(loads_exactly(sent.summary))
        summary.links = None if sent.links is None else decode_links(sent.links, memoryview)
        findings = list(map(decode_stored_finding, loads_exactly(sent.findings)))
    except (*_NOT_VALID, AttributeError, RecursionError) as error:
        return planned_not_checked(planned, _not_valid(error), options)
    return RunResult(planned.number, summary, findings)


def _encode_links(links: RunLinks) -> list[dict[str, Any]]:
    """Return links as they are sent. Raises CannotCheck where they are too many for one answer."""
    rows = sum(group.rows for group in links.groups())
    if rows * ROW_BYTES > MOST_LINK_BYTES:
        raise CannotCheck(
            f"it has {rows:,} rows and answers, more than a worker can relate to those of other "
            "runs; check it with --executor pool"
        )
    return encode_links(links, bytes)


def _exact(value: Any) -> bytes:
    return dumps_exactly(value).encode("ascii")
