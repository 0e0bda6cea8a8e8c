"""Check the files of infereval: a benchmark, or an evaluation without its items, then each item."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from typing import Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.positions import envelope_locator, json_locator
from evalstream.formats.base import load_catalogue, other_formats
from evalstream.formats.infereval.benchmark_hash import PREFIX, compute_hashes
from evalstream.formats.infereval.compact import compact_benchmark
from evalstream.formats.infereval.files import RereadDocument
from evalstream.formats.infereval.format import (
    BENCHMARK,
    EVALUATION,
    ITEMS,
    NAME,
    NOT_OURS,
    VERSION,
    kind_by_members,
)
from evalstream.formats.infereval.items import ItemPass, parse_envelope
from evalstream.formats.infereval.rules import benchmarks, evaluations
from evalstream.formats.infereval.rules.benchmarks import INF101
from evalstream.formats.infereval.rules.samples import INF308, INF309, open_votes
from evalstream.formats.infereval.schema import document_validator, is_valid, schema_violations
from evalstream.formats.infereval.views import Benchmark, BenchmarkItem, Evaluation
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import BrokenCompression, CannotCheck, describe_error
from evalstream.model.finding import Show, Violation
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun
from evalstream.parsing.limits import MOST_JSON_BYTES, refuse_many_values
from evalstream.parsing.object_splitter import Envelope, ObjectSplitter
from evalstream.rules.inputs import ES001, ES002, ES003, ES005

OF_EVALUATIONS: Final = (
    *(INF101, evaluations.INF301, evaluations.INF302, evaluations.INF307),
    INF309,
)
"""The rules that check the part of an evaluation outside its items."""

OF_BENCHMARKS: Final = (
    *(INF101, benchmarks.INF204, benchmarks.INF205, benchmarks.INF206, benchmarks.INF207),
    *(benchmarks.INF208, benchmarks.INF210, benchmarks.INF211),
)
"""The rules that check a benchmark as a whole."""

OF_BENCHMARK_ITEMS: Final = (
    *(INF101, benchmarks.INF201, benchmarks.INF202, benchmarks.INF203),
    *(benchmarks.INF209, benchmarks.INF210, benchmarks.INF211),
)
"""The rules that check an item of a benchmark."""

UNCOMPARED: Final = "there was no benchmark to compare it with"
"""Why the verdict of an evaluation that was checked alone is unconfirmed."""


def check(run: Run, options: Options, show: Show, progress: Progress) -> RunSummary:
    """Check one run and pass its findings to `show`, in order."""
    documents = DocumentCheck(run, options, show, load_catalogue(NAME))
    if run.rows is not None:
        return EvaluationCheck(documents, progress).summary()
    read = read_benchmark(documents, run.aggregate or "")
    return documents.close(version=read.version)


class EvaluationCheck:
    """The check of one evaluation, with its benchmark if it has one.

    The document is read twice: first the part outside the items, which says how to check them and
    may come after them, then the items, of which only one is in memory at a time.
    """

    def __init__(self, documents: DocumentCheck, progress: Progress) -> None:
        self._documents, self._progress = documents, progress
        self._options, self._run = documents.options, documents.run
        self._read = ReadBenchmark(None)
        self._items: ItemPass | None = None
        self._evaluation: Evaluation | None = None
        self._instead: ReadBenchmark | None = None
        self._replaced: frozenset[str | None] = frozenset()

    def summary(self) -> RunSummary:
        """Check the run and return its summary."""
        if self._run.aggregate is not None:
            self._read = read_benchmark(self._documents, self._run.aggregate)
        reading = self._documents.reading(lambda: count_noun(self._rows, "item"))
        try:
            with reading, closing(self._document()) as document:
                self._check(document)
                difference = document.difference()
                if difference is not None:
                    self._documents.note_change(difference)
        finally:
            self._progress.end()
        return self._close_check()

    def _document(self) -> RereadDocument:
        sealing = self._options.sealing
        text = None if sealing is None else sealing.text
        return RereadDocument(self._run.rows or "", self._documents.watch, text=text)

    @property
    def _rows(self) -> int:
        return self._items.count if self._items is not None else 0

    def _check(self, document: RereadDocument) -> None:
        members = ObjectSplitter(ITEMS, self._options.max_line_bytes)
        for piece in document.pieces():
            STOPPING.check()
            members.feed(piece)
        members.end()
        envelope, breaks_off = members.envelope(), members.issue is not None
        if breaks_off:
            # The part before the break is read as if the object ended there.
            envelope = envelope._replace(text=envelope.text + b"}")
        self._documents.locate(envelope_locator(envelope))
        found = self._read_whole(envelope)
        if found is None or not self._is_evaluation(document, found, breaks_off=breaks_off):
            return
        if not breaks_off:
            shape = schema_violations(document_validator(EVALUATION, self._options.engine), found)
            self._documents.note_all(
                violation for violation in shape if violation.pointer not in self._replaced
            )
        if found.get(ITEMS) and isinstance(found[ITEMS], list):
            self._documents.cannot("a second list of items was not checked")
        self._evaluation = self._held_against(found, breaks_off=breaks_off)
        self._check_items(document, self._evaluation)
        if not breaks_off:
            self._check_whole(self._evaluation)

    def _read_whole(self, envelope: Envelope) -> dict[str, Any] | None:
        if not envelope.is_whole:
            most = self._options.max_line_bytes
            limit = f"{most:,} bytes (--max-line-bytes)"
            reason = f"the part outside the items is longer than {limit}"
            self._documents.refuse(ES003.violation(reason), None, reason)
            return None
        refuse_many_values(envelope.text)
        reading = parse_envelope(envelope, self._options.max_depth)
        for violation, line, column in reading.violations:
            self._documents.note(violation, line=line, column=column)
        if reading.value is None:
            self._documents.cannot("the evaluation could not be read as an object")
        self._replaced = reading.replaced
        return reading.value

    def _is_evaluation(
        self, document: RereadDocument, found: dict[str, Any], *, breaks_off: bool
    ) -> bool:
        """Return whether an object is an evaluation; a benchmark in its place is checked as one."""
        kind = kind_by_members(found.keys())
        if kind == BENCHMARK and self._run.aggregate is None:
            self._instead = read_text(self._documents, document.whole(), self._documents.name)
            return False
        if kind == EVALUATION or (breaks_off and found.keys() == {ITEMS}):
            return True
        reason = f"this is {NOT_OURS}; {other_formats()}"
        self._documents.refuse(ES005.violation(reason), None, reason)
        return False

    def _held_against(self, found: dict[str, Any], *, breaks_off: bool) -> Evaluation:
        """Return the evaluation with its benchmark and the recomputed hash of the benchmark."""
        benchmark, hashes = self._read.benchmark, None
        if benchmark is not None and self._read.has_hash:
            items = (item for _, item in benchmark.items)
            hashes = compute_hashes(benchmark.document, found.get("framework_version"), items)
        elif benchmark is not None:
            self._documents.cannot("the benchmark is malformed, so its hash could not be taken")
        lacking = "the benchmark could not be read" if self._run.aggregate else self._run.missing
        return Evaluation(found, benchmark, hashes, breaks_off, lacking)

    def _check_items(self, document: RereadDocument, evaluation: Evaluation) -> None:
        self._documents.await_parts()
        items = self._items = ItemPass(self._documents, evaluation)
        members, last = ObjectSplitter(ITEMS, self._options.max_line_bytes), None
        self._progress.begin(self._documents.name, document.size)
        for piece in chain(document.pieces(), [b""]):
            STOPPING.check()
            for element in members.feed(piece) if piece else members.end():
                if element.whole:
                    items.take(element)
                else:
                    last = element
            self._documents.size += len(piece)
            self._progress.advance(len(piece), items.count, self._documents.collector.errors)
        items.finish()
        if members.issue is not None:
            items.break_off(members.issue, last)

    def _check_whole(self, evaluation: Evaluation) -> None:
        for rule in OF_EVALUATIONS:
            self._documents.note_all(rule.apply(evaluation))
        benchmark, items = evaluation.benchmark, self._items
        if items is not None:
            self._documents.note_all(open_votes(items.tally.claims()))
            self._documents.note_all(items.usual.report())
        # A second list of items is not looked at.
        if benchmark is None or items is None or evaluation.document.get(ITEMS):
            return
        missing = [name for name in benchmark.by_id if name not in items.found]
        if missing:
            self._documents.note(evaluations.missing_items(missing))

    def _describe_compared(self, evaluation: Evaluation) -> Iterator[Checked]:
        """Say how many verdicts were compared with the responses that they are of."""
        items = self._items
        if items is None or not items.samples:
            return
        collector, code = self._documents.collector, INF308.code
        if evaluation.reading is None or code not in collector.context.enabled_codes:
            yield Checked("no verdict read from its response", None)
            return
        of = f"{items.answered:,} of {count_noun(items.samples, 'verdict')}"
        differ = any(one == code for one, _ in collector.counts)
        is_ok = None if items.answered < items.samples else True
        yield Checked(f"{of} compared with the response", False if differ else is_ok)

    def _close_check(self) -> RunSummary:
        """Return the verdict: the run passes only if it was checked against a benchmark."""
        documents, evaluation = self._documents, self._evaluation
        if self._instead is not None:
            return documents.close(rows=self._instead.rows, version=self._instead.version)
        version = None if evaluation is None else read_version(evaluation.document)
        items = self._items
        claims = None if items is None else list(items.tally.claims())
        is_alone = evaluation is not None and evaluation.benchmark is None
        summary = documents.close(rows=self._rows, version=version, claims=claims)
        if evaluation is None:
            return summary
        summary.checked = tuple(self._describe_compared(evaluation))
        if evaluation.hashes is not None:
            declared = evaluation.document.get("benchmark_hash")
            summary.algorithm, summary.covers = "sha256", "benchmark"
            summary.actual = evaluation.hashes[0].removeprefix(PREFIX)
            summary.declared = declared.removeprefix(PREFIX) if isinstance(declared, str) else None
            if declared in evaluation.hashes:
                summary.actual = summary.declared
        if items is not None and items.links is not None:
            summary.links = items.links.links
        if is_alone:
            summary.leave_unconfirmed(UNCOMPARED)
        return summary


class ReadBenchmark(NamedTuple):
    """A benchmark, or None, and whether it has a normal form and thus a hash."""

    benchmark: Benchmark | None
    has_hash: bool = False

    @property
    def rows(self) -> int:
        """The number of checked items."""
        return len(self.benchmark.items) if self.benchmark is not None else 0

    @property
    def version(self) -> str | None:
        """The version of the benchmark's structure."""
        return None if self.benchmark is None else read_version(self.benchmark.document)


def read_benchmark(documents: DocumentCheck, path: str) -> ReadBenchmark:
    """Read a benchmark, compressed or not, and note its violations."""
    name = printable(path)
    try:
        with closing(RereadDocument(path, documents.watch, MOST_JSON_BYTES)) as document:
            compact = compact_benchmark(document.pieces(), documents.options)
            text = b"" if compact is not None else document.whole()
    except (OSError, CannotCheck) as error:
        rule = ES002 if isinstance(error, BrokenCompression) else ES001
        reason = f"cannot be read: {describe_error(error)}"
        documents.refuse(rule.violation(reason), name, f"{name} {reason}")
        return ReadBenchmark(None)
    if compact is not None:
        documents.size += compact.size
        documents.locate(compact.locate, name)
        documents.note_all(_violations(compact), name)
        return ReadBenchmark(compact, has_hash=True)
    documents.size += len(text)
    return read_text(documents, text, name)


def read_text(documents: DocumentCheck, text: bytes, name: str) -> ReadBenchmark:
    """Check the text of a benchmark and note its violations; `name` is its name in reports."""
    documents.locate(json_locator(text), name)
    reading = documents.read(text, name, "a benchmark")
    if reading is None or reading.value is None:
        return ReadBenchmark(None)
    value = reading.value
    if kind_by_members(value.keys()) != BENCHMARK:
        violation = ES005.violation(f"this is {NOT_OURS}; {other_formats()}")
        documents.refuse(violation, name, f"{name} is not a benchmark")
        return ReadBenchmark(None)
    shape = schema_violations(document_validator(BENCHMARK, documents.options.engine), value)
    documents.note_all(reading.filter_violations(shape), name)
    benchmark = Benchmark(value)
    documents.note_all(reading.filter_violations(_violations(benchmark)), name)
    return ReadBenchmark(benchmark, is_valid(shape) and not reading.replaced)


def read_version(document: Any) -> str:
    """Return the version that a document declares, or the only known one."""
    declared = document.get("schema_version")
    return declared if isinstance(declared, str) else VERSION


def _violations(benchmark: Benchmark) -> Iterator[Violation]:
    """Yield what rules find in a benchmark as a whole, then in each of its items."""
    for rule in OF_BENCHMARKS:
        yield from rule.apply(benchmark)
    for index, value in benchmark.items:
        item = BenchmarkItem(index, value, benchmark)
        for rule in OF_BENCHMARK_ITEMS:
            yield from rule.apply(item)
