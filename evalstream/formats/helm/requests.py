"""The requests of a run: their instances, their inputs, and their scores, computed again.

The formulas are those of crfm-helm 0.5.16 (`metrics/evaluate_reference_metrics.py`,
compute_reference_metrics).
"""

from __future__ import annotations

import math
import string
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any, Final

import msgspec

from evalstream.formats.helm.statistics import Instance, perturbation_text
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import numbered_texts, object_or_empty, objects
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.parsing.native.items import KeptMembers

BASIC: Final = "BasicGenerationMetric"
"""The class of metrics, by the end of its name, whose scores follow from the requests."""

OF_REFERENCES: Final = "BasicReferenceMetric"
"""The class that gives `exact_match` of requests that were made for each reference."""

MOST_TRIALS: Final = 1 << 31

_ARTICLES: Final = LazyPattern(r"\b(a|an|the)\b")
_KEPT_LETTERS: Final = frozenset(string.digits + string.ascii_lowercase) - {"a", "t"}
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


class _Output(msgspec.Struct, frozen=True, gc=False):
    text: str


class _Reference(msgspec.Struct, frozen=True, gc=False):
    output: _Output | str  # which old releases wrote
    tags: list[str] | None = None


class _Input(msgspec.Struct, frozen=True, gc=False):
    text: str = ""


class _Instance(msgspec.Struct, frozen=True, gc=False):
    id: str | int
    input: _Input | str  # a text in old releases
    split: str | None = None
    sub_split: str | None = None
    perturbation: msgspec.Raw = msgspec.Raw(b"null")
    references: tuple[_Reference, ...] | None = None


class Settings(msgspec.Struct, frozen=True, gc=False):
    """The members of a request to the model that follow from the adapter and the instance."""

    prompt: str | None = None
    model: Any = None
    model_deployment: Any = None
    temperature: Any = None
    max_tokens: Any = None
    num_completions: Any = None
    top_k_per_token: Any = None
    stop_sequences: Any = None


class _Completion(msgspec.Struct, frozen=True, gc=False):
    text: str
    logprob: float = math.nan
    tokens: Any = None


class _Result(msgspec.Struct, frozen=True, gc=False):
    completions: tuple[_Completion, ...] = ()
    success: bool | None = None


class PlainRequest(msgspec.Struct, frozen=True, gc=False):
    """The members of a request that are read here, all of the types that the harness writes."""

    instance: _Instance
    train_trial_index: Annotated[int, msgspec.Meta(ge=0, lt=MOST_TRIALS)]
    request: Settings = Settings()
    result: _Result = _Result()
    output_mapping: dict[str, str] | None = None
    reference_index: int | None = None
    request_mode: str | None = None
    num_train_instances: int | None = None
    prompt_truncated: bool | None = None
    num_conditioning_tokens: Any = None

    @property
    def is_plain(self) -> bool:
        """Whether the request is the only one of its instance."""
        return self.reference_index is None and self.request_mode is None

    @property
    def num_references(self) -> int:
        """The number of references of its instance."""
        return len(self.instance.references or ())

    @property
    def max_prob(self) -> float:
        """The probability of the most likely answer, NaN where it is not known."""
        likely = max((one.logprob for one in self.result.completions), default=math.nan)
        return math.exp(min(likely, 700.0))

    @property
    def input(self) -> str:
        """The text of the input of its instance."""
        given = self.instance.input
        return given if isinstance(given, str) else given.text


_TOLD_MEMBERS: Final = ("num_train_instances", "prompt_truncated")
TOLD: Final = (*_TOLD_MEMBERS, "num_references", "max_prob")
"""Statistics that a request tells itself, by its members and by properties of these names."""

KEPT: Final[KeptMembers] = {
    "instance": dict.fromkeys(("id", "input", "split", "sub_split", "perturbation"))
    | {"references": {"output": {"text": None}, "tags": None}},
    "train_trial_index": None,
    "request": dict.fromkeys(Settings.__struct_fields__),
    "result": {"completions": {"text": None, "logprob": None}, "success": None},
    **dict.fromkeys(("output_mapping", "reference_index", "request_mode", *_TOLD_MEMBERS)),
}
"""The members of `PlainRequest`."""


class Request(NamedTuple):
    """One request with all of its members: its JSON value, and its instance."""

    value: Mapping[str, Any]
    instance: Instance

    @property
    def text(self) -> str:
        """The input of its instance."""
        return text_of(member(self.value["instance"], "input")) or ""

    @property
    def completions(self) -> Sequence[Mapping[str, Any]]:
        """The answers of the model."""
        return [one for _, one in objects(member(self.value.get("result"), "completions"))]

    @property
    def correct(self) -> list[str]:
        """The correct references that are texts."""
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
    return Request(value, Instance(str(instance["id"]), perturbation, value["train_trial_index"]))


def read_output(reference: _Reference) -> str:
    """Return the text of a reference."""
    return reference.output if isinstance(reference.output, str) else reference.output.text


_DECODER: Final = msgspec.json.Decoder(list[PlainRequest])


def is_encrypted(text: str) -> bool:
    """Tell whether the publisher of a run withheld a text.

    Source: scripts/encrypt_scenario_states.py of HELM, which hides the questions of gated sets.
    """
    return text.startswith("[encrypted_text_")


def decode_requests(text: bytes) -> Sequence[PlainRequest] | None:
    """Return the requests of a list, None where some may have members of another type.

    The text must be strict JSON.
    """
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError:
        return None


@lru_cache(maxsize=1024)
def read_perturbation(text: bytes) -> str | None:
    """Return the perturbation in a JSON text as `Instance` has it, None for a malformed one."""
    value = msgspec.json.decode(text)
    return perturbation_text(value) if isinstance(value, (dict, type(None))) else None


def convert_request(value: Mapping[str, Any]) -> PlainRequest:
    """Return a request that is not malformed."""
    instance = {key: one for key, one in value["instance"].items() if key != "perturbation"}
    return msgspec.convert({**value, "instance": instance}, PlainRequest)


def score_again(request: PlainRequest, metrics: Sequence[str]) -> bytes | None:
    """Return the scores of a plain request by some metrics, None where they are not known."""
    if not metrics or not request.is_plain or request.instance.references is None:
        return None
    completions, references = request.result.completions, request.instance.references
    correct = [read_output(one) for one in references if one.tags and "correct" in one.tags]
    texts, likely = [one.text for one in completions], [one.logprob for one in completions]
    scored, members = _part_metrics(tuple(metrics))
    told = (getattr(request, name) for name in members)
    numbers = [math.nan if one is None else float(one) for one in told]
    return score_answers(texts, likely, correct, request.output_mapping, scored, numbers)


@lru_cache(maxsize=8)
def _part_metrics(metrics: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the metrics that answers are scored by, and those that requests tell themselves."""
    scored = [name for name in metrics if name not in TOLD]
    return scored, [name for name in metrics if name in TOLD]


def score_answers(
    texts: Sequence[str],
    likely: Sequence[float],
    correct: Sequence[str],
    mapping: Mapping[str, Any] | None,
    metrics: Sequence[str],
    told: Sequence[float] = (),
) -> bytes | None:
    """Return the scores of answers with their log probabilities, None without readable answers.

    Without a correct reference no answer is right. Those of the most likely one come first, then
    the best over all, which are called `NAME@k`. What the request told comes behind each of both.
    """
    if not texts or any(map(is_encrypted, (*texts, *correct))):
        return None
    if len(texts) > 1:
        texts = [texts[place] for place in sorted(range(len(texts)), key=lambda at: -likely[at])]
    answers = [text.strip() for text in texts]
    if mapping is not None:
        answers = [text_or_none(mapping.get(answer)) or "" for answer in answers]
    found = [_score_answer(answer, correct, metrics) for answer in answers]
    best = found[0] if len(found) == 1 else tuple(map(max, zip(*found, strict=True)))
    return _pack(found[0], (*told,), best, (*told,))


@lru_cache(maxsize=1024)
def _pack(*scores: tuple[float, ...]) -> bytes:
    return array("d", chain.from_iterable(scores)).tobytes()


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
    return scores if any(name not in TOLD for name, _, _ in known) else None


def _score_answer(answer: str, correct: Sequence[str], metrics: Sequence[str]) -> tuple[float, ...]:
    """Return the scores of an answer, each the best by any correct reference."""
    if not answer:
        return (0.0,) * len(metrics)
    found = set(_MATCHES if answer in correct else ())
    for gold in correct if not found else ():
        found.update(_find_matches(gold.strip(), answer.strip()))
    return tuple(
        [
            float(one in found)
            if one in _MATCHES
            else max((float(_SCORES[one](gold, answer)) for gold in correct), default=0.0)
            for one in metrics
        ]
    )


def _find_matches(gold: str, answer: str) -> Iterator[str]:
    """Iterate over the metrics by which an answer is right, if one correct reference is `gold`."""
    if answer == gold:
        yield "exact_match"
    if answer.startswith(gold):
        yield "prefix_exact_match"
    start, other = gold[:1].lower(), normalize_text(answer)
    # Normal texts then begin with this letter, which is not that of an article.
    if start in _KEPT_LETTERS and not other.startswith(start):
        return
    normal = normalize_text(gold)
    if other == normal:
        yield "quasi_exact_match"
    if other.startswith(normal):
        yield "quasi_prefix_exact_match"


@lru_cache(maxsize=64)
def normalize_text(text: str) -> str:
    """Return a text in lower case, without ASCII punctuation, articles and superfluous space."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


_MATCHES: Final = frozenset(
    ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")
)
"""Metrics by which an answer is right that is a correct reference."""


def _share_words(gold: str, answer: str) -> float:
    """Return the F1 of the different words of two texts (`f_measure` of nltk)."""
    right, given = set(normalize_text(gold).split()), set(normalize_text(answer).split())
    both = len(right & given)
    return 1.0 / (0.5 / (both / len(given)) + 0.5 / (both / len(right))) if both else 0.0


def _last_number(text: str) -> str:
    found = _NUMBER.findall(text)
    return found[-1].replace(",", "") if found else ""


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case, with articles."""
    return text.lower().translate(_PUNCTUATION).split()


_NUMBER: Final = LazyPattern(r"-?[\d,]+(?:.\d+)?")

_SCORES: Final[Mapping[str, Callable[[str, str], float]]] = {
    "exact_match_indicator": lambda gold, answer: (
        gold.split(" ")[-1].strip() == answer.split(" ")[-1].strip()
    ),
    "f1_score": _share_words,
    "final_number_exact_match": lambda gold, answer: (
        _last_number(gold) == _last_number(answer) != ""
    ),
    "quasi_leave_articles_exact_match": lambda gold, answer: _words(gold) == _words(answer),
}
"""Further metrics that compare the answer with one correct reference."""

METRICS: Final = _MATCHES | _SCORES.keys()


def find_scored(run_spec: Mapping[str, Any], metrics: Iterable[str]) -> tuple[str, ...]:
    """Return the metrics of a run whose scores follow from its requests.

    They are those that it declares, and those of its statistics: a specification that does not
    declare them does not keep them from being computed.
    """
    classes = (args for name, args in iterate_specs(run_spec) if name == BASIC)
    names = (name for args in classes for _, name in numbered_texts(args.get("names")))
    found = sorted(METRICS & {*names, *metrics})
    return (*found, *TOLD) if found else ()


def text_of(value: Any) -> str | None:
    """Return the text of an input or output, which old releases wrote bare."""
    return value if isinstance(value, str) else text_or_none(member(value, "text"))


def iterate_specs(run_spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Iterate over the classes of metrics of a run with their arguments."""
    for _, one in objects(run_spec.get("metric_specs")):
        yield str(one.get("class_name")).rpartition(".")[2], object_or_empty(one.get("args"))
