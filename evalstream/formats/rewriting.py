"""The protocols of what a format offers for runs that are rewritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from evalstream.engine.block_rewriting import BlockRewriter, RewrittenBlock
from evalstream.model.changes import Applied, Need


class RunMigration(Protocol):
    """The migration of one run, whose aggregate was read.

    `needs` is what the aggregate lacks and what is not supplied, `refusal` why the run belongs
    nowhere in a datastore.
    """

    needs: tuple[Need, ...]
    refusal: str | None

    @property
    def is_migrated(self) -> bool:
        """Whether the run is the result of such a migration."""

    @property
    def algorithms(self) -> Sequence[str]:
        """The algorithms of the digests of the source that its seal needs."""

    @property
    def hidden_rules(self) -> Sequence[str]:
        """The codes of rules whose findings in the source the migration would hide."""

    def rewriter(self, first: bytes) -> BlockRewriter:
        """Return what migrates blocks of rows, whose first line is given."""

    def inline_rows(self) -> RewrittenBlock | None:
        """Return rows made of samples that the aggregate lists, None without. Raises ValueError."""

    def wrong_seal(self, digests: Mapping[str, Mapping[str, str]], rows: int) -> str | None:
        """Return why the seal of the source is wrong, None if it is right or says nothing."""

    def name(self, aggregate: str, rows: str | None) -> str:
        """Return the name of the result, from the SHA-256 of the source's files."""

    def paths(self, name: str) -> tuple[str, str]:
        """Return the paths of the new aggregate and rows, relative to the target."""

    def aggregate(
        self, source: str, sha256: str, rows_sha256: str | None, seal: tuple[str, str, int] | None
    ) -> tuple[bytes, list[Applied]]:
        """Return the text of the new aggregate, and the changes in it. Raises ValueError."""


class RunRepair(Protocol):
    """The repair of one run, whose aggregate was read, if it has one."""

    @property
    def algorithms(self) -> Sequence[str]:
        """The algorithms of the digests that the seal needs."""

    def rewriter(self, version: str | None, first: bytes) -> BlockRewriter:
        """Return what repairs blocks of rows, whose first line is given.

        `version` is the one that most of them follow.
        """

    def wrong_seal(self, digests: Mapping[str, Mapping[str, str]], rows: int) -> str | None:
        """Return why the seal of the source is wrong, None if it is right or says nothing."""

    def aggregate(
        self, rows: tuple[str, str] | None, digests: Mapping[str, str] | None, count: int
    ) -> tuple[bytes, list[Applied]] | None:
        """Return the text of the repaired aggregate and the changes in it, None without one.

        `rows` are the paths of the rows and the aggregate, `digests` those of the repaired rows by
        algorithm, if rows were repaired, and `count` is their number. Raises ValueError.
        """


Migrator = Callable[[bytes, str], RunMigration]
"""Begins with an aggregate, given by its text and its path. Raises ValueError."""
