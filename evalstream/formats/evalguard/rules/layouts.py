"""EVG206 and EVG208: how a folder of EvalGuard is laid out, and how its schemas are named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from evalstream.formats.evalguard.views import POLICIES, SPECIFICATION, Subject
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.rules.base import Rule

_FILE: Final = re.compile(r"[A-Za-z0-9_-]+\.schema\.yaml")
_VERSION: Final = re.compile(r"v[0-9]+(\.[0-9]+)?")


def _check_mixed(subject: Subject) -> Iterator[Violation]:
    """Report the first document of the layout that has fewer of them."""
    shown = subject.folder.shown
    if not {SPECIFICATION, POLICIES} <= shown.keys():
        return
    fewer = min((POLICIES, SPECIFICATION), key=lambda layout: len(shown[layout]))
    if shown[fewer][0] is subject.document:
        message = (
            f"the folder mixes two layouts: {count_noun(len(shown[SPECIFICATION]), 'document')} of the "
            "specification's (thresholds, tasks with metrics) and "
            f"{count_noun(len(shown[POLICIES]), 'document')} of the later one (policies, models)"
        )
        yield EVG206.violation(message, pointer="")


def check_schema_name(path: str, *, is_nested: bool) -> Iterator[Violation]:
    """Report a schema whose file, or the folder that it is in, is not named as section 6.2 asks.

    `is_nested` says that it is below the named folder, so that its own folder is part of the layout.
    """
    folder, name = os.path.split(path)
    if not _FILE.fullmatch(name):
        message = "the file of a schema is named {type}.schema.yaml"
        yield EVG208.violation(message, found=name)
    if is_nested and not _VERSION.fullmatch(os.path.basename(folder)):
        message = "the folder of a schema is named after its version, v{major} or v{major}.{minor}"
        yield EVG208.violation(message, found=os.path.basename(folder))


EVG206: Final = Rule(
    "EVG206",
    "mixed-layouts",
    Severity.WARNING,
    "the folder has documents of both layouts of EvalGuard's v1",
    record=_check_mixed,
)

EVG208: Final = Rule(
    "EVG208",
    "schema-file-name",
    Severity.WARNING,
    "the file of a schema, or its folder, is not named as the specification asks",
)
