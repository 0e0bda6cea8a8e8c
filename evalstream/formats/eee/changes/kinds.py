"""The kinds of change that are particular to Every Eval Ever, and what users can decide."""

from __future__ import annotations

from typing import Final

from evalstream.model.changes import ChangeClass, ChangeKind


def _kind(name: str, change_class: ChangeClass, title: str) -> ChangeKind:
    return ChangeKind(name, change_class, title)


VERSION: Final = _kind("version", ChangeClass.MECHANICAL, "set to the new version")
KEPT: Final = _kind("kept", ChangeClass.MECHANICAL, "value kept as migrated.*")

EVALUATION_ID: Final = _kind(
    "evaluation-id",
    ChangeClass.DECIDED,
    "evaluation_id of the row to that of its aggregate, its own kept in metadata",
)
RESULT_ID: Final = _kind(
    "result-id", ChangeClass.DECIDED, "evaluation_result_id from the only result of that name"
)
TRANSCRIPT: Final = _kind(
    "transcript", ChangeClass.DECIDED, "transcript of a single-turn row kept in metadata"
)
OUTPUT: Final = _kind("output", ChangeClass.DECIDED, "output of a transcript row kept in metadata")
INLINE_SCORES: Final = _kind(
    "inline-scores", ChangeClass.DECIDED, "score of a sample by equality with its ground truth"
)
REHASH: Final = _kind("rehash", ChangeClass.DECIDED, "sample_hash by another recipe or algorithm")

DECISIONS: Final = tuple(
    kind.name for kind in (EVALUATION_ID, RESULT_ID, TRANSCRIPT, OUTPUT, INLINE_SCORES)
)
"""What `--decide` takes."""

MIGRATED: Final = "migrated."
"""The prefix of members that keep what a version has no place for."""

SEAL: Final = _kind("seal", ChangeClass.MECHANICAL, "sealed anew")
ALGORITHM: Final = _kind("algorithm", ChangeClass.MECHANICAL, "md5 seal to sha256")
FILE_PATH: Final = _kind("file-path", ChangeClass.MECHANICAL, "set to the path in the datastore")
PROVENANCE: Final = _kind("provenance", ChangeClass.MECHANICAL, "says where it came from")
MOVED: Final = _kind("moved", ChangeClass.MECHANICAL, "member moved to where the version has it")

DEVELOPER: Final = _kind("developer", ChangeClass.FILLED, "set as supplied")
LIBRARY: Final = _kind("eval-library", ChangeClass.FILLED, "set as supplied, or unknown")
DEPLOYMENT: Final = _kind("deployment", ChangeClass.FILLED, "set as supplied, or unknown")
DATASET: Final = _kind("dataset", ChangeClass.FILLED, "completed as supplied, or unknown")
