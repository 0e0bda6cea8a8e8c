"""The log of Inspect that a run was converted from: what its samples become.

The facts come from the converters of every-eval-ever, tags v0.2.0 to v0.2.3rc1 and release 0.3.0
(converters/inspect): a row for each sample and epoch, from 0.3.0 on one for each result of its
scorers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import IO, Any, Final

from evalstream.engine.log_reading import (
    UNREADABLE,
    begun,
    copy_to_disk,
    iterate_elements,
    open_log,
    parse_text,
)
from evalstream.formats.inspect.archive import Archive
from evalstream.formats.inspect.format import ENDING, FORMAT, HEADER, SAMPLES, VERSIONS, ZIP
from evalstream.formats.inspect.member_check import REDUCTIONS, SAMPLE, START
from evalstream.formats.inspect.source_members import (
    iterate_task_names,
    list_messages,
    state_members,
    stated_of_results,
    stated_of_run,
)
from evalstream.formats.inspect.values import LETTERS, WORDS
from evalstream.formats.inspect.views import LogView, SampleView
from evalstream.io.beginning import read_beginning
from evalstream.io.names import printable
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.source_log import (
    SourceResult,
    SourceSample,
    SourceScore,
    Stated,
    Wanted,
    stated_values,
)
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import object_items, object_or_empty, objects, to_number
from evalstream.parsing.limits import MOST_JSON_BYTES
from evalstream.parsing.object_splitter import ObjectSplitter

_DEVIATIONS: Final = frozenset({"std", "stddev"})
_ERRORS: Final = ("stderr", "bootstrap_stderr")
"""The metrics that converters write as the standard error of the others, best first."""

_DISPERSION: Final = _DEVIATIONS.union(_ERRORS)
_TABLE: Final = """
    CREATE TABLE reduction (number INTEGER PRIMARY KEY, id BLOB, scorer BLOB, value REAL);
    CREATE INDEX by_id ON reduction (id, number);
"""

Samples = Callable[[], Iterator[tuple[str, Any]]]
"""Returns the samples of a log with their places."""


class InspectSource:
    """A log of Inspect; its reduced scores are on disk."""

    part_name = "epoch"
    was_matched = True

    def __init__(self, path: str, header: Mapping[str, Any], reduced: Any, read: Samples) -> None:
        self.label = f"inspect log {printable(path)}"
        self._log = LogView(header, "", None)  # type: ignore[arg-type]  # only figures are read
        self._read = read
        self.models = _models(text_or_none(self._log.eval.get("model")), None)
        self._reduced = SpillTable(_TABLE)
        self.close = self._reduced.close
        try:
            self._reduced.change(
                "INSERT INTO reduction (id, scorer, value) VALUES (?, ?, ?)", _reductions(reduced)
            )
        except BaseException:
            self.close()
            raise
        shown = tuple(_results(self._log))
        self.results = shown if self._log.results else None
        self.stated = stated_of_results(self._log)
        self.stated_of_run = stated_of_run(self._log)
        self._scorer = self._log.results_scores[0].value if self._log.results_scores else {}

    def samples(self) -> Iterator[SourceSample]:
        """Iterate over the samples. Raises OSError and CannotCheck."""
        is_first = True
        for place, value in self._read():
            if not isinstance(value, dict) or "id" not in value:
                raise CannotCheck(f"{place} is not a sample")
            if is_first:
                model = text_or_none(member(value.get("output"), "model"))
                self.models |= _models(text_or_none(self._log.eval.get("model")), model)
                is_first = False
            yield self._sample(place, SampleView(value, ""))

    def find_part(self, _name: str) -> str | None:
        """Return the epoch where there is only one; names do not say it."""
        return "1" if self._log.epochs == 1 else None

    def _sample(self, place: str, view: SampleView) -> SourceSample:
        value = view.value
        identity = str(value["id"])
        unnamed = text_or_none(self._scorer.get("scorer")) or ""
        scores = {name or unnamed: score for name, score in view.scores.items()}
        own = {name: score_number(score.get("value")) for name, score in scores.items()}
        reduced = {
            decode_name(name): number
            for name, number in self._reduced.rows(
                "SELECT scorer, value FROM reduction WHERE id = ? ORDER BY number",
                encode_name(identity),
            )
        }
        return SourceSample(
            identity,
            str(value.get("epoch", 1)),
            place,
            state_members(view, scores),
            list_messages(view),
            {name: SourceScore(number, reduced.get(name)) for name, number in own.items()},
            _default(own, reduced),
        )


def open_source(path: str, options: Options, _wanted: Wanted) -> InspectSource | None:
    """Return a log, None for a path that is not a log of Inspect. Raises OSError, CannotCheck."""
    if os.path.isdir(path) or FORMAT.detect_kind(read_beginning(path)) is None:
        return None
    with closing(open_log(path)[0]) as reader:
        start, _ = begun(reader)
    if start.startswith(ZIP[:2]) or path.lower().endswith(ENDING):
        header, reduced = _read_archive(path)
        return InspectSource(_require_layout(header, path), header, reduced, lambda: _members(path))
    header = _envelope(path, options)
    reduced = header.get("reductions") or member(header.get("results"), "sample_reductions")
    return InspectSource(
        _require_layout(header, path), header, reduced, lambda: _elements(path, options)
    )


def score_number(value: Any) -> float | None:
    """Return a value of a score as a number, None where neither converters nor Inspect give one."""
    if not isinstance(value, str):
        return to_number(value)
    text = value.strip()
    found = LETTERS.get(text.upper(), WORDS.get(text.lower()))
    with suppress(ValueError):
        return float(text) if found is None else found
    return None


def _default(own: Mapping[str, float | None], reduced: Mapping[str, float]) -> SourceScore:
    """Return the score of a row that names no result: that of the first scorer that has one."""
    first = next((number for number in own.values() if number is not None), None)
    named = next((reduced[name] for name in own if name in reduced), None)
    if named is None and len(set(reduced.values())) == 1:
        named = next(iter(reduced.values()))
    return SourceScore(first, named)


def _reductions(reduced: Any) -> Iterator[tuple[bytes, bytes, float]]:
    """Iterate over reduced scores, of several reducers the last one last: it is the one written."""
    for one in objects(reduced):
        scorer = text_or_none(one.value.get("scorer")) or ""
        for sample in objects(one.value.get("samples")):
            number = score_number(sample.value.get("value"))
            if number is not None and sample.value.get("sample_id") is not None:
                yield encode_name(str(sample.value["sample_id"])), encode_name(scorer), number


def _results(log: LogView) -> Iterator[SourceResult]:
    tasks = tuple(iterate_task_names(log))
    run = (log.results.get("completed_samples"), log.results.get("total_samples"))
    for place in log.results_scores:
        scorer = place.value
        name = text_or_none(scorer.get("name")) or str(scorer.get("scorer"))
        metrics = [
            (str(one.get("name") or key), number)
            for key, one in object_items(scorer.get("metrics"))
            if (number := score_number(one.get("value"))) is not None
        ]
        known = dict(reversed(metrics))
        # Of several metrics of one name, such as clustered errors, converters write any.
        errors = tuple(number for one in _ERRORS for named, number in metrics if named == one)
        deviations = tuple(number for named, number in metrics if named in _DEVIATIONS)
        counts = (*run, scorer.get("scored_samples"))
        stated = _stated(scorer)
        for metric, number in metrics:
            yield SourceResult(
                f"{name}:{metric}",
                frozenset(
                    {name, *tasks, *(f"{metric} on {one} for scorer {name}" for one in tasks)}
                ),
                frozenset({metric, f"{metric} from scorer {name}"}),
                name,
                None,
                number,
                errors,
                deviations,
                frozenset(one for one in counts if isinstance(one, int)),
                metric not in _DISPERSION or all(one in _DISPERSION for one in known),
                stated,
            )


def _stated(scorer: Mapping[str, Any]) -> Stated:
    """Return the errors that converters write as details of a score, and the grader's prompt."""
    found: dict[str, tuple[Any, ...]] = {
        "metric_config/llm_scoring/input_prompt": stated_values(
            member(scorer.get("params"), "grader_template")
        )
    }
    for key, one in object_items(scorer.get("metrics")):
        name = str(one.get("name") or key)
        if name in _ERRORS:
            place = f"score_details/details/{name}"
            found[place] = (*found.get(place, ()), one.get("value"))
            found[f"{place}_params"] = (*found.get(f"{place}_params", ()), one.get("params"))
    return found


def _models(path: str | None, answered: str | None) -> frozenset[str]:
    """Return the spellings of the model's id that converters derive from its path.

    They keep the last part of the path; hosts spell it in several ways, which the converters undo.
    """
    paths = [one for one in (path, answered) if one]
    if path and answered and "/" in path:
        paths.append(f"{path.partition('/')[0]}/{answered}")
    found = set(paths)
    for one in paths:
        last = one.rpartition("/")[2]
        found.update((last, last.replace(":", "-"), one.replace(":", "-")))
        found.add(re.sub(r"-v\d+(\.\d+)?$", "", last.partition(".")[2] or last))
        claude = re.search(r"claude-\d+-\d+-[a-z]+", last)
        if claude is not None:
            date = re.search(r"@?(\d{8})", last)
            found.add(f"{claude.group()}@{date.group(1) if date else '00000000'}")
    return frozenset(found)


def _require_layout(header: Mapping[str, Any], path: str) -> str:
    """Return the path of a log whose layout is known. Raises CannotCheck for another one."""
    version = header.get("version", VERSIONS[0])
    if "eval" not in header:
        raise CannotCheck("it is not a log of Inspect")
    if version not in VERSIONS:
        raise CannotCheck(f"it has the unknown version {version!r}")
    return path


def _read_archive(path: str) -> tuple[dict[str, Any], Any]:
    """Return the header of an archive, of an unfinished run its beginning, and its reductions."""
    with _open_archive(path) as archive:
        header = _read_member(archive, HEADER)
        if not isinstance(header, dict):
            header = _read_member(archive, START)
        if not isinstance(header, dict):
            raise CannotCheck(f"it has neither {HEADER} nor {START}")
        return header, _read_member(archive, REDUCTIONS)


def _members(path: str) -> Iterator[tuple[str, Any]]:
    with _open_archive(path) as archive:
        for one in archive.members():
            if SAMPLE.fullmatch(one.name) and archive.is_last(one):
                yield one.name, _read_member(archive, one.name)


@contextmanager
def _open_archive(path: str) -> Iterator[Archive]:
    """Open an archive that must be sound: a damaged one is not compared."""
    with open(path, "rb", buffering=0) if os.path.isfile(path) else _copy(path) as file:
        number = file.fileno()
        with closing(Archive(number, os.fstat(number).st_size, _refuse, _refuse)) as archive:
            if not archive.open():
                _refuse("it has no directory", None)
            archive.unsafe()
            yield archive


def _copy(path: str) -> IO[bytes]:
    with closing(open_log(path)[0]) as reader:
        return copy_to_disk(reader)


def _refuse(message: str, name: str | None) -> None:
    where = "" if name is None else f"{printable(name)}: "
    raise CannotCheck(f"it is damaged: {where}{message}")


def _read_member(archive: Archive, name: str) -> Any:
    """Return the value of a member, None without it."""
    found = archive.find_member(name)
    if found is None:
        return None
    refusal = archive.refusal(found)
    if refusal is not None or found.size > MOST_JSON_BYTES:
        _refuse(refusal or "is too large", name)
    try:
        text = b"".join(archive.pieces(found))
    except CannotCheck as error:
        raise CannotCheck(f"it is damaged: {printable(name)} {error}") from error
    return _value(text, name)


def _value(text: bytes, place: str) -> Any:
    found = parse_text(text, 1000)
    if found is UNREADABLE:
        raise CannotCheck(f"{printable(place)} is not valid JSON")
    return found


def _envelope(path: str, options: Options) -> dict[str, Any]:
    """Return a JSON log without its samples."""
    members = ObjectSplitter(SAMPLES, options.max_line_bytes)
    for _ in _iterate_texts(path, members):
        pass
    envelope = members.envelope()
    if members.issue is not None or not envelope.is_whole:
        reason = members.issue.message if members.issue else "it is too large without its samples"
        raise CannotCheck(f"it cannot be read: {reason}")
    return object_or_empty(_value(envelope.text, path))


def _elements(path: str, options: Options) -> Iterator[tuple[str, Any]]:
    members = ObjectSplitter(SAMPLES, options.max_line_bytes)
    for number, text in enumerate(_iterate_texts(path, members)):
        yield f"sample {number + 1:,}", _value(text, f"sample {number + 1:,}")
    if members.issue is not None:
        raise CannotCheck(f"it cannot be read: {members.issue.message}")


def _iterate_texts(path: str, members: ObjectSplitter) -> Iterator[bytes]:
    for element in iterate_elements(path, members):
        if not element.whole:
            raise CannotCheck("a sample is too large")
        yield element.text
