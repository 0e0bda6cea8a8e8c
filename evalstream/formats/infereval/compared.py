"""The input of comparisons from an evaluation: its samples, its settings, its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, Final

from evalstream.engine.row_lookup import RowPlaces, pick_elements
from evalstream.formats.infereval.files import RereadDocument, comes_once
from evalstream.formats.infereval.format import ITEMS, NAME
from evalstream.formats.infereval.views import Evaluation
from evalstream.formats.infereval.votes import ABSTAIN, VERDICTS, consensus
from evalstream.model.comparison import Answered, MetricName, RunDescription
from evalstream.model.options import Options, SampleRequest
from evalstream.model.run import Run
from evalstream.model.sample_record import UNKNOWN, GroupLabel, SampleFlag
from evalstream.parsing import json
from evalstream.parsing.array_elements import Element
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import (
    fast_or_none,
    flatten_settings,
    is_texts,
    object_or_empty,
    setting_texts,
)
from evalstream.parsing.object_splitter import ObjectSplitter
from evalstream.stats import sample_digests
from evalstream.stats.run_samples import RunSamples

AGREEMENT: Final = "observed agreement"
"""Whether the verdict is the analysts' consensus, where both are good or bad.

Its mean is p_o of infereval's cohens_kappa with consensus_reference.
"""

COVERAGE: Final = "coverage"
"""Whether the verdict is not abstain; its mean is infereval's coverage."""


class ItemSamples:
    """Collects the items of an evaluation, each with a score for its agreement and its coverage."""

    def __init__(self, samples: RunSamples, request: SampleRequest, evaluation: Evaluation) -> None:
        self._samples, self._request = samples, request
        self._evaluation, self._inputs = evaluation, Inputs(evaluation)
        self._collector = sample_digests.SampleCollector(samples)
        name = text_or_none(evaluation.document.get("benchmark_id")) or ""
        self._agreement = GroupLabel(None, name, AGREEMENT)
        self._coverage = GroupLabel(None, name, COVERAGE)

    def add(self, item: Mapping[str, Any], line: int, offset: int) -> None:
        """Add an item, by the line and the byte offset of its beginning in the document."""
        shown = self._inputs.digests(item)
        row = sample_digests.record_sample(self._request, item.get("id"), shown, line, offset)
        if self._request.cluster is not None:
            row = row._replace(cluster=self._cluster(item))
        if not self._inputs.are_texts:
            # Ids of bearers show which inputs are the same, but not which ones differ.
            row = row._replace(question=UNKNOWN, input=UNKNOWN)
            if self._request.cluster is None:
                row = row._replace(cluster=UNKNOWN)
        agreement, coverage, flags = read_scores(item)
        # An abstention is not wrong, so coverage says nothing of right and wrong.
        failed = flags & SampleFlag.FAILED
        scores = (self._agreement, agreement, flags), (self._coverage, coverage, failed)
        self._collector.add(row, scores)

    def finish(self) -> None:
        """Pass on what waits, and describe the run."""
        self._collector.finish()
        self._samples.description = describe_evaluation(self._evaluation, self._samples.labels)

    def _cluster(self, item: Mapping[str, Any]) -> int:
        """Digest the value in an item, or in the benchmark's, by which samples are clustered."""
        found = sample_digests.read_cluster(self._request, item)
        benchmark = self._evaluation.benchmark
        name = item.get("id")
        if found == UNKNOWN and benchmark is not None and isinstance(name, str):
            return sample_digests.read_cluster(self._request, benchmark.by_id.get(name))
        return found


class Inputs:
    """The inputs of an evaluation's items.

    With a benchmark an input is the texts of the bearers, in the evaluation's paraphrase. Without
    it the ids of the bearers stand for them, in a benchmark known by its declared hash; without a
    hash inputs are not known. Inputs of one kind never equal those of the other.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    @property
    def are_texts(self) -> bool:
        """Whether inputs are the texts of bearers."""
        return self._evaluation.benchmark is not None

    def digests(self, item: Mapping[str, Any]) -> sample_digests.InputDigests | None:
        """Return the digests of an item's input, with the analysts' consensus as its reference."""
        sides = [self._side(item.get(name)) for name in ("premises", "conclusions")]
        if self._context is None or None in sides:
            return None
        raw = json.canonical([*self._context, *sides]).decode()
        reference = consensus(item.get("analyst_verdicts"))
        return sample_digests.InputDigests(raw, () if reference is None else (reference,), ())

    @cached_property
    def _variant(self) -> Any:
        return self._evaluation.document.get("paraphrase_variant") or 0

    @cached_property
    def _context(self) -> Sequence[Any] | None:
        """The context of the ids of bearers, empty where their texts are known."""
        if self.are_texts:
            return ()
        declared = self._evaluation.document.get("benchmark_hash")
        return (declared, self._variant) if declared and isinstance(declared, str) else None

    @cached_property
    def _bearers(self) -> Mapping[str, Any] | None:
        benchmark = self._evaluation.benchmark
        return None if benchmark is None else object_or_empty(benchmark.document.get("bearers"))

    def _side(self, names: Any) -> list[str] | None:
        """Return the premises or conclusions, in the order in which infereval shows them."""
        if not is_texts(names):
            return None
        ids = sorted(set(names))
        if self._bearers is None:
            return ids
        texts = [self._text(self._bearers.get(name)) for name in ids]
        return None if None in texts else [text for text in texts if text is not None]

    def _text(self, bearer: Any) -> str | None:
        """Return the text of a bearer: a paraphrase, or its expression where it lacks that one."""
        paraphrases, variant = member(bearer, "paraphrases"), self._variant
        some = len(paraphrases) if isinstance(paraphrases, list) else 0
        if isinstance(variant, int) and 1 <= variant <= some:
            return text_or_none(paraphrases[variant - 1])
        return text_or_none(member(bearer, "expression"))


def read_scores(item: Mapping[str, Any]) -> tuple[float, float, SampleFlag]:
    """Return the scores of an item for agreement and coverage, NaN for none, and its flags.

    Agreement is defined where both the verdict and the consensus are good or bad. An item whose
    calls of the provider all failed has no scores: its abstention is not the model's.
    """
    none = float("nan")
    samples = item.get("samples")
    calls = samples if isinstance(samples, list) else []
    if calls and all(member(call, "provider_error") is not None for call in calls):
        return none, none, SampleFlag.FAILED
    verdict, reference = item.get("model_verdict"), consensus(item.get("analyst_verdicts"))
    if not isinstance(verdict, str) or verdict not in VERDICTS:
        return none, none, SampleFlag(0)
    if verdict == ABSTAIN:
        return none, 0.0, SampleFlag(0)
    if reference in (None, ABSTAIN):
        return none, 1.0, SampleFlag(0)
    is_right = verdict == reference
    return float(is_right), 1.0, SampleFlag.RIGHT if is_right else SampleFlag.WRONG


def describe_evaluation(evaluation: Evaluation, labels: Sequence[GroupLabel]) -> RunDescription:
    """Describe an evaluation whose items have some labels."""
    document = evaluation.document
    model = document.get("model")
    generation = {
        **flatten_settings("model/params", member(model, "params")),
        **flatten_settings("endorsement_config", document.get("endorsement_config")),
        **flatten_settings("paraphrase_variant", document.get("paraphrase_variant")),
    }
    known = "the ids of the bearers" if evaluation.benchmark is None else "the benchmark's texts"
    settings = {
        "harness": " ".join(filter(None, [NAME, text_or_none(document.get("framework_version"))])),
        "format version": document.get("schema_version"),
        "inference_platform": member(model, "provider"),
        "benchmark_hash": document.get("benchmark_hash"),
        "inputs are known by": known,
    }
    return RunDescription(
        text_or_none(member(model, "model_id")),
        text_or_none(document.get("id")),
        [MetricName(label.name or "", label.result, minimum=0.0, maximum=1.0) for label in labels],
        [generation for _ in labels],
        setting_texts(settings),
    )


def answers(run: Run, options: Options, places: RowPlaces) -> Iterator[Answered | None]:
    """Iterate over the verdicts of items at some places, in their order."""
    path = run.rows or ""
    if comes_once(path):
        yield from (None for _ in places)
        return
    with closing(RereadDocument(path)) as document:
        for item in pick_elements(_items(document, options), places):
            yield None if item is None else _read_answer(item.text)


def _items(document: RereadDocument, options: Options) -> Iterator[Element]:
    members = ObjectSplitter(ITEMS, options.max_line_bytes)
    for piece in document.pieces():
        yield from (element for element in members.feed(piece) if element.whole)


def _read_answer(text: bytes) -> Answered | None:
    item = fast_or_none(text)
    if not isinstance(item, dict):
        return None
    return Answered(item.get("id"), item.get("model_verdict"), True, item)
