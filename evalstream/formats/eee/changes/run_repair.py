"""The repair of one run: its rows and its aggregate keep their version and what they say."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from evalstream.engine.block_rewriting import BlockRewriter
from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import DETAILS, Aggregate
from evalstream.formats.eee.changes.aggregate import SEALED, parsed_aggregate
from evalstream.formats.eee.changes.kinds import FILE_PATH, SEAL
from evalstream.formats.eee.changes.places import aggregate_repair_place
from evalstream.formats.eee.changes.row_rewriter import RowRepairs, RowRewriter
from evalstream.formats.eee.changes.rows import read_evaluation_id
from evalstream.formats.eee.changes.run_migration import needed_algorithms, wrong_seal
from evalstream.formats.eee.datastore import path_to_declare
from evalstream.model.changes import DIGEST, MARK_REMOVED, Applied, ChangeKind, make_applied
from evalstream.model.text import ALGORITHM_OF_LENGTH
from evalstream.parsing.json import UTF8_MARK, text_or_none
from evalstream.parsing.json_edit import set_members
from evalstream.parsing.json_tree import Splices
from evalstream.parsing.reshape import reshape
from evalstream.rules.base import RepairAction


class EeeRepair:
    """The repair of one run, whose aggregate was read, if it has one.

    `actions` are those of the rules whose findings are mended. Raises ValueError for an aggregate
    that cannot be read.
    """

    def __init__(self, text: bytes | None, actions: Collection[RepairAction]) -> None:
        self._text, self._actions = text, frozenset(actions)
        self._document: Aggregate | None = None
        if text is not None:
            parsed_aggregate(text.removeprefix(UTF8_MARK))
            document: Any = json.loads(text.removeprefix(UTF8_MARK))
            self._document = Aggregate("", document)

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
        characters, tree = parsed_aggregate(text.removeprefix(UTF8_MARK))
        version = versions.nearest_version(aggregate.version or "", instance=False)
        splices = Splices(characters, tree)
        applied += reshape(splices, aggregate_repair_place(version, self._actions))
        return mark + splices.apply().encode(), applied

    def _digest(self, aggregate: Aggregate, applied: list[Applied]) -> dict[str, Any]:
        """Write a checksum in the plain form, with its algorithm."""
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
        """Write a path that names the rows."""
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
