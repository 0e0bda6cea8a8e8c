"""Check a benchmark of infereval without an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.positions import json_locator
from evalstream.engine.row_pass import describe_error
from evalstream.formats.infereval.catalogue import OF_BENCHMARK_ITEMS, OF_BENCHMARKS
from evalstream.formats.infereval.compact import compact_benchmark
from evalstream.formats.infereval.documents import BENCHMARK, VERSION, kind_by_members
from evalstream.formats.infereval.files import NOT_OURS, RereadDocument
from evalstream.formats.infereval.schema import benchmark_validator, is_valid, schema_violations
from evalstream.formats.infereval.sound_items import is_plain
from evalstream.formats.infereval.views import Benchmark, BenchmarkItem
from evalstream.io.names import printable
from evalstream.model.errors import BrokenCompression, CannotCheck
from evalstream.model.finding import Violation
from evalstream.parsing.limits import MOST_JSON_BYTES
from evalstream.rules.base import Rule
from evalstream.rules.inputs import ES001, ES002, ES005
from evalstream.rules.syntax import ObjectReading


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
        documents.note(rule.violation(f"cannot be read: {describe_error(error)}"), name)
        documents.cannot(f"{name} cannot be read: {describe_error(error)}")
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
    return _check_value(documents, reading, reading.value, name)


def _check_value(
    documents: DocumentCheck, reading: ObjectReading, value: dict[str, Any], name: str
) -> ReadBenchmark:
    if kind_by_members(value.keys()) != BENCHMARK:
        documents.note(ES005.violation(f"this is {NOT_OURS}"), name)
        documents.cannot(f"{name} is not a benchmark")
        return ReadBenchmark(None)
    shape = schema_violations(benchmark_validator(documents.options.engine), value)
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
    for check in _checks(OF_BENCHMARKS):
        yield from check(benchmark)
    checks = _checks(OF_BENCHMARK_ITEMS)
    for index, value in benchmark.items:
        if benchmark.matches_schema and is_plain(value, benchmark):
            continue
        item = BenchmarkItem(index, value, benchmark)
        for check in checks:
            yield from check(item)


def _checks(rules: Iterable[Rule]) -> list[Callable[[Any], Iterable[Violation]]]:
    return [rule.record for rule in rules if rule.record is not None]
