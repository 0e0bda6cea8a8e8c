"""The values of HarpIA Lab's documents: identifiers, parameters, metrics, scores and results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from evalstream.parsing.json import canonical, resolve, resolve_pointer, type_name
from evalstream.parsing.json_values import is_number
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.stats.claims import kinds
from evalstream.stats.claims.kinds import ClaimKind

SUPERVISED_PARTS: Final = (
    *("accuracy", "bartscore", "bertscore", "bleu", "bleurt", "charactererror", "chrf", "cider"),
    *("comet", "exactmatch", "gleu", "levenshtein", "meteor", "moverscore", "rouge"),
    *("translationeditrate", "worderror"),
)
"""Parts of the names of metrics that compare a response with reference sentences."""

SUPERVISED_WORDS: Final = frozenset({"cer", "f1", "nist", "ter", "wer"})
"""Such names that are too short to be searched inside others."""

UNSUPERVISED_PARTS: Final = ("cometkiwi", "cometqe", "selfbleu", "referencefree")
"""Names of metrics that look like comparing ones but are not."""

LOWER_PARTS: Final = ("charactererror", "distance", "editrate", "perplexity", "worderror")
LOWER_WORDS: Final = frozenset({"cer", "ter", "wer"})
"""Parts and words in the names of metrics whose lower scores are better."""

LONGEST_IDENTIFIER: Final = 200
"""The number of kept characters of an identifier; longer ones end in a digest."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*|\d+")
ODD: Final = re.compile(r"[^a-z0-9]+")


def identifier(value: Any) -> str | None:
    """Return an id as a string, or None if it is neither a string nor a whole number.

    Ids that differ only in type are equal, since writers turn numbers into strings.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return str(value)


def is_supervised(metric: str) -> bool:
    """Return whether a metric compares with reference sentences, by its name.

    The documentation calls such metrics supervised and names BLEU and BERTScore; the others are
    those of its sources (NLTK, Hugging Face's Evaluate) that take references.
    """
    is_other = _is_named(metric, UNSUPERVISED_PARTS, frozenset())
    return not is_other and _is_named(metric, SUPERVISED_PARTS, SUPERVISED_WORDS)


def parameters_key(parameters: Any) -> bytes:
    """Return a key that is equal for equal parameters.

    The order of members does not count, and 1 is 1.0, but true is not 1. Raises RecursionError if
    the parameters are nested too deep.
    """
    written = canonical(parameters)
    return _key_of_usual(written) if len(written) <= _USUAL_PARAMETERS else _number_key(written)


def _number_key(written: bytes) -> bytes:
    return canonical(_plain(json.loads(written)))


_USUAL_PARAMETERS: Final = 1000
_key_of_usual: Final = lru_cache(maxsize=1024)(_number_key)
"""A log repeats the parameters of each metric for each instance, so keys are kept."""


def value_difference(expected: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Describe in which members parameters differ."""
    differences = []
    for key in sorted(expected.keys() | found.keys()):
        if key not in found:
            differences.append(f"{key} is missing")
        elif key not in expected:
            differences.append(f"{key} is not expected")
        elif parameters_key(expected[key]) != parameters_key(found[key]):
            differences.append(f"{key} differs")
    more = len(differences) - _DIFFERENCES_SHOWN
    return ", ".join(differences[:_DIFFERENCES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def value_shape(value: Any) -> Any:
    """Return the shape of a score or result: equal shapes hold the same kinds of values.

    For an object this is the shape of each member; the length of a list does not count. Raises
    RecursionError if the value is nested too deep.
    """
    if isinstance(value, dict):
        return {key: value_shape(inner) for key, inner in value.items()}
    kind = type_name(value)
    return "number" if kind == "integer" else kind


def shape_text(shape: Any) -> str:
    """Describe a shape in words."""
    if not isinstance(shape, dict):
        return f"{'an' if shape in ('array', 'object') else 'a'} {shape}"
    if not shape:
        return "an object without members"
    named = list(shape)[:_MEMBERS_SHOWN]
    more = len(shape) - len(named)
    return f"an object of {', '.join(named)}" + (f" and {more:,} more" if more > 0 else "")


def iterate_leaves(value: Any, *, unwrap: bool = False) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Iterate over the values in a score or result that are not objects, by path.

    With `unwrap` the only element of a list stands for the list.
    """
    left: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while left:
        path, inner = left.pop()
        if unwrap and isinstance(inner, list) and len(inner) == 1:
            (inner,) = inner
        if isinstance(inner, dict):
            left.extend(((*path, key), item) for key, item in reversed(inner.items()))
        else:
            yield path, inner


def iterate_numbers(value: Any) -> Iterator[tuple[tuple[str, ...], int | float]]:
    """Iterate over the numbers of a score or result by path, without those in lists."""
    return ((path, inner) for path, inner in iterate_leaves(value) if is_number(inner))


def iterate_scores(value: Any) -> Iterator[tuple[tuple[str, ...], int | float | bool | None]]:
    """Iterate over the scores in the result of one instance by path; null is a missing one.

    They are its numbers, true and false, and the only element of a list with one such element, as
    metrics that take a batch of instances return them.
    """
    for path, inner in iterate_leaves(value, unwrap=True):
        if inner is None or isinstance(inner, (int, float)):
            yield path, inner


def is_lower_better(metric: str) -> bool:
    """Return whether lower scores of a metric are better, by its name.

    These are error rates, distances and perplexities; the documents do not say it.
    """
    return _is_named(metric, LOWER_PARTS, LOWER_WORDS)


def claim_at(document: Any, place: str, path: tuple[str, ...]) -> Decimal | None:
    """Return the number at a path below a JSON Pointer, as it was written."""
    number = resolve(resolve_pointer(document, place), path)
    if not isinstance(number, Decimal) or not number.is_finite():
        return None
    return number if abs(number.adjusted()) <= _LARGEST_EXPONENT else None


def _is_named(metric: str, parts: tuple[str, ...], words: frozenset[str]) -> bool:
    joined = ODD.sub("", metric.lower())
    return any(part in joined for part in parts) or not metric_words(metric).isdisjoint(words)


def metric_words(metric: str) -> set[str]:
    """Return the words of a metric's name, cut at capitals and at other characters."""
    return {word.lower() for word in _WORD.findall(metric)} | set(ODD.split(metric.lower()))


_DIFFERENCES_SHOWN: Final = 5
_MEMBERS_SHOWN: Final = 8


def _plain(value: Any) -> Any:
    """Return a value with whole numbers in one notation."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_LARGEST_EXPONENT: Final = 400
"""The exponent beyond the range of doubles, where results cannot confirm a claim."""


MEAN_PARTS: Final = ("bertscore", "comet", "exactmatch", "meteor")
MEAN_WORDS: Final = frozenset({"accuracy", "acc"})
"""Parts and words in the names of metrics whose score of a data set is the mean over instances.

Exact match and accuracy count right answers. METEOR and COMET in Hugging Face's Evaluate average
the instances, as the command-line tool of BERTScore does. BLEU, chrF, TER, and error rates count
over the whole corpus, and ROUGE there takes the median of resampled means, so they are not listed.
"""

NO_MEAN_WORDS: Final = frozenset({"balanced", "corpus", "weighted"})
"""Words in the names of their variants that are computed over all instances at once."""

COUNTS: Final = frozenset({"correct", "success", "successes"})
"""Names of figures that may be numbers of instances, and then are not between the results."""

MEAN_MEMBERS: Final = frozenset(
    {"accuracy", "exactmatch", "f1", "mean", "meanscore", "meteor", "precision", "recall", "score"}
)
"""The members of a score that hold the figure itself, and not a count or a duration."""

_OF_RESULTS: Final = (
    *(kinds.AVERAGE, kinds.COUNT, kinds.MEAN, kinds.MEDIAN),
    *(kinds.MODE, kinds.LEAST, kinds.GREATEST),
)
"""Kinds whose formula over the results of instances gives the score of a data set.

Others need more than results: the deviation of a score is not that of the results beside it.
"""


SHARE: Final = kinds.UNKNOWN._replace(name="share or percentage", bounds=lambda _: (0, 100))
OVERLAP: Final = SHARE._replace(name="overlap")
ERROR_RATE: Final = kinds.UNKNOWN._replace(name="error rate", bounds=lambda _: (0, None))
PERPLEXITY: Final = kinds.UNKNOWN._replace(name="perplexity", bounds=lambda _: (1, None))

_BOUNDED: Final = {
    SHARE: LazyPattern(r"(?i)acc|accuracy|exact[ _-]?match"),
    OVERLAP: LazyPattern(
        r"(?i)(?:(?:corpus|sentence)[ _-])?(?:(?:sacre)?bleu|chrf\+*|meteor"
        r"|rouge[ _-]?(?:[0-9]|l(?:sum)?)?)(?:[ _-]\(?(?:nltk|score|[0-9])\)?)?"
    ),
    ERROR_RATE: LazyPattern(
        r"(?i)(?:(?:character|word)[ _-]error|translation[ _-]edit)[ _-]rate|cer|ter|wer"
    ),
    PERPLEXITY: LazyPattern(r"(?i)(?:mean[ _-])?perplexity"),
}
"""Kinds with bounds whatever their formula over the whole data set, and their names.

A share or an overlap may be in percent.

The whole name decides: the logarithm of one, a difference or a length has other bounds.
"""


_PARTS: Final = LazyPattern(r"(?i)precision|recall|f1|f[ _-]?(?:score|measure)")
"""Figures that are between the same bounds as an overlap that they are parts of."""


@lru_cache(maxsize=4096)
def choose_bounded_kind(metric: str, path: tuple[str, ...]) -> ClaimKind:
    """Return the kind of a score or result by its bounds; of one without any it is not known."""
    names = [metric, *path] if path and _PARTS.fullmatch(path[-1]) else [_name_figure(metric, path)]
    found = (one for name in names for one, known in _BOUNDED.items() if known.fullmatch(name))
    kind = next(found, kinds.UNKNOWN)
    return kind if len(names) == 1 or kind is OVERLAP else kinds.UNKNOWN


def _name_figure(metric: str, path: tuple[str, ...]) -> str:
    return path[-1] if path and path[-1].lower() != "score" else metric


def choose_kind(metric: str, path: tuple[str, ...]) -> ClaimKind:
    """Return the kind of a number in a metric's score.

    The documents do not say how a score comes about, so the name of the metric decides, and the
    last key of a number inside an object.
    """
    if is_mean(metric, path):
        return kinds.MEAN
    name = _name_figure(metric, path)
    kind = kinds.kind_named(name)
    if kind is None or kind not in _OF_RESULTS or name.strip().lower() in COUNTS:
        return choose_bounded_kind(metric, path)
    is_variant = not metric_words(metric).isdisjoint(NO_MEAN_WORDS)
    return kinds.AVERAGE if kind is kinds.MEAN and is_variant else kind


def is_mean(metric: str, path: tuple[str, ...]) -> bool:
    """Return whether a number in a metric's score is known to be the mean over the instances."""
    if not metric_words(metric).isdisjoint(NO_MEAN_WORDS):
        return False
    is_known = _is_named(metric, MEAN_PARTS, MEAN_WORDS)
    return is_known and (not path or ODD.sub("", path[-1].lower()) in MEAN_MEMBERS)


def count_decimals(number: float) -> int:
    """Return the number of decimals of a number in its shortest form, 0 for one not finite."""
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
