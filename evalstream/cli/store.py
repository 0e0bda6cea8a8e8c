"""The commands `store verify`, `store diff` and `store admit`."""

import sys
from functools import partial
from typing import Annotated, Final

from evalstream.api.store import verify as verify_store
from evalstream.cli.command import ArgumentText, command
from evalstream.cli.options import ForceReport, ShowProgress
from evalstream.cli.output import Target, report_call
from evalstream.model.options import OPTIONS, Group, Options, OptionText
from evalstream.reporters.options import ReportOptions
from evalstream.settings.declared import LEDGER
from evalstream.store.choice import LEVELS

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
    call = partial(
        verify_store,
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
    )
    report_call(call, options, target, [acknowledged], ledger)
