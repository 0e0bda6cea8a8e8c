"""Seal an evaluation of infereval: write the hash of its benchmark into it."""

from __future__ import annotations

from typing import Final

from evalstream.formats.infereval.benchmark_hash import benchmark_hashes
from evalstream.formats.infereval.documents import EVALUATION, kind_by_members
from evalstream.io.document import document_bytes
from evalstream.io.names import printable
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.sealed_text import SealedText
from evalstream.parsing.json import UTF8_MARK, fast

MEMBER: Final = "benchmark_hash"


def sealed_evaluation(run: Run, options: Options) -> SealedText:
    """Return an evaluation with the hash of its benchmark, in the form of its release.

    Raises UsageError without an evaluation, OSError, and CannotCheck without a sound benchmark and
    for an evaluation that cannot be edited.
    """
    if run.rows is None:
        raise UsageError("a benchmark has no place for a seal: name an evaluation of it")
    if run.aggregate is None:
        raise CannotCheck(run.missing or "there is no benchmark to take the hash of")
    text = document_bytes(run.rows)
    try:
        found = fast(text.removeprefix(UTF8_MARK))
    except ValueError as error:
        raise CannotCheck(f"{printable(run.rows)} cannot be edited: {error}") from error
    if not isinstance(found, dict) or kind_by_members(found.keys()) != EVALUATION:
        raise CannotCheck(f"{printable(run.rows)} is not an evaluation")
    hashes = benchmark_hashes(run.aggregate, found.get("framework_version"), options)
    if not hashes:
        raise CannotCheck("the benchmark is malformed, so its hash could not be taken")
    declared = found.get(MEMBER)
    if declared is not None and declared not in hashes:
        # The evaluation says which benchmark the model was asked; a seal must not unsay it.
        raise CannotCheck(f"its {MEMBER} is not that of this benchmark")
    from evalstream.parsing.json_edit import set_member

    try:
        return SealedText(run.rows, text, set_member(text, MEMBER, declared or hashes[0]))
    except ValueError as error:
        raise CannotCheck(f"{printable(run.rows)} cannot be edited: {error}") from error
