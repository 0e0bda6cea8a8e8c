"""The contenders: programs that judge rows, each run in its own process."""

from __future__ import annotations

from benchmarks.contenders.ajv import AJV
from benchmarks.contenders.contract import Contender
from benchmarks.contenders.evalstream import ALL_FINDINGS, ONE_WORKER, PORTABLE, STDIN, TWO_WORKERS
from benchmarks.contenders.openssl import FLOOR
from benchmarks.contenders.python_jsonschema import PYTHON_JSONSCHEMA
from benchmarks.contenders.sourcemeta import SOURCEMETA
from benchmarks.contenders.upstream import UPSTREAM

CONTENDERS = {
    contender.name: contender
    for contender in (
        FLOOR,
        ONE_WORKER,
        TWO_WORKERS,
        STDIN,
        ALL_FINDINGS,
        PORTABLE,
        SOURCEMETA,
        AJV,
        PYTHON_JSONSCHEMA,
        UPSTREAM,
    )
}

__all__ = ["CONTENDERS", "FLOOR", "Contender"]
