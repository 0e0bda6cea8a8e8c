"""The files that runs read, as they are found; none of them may be one that the call writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from evalstream.engine.routing import one_run_for
from evalstream.io.overwriting import Outputs, is_same_file
from evalstream.io.remote import is_remote
from evalstream.model.errors import UsageError
from evalstream.model.options import RowRouting
from evalstream.model.run import STDIN, NoInput, Run


def apart(
    found: Iterable[Run | NoInput], outputs: Outputs, flow: RowRouting
) -> Iterator[Run | NoInput]:
    """Pass on what was found, once it is certain that the call does not write over it.

    The aggregate that is sealed is read and written. Raises UsageError where another file is, and
    where rows are to go somewhere and there are several runs.
    """
    is_single = flow != RowRouting()
    for number, one in enumerate(found):
        if is_single and number:
            raise UsageError(one_run_for(flow))
        for path in _files_of(one) if outputs else ():
            outputs.refuse(path)
        if isinstance(one, Run) and one.aggregate is not None and outputs:
            for path in () if _is_sealed(one.aggregate, flow) else _files_at(one.aggregate):
                outputs.refuse(path)
        yield one


def _is_sealed(aggregate: str, flow: RowRouting) -> bool:
    """Tell whether an aggregate is the one that is sealed, which is read and written."""
    if flow.seal_to is None or flow.dry_run:
        return False
    return is_same_file(aggregate, flow.seal_to)


def _files_of(found: Run | NoInput) -> Iterator[str]:
    """Iterate over the files of a run but for its aggregate."""
    if isinstance(found, NoInput):
        # What was left in a folder is not read, so a report that lies there can be replaced.
        yield from () if os.path.isdir(found.path) else (found.path,)
        return
    for path in (found.rows, found.inputs):
        if path is not None:
            yield from _files_at(path)


def _files_at(path: str) -> Iterator[str]:
    """Iterate over the files that a path stands for; only documents of EvalGuard lie in folders."""
    if path == STDIN or is_remote(path) or not os.path.isdir(path):
        yield path
        return
    from evalstream.formats.evalguard.files import files_of

    for file in files_of(path):
        yield file.path
