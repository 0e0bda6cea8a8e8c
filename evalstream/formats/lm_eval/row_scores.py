"""Derive the scores of a row from its own answers and target, as the harness scored them.

Source: `ConfigurableTask.process_results` in api/task.py of lm_eval 0.4.13. Nothing is derived for
tasks with a function of their own, or whose configuration does not list the metric.
"""

from __future__ import annotations

import ast
import json
import math
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final
from warnings import catch_warnings, simplefilter

from evalstream.formats.lm_eval.response_filters import gives_texts, is_bounded
from evalstream.formats.lm_eval.row import hashed_target
from evalstream.formats.lm_eval.scoring_plan import (
    CHOICE,
    GENERATE,
    LIKELIHOOD,
    ROLLING,
    TRANSLATIONS,
    ScoringPlan,
)
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json_values import holds_double, is_texts, read_number

NEAR: Final = 1e-6
"""Normalised log-likelihoods that differ by less, relative to the larger one, are a tie."""

TEXT_DIGITS: Final = 1e-6
"""The largest difference of probabilities from their text of 8 digits."""

NO_CHOICE: Final = -100
"""The index that stands for a right answer that is none of the choices."""

_WEIGHTED: Final = frozenset({"word_perplexity", "byte_perplexity", "bits_per_byte"})


class Derived(NamedTuple):
    """The values that a metric of a row may have; `is_certain` says that no other is right."""

    metric: str
    values: tuple[Any, ...]
    is_certain: bool = True


_UNREADABLE: Final = (
    *(AttributeError, IndexError, KeyError, TypeError, ValueError),
    *(OverflowError, RecursionError, re.error),
)
"""What the members of a row of another form, or odd options, make of a derivation."""


def derive_scores(row: Mapping[str, Any], plan: ScoringPlan) -> Iterator[Derived]:
    """Yield what the answers of a row give for each of its metrics, where that is known."""
    derive = _DERIVATIONS.get(plan.output_type)
    answers, target = row.get("filtered_resps"), hashed_target(row)
    if derive is not None and isinstance(answers, list) and answers and target is not None:
        with suppress(*_UNREADABLE):
            yield from derive(row, answers, target, plan)


def brier_score(row: Mapping[str, Any], value: Any) -> float | None:
    """Return the Brier score of a row, from its right answer and its log-likelihoods.

    The row shows the probabilities with 8 digits, which tell which of them are of the choices.
    """
    with suppress(*_UNREADABLE):
        gold, shown = value
        every = [float(one[0]) for one in row["filtered_resps"]]
        for likelihoods in (every, every[: len(every) // 2], every[::2]):
            probabilities = _softmax(likelihoods)
            if _is_shown(shown, probabilities):
                right = range(len(probabilities))[gold]
                return math.fsum((p - (at == right)) ** 2 for at, p in enumerate(probabilities))
    return None


class _Choices(NamedTuple):
    """The likelihoods of the choices of a row, and their texts under each reading of requests."""

    likelihoods: list[float]
    unconditional: list[float]
    greedy: list[bool] | None
    texts: list[list[str]]


def _derive_choices(
    row: Mapping[str, Any], answers: list[Any], target: str, plan: ScoringPlan
) -> Iterator[Derived]:
    names = dict(plan.metrics)
    readings = [
        (found, texts, gold)
        for found in _choices(row, answers, target, plan, is_mutual="acc_mutual_info" in names)
        for texts in found.texts
        for gold in _golds(target, texts)
    ]
    for name in names:
        values = [value for reading in readings for value in _choice_values(name, *reading)]
        if values:
            yield Derived(name, tuple(values))


def _requests(arguments: Any) -> Iterator[tuple[str, str]]:
    """Yield prompt and continuation of each request; releases before 0.4.3 wrote lists of them."""
    if isinstance(arguments, list):
        yield from ((prompt, continuation) for prompt, continuation in arguments)
        return
    for place in range(len(arguments)):
        request = arguments[f"gen_args_{place}"]
        yield request["arg_0"], request["arg_1"]


def _choices(
    row: Mapping[str, Any], answers: list[Any], target: str, plan: ScoringPlan, *, is_mutual: bool
) -> Iterator[_Choices]:
    """Yield the choices of a row, for mutual information also as older releases read them.

    The second half of the requests has no prompt then; older releases took each second one for it.
    """
    requests = list(_requests(row["arguments"]))
    has_both = is_mutual and len(answers) % 2 == 0
    number = len(answers) // 2 if has_both else len(answers)
    is_paired = has_both and requests[0][0] and not any(prompt for prompt, _ in requests[1::2])
    if is_paired:
        # Releases up to 0.4.3 wrote each request with its twin without a prompt behind it.
        requests, answers = requests[::2] + requests[1::2], answers[::2] + answers[1::2]
    likelihoods = [float(one[0]) for one in answers]
    prompts = [prompt for prompt, _ in requests]
    continuations = [continuation for _, continuation in requests]
    has_all = len(requests) == len(answers) and not any(map(math.isnan, likelihoods))
    # Choices may be in the prompts, even equal ones; then the target follows each of them.
    is_input = all(one == continuations[0] for one in continuations[:number])
    if not has_all or (is_input and continuations[0].endswith(target)):
        return
    # Without a prompt, releases before 0.4.9 left out the delimiter, too.
    twins = continuations[number:]
    delimited = [plan.delimiter + one for one in twins]
    if has_both and (any(prompts[number:]) or continuations[:number] not in (twins, delimited)):
        return
    flags = [str(one[1]) for one in answers]
    greedy = [flag == "True" for flag in flags] if set(flags) <= {"True", "False"} else None
    texts = list(_texts(continuations[:number], target, plan))
    parts = [(slice(number), slice(number, None))]
    parts += [(slice(None, None, 2), slice(1, None, 2))] if has_both and not is_paired else []
    for given, alone in parts:
        flagged = None if greedy is None else greedy[given]
        yield _Choices(likelihoods[given], likelihoods[alone], flagged, texts)


def _texts(continuations: Sequence[str], target: str, plan: ScoringPlan) -> Iterator[list[str]]:
    """Yield the choices: the continuations without the delimiter, in a chat perhaps with it.

    Behind another delimiter their texts are not known: they are empty then, if none can be that of
    the target.
    """
    has_delimiter = all(one.startswith(plan.delimiter) for one in continuations)
    if has_delimiter:
        yield [one[len(plan.delimiter) :] for one in continuations]
    if plan.is_chat:
        yield list(continuations)
    elif not has_delimiter:
        starts = [one.removesuffix(target) for one in continuations if one.endswith(target)]
        if not any(all(one.startswith(start) for one in continuations) for start in starts):
            yield [""] * len(continuations)


_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,9})", flags=re.ASCII)
_NUMBERS: Final = re.compile(r"\[-?\d{1,9}(?:, -?\d{1,9}){0,999}\]", flags=re.ASCII)


def _golds(target: str, choices: Sequence[str]) -> Iterator[int | list[int]]:
    """Yield the right answers that a target may mean: a number, a choice, or a list of numbers."""
    has_texts = any(choices)
    if has_texts and target in choices:
        yield list(choices).index(target)
    if _NUMBER.fullmatch(target):
        yield int(target) if int(target) < len(choices) else NO_CHOICE
    elif _NUMBERS.fullmatch(target):
        numbers = map(int, target[1:-1].split(","))
        yield [one if one < len(choices) else NO_CHOICE for one in numbers]
    elif has_texts and target in {"True", "False"}:
        yield int(target == "True")
    elif has_texts and target not in choices and target[:1] not in "[-.0123456789":
        yield NO_CHOICE


def _choice_values(
    name: str, found: _Choices, texts: Sequence[str], gold: int | list[int]
) -> Iterator[Any]:
    """Yield the values that a metric has for a right answer; several where scores are near."""
    golds = gold if isinstance(gold, list) else [gold]
    likeliest = found.likelihoods.index(max(found.likelihoods))
    if name in {"f1", "mcc"}:
        yield [gold, likeliest]
    elif name == "exact_match" and found.greedy is not None:
        yield float(any(found.greedy[one] for one in golds if one != NO_CHOICE))
    elif name == "acc":
        yield float(likeliest in golds)
    elif name in {"acc_norm", "acc_bytes"}:
        lengths = [len(one) if name == "acc_norm" else len(one.encode()) for one in texts]
        if all(lengths):
            normalised = [ll / size for ll, size in zip(found.likelihoods, lengths, strict=True)]
            yield from (float(place in golds) for place in _nearly_greatest(normalised))
    elif name == "acc_mutual_info" and found.unconditional:
        both = zip(found.likelihoods, found.unconditional, strict=True)
        gains = [given - alone for given, alone in both]
        yield from (float(place == gold) for place in _nearly_greatest(gains))
    elif name == "brier_score":
        yield gold, _softmax(found.likelihoods)


def _nearly_greatest(values: Sequence[float]) -> Iterator[int]:
    """Yield the place of the greatest value, the first of equals, and of those nearly as great."""
    most = max(values)
    first = values.index(most)
    yield first
    for place, value in enumerate(values):
        if value != most and most - value <= NEAR * max(abs(most), abs(value)):
            yield place


def _softmax(values: Sequence[float]) -> list[float]:
    most = max(values)
    powers = [math.exp(value - most) for value in values]
    total = math.fsum(powers)
    return [power / total for power in powers]


def _derive_likelihood(
    _row: Mapping[str, Any], answers: list[Any], _target: str, plan: ScoringPlan
) -> Iterator[Derived]:
    names = dict(plan.metrics)
    likelihood, greedy = answers[0]
    if "perplexity" in names:
        yield Derived("perplexity", (float(likelihood),))
    if "acc" in names and str(greedy) in {"True", "False"}:
        yield Derived("acc", (float(str(greedy) == "True"),))


def _derive_rolling(
    _row: Mapping[str, Any], answers: list[Any], target: str, plan: ScoringPlan
) -> Iterator[Derived]:
    likelihood = float(answers[0])
    words, size = len(re.split(r"\s+", target)), len(target.encode())
    for name in _WEIGHTED & dict(plan.metrics).keys():
        weight = words if name == "word_perplexity" else size
        yield Derived(name, ([likelihood, weight],), is_certain=False)


def _derive_generated(
    row: Mapping[str, Any], answers: list[Any], shown: str, plan: ScoringPlan
) -> Iterator[Derived]:
    target: str | None = shown
    # A row that names no filter is of one of them.
    own = row.get("filter")
    chains = [steps for name, steps in plan.filters if own is None or name == own]
    answer = answers[0]
    if plan.is_numbered and _NUMBER.fullmatch(shown):
        target = _find_choice(row, int(shown), plan)
    if not isinstance(answer, str) or not chains or target is None:
        return
    # The answers of other filters may be numbers, which the row shows as texts.
    if not all(map(gives_texts, chains)) and _may_equal(answer, sum(_several(target), [target])):
        return
    for name, options in plan.metrics:
        if name == "exact_match":
            match = _matcher(options)
            targets = [[target], *_several(target)]
            found = {match(answer, some) for some in targets}
            if None not in found:
                yield Derived(name, tuple(map(float, found)))
        elif name in TRANSLATIONS:
            yield Derived(name, ([target, answer], *([some, answer] for some in _several(target))))


def _find_choice(row: Mapping[str, Any], number: int, plan: ScoringPlan) -> str | None:
    """Return the choice that a target is the number of, None where it is not known.

    The harness takes no name that is not one of the members of docs.
    """
    listed: Any = plan.choices
    if plan.choice_field is not None:
        if plan.choice_field not in row["doc"]:
            return str(number)
        listed = row["doc"][plan.choice_field]
    found = listed[number] if listed else None
    return found if isinstance(found, str) else None


def _may_equal(text: str, targets: Sequence[str]) -> bool:
    """Tell whether a text may show a value that equals a target which is written otherwise."""
    number, is_other = read_number(text), text in {"True", "False", "None"}
    are_equal = (one != text and read_number(one) == number for one in targets)
    return is_other or (number is not None and any(are_equal))


def _several(target: str) -> Iterator[list[str]]:
    """Yield the targets that a text in brackets may mean."""
    if not (target.startswith("[") and target.endswith("]")):
        return
    value: Any = None
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError), catch_warnings():
        simplefilter("ignore")
        value = ast.literal_eval(target)
    if value and is_texts(value):
        yield value


@lru_cache(maxsize=64)
def _matcher(options: str) -> Any:
    """Return the function that compares an answer with targets, None where it is not known."""
    given = json.loads(options)
    patterns = given.get("regexes_to_ignore") or []
    if isinstance(patterns, str) or not all(isinstance(one, str) for one in patterns):
        return lambda _answer, _targets: None

    compiled = [(pattern, re.compile(pattern)) for pattern in patterns]

    def reduce(text: str) -> str | None:
        for pattern, ignored in compiled:
            if not is_bounded(pattern, text):
                return None
            text = ignored.sub("", text)
        if given.get("ignore_case"):
            text = text.lower()
        if given.get("ignore_punctuation"):
            text = text.translate(_WITHOUT_PUNCTUATION)
        if given.get("ignore_numbers"):
            text = text.translate(_WITHOUT_DIGITS)
        return text.rstrip("\0")  # numpy ends texts there

    def match(answer: str, targets: Sequence[str]) -> bool | None:
        reduced = reduce(answer)
        wanted = [reduce(one) for one in targets]
        return None if reduced is None or None in wanted else reduced in wanted

    return match


_WITHOUT_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_WITHOUT_DIGITS: Final = str.maketrans("", "", string.digits)

_DERIVATIONS: Final = {
    CHOICE: _derive_choices,
    LIKELIHOOD: _derive_likelihood,
    ROLLING: _derive_rolling,
    GENERATE: _derive_generated,
}


def is_derived(value: Any, derived: Derived) -> bool:
    """Return whether a value of a row is one that its answers give."""
    if derived.metric == "brier_score":
        return isinstance(value, list) and any(
            value[:1] == [gold] and _is_shown(value[-1], shares) for gold, shares in derived.values
        )
    return any(_is_same(value, one) for one in derived.values)


def _is_same(value: Any, derived: Any) -> bool:
    if isinstance(derived, list) and isinstance(value, list):
        return len(value) == len(derived) and all(map(_is_same, value, derived))
    if isinstance(derived, float) and holds_double(value):
        return math.isclose(value, derived, rel_tol=NEAR)
    return bool(value == derived)


def _is_shown(text: Any, shares: Sequence[float]) -> bool:
    """Return whether a text shows some shares; numpy leaves out the middle of many."""
    try:
        shown = _parse_numbers(text)
    except (OverflowError, TypeError, ValueError):
        return False
    if len(shown) != len(shares):
        return "..." in str(text)
    return all(abs(one - two) <= TEXT_DIGITS for one, two in zip(shown, shares, strict=True))


def _parse_numbers(text: Any) -> list[float]:
    """Return the numbers of an array as numpy writes it."""
    if isinstance(text, list):
        return [float(one) for one in text]
    return [float(one) for one in str(text).strip("[]").split() if one != "..."]
