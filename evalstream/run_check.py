"""Check one run: its rows through the executor, then the file against its aggregate."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from evalstream import layout
from evalstream.aggregate import Aggregate
from evalstream.catalog import RULES, enabled_codes
from evalstream.collector import Collector
from evalstream.documents import PlacedFault, in_order, read_aggregate
from evalstream.engine import BlockResult, engine_for
from evalstream.errors import CannotCheck
from evalstream.executors import Backend, run_in_order, serial
from evalstream.formats import eee
from evalstream.model import MEBIBYTE, Block, Fault, Finding, Lines, Options, RunSummary, Severity
from evalstream.probe import context_of
from evalstream.progress import Progress
from evalstream.rule import Context, RunFacts
from evalstream.rules.datastore import ES902, are_undeclared
from evalstream.rules.identity import file_recipe
from evalstream.rules.json import ES102, ES108
from evalstream.rules.recompute import summaries
from evalstream.rules.seal import ES506, checksum_algorithms
from evalstream.rules.stream import ES001, ES005
from evalstream.runs import STDIN, Run, rows_named_like
from evalstream.sources.file import FileSource, read_lines
from evalstream.sources.stream import StreamSource

BLOCK_BYTES: Final = 2 * MEBIBYTE
"""Small enough to stay in the processor's caches: measured best among 256 KiB to 8 MiB."""

SMALLEST_BLOCK_BYTES: Final = MEBIBYTE
WORTH_A_POOL_BYTES: Final = 24 * MEBIBYTE
"""Below this a second process costs more than it saves."""

NOT_CHECKED: Final = frozenset({ES001.code, ES005.code})
"""Codes which say that something was not looked at; alone they lead to exit code 3."""

Source = FileSource | StreamSource


def check_run(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run and hand its findings to `show`, in order."""
    return _RunCheck(run, options, show, progress).summary()


class _RunCheck:
    """The check of one run, step by step."""

    def __init__(
        self, run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
    ) -> None:
        self._started = time.perf_counter()
        self._run, self._options, self._show, self._progress = run, options, show, progress
        self._rows_name = printable(run.rows) if run.rows else None
        self._aggregate_name = printable(run.aggregate) if run.aggregate else None
        self._trouble: str | None = None
        self._faults: list[Fault] = []
        self._aggregate_faults: list[PlacedFault] = []
        self._aggregate: Aggregate | None = None
        self._checksums: dict[str, str] = {}
        self._layout = layout.JSONL
        self._bytes = 0

    def summary(self) -> RunSummary:
        """Do everything, and say what became of the run."""
        self._read_aggregate()
        source = self._open_rows()
        try:
            head = self._head(source)
            context = context_of(self._options, self._aggregate, head)
            name = self._rows_name or self._aggregate_name or ""
            collector = Collector(context, name, self._show)
            try:
                if source is not None:
                    self._check_rows(source, head, collector)
                facts = self._facts(source, collector)
                self._speak(facts, collector)
            finally:
                collector.close()
        finally:
            if source is not None:
                source.close()
        return self._summarised(facts, collector)

    def _read_aggregate(self) -> None:
        path, name = self._run.aggregate, self._aggregate_name
        if path is None or name is None:
            return
        try:
            reading = read_aggregate(path, name, self._options)
        except OSError as error:
            self._cannot(f"the aggregate cannot be read: {_reason(error)}")
            fault = ES001.fault(f"cannot be read: {_reason(error)}")
            self._aggregate_faults.append(PlacedFault(fault))
        else:
            self._aggregate, self._aggregate_faults = reading.aggregate, reading.faults
            if reading.aggregate is None:
                self._cannot("the aggregate could not be read as one")
        if self._run.missing:
            self._cannot(self._run.missing)
            if ES902.code not in enabled_codes(self._options):
                pointer = "/detailed_evaluation_results/file_path"
                fault = ES001.fault(self._run.missing, pointer=pointer)
                self._aggregate_faults.append(PlacedFault(fault))

    def _open_rows(self) -> Source | None:
        path = self._run.rows
        if path is None:
            return None
        try:
            if path == STDIN:
                return StreamSource(_standard_input(), STDIN, self._options.max_line_bytes)
            if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
                descriptor = os.open(path, os.O_RDONLY)
                return StreamSource(descriptor, path, self._options.max_line_bytes, owned=True)
            return FileSource(path)
        except OSError as error:
            self._cannot(f"cannot be opened: {_reason(error)}")
            self._faults.append(ES001.fault(f"cannot be opened: {_reason(error)}"))
            return None

    def _head(self, source: Source | None) -> bytes:
        """Return the first bytes; what cannot be read now is told when the rows are read."""
        try:
            return b"" if source is None else source.head()
        except OSError:
            return b""

    def _check_rows(self, source: Source, head: bytes, collector: Collector) -> None:
        found = layout.layout_of(head, source.size)
        self._layout = found.kind
        self._progress.begin(self._rows_name or "", source.size)
        try:
            if found.kind == layout.JSONL:
                self._check_blocks(source, collector)
            else:
                self._not_rows(found, source)
            self._checksums = source.checksums()
        except OSError as error:
            self._cannot(f"reading failed part-way: {_reason(error)}")
            self._faults.append(ES001.fault(f"reading failed part-way: {_reason(error)}"))
        except CannotCheck as error:
            self._cannot(str(error))
            self._faults.append(ES001.fault(str(error)))
        finally:
            self._progress.end()

    def _check_blocks(self, source: Source, collector: Collector) -> None:
        try:
            for size, result in self._results(source, collector.context):
                collector.add(result)
                self._bytes += size
                findings = sum(collector.counts.values())
                self._progress.advance(size, collector.tally.rows, findings)
        finally:
            collector.end_of_rows()

    def _results(self, source: Source, context: Context) -> Iterator[tuple[int, BlockResult]]:
        backend, length = _backend(source, self._options.jobs or usable_cores())
        algorithms = checksum_algorithms(self._aggregate)
        engine_for(context).expect(source.size)
        source.start_digest(algorithms)
        blocks: Iterator[Block] = source.blocks(length)
        if isinstance(source, FileSource):
            blocks = source.digested(blocks, beside=backend.name != "serial")
        return run_in_order(backend, partial(check_block, context), blocks)

    def _not_rows(self, found: layout.Layout, source: Source) -> None:
        """Say why the rows were not looked at; the bytes are still digested."""
        if found.kind == layout.WIDE:
            message = f"the file is in {found.detail}, not UTF-8; its rows cannot be read"
            self._faults.append(ES102.fault(message, severity=Severity.ERROR))
        elif found.kind == layout.COMPRESSED:
            message = f"the file is compressed ({found.detail}); unpack it and check it with: -"
            self._faults.append(ES005.fault(message))
        elif found.kind == layout.AGGREGATE:
            self._faults.append(ES005.fault("this is an aggregate, not a file of rows"))
        elif self._aggregate is not None and self._aggregate.claim("format") == "json":
            message = "rows in one JSON array; write one row per line to have them checked"
            self._faults.append(ES005.fault(message))
        self._cannot(f"{self._rows_name}: the rows were not looked at")
        source.start_digest(checksum_algorithms(self._aggregate))
        for _ in source.blocks(BLOCK_BYTES) if isinstance(source, StreamSource) else ():
            pass

    def _facts(self, source: Source | None, collector: Collector) -> RunFacts:
        aggregate = self._aggregate
        algorithm = checksum_algorithms(aggregate)[0]
        complete = source is not None and bool(self._checksums)
        named_like = rows_named_like(self._run.aggregate) if self._run.aggregate else ()
        return RunFacts(
            file=self._rows_name or self._aggregate_name or "",
            context=collector.context,
            tally=collector.tally,
            path=self._run.rows if isinstance(source, FileSource) else None,
            aggregate=aggregate,
            checksums=self._checksums,
            diagnose=partial(source.diagnose, algorithm=algorithm) if source else lambda _: None,
            changed=source.changed() if source is not None else None,
            layout=self._layout if complete else "unread",
            coverage=collector.coverage,
            aggregate_path=self._run.aggregate,
            beside=tuple(filter(os.path.isfile, named_like)),
            missing=self._run.missing,
        )

    def _speak(self, facts: RunFacts, collector: Collector) -> None:
        """Hand on what concerns whole files: the rows file first, then its aggregate."""
        about_rows, about_aggregate = list(self._faults), list(self._aggregate_faults)
        about_aggregate.extend(map(PlacedFault, self._aggregate_rule_faults(facts)))
        for fault in self._run_faults(facts):
            about = RULES[fault.code].about_aggregate and not fault.about_rows
            if about and facts.aggregate is not None:
                about_aggregate.append(PlacedFault(fault))
            else:
                about_rows.append(fault)
        for fault in sorted(about_rows, key=lambda fault: (fault.code, fault.pointer or "")):
            collector.note(fault)
        for placed in in_order(about_aggregate):
            collector.note(placed.fault, self._aggregate_name, placed.line)
        if collector.tally.unread and not self._failed(collector):
            self._cannot(f"{collector.tally.unread:,} rows could not be read")
        if self._rows_name and not collector.tally.rows and not self._failed(collector):
            self._cannot("no row was looked at")

    def _aggregate_rule_faults(self, facts: RunFacts) -> Iterator[Fault]:
        """Judge the aggregate by itself, but for results with a number that is none (ES108)."""
        if facts.aggregate is None:
            return
        pointers = [
            placed.fault.pointer or ""
            for placed in self._aggregate_faults
            if placed.fault.code == ES108.code
        ]
        numberless = {"/".join(pointer.split("/")[:3]) for pointer in pointers}
        for rule in RULES.values():
            if rule.aggregate is not None and rule.code in facts.context.enabled:
                for fault in rule.aggregate(facts.aggregate):
                    if "/".join((fault.pointer or "").split("/")[:3]) not in numberless:
                        yield fault

    def _run_faults(self, facts: RunFacts) -> Iterator[Fault]:
        looked_at = self._run.rows is not None and facts.layout != "unread"
        if self._run.rows is None and self._run.missing is None and self._aggregate:
            message = "no rows were found or declared; only the aggregate itself was checked"
            yield ES506.fault(message, severity=Severity.INFO)
        for (code, message, pointer), count, line in facts.tally.remarks:
            said = f"{message} (first on line {line:,})"
            yield Fault(code, said, pointer, severity=Severity.INFO, count=count, about_rows=True)
        enabled = facts.context.enabled
        unreadable = facts.aggregate is None and facts.aggregate_path is not None
        orphaned = ES902.code in enabled and are_undeclared(facts)
        for rule in RULES.values():
            if rule.run is None or rule.code not in enabled:
                continue
            # Another rule has said why nothing seals the rows.
            if rule is ES506 and (unreadable or orphaned):
                continue
            if looked_at or rule.about_paths:
                yield from rule.run(facts)

    def _cannot(self, reason: str) -> None:
        self._trouble = self._trouble or reason

    def _failed(self, collector: Collector) -> bool:
        threshold = self._options.threshold
        return any(
            severity >= threshold and code not in NOT_CHECKED for code, severity in collector.counts
        )

    def _summarised(self, facts: RunFacts, collector: Collector) -> RunSummary:
        summary = RunSummary(
            file=self._rows_name,
            aggregate=self._aggregate_name,
            format=eee.NAME,
            version=_version(facts),
            rows=collector.tally.rows,
            recipe=file_recipe(facts),
            seconds=time.perf_counter() - self._started,
            bytes=self._bytes,
            trouble=self._trouble,
            results=list(summaries(facts)) if self._rows_name else [],
        )
        for (code, severity), count in collector.counts.items():
            summary.counts[code] = summary.counts.get(code, 0) + count
            summary.severities[severity] = summary.severities.get(severity, 0) + count
        if self._failed(collector):
            summary.verdict = "failed"
        elif not self._trouble and self._aggregate is not None and self._rows_name:
            summary.verdict = "passed"
        aggregate = self._aggregate
        summary.algorithm = checksum_algorithms(aggregate)[0] if self._checksums else None
        summary.actual = self._checksums.get(summary.algorithm or "")
        declared = aggregate.claim("checksum") if aggregate else None
        summary.declared = declared if isinstance(declared, str) else None
        return summary


def check_block(context: Context, block: Block) -> tuple[int, BlockResult]:
    """Check one block in whatever process this is; the task that executors run.

    Return how many bytes of the input the block stands for, and what became of it.
    """
    if block.data is None:
        lines = read_lines(block, context.options.max_line_bytes)
    else:
        lines = Lines(block.data, base=block.offset, final=block.final)
    return block.length, engine_for(context).run(lines)


def printable(path: str) -> str:
    """Return a path as text that UTF-8 can hold."""
    return os.fsencode(path).decode(errors="replace")


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _backend(source: Source, jobs: int) -> tuple[Backend, int]:
    """Choose the executor and the length of blocks for an input."""
    if isinstance(source, StreamSource):
        small = source.ended
        length = BLOCK_BYTES
    else:
        small = source.size < WORTH_A_POOL_BYTES
        length = max(SMALLEST_BLOCK_BYTES, min(BLOCK_BYTES, source.size // (4 * jobs)))
    if jobs <= 1 or small:
        return serial.backend(), BLOCK_BYTES
    from evalstream.executors import pool

    return pool.backend(jobs), length


def _standard_input() -> int:
    """Return the descriptor of standard input. Raises OSError where it was closed."""
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.fileno()


def _version(facts: RunFacts) -> str | None:
    """Return the version of most rows, else the aggregate's."""
    counted = sorted(facts.tally.versions, key=lambda entry: -entry[1])
    if counted:
        return counted[0][0]
    return facts.aggregate.version if facts.aggregate else None


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
