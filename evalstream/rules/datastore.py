"""ES9: what a datastore demands of its files: their places, and that none is an orphan."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from evalstream.aggregate import DETAILS
from evalstream.model import Fault, Severity
from evalstream.places import FOLDERS, PATTERN, Place, place_of, unportable
from evalstream.rule import Rule, RunFacts

AGGREGATE: Final = ".json"
ROWS: Final = "_samples.jsonl"


def _datastore_path(facts: RunFacts) -> Iterator[Fault]:
    """Judge the aggregate's place and the rows'; a folder that both lie in, only once."""
    aggregate = rows = None
    if facts.aggregate is not None and facts.aggregate_path is not None:
        aggregate = place_of(facts.aggregate_path)
        yield from _misplaced(aggregate, AGGREGATE)
    if facts.path is not None:
        rows = place_of(facts.path)
        if aggregate is None or rows.folder != aggregate.folder:
            yield from _misplaced(rows, ROWS, about_rows=True)
        elif rows.inside:
            yield from _misnamed(rows, ROWS, about_rows=True)
    if aggregate is not None and rows is not None:
        yield from _apart(aggregate, rows)


def _misplaced(place: Place, ending: str, *, about_rows: bool = False) -> Iterator[Fault]:
    if not place.inside:
        # What lies further up is the machine's own business and stays out of reports.
        message = "the file does not lie where a datastore keeps it"
        yield _fault(message, PATTERN + ending, None, about_rows=about_rows)
        return
    for folder, name in zip(FOLDERS, place.folders[1:], strict=True):
        reason = unportable(name)
        if reason:
            message = f"the name of the {folder} folder is not portable: {reason}"
            yield _fault(message, None, name, about_rows=about_rows)
    yield from _misnamed(place, ending, about_rows=about_rows)


def _misnamed(place: Place, ending: str, *, about_rows: bool) -> Iterator[Fault]:
    if place.uuid(ending) is None:
        message = f"the file's name is not a version 4 UUID in lower case with the ending {ending}"
        yield _fault(message, f"<uuid4>{ending}", place.name, about_rows=about_rows)


def _apart(aggregate: Place, rows: Place) -> Iterator[Fault]:
    """Hold two places against each other as far as each is a sound one."""
    uuid = aggregate.uuid(AGGREGATE)
    if not aggregate.inside or not rows.inside or uuid is None or rows.uuid(ROWS) is None:
        return
    expected = aggregate._replace(name=uuid + ROWS)
    if rows.folder != aggregate.folder:
        message = "the rows do not lie in the folder of their aggregate"
        yield _fault(message, expected.path, rows.path, about_rows=True)
    elif rows.name != expected.name:
        message = "the rows do not have the UUID of their aggregate"
        yield _fault(message, expected.name, rows.name, about_rows=True)


def _fault(message: str, expected: str | None, found: str | None, **details: Any) -> Fault:
    shown = None if found is None else _printable(found)
    return ES901.fault(message, expected=expected, found=shown, **details)


def _orphan(facts: RunFacts) -> Iterator[Fault]:
    if facts.missing is not None:
        yield ES902.fault(facts.missing, pointer=f"{DETAILS}/file_path")
    elif are_undeclared(facts):
        if facts.aggregate is None:
            yield ES902.fault("no aggregate belongs to these rows, by name or by its file_path")
        else:
            message = "the aggregate does not declare the rows that were checked with it"
            yield ES902.fault(message, found=_name(facts.path or ""))
    if facts.aggregate is None:
        return
    known = {os.path.basename(facts.aggregate.file_path or "")}
    checked = None if facts.path is None else os.path.realpath(facts.path)
    for path in facts.beside:
        if os.path.basename(path) not in known and os.path.realpath(path) != checked:
            message = "beside the aggregate lie rows under its name that it does not declare"
            yield ES902.fault(message, found=_name(path))


def are_undeclared(facts: RunFacts) -> bool:
    """Tell whether no aggregate says anything of the rows; ES902 then says more than ES506."""
    if facts.path is None or facts.layout == "aggregate":
        return False
    if facts.aggregate is None:
        return facts.aggregate_path is None
    claims = ("file_path", "checksum", "total_rows")
    return all(facts.aggregate.claim(name) is None for name in claims)


def _name(path: str) -> str:
    return _printable(os.path.basename(path))


def _printable(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


ES901: Final = Rule(
    "ES901",
    "datastore-path",
    Severity.ERROR,
    "not data/<collection>/<developer>/<model>/<uuid4>.json or …_samples.jsonl, or no portable name",
    """
    What it finds: only with `--profile datastore` or where it is selected: an aggregate that
    does not lie at `data/<collection>/<developer>/<model>/<uuid4>.json`, rows that do not lie
    beside it as `<uuid4>_samples.jsonl` (a version 4 UUID in lower case, the same for both),
    and folders whose names are not portable. A portable name has no invisible characters and
    none of `< > : " \\ | ? *`, begins with no space, full stop or hyphen, ends in no space or
    full stop, names no device of Windows, takes 255 bytes at most, is in the Unicode form NFC,
    and is not `data`. Rows on standard input lie nowhere.

    Why it matters: the datastore is queried by these paths. A file elsewhere is not found, and
    a name that one file system cannot hold keeps all others from being checked out there.

    Bad:
        version 0.3.0
        option --profile datastore
        folder data/tiny-arithmetic/acme/acorn:7b

    Good:
        version 0.3.0
        option --profile datastore
        folder data/tiny-arithmetic/acme/Acorn-7b@v1.5_(chat)
    """,
    run=_datastore_path,
    optional=True,
    about_aggregate=True,
    about_paths=True,
)

ES902: Final = Rule(
    "ES902",
    "orphan",
    Severity.ERROR,
    "rows without an aggregate, declared rows that are missing, or rows that are not declared",
    """
    What it finds: only with `--profile datastore` or where it is selected: rows to which no
    aggregate belongs, an aggregate whose declared rows are not there (without the profile that
    is ES001, and nothing failed), and rows beside an aggregate, under its name, of which it
    says nothing. A file_path that names another file than the rows beside it is ES507.

    Why it matters: rows without an aggregate support no claim, and a claim whose rows are
    gone can be verified by nobody.

    Bad:
        version 0.3.0
        option --profile datastore
        aggregate /detailed_evaluation_results removed

    Good:
        version 0.3.0
        option --profile datastore
        aggregate /detailed_evaluation_results/additional_details = {"rows": "beside it"}
    """,
    run=_orphan,
    optional=True,
    about_aggregate=True,
    about_paths=True,
)

RULES: Final = (ES901, ES902)
