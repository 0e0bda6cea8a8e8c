"""Views of a log and of its samples for the rules; they accept any JSON value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from evalstream.formats.inspect.plan import Plan
from evalstream.formats.inspect.values import MOST_COUNT, find_clusters, is_id, read_time
from evalstream.formats.releases import Dated, Release, find_shown_release, read_release
from evalstream.parsing.json import member, pointer, text_or_none
from evalstream.parsing.json_values import Numbered, list_or_empty, object_or_empty, objects

if TYPE_CHECKING:
    from evalstream.formats.inspect.store import LogStore

Found = TypeVar("Found")

UNNAMED: Final = ""
"""The scorer of a sample's only score in logs of the first releases, which do not name it."""

_KNOWN_EVENTS: Final = frozenset(
    {"approval", "error", "model", "sample_init", "sample_limit", "score", "score_edit"}
    | {"span_begin", "state", "subtask", "tool"}
)

REFERENCES: Final = ("attachment://", "tc://")
"""How references to attachments begin; the second is that of the first releases."""

SINCE: Final = (0, 3, 60)
"""The first release whose scorers are known."""

SOLVER: Final = "solver"
"""The kind of the span around a step of the plan."""

_RESOLVED_SINCE: Final = (0, 3, 132)
"""The release from which on scorers are declared with the metrics of their task."""

DECLARED_SINCE: Final = (0, 3, 64)
"""The release from which on logs declare scorers; later releases add those that they run."""

_SPANS_SINCE: Final = (0, 3, 94)
"""The first release that wrote spans."""

_RUN_MEMBERS: Final = {
    ("uuid",): (0, 3, 70),
    ("eval", "task_display_name"): (0, 3, 116),
    ("started_at",): (0, 3, 154),
    ("turn_count",): (0, 3, 247),
    ("output", "input_context_tokens"): (0, 3, 282),
}
"""Members of logs and of samples with the first release that wrote them.

Only the run itself writes them: a later release does not when it converts a log, scores it again,
edits its scores, or computes its metrics again. Sources: EvalSpec and EvalSample in log/_log.py,
ModelOutput in model/_model_output.py of inspect_ai.
"""

_FIRST: Final = (0, 3)
"""All releases begin with these numbers; a build without tags calls itself 0.1."""

_MOST_SPANS: Final = 100
"""Most spans around an event that are followed."""


class SampleView(Dated):
    """One sample: its value, its JSON Pointer, its member in an archive, and the digest of texts.

    `digest` returns the key of an attachment; None where the library that computes it is missing.
    `log` is the part of the log that comes before its samples.
    """

    def __init__(
        self,
        value: Mapping[str, Any],
        place: str,
        member: str | None = None,
        digest: Callable[[str], str] | None = None,
        log: LogView | None = None,
    ) -> None:
        self.value, self.place, self.member, self.digest = value, place, member, digest
        self.log = log
        # Attributes, as rules look at them many times: a property costs more than these.
        self.has_failed = value.get("error") is not None
        """Whether the sample ended with an error."""
        self.is_stopped = self.has_failed or value.get("limit") is not None
        """Whether an error or a limit stopped it; events may lack what its solver did last."""
        self.attachments = object_or_empty(value.get("attachments"))
        """The texts that are stored once and referred to by their key."""
        self.scores = _read_scores(value)
        """The scores by scorer."""
        self._events = _group_events(value.get("events"))

    def at(self, *path: Any) -> str:
        """Return the JSON Pointer of a part of the sample."""
        return self.place + pointer(path)

    @property
    def declared_scorers(self) -> Mapping[str, Mapping[str, Any]]:
        """The declared scorers, and those that the results of a recent release name besides."""
        if self.log is None:
            return {}
        return self.log.known_scorers if self.is_recent else self.log.declared_scorers

    @cached_property
    def has_plain_plan(self) -> bool:
        """Whether all solvers of the log leave outputs as the model gave them."""
        return self.log is not None and self.log.plan.is_plain

    @property
    def leaves_tools(self) -> bool:
        """Whether all solvers of the log leave the messages of tools as they are."""
        return self.log is not None and self.log.plan.leaves_tools

    @cached_property
    def stated_release(self) -> Release:
        """The release that the log states, empty for a sample that began before its log.

        `inspect eval-retry` takes samples over from logs of any release.
        """
        if self.log is None:
            return ()
        created, starts = self.log.created, self.events("sample_init")
        begun = read_time(starts[0].value.get("timestamp")) if starts else None
        return () if created and begun and begun < created else self.log.stated_release

    @cached_property
    def shown_release(self) -> Release:
        """The earliest release that can have run the sample, empty where its members do not tell.

        `inspect score` writes no spans of solvers.
        """
        has_solvers = any(kind == SOLVER for _, kind in self._spans.values())
        found = find_shown_release(self.value, _RUN_MEMBERS)
        return max(found, _SPANS_SINCE) if has_solvers else found

    @cached_property
    def release(self) -> Release:
        """The release that ran the sample, or an earlier one."""
        return max(self.stated_release, self.shown_release)

    @cached_property
    def is_recent(self) -> bool:
        """Whether a release ran the sample whose scorers are known, and which counts all tokens."""
        return self.release >= SINCE

    @cached_property
    def scored_texts(self) -> tuple[str, list[str]] | None:
        """The completion and the targets, None for a failed sample and for other values.

        Outputs of earlier releases have no completion: it is the text of their first choice.
        """
        output = object_or_empty(self.value.get("output"))
        choice = next((one for _, one in objects(output.get("choices"))), None)
        text = member(member(choice, "message"), "content")
        completion = self.resolve_attachment(output.get("completion", text))
        target = self.value.get("target")
        targets = [target] if isinstance(target, str) else list_or_empty(target)
        if self.has_failed or not isinstance(completion, str):
            return None
        return (completion, targets) if all(isinstance(one, str) for one in targets) else None

    def events(self, kind: str) -> Sequence[Numbered]:
        """Return the events of a kind, with their indices."""
        return self._events.get(kind, ())

    @cached_property
    def _spans(self) -> dict[Any, tuple[Any, str]]:
        """The spans by id, each with the id of the span around it, and its type."""
        return {
            text_or_none(one.get("id")): (text_or_none(one.get("parent_id")), str(one.get("type")))
            for _, one in self.events("span_begin")
        }

    def spans_around(self, event: Mapping[str, Any]) -> list[str]:
        """Return the types of the spans around an event, the innermost first."""
        kinds: list[str] = []
        span = text_or_none(event.get("span_id"))
        while span is not None and span in self._spans and len(kinds) < _MOST_SPANS:
            span, kind = self._spans[span]
            kinds.append(kind)
        return kinds

    def resolve_attachment(self, value: Any) -> Any:
        """Return a text in full if it is a reference to an attachment; other values as they are."""
        if isinstance(value, str) and value.startswith(REFERENCES):
            return self.attachments.get(value.partition("://")[2], value)
        return value

    def resolved_within(self, value: Any) -> Any:
        """Return a value with all references to attachments in it resolved."""
        if not self.attachments:
            return value
        if isinstance(value, dict):
            return {name: self.resolved_within(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.resolved_within(part) for part in value]
        return self.resolve_attachment(value)


def _read_scores(sample: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if isinstance(sample.get("score"), dict) and "scores" not in sample:
        return {UNNAMED: sample["score"]}
    found = object_or_empty(sample.get("scores"))
    return {name: score for name, score in found.items() if isinstance(score, dict)}


def _group_events(events: Any) -> dict[str, list[Numbered]]:
    """Return the events that rules read by kind, with their indices."""
    found: dict[str, list[Numbered]] = {}
    for one in objects(events):
        kind = one.value.get("event")
        if isinstance(kind, str) and kind in _KNOWN_EVENTS:
            found.setdefault(kind, []).append(one)
    return found


class LogView(Dated):
    """A log without its samples, and the stored facts of them.

    `base` is the JSON Pointer of the part without samples, `reductions` the reduced scores with the
    pointer of their list. `samples_known` is False if samples could not be read, `is_header` True
    for the part before them alone. `shown_by_samples` is the earliest release that can have run
    these, empty where no member tells; `inspect score` may have given `has_unrecorded_scores`.
    """

    def __init__(self, header: Mapping[str, Any], base: str, store: LogStore) -> None:
        self.header, self.base, self.store = header, base, store
        self.reductions: Any = None
        self.reductions_at = ""
        self.samples_known = True
        self.shown_by_samples: Release = ()
        self.has_unrecorded_scores = self.is_header = False
        self._derived: dict[tuple[Hashable, ...], Any] = {}

    def derive(self, function: Callable[..., Found], *arguments: Hashable) -> Found:
        """Return what a function makes of the log and of some arguments, made once for each."""
        key = function, *arguments
        if key not in self._derived:
            self._derived[key] = function(self, *arguments)
        found: Found = self._derived[key]
        return found

    def at(self, *path: Any) -> str:
        """Return the JSON Pointer of a part of the log."""
        return self.base + pointer(path)

    @cached_property
    def eval(self) -> dict[str, Any]:
        """The task, the model and the configuration."""
        return object_or_empty(self.header.get("eval"))

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration."""
        return object_or_empty(self.eval.get("config"))

    @cached_property
    def results(self) -> dict[str, Any]:
        """The results, empty where the log has none."""
        return object_or_empty(self.header.get("results"))

    @cached_property
    def stats(self) -> dict[str, Any]:
        """The times and the token usage of the run."""
        return object_or_empty(self.header.get("stats"))

    @cached_property
    def created(self) -> datetime | None:
        """When the run began."""
        return read_time(self.eval.get("created"))

    @property
    def status(self) -> Any:
        """The status: success, error, cancelled or started."""
        return self.header.get("status")

    @property
    def is_finished(self) -> bool:
        """Whether the run finished successfully."""
        return bool(self.status == "success")

    @cached_property
    def epochs(self) -> int:
        """The number of epochs, 1 where none is declared."""
        number: Any = self.config.get("epochs")
        return max(0, min(number, MOST_COUNT)) if number.__class__ is int else 1

    @cached_property
    def declared_reducers(self) -> list[str] | None:
        """The names of the reducers of epochs, None where the log declares none."""
        found = self.config.get("epochs_reducer")
        if not isinstance(found, list):
            return None
        return [one for one in found if isinstance(one, str)]

    @cached_property
    def declared_scorers(self) -> dict[str, Mapping[str, Any]]:
        """The declared scorers by the names under which samples have their scores.

        The harness numbers scorers of one name; those that were added later have a hyphen.
        """
        found: dict[str, Mapping[str, Any]] = {}
        times: dict[str, int] = {}
        for _, one in objects(self.eval.get("scorers")):
            name = text_or_none(one.get("name"))
            if name is None:
                continue
            name = name.rpartition("/")[2]
            number = times[name] = times.get(name, -1) + 1
            names = (name,) if not number else (f"{name}{number}", f"{name}-{number}")
            found.update((each, one) for each in names if each not in found)
        return found

    @cached_property
    def task_metrics(self) -> Any:
        """The metrics of the task that take the place of those of its scorers, None without any.

        Newer releases declare them as those of each scorer.
        """
        return self.eval.get("metrics") if self.is_before(_RESOLVED_SINCE) else None

    @cached_property
    def stated_release(self) -> Release:
        """The release of inspect_ai that the log states, empty where it states none."""
        found = read_release(member(self.eval.get("packages"), "inspect_ai"))
        return found if found > _FIRST else ()

    @property
    def shown_release(self) -> Release:
        """The earliest release that can have run the task, empty where no member tells."""
        return max(self.shown_by_samples, find_shown_release(self.header, _RUN_MEMBERS))

    @cached_property
    def stated_scorers(self) -> dict[str, Mapping[str, Any]]:
        """The scorers of the results, as a log declares them.

        A later release that computes metrics again loses the parameters of undeclared scorers.
        """
        results = [one for _, one in self.results_scores]
        if self.is_before(DECLARED_SINCE):
            results = [one for one in results if "scored_samples" not in one]
        found = ((text_or_none(one.get("scorer")), one) for one in results)
        return {name: {"name": name, "options": one.get("params")} for name, one in found if name}

    @cached_property
    def known_scorers(self) -> dict[str, Mapping[str, Any]]:
        """The declared scorers, and those that the results name besides."""
        return {**self.stated_scorers, **self.declared_scorers}

    @cached_property
    def is_unlogged(self) -> bool:
        """Whether the log has no samples, and is a header or was to be written without them."""
        return self.is_header or (self.config.get("log_samples") is False and not self.store.count)

    @cached_property
    def scorers_in_samples(self) -> list[str]:
        """The names of all scorers, in the order of their first score."""
        return list(self.store.scorers())

    @cached_property
    def plan(self) -> Plan:
        """The plan."""
        return Plan(self.header.get("plan"), self.eval.get("model_generate_config"))

    @cached_property
    def sample_ids(self) -> list[str] | None:
        """The ids of the samples that were to be run, or None where the log does not list them."""
        given = member(self.eval.get("dataset"), "sample_ids")
        if not isinstance(given, list) or not all(map(is_id, given)):
            return None
        return [str(one) for one in given]

    @cached_property
    def results_scores(self) -> list[Numbered]:
        """The results of the scorers, those of the first releases in today's form."""
        if "scores" in self.results:
            return list(objects(self.results["scores"]))
        scorer = self.results.get("scorer")
        if not isinstance(scorer, dict):
            return []
        name = scorer.get("name")
        return [Numbered(0, {**scorer, "scorer": name, "metrics": self.results.get("metrics")})]

    def place_of_score(self, index: int, *path: Any) -> str:
        """Return the JSON Pointer of a part of a scorer's result."""
        if "scores" in self.results:
            return self.at("results", "scores", index, *path)
        first = () if path[:1] == ("metrics",) else ("scorer",)
        return self.at("results", *first, *path)

    @cached_property
    def cluster_keys(self) -> frozenset[str]:
        """The keys of metadata by which metrics group or cluster samples."""
        keys: set[str] = set()
        for found in (self.eval.get("scorers"), self.eval.get("metrics"), self.results):
            keys.update(find_clusters(found, depth=8))
        return frozenset(keys)
