"""All options of a check, in one frozen object that is handed down whole."""

from __future__ import annotations

from dataclasses import dataclass

from evalstream.model.block import MEBIBYTE
from evalstream.model.finding import Severity


@dataclass(frozen=True, slots=True)
class RowRouting:
    """What becomes of the rows of one input besides being checked, and how it is read.

    `tee` is a file that takes every byte as it comes; `passing` says which rows go through to
    standard output (`all` or `valid`); `accepted` and `rejected` are files that take the rows
    apart. `seal_to` is an aggregate that is sealed at the end, with `file_path` as the name of
    the rows (None: found by itself), begun anew where `create` allows it, and in spite of all that
    speaks against it where `force` says so; `dry_run` shows the change instead of making it.
    `expect_rows` and `expect_samples` are how many there must be. `follow` reads on while a file
    grows, until it has stood still for `idle_timeout` seconds.
    """

    tee: str | None = None
    passing: str | None = None
    accepted: str | None = None
    rejected: str | None = None
    seal_to: str | None = None
    file_path: str | None = None
    create: bool = False
    force: bool = False
    dry_run: bool = False
    expect_rows: int | None = None
    expect_samples: int | None = None
    follow: bool = False
    idle_timeout: float = 30.0

    @property
    def sorts(self) -> bool:
        """Whether rows go different ways by what was found in them."""
        return self.passing == "valid" or bool(self.accepted or self.rejected)

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for the rows while they are checked."""
        return self.passing is not None or self.sorts


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that steers a check, in one frozen object that is handed down whole.

    Sizes are in bytes. `max_findings` is per code, 0 shows all. `jobs` 0 means as many
    workers as there are usable cores and as the input is worth. `profile` names a set of
    severities and extra rules. With `skip_noise` lines that hold no row are stepped over, or
    those that `noise`, a regular expression, is found in. `exclude` are patterns of names that a
    search of a folder leaves out. `format_name` is the system whose files
    are checked, `auto` where they show it themselves. `executor` names who runs the work, and the
    two options of Dask its scheduler. With `links` a run gathers what ties it to others.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool = False
    fail_on: Severity = Severity.ERROR
    jobs: int = 0
    schema_version: str = "auto"
    schema: str | None = None
    recipe: str = "auto"
    engine: str = "auto"
    max_findings: int = 100
    show_values: bool = True
    max_line_bytes: int = 64 * MEBIBYTE
    max_depth: int = 200
    memory_limit: int = 38 * MEBIBYTE
    profile: str = "default"
    format_name: str = "auto"
    exclude: tuple[str, ...] = ()
    executor: str = "auto"
    dask_address: str | None = None
    dask_scheduler_file: str | None = None
    links: bool = False
    skip_noise: bool = False
    noise: str | None = None
    flow: RowRouting = RowRouting()

    @property
    def threshold(self) -> Severity:
        """The severity from which on a finding fails the check."""
        return min(self.fail_on, Severity.WARNING) if self.strict else self.fail_on
