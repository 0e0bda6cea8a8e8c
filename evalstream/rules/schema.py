"""ES2: rules that give the errors of a JSON Schema stable codes and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from evalstream.model.finding import Violation
from evalstream.model.text import count_noun, nearest_words
from evalstream.parsing.json import pointer, type_name
from evalstream.rules.base import Repair, RepairAction, Rule, declare_rule

if TYPE_CHECKING:
    from evalstream.parsing.schema_errors import SchemaError

NO_RULES: Final[Mapping[str, Rule]] = MappingProxyType({})
NO_NOTES: Final[Mapping[str, str]] = MappingProxyType({})

Explanation = tuple[Rule, str]
"""The rule that a schema error violates, and the message."""


def explain_schema(
    errors: Iterable[SchemaError],
    *,
    own: bool,
    version: str = "",
    missing: Mapping[str, Rule] = NO_RULES,
    known_nulls: Mapping[str, str] = NO_NOTES,
) -> list[Violation]:
    """Turn schema errors into violations, each error once.

    `own` says that the schema is a built-in one, whose conditional branches are known. `missing`
    maps members at the top of a document to the rule that reports their absence, and `known_nulls`
    JSON Pointers to who writes null there. Branches that only
    follow from another error are left out: all of them if interaction_type is missing, and those
    that repeat an error of the unconditional part of the schema.
    """
    plain = list(errors)
    kept: list[SchemaError] = []
    if own:
        branches = [error for error in plain if _is_conditional(error)]
        if branches:
            plain = [error for error in plain if not _is_conditional(error)]
            kept = _independent_branches(branches, plain)
    nulls: set[Any] = set()
    found: list[Violation] = []
    for error in plain:
        if error.optional and error.found is None and error.path:
            if error.path not in nulls:
                nulls.add(error.path)
                found.append(_null_for_absent(error, version, known_nulls))
        elif not own or error.path not in nulls:
            found.append(_make_violation(error, own=own, missing=missing))
    found.extend(_branch_violation(error, version) for error in kept)
    return found


def _independent_branches(
    branches: Sequence[SchemaError], plain: Sequence[SchemaError]
) -> list[SchemaError]:
    reported = {(error.path, error.keyword, error.member) for error in plain}
    if any(error.keyword == "required" and error.member == "interaction_type" for error in plain):
        branches = [error for error in branches if error.route[0] != "allOf"]
    return [
        error
        for error in branches
        if (error.path, error.keyword, error.member) not in reported and error.keyword != "not"
    ]


def _is_conditional(error: SchemaError) -> bool:
    return "then" in error.route or "else" in error.route


def _null_for_absent(
    error: SchemaError, version: str, known: Mapping[str, str] = NO_NOTES
) -> Violation:
    where = f" in {version}" if version else ""
    wanted = f" where {_types(error.expected)} is expected" if error.keyword == "type" else ""
    place = pointer(error.path)
    writer = f" ({known[place]})" if place in known else ""
    message = f"null{wanted}{where}{writer}; leave the field out or set a value"
    return ES204.violation(message, place, keyword=error.keyword)


def _make_violation(
    error: SchemaError, *, own: bool, missing: Mapping[str, Rule] = NO_RULES
) -> Violation:
    special = missing.get(error.member or "") if error.route == ("required",) else None
    if special is not None:
        rule, message = special, f"{error.member} is missing"
    elif own and _in_string_map(error):
        rule, message = ES208, f"{type_name(error.found)} where the map holds only strings"
    else:
        explain_error = _EXPLANATIONS.get(error.keyword, _other)
        rule, message = (_explain_undecided if error.is_undecided else explain_error)(error)
    # Positional arguments take half the time, and every row of a file may have a violation.
    place = pointer(error.path)
    found = None if error.member is not None else error.found
    keyword = "pattern" if error.is_undecided else error.keyword
    return Violation(rule.code, message, place, keyword, _describe_expected(error), found)


def _describe_expected(error: SchemaError) -> Any:
    """Return what a schema expects: its one value, else the keyword with its payload."""
    wanted = error.expected
    if wanted is None or error.keyword == "const":
        return wanted
    if error.is_undecided:
        return {"pattern": wanted}
    if error.keyword == "type" and len(wanted) == 1:
        return {"type": wanted[0]}
    return {error.keyword: wanted}


def _branch_violation(error: SchemaError, version: str) -> Violation:
    place: dict[str, Any] = {"pointer": pointer(error.path), "keyword": error.keyword}
    if error.route[0] != "allOf":
        reason = f"{error.member} is missing; this score_type requires it"
        if version in ("0.1.0", "0.2.0", "0.2.0+list", "0.2.1", "0.2.2"):
            reason += f" (version {version} requires it also where score_type is absent)"
        return ES212.violation(reason, **place)
    if "metrics" in error.route:
        return ES214.violation(
            "num_turns is missing; the metrics of a row with a transcript require it", **place
        )
    rule, kind = (ES209, "single_turn") if error.route[1] == 0 else (ES210, "multi_turn or agentic")
    if error.keyword == "required":
        return rule.violation(f"{error.member} is missing; a {kind} row requires it", **place)
    what = f"{type_name(error.found)} where a {kind} row requires {_types(error.expected)}"
    return rule.violation(what, **place, expected=_describe_expected(error), found=error.found)


def _in_string_map(error: SchemaError) -> bool:
    return error.route[-2:] == ("additionalProperties", "type") and error.expected == ["string"]


def _types(types: Sequence[str]) -> str:
    return " or ".join(types)


def _missing(error: SchemaError) -> Explanation:
    return ES201, f"{error.member} is missing"


def _wrong_type(error: SchemaError) -> Explanation:
    return ES202, f"{type_name(error.found)} where {_types(error.expected)} is expected"


def _not_allowed(error: SchemaError) -> Explanation:
    several = isinstance(error.expected, list) and len(error.expected) > 1
    return ES203, f"not {'one of the allowed values' if several else 'the only allowed value'}"


def _explain_unknown(error: SchemaError) -> Explanation:
    near = nearest_words(str(error.member), error.known)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ES205, f"unknown property {str(error.member)[:80]}{hint}"


def _too_few(error: SchemaError) -> Explanation:
    return ES207, f"fewer than {count_noun(error.expected, 'item')}"


def _mismatch(error: SchemaError) -> Explanation:
    del error
    return ES213, "does not match the pattern"


def _explain_undecided(error: SchemaError) -> Explanation:
    from evalstream.parsing.linear_regex import describe_undecided

    return ES213, f"{describe_undecided(error.expected)}: not accepted"


def _other(error: SchemaError) -> Explanation:
    if error.keyword == "falseSchema":
        return ES217, "the schema allows no value here"
    return ES217, f"violates the schema keyword {error.keyword}"


def _range(error: SchemaError) -> Explanation:
    limit = error.expected
    if error.keyword.startswith("exclusive"):
        return ES206, f"not {'above' if error.keyword.endswith('Minimum') else 'below'} {limit}"
    word = "below" if error.keyword == "minimum" else "above"
    return ES206, f"{word} the {error.keyword} {limit}"


def _no_variant(error: SchemaError) -> Explanation:
    """Describe the variant with the fewest errors; a wrong `const` counts most."""
    if not any(error.variants):
        return ES211, "fits more than one variant"
    number, variant = min(
        enumerate(error.variants, 1),
        key=lambda item: sum(10 if inner.keyword == "const" else 1 for inner in item[1]),
    )
    reasons = []
    for inner in variant[:3]:
        reported = _make_violation(inner, own=False)
        place = pointer(inner.path[len(error.path) :])
        reasons.append(f"{place}: {reported.message}" if place else reported.message)
    head = f"fits none of the {len(error.variants)} variants; nearest is {number}"
    return ES211, f"{head}: {', '.join(reasons)}"


ES201: Final = declare_rule("ES201")
ES202: Final = declare_rule("ES202")
ES203: Final = declare_rule("ES203")
ES204: Final = declare_rule("ES204", repair=Repair(RepairAction.DROP_NULL, "leaves the member out"))
ES205: Final = declare_rule("ES205")
ES206: Final = declare_rule("ES206")
ES207: Final = declare_rule("ES207")
ES208: Final = declare_rule(
    "ES208", repair=Repair(RepairAction.WRITE_TEXT, "writes the value as text, and leaves null out")
)
ES209: Final = declare_rule("ES209")
ES210: Final = declare_rule("ES210")
ES211: Final = declare_rule("ES211")
ES212: Final = declare_rule("ES212")
ES213: Final = declare_rule("ES213")
ES214: Final = declare_rule("ES214")
ES217: Final = declare_rule("ES217")

RULES: Final = (
    *(ES201, ES202, ES203, ES204, ES205, ES206, ES207, ES208),
    *(ES209, ES210, ES211, ES212, ES213, ES214, ES217),
)

_EXPLANATIONS: Final[dict[str, Callable[[SchemaError], Explanation]]] = {
    "required": _missing,
    "type": _wrong_type,
    "enum": _not_allowed,
    "const": _not_allowed,
    "additionalProperties": _explain_unknown,
    "unevaluatedProperties": _explain_unknown,
    "minimum": _range,
    "maximum": _range,
    "exclusiveMinimum": _range,
    "exclusiveMaximum": _range,
    "minItems": _too_few,
    "oneOf": _no_variant,
    "pattern": _mismatch,
}
