"""The input of comparisons from a run: its instances, and whether they are resolved."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.row_lookup import RowPlaces
from evalstream.formats.base import load_catalogue
from evalstream.formats.swe_bench.format import NAME, SETTINGS_FILE, is_plain_file
from evalstream.formats.swe_bench.reader import RunReader
from evalstream.formats.swe_bench.views import Submitted
from evalstream.io.names import is_local
from evalstream.model.comparison import Answered, MetricName, RunDescription
from evalstream.model.options import Options, SampleRequest
from evalstream.model.run import STDIN, Run
from evalstream.model.sample_record import GroupLabel, SampleFlag
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import object_or_empty, parse_or_none, setting_texts
from evalstream.stats.run_samples import RunSamples
from evalstream.stats.sample_digests import InputDigests, SampleBatch, record_sample

BENCHMARK: Final = "SWE-bench"
RESOLVED: Final = "resolved"

_EVALUATED: Final = ("completed", "unresolved", "error", "empty_patch")
_LEFT_OUT: Final = ("no_generation", "no_logs")
"""Lists of a run report, and of a submission, whose instances are not resolved."""


def collect_samples(samples: RunSamples, request: SampleRequest, run: Submitted) -> None:
    """Add the instances of a run, each by its id, and describe the run.

    Without outcomes of the instances that are not resolved there is none, and no description.
    """
    label, batch = GroupLabel(None, BENCHMARK, RESOLVED), SampleBatch()
    outcomes = find_outcomes(run)
    if not outcomes:
        return
    errors = run.report.places("error") if run.report is not None else {}
    # Lists are sets in between: their order differs from call to call.
    for number, (one, is_resolved) in enumerate(sorted(outcomes.items()), start=1):
        row = record_sample(request, one, InputDigests(one, (), ()), number, 0)
        flags = SampleFlag.RIGHT if is_resolved else SampleFlag.WRONG
        if one in errors:
            flags |= SampleFlag.FAILED
        batch.add(label, row._replace(score=float(is_resolved), flags=int(flags)))
    samples.take(batch.take(), 0)
    samples.unidentified = 0
    samples.description = RunDescription(
        _find_model(run),
        None,
        [MetricName(BENCHMARK, RESOLVED)],
        [{}],
        {"harness": NAME, **_read_settings(run)},
    )


def _read_settings(run: Submitted) -> dict[str, str]:
    """Return the dataset that the harness notes beside the folders of models, since 5.0."""
    logs = {os.path.dirname(one.path) for one in run.outcomes.values() if is_local(one.path)}
    found: dict[str, str] = {}
    for folder in sorted({os.path.dirname(os.path.dirname(one)) for one in logs}):
        path = os.path.join(folder, SETTINGS_FILE)
        if not is_plain_file(path):
            continue
        with suppress(OSError), open(path, "rb") as file:
            noted = object_or_empty(parse_or_none(file.read()))
            found |= setting_texts({name: noted.get(name) for name in _DATASET})
    return found


_DATASET: Final = ("dataset", "split", "task_repo")


def find_outcomes(run: Submitted) -> dict[str, bool]:
    """Return whether each evaluated instance is resolved: by its report, else by the lists.

    Instances without a prediction were not evaluated. The results of a submission list only those
    that are resolved: the others are in its details or predictions, or are not known.
    """
    found: dict[str, bool] = {}
    if run.report is not None:
        found = dict.fromkeys(run.report.union(_EVALUATED), False)
        found |= dict.fromkeys(run.report.places(RESOLVED), True)
    elif run.details is not None:
        found = {
            one: said
            for one, detail in run.details[1].items()
            if isinstance(said := member(detail, RESOLVED), bool)
        }
    elif run.results is not None and run.predictions is not None:
        found = dict.fromkeys((*run.predictions, *run.results.union(_LEFT_OUT)), False)
        found |= dict.fromkeys(run.results.places(RESOLVED), True)
    own: Mapping[str, bool | None] = {one: each.is_resolved for one, each in run.outcomes.items()}
    return {**found, **{one: said for one, said in own.items() if said is not None}}


def answers(run: Run, options: Options, places: RowPlaces) -> Iterator[Answered | None]:
    """Iterate over the patches of the instances at some places, which are numbers from 1 on."""
    if STDIN in (run.rows, run.aggregate):
        yield from (None for _ in places)
        return
    reader = RunReader(DocumentCheck(run, options, lambda _: None, load_catalogue(NAME)))
    for path in filter(None, (run.aggregate, run.rows, *run.beside)):
        reader.read(path)
    found = reader.found
    instances = sorted(find_outcomes(found))
    for number, _ in places:
        one = instances[number - 1] if number <= len(instances) else None
        prediction = (found.predictions or {}).get(one or "")
        patch = None if prediction is None else prediction.patch
        # Tests may be flaky: two outcomes of one patch do not show two ways to score.
        yield None if one is None else Answered(one, patch, False, {"model_patch": patch})


def _find_model(run: Submitted) -> str | None:
    """Return the model that the first prediction names, else the name of a submission."""
    for prediction in (run.predictions or {}).values():
        return prediction.model
    metadata = None if run.metadata is None else run.metadata[1]
    return text_or_none(member(member(metadata, "info"), "name"))
