"""The protocols of a format: all that the registry, discovery and batch know about formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from evalstream.formats import PREFIXES
from evalstream.io.names import is_remote
from evalstream.io.progress import Progress
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Severity, Show
from evalstream.model.options import Options
from evalstream.model.run import STDIN, NoInput, Run
from evalstream.model.run_summary import RunSummary
from evalstream.rules.base import RepairAction, Rule
from evalstream.rules.catalogue import SHARED, SHARED_RULES, Catalogue

if TYPE_CHECKING:
    from evalstream.engine.row_lookup import RowPlaces
    from evalstream.formats.rewriting import Migrator, RunRepair
    from evalstream.io.beginning import Beginning
    from evalstream.model.changes import SealedText
    from evalstream.model.comparison import Answered
    from evalstream.model.source_log import SourceLog, Wanted
    from evalstream.rules.cross_run import CrossRunRules

Cell = Literal["text", "json", "number", "boolean"]
"""The types of columns: a text, any value as its JSON, a floating-point number, true or false."""

Place = Literal["rows", "aggregate", "inputs"]
"""The roles of documents in a run."""


class Kind(NamedTuple):
    """The format and the kind of document of a file; for a harness log, what the log is."""

    format: str
    document: str


Detector = Callable[["Beginning"], Kind | None]
"""Returns the kind of a file, or None if it shows none of the formats."""


Documents = Callable[[], Iterator[tuple[str, str]]]
"""Iterates over documents to pair, by kind and path, each time that it is called."""


class DeclaredRows(NamedTuple):
    """The rows that an aggregate declares; `path` is None if it declares none."""

    path: str | None


class Format(Protocol):
    """A format: its data never change, and reading them imports no rules."""

    __slots__ = ()

    name: ClassVar[str]
    """The name of its folder, as `--input-format` takes it."""

    label: ClassVar[str]
    """The name that its publisher writes."""

    title: ClassVar[str]
    """Its documents, described in one line."""

    noun: ClassVar[str]
    """The noun for the units in its files, such as `row`."""

    @property
    def versions(self) -> Mapping[str, Sequence[str]]:
        """The documents that have a schema, by version."""
        return {}

    places: ClassVar[Mapping[str, Place]]
    """The place in a run of each kind of document."""

    options: ClassVar[Set[str]] = frozenset()
    """The options it understands, of those that `OPTIONS` in discovery lists."""

    is_sure: ClassVar[bool] = True
    """Whether its documents show it by members that no harness log has.

    Formats that documents show by their shape alone are asked after the harness logs.
    """

    @property
    def judging_versions(self) -> Sequence[str]:
        """The versions that `--schema-version` takes."""
        return ()

    @property
    def recipes(self) -> Sequence[str]:
        """The recipes that `--recipe` takes."""
        return ()

    has_yaml: ClassVar[bool] = False
    """Whether its documents may be YAML that is not JSON."""

    is_source: ClassVar[bool] = False
    """Whether `source.open_source` reads its files as logs from which runs were converted."""

    seals_itself: ClassVar[bool] = False
    """Whether a seal is written into one of the run's own documents, not into an aggregate."""

    compared: ClassVar[Set[str]] = frozenset()
    """The cross-run rules that apply to its runs, of those that `CrossRunRules.codes` lists."""

    event_members: ClassVar[Set[str]] = frozenset()
    """Members that together show a line of its event log, which is not a document."""

    links_aside: ClassVar[Mapping[str, str]] = {}
    """Names of links in its logs to folders without results, and how names of those begin."""

    listing_names: ClassVar[Set[str]] = frozenset()
    """Names of the files that list its documents, and lie beside them."""

    def load(self, module: str) -> Any:
        """Import a module of its folder, which is not loaded before it is needed."""
        return import_module(f"{__package__}.{self.name}.{module}")

    def detect_kind(self, file: Beginning) -> str | None:
        """Return the kind of document of a file, or None for a file of another format."""

    def detect_late(self, _file: Beginning, /) -> str | None:
        """Return the kind of a document whose beginning does not show it, or None.

        It is called only if no format recognises the file.
        """
        return None

    def claims_line(self, _keys: Set[str], /) -> bool:
        """Tell whether a line is one of its documents although it has members of a row."""
        return False

    def is_like(self, _keys: Set[str], /) -> bool:
        """Tell whether an object with such members may be one of its documents."""
        return False

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        """Find the runs of one input and of the documents named beside it.

        Raises UsageError if they do not belong together.
        """

    def check(
        self, run: Run, options: Options, show: Show, progress: Progress, _detect: Detector, /
    ) -> RunSummary:
        """Check one run and hand its findings to `show`, in order: `checker.check`.

        `detect` recognises files of all formats. With `options.samples` the summary has the samples
        of the run, if it has scores of single samples. Raises UsageError if the options do not fit
        the run, and CannotWrite.
        """
        summary: RunSummary = self.load("checker").check(run, options, show, progress)
        return summary

    has_answers: ClassVar[bool] = True
    """Whether answers in its rows or records can be read again."""

    def answers(
        self, run: Run, options: Options, places: RowPlaces, /
    ) -> Iterator[Answered | None]:
        """Iterate over the answers in rows or records at some places, in their order.

        A place is a line and a byte offset, as a check for a comparison collects them; None stands
        for rows that cannot be read again. `compared.answers` reads them. Raises OSError and
        CannotCheck.
        """
        if not self.has_answers:
            return (None for _ in places)
        answers: Iterator[Answered | None] = self.load("compared").answers(run, options, places)
        return answers

    def make_seal(self, run: Run, _options: Options, /) -> SealedText:
        """Return the document that has the seal of a run, as it is and as it will be.

        The check of the run decides whether it is written. Raises OSError and CannotCheck where it
        cannot be written, and UsageError if the format has no such document.
        """
        raise UsageError(f"files of {run.format} have no place for a seal of their own")

    def source(self, path: str, options: Options, wanted: Wanted, /) -> SourceLog | None:
        """Return a harness log that a run was converted from, None for any other path.

        `wanted` is what the run says of it. The caller closes the log. Raises OSError and
        CannotCheck for a log that cannot be read, or of which the wanted part is not known.
        """
        if not self.is_source:
            return None
        log: SourceLog | None = self.load("source").open_source(path, options, wanted)
        return log


class RowFormat(Format, Protocol):
    """The format of rows and aggregates, paired by their names and by what they declare."""

    __slots__ = ()

    grouping: ClassVar[Literal["rows"]] = "rows"
    """How its files go together: rows with their aggregate."""

    aggregate_signs: ClassVar[Set[str]]
    """Members that an aggregate alone has."""

    aggregate_members: ClassVar[Set[str]]
    """Members that an aggregate has, and hardly any other document."""

    row_members: ClassVar[Set[str]]
    """Members that a row has, and hardly any other line."""

    columns: ClassVar[Mapping[str, tuple[tuple[str, ...], Cell]]]
    """The columns of its rows in a table: where each stands in a row, and its type."""

    @property
    def cross_run(self) -> CrossRunRules:
        """The rules over several runs of one call."""

    @property
    def migration_targets(self) -> Sequence[str]:
        """The versions that runs are migrated to, the newest last."""

    def migrator(self, target: str, values: Mapping[str, Any]) -> Migrator:
        """Return what migrates runs to a version, with the values that users supplied by option.

        Raises UsageError for a version that runs are not migrated to, and for other values that
        make no sense.
        """

    def repair(self, text: bytes | None, actions: Collection[RepairAction]) -> RunRepair:
        """Return what carries out the repairs of a run, given its aggregate's text.

        Raises ValueError for an aggregate that cannot be read.
        """

    @property
    def repairs(self) -> tuple[Set[str], Set[str]]:
        """The codes of the rules with safe repairs, and of those with others."""

    def refuses_repair(self, code: str, severity: Severity) -> bool:
        """Tell whether a finding means that its run cannot be repaired safely."""

    def declared_in_text(self, text: bytes) -> DeclaredRows | None:
        """Return what an aggregate declares; None for another document, and for invalid JSON."""

    def read_declared_rows(self, document: Mapping[str, Any]) -> DeclaredRows | None:
        """Return what a parsed aggregate declares, None for another document."""

    def run_id(self, document: Any) -> str | None:
        """Return the id that rows share with their aggregate, of either."""

    def needs_no_rows(self, document: Mapping[str, Any]) -> bool:
        """Tell whether an aggregate is complete without rows."""

    def read_uuid(self, path: str) -> str | None:
        """Return the UUID that a record has by its path."""

    def prepare(self, options: Options, size: int = 0) -> None:
        """Load what checks `size` bytes of rows before the first row comes."""


class PairedFormat(Format, Protocol):
    """A format whose documents belong together by their content."""

    __slots__ = ()

    grouping: ClassVar[Literal["documents"]] = "documents"
    """How its files go together: documents that name each other."""

    companions: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Kinds of document that count only beside one of other kinds in the same folder."""

    def kind_by_path(self, _path: str, _has_neighbour: Callable[[], bool], /) -> str | None:
        """Return the kind of a document that its path shows, whatever it holds, or None.

        It is asked where documents of the format were found; a neighbour is one in the same folder.
        """
        return None

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        """Find the runs of one input; by default it is one, and nothing is named beside it."""
        ours = f"files of {self.name}"
        for option, value in (("--aggregate", aggregate), ("--inputs-file", inputs)):
            if value is not None:
                raise UsageError(f"{option} does not go with {ours}: each is a run of its own")
        if path != STDIN and os.path.isdir(path):
            raise UsageError(f"a folder is searched for {ours} without --input-format")
        yield Run(path, None, format=self.name)

    def pair(self, documents: Documents, *, named: bool) -> Iterator[Run | NoInput]:
        """Pair documents, given by kind and path each time that `documents` is called.

        With `named`, documents that were named in one call are paired although their ids differ. By
        default each document is a run of its own.
        """
        del named
        return (Run(path, None, format=self.name) for _, path in documents())


class FolderFormat(Format, Protocol):
    """A format whose documents are checked as one folder."""

    __slots__ = ()

    grouping: ClassVar[Literal["folder"]] = "folder"
    """How its files go together: all below one folder."""

    kept_logs: ClassVar[Sequence[str]] = ()
    """The harnesses whose logs are documents of the format."""

    def kind_of_folder(self, folders: Sequence[str]) -> str | None:
        """Return the kind of the documents in a folder, by the names of the folders above them."""

    def files(self, path: str) -> Iterator[str]:
        """Iterate over the files that a path stands for."""

    def together(self, folders: Sequence[str], /) -> Iterator[Sequence[str]]:
        """Group folders that were named in one call: those of a group are checked as one."""
        return ((folder,) for folder in folders)


AnyFormat = RowFormat | PairedFormat | FolderFormat
"""A format; `grouping` says how its files belong together."""


def load_rules(name: str) -> list[Rule]:
    """Return the rules of a format, without those that all formats share."""
    folder = f"{__package__}.{name}.rules"
    modules = (import_module(f"{folder}.{one}") for one in import_module(folder).MODULES)
    return [rule for module in modules for rule in module.RULES]


@cache
def load_catalogue(*names: str) -> Catalogue:
    """Return the rules of formats by code, with those that all formats share; they load late."""
    families = {PREFIXES[name]: partial(load_rules, name) for name in names}
    own = families.pop(SHARED, tuple)
    return Catalogue({SHARED: lambda: (*SHARED_RULES, *own()), **families})


def open_source(path: str, options: Options, wanted: Wanted) -> SourceLog:
    """Return the harness log at a path, which one of the formats reads.

    Raises OSError and CannotCheck.
    """
    if not is_remote(path):
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    for name in sorted(PREFIXES):
        one: Format = import_module(f"{__package__}.{name}.format").FORMAT
        found = one.source(path, options, wanted)
        if found is not None:
            return found
    raise CannotCheck("it is not a log of a harness whose logs evalstream reads")


@cache
def other_formats() -> str:
    """Return the advice for a document of another format than the requested one."""
    return f"the known formats are {', '.join(sorted(PREFIXES))} (--input-format)"
