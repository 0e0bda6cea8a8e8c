"""The format evalguard, as the `Format` protocol requires it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import ClassVar, Final

from evalstream.engine.layout import LM_EVAL
from evalstream.formats.base import Detector, FolderFormat, Place, Show
from evalstream.formats.evalguard import documents
from evalstream.formats.evalguard.documents import KINDS, MANIFEST, RESPONSE, SCHEMAS
from evalstream.io.beginning import OBJECT, Beginning
from evalstream.io.names import is_yaml_name
from evalstream.io.progress import Progress
from evalstream.model.changes import SealedText
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import RunSummary


class EvalGuardFormat(FolderFormat):
    """Tasks, metrics, thresholds or policies, and reports in a folder."""

    __slots__ = ()

    name = documents.NAME
    label = "EvalGuard"
    title = documents.TITLE
    prefix = "EVG"
    noun = "document"
    rule_modules = ("documents", "folder", "scores")
    versions: Mapping[str, Sequence[str]] = {documents.VERSION: sorted(SCHEMAS)}
    places: ClassVar[Mapping[str, Place]] = dict.fromkeys((*KINDS, MANIFEST, RESPONSE), "rows")
    has_answers = False
    kept_logs = (LM_EVAL,)
    has_yaml = True
    seals_itself = True

    def detect_late(self, file: Beginning, /) -> str | None:
        is_json = file.seen.kind == OBJECT and not is_yaml_name(file.name)
        return RESPONSE if is_json and documents.is_response(file.document) else None

    def is_like(self, keys: Set[str], /) -> bool:
        return bool(documents.kind_of_members(keys) or documents.likely_kind(keys))

    def kind_of_folder(self, folders: Sequence[str]) -> str | None:
        return documents.kind_of_folder(folders)

    def files(self, path: str) -> Iterator[str]:
        from evalstream.formats.evalguard.files import iterate_files

        return (file.path for file in iterate_files(path))

    def together(self, folders: Sequence[str], /) -> Iterator[Sequence[str]]:
        from evalstream.formats.evalguard.files import together

        return together(folders)

    def check(
        self, run: Run, options: Options, show: Show, progress: Progress, detect: Detector, /
    ) -> RunSummary:
        summary: RunSummary = self.load("checker").check(run, options, show, progress, detect)
        return summary

    def make_seal(self, run: Run, _options: Options, /) -> SealedText:
        from evalstream.formats.evalguard.manifest import sealed_folder

        if run.rows is None or run.beside or not os.path.isdir(run.rows):
            raise UsageError("one folder is sealed at a time, with all of its documents")
        return sealed_folder(run.rows)


FORMAT: Final[FolderFormat] = EvalGuardFormat()
