"""All options of a check in one frozen object, each declared once with what users read of it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from evalstream.model.block import MEBIBYTE
from evalstream.model.data_class import DataClass, NamedTuple
from evalstream.model.finding import Severity
from evalstream.model.option_fields import Group, Option, declared_options, option


class RowRouting(DataClass, frozen=True):
    """Where the rows of one input go while they are checked, and how the input is read.

    Attributes:
        overwrite: Whether outputs of rows may replace any other file; the call sets it.

    """

    tee: str | None = option(
        None, "Copy every byte of the rows to this file.", Group.ROWS, "FILE", seals=True
    )
    passing: str | None = option(
        None,
        "Write the rows to stdout, all or only valid ones; the report goes to stderr, or line by "
        "line to --output.",
        Group.ROWS,
        flags=("--pass",),
        choices=("all", "valid"),
    )
    end_with_reader: bool = option(
        False,
        "End when the reader of --pass does; without it files of rows are written to their end.",
        Group.ROWS,
    )
    accepted: str | None = option(
        None, "Write the rows without an error to this file.", Group.ROWS, "FILE"
    )
    rejected: str | None = option(
        None,
        "Write the other rows to this file, and their findings to FILE.findings.jsonl.",
        Group.ROWS,
        "FILE",
    )
    seal_to: str | None = option(
        None, "Seal the rows in this aggregate at the end, if they are valid.", Group.SEAL, "FILE"
    )
    file_path: str | None = option(
        None,
        "Value of file_path (default: derived from the paths).",
        Group.SEAL,
        "PATH",
        seals=True,
    )
    create: bool = option(
        False, "Create the aggregate if it does not exist.", Group.SEAL, seals=True
    )
    seal_anyway: bool = option(
        False,
        "Seal rows that have errors, look torn, or are not those that were sealed, too.",
        Group.SEAL,
        seals=True,
    )
    dry_run: bool = option(
        False, "Show what would change, and change nothing.", Group.SEAL, seals=True, checks=False
    )
    expect_rows: int | None = option(
        None,
        "Fail, and do not seal, unless there are N rows.",
        Group.RULES,
        "N",
        seals=True,
        least=0,
    )
    expect_samples: int | None = option(
        None,
        "Fail, and do not seal, unless rows score N samples.",
        Group.RULES,
        "N",
        seals=True,
        least=0,
    )
    follow: bool = option(
        False,
        "Wait for the file if it does not exist yet, and continue reading while it grows.",
        Group.INPUT,
    )
    idle_timeout: float = option(
        30.0,
        "Stop following a file that has not grown, or appeared, for this time.",
        Group.INPUT,
        "SECONDS",
    )
    overwrite: bool = False

    @property
    def splits_rows(self) -> bool:
        """Whether the findings of a row decide where it goes."""
        return self.passing == "valid" or bool(self.accepted or self.rejected)

    @property
    def is_interactive(self) -> bool:
        """Whether another program waits for the rows while they are checked."""
        return self.passing is not None or self.splits_rows


class Sealing(NamedTuple):
    """The request to seal a run's own document: one that has its seal, not an aggregate.

    `text` is that document as it will be; the check reads it in place of the stored one. With
    `overwrite` it may replace a file that evalstream did not write.
    """

    dry_run: bool = False
    seal_anyway: bool = False
    overwrite: bool = False
    text: bytes | None = None


class SampleRequest(NamedTuple):
    """The members of each row that a check collects for a comparison.

    `by` is what identifies a sample: `input`, `sample_hash` or `sample_id`. `cluster` is the JSON
    Pointer to the value by which samples are clustered. `counts_only` asks for the number of rows
    of each sample alone, and `has_places` also for the places of its rows.
    """

    by: str = "input"
    cluster: str | None = None
    counts_only: bool = False
    has_places: bool = False


class Options(DataClass, frozen=True):
    """Everything that steers a check, in one frozen object that is handed down whole.

    Sizes are in bytes.

    Attributes:
        links: Whether a run collects what relates it to other runs; a batch sets it.
        has_others: Whether the call has other runs, too; a batch sets it.
        digests: Whether a run collects the SHA-256 of its files; an attestation sets it.
        samples: What a run collects of its samples; a comparison sets it.
        sealing: The request to seal a run's own document; `seal` sets it.
        routing: Where the rows go while they are checked.

    """

    select: tuple[str, ...] = option(
        (),
        "Only these rules, by code, prefix or name (ES4,ES501).",
        Group.RULES,
        "CODES",
        seals=True,
    )
    ignore: tuple[str, ...] = option((), "Rules to skip.", Group.RULES, "CODES", seals=True)
    per_file_ignores: tuple[str, ...] = option(
        (),
        "Rules to skip for the files that match, such as 'old/*.jsonl:ES204' (repeatable).",
        Group.RULES,
        "PATTERN:CODES",
        seals=True,
    )
    strict: bool = option(
        False,
        "Treat warnings as errors, and demand that every claim is confirmed.",
        Group.RULES,
        seals=True,
    )
    preview: bool = option(
        False,
        "Apply rules in preview, too; they report infos and never fail a run.",
        Group.RULES,
        seals=True,
    )
    fail_on: Severity = option(
        Severity.ERROR,
        "The lowest severity that fails the check.",
        Group.RULES,
        choices=("error", "warning", "info"),
        seals=True,
    )
    jobs: int = option(
        0,
        "Worker processes; 0 uses every core.",
        Group.EXECUTION,
        "N",
        flags=("--jobs", "-j"),
        seals=True,
        least=0,
    )
    schema_version: str = option(
        "auto",
        "Check rows and aggregate against this version instead of the declared one: {choices}.",
        Group.RULES,
        "VERSION",
        seals=True,
        named_only=True,
    )
    schema: str | None = option(
        None,
        "Check rows against this JSON Schema instead of a built-in one.",
        Group.RULES,
        "FILE",
        named_only=True,
    )
    recipe: str = option(
        "auto",
        "The recipe of sample_hash; auto detects it: {choices}.",
        Group.RULES,
        "RECIPE",
        seals=True,
    )
    engine: str = option("auto", "The schema engine: {choices}.", Group.ADVANCED, "ENGINE")
    max_findings: int = option(
        100,
        "Show at most N findings per code and file; 0 shows all.",
        Group.REPORT,
        "N",
        seals=True,
        least=0,
    )
    show_values: bool = option(
        True,
        "Hide values of the data, found or expected; names, ids, digests and claimed figures stay.",
        Group.REPORT,
        flags=("--no-values",),
        negates=True,
        seals=True,
    )
    sketches: bool = option(
        False,
        "Add sketches of the rows to a json or jsonl report; an html report has them.",
        Group.REPORT,
    )
    max_line_bytes: int = option(
        64 * MEBIBYTE,
        "The longest line that is checked, in bytes, at most 256 MiB.",
        Group.ADVANCED,
        "N",
        named_only=True,
        least=1,
    )
    max_depth: int = option(
        200, "The deepest nesting that is checked.", Group.ADVANCED, "N", named_only=True, least=1
    )
    memory_limit: int = option(
        22 * MEBIBYTE,
        "Bytes for the identities of rows; more go to disk.",
        Group.ADVANCED,
        "N",
        named_only=True,
        least=1,
    )
    profile: str = option(
        "default", "Severities and extra rules: {choices}.", Group.RULES, "PROFILE", seals=True
    )
    store_version: str = option(
        "0.3.0",
        "The lowest schema_version that the store takes, for ES911 (eee).",
        Group.RULES,
        "VERSION",
        seals=True,
        named_only=True,
    )
    input_format: str = option(
        "auto",
        "The format of the input: {choices}.",
        Group.INPUT,
        "FORMAT",
        former=("--format-name",),
    )
    exclude: tuple[str, ...] = option(
        (), "Skip files in folders whose path or name matches (repeatable).", Group.INPUT, "PATTERN"
    )
    baseline: str | None = option(
        None,
        "Known findings, which do not fail the check; those that vanished are named.",
        Group.RULES,
        "FILE",
        named_only=True,
    )
    write_baseline: str | None = option(
        None,
        "Write all findings, but infos, to this file for --baseline; the verdict stays the same.",
        Group.RULES,
        "FILE",
    )
    expect_ids: str | None = option(
        None,
        "Fail unless each run scores the samples whose ids are in this file.",
        Group.RULES,
        "FILE",
    )
    expect_digests: str | None = option(
        None,
        "Fail unless the samples of the one run named are those of a file of --sample-digests.",
        Group.RULES,
        "FILE",
    )
    sample_digests: str | None = option(
        None,
        "Write a digest of each sample of the one run named and of its answer to this file.",
        Group.REPORT,
        "FILE",
    )
    source: str | None = option(
        None,
        "Compare the one run named with the harness log it was converted from (eee): a log of "
        "Inspect, samples or results of lm-eval or their folder, or the folder of a HELM run.",
        Group.INPUT,
        "LOG",
    )
    attestation: str | None = option(
        None,
        "Fail unless the statements in this file cover the runs; --trust says whom to believe.",
        Group.RULES,
        "FILE",
    )
    trust: tuple[str, ...] = option(
        (),
        "Public keys whose signatures count: PEM, or allowed_signers of ssh (repeatable).",
        Group.RULES,
        "KEYS",
    )
    require: tuple[str, ...] = option(
        (),
        "Fail unless a run's statement has this property, and covers all files (repeatable).",
        Group.RULES,
        "PROPERTY",
    )
    attestation_only: bool = option(
        False, "Verify signature and digests, and do not check the rows.", Group.RULES
    )
    executor: str = option(
        "auto",
        "What runs the work: this process, worker processes, or Dask.",
        Group.ADVANCED,
        choices=("auto", "serial", "pool", "dask"),
        named_only=True,
    )
    dask_address: str | None = option(
        None,
        "The scheduler of a Dask cluster (default: a local cluster).",
        Group.ADVANCED,
        "URL",
        named_only=True,
    )
    dask_scheduler_file: str | None = option(
        None,
        "The file that the scheduler of the Dask cluster wrote.",
        Group.ADVANCED,
        "FILE",
        named_only=True,
    )
    dask_insecure: bool = option(
        False,
        "Accept a Dask scheduler on another machine without TLS: who reaches it can run code here.",
        Group.ADVANCED,
        named_only=True,
    )
    links: bool = False
    has_others: bool = False
    digests: bool = False
    samples: SampleRequest | None = None
    sealing: Sealing | None = None
    skip_noise: bool = option(
        False, "Skip lines that hold no row, and count them.", Group.INPUT, named_only=True
    )
    noise: str | None = option(
        None,
        "Skip invalid lines that match, and count them.",
        Group.INPUT,
        "REGEX",
        named_only=True,
    )
    routing: RowRouting = RowRouting()

    @property
    def has_baseline(self) -> bool:
        """Whether findings are compared with known ones, or written down as such."""
        return self.baseline is not None or self.write_baseline is not None

    @property
    def threshold(self) -> Severity:
        """The lowest severity that fails the check."""
        return min(self.fail_on, Severity.WARNING) if self.strict else self.fail_on


ROUTING_OPTIONS: Final[Mapping[str, Option]] = MappingProxyType(declared_options(RowRouting))
"""The options that are fields of `Options.routing`."""

OPTIONS: Final[Mapping[str, Option]] = MappingProxyType(
    {**declared_options(Options), **ROUTING_OPTIONS}
)
"""Every option by name."""
