"""Where things lie that tests read: in the checkout, and beside it."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SUPPORT = TESTS / "support"
REPOSITORY = TESTS.parent
EXAMPLES = REPOSITORY / "examples"
SCHEMAS = REPOSITORY / "schemas"

PAIRS = TESTS / "pairs"
"""Sound runs in the layout of a datastore, a folder for each version of the format."""

FINDINGS = TESTS / "rules" / "findings"
"""What is found in the bad example of each rule's page, by its code."""

TRANSCRIPTS = TESTS / "transcripts"
"""Scenarios of the command line: commands, what they print, their exit codes."""

SHARED = REPOSITORY.parent / "shared"
"""The corpus and the reference schemas, which are not kept in the repository."""

CORPUS_PAIRS = TESTS / "corpus" / "pairs"
"""The pairs of our own corpus that converters wrote, a folder each."""

CORPUS_LOGS = TESTS / "corpus" / "logs"
"""Logs of both harnesses."""
