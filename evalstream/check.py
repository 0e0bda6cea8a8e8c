"""The public check: find the runs, check each, and say how it came out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from itertools import groupby
from typing import Any, Final

from evalstream import parsing
from evalstream.any_run import check_any
from evalstream.catalog import enabled_codes
from evalstream.digest import RECIPES
from evalstream.errors import UsageError
from evalstream.findings import Findings
from evalstream.formats import NAMES as FORMATS
from evalstream.formats import eee
from evalstream.inputs import find_all
from evalstream.model import Finding, Flow, Options, Report, Reporter, RunSummary
from evalstream.outlets import check_flow
from evalstream.packs import Checked, Pack, check_packs, not_checked, packed
from evalstream.profiles import PROFILES
from evalstream.progress import Progress
from evalstream.rules.stream import ES001, ES005
from evalstream.run_check import NOT_CHECKED
from evalstream.runs import Nothing, Run, printable
from evalstream.schema import ENGINES, compile_schema
from evalstream.stopping import STOPPING, Stopped

AUTO: Final = "auto"

Input = str | os.PathLike[str]

PASSING: Final = ("all", "valid")
"""Which rows can go through to standard output."""

FLOW_FIELDS: Final = frozenset(field.name for field in fields(Flow))


def check(
    inputs: Input | Sequence[Input],
    *,
    aggregate: Input | None = None,
    inputs_file: Input | None = None,
    options: Options | None = None,
    reporter: Reporter | None = None,
    progress: bool = False,
    **settings: Any,
) -> Report:
    """Check rows files, aggregates and folders, and return what was found.

    `inputs` are paths, or `-` for standard input; `aggregate` goes with exactly one rows
    input, and so does `inputs_file`, what was put into an evaluation by HarpIA Lab. `settings`
    are fields of Options and Flow, such as `recipe="concat"`. Findings go to `reporter` as they
    come; without one they are kept, on disk past a bound, and the report
    can be iterated over. Raises UsageError for a call that makes no sense; whatever is wrong
    with the data, or cannot be read, is in the report.
    """
    names = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    chosen = checked_options(options or Options(), settings)
    session = _Session(chosen, reporter, progress=progress)
    paths = [os.fspath(name) for name in names]
    beside = chosen.flow.seal_to if aggregate is None else os.fspath(aggregate)
    third = None if inputs_file is None else os.fspath(inputs_file)
    check_flow(chosen.flow, paths, beside)
    with suppress(Stopped):
        session.take_all(find_all(paths, beside, third, chosen))
    return session.report()


class _Session:
    """One call of `check`: its runs so far."""

    def __init__(self, options: Options, reporter: Reporter | None, *, progress: bool) -> None:
        self._options, self._reporter, self._progress = options, reporter, progress
        self._runs: list[RunSummary] = []
        self._kept = Findings()
        self._shown = 0

    def take_all(self, found: Iterable[Run | Nothing]) -> None:
        """Check runs, small ones together. Raises Stopped where the process is to end."""
        packs = packed(found, 1 if self._options.flow != Flow() else self._options.jobs)
        for are_packs, some in groupby(packs, lambda one: isinstance(one, Pack)):
            if are_packs:
                self.take_packs(pack for pack in some if isinstance(pack, Pack))
                continue
            for one in some:
                self.take(one)
                if STOPPING.granted is not None:
                    return
                STOPPING.check()

    def take(self, found: Any) -> None:
        """Check one run, or note an input in which there is nothing to check."""
        if isinstance(found, Nothing):
            self._add(self._nothing(found))
            return
        with Progress(shown=self._progress) as progress:
            self._runs.append(check_any(found, self._options, self._show, progress))

    def take_packs(self, packs: Iterable[Pack]) -> None:
        """Check many small runs."""
        rows = 0
        with Progress(shown=self._progress) as progress:
            progress.begin("small runs", 0)
            for checked in check_packs(packs, self._options):
                for one in checked:
                    self._add(one)
                rows += sum(summary.rows for summary, _ in checked)
                progress.advance(sum(summary.bytes for summary, _ in checked), rows, self._shown)

    def report(self) -> Report:
        """Return the outcome of all runs, and let the reporter finish."""
        report = Report(self._runs, self._kept, self._shown, self._exit_code())
        if self._reporter is not None:
            self._reporter.finish(report)
        return report

    def _show(self, finding: Finding) -> None:
        self._shown += 1
        if self._reporter is not None:
            self._reporter.finding(finding)
        else:
            self._kept.append(finding)

    def _add(self, checked: Checked) -> None:
        """Take what became of a run that was checked elsewhere."""
        summary, findings = checked
        self._runs.append(summary)
        for finding in findings:
            self._show(finding)

    def _nothing(self, nothing: Nothing) -> Checked:
        rule = ES005 if nothing.readable else ES001
        trouble = f"nothing was checked: {nothing.reason}"
        name, fault = printable(nothing.path), rule.fault(nothing.reason)
        return not_checked(name, None, trouble, fault, self._options)

    def _exit_code(self) -> int:
        """0 sound, 1 findings that fail, 3 something was not checked; never 0 for nothing.

        Stopped by a signal: 128 and its number, as shells count.
        """
        if STOPPING.granted is not None:
            return 128 + STOPPING.granted
        if any(run.verdict == "failed" for run in self._runs):
            return 1
        unchecked = any(run.trouble or NOT_CHECKED & run.counts.keys() for run in self._runs)
        return 3 if unchecked or not self._runs else 0


def checked_options(options: Options, settings: dict[str, Any]) -> Options:
    """Return the options with the settings in them. Raises UsageError for what makes no sense."""
    flow = {name: settings.pop(name) for name in FLOW_FIELDS & settings.keys()}
    try:
        options = replace(options, **settings, flow=replace(options.flow, **flow))
    except TypeError as error:
        raise UsageError(f"no such setting: {', '.join(sorted(settings))}") from error
    options = replace(options, select=tuple(options.select), ignore=tuple(options.ignore))
    _one_of("schema version", options.schema_version, ("auto", *eee.INSTANCE_VERSIONS))
    _one_of("format", options.format_name, (AUTO, *FORMATS))
    _one_of("recipe", options.recipe, ("auto", *RECIPES))
    _one_of("engine", options.engine, ENGINES)
    _one_of("profile", options.profile, tuple(PROFILES))
    for name in ("jobs", "max_findings"):
        if getattr(options, name) < 0:
            raise UsageError(f"{name} must not be negative")
    for name in ("max_line_bytes", "max_depth", "memory_limit"):
        if getattr(options, name) < 1:
            raise UsageError(f"{name} must be at least 1")
    enabled_codes(options)
    if options.flow.passing is not None:
        _one_of("way for rows to pass", options.flow.passing, PASSING)
    if options.flow.idle_timeout <= 0:
        raise UsageError("idle_timeout must be more than 0 seconds")
    return _with_pattern(_with_schema(options))


def _with_pattern(options: Options) -> Options:
    if options.noise is None:
        return options
    try:
        re.compile(options.noise)
    except re.error as error:
        raise UsageError(f"the pattern of noise is no regular expression: {error}") from error
    return replace(options, skip_noise=True)


def _with_schema(options: Options) -> Options:
    if options.schema is not None and options.schema_version != "auto":
        raise UsageError("a schema of one's own and a schema version exclude each other")
    if options.schema is not None:
        try:
            schema = parsing.fast(options.schema.encode())
        except ValueError as error:
            raise UsageError(f"the schema is no JSON: {error}") from error
        compile_schema(schema, options.engine, trusted=False)
    return options


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"unknown {what} {value!r}; known are: {', '.join(known)}")
