"""A typed view of the aggregate: what it claims about its rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from evalstream.formats.eee.claims import Claims, read_claims
from evalstream.formats.eee.metrics import (
    bound,
    find_scorer,
    is_qualified,
    list_names,
    metric_kind,
    own_name,
)
from evalstream.model.data_class import DataClass, NamedTuple
from evalstream.model.row_record import UNJOINED
from evalstream.model.text import ALGORITHM_OF_LENGTH, ALGORITHMS, is_hex_digest, normalise_digest
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import Numbered, object_or_empty, objects, read_number, to_float
from evalstream.stats.claims import kinds
from evalstream.stats.claims.kinds import KIND_BY_NAME, ClaimKind
from evalstream.stats.tally import FEW_VALUES, MOST_VALUES

DETAILS: Final = "/detailed_evaluation_results"
RESULTS: Final = "/evaluation_results"
SOURCE_DATA: Final = "source_data"

USUAL_ALGORITHMS: Final = ("sha256",)
"""The digests of a rows file whose aggregate declares none."""


class Figures(NamedTuple):
    """The claims of one result about its score; a part of the wrong type is empty, a score None.

    `place` is its index in evaluation_results.
    """

    place: int
    metric: Mapping[str, Any]
    score: float | None
    uncertainty: Mapping[str, Any]


class Result(NamedTuple):
    """One result of the aggregate, with the parts that concern rows.

    `place` is its index in evaluation_results. `minimum` and `maximum` bound its scores (from 0.2.3
    on infinities are allowed), or are None if the metric declares no bound. `metric` is the
    metric's own name, and `levels` the number of level_names. `samples_number` is the size of the
    dataset, `sample_ids` the used samples, as strings, and `split` the part of the dataset in its
    repository. `unit` is that of the scores, `kind_name` the name of the metric's kind, and
    `is_qualified` says that its name has further words. `data_in` is the member that states
    samples_number and sample_ids, and `lists_evenly` says that the latter has each id as often.
    `most_tokens` limits the output of a model that does not reason, `most_turns` the transcript.
    `scorer` is that of Inspect's converter.
    """

    place: int
    id: str | None
    name: str | None
    dataset: str | None
    repository: str | None
    minimum: float | None
    maximum: float | None
    lower_is_better: bool
    score_type: str | None
    metric: str | None
    levels: int | None
    samples_number: int | None
    sample_ids: frozenset[str] | None
    split: str | None = None
    has_unknown_level: bool = False
    unit: str | None = None
    kind_name: str = kinds.UNKNOWN.name
    is_qualified: bool = False
    data_in: str = SOURCE_DATA
    lists_evenly: bool = True
    most_tokens: float | None = None
    most_turns: float | None = None
    scorer: str | None = None

    @property
    def kind(self) -> ClaimKind:
        """The kind of the metric; nothing but bounds refutes one with a qualified name."""
        kind = KIND_BY_NAME[self.kind_name]
        return kind._replace(is_exact=False) if self.is_qualified else kind

    @property
    def most_values(self) -> int:
        """How many different scores the formula of the metric may need."""
        return MOST_VALUES if self.kind.needs_values else FEW_VALUES


class Aggregate(DataClass, frozen=True):
    """An aggregate and the claims that rows can confirm or refute.

    A claim is None if the document does not make it, or gives it the wrong type, which the schema
    reports. `text` is the text of the document, which shows the digits of its numbers.
    """

    document: dict[str, Any]
    text: bytes = b"{}"

    @cached_property
    def claims(self) -> Mapping[int, Claims]:
        """The claims of each result by its index, read when a rule needs them."""
        return read_claims(self.text)

    @property
    def version(self) -> str | None:
        """The declared schema_version."""
        return text_or_none(self.document.get("schema_version"))

    @property
    def evaluation_id(self) -> str | None:
        """The id that its rows must have."""
        return text_or_none(self.document.get("evaluation_id"))

    @property
    def model_id(self) -> str | None:
        """The model that its rows must name: model_info.id."""
        return text_or_none(member(self.document.get("model_info"), "id"))

    @property
    def developer(self) -> Any:
        """The organisation that provides the model, of any type; None if it is missing."""
        return member(self.document.get("model_info"), "developer")

    @cached_property
    def evaluation_names(self) -> frozenset[str] | None:
        """The names of its results, or None if it lists none."""
        names = frozenset(
            name
            for _, result in self.indexed_results
            if isinstance(name := result.get("evaluation_name"), str)
        )
        return names or None

    @cached_property
    def details(self) -> dict[str, Any] | None:
        """The object that seals the rows file, or None if it is missing."""
        details = self.document.get("detailed_evaluation_results")
        return details if isinstance(details, dict) else None

    @cached_property
    def hash_algorithm(self) -> str | None:
        """The declared algorithm, if it is supported."""
        algorithm = self.claim("hash_algorithm")
        return algorithm if algorithm in ALGORITHMS else None

    @cached_property
    def checksum(self) -> str | None:
        """The declared checksum as plain lower-case hex, or None if it is not a digest."""
        declared = self.claim("checksum")
        if not isinstance(declared, str):
            return None
        bare = normalise_digest(declared)
        return bare if is_hex_digest(bare) else None

    @cached_property
    def checksum_algorithms(self) -> tuple[str, ...]:
        """The digest algorithms that the rows file needs, the declared one first.

        A checksum with the length of another algorithm needs that algorithm, too.
        """
        by_length = ALGORITHM_OF_LENGTH[len(self.checksum)] if self.checksum else None
        wanted = [name for name in (self.hash_algorithm, by_length) if name]
        return tuple(dict.fromkeys(wanted)) or USUAL_ALGORITHMS

    @property
    def file_path(self) -> str | None:
        """The declared path of the rows file."""
        return text_or_none(self.claim("file_path"))

    @property
    def is_documentation(self) -> bool:
        """Whether it reports published figures and declares no rows that could confirm them."""
        source = member(self.document.get("source_metadata"), "source_type")
        return source == "documentation" and not self.document.get("detailed_evaluation_results")

    def claim(self, member: str) -> Any:
        """Return a member of detailed_evaluation_results as it is, or None if it is missing."""
        return None if self.details is None else self.details.get(member)

    @property
    def library(self) -> str | None:
        """The harness that wrote the run: eval_library.name, before 0.2.1 the source's name."""
        for holder, key in (("eval_library", "name"), ("source_metadata", "source_name")):
            name = text_or_none(member(self.document.get(holder), key))
            if name:
                return name
        return None

    @cached_property
    def indexed_results(self) -> tuple[Numbered, ...]:
        """The results that are objects, with their indices in the list."""
        return tuple(objects(self.document.get("evaluation_results")))

    @cached_property
    def figures(self) -> tuple[Figures, ...]:
        """The claims of each result that is an object about its score."""
        return tuple(_figures(index, result) for index, result in self.indexed_results)

    @cached_property
    def joinable(self) -> tuple[Result, ...]:
        """The part of each result that rows need."""
        return tuple(_result(index, result) for index, result in self.indexed_results)


class Join:
    """Finds the result that a row scores: by evaluation_result_id, else by its name.

    Names are those of results, then the tasks in names that converters wrote (`accuracy on TASK for
    scorer SCORER`), then datasets. An aggregate with a single result takes every row without
    another id. An id or a name of several results joins nothing; rows with such a name have a
    place of their own, from which `places` says which results may have them. If no result has an
    id, the id of a row is ignored: before 0.2.2 the format does not define the key.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        ids = [result.id for result in results if result.id is not None]
        self.knows_ids = bool(ids)
        times: Mapping[str, int] = Counter(ids) if len(ids) > 1 else {}
        self.by_id = {
            one.id: one for one in results if one.id is not None and times.get(one.id, 1) == 1
        }
        self._only = results[0] if len(results) == 1 else None
        self._by_name = {} if self._only is not None else _candidates(results)
        shared = (name for name, found in self._by_name.items() if len(found) > 1)
        self._shared = {name: len(results) + number for number, name in enumerate(shared)}
        self._rivals = {place: self._by_name[name] for name, place in self._shared.items()}
        self._places = defaultdict[int, list[int]](list)
        for place, found in self._rivals.items():
            for result in found:
                self._places[result.place].append(place)

    def result(self, row: Mapping[str, Any]) -> Result | None:
        """Return the result that a row scores, or None if it joins none."""
        identity = row.get("evaluation_result_id")
        if identity.__class__ is str and self.knows_ids:
            return self.by_id.get(identity)
        if self._only is not None:
            return self._only
        name = row.get("evaluation_name")
        found = self._by_name.get(name, ()) if name.__class__ is str else ()
        return found[0] if len(found) == 1 else None

    def place(self, row: Mapping[str, Any]) -> int:
        """Return the place in which a row is counted: its result's, a shared one, or UNJOINED."""
        result = self.result(row)
        if result is not None:
            return result.place
        identity, name = row.get("evaluation_result_id"), row.get("evaluation_name")
        if name.__class__ is not str or (identity.__class__ is str and self.knows_ids):
            return UNJOINED
        return self._shared.get(name, UNJOINED)

    def places(self, result: Result) -> list[int]:
        """Return the shared places whose rows a result may have."""
        return self._places.get(result.place, [])

    def rivals(self, place: int) -> list[Result]:
        """Return the results that may have the rows of a shared place, none for another place."""
        return self._rivals.get(place, [])


def _candidates(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the results that rows with each name may score; nearer names come first."""
    known: dict[str, list[Result]] = {}
    for names in zip(*map(_list_names, results), strict=True):
        level: dict[str, list[Result]] = {}
        for result, own in zip(results, names, strict=True):
            for name in dict.fromkeys(own):
                if name not in known:
                    level.setdefault(name, []).append(result)
        known.update(level)
    return known


def _list_names(result: Result) -> tuple[Iterable[str], Iterable[str], Iterable[str]]:
    own = () if result.name is None else (result.name,)
    datasets = (name for name in (result.dataset, result.repository) if name)
    return own, tasks_in_name(result.name or ""), datasets


def tasks_in_name(name: str) -> Iterator[str]:
    """Return the possible tasks of a result named "metric on task for scorer scorer"."""
    _, *rest = name.partition(" for scorer ")[0].split(" on ")
    return (" on ".join(rest[place:]) for place in range(len(rest)))


def _figures(index: int, result: dict[str, Any]) -> Figures:
    details = object_or_empty(result.get("score_details"))
    metric, uncertainty = result.get("metric_config"), details.get("uncertainty")
    score = to_float(details.get("score"))
    return Figures(index, object_or_empty(metric), score, object_or_empty(uncertainty))


def _result(index: int, result: dict[str, Any]) -> Result:
    metric = object_or_empty(result.get("metric_config"))
    source = object_or_empty(result.get("source_data"))
    name, levels = text_or_none(result.get("evaluation_name")), metric.get("level_names")
    names = list_names(metric, name)
    data, (most_tokens, most_turns) = _read_used_samples(source), _read_limits(result)
    return Result(
        place=index,
        id=text_or_none(result.get("evaluation_result_id")),
        name=name,
        dataset=text_or_none(source.get("dataset_name")),
        repository=text_or_none(source.get("hf_repo")),
        minimum=bound(metric.get("min_score")),
        maximum=bound(metric.get("max_score")),
        lower_is_better=metric.get("lower_is_better") is True,
        score_type=text_or_none(metric.get("score_type")),
        metric=own_name(metric) or next(iter(names), None),
        levels=len(levels) if isinstance(levels, list) else None,
        samples_number=data.number,
        sample_ids=data.ids,
        split=text_or_none(source.get("hf_split")),
        has_unknown_level=metric.get("has_unknown_level") is True,
        unit=text_or_none(metric.get("metric_unit")),
        kind_name=metric_kind(metric, names).name,
        is_qualified=is_qualified(names),
        data_in=data.place,
        lists_evenly=data.lists_evenly,
        most_tokens=most_tokens,
        most_turns=most_turns,
        scorer=find_scorer(metric, name),
    )


def _read_limits(result: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Read max_tokens, the greater one of two, and message_limit.

    Tokens of reasoning may come on top of max_tokens.
    """
    settings = member(result.get("generation_config"), "generation_args")
    if not settings:
        return None, None
    planned = member(member(settings, "eval_plan"), "config")
    tokens = [read_number(member(holder, "max_tokens")) for holder in (settings, planned)]
    most = max((number for number in tokens if number is not None), default=None)
    tries = read_number(member(settings, "max_attempts"))
    if most is not None and tries is not None and tries > 1:
        most *= tries
    turns = to_float(member(member(settings, "eval_limits"), "message_limit"))
    return None if member(settings, "reasoning") is True else most, turns


class _UsedSamples(NamedTuple):
    """The number of samples of a dataset, the used ones, and the member that says so.

    `lists_evenly` says that the used ones are listed equally often.
    """

    number: int | None
    ids: frozenset[str] | None
    place: str = SOURCE_DATA
    lists_evenly: bool = True


def _read_used_samples(source: Mapping[str, Any]) -> _UsedSamples:
    """Read which samples there are.

    For a dataset that is not one of Hugging Face, the converter of Inspect's logs writes them as
    texts in additional_details, the ids with commas between them. If there seem to be more ids than
    samples, they have commas themselves.
    """
    listed, details = source.get("sample_ids"), source.get(_DETAILS)
    if isinstance(listed, list) or "samples_number" in source or not isinstance(details, dict):
        number = _whole(source.get("samples_number"))
        if not isinstance(listed, list):
            return _UsedSamples(number, None)
        known = frozenset(map(str, listed))
        is_even = len(known) == len(listed) or len({*Counter(map(str, listed)).values()}) == 1
        return _UsedSamples(number, known, lists_evenly=is_even)
    number, texts = details.get("samples_number"), details.get("sample_ids")
    if not (isinstance(number, str) and number.isdecimal() and len(number) < MOST_DIGITS):
        return _UsedSamples(None, None)
    parts = texts.split(",") if isinstance(texts, str) and texts else []
    ids = frozenset(parts) if 0 < len(parts) <= int(number) else None
    return _UsedSamples(int(number), ids, f"{SOURCE_DATA}/{_DETAILS}")


_DETAILS: Final = "additional_details"

MOST_DIGITS: Final = 16
"""Numbers of samples have fewer digits."""


def _whole(value: Any) -> int | None:
    """Return a number that is an integer for JSON Schema, as 20.0 is, else None."""
    known = to_float(value)
    return int(value) if known is not None and known.is_integer() else None
