"""The requests of a run: which instance each is about, what was asked, and its scores again.

The formulas are those of crfm-helm 0.5.16 (`metrics/evaluate_reference_metrics.py`,
compute_reference_metrics).
"""

from __future__ import annotations

import math
import string
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypedDict

import msgspec

from evalstream.formats.helm.statistics import perturbation_text
from evalstream.formats.helm.store import Instance
from evalstream.parsing.json import member, text_or_none, type_name
from evalstream.parsing.json_values import numbered_texts, object_or_empty, objects
from evalstream.parsing.lazy_regex import LazyPattern

BASIC: Final = "BasicGenerationMetric"
"""The class of metrics, by the end of its name, whose scores follow from the requests."""

MOST_TRIALS: Final = 1 << 31

_ARTICLES: Final = LazyPattern(r"\b(a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


class _Asked(TypedDict, total=False):
    model: Any


class _Completion(TypedDict, total=False):
    text: Any
    logprob: Any


class _Result(TypedDict, total=False):
    completions: list[_Completion]


class _State(TypedDict, total=False):
    instance: Any
    train_trial_index: Any
    reference_index: Any
    request_mode: Any
    output_mapping: Any
    request: _Asked
    result: _Result


_DECODER: Final[msgspec.json.Decoder[Mapping[str, Any]]] = msgspec.json.Decoder(_State)


class Request(NamedTuple):
    """One request: its instance with its split, the model, and whether it is a plain one.

    `value` is the JSON value. A plain request is the only one of its instance.
    """

    value: Mapping[str, Any]
    instance: Instance
    split: str | None
    sub_split: str | None
    model: str | None
    is_plain: bool

    @property
    def text(self) -> str:
        """The input of its instance."""
        return text_of(member(self.value["instance"], "input")) or ""

    @property
    def completions(self) -> Sequence[Mapping[str, Any]]:
        """What the model answered."""
        return [one for _, one in objects(member(self.value.get("result"), "completions"))]

    @property
    def correct(self) -> list[str]:
        """The correct references."""
        shown = objects(member(self.value["instance"], "references"))
        right = (one for _, one in shown if "correct" in (one.get("tags") or ()))
        return [text for one in right if (text := text_of(one.get("output"))) is not None]

    @property
    def choices(self) -> list[str]:
        """The texts that the model chooses from: those of its mapping, else all references."""
        mapping = self.value.get("output_mapping")
        if isinstance(mapping, dict) and mapping:
            return [text for text in mapping.values() if isinstance(text, str)]
        shown = objects(member(self.value["instance"], "references"))
        return [text for _, one in shown if (text := text_of(one.get("output"))) is not None]


def find_malformed(value: Any) -> tuple[str, str] | None:
    """Return the pointer of a member of a request that is malformed, and what is wrong."""
    if not isinstance(value, dict):
        return "", f"a request must be an object, not {type_name(value)}"
    instance, trial = value.get("instance"), value.get("train_trial_index")
    if not isinstance(instance, dict):
        return "/instance" if "instance" in value else "", "a request needs its instance"
    if not is_instance_id(instance.get("id")):
        return "/instance", "an instance needs an id"
    if not is_trial(trial):
        return "/train_trial_index", "train_trial_index must be a count"
    if not isinstance(instance.get("perturbation"), (dict, type(None))):
        return "/instance/perturbation", "a perturbation must be an object"
    return next(_malformed_tags(instance), None)


def _malformed_tags(instance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for place, one in objects(instance.get("references")):
        if not isinstance(one.get("tags"), (list, type(None))):
            yield f"/instance/references/{place}/tags", "tags must be a list"


def is_instance_id(value: Any) -> bool:
    """Tell whether a value is the id of an instance; some scenarios have numbers."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def is_trial(value: Any) -> bool:
    """Tell whether a value is the number of a trial."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and 0 <= value < MOST_TRIALS


def read_request(value: Mapping[str, Any]) -> Request:
    """Return the request in a value that is not malformed."""
    instance = value["instance"]
    perturbation = perturbation_text(instance.get("perturbation"))
    modes = (value.get("reference_index"), value.get("request_mode"))
    return Request(
        value,
        Instance(str(instance["id"]), perturbation, value["train_trial_index"]),
        text_or_none(instance.get("split")),
        text_or_none(instance.get("sub_split")),
        text_or_none(member(value.get("request"), "model")),
        modes == (None, None),
    )


def decode_request(text: bytes) -> Mapping[str, Any] | None:
    """Return the members of a request that are read here, None for one that may be malformed.

    The text must be strict JSON: what is left out, such as tokens, is not looked at.
    """
    try:
        found = _DECODER.decode(text)
    except msgspec.MsgspecError:
        return None
    return found if find_malformed(found) is None else None


def score_again(request: Request, metrics: Sequence[str]) -> array[float] | None:
    """Return the scores of a plain request by some metrics, None where they are not known.

    Those of the first completion come first, then the best over all, which are called `NAME@k`.
    """
    correct, completions = request.correct, request.completions
    texts = [text_or_none(one.get("text")) for one in completions]
    if not request.is_plain or not correct or not texts or None in texts:
        return None
    if len(texts) > 1:
        likely = [one.get("logprob", 0) for one in completions]
        if not all(isinstance(one, (int, float)) for one in likely):
            return None
        texts = [texts[place] for place in sorted(range(len(texts)), key=lambda at: -likely[at])]
    answers: list[str | None] = [str(text).strip() for text in texts]
    mapping = request.value.get("output_mapping")
    if isinstance(mapping, dict):
        answers = [text_or_none(mapping.get(answer)) for answer in answers]
    found = [_score_answer(answer or "", correct, metrics) for answer in answers]
    return array("d", [*found[0], *map(max, zip(*found, strict=True))])


def arrange_scores(
    values: Iterable[tuple[str, float]], metrics: Sequence[str]
) -> array[float] | None:
    """Return scores in the order of `score_again`, NaN for those that are missing.

    The best ones are left out if each metric has one score. Further scores of one kind come behind
    the others, each with its place. None is for no score.
    """
    number = len(metrics)
    found = [(name.partition("@"), value) for name, value in values]
    known = [(name, at, value) for (name, at, _), value in found if name in metrics]
    is_plain = len({name for name, _, _ in known}) == len(known)
    scores = array("d", [math.nan] * (number if is_plain else 2 * number))
    for metric, at, value in known:
        place = metrics.index(metric) + (number if at else 0)
        if math.isnan(scores[place]):
            scores[place] = value
        else:
            scores.extend((place, value))
    return scores if known else None


def _score_answer(answer: str, correct: Sequence[str], metrics: Sequence[str]) -> list[float]:
    """Return the scores of an answer; one that is a correct reference is right by all metrics."""
    if not answer or answer in correct:
        return [float(bool(answer))] * len(metrics)
    return [float(any(_METRICS[one](gold, answer) for gold in correct)) for one in metrics]


@lru_cache(maxsize=64)
def normalize_text(text: str) -> str:
    """Return a text in lower case, without ASCII punctuation, articles and superfluous space."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


_METRICS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "exact_match": lambda gold, answer: gold.strip() == answer.strip(),
    "quasi_exact_match": lambda gold, answer: normalize_text(gold) == normalize_text(answer),
    "prefix_exact_match": lambda gold, answer: answer.strip().startswith(gold.strip()),
    "quasi_prefix_exact_match": lambda gold, answer: normalize_text(answer).startswith(
        normalize_text(gold)
    ),
}
"""Metrics that compare the answer with one correct reference."""


def find_scored(run_spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the metrics of a run whose scores follow from its requests."""
    classes = [args for name, args in iterate_specs(run_spec) if name == BASIC]
    names = (name for args in classes for _, name in numbered_texts(args.get("names")))
    return tuple(sorted(_METRICS.keys() & {*names})) if len(classes) == 1 else ()


def text_of(value: Any) -> str | None:
    """Return the text of an input or output, which old releases wrote bare."""
    return value if isinstance(value, str) else text_or_none(member(value, "text"))


def iterate_specs(run_spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Iterate over the classes of metrics of a run with their arguments."""
    for _, one in objects(run_spec.get("metric_specs")):
        yield str(one.get("class_name")).rpartition(".")[2], object_or_empty(one.get("args"))
