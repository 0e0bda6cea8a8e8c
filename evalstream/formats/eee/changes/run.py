"""The migration or the repair of one run: its aggregate, its rows, and their seal."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

from evalstream.engine.block_rewriting import BlockRewriter, RewrittenBlock
from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import DETAILS, Aggregate
from evalstream.formats.eee.catalogue import describe_unknown_seal
from evalstream.formats.eee.changes.aggregate import (
    SEALED,
    AggregateMigration,
    NewSeal,
    Source,
    parsed_aggregate,
)
from evalstream.formats.eee.changes.inline_samples import InlineSamples
from evalstream.formats.eee.changes.moves import AggregateRefused
from evalstream.formats.eee.changes.places import aggregate_repair_place
from evalstream.formats.eee.changes.row_rewriter import RowRepairs, RowRewriter
from evalstream.formats.eee.changes.rows import RowMigration, read_evaluation_id
from evalstream.formats.eee.changes.supplied import FILE_PATH, SEAL, Supplied, supplied_from
from evalstream.formats.eee.datastore import TargetPlace, new_name, path_to_declare, read_collection
from evalstream.formats.eee.versions import TARGETS
from evalstream.model.changes import DIGEST, MARK_REMOVED, Applied, ChangeKind, Need, make_applied
from evalstream.model.errors import UsageError
from evalstream.model.text import ALGORITHM_OF_LENGTH, describe_unknown
from evalstream.parsing.json import UTF8_MARK, shorten, text_or_none
from evalstream.parsing.json_edit import set_members
from evalstream.parsing.json_tree import Splices
from evalstream.parsing.json_values import is_number
from evalstream.parsing.reshape import reshape
from evalstream.rules.base import RepairAction

SEALED_ELSEWHERE: Final = (
    "the aggregate lists samples itself and seals a file of rows (checksum), which is not there"
)

HASH_RULES: Final = ("ES401", "ES403", "ES404", "ES405")
"""The rules that compare sample_hash with the input, or say that it cannot be."""


def bind_migration(target: str, values: Mapping[str, Any]) -> partial[EeeMigration]:
    """Return what begins migrations to a version, with values of options. Raises UsageError."""
    supplied = supplied_from(values)
    if target not in TARGETS:
        raise UsageError(describe_unknown("version", target, TARGETS))
    return partial(EeeMigration, target=target, supplied=supplied)


class EeeMigration(AggregateMigration):
    """The migration of one run.

    `refusal` says why the run belongs nowhere. Raises ValueError for an aggregate that cannot be
    migrated.
    """

    def __init__(self, text: bytes, path: str, target: str, supplied: Supplied) -> None:
        super().__init__(text, target, supplied)
        collection = supplied.find_collection(path) or read_collection(path)
        if collection is None:
            need = Need("the collection is not known from the path", "--collection NAME")
            self.needs = (*self.needs, need)
        place = None if collection is None else self.place(collection)
        self.refusal = place if isinstance(place, str) else None
        self._place = place if isinstance(place, TargetPlace) else None

    @property
    def algorithms(self) -> Sequence[str]:
        """The algorithms of the digests of the source that its seal needs."""
        return needed_algorithms(self._document)

    @property
    def hidden_rules(self) -> Sequence[str]:
        """The rules whose findings the migration would hide: those about what is hashed again."""
        return HASH_RULES if self._supplied.rehash else ()

    def rewriter(self, first: bytes) -> BlockRewriter:
        """Return what migrates blocks of rows, whose first line is given."""
        return RowRewriter(
            RowMigration(
                self._target,
                self.evaluation_id,
                self.result_ids,
                self._supplied.decisions,
                self._supplied.rehash,
                read_evaluation_id(first),
            )
        )

    def inline_rows(self) -> RewrittenBlock | None:
        """Return rows made of the samples that the aggregate lists, None if it lists none.

        Raises ValueError where they cannot be rows.
        """
        if self.inline_samples is None:
            return None
        made = InlineSamples(self, self._target, self._supplied.decisions).rows()
        if self._document.claim("checksum") is not None:
            raise AggregateRefused(SEALED_ELSEWHERE)
        wrong = _wrong_total(self._document, made.rows)
        if wrong is not None:
            raise AggregateRefused(wrong)
        return made

    def wrong_seal(self, digests: Mapping[str, Mapping[str, str]], rows: int) -> str | None:
        """Return why the source's own seal is wrong, None if it is right or says nothing."""
        return wrong_seal(self._document, digests, rows)

    def name(self, aggregate: str, rows: str | None) -> str:
        """Return the name of the result, from the SHA-256 of the source's files."""
        return new_name(aggregate, rows, self._target)

    def paths(self, name: str) -> tuple[str, str]:
        """Return the paths of the aggregate and the rows of that name, relative to the target."""
        if self._place is None:
            raise ValueError("the run belongs nowhere")
        return self._place.aggregate(name), self._place.rows(name)

    def aggregate(
        self, source: str, sha256: str, rows_sha256: str | None, seal: tuple[str, str, int] | None
    ) -> tuple[bytes, list[Applied]]:
        """Return the text of the new aggregate, and the changes in it.

        `source` is the name of the old file; `seal` has the path of the new rows, their SHA-256 and
        their number. Raises ValueError.
        """
        # A seal of the source is right: `wrong_seal` has compared it.
        has_seal = None not in (self._document.checksum, self._document.claim("total_rows"))
        origin = Source(source, sha256, rows_sha256, None if seal is None else has_seal)
        return self.migrate(origin, None if seal is None else NewSeal(*seal))

    @cached_property
    def _document(self) -> Aggregate:
        return Aggregate(json.loads(self.text))


def wrong_seal(
    aggregate: Aggregate, digests: Mapping[str, Mapping[str, str]], rows: int
) -> str | None:
    """Return why the seal of some rows is wrong, None if it is right or says nothing.

    `digests` are those of the rows, by what they cover and by algorithm. A new seal would hide what
    is wrong here.
    """
    return (
        describe_unknown_seal(aggregate)
        or _wrong_checksum(aggregate, digests)
        or _wrong_total(aggregate, rows)
    )


def needed_algorithms(aggregate: Aggregate) -> tuple[str, ...]:
    """Return the algorithms of the digests that a seal is compared with, and that of a new one."""
    return tuple(dict.fromkeys(("sha256", *aggregate.checksum_algorithms)))


def _wrong_checksum(aggregate: Aggregate, digests: Mapping[str, Mapping[str, str]]) -> str | None:
    if aggregate.claim("checksum") is None:
        return None
    checksum = aggregate.checksum
    if checksum is None:
        return "the declared checksum is not a digest (ES502), so that the rows may have changed"
    by_length = ALGORITHM_OF_LENGTH[len(checksum)]
    algorithm = aggregate.hash_algorithm or by_length
    if any(of_bytes.get(algorithm) == checksum for of_bytes in digests.values()):
        return None
    if any(of_bytes.get(by_length) == checksum for of_bytes in digests.values()):
        return (
            f"the declared checksum is the {by_length} of the rows, but hash_algorithm is "
            f"{algorithm} (ES501); `evalstream seal` writes both anew"
        )
    return "the declared checksum is not that of the rows (ES501), which were changed"


def _wrong_total(aggregate: Aggregate, rows: int) -> str | None:
    total = aggregate.claim("total_rows")
    if total is None or (is_number(total) and total == rows):
        return None
    shown = json.dumps(shorten(total)) if is_number(total) else "not a number"
    return f"total_rows is {shown}, but the number of rows is {rows:,} (ES503)"


class EeeRepair:
    """The repair of one run, whose aggregate was read, if it has one.

    `actions` are those of the rules whose findings are mended. The aggregate is repaired once.
    Raises ValueError for one that cannot be read.
    """

    def __init__(self, text: bytes | None, actions: Collection[RepairAction]) -> None:
        self._text, self._actions = text, frozenset(actions)
        self._document: Aggregate | None = None
        if text is not None:
            self._splices = Splices(*parsed_aggregate(text.removeprefix(UTF8_MARK)))
            self._document = Aggregate(json.loads(text.removeprefix(UTF8_MARK)))

    @property
    def algorithms(self) -> Sequence[str]:
        """The algorithms of the digests that the seal needs."""
        return ("sha256",) if self._document is None else needed_algorithms(self._document)

    def rewriter(self, version: str | None, first: bytes) -> BlockRewriter:
        """Return what repairs blocks of rows, whose first line is given.

        `version` is the one that most of them follow.
        """
        aggregate = self._document
        known = versions.nearest_version(version or "", instance=True)
        sets_id = aggregate is not None and RepairAction.WRITE_EVALUATION_ID in self._actions
        evaluation_id = aggregate.evaluation_id if sets_id and aggregate is not None else None
        return RowRewriter(
            RowRepairs(known, self._actions, evaluation_id, read_evaluation_id(first))
        )

    def wrong_seal(self, digests: Mapping[str, Mapping[str, str]], rows: int) -> str | None:
        """Return why the seal of the source is wrong, None if it is right or says nothing."""
        return None if self._document is None else wrong_seal(self._document, digests, rows)

    def aggregate(
        self, rows: tuple[str, str] | None, digests: Mapping[str, str] | None, count: int
    ) -> tuple[bytes, list[Applied]] | None:
        """Return the text of the repaired aggregate and the changes in it, None without one.

        `rows` are the paths of the rows and the aggregate, `digests` those of the repaired rows by
        algorithm, if rows were repaired, and `count` is their number. Raises ValueError.
        """
        if self._text is None or self._document is None:
            return None
        text, applied = self._reshape_text(self._text, self._document)
        members: dict[str, Any] = {}
        if self._document.details is not None:
            members |= self._digest(self._document, applied)
            members |= {} if rows is None else self._path(self._document, rows, applied)
            members |= {} if digests is None else self._seal(digests, count, applied)
        return (set_members(text, SEALED, members) if members else text), applied

    def _reshape_text(self, text: bytes, aggregate: Aggregate) -> tuple[bytes, list[Applied]]:
        applied: list[Applied] = []
        if text.startswith(UTF8_MARK) and RepairAction.REMOVE_BYTE_ORDER_MARK in self._actions:
            text = text.removeprefix(UTF8_MARK)
            applied.append(MARK_REMOVED)
        mark = UTF8_MARK if text.startswith(UTF8_MARK) else b""
        version = versions.nearest_version(aggregate.version or "", instance=False)
        applied += reshape(self._splices, aggregate_repair_place(version, self._actions))
        return mark + self._splices.apply().encode(), applied

    def _digest(self, aggregate: Aggregate, applied: list[Applied]) -> dict[str, Any]:
        declared, plain = aggregate.claim("checksum"), aggregate.checksum
        if RepairAction.WRITE_PLAIN_CHECKSUM not in self._actions or plain is None:
            return {}
        members = {}
        if declared != plain:
            members["checksum"] = plain
            applied.append(_change_member(DIGEST, "checksum", declared, plain))
        if aggregate.claim("hash_algorithm") is None:
            members["hash_algorithm"] = ALGORITHM_OF_LENGTH[len(plain)]
            applied.append(_change_member(SEAL, "hash_algorithm", None, members["hash_algorithm"]))
        return members

    def _path(
        self, aggregate: Aggregate, rows: tuple[str, str], applied: list[Applied]
    ) -> dict[str, Any]:
        declared = text_or_none(aggregate.claim("file_path"))
        right = path_to_declare(*rows, aggregate.version)
        if (
            RepairAction.WRITE_ROWS_PATH not in self._actions
            or None in (declared, right)
            or declared == right
        ):
            return {}
        applied.append(_change_member(FILE_PATH, "file_path", declared, right))
        return {"file_path": right}

    def _seal(
        self, digests: Mapping[str, str], count: int, applied: list[Applied]
    ) -> dict[str, Any]:
        """Write what the seal says anew; what it does not say stays away."""
        aggregate, members = self._document, dict[str, Any]()
        if aggregate is None or not digests:
            return members
        algorithms = aggregate.checksum_algorithms
        if aggregate.checksum is not None:
            members["checksum"] = digests[algorithms[0]]
            before = aggregate.claim("checksum")
            applied.append(_change_member(SEAL, "checksum", before, members["checksum"]))
        if aggregate.claim("total_rows") is not None:
            members["total_rows"] = count
        return members


def _change_member(kind: ChangeKind, name: str, before: Any, after: Any) -> Applied:
    written = None if before is None else json.dumps(before)
    return make_applied(kind, f"{DETAILS}/{name}", written, json.dumps(after))
