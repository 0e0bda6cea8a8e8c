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
    """
    What it finds: a file that is cut off or not a zip archive, bytes before or behind the archive,
    members that overlap, a member whose header differs from the central directory, cannot be
    unpacked, or has another size or CRC-32 than declared.

    Why it matters: Inspect's own reader does not compare the CRC-32 of members, so that it shows
    changed samples without a word.

    How to fix: Copy the log again from where it was written. A log that is damaged there must be
    run again: nothing in it proves which bytes are right.

    Bad:
        One byte of a member was changed, its CRC-32 was not.

    Good:
        Every member has the size and the CRC-32 that the directory declares.
    """,
)


INS102: Final = Rule(
    "INS102",
    "unsafe-archive",
    Severity.ERROR,
    "a member of the archive must not be unpacked",
    """
    What it finds: a member whose name leads out of the archive, that is encrypted, that is packed
    with a method that no release of Inspect writes, or that would unpack to more than 2,000 times
    its size (of members above 64 MiB). Such a member is not unpacked.

    Why it matters: it may overwrite other files, or fill the memory, of what unpacks it, and it
    cannot be checked.

    How to fix: Do not unpack the file. Ask for the log as the harness wrote it.

    Bad:
        The archive has a member ../header.json.

    Good:
        The names of all members are those of a log.
    """,
)


INS103: Final = Rule(
    "INS103",
    "repeated-member",
    Severity.ERROR,
    "the archive has several members of one name",
    """
    What it finds: a name that the directory lists more than once; a warning where all of them have
    the same size and CRC-32. The last one is read, as Inspect reads it, and all are unpacked.

    Why it matters: other tools read the first one, so that one file tells two stories.

    How to fix: Write the log again with `inspect log convert`, and compare it with the results
    that were published.

    Bad:
        The archive has two members header.json.

    Good:
        The archive has one member header.json.
    """,
)


INS104: Final = Rule(
    "INS104",
    "unexpected-content",
    Severity.WARNING,
    "the archive holds something that does not belong to a log",
    """
    What it finds: a member that no known layout of a log has; and, as an info, bytes between
    members that belong to none of them. An edit in place leaves such bytes behind: they are an
    earlier header.json, for example.

    Why it matters: nothing checks what such members and bytes say.

    How to fix: Write the log again with `inspect log convert`, which keeps what belongs to it.

    Bad:
        The archive has a member notes.txt.

    Good:
        Every member belongs to the log.
    """,
)


RULES: Final = (INS101, INS102, INS103, INS104)
