"""benchmark_hash of infereval: the digest of a benchmark in its normal form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from evalstream.formats.infereval.compact import compact_benchmark
from evalstream.formats.infereval.files import RereadDocument, whole_document
from evalstream.formats.infereval.format import BENCHMARK, EVALUATION, kind_by_members
from evalstream.formats.infereval.schema import document_validator, is_valid, schema_violations
from evalstream.formats.releases import read_release
from evalstream.io.inputs import document_bytes
from evalstream.io.names import printable
from evalstream.model.changes import SealedText
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.parsing.json import UTF8_MARK, fast

PREFIX: Final = "sha256:"

NEW_EMPTIES: Final[Mapping[str, Any]] = {
    "ordinal_families": {},
    "copresence_rules": [],
    "entailment_rules": [],
    "regularities": [],
    "targets": [],
}
"""Members that are always in the normal form since 0.17.0; before, they were unknown."""

FIRST_WITH_EMPTIES: Final = (0, 17)


def compute_hashes(
    benchmark: Mapping[str, Any], version: Any, items: Iterable[Mapping[str, Any]] | None = None
) -> tuple[str, str]:
    """Return the benchmark_hash that a framework_version writes, and that of the other form.

    The digest is SHA-256 of compact JSON in ASCII with sorted keys and without nulls, as the
    package's canonical_benchmark_hash computes it. The benchmark must match its schema, except that
    references may be strings. With `items` these are its items, one at a time.
    """
    newer = normalise_benchmark(benchmark)
    older = {
        key: value
        for key, value in newer.items()
        if key not in NEW_EMPTIES or value != NEW_EMPTIES[key]
    }
    is_older = () < read_release(version) < FIRST_WITH_EMPTIES
    # The forms are usually one, and a benchmark may be large.
    forms = [newer] if len(older) == len(newer) else [newer, older]
    digests = _digests(forms, benchmark["items"] if items is None else items)
    digest, other = digests[0], digests[-1]
    return (other, digest) if is_older else (digest, other)


def normalise_benchmark(benchmark: Mapping[str, Any]) -> dict[str, Any]:
    """Return a benchmark without its items: defaults filled in, sets sorted, nulls left out."""
    normal = _fill_defaults(benchmark, {"schema_version": "1.0", "references": [], **_EMPTY_DESIGN})
    normal["bearers"] = {
        name: _fill_defaults(bearer, {"paraphrases": [], "references": []})
        for name, bearer in benchmark["bearers"].items()
    }
    normal["analysts"] = [_present(analyst) for analyst in benchmark["analysts"]]
    builders = _present(benchmark.get("context_builders") or {})
    normal["context_builders"] = {
        name: _builder(builders.get(name, {"joiner": joiner})) for name, joiner in _JOINERS.items()
    }
    normal.pop("items", None)
    for name, change in _PARTS.items():
        if name in normal:
            normal[name] = change(normal[name])
    return _with_references(normal)


def normal_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item of a benchmark in the same form."""
    normal = _fill_defaults(item, {"tags": [], "references": [], "factor_levels": {}})
    for name in ("premises", "conclusions"):
        normal[name] = ids(item[name])
    if "rsr_target" in normal:
        normal["rsr_target"] = {name: ids(given) for name, given in item["rsr_target"].items()}
    if "construction_metadata" in normal:
        metadata = _fill_defaults(normal["construction_metadata"], {"authored_blind_to_models": []})
        if isinstance(metadata.get("authored_on"), str):
            # A date may be written as midnight of that date.
            metadata["authored_on"] = metadata["authored_on"][:10]
        normal["construction_metadata"] = metadata
    if "monotonicity_step" in normal:
        step = _fill_defaults(normal["monotonicity_step"], {"expected": "non_decreasing"})
        normal["monotonicity_step"] = {**step, "tier_index": int(step["tier_index"])}
    return normal


def references(given: Any) -> list[Any]:
    """Return a list of references with strings written as objects and nulls left out."""
    return [
        {"citation": one}
        if isinstance(one, str)
        else _present(one)
        if isinstance(one, dict)
        else one
        for one in (given if isinstance(given, list) else [])
    ]


def ids(given: Any) -> list[str]:
    """Return the ids of a set of bearers: each once, sorted by code points."""
    return sorted({str(one) for one in given}) if isinstance(given, list) else []


def _digests(forms: Sequence[Mapping[str, Any]], items: Iterable[Mapping[str, Any]]) -> list[str]:
    ends = [_around_items(form) for form in forms]
    hashers = [hashlib.sha256(before) for before, _ in ends]
    for index, item in enumerate(items):
        text = (b"," if index else b"") + _encode_value(normal_item(item))
        for one in hashers:
            one.update(text)
    for one, (_, after) in zip(hashers, ends, strict=True):
        one.update(after)
    return [PREFIX + one.hexdigest() for one in hashers]


def _around_items(form: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """Return the texts before and after the items: members are sorted by name."""
    # The form always has analysts, bearers and context_builders before and other members after.
    before = _encode_value({key: value for key, value in form.items() if key < "items"})
    after = _encode_value({key: value for key, value in form.items() if key > "items"})
    return before[:-1] + b',"items":[', b"]," + after[1:]


def _encode_value(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}


def _fill_defaults(members: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return _with_references({**defaults, **_present(members)})


def _with_references(members: dict[str, Any]) -> dict[str, Any]:
    if "references" in members:
        members["references"] = references(members["references"])
    return members


def _builder(builder: Mapping[str, Any]) -> dict[str, Any]:
    if builder.get("kind") == "plugin" or "plugin" in builder:
        return {"kind": "plugin", **builder}
    # A builder without a joiner has " and ", also for conclusions.
    return {"kind": "template", "template": "{expressions}", "joiner": " and ", **builder}


def _constraints(constraints: Mapping[str, Any]) -> dict[str, Any]:
    return {key: int(value) for key, value in _present(constraints).items()}


def _each(defaults: Mapping[str, Any]) -> Callable[[Any], Any]:
    return lambda members: [_fill_defaults(one, defaults) for one in members]


_EMPTY_DESIGN: Final = {"factors": {}, "factor_kinds": {}, **NEW_EMPTIES}
_JOINERS: Final = {"premise": " and ", "conclusion": " or "}
_PARTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "verification_prompt": _present,
    "factor_constraints": _constraints,
    "copresence_rules": _each({"exhaustivity": False}),
    "regularities": _each({"test_item_ids": []}),
}


def benchmark_hashes(path: str, version: Any, options: Options) -> tuple[str, ...]:
    """Return the hash that a framework_version writes of a benchmark, then the other form's.

    There are none of a benchmark that does not match its schema. Raises OSError and CannotCheck.
    """
    with closing(RereadDocument(path)) as document:
        compact = compact_benchmark(document.pieces(), options)
    if compact is not None:
        return compute_hashes(compact.document, version, (item for _, item in compact.items))
    whole = whole_document(path)
    if not is_valid(schema_violations(document_validator(BENCHMARK, options.engine), whole)):
        return ()
    return compute_hashes(whole, version)


MEMBER: Final = "benchmark_hash"


def sealed_evaluation(run: Run, options: Options) -> SealedText:
    """Return an evaluation with the hash of its benchmark, in the form of its release.

    Raises UsageError without an evaluation, OSError, and CannotCheck without a sound benchmark and
    for an evaluation that cannot be edited.
    """
    if run.rows is None:
        raise UsageError("a benchmark has no place for a seal: name an evaluation of it")
    if run.aggregate is None:
        raise CannotCheck(run.missing or "there is no benchmark to take the hash of")
    text = document_bytes(run.rows)
    try:
        found = fast(text.removeprefix(UTF8_MARK))
    except ValueError as error:
        raise CannotCheck(f"{printable(run.rows)} cannot be edited: {error}") from error
    if not isinstance(found, dict) or kind_by_members(found.keys()) != EVALUATION:
        raise CannotCheck(f"{printable(run.rows)} is not an evaluation")
    hashes = benchmark_hashes(run.aggregate, found.get("framework_version"), options)
    if not hashes:
        raise CannotCheck("the benchmark is malformed, so its hash could not be taken")
    declared = found.get(MEMBER)
    if declared is not None and declared not in hashes:
        # The evaluation says which benchmark the model was asked; a seal must not unsay it.
        raise CannotCheck(f"its {MEMBER} is not that of this benchmark")
    from evalstream.parsing.json_edit import set_member

    try:
        return SealedText(run.rows, text, set_member(text, MEMBER, declared or hashes[0]))
    except ValueError as error:
        raise CannotCheck(f"{printable(run.rows)} cannot be edited: {error}") from error
