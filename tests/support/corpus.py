"""The development corpus that may lie beside a checkout: where it is and how to read it."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from paths import SHARED

from evalstream.formats.eee import versions
from evalstream.formats.eee.exact_path import RowReader
from evalstream.formats.eee.row_engine import EngineContext
from evalstream.formats.eee.rules.version import MISSING
from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import Finding, Violation
from evalstream.model.options import Options
from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.schema_errors import Validator
from evalstream.parsing.schema_files import builtin_schema
from evalstream.rules.schema import explain_schema

CORPUS = SHARED / "corpus"

needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the development corpus is not kept in the repository"
)

ENGINES = ("rust", "portable")
REFERENCE_NAMES = {"0.2.0+list": "0.2.0-tag"}
"""How the corpus calls the versions that we call otherwise."""

TRANSCRIPT_PLACES = {"/output", "/interactions", "/messages", "/metrics"}
"""What the conditional branches of a row look at."""

Errors = frozenset[tuple[str, str]]
"""Breaches of a schema as pairs of JSON Pointer and keyword."""


@lru_cache(maxsize=16)
def expectations(name: str) -> Any:
    """Return an expected file of the corpus; an empty object where there is no corpus."""
    path = CORPUS / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def lines_of(path: Path) -> list[bytes]:
    """Return the lines of a file, cut at newlines alone."""
    return path.read_bytes().removesuffix(b"\n").split(b"\n")


def reference_version(version: str, aliases: Mapping[str, str]) -> str:
    """Return the version under which the corpus lists what it expects of another."""
    named = REFERENCE_NAMES.get(version, version)
    return aliases.get(named, named)


@lru_cache(maxsize=32)
def reader_of(version: str, engine: str) -> RowReader:
    """Return a reader that judges every row by one version, or by the one it declares."""
    options = Options(schema_version=version, engine=engine)
    fallback = versions.DEFAULT_VERSION if version == "auto" else version
    return RowReader(
        EngineContext(options=options, selection=CATALOGUE.selection(options), version=fallback)
    )


@lru_cache(maxsize=32)
def aggregate_validator(version: str, engine: str) -> Validator:
    """Return the compiled schema that judges aggregates of one version."""
    return compile_schema(
        builtin_schema(versions.aggregate_schema_name(version)), engine, trusted=True
    )


@lru_cache(maxsize=1 << 14)
def row_violations(line: bytes, version: str, engine: str) -> list[Violation]:
    """Say everything that is wrong with a row by itself under one version."""
    return reader_of(version, engine).explain(line, torn=False)[1]


@lru_cache(maxsize=1 << 14)
def aggregate_violations(text: bytes, version: str, engine: str) -> list[Violation]:
    """Say everything that is wrong with an aggregate under one version."""
    violations = aggregate_validator(version, engine).errors(json.loads(text))
    return explain_schema(violations, own=True, version=version, missing=MISSING)


def schema_errors_of(violations: Iterable[Violation | Finding]) -> Errors:
    """Return the schema's part of some faults: those that carry a keyword."""
    return frozenset(
        (violation.pointer or "", violation.keyword)
        for violation in violations
        if violation.keyword
    )


def reference_errors(
    errors: Iterable[Sequence[str]], document: Any, violations: Iterable[Violation | Finding]
) -> Errors:
    """Return what the reference validator says, folded as our findings are.

    `document` is what was judged and `faults` are our findings on it.
    """
    said = frozenset((place, keyword) for place, keyword in errors)
    if any(violation.code == "ES109" for violation in violations):
        return _without_the_type_of_a_row(said)
    said = _without_repeated_negation(said)
    said = _without_vacuous_branches(said, document)
    return _with_one_keyword_per_null(said, document, violations)


def value_at(document: Any, place: str) -> Any:
    """Return the value at a JSON Pointer."""
    for step in place.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def lay_out_store(store: Path) -> list[tuple[Path, Path | None]]:
    """Lay the corpus out as a datastore: each record where its path of then, or its model, says.

    The paths of rows are declared as they are now; nothing else is changed.
    """
    placed: list[tuple[Path, Path | None]] = []
    for pair in expectations("eee-pairs/expected.json")["pairs"]:
        if pair.get("aggregate_facts"):
            root = CORPUS / "eee-pairs" / pair["id"]
            rows = root / pair["instance"] if pair.get("instance_facts") else None
            placed.append(_place(store, root / pair["aggregate"], pair["aggregate"], rows))
    for one in expectations("eee-aggregates/expected.json")["files"]:
        path = CORPUS / "eee-aggregates" / one["file"]
        placed.append(_place(store, path, one["path"], None))
    return placed


def _place(store: Path, source: Path, declared: str, rows: Path | None) -> tuple[Path, Path | None]:
    place = store / declared[declared.index("data/") :]
    document = json.loads(source.read_bytes())
    place.parent.mkdir(parents=True, exist_ok=True)
    target = place.with_name(f"{place.stem}_samples.jsonl") if rows is not None else None
    if rows is not None and target is not None:
        shutil.copy(rows, target)
        details = document.get("detailed_evaluation_results")
        if isinstance(details, dict):
            details["file_path"] = target.relative_to(store).as_posix()
    place.write_text(json.dumps(document))
    return place, target


def _without_repeated_negation(said: Errors) -> Errors:
    """Fold `not: null` into the `type` that stands beside it in the same branch."""
    return frozenset(pair for pair in said if pair[1] != "not" or (pair[0], "type") not in said)


def _without_the_type_of_a_row(said: Errors) -> Errors:
    """Leave a row that is not an object to ES109, which speaks before the schema is asked."""
    return said - {("", "type")}


def _without_vacuous_branches(said: Errors, document: Any) -> Errors:
    """Leave out both branches of a row without interaction_type, which satisfies both `if`s.

    The root's `required` stays: it is interaction_type itself that is missing.
    """
    if not isinstance(document, dict) or "interaction_type" in document:
        return said
    if "evaluation_results" in document or ("", "required") not in said:
        return said
    return frozenset(pair for pair in said if pair[0] not in TRANSCRIPT_PLACES)


def _with_one_keyword_per_null(
    said: Errors, document: Any, violations: Iterable[Violation | Finding]
) -> Errors:
    """Keep one keyword of a null in an optional field: it is one fault with one repair."""
    nulls = {
        violation.pointer: violation.keyword
        for violation in violations
        if violation.code == "ES204"
        and violation.pointer
        and value_at(document, violation.pointer) is None
    }
    return frozenset(
        (place, keyword) for place, keyword in said if nulls.get(place, keyword) == keyword
    )
