"""INS1: rules about the archive of a log, which the reader of the archive reports."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Severity
from evalstream.rules.base import Rule

INS101: Final = Rule(
    "INS101",
    "damaged-archive",
    Severity.ERROR,
    "the archive of a log, or one of its members, is not what its directory declares",
)


INS102: Final = Rule(
    "INS102", "unsafe-archive", Severity.ERROR, "a member of the archive must not be unpacked"
)


INS103: Final = Rule(
    "INS103", "repeated-member", Severity.ERROR, "the archive has several members of one name"
)


INS104: Final = Rule(
    "INS104",
    "unexpected-content",
    Severity.WARNING,
    "the archive holds something that does not belong to a log",
)


RULES: Final = (INS101, INS102, INS103, INS104)
