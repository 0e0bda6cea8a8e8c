"""Check the parts of a log as they are read: its samples, its summaries, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.log_reading import (
    UNREADABLE,
    note_element,
    parse_element,
    parse_part,
    parse_plain,
)
from evalstream.formats.inspect.format import EXTRA, VERSIONS, VITALS_COMMIT
from evalstream.formats.inspect.library import (
    Library,
    attachment_digest,
    inspect_library,
    log_types,
)
from evalstream.formats.inspect.rules import (
    coverage,
    log,
    messages,
    missing_results,
    samples,
    score_events,
    scores,
    usage,
)
from evalstream.formats.inspect.rules.coverage import USAGES, usage_violations
from evalstream.formats.inspect.rules.log import INS107
from evalstream.formats.inspect.rules.samples import INS207, check_form
from evalstream.formats.inspect.rules.score_events import INS216
from evalstream.formats.inspect.rules.scores import ScoreCounts, count_scores, find_unlike
from evalstream.formats.inspect.rules.summaries import INS206, compare_summary, gather_facts
from evalstream.formats.inspect.rules.usage import check_log_times
from evalstream.formats.inspect.store import LogStore, make_rows
from evalstream.formats.inspect.values import is_count, is_id, read_time
from evalstream.formats.inspect.views import LogView, SampleView
from evalstream.formats.releases import Release
from evalstream.model.errors import MissingExtra, install_command
from evalstream.model.finding import Position, Violation
from evalstream.model.run_summary import Checked
from evalstream.model.text import count_noun
from evalstream.parsing.array_elements import Element
from evalstream.parsing.json_values import object_or_empty
from evalstream.rules.inputs import ES003, ES005

if TYPE_CHECKING:
    from evalstream.formats.inspect.compared import LogSamples, SampleLinks
    from evalstream.stats.run_links import RunLinks

_OF_SAMPLES = tuple(
    rule.record
    for family in (samples, score_events, messages, scores, usage)
    for rule in family.RULES
    if rule.record is not None
)


MOST_MODELS: Final = 1_000
"""Most models, and most numbers of each, whose usage is summed."""


class PartTotals:
    """Sums over some members and samples of a log.

    `samples` counts samples, `loaded` those that the harness loads, `members` the members of an
    archive, `sound_members` those whose bytes are the declared ones. `samples_known` is False where
    samples could not be read, `latest` the time of the sample that was completed last, and
    `missing` says why the harness's own reader was not asked. `is_resumed` says that samples are
    those of an earlier log; `usage` is that of the others. `scores` are counts by scorer.
    """

    def __init__(self) -> None:
        self.samples = self.loaded = self.members = self.sound_members = 0
        self.attachments = self.sound_attachments = 0
        self.usage: dict[str, dict[str, dict[str, int]]] = {name: {} for name in USAGES}
        self.scores: dict[str, ScoreCounts] = {}
        self.latest: datetime | None = None
        self.samples_known = True
        self.is_resumed = False
        self.has_unrecorded_scores = False
        self.shown_release: Release = ()
        self.missing = ""

    def add_usage(self, told: Mapping[str, Any]) -> None:
        """Add the token usage of models and of their roles."""
        for kind, sums in self.usage.items():
            for user, numbers in object_or_empty(told.get(kind)).items():
                if user not in sums and len(sums) >= MOST_MODELS:
                    continue
                own = sums.setdefault(user, {})
                for name, number in object_or_empty(numbers).items():
                    if is_count(number) and (name in own or len(own) < MOST_MODELS):
                        own[name] = own.get(name, 0) + number

    def add_end(self, ended: datetime | None) -> None:
        """Add the time at which a sample was completed."""
        if ended is not None and (self.latest is None or ended > self.latest):
            self.latest = ended

    def merge(self, later: PartTotals) -> None:
        """Add those of later members."""
        self.samples += later.samples
        self.loaded += later.loaded
        self.members += later.members
        self.sound_members += later.sound_members
        self.attachments += later.attachments
        self.sound_attachments += later.sound_attachments
        self.add_usage(later.usage)
        for name, counts in later.scores.items():
            self.scores.setdefault(name, ScoreCounts()).merge(counts)
        self.add_end(later.latest)
        self.samples_known = self.samples_known and later.samples_known
        self.is_resumed = self.is_resumed or later.is_resumed
        self.has_unrecorded_scores = self.has_unrecorded_scores or later.has_unrecorded_scores
        self.shown_release = max(self.shown_release, later.shown_release)
        self.missing = self.missing or later.missing


class LogCheck:
    """Checks one log, part by part. The part without samples should come first.

    `is_refused` says that the log is of a layout that is not known, so that nothing else of it is
    checked. `is_declared` says that what the log declares was known before its samples, `is_plain`
    that nothing is wrong with the texts of its other parts.
    """

    def __init__(self, documents: DocumentCheck, store: LogStore | None = None) -> None:
        self.documents, self.store = documents, store or LogStore()
        self.totals = PartTotals()
        self.is_refused = False
        self.is_declared = False
        self.is_plain = True
        self._digest = attachment_digest()
        self._keys: frozenset[str] = frozenset()
        self._view: LogView | None = None
        self._started: datetime | None = None
        self._samples: LogSamples | None = None
        self._links: SampleLinks | None = None

    def close(self) -> None:
        """Delete the stored facts of the samples."""
        self.store.close()

    def _library(self) -> Library | None:
        try:
            return inspect_library()
        except MissingExtra as error:
            self.totals.missing = str(error)
            return None

    def parse(
        self, text: bytes, move: Callable[[Position], Position] | None = None, place: str = ""
    ) -> Any:
        """Return the value of a text, or UNREADABLE with its violations noted.

        `move` returns the position in the file of one in the text, if it has one.
        """
        value = parse_plain(text)
        if value is UNREADABLE:
            self.is_plain = False
            value = parse_part(self.documents, text, place, move)
        return value

    def header(self, header: Mapping[str, Any]) -> None:
        """Take the part of a log that comes before its samples: what to keep of them."""
        view = LogView(header, "", self.store)
        self._keys, self._view = view.cluster_keys, view
        self._started = read_time(view.stats.get("started_at"))
        self.is_declared = "eval" in header
        self.refuse_version(header.get("version"))
        if object_or_empty(view.eval.get("revision")).get("commit") == VITALS_COMMIT:
            self.refuse("this is a log of vitals (R): its members mean other things than Inspect's")
        request, collected = self.documents.options.samples, self.documents.collector.samples
        if request is not None and collected is not None and self._samples is None:
            from evalstream.formats.inspect.compared import LogSamples

            self._samples = LogSamples(collected, request, view)
        if self.documents.options.links and self._links is None and view.eval:
            from evalstream.formats.inspect.compared import SampleLinks

            self._links = SampleLinks(view)

    @property
    def shared(self) -> Mapping[str, Any] | None:
        """The part of the log that comes before its samples, without the list of their ids."""
        if self._view is None:
            return None
        dataset = {**object_or_empty(self._view.eval.get("dataset"))}
        dataset.pop("sample_ids", None)
        return {**self._view.header, "eval": {**self._view.eval, "dataset": dataset}}

    def refuse_version(self, version: Any) -> None:
        """Refuse a log of a layout that is newer than those that are known."""
        if self.is_refused or not is_count(version) or version <= VERSIONS[-1]:
            return
        self.refuse(f"this is a log of version {version}; the known ones are 1 and 2")

    def refuse(self, reason: str) -> None:
        """Refuse a log of an unknown layout."""
        self.is_refused = True
        self.documents.note(ES005.violation(reason))
        self.documents.cannot(reason)

    def lose(self, reason: str) -> None:
        """Note that samples could not be read, so that figures over all of them are not known."""
        self.totals.samples_known = False
        self.documents.cannot(reason)

    def too_long(self, place: str, size: int) -> None:
        """Report a sample above the limit of length."""
        most = self.documents.options.max_line_bytes
        message = f"a sample of {size:,} bytes is longer than --max-line-bytes ({most:,})"
        self.documents.note(ES003.violation(message, place))
        self.lose("a sample is too long to be read")

    def sample(self, element: Element, place: str, member: str | None = None) -> None:
        """Check one sample, and store its facts.

        `place` is its JSON Pointer, and `member` the member of an archive that it is.
        """
        self.totals.samples += 1
        value = parse_plain(element.text)
        is_plain = value is not UNREADABLE
        if not is_plain and member is None:
            value = parse_element(self.documents, element, place)
        elif not is_plain:
            value = parse_part(self.documents, element.text, place)
        problems: list[Violation] = []
        if not isinstance(value, dict):
            self.lose(f"the sample {place} could not be read")
            if value is not UNREADABLE:
                problems = [INS107.violation("a sample must be an object", place)]
        else:
            problems = self._check_sample(
                SampleView(value, place, member, self._digest, self._view),
                element,
                is_plain=is_plain,
            )
        if member is None:
            note_element(self.documents, element, place, problems)
        else:
            for violation in problems:
                self.documents.note(violation)

    def _check_sample(
        self, view: SampleView, element: Element, *, is_plain: bool
    ) -> list[Violation]:
        """Store the facts of a sample, and return its violations."""
        problems = list(check_form(view))
        if problems:
            self.lose(f"the sample {view.place} could not be read")
        else:
            self._keep(view, element)
        for find in _OF_SAMPLES:
            problems += find(view)
        if any(one.code == INS216.code and one.severity is not None for one in problems):
            self.totals.has_unrecorded_scores = True
        number = len(view.attachments)
        self.totals.attachments += number
        if self._digest is not None:
            wrong = sum(violation.code == INS207.code for violation in problems)
            self.totals.sound_attachments += number - wrong
        if is_plain and log_types().fits_sample(view.value):
            self.totals.loaded += 1
        elif (library := self._library()) is not None:
            # Last, as the harness may change the value that it loads.
            refusal = library.refused_sample(view.value)
            if refusal is None:
                self.totals.loaded += 1
            else:
                message = f"inspect_ai cannot load the sample: {refusal.message}"
                problems.append(INS107.violation(message, view.place + refusal.place))
        return problems

    def _keep(self, view: SampleView, element: Element) -> None:
        value = view.value
        self.store.add_rows(make_rows(gather_facts(view, self._keys)))
        count_scores(view, self.totals.scores)
        self.totals.shown_release = max(self.totals.shown_release, view.shown_release)
        ended = read_time(value.get("completed_at"))
        self.totals.add_end(ended)
        if self._started is None or ended is None or ended >= self._started:
            self.totals.add_usage(value)
        else:
            self.totals.is_resumed = True
        if self._samples is not None:
            self._samples.add(view, element.line or self.totals.samples, element.offset)
        if self._links is not None:
            self._links.add(view)

    @property
    def links(self) -> RunLinks | None:
        """The links of the log to others, None if they were not requested."""
        return None if self._links is None else self._links.log.links

    def summary(self, value: Any, place: str) -> None:
        """Compare a summary with its sample, and report how they differ."""
        self.documents.note_all(self.compare_summary(value, place))

    def compare_summary(self, value: Any, place: str) -> Iterator[Violation]:
        """Compare a summary with its sample."""
        if not isinstance(value, dict) or not is_id(value.get("id")):
            yield INS107.violation("a summary needs an id", place)
            return
        epoch: Any = value.get("epoch")
        known = self.store.find(str(value["id"]), epoch) if is_count(epoch) else None
        if known is None:
            if self.totals.samples_known:
                message = f"the log has no sample {value['id']} (epoch {epoch})"
                yield INS206.violation(message, place)
            return
        yield from compare_summary(value, known, place)

    def finish(self, view: LogView, *, has_summaries: bool) -> None:
        """Check what needs all samples."""
        self.store.flush()
        view.samples_known = self.totals.samples_known
        view.shown_by_samples = self.totals.shown_release
        view.has_unrecorded_scores = self.totals.has_unrecorded_scores
        note = self.documents.note_all
        note(self._refused_log(view))
        self.store.expect(view.sample_ids or ())
        for rule in (*log.OF_LOGS, *missing_results.RULES, *coverage.OF_LOGS):
            note(rule.apply(view))
        note(usage_violations(view, self.totals.usage, is_resumed=self.totals.is_resumed))
        note(check_log_times(view, self.totals.latest))
        note(find_unlike(self.totals.scores))
        if has_summaries and self.totals.samples_known:
            for times, words in ((0, "no summary has"), (2, "several summaries have")):
                for sample, epoch, place in self.store.summarised(times):
                    message = f"{words} the sample {sample} (epoch {epoch:,})"
                    self.documents.note(INS206.violation(message, place))
        self._close_gaps()
        if self._samples is not None:
            self._samples.finish(view)

    def _refused_log(self, view: LogView) -> Iterator[Violation]:
        import pickle

        header = {**view.header, "samples": None}
        if self.is_plain and log_types().fits_log(header):
            return
        library = self._library()
        if library is None:
            return
        # A copy, as the harness may change it; this way takes a fifth of the time of deepcopy.
        refusal = library.refused_log(pickle.loads(pickle.dumps(header)))  # noqa: S301 - our own bytes
        if refusal is not None:
            message = f"inspect_ai cannot load the log: {refusal.message}"
            yield INS107.violation(message, view.base + refusal.place)

    def list_verified(self) -> Iterator[Checked]:
        """List the verified parts of the log, with their numbers."""
        for right, of, noun in (
            (self.totals.sound_members, self.totals.members, "member"),
            (self.totals.sound_attachments, self.totals.attachments, "attachment"),
        ):
            if of:
                text = f"{right:,} of {count_noun(of, noun)} with the right digest"
                yield Checked(text, right == of or None)
        if self.totals.samples:
            of_all = f"{self.totals.loaded:,} of {count_noun(self.totals.samples, 'sample')}"
            text = f"{of_all} in the form that inspect_ai loads"
            yield Checked(text, self.totals.loaded == self.totals.samples or None)
        else:
            yield Checked("no samples to derive scores from", None)
        counts = self.totals.scores.values()
        derived, edited = (sum(getattr(one, of) for one in counts) for of in ("derived", "edited"))
        scores = count_noun(sum(one.number for one in counts), "score")
        if any(one.derived < one.number for one in counts):
            yield Checked(f"{derived:,} of {scores} derived from answers", None)
        if edited:
            yield Checked(f"{edited:,} of {scores} edited after the run", None)

    def _close_gaps(self) -> None:
        """Note the parts that were not checked."""
        cannot = self.documents.cannot
        if self.totals.missing:
            cannot(
                f"a part of it was not loaded with the harness's own reader: {self.totals.missing}"
            )
        if self.totals.attachments and self._digest is None:
            command = install_command(EXTRA)
            cannot(
                f"the attachments were not verified: mmh3 is missing; install it with: {command}"
            )
