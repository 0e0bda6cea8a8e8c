"""The hashes of a benchmark by its path."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from evalstream.formats.infereval.benchmark_hash import compute_hashes
from evalstream.formats.infereval.compact import compact_benchmark
from evalstream.formats.infereval.files import Document, whole_document
from evalstream.formats.infereval.schema import benchmark_validator, is_valid, schema_violations
from evalstream.model.options import Options


def benchmark_hashes(path: str, version: Any, options: Options) -> tuple[str, ...]:
    """Return the hash that a framework_version writes of a benchmark, then the other form's.

    There are none of a benchmark that does not match its schema. Raises OSError and CannotCheck.
    """
    with closing(Document(path)) as document:
        compact = compact_benchmark(document.pieces(), options)
    if compact is not None:
        return compute_hashes(compact.document, version, (item for _, item in compact.items))
    whole = whole_document(path)
    if not is_valid(schema_violations(benchmark_validator(options.engine), whole)):
        return ()
    return compute_hashes(whole, version)
