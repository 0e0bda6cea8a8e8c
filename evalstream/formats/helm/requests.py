"""The requests of a run: which instance each is about, what was asked, and its scores again.

The formulas are those of crfm-helm 0.5.16 (`metrics/evaluate_reference_metrics.py`,
compute_reference_metrics).
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, Final, NamedTuple

from evalstream.formats.helm.statistics import perturbation_text
from evalstream.formats.helm.store import Instance
from evalstream.parsing.json import member, text_or_none, type_name
from evalstream.parsing.json_values import object_or_empty, objects
from evalstream.parsing.lazy_regex import LazyPattern

BASIC: Final = "BasicGenerationMetric"
"""The class of metrics, by the end of its name, whose scores follow from the requests."""

MOST_TRIALS: Final = 1 << 31

_ARTICLES: Final = LazyPattern(r"\b(a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


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
    if not is_id(instance.get("id")):
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


def is_id(value: Any) -> bool:
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


def score_again(request: Request, metrics: Set[str]) -> dict[str, float] | None:
    """Return the scores of a plain request by some metrics, None where they are not known."""
    correct, completions = request.correct, request.completions
    texts = [text_or_none(one.get("text")) for one in completions]
    likely = [one.get("logprob", 0) for one in completions]
    if not request.is_plain or not correct or not texts or None in texts:
        return None
    if len(texts) > 1 and not all(isinstance(one, (int, float)) for one in likely):
        return None
    order = sorted(range(len(texts)), key=lambda place: -likely[place])
    answers: list[str | None] = [str(texts[place]).strip() for place in order]
    mapping = request.value.get("output_mapping")
    if isinstance(mapping, dict):
        answers = [text_or_none(mapping.get(answer)) for answer in answers]
    scores = {}
    for metric in metrics & _METRICS.keys():
        agrees = _METRICS[metric]
        found = [_score(answer, correct, agrees) for answer in answers]
        scores[metric] = found[0]
        scores[f"{metric}@"] = max(found)
    return scores


def _score(answer: str | None, correct: Sequence[str], agrees: Callable[[str, str], bool]) -> float:
    return float(bool(answer) and any(agrees(gold, str(answer)) for gold in correct))


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

_BEST: Final = re.compile(r"@\d+$")


def again_name(metric: str) -> str | None:
    """Return the name of a metric in the scores of `score_again`, None for another metric.

    A metric `NAME@k` is the best over all completions.
    """
    base = _BEST.sub("@", metric)
    return base if base.removesuffix("@") in _METRICS else None


def text_of(value: Any) -> str | None:
    """Return the text of an input or output, which old releases wrote bare."""
    return value if isinstance(value, str) else text_or_none(member(value, "text"))


def iterate_specs(run_spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Iterate over the classes of metrics of a run with their arguments."""
    for _, one in objects(run_spec.get("metric_specs")):
        yield str(one.get("class_name")).rpartition(".")[2], object_or_empty(one.get("args"))
