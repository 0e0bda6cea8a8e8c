"""Check, as runs are found, that the call does not write a file that it also reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from evalstream.engine.routing import one_run_for
from evalstream.formats.registry import folder_format
from evalstream.io.names import is_remote
from evalstream.io.overwriting import Outputs, is_same_file
from evalstream.model.errors import UsageError
from evalstream.model.options import RowRouting
from evalstream.model.run import STDIN, NoInput, Run


def without_overlap(
    found: Iterable[Run | NoInput], outputs: Outputs, routing: RowRouting
) -> Iterator[Run | NoInput]:
    """Pass runs on once it is certain that the call does not write over their files.

    The aggregate that is sealed is both read and written. Raises UsageError for any other such
    file, and if rows are routed and there are several runs.
    """
    is_single = routing != RowRouting()
    for number, one in enumerate(found):
        if is_single and number:
            raise UsageError(one_run_for(routing))
        for path in _row_files(one) if outputs else ():
            outputs.refuse(path)
        if isinstance(one, Run) and one.aggregate is not None and outputs:
            is_sealed = _is_sealed(one.aggregate, routing)
            for path in () if is_sealed else _files_at(one.aggregate, one.format):
                outputs.refuse(path)
        yield one


def _is_sealed(aggregate: str, routing: RowRouting) -> bool:
    """Tell whether an aggregate is the one to be sealed, which is read and written."""
    if routing.seal_to is None or routing.dry_run:
        return False
    return is_same_file(aggregate, routing.seal_to)


def _row_files(found: Run | NoInput) -> Iterator[str]:
    """Iterate over the files of a run except its aggregate."""
    if isinstance(found, NoInput):
        # Files left unchecked in a folder are not read, so a report among them can be replaced.
        yield from () if os.path.isdir(found.path) else (found.path,)
        return
    for path in (found.rows, found.inputs, *found.beside):
        if path is not None:
            yield from _files_at(path, found.format)


def _files_at(path: str, name: str) -> Iterator[str]:
    """Iterate over the files that a path stands for in a run of one format."""
    one = folder_format(name)
    if one is None or path == STDIN or is_remote(path) or not os.path.isdir(path):
        yield path
    else:
        yield from one.files(path)
