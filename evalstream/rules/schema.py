"""ES2: rules that give the errors of a JSON Schema stable codes and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from evalstream.model.finding import Severity, Violation
from evalstream.model.text import counted
from evalstream.parsing.json import pointer, type_name
from evalstream.rules.base import Repair, Rule

if TYPE_CHECKING:
    from evalstream.parsing.schema_errors import SchemaError

NO_RULES: Final[Mapping[str, Rule]] = MappingProxyType({})
NO_NOTES: Final[Mapping[str, str]] = MappingProxyType({})

Explanation = tuple[Rule, str]
"""The rule that a schema error violates, and the message."""


def explain(
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
            found.append(_violation_of(error, own=own, missing=missing))
    found.extend(_branch_violation(error, version) for error in kept)
    return found


def _independent_branches(
    branches: Sequence[SchemaError], plain: Sequence[SchemaError]
) -> list[SchemaError]:
    """Leave out branches that only follow from errors of the unconditional part of the schema."""
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
    return ES204.violation(message, pointer=place, keyword=error.keyword)


def _violation_of(
    error: SchemaError, *, own: bool, missing: Mapping[str, Rule] = NO_RULES
) -> Violation:
    special = missing.get(error.member or "") if error.route == ("required",) else None
    if special is not None:
        rule, message = special, f"{error.member} is missing"
    elif own and _in_string_map(error):
        rule, message = ES208, f"{type_name(error.found)} where the map holds only strings"
    else:
        explain_error = _EXPLANATIONS.get(error.keyword, _other)
        rule, message = (_undecided if error.is_undecided else explain_error)(error)
    # Positional arguments take half the time, and every row of a file may have a violation.
    place = pointer(error.path)
    found = None if error.member is not None else error.found
    keyword = "pattern" if error.is_undecided else error.keyword
    return Violation(rule.code, message, place, keyword, _expected(error), found)


def _expected(error: SchemaError) -> Any:
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
    return rule.violation(what, **place, expected=_expected(error), found=error.found)


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


def _unknown(error: SchemaError) -> Explanation:
    from difflib import get_close_matches

    near = get_close_matches(str(error.member), error.known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ES205, f"unknown property {str(error.member)[:80]}{hint}"


def _too_few(error: SchemaError) -> Explanation:
    return ES207, f"fewer than {counted(error.expected, 'item')}"


def _mismatch(error: SchemaError) -> Explanation:
    del error
    return ES213, "does not match the pattern"


def _undecided(error: SchemaError) -> Explanation:
    from evalstream.parsing.linear_regex import undecided

    return ES213, f"{undecided(error.expected)}: not accepted"


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
        reported = _violation_of(inner, own=False)
        place = pointer(inner.path[len(error.path) :])
        reasons.append(f"{place}: {reported.message}" if place else reported.message)
    head = f"fits none of the {len(error.variants)} variants; nearest is {number}"
    return ES211, f"{head}: {', '.join(reasons)}"


def _rule(code: str, name: str, summary: str, documentation: str, **settings: Any) -> Rule:
    return Rule(code, name, Severity.ERROR, summary, documentation, **settings)


ES201: Final = _rule(
    "ES201",
    "missing-property",
    "a required property is missing",
    """
    What it finds: an object without a property that the schema requires.

    Why it matters: readers rely on the property.

    How to fix: Add the property that the finding names, with its value from the source log. Where
    many rows lack it, run a current version of the converter again.

    Bad:
        row 2:
          {"evaluation": {"score": 1.0}}

    Good:
        row 2:
          {"evaluation": {"score": 1.0, "is_correct": true}}
    """,
)
ES202: Final = _rule(
    "ES202",
    "wrong-type",
    "a value of the wrong JSON type",
    """
    What it finds: a value that has none of the types that the schema allows. The string "3" is not
    an integer, true is not a number, 1.0 is an integer.

    Why it matters: strict readers reject the row, lenient readers guess.

    How to fix: Write the value in the type that the schema expects, and run the converter again.
    If the finding comes with ES216, another version fits: see there.

    Bad:
        row 2:
          {"evaluation": {"score": "1.0", "is_correct": true}}

    Good:
        row 2:
          {"evaluation": {"score": 1, "is_correct": true}}
    """,
)
ES203: Final = _rule(
    "ES203",
    "not-allowed-value",
    "a value outside the schema's enum or const",
    """
    What it finds: a value that is not among those listed in the schema.

    Why it matters: a reader that distinguishes these values has no case for it.

    How to fix: Write one of the values that the finding lists, chosen by what the source log says.
    Correct it in the converter, so that all rows agree.

    Bad:
        row 2:
          {"interaction_type": "chat", "output": {"raw": "The answer is 42."}}

    Good:
        row 2:
          {"interaction_type": "single_turn", "output": {"raw": "The answer is 42."}}
    """,
)
ES204: Final = _rule(
    "ES204",
    "null-for-absent",
    "null in an optional field that may not be null",
    """
    What it finds: an explicit null where the schema wants a value or a missing property: the most
    frequent error in real files.

    Why it matters: strict readers reject the row; leaving the field out is enough.

    How to fix: Leave the field out instead of writing null; then run `evalstream seal`, since the
    bytes have changed. `evalstream fix` does both. Where the source has a value, write the value.
    Converters of every-eval-ever before 0.3.0 write null in many fields; 0.3.0 writes it in
    evaluation_result_id where a sample has no number as its score, and writes it again if it is run
    again.

    Bad:
        row 2:
          {
            "input": {
              "raw": "What is 7 * 6? Answer with a number.",
              "formatted": null,
              "reference": "42"
            }
          }

    Good:
        row 2:
          {"input": {"raw": "What is 7 * 6? Answer with a number.", "reference": "42"}}
    """,
    repair=Repair("leaves the member out"),
)
ES205: Final = _rule(
    "ES205",
    "unknown-property",
    "a property that is unknown to the schema",
    """
    What it finds: a property that is not in the schema, where additionalProperties is false; where
    the name is close to a known one, the finding suggests it.

    Why it matters: a misspelt property is a missing property.

    How to fix: Correct the spelling of the property, or move its value into metadata or
    additional_details, as a string. Where the property belongs to another version, declare that
    version in schema_version.

    Bad:
        row 2:
          {"model_id": "acme/acorn-7b", "modell_id": "x"}

    Good:
        row 2:
          {"model_id": "acme/acorn-7b", "metadata": {"note": "x"}}
    """,
)
ES206: Final = _rule(
    "ES206",
    "out-of-range",
    "a number below its minimum or above its maximum",
    """
    What it finds: a number outside the schema's bounds.

    Why it matters: a value outside the bounds, such as a negative count or latency, cannot come
    from a measurement.

    How to fix: Recompute the value from the source log, and write the row again. Leave an optional
    field out where the value was not measured; do not write a placeholder such as -1.

    Bad:
        row 2:
          {"token_usage": {"input_tokens": -1, "output_tokens": 9}}

    Good:
        row 2:
          {"token_usage": {"input_tokens": 21, "output_tokens": 9}}
    """,
)
ES207: Final = _rule(
    "ES207",
    "too-few-items",
    "an array shorter than minItems",
    """
    What it finds: an array with fewer items than the schema requires.

    Why it matters: an empty array gives no information where the schema requires some, such as a
    list of judges without a judge.

    How to fix: Write the missing items from the source log, or leave the property out where it is
    optional. Do not write an empty array for an unknown value.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {"llm_scoring": {"judges": [], "input_prompt": "x"}}
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {
                "llm_scoring": {
                  "judges": [{"model_info": {"name": "Oak 70B", "id": "acme/oak-70b"}}],
                  "input_prompt": "x"
                }
              }
            }]
          }
    """,
)
ES208: Final = _rule(
    "ES208",
    "non-string-in-string-map",
    "a value that is not a string in a map of strings",
    """
    What it finds: a number, boolean, null, array or object in metadata, arguments or
    additional_details, which hold only strings from 0.2.1 on.

    Why it matters: typed readers reject the row.

    How to fix: Write the value as a string: "3" instead of 3, and an array or object as its JSON
    text. Leave out a key whose value is null.

    Bad:
        row 2:
          {"schema_version": "0.3.0", "metadata": {"epoch": 1, "subject": "arithmetic"}}

    Good:
        row 2:
          {"schema_version": "0.3.0", "metadata": {"epoch": "1", "subject": "arithmetic"}}
    """,
    repair=Repair("writes the value as text, and leaves null out"),
)
ES209: Final = _rule(
    "ES209",
    "wrong-single-turn-shape",
    "a single_turn row without an output object, or with a transcript",
    """
    What it finds: a single_turn row whose output is missing or null, or whose transcript is not
    null.

    Why it matters: a reader finds no answer, or two places to read it from.

    How to fix: Give a single_turn row an output object, and remove its transcript. If the row has
    several turns, correct interaction_type instead, and run the converter again.

    Bad:
        row 1:
          {"interaction_type": "single_turn"}

    Good:
        row 1:
          {
            "interaction_type": "single_turn",
            "interactions": null,
            "output": {"raw": "The answer is 5."}
          }
    """,
    former_names=("single-turn-shape",),
)
ES210: Final = _rule(
    "ES210",
    "wrong-transcript-shape",
    "a multi_turn or agentic row without a transcript, or with an output",
    """
    What it finds: a multi_turn or agentic row that has no array of turns, or that also has an
    output.

    Why it matters: a reader finds no transcript, or two places to read the answer from.

    How to fix: Give the row its transcript (`interactions` in 0.2.0, `messages` later), and leave
    output out. If the row has one turn only, correct interaction_type to single_turn, and run the
    converter again.

    Bad:
        row 3:
          {
            "interaction_type": "agentic",
            "interactions": [{"turn_idx": 0, "role": "user"}],
            "output": {"raw": "x"}
          }

    Good:
        row 3:
          {
            "interaction_type": "agentic",
            "interactions": [{"turn_idx": 0, "role": "user"}],
            "output": null
          }
    """,
    former_names=("transcript-shape",),
)
ES211: Final = _rule(
    "ES211",
    "no-variant-fits",
    "a value that fits none of its variants",
    """
    What it finds: a value under oneOf (source_data, tool_call_id) that fits none of the variants,
    or more than one; the finding names the nearest variant and why it fails.

    Why it matters: a reader cannot see which kind of value it is.

    How to fix: Complete the value after the variant that the finding names as the nearest. If it
    fits more than one, remove the properties of the variants that are not meant.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "source_data": {"dataset_name": "tiny-arithmetic", "source_type": "website"}
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "source_data": {"dataset_name": "tiny-arithmetic", "source_type": "other"}
            }]
          }
    """,
)
ES212: Final = _rule(
    "ES212",
    "score-type-incomplete",
    "a metric lacks properties that its score_type requires",
    """
    What it finds: score_type levels without level_names or has_unknown_level, continuous without
    min_score or max_score. Below 0.2.3 the schema also requires the levels fields where score_type
    is absent. From 0.2.3 on the schema allows null for a bound; with `--profile datastore` null
    under score_type continuous is found, too: a scale without a bound has "Infinity" or
    "-Infinity" there.

    Why it matters: a score on an unknown scale cannot be compared.

    How to fix: Add the property that the finding names to metric_config, as the metric defines it.
    Below 0.2.3 also write score_type, so that the schema does not require the levels fields.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {"score_type": "continuous", "max_score": 1}
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {"score_type": "continuous", "min_score": 0, "max_score": 1}
            }]
          }
    """,
    former_names=("score-type-needs",),
)
ES213: Final = _rule(
    "ES213",
    "pattern-mismatch",
    "a string that does not match its pattern",
    """
    What it finds: a string that does not match the schema's pattern, such as file_path from 0.2.3
    on.

    Why it matters: a datastore finds files by that pattern.

    How to fix: Write the value in the form that the pattern gives. For file_path: move the files
    to their place in the datastore, then run `evalstream seal ROWS --aggregate FILE`, with
    `--file-path PATH` where the path is not found.

    Bad:
        aggregate:
          {
            "schema_version": "0.3.0",
            "detailed_evaluation_results": {"file_path": "run_samples.jsonl"}
          }

    Good:
        aggregate:
          {
            "schema_version": "0.3.0",
            "detailed_evaluation_results": {
              "file_path": "data/tiny-arithmetic/acme/acorn-7b/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57_samples.jsonl"
            }
          }
    """,
    former_names=("pattern",),
)
ES214: Final = _rule(
    "ES214",
    "metrics-without-num-turns",
    "the metrics object of a transcript row lacks num_turns",
    """
    What it finds: a multi_turn or agentic row of 0.2.0 with a metrics object without num_turns.
    The schema means evaluation.num_turns, but its text requires metrics.num_turns.

    Why it matters: strict validators reject the row.

    How to fix: Add num_turns to the row's metrics object, with the number of turns in the
    transcript. Or leave metrics out: from 0.2.1 on the schema does not allow it.

    Bad:
        row 3:
          {"schema_version": "0.2.0", "interaction_type": "agentic", "metrics": {}}

    Good:
        row 3:
          {
            "schema_version": "0.2.0",
            "interaction_type": "agentic",
            "metrics": {"num_turns": 2}
          }
    """,
    former_names=("legacy-metrics-rule",),
)
ES217: Final = _rule(
    "ES217",
    "schema-violation",
    "a violation of any other keyword of a schema given by the user",
    """
    What it finds: a violation of a keyword that has no code of its own, in a schema given with
    `--schema`.

    Why it matters: the user gave the schema, so its other keywords count as well.

    How to fix: Change the row as the keyword of your schema requires, or correct the schema given
    with `--schema`.

    Bad:
        schema:
          {"properties": {"model_id": {"maxLength": 3}}}
        row 1:
          {"model_id": "acme/acorn-7b"}

    Good:
        schema:
          {"properties": {"model_id": {"maxLength": 300}}}
        row 1:
          {"model_id": "acme/acorn-7b"}
    """,
    former_names=("schema",),
)

RULES: Final = (
    ES201,
    ES202,
    ES203,
    ES204,
    ES205,
    ES206,
    ES207,
    ES208,
    ES209,
    ES210,
    ES211,
    ES212,
    ES213,
    ES214,
    ES217,
)

_EXPLANATIONS: Final[dict[str, Callable[[SchemaError], Explanation]]] = {
    "required": _missing,
    "type": _wrong_type,
    "enum": _not_allowed,
    "const": _not_allowed,
    "additionalProperties": _unknown,
    "unevaluatedProperties": _unknown,
    "minimum": _range,
    "maximum": _range,
    "exclusiveMinimum": _range,
    "exclusiveMaximum": _range,
    "minItems": _too_few,
    "oneOf": _no_variant,
    "pattern": _mismatch,
}
