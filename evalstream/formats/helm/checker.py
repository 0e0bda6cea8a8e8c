"""Check a run of HELM: read its documents, then hold them against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.base import load_catalogue
from evalstream.formats.helm.adapter import asks_once
from evalstream.formats.helm.claims import CALIBRATION_METRICS, Instances, judge_statistics
from evalstream.formats.helm.entries import FIRST_OF_BASIC
from evalstream.formats.helm.format import (
    ENTRIES,
    NAME,
    NOUNS,
    RUN_SPEC,
    SCENARIO,
    STATE,
    STATISTICS,
    kind_of_file,
)
from evalstream.formats.helm.reader import RunReader
from evalstream.formats.helm.requests import METRICS, OF_REFERENCES, iterate_specs
from evalstream.formats.helm.rules import documents as about_documents
from evalstream.formats.helm.rules import instances as about_instances
from evalstream.formats.helm.statistics import DERIVED
from evalstream.formats.helm.store import InstanceFacts, InstanceStore
from evalstream.formats.helm.tokens import OF_TOKENS
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.claim import JudgedClaim, State
from evalstream.model.errors import CannotCheck, describe_error
from evalstream.model.finding import Show, Violation
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.model.text import count_noun, join_words
from evalstream.rules.inputs import ES005
from evalstream.rules.members import check_members

if TYPE_CHECKING:
    from evalstream.formats.helm.compared import EntrySamples

METRICS_LISTED: Final = 8
"""How many metrics that were compared with no answer the verdict names."""


def check(run: Run, options: Options, show: Show, progress: Progress) -> RunSummary:
    """Check one run and pass its findings to `show`, in order."""
    documents = DocumentCheck(run, options, show, load_catalogue(NAME))
    with closing(InstanceStore()) as store:
        one = _Check(documents, store, progress)
        progress.begin(documents.name, 0)
        try:
            one.read()
            return one.summary()
        finally:
            progress.end()


class _Check:
    def __init__(self, documents: DocumentCheck, store: InstanceStore, progress: Progress) -> None:
        self._documents, self._store = documents, store
        self._samples: EntrySamples | None = None
        request, collected = documents.options.samples, documents.collector.samples
        if request is not None and collected is not None:
            from evalstream.formats.helm.compared import EntrySamples

            self._samples = EntrySamples(collected, request)
        self._found = RunReader(documents, store, progress, self._samples)
        self._paths: dict[str, str] = {}

    def read(self) -> None:
        """Read all documents, the small ones first."""
        run, found = self._documents.run, self._found
        for path in filter(None, (run.rows, run.aggregate, run.inputs, *run.beside)):
            kind, reason = None, f"this is not a document of HELM ({NAME})"
            try:
                kind = kind_of_file(path)
            except (OSError, CannotCheck) as error:
                reason = f"cannot be read: {describe_error(error)}"
            if kind is None or kind in self._paths:
                name = printable(path)
                self._documents.refuse(ES005.violation(reason), name, f"{name}: {reason}")
            else:
                self._paths[kind] = path
        found.run_spec = self._read_object(RUN_SPEC)
        scenario = self._read_object(SCENARIO)
        self._note(SCENARIO, about_instances.check_scenario(found.run_spec, scenario))
        readers = (
            (STATISTICS, found.read_statistics),
            (STATE, found.read_requests),
            (ENTRIES, found.read_entries),
        )
        for kind, read in readers:
            if kind in self._paths:
                read(self._paths[kind])

    def _read_object(self, kind: str) -> Mapping[str, Any]:
        """Return a small document, an empty one where it is missing or cannot be read."""
        path = self._paths.get(kind, "")
        text = self._documents.uncompressed(path) if path else None
        found = None if text is None else self._documents.read(text, printable(path), NOUNS[kind])
        if found is None or found.value is None:
            return {}
        members = about_documents.MEMBERS[kind]
        self._note(kind, check_members(about_documents.HLM101, found.value, members))
        return found.value

    def summary(self) -> RunSummary:
        """Note what contradicts, judge the claims, and return the verdict."""
        found, known = self._found, self._compare_instances()
        declaring = RUN_SPEC if found.run_spec else STATE
        ids = max(known.facts.requested, known.facts.described)
        trials = [] if found.totals is None else list(found.totals.trials)
        self._note(declaring, about_instances.check_declared(found.adapter, ids, trials))
        self._note(STATE, about_instances.check_specifications(found.run_spec, found.state or {}))
        if found.totals is not None and found.is_whole and asks_once(found.adapter):
            lacking = about_documents.check_declared_metrics(found.run_spec, found.totals)
            self._note(RUN_SPEC, lacking)
        claims: list[JudgedClaim] | None = None
        if found.claimed is not None:
            judgements = list(judge_statistics(found.claimed, known))
            claims = [one.claim for one in judgements]
            about_claims = about_documents.check_figures(found.claimed, judgements, known)
            self._note(STATISTICS, about_claims)
            self._note(STATISTICS, about_instances.check_shared(found.claimed, known))
        if self._samples is not None:
            self._samples.finish(found.run_spec, found.adapter)
        number = sum(known.facts.entries.values())
        statistics = self._paths.get(STATISTICS)
        summary = self._documents.close(
            rows=number,
            claims=claims or [],
            claims_file=None if statistics is None else printable(statistics),
        )
        if number:
            again = known.facts.scored
            text = f"{again:,} of {count_noun(number, 'instance')} scored again"
            if STATE not in self._paths:
                text += f", as no {STATE}.json was found"
            elif again:
                text += self._name_underived(claims or [])
            if found.state is not None or STATE not in self._paths:
                self._leave_unheld(summary, known.facts)
            summary.checked = (Checked(text, True if again else None),)
        return summary

    def _name_underived(self, claims: Sequence[JudgedClaim]) -> str:
        """Name the metrics of confirmed scores that were compared with no answer."""
        found = self._found
        derived = {*found.scored, *CALIBRATION_METRICS, *(DERIVED if found.is_windowed else ())}
        confirmed = (
            one.name.name
            for one, claim in zip(found.claimed or (), claims, strict=True)
            if claim.is_score and claim.state is State.CONFIRMED
        )
        unheld = {one for one in {*confirmed} - derived if one.partition("@")[0] not in derived}
        names = sorted(unheld)
        more = len(names) - METRICS_LISTED
        if more > 0:
            names[METRICS_LISTED:] = [f"{more:,} more"]
        return f", but not by {join_words(names)}" if names else ""

    def _leave_unheld(self, summary: RunSummary, facts: InstanceFacts) -> None:
        """Leave a run unconfirmed whose answers were to give scores that were not computed again.

        Of requests for each reference another class of metrics gives `exact_match`; the metrics of
        older releases were of one class.
        """
        found = self._found
        names = {name.name for name in found.totals.names} if found.totals else set[str]()
        derived = METRICS | {*(OF_TOKENS if found.is_windowed else ())}
        unheld = names & derived - {*(found.scored if facts.scored else ())}
        lacks_tokens = found.is_by_likelihood and facts.unscored is not None
        is_derivable = asks_once(found.adapter) or lacks_tokens
        is_other = not found.scored or OF_REFERENCES in dict(iterate_specs(found.run_spec))
        if is_other and not self._store.has_plain_requests and not is_derivable:
            unheld.discard("exact_match")
        if unheld:
            shown = join_words(sorted(unheld))
            summary.leave_unconfirmed(f"no answer was scored again by {shown}")

    def _compare_instances(self) -> Instances:
        """Note contradictions between requests and entries, and return the facts about both."""
        found, facts = self._found, InstanceFacts(self._found.scored)
        times = Counter(one.name for one in found.claimed or ())
        compared = about_instances.Compared(
            found.scored,
            self._store.repeated_metrics
            | {name.name for name, number in times.items() if number > 1},
            bool(found.state) and found.totals is not None and found.is_whole,
            FIRST_OF_BASIC if self._store.has_metric(FIRST_OF_BASIC) else None,
            found.is_windowed,
        )
        found_in_rows = facts.read(
            self._store, lambda rows: about_instances.check_copy(rows, compared)
        )
        about_all = about_instances.check_unscored(facts), about_instances.check_doubted(facts)
        for row, violation in chain(found_in_rows, *about_all):
            name = printable(self._paths[STATE if row.kind.metric is None else ENTRIES])
            self._documents.note(violation, name, row.line, row.column)
        has_state = found.state is not None
        return Instances(found.totals, facts, has_state, found.is_whole, found.is_windowed)

    def _note(self, kind: str, violations: Iterable[Violation]) -> None:
        name = printable(self._paths[kind]) if kind in self._paths else None
        self._documents.note_all(violations, name)
