"""Rules about single rows of lm-eval's samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from evalstream.formats.lm_eval.response_filters import NotFollowed, follows
from evalstream.formats.lm_eval.row import (
    DIGEST_SCHEMA,
    DOC,
    HASHES,
    MOST_DOC_ID,
    PROMPT,
    TARGET,
    doc_hash,
    hashed_prompt,
    hashed_target,
    is_doc_hash,
    iterate_metrics,
    may_hold_image_digests,
    parse_digest,
    text_hash,
)
from evalstream.formats.lm_eval.row_scores import Derived, derive_scores, is_derived
from evalstream.formats.lm_eval.scoring_plan import ScoringPlan
from evalstream.model.finding import Severity, Violation
from evalstream.parsing.json import pointer, type_name
from evalstream.rules.base import declare_rule

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "doc_id": (int,),
    "target": (str,),
    "arguments": (dict, list),
    "resps": (list,),
    "filtered_resps": (list,),
    "filter": (str,),
    "metrics": (list,),
}
"""The types of the members that rows have beside doc and the digests."""

_OPTIONAL: Final = frozenset({"filter", "metrics", *HASHES})
"""Members that rows of older releases lack: digests before 0.4.3, filter and metrics before 0.4.7."""

_SCHEMA_NAMES: Final = {int: "integer", str: "string", dict: "object", list: "array"}


def row_structure(row: Mapping[str, Any]) -> Iterator[Violation]:
    """Return the violations of the structure of a row."""
    for name, types in _TYPES.items():
        if name not in row:
            if name not in _OPTIONAL:
                yield _report_missing("a row", name)
        elif type(row[name]) not in types and (name != "target" or "filter" in row):
            value = row[name]
            names = [_SCHEMA_NAMES[one] for one in types]
            yield LME101.violation(
                f"{name} must be {' or '.join(names)}, not {type_name(value)}",
                (name,),
                keyword="type",
                expected={"type": names[0] if len(names) == 1 else names},
                found=value,
            )
    if "doc" not in row:
        yield _report_missing("a row", "doc")
    doc_id = row.get("doc_id")
    if doc_id.__class__ is int and not 0 <= doc_id <= MOST_DOC_ID:
        expected = {"minimum": 0, "maximum": MOST_DOC_ID}
        message = "doc_id is not the number of a sample"
        yield LME101.violation(message, "/doc_id", expected=expected, found=doc_id)
    yield from _release_members(row)
    yield from _requests(row)
    yield from _metrics(row)


def _release_members(row: Mapping[str, Any]) -> Iterator[Violation]:
    """Report members that rows of a release have together, and of which a row has some."""
    missing = [name for name in HASHES if name not in row]
    if missing and len(missing) < len(HASHES):
        first = next(name for name in HASHES if name in row)
        yield _report_missing(f"a row with {first}", missing[0])
    if len(missing) == len(HASHES) and "filter" in row:
        yield _report_missing("a row with filter", DOC)
    for name, other in (("metrics", "filter"), ("filter", "metrics")):
        if name in row and other not in row:
            yield _report_missing(f"a row with {name}", other)


def _report_missing(holder: str, name: str) -> Violation:
    return LME101.violation(f"{holder} needs the member {name!r}", "", keyword="required")


def _requests(row: Mapping[str, Any]) -> Iterator[Violation]:
    """Report arguments that are not numbered, as with them no score can be derived.

    Source: `save_results_samples` in loggers/evaluation_tracker.py of lm_eval 0.4.3 to 0.4.13.
    """
    requests = row.get("arguments")
    if not isinstance(requests, dict):
        return
    yield from _numbered(("arguments",), "gen_args_", requests)
    for name, request in requests.items():
        yield from _numbered(("arguments", name), "arg_", request)


def _numbered(path: tuple[str, ...], start: str, members: Any) -> Iterator[Violation]:
    names = members.keys() if isinstance(members, dict) else {None}
    if names != {f"{start}{number}" for number in range(len(names))}:
        message = f"{path[-1]} must be an object of {start}0, {start}1, … alone"
        yield LME101.violation(message, path, keyword="type", found=members)


def _metrics(row: Mapping[str, Any]) -> Iterator[Violation]:
    listed = row.get("metrics")
    if not isinstance(listed, list):
        return
    seen = set()
    for place, name in enumerate(listed):
        details: dict[str, Any] = {"found": name}
        if not isinstance(name, str):
            message = f"metrics must hold names, not {type_name(name)}"
            details["expected"] = {"type": "string"}
        elif name not in row:
            message = f"metrics lists {name!r}, and the row has no member of this name"
        elif name in seen:
            message = f"metrics lists {name!r} twice"
        else:
            seen.add(name)
            continue
        yield LME102.violation(message, ("metrics", place), **details)


def row_digests(row: Mapping[str, Any], *, certain: bool) -> tuple[list[Violation], bool]:
    """Return the violations of the digests of a row, and whether a doc may show image digests.

    If the values are not `certain`, a digest that differs says nothing.
    """
    found: list[Violation] = []
    replaced = False
    for name, rule in ((DOC, LME201), (PROMPT, LME202), (TARGET, LME203)):
        declared = row.get(name)
        at: dict[str, Any] = {"pointer": pointer((name,)), "found": declared}
        if declared is None and name not in row:
            continue
        if not isinstance(declared, str) or parse_digest(declared) is None:
            message = f"{name} is not a SHA-256 in hexadecimal digits"
            found.append(LME103.violation(message, expected=DIGEST_SCHEMA, **at))
            continue
        actual = _actual(row, name, declared)
        if actual == declared or not certain:
            continue
        if name == DOC and may_hold_image_digests(row.get("doc")):
            replaced = True
            message = (
                f"{name} is not the SHA-256 of doc, which may show digests in the place of images"
            )
            found.append(rule.violation(message, severity=Severity.WARNING, **at))
        elif actual is not None:
            message = f"{name} is not the SHA-256 of {_SHOWN[name]}"
            found.append(rule.violation(message, expected=actual, **at))
        else:
            message = f"{name} cannot be that of {_SHOWN[name]}, which is missing or no text"
            found.append(rule.violation(message, **at))
    return found, replaced


def _actual(row: Mapping[str, Any], name: str, declared: str) -> str | None:
    """Return the digest of a text of the row, None if the row has no such text."""
    if name == DOC:
        if "doc" not in row:
            return None
        return declared if is_doc_hash(declared, row["doc"]) else doc_hash(row["doc"])
    shown = hashed_prompt(row) if name == PROMPT else hashed_target(row)
    return None if shown is None else text_hash(shown)


_SHOWN: Final = {DOC: "doc", PROMPT: "the first argument of the first request", TARGET: "target"}


def row_scores(
    row: Mapping[str, Any], plan: ScoringPlan, count: Callable[[str], None]
) -> Iterator[Violation]:
    """Return the violations of the metrics of a row; `count` takes what is derived.

    A function of the task may give other scores than the harness does.
    """
    listed = dict(iterate_metrics(row))
    for derived in derive_scores(row, plan):
        if derived.metric in listed:
            found = list(_check_derived(derived, listed[derived.metric]))
            if not (plan.is_own and found):
                count(derived.metric)
                yield from found


def check_filtered(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Violation]:
    """Report filtered answers of a row that its filter does not give.

    Raises NotFollowed where that is not known.
    """
    filters = dict(plan.filters)
    # A row that names no filter is of one of them.
    name = str(row["filter"]) if "filter" in row else None
    chains = filters.values() if name is None else filter(None, [filters.get(name)])
    found = [follows(steps, row.get("resps"), row.get("filtered_resps")) for steps in chains]
    if found and not any(is_right for is_right, _ in found):
        yield LME211.violation(
            f"filtered_resps is not what {'a' if name is None else 'the'} filter makes of resps",
            "/filtered_resps",
            expected=found[0][1],
            found=row.get("filtered_resps"),
        )


def fitting_filters(row: Mapping[str, Any], plan: ScoringPlan) -> frozenset[str]:
    """Return the filters that may have made the filtered answers of a row."""
    return frozenset(name for name, steps in plan.filters if _may_follow(row, steps))


def _may_follow(row: Mapping[str, Any], steps: str) -> bool:
    with suppress(NotFollowed):
        return follows(steps, row.get("resps"), row.get("filtered_resps"))[0]
    return True


def _check_derived(derived: Derived, value: Any) -> Iterator[Violation]:
    is_pair = isinstance(derived.values[0], list)
    if is_derived(value, derived) or (is_pair and not isinstance(value, list)):
        return
    expected = derived.values[0]
    is_weight = not derived.is_certain and is_derived(value[:1], Derived("", (expected[:1],)))
    message = "counts another number of words or bytes" if is_weight else "does not follow"
    yield LME210.violation(
        f"{derived.metric} {message} from the row's answers and target",
        (derived.metric,),
        expected=list(expected) if isinstance(expected, tuple) else expected,
        found=value,
        severity=Severity.WARNING if is_weight else None,
    )


LME101: Final = declare_rule("LME101")
LME102: Final = declare_rule("LME102")
LME103: Final = declare_rule("LME103")
LME201: Final = declare_rule("LME201")
LME202: Final = declare_rule("LME202")
LME203: Final = declare_rule("LME203")
LME210: Final = declare_rule("LME210")
LME211: Final = declare_rule("LME211")

RULES: Final = (LME101, LME102, LME103, LME201, LME202, LME203, LME210, LME211)
