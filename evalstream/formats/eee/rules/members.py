"""ES709, ES710: members of an aggregate that contradict each other, or what the schema says."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.eee import row_view
from evalstream.formats.eee.aggregate import RESULTS, Aggregate, Result
from evalstream.formats.eee.facts import RowContext
from evalstream.formats.eee.metrics import BINARY
from evalstream.formats.eee.rules.answers import NUMBERS
from evalstream.model.finding import Severity, Violation, at_least, at_most, expect_one, of_length
from evalstream.model.text import count_noun
from evalstream.parsing.json import member
from evalstream.parsing.json_values import (
    object_or_empty,
    parse_date,
    read_number,
    read_seconds,
    to_float,
)
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import RowCheck, declare_rule

_YEAR = LazyPattern(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9]{5})")
_DATE = LazyPattern(r"[-_@.]?(?:19|20)[0-9]{2}[-_.]?[0-9]{2}[-_.]?[0-9]{2}$|[-_@.]latest$")
"""The end of a model's name that says when it was released."""

_WORD = LazyPattern(r"[^\W_]+")
_URL = LazyPattern(
    r"[A-Za-z][A-Za-z0-9+.-]*:\S+|(?://)?[\w-]+(?:\.[\w-]+)+(?::[0-9]+)?(?:[/?#]\S*)?"
)

_PRETRAINED = LazyPattern(r"""(?<![\w])pretrained['"]?\s*[=:]\s*['"]?([^,'"}\s]+)""")
_ON_TOP = LazyPattern(r"(?<![\w])(?:peft|delta|gguf_file|lora_local_path)(?![\w])")
_HUB_NAME = LazyPattern(r"[\w-][\w.-]*(?:/[\w.-]+)?")
"""A model of lm-eval, what is loaded on top of it, and a name that is not a path."""

_FOLDER = LazyPattern(
    r"(?i:models?|checkpoints?|ckpts?|outputs?|results?|runs?|weights|data|tmp|experiments?)/.*"
)
"""A path from the folder of the run."""

_SHARE = LazyPattern(r"(?i:exact[ _-]?match|em|acc|accuracy)")
"""Names of metrics that are a share of right answers."""

Row = Mapping[str, Any]

MINUTE: Final = 60.0
DAY: Final = 86_400.0
"""Dates without a time zone may be this many seconds off."""

SPLITS: Final = ("train", "val", "validation", "test")
_ZERO_OR_ONE: Final = (0, 1)

_LIMITS: Final = ("time_limit", "message_limit", "token_limit")
_SAMPLING: Final = ("temperature", "top_p", "top_k", "max_tokens")
"""The settings that the converter of Inspect's logs writes a second time, in the plan."""

FIRST_MODELS: Final = 1_514_764_800.0
"""The start of 2018: no model of the format was evaluated, and no record written, before."""

_SHARED: Final = 3
"""So many letters in a row, or a word, have two names of one model in common."""


def _evaluation_id_disagrees(aggregate: Aggregate) -> Iterator[Violation]:
    identity = aggregate.evaluation_id
    _, *parts = identity.split("/") if identity else [""]
    if not parts:
        return
    at: dict[str, Any] = {"pointer": "/evaluation_id", "found": identity}
    for part in parts:
        # Most ids have the very text of this time.
        is_same = part == aggregate.document.get("retrieved_timestamp")
        seconds = None if is_same else read_seconds(part)
        if seconds is not None and _is_another_time(seconds, aggregate):
            message = (
                f"evaluation_id names the time {part}, which is neither retrieved_timestamp nor"
                " an evaluation_timestamp"
            )
            yield ES709.violation(message, **at)
    named = "/".join(parts[:-1])
    has_word = any(one.isalnum() and not one.isdecimal() for one in named)
    if aggregate.model_id and has_word and not _names_the_model(parts, aggregate):
        message = f"evaluation_id names {named} where the model stands, and model_info.id another"
        yield ES709.violation(f"{message} model: {aggregate.model_id}", **at)


def _is_another_time(seconds: float, aggregate: Aggregate) -> bool:
    """Tell whether an aggregate states times, and none of them is near to one."""
    holders = (aggregate.document, *[one for _, one in aggregate.indexed_results])
    names = ("retrieved_timestamp", "evaluation_timestamp")
    stated = [read_seconds(holder.get(name)) for holder in holders for name in names]
    known = [one for one in stated if one is not None]
    return bool(known) and not any(abs(seconds - one) <= MINUTE for one in known)


def _names_the_model(parts: list[str], aggregate: Aggregate) -> bool:
    """Tell whether an evaluation_id names the model, or nothing that may be a model.

    Ids write a model in many ways: `hf_Qwen_Qwen2.5-7B`, its name alone, with other separators,
    without the date of its release. Before the time there may be the harness, the benchmark or the
    agent; what names the benchmark names no other model.
    """
    rest, middle = "/".join(parts), "/".join(parts[:-1])
    model = member(aggregate.document.get("model_info"), "name")
    names = [text for text in (aggregate.model_id, model) if isinstance(text, str)]
    for name in names:
        own = name.rpartition("/")[2]
        if own.endswith("latest") or own[-1:].isdigit():
            own = _DATE.sub("", own)
        if own and (
            own in rest or _fold_case(own) in _fold_case(rest) or _words(own) <= _words(rest)
        ):
            return True
    return any(_words(middle) <= _words(text) for text in (*names, *_benchmarks(aggregate)) if text)


def _benchmarks(aggregate: Aggregate) -> Iterator[str]:
    yield (aggregate.evaluation_id or "").partition("/")[0]
    yield aggregate.library or ""
    for result in aggregate.joinable:
        yield from (result.name or "", result.dataset or "", result.repository or "")


def _fold_case(text: str) -> str:
    return "".join(_WORD.findall(text)).casefold()


def _words(text: str) -> set[str]:
    return {*_WORD.findall(text.casefold())}


def _parts(text: str) -> set[str]:
    """Return the words of a name, and all letters and digits in it that follow each other."""
    folded = _fold_case(text)
    return _words(text) | {folded[at : at + _SHARED] for at in range(len(folded) - _SHARED + 1)}


def _implausible_member(aggregate: Aggregate) -> Iterator[Violation]:
    document = aggregate.document
    retrieved = read_seconds(document.get("retrieved_timestamp"))
    yield from _long_ago(document, "retrieved_timestamp", "")
    yield from _beyond_today(document, "retrieved_timestamp", "")
    yield from _check_evaluated(document, "", retrieved)
    model = object_or_empty(document.get("model_info"))
    yield from _loaded_model(model)
    yield from _foreign_name(model)
    source = object_or_empty(document.get("source_metadata"))
    for name in ("source_organization_url", "source_organization_logo_url"):
        if name in source:
            yield from _address(source[name], f"/source_metadata/{name}")
    for place, result in aggregate.indexed_results:
        where = f"{RESULTS}/{place}"
        yield from _check_evaluated(result, where, retrieved)
        yield from _source_data(object_or_empty(result.get("source_data")), f"{where}/source_data")
        yield from _metric(object_or_empty(result.get("metric_config")), f"{where}/metric_config")
        generation = object_or_empty(
            object_or_empty(result.get("generation_config")).get("generation_args")
        )
        if generation:
            yield from _generation(generation, f"{where}/generation_config/generation_args")


def _loaded_model(model: Mapping[str, Any]) -> Iterator[Violation]:
    """Report arguments of lm-eval that load a model by another name than that of the aggregate.

    Its converter takes the id from them. A path, or weights on top of a model, may be renamed, and
    names with and without that of the owner, or the format of the weights, are of one model.
    """
    known = model.get("id")
    arguments = object_or_empty(model.get("additional_details")).get("model_args")
    if not isinstance(known, str) or not isinstance(arguments, str):
        return
    loaded = _PRETRAINED.search(arguments)
    if loaded is None or _ON_TOP.search(arguments) or not _HUB_NAME.fullmatch(loaded[1]):
        return
    names = [_words(name.rpartition("/")[2]) for name in (loaded[1], known)]
    owners = _words(" ".join(name.partition("/")[0] for name in (loaded[1], known) if "/" in name))
    is_other = bool((names[0] ^ names[1]) - owners - {"hf"})
    if is_other and not _FOLDER.fullmatch(loaded[1]):
        message = "model_args load another model than model_info.id"
        yield ES710.violation(message, "/model_info/additional_details/model_args", found=arguments)


def _foreign_name(model: Mapping[str, Any]) -> Iterator[Violation]:
    """Report a name that has nothing in common with the id."""
    name, known = model.get("name"), model.get("id")
    if not isinstance(name, str) or not isinstance(known, str):
        return
    if known.rpartition("/")[2] in name or not (name.isascii() and known.isascii()):
        return
    if all(parts := [_parts(name), _parts(known)]) and parts[0].isdisjoint(parts[1]):
        message = f"model_info.name has nothing in common with model_info.id: {known}"
        yield ES710.violation(message, "/model_info/name", found=name)


def _beyond_today(holder: Mapping[str, Any], name: str, where: str) -> Iterator[Violation]:
    """Report a time that is later than the clock of this computer, in any time zone."""
    seconds = read_seconds(holder.get(name))
    if seconds is not None and seconds > time.time() + DAY:
        yield ES710.violation(f"{name} lies in the future", f"{where}/{name}", found=holder[name])


def _long_ago(holder: Mapping[str, Any], name: str, where: str) -> Iterator[Violation]:
    """Report a time before the first models; a number that may be a year or a date is none."""
    value = holder.get(name)
    seconds = read_seconds(value)
    if seconds is None and isinstance(value, str) and _is_a_number(value):
        seconds = None if _YEAR.search(value) else float(value)
    if seconds is not None and seconds < FIRST_MODELS:
        yield ES710.violation(f"{name} lies before 2018", f"{where}/{name}", found=value)


def _check_evaluated(
    holder: Mapping[str, Any], where: str, retrieved: float | None
) -> Iterator[Violation]:
    value = holder.get("evaluation_timestamp")
    if not isinstance(value, str):
        return
    at: dict[str, Any] = {"pointer": f"{where}/evaluation_timestamp", "found": value}
    yield from _long_ago(holder, "evaluation_timestamp", where)
    seconds = read_seconds(value)
    if seconds is None and not _is_a_number(value) and _YEAR.search(value) is None:
        yield ES710.violation("evaluation_timestamp is not a time", **at)
        return
    seconds = parse_date(value.strip()) if seconds is None else seconds
    if retrieved is None:
        yield from _beyond_today(holder, "evaluation_timestamp", where)
    elif seconds is not None and seconds > retrieved + DAY:
        yield ES710.violation("evaluation_timestamp is later than retrieved_timestamp", **at)


def _is_a_number(value: str) -> bool:
    return value.strip().replace(".", "", 1).isdecimal()


def _source_data(source: Mapping[str, Any], where: str) -> Iterator[Violation]:
    addresses = source.get("url")
    for place, address in enumerate(addresses if isinstance(addresses, list) else ()):
        yield from _address(address, f"{where}/url/{place}")
    split = source.get("hf_split")
    if isinstance(split, str) and split not in SPLITS:
        yield ES710.violation(
            "hf_split is none of the usual splits",
            f"{where}/hf_split",
            expected=expect_one(SPLITS),
            found=split,
            severity=Severity.INFO,
        )
    yield from _range(source, "samples_number", where, least=0)


def _address(value: Any, pointer: str) -> Iterator[Violation]:
    if isinstance(value, str) and not _URL.fullmatch(value.strip()):
        yield ES710.violation("the address is not a URL", pointer, found=value)


def _metric(metric: Mapping[str, Any], where: str) -> Iterator[Violation]:
    unit, most = metric.get("metric_unit"), to_float(metric.get("max_score"))
    if most is not None and math.isfinite(most):
        at: dict[str, Any] = {"pointer": f"{where}/max_score", "found": metric["max_score"]}
        if unit == "proportion" and most > 1:
            message = "max_score is above 1, though metric_unit is proportion"
            yield ES710.violation(message, expected=at_most(1), **at)
        if unit == "percent" and 0 < most <= 1:
            message = "max_score is not above 1, though metric_unit is percent"
            yield ES710.violation(message, expected=100, **at)
    yield from _share_below_zero(metric, where)
    names, texts = metric.get("level_names"), metric.get("level_metadata")
    if isinstance(names, list) and isinstance(texts, list) and len(texts) != len(names):
        message = (
            f"level_metadata describes {count_noun(len(texts), 'level')}, and level_names has"
            f" {len(names):,}"
        )
        yield ES710.violation(message, f"{where}/level_metadata", expected=of_length(len(names)))
    scoring = object_or_empty(metric.get("llm_scoring"))
    judges = scoring.get("judges")
    if not isinstance(judges, list):
        return
    where = f"{where}/llm_scoring"
    if len(judges) > 1 and scoring.get("aggregation_method") is None:
        message = f"aggregation_method is missing, though there are {len(judges):,} judges"
        yield ES710.violation(message, where)
    for place, judge in enumerate(judges):
        if isinstance(judge, dict):
            for name in ("weight", "temperature"):
                yield from _range(judge, name, f"{where}/judges/{place}", least=0)


def _share_below_zero(metric: Mapping[str, Any], where: str) -> Iterator[Violation]:
    least = to_float(metric.get("min_score"))
    if least is None or least >= 0:
        return
    names = [metric.get(key) for key in ("metric_name", "metric_id")]
    if any(isinstance(name, str) and _SHARE.fullmatch(name) for name in names):
        message = "min_score is below 0, though the metric is an accuracy"
        yield ES710.violation(message, f"{where}/min_score", expected=0, found=metric["min_score"])


def _generation(settings: Mapping[str, Any], where: str) -> Iterator[Violation]:
    planned = object_or_empty(object_or_empty(settings.get("eval_plan")).get("config"))
    for name in _SAMPLING if planned else ():
        used, value = to_float(settings.get(name)), planned.get(name)
        if used is not None and read_number(value) not in {None, used}:
            message = f"{name} is not that of eval_plan.config"
            yield ES710.violation(message, f"{where}/{name}", expected=value, found=settings[name])
    yield from _range(settings, "temperature", where, least=0)
    yield from _range(settings, "top_p", where, least=0, most=1)
    yield from _range(settings, "max_attempts", where, least=0)
    limits = object_or_empty(settings.get("eval_limits"))
    for name in _LIMITS if limits else ():
        yield from _range(limits, name, f"{where}/eval_limits", least=0)


def _range(
    holder: Mapping[str, Any], name: str, where: str, *, least: int, most: float = math.inf
) -> Sequence[Violation]:
    """Report a number that is below or above all that its member can be."""
    known = to_float(holder.get(name))
    if known is None or least <= known <= most:
        return ()
    message = f"{name} is {'below 0' if known < least else f'above {most}'}"
    expected = at_least(least) if known < least else at_most(most)
    at: dict[str, Any] = {"pointer": f"{where}/{name}", "found": holder[name]}
    return (ES710.violation(message, expected=expected, **at),)


def judges_binary_scores(results: Iterable[Result]) -> bool:
    """Tell whether some rows may be of a binary metric."""
    return any(result.score_type == BINARY for result in results)


def _neither_zero_nor_one(context: RowContext) -> RowCheck | None:
    if not judges_binary_scores(context.results):
        return None
    join = context.join

    def check(row: Mapping[str, Any]) -> Iterable[Violation]:
        score: Any = member(row.get("evaluation"), "score")
        if score.__class__ not in NUMBERS or score in _ZERO_OR_ONE:
            return ()
        result = join.result(row)
        if result is None or result.score_type != BINARY:
            return ()
        least, most = result.minimum, result.maximum
        valid = _ZERO_OR_ONE if least is None or most is None else (least, most)
        if score in valid or _is_average(score, row, *valid):
            return ()
        message = f"the score is neither {valid[0]} nor {valid[1]}, though score_type is binary"
        place: dict[str, Any] = {"pointer": "/evaluation/score", "found": score}
        return (
            ES710.violation(message, expected=expect_one(valid), severity=Severity.ERROR, **place),
        )

    return check


def _is_average(score: float, row: Row, least: float, most: float) -> bool:
    """Tell whether a score is the mean of binary ones, of the outputs or calls that a row shows."""
    outputs = member(row.get("output"), "raw")
    number = len(outputs) if isinstance(outputs, list) else 1
    try:
        share = (score - least) / (most - least) if most > least else -1
    except OverflowError:  # of an integer that no double holds
        return False
    return 0 < share < 1 and any(
        math.isclose(share * count, round(share * count), abs_tol=ROUNDED * count)
        for count in {number, row_view.count_calls(row)} - {1}
    )


ROUNDED: Final = 5e-5
"""Averages have four decimals or more."""


ES709: Final = declare_rule("ES709", aggregate=_evaluation_id_disagrees)

ES710: Final = declare_rule(
    "ES710",
    row=_neither_zero_nor_one,
    aggregate=_implausible_member,
    reads=("/evaluation/score",),
    in_scanner=True,
)

RULES: Final = (ES709, ES710)
