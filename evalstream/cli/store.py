"""The commands `store verify`, `store diff` and `store admit`."""

import sys
from collections.abc import Mapping
from typing import Annotated, Final

from evalstream.api.store import admit
from evalstream.api.store import verify as verify_store
from evalstream.cli.command import command
from evalstream.cli.options import ArgumentText, FilesFrom, ForceReport, ShowProgress, named_inputs
from evalstream.cli.output import Target, end_with, open_report
from evalstream.cli.terminal import guard_output
from evalstream.io.names import is_remote, printable
from evalstream.model.errors import UsageError
from evalstream.model.exit_codes import ExitCode
from evalstream.model.option_fields import Group, OptionText
from evalstream.model.options import OPTIONS, Options
from evalstream.model.text import describe_unknown, split_codes
from evalstream.parsing.json import dumps
from evalstream.reporters import ReportOptions
from evalstream.settings.resolve import LEDGER
from evalstream.store.snapshot import CHANGED, CHANGES, diff_snapshots
from evalstream.store.verify import LEVELS

_CHECK_OPTIONS: Final = (
    *("select", "ignore", "strict", "fail_on", "profile"),
    *("jobs", "max_findings", "show_values"),
)
_TEXTS: Final = tuple(OPTIONS[name].text for name in _CHECK_OPTIONS)

Root = Annotated[
    str,
    ArgumentText(
        "ROOT", "The store: a folder, hf://datasets/ORG/NAME[@REVISION], s3://…; or one manifest."
    ),
]


@command(
    lambda option: option in _TEXTS,
    reports=True,
    examples=(
        "evalstream store verify datastore/",
        "evalstream store verify datastore/ --level rows --sample 100 --seed 2026-01-01",
        "evalstream store verify hf://datasets/ORG/NAME --ledger store.ledger --trust-host-digests",
    ),
)
def store_verify(
    *,
    options: Options,
    reporting: ReportOptions,
    root: Root,
    level: Annotated[
        str | None,
        OptionText(
            "How deep: manifests, entries, indexes and listing; also the bytes of objects and of "
            "data/ (default); also the rows of each pair.",
            Group.INPUT,
            choices=LEVELS,
        ),
    ] = None,
    since: Annotated[
        str | None,
        OptionText(
            "Read only objects that this manifest does not list as they are.",
            Group.INPUT,
            "MANIFEST",
        ),
    ] = None,
    collection: Annotated[
        tuple[str, ...],
        OptionText("Read only objects of this collection (repeatable).", Group.INPUT, "NAME"),
    ] = (),
    sample: Annotated[
        int | None, OptionText("Read only N entries, chosen at random.", Group.INPUT, "N")
    ] = None,
    seed: Annotated[
        str, OptionText("What decides which entries --sample chooses.", Group.INPUT, "TEXT")
    ] = "0",
    acknowledged: Annotated[
        str | None,
        OptionText(
            "A file of paths in data/, one a line, that may differ from their entries.",
            Group.RULES,
            "FILE",
        ),
    ] = None,
    trust_host_digests: Annotated[
        bool,
        OptionText(
            "Take the digests of the host's listing as proof, and do not read what they prove.",
            Group.RULES,
        ),
    ] = False,
    ledger: Annotated[str | None, LEDGER] = None,
    shard: Annotated[
        str | None,
        OptionText(
            "Read one of N parts of the objects: 3/8, slurm/8 or slurm.", Group.EXECUTION, "I/N"
        ),
    ] = None,
    progress: ShowProgress = None,
    force: ForceReport = False,
) -> None:
    """Verify a public store: its snapshots, indexes, objects and data/, and what it lost.

    Exit codes: 0 no finding that fails, 1 findings, 2 wrong usage, 3 something could not be
    checked, whatever was found.
    """
    target = Target(reporting, force=force)
    with open_report(options, target, [acknowledged], ledger) as reporter:
        report = verify_store(
            root,
            level=level,
            ledger=ledger,
            since=since,
            collections=collection,
            sample=sample,
            seed=seed,
            acknowledged=acknowledged,
            trust_host_digests=trust_host_digests,
            shard=shard,
            outputs=[] if target.output is None else [target.output],
            overwrite=force,
            options=target.complete(options),
            progress=sys.stderr.isatty() if progress is None else progress,
            reporter=reporter,
        )
    end_with(report, options, target)


@command(
    lambda option: option in _TEXTS and option is not OPTIONS["profile"].text,
    reports=True,
    examples=(
        "evalstream store admit --files-from changed.txt --store ../accepted",
        "evalstream store admit hf://datasets/ORG/NAME@refs/pr/7 --store hf://datasets/ORG/NAME",
    ),
)
def store_admit(
    *,
    options: Options,
    reporting: ReportOptions,
    changed: Annotated[
        list[str] | None,
        ArgumentText(
            "CHANGED", "The files of a request, as git diff --name-only lists them; or its URL."
        ),
    ] = None,
    files_from: FilesFrom = None,
    store: Annotated[
        str, OptionText("The store as it is without the request.", Group.INPUT, "ROOT")
    ],
    progress: ShowProgress = None,
    force: ForceReport = False,
) -> None:
    """Judge whether changed files may enter a public store, before its rebuild sees them.

    New records are checked under --profile datastore, and compared with the store: a UUID never
    gets other content, and accepted files stay. Exit codes are those of check.
    """
    missing = "no changed file given; for example: git diff -z --name-only --no-renames"
    names = list(named_inputs(changed, files_from, missing))
    target = Target(reporting, force=force)
    read = [files_from, *(one for one in changed or [] if not is_remote(one))]
    with open_report(options, target, read) as reporter:
        report = admit(
            names,
            store,
            outputs=[] if target.output is None else [target.output],
            options=target.complete(options),
            progress=sys.stderr.isatty() if progress is None else progress,
            reporter=reporter,
        )
    end_with(report, options, target)


@command(
    examples=(
        "evalstream store diff old/latest_manifest.json datastore/",
        "evalstream store diff OLD NEW --fail-on changed,removed --format jsonl",
    )
)
def store_diff(
    *,
    old: Annotated[str, ArgumentText("OLD", "A manifest, or a store with its latest one.")],
    new: Annotated[str, ArgumentText("NEW", "A later manifest, or a store.")],
    fail_on: Annotated[
        tuple[str, ...],
        OptionText(f"The changes that fail: {', '.join(CHANGES)}.", Group.RULES, "CHANGES"),
    ] = (CHANGED,),
    form: Annotated[
        str,
        OptionText(
            "Output format.", Group.REPORT, choices=("text", "jsonl"), flags=("--format", "-f")
        ),
    ] = "text",
) -> None:
    """List what became of each record between two snapshots of a public store.

    Exit codes: 0 no change that fails, 1 such changes (by default a record that was changed under
    its UUID), 2 wrong usage, 3 a snapshot that cannot be followed.
    """
    failing = set(split_codes(fail_on))
    for one in sorted(failing - set(CHANGES)):
        raise UsageError(describe_unknown("change", one, CHANGES))
    counts: dict[str, dict[str, int]] = {}
    with guard_output():
        for change in diff_snapshots(old, new):
            of_collection = counts.setdefault(change.collection, {})
            of_collection[change.change] = of_collection.get(change.change, 0) + 1
            line = dumps(change._asdict()).decode()
            text = f"{change.change} {change.object_uuid} {printable(change.legacy_path)}"
            sys.stdout.write(f"{line if form == 'jsonl' else text}\n")
        if form == "jsonl":
            sys.stdout.write(f"{dumps({'summary': counts}).decode()}\n")
        else:
            _write_counts(counts)
        sys.stdout.flush()
    found = {change for one in counts.values() for change in one}
    sys.exit(ExitCode.FAILED if found & failing else ExitCode.PASSED)


def _write_counts(counts: Mapping[str, Mapping[str, int]]) -> None:
    for collection in sorted(counts):
        numbers = (
            f"{counts[collection][one]:,} {one}" for one in CHANGES if one in counts[collection]
        )
        sys.stdout.write(f"{printable(collection)}: {', '.join(numbers)}\n")
    if not counts:
        sys.stdout.write("no record differs\n")
