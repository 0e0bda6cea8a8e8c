"""The contenders: programs that judge rows, each run in its own process."""

from __future__ import annotations

from benchmarks.contenders import evalstream
from benchmarks.contenders.ajv import AJV
from benchmarks.contenders.contract import Contender
from benchmarks.contenders.openssl import FLOOR
from benchmarks.contenders.python_jsonschema import PYTHON_JSONSCHEMA
from benchmarks.contenders.python_start import PYTHON_START
from benchmarks.contenders.sourcemeta import SOURCEMETA
from benchmarks.contenders.unpack import GZIP, UNPACK, ZSTD
from benchmarks.contenders.upstream import UPSTREAM

CONTENDERS = {
    contender.name: contender
    for contender in (
        FLOOR,
        PYTHON_START,
        UNPACK,
        *evalstream.CONTENDERS,
        SOURCEMETA,
        AJV,
        PYTHON_JSONSCHEMA,
        UPSTREAM,
        GZIP,
        ZSTD,
    )
}

__all__ = ["CONTENDERS", "FLOOR", "PYTHON_START", "UNPACK", "Contender"]
