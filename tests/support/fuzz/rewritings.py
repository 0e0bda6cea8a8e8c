"""What to do with rows that are rewritten, in many ways."""

import random
from typing import Final

from evalstream.formats.eee import versions
from evalstream.formats.eee.changes.row_rewriter import RowRepairs
from evalstream.formats.eee.changes.rows import RowMigration
from evalstream.formats.eee.changes.supplied import DECISIONS
from evalstream.rules.base import RepairAction
from fuzz.templates import EVALUATION, NAMES

ACTIONS: Final = (
    RepairAction.DROP_NULL,
    RepairAction.WRITE_TEXT,
    RepairAction.WRITE_PLAIN_SAMPLE_HASH,
    RepairAction.WRITE_PLAIN_VERSION,
)


def some_rewriting(chance: random.Random) -> RowMigration | RowRepairs:
    """Return what to do with rows."""
    evaluation_id = chance.choice((None, EVALUATION, EVALUATION, 'another "id" é'))
    if chance.random() < 0.3:
        actions = frozenset(chance.sample(ACTIONS, chance.randrange(1, 5)))
        return RowRepairs(chance.choice(versions.INSTANCE_VERSIONS), actions, evaluation_id)
    return RowMigration(
        chance.choice(("0.2.3", "0.3.0")),
        evaluation_id,
        {name: f"r-{name}" for name in NAMES} if chance.random() < 0.3 else {},
        frozenset(chance.sample(DECISIONS, chance.randrange(len(DECISIONS) + 1))),
        chance.random() < 0.2,
    )
