"""Migrate one row on the exact path: its metadata keeps what a version has no place for."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from evalstream.formats.eee.changes import places, supplied
from evalstream.formats.eee.row_view import SINGLE_TURN, TRANSCRIPT_KEYS, TRANSCRIPT_TYPES
from evalstream.formats.eee.sample_hash import json_list
from evalstream.formats.eee.versions import ANNOTATION_PREFIX, KNOWN_VERSIONS, OLDEST
from evalstream.model.changes import NULL_DROPPED, Applied, ChangeKind, make_applied
from evalstream.model.data_class import DataClass, field
from evalstream.parsing import json_tree
from evalstream.parsing.json import pointer, resolve, text_or_none
from evalstream.parsing.json_values import fast_or_none
from evalstream.parsing.reshape import Probe, RowPlace, Test, reshape


class RowRefused(ValueError):
    """A row that cannot be changed as asked: the message says why, and what would allow it."""


class RowMigration(DataClass, frozen=True):
    """How the rows of a run are migrated.

    `evaluation_id` is that of the aggregate, None if it has none. `result_ids` has the
    evaluation_result_id for each evaluation_name that exactly one result has. `decisions` are the
    names of the kinds of change that were decided. With `rehash` each sample_hash becomes the
    SHA-256 of the row's input by the recipe json-list. `foreign_id` is the evaluation_id of the
    first row, if it has one: rows that have neither are those of several runs, and get no id.
    """

    target: str
    evaluation_id: str | None = None
    result_ids: Mapping[str, str] = field(default_factory=dict)
    decisions: Collection[str] = frozenset()
    rehash: bool = False
    foreign_id: str | None = None

    def place(self) -> RowPlace:
        """Return the places of the rows; the exact path takes those that get an id or a hash."""
        # Where the first row has the right id, no row may have another one.
        is_decided = supplied.EVALUATION_ID.name in self.decisions
        sets_id = is_decided and self.foreign_id != self.evaluation_id
        place = places.migration_place(
            self.target, self.evaluation_id, sets_id=sets_id, keeps_hash=not self.rehash
        )
        exact = place.exact
        if sets_id and self.evaluation_id is not None and self.foreign_id is not None:
            exact += (places.other_ids(self.evaluation_id, self.foreign_id),)
        if self.rehash:
            exact += ((Probe("sample_hash", Test.PRESENT),),)
        if supplied.RESULT_ID.name in self.decisions:
            unset = Probe("evaluation_result_id", Test.UNSET)
            exact += tuple(
                (unset, Probe("evaluation_name", Test.EQUALS, name)) for name in self.result_ids
            )
        return place._replace(exact=exact)


class RowMigrator:
    """Migrates rows on the exact path."""

    def __init__(self, migration: RowMigration) -> None:
        self._migration = migration
        self._place = migration.place().place

    def rewrite(self, text: str) -> tuple[str, list[Applied]]:
        """Return the text of a row in the new version, and the changes in it.

        Raises RowRefused for a row that the version cannot hold without a decision, and ValueError
        for a text that is not one JSON object.
        """
        row = _Row(text, self._migration)
        row.keep_what_has_no_place(self._place.members)
        row.applied += reshape(row.splices, self._place)
        row.keep_id()
        row.add_result_id()
        row.hash_again()
        row.write_kept()
        return row.splices.apply(), row.applied


class _Row:
    """A row while it is migrated."""

    def __init__(self, text: str, migration: RowMigration) -> None:
        self.tree = json_tree.parse_tree(text)
        if self.tree.type is not json_tree.JsonType.OBJECT:
            raise RowRefused("the line is not a JSON object")
        self.splices = json_tree.Splices(text, self.tree)
        self.applied: list[Applied] = []
        self._kept: dict[str, str] = {}
        self._migration = migration

    def keep_what_has_no_place(self, known: Collection[str]) -> None:
        """Drop members that the new version has no place for; `write_kept` writes them."""
        self._refuse_unknown_version()
        self._refuse_foreign_id()
        self._keep_one_transcript()
        kind = self._text("interaction_type")
        for member in self.tree.members:
            if member.name not in known:
                self._keep(member, supplied.KEPT)
            elif self._is_misplaced(member, kind):
                self._keep(
                    member, supplied.OUTPUT if member.name == "output" else supplied.TRANSCRIPT
                )

    def keep_id(self) -> None:
        """Let `write_kept` write an evaluation_id that was replaced."""
        self._kept |= replaced_id(self.splices, self.applied)

    def add_result_id(self) -> None:
        """Add the id of the result that the row's evaluation_name names, if that is decided."""
        known = self.tree.value("evaluation_result_id")
        name = self._text("evaluation_name")
        found = self._migration.result_ids.get(name or "")
        is_absent = known is None or known.type is json_tree.JsonType.NULL
        if (
            found is None
            or not is_absent
            or supplied.RESULT_ID.name not in self._migration.decisions
        ):
            return
        written = json_tree.encode_string(found, ascii_only=self.splices.ascii_only)
        self.splices.add(self.tree, "evaluation_result_id", written)
        change = make_applied(supplied.RESULT_ID, "/evaluation_result_id", None, written)
        self.applied.append(change)

    def hash_again(self) -> None:
        """Replace the hash of the input, if that is decided and the row has one."""
        known = self.tree.value("sample_hash")
        if not self._migration.rehash or known is None or known.type is not json_tree.JsonType.TEXT:
            return
        raw, references = self.tree.value("input", "raw"), self.tree.value("input", "reference")
        texts = None if references is None else self._texts(references)
        if raw is None or raw.type is not json_tree.JsonType.TEXT or texts is None:
            raise RowRefused("sample_hash cannot be computed: the input is not text")
        digest = hashlib.sha256(json_list(self._decode_string(raw), texts)).hexdigest()
        if self._decode_string(known) != digest:
            before, after = self.splices.of(known), json_tree.quote_text(digest)
            self._kept[f"{supplied.MIGRATED}sample_hash"] = before
            self.splices.replace(known, after)
            self.applied.append(make_applied(supplied.REHASH, "/sample_hash", before, after))

    def write_kept(self) -> None:
        """Add to the metadata what was dropped."""
        keep_in_metadata(self.splices, self._kept)

    def _refuse_unknown_version(self) -> None:
        """Refuse to read a row by the rules of another version than it declares."""
        is_declared = self.tree.value("schema_version") is not None
        if is_declared and self._text("schema_version") not in KNOWN_VERSIONS:
            raise RowRefused("schema_version is not a known version")

    def _refuse_foreign_id(self) -> None:
        wanted, decisions = self._migration.evaluation_id, self._migration.decisions
        if wanted is None:
            return
        if supplied.EVALUATION_ID.name in decisions:
            refuse_another_id(self._text("evaluation_id"), wanted, self._migration.foreign_id)
            return
        if self._text("evaluation_id") != wanted:
            raise RowRefused(
                "evaluation_id is not that of the aggregate; "
                f"--decide {supplied.EVALUATION_ID.name} writes that of the aggregate"
            )

    def _keep_one_transcript(self) -> None:
        """Keep the transcript of the row's own version, where the row has two."""
        members = [self.tree.member(name) for name in TRANSCRIPT_KEYS]
        if None in members:
            return
        version = self._text("schema_version") or ""
        is_old = version.removeprefix(ANNOTATION_PREFIX) in OLDEST
        own, other = (
            (places.OLD_TRANSCRIPT, places.NEW_TRANSCRIPT)
            if is_old
            else (places.NEW_TRANSCRIPT, places.OLD_TRANSCRIPT)
        )
        if self._is_set(own) and self._is_set(other):
            (member,) = (one for one in members if one is not None and one.name == other)
            self._keep(member, supplied.TRANSCRIPT)
            return
        empty = other if self._is_set(own) or not self._is_set(other) else own
        self.splices.drop(self.tree, empty)
        self.applied.append(make_applied(NULL_DROPPED, f"/{empty}", "null", None))

    def _is_set(self, name: str) -> bool:
        value = self.tree.value(name)
        return value is not None and value.type is not json_tree.JsonType.NULL

    def _is_misplaced(self, member: json_tree.JsonMember, kind: str | None) -> bool:
        """Tell whether a row of its type has no place for a member."""
        if member.value.type is json_tree.JsonType.NULL or self.splices.is_dropped(
            self.tree, member.name
        ):
            return False
        names = TRANSCRIPT_KEYS if kind == SINGLE_TURN else ("output",)
        return kind in {SINGLE_TURN, *TRANSCRIPT_TYPES} and member.name in names

    def _keep(self, member: json_tree.JsonMember, kind: ChangeKind) -> None:
        """Drop a member, to be kept as text in the metadata. Raises RowRefused if undecided."""
        if kind is not supplied.KEPT and kind.name not in self._migration.decisions:
            raise RowRefused(f"{_MISPLACED[kind]}; --decide {kind.name} keeps it in metadata")
        before = self.splices.of(member.value)
        after = self.splices.as_text(member.value)
        self._kept[supplied.MIGRATED + member.name] = after
        self.splices.drop(self.tree, member.name)
        place = "/*" if kind is supplied.KEPT else f"/{member.name}"
        self.applied.append(make_applied(kind, pointer((member.name,)), before, after, place))

    def _text(self, name: str) -> str | None:
        return json_tree.read_string(self.splices.text, self.tree.value(name))

    def _texts(self, references: json_tree.Node) -> list[str] | None:
        """Return the references of an input, None if they are not text."""
        nodes = references.items if references.type is json_tree.JsonType.LIST else [references]
        if any(node.type is not json_tree.JsonType.TEXT for node in nodes):
            return None
        return [self._decode_string(node) for node in nodes]

    def _decode_string(self, node: json_tree.Node) -> str:
        return json_tree.decode_string(self.splices.text, node)


def replaced_id(splices: json_tree.Splices, applied: Iterable[Applied]) -> dict[str, str]:
    """Return the member of the metadata that keeps a replaced evaluation_id, if there is any."""
    node = splices.tree.value("evaluation_id")
    is_replaced = any(one.change.kind == supplied.EVALUATION_ID for one in applied)
    if node is None or not is_replaced or node.type is json_tree.JsonType.NULL:
        return {}
    return {places.KEPT_ID: splices.as_text(node)}


def keep_in_metadata(splices: json_tree.Splices, kept: Mapping[str, str]) -> None:
    """Add texts to the metadata of a row. Raises RowRefused where there is no room for them."""
    if not kept:
        return
    tree = splices.tree
    metadata = tree.value(places.METADATA)
    if metadata is None or splices.is_dropped(tree, places.METADATA):
        splices.add_object(tree, places.METADATA, kept)
    elif metadata.type is json_tree.JsonType.NULL:
        splices.replace(metadata, splices.object_text(tree, kept))
    elif metadata.type is json_tree.JsonType.OBJECT:
        for name, value in kept.items():
            if metadata.member(name) is not None:
                raise RowRefused(f"metadata already has a member {name}")
            splices.add(metadata, name, value)
    else:
        raise RowRefused("metadata is not an object, so that it cannot keep other members")


def read_evaluation_id(line: bytes) -> str | None:
    """Return the evaluation_id of a row, None for none and for a line that is not a row."""
    return text_or_none(resolve(fast_or_none(line), ("evaluation_id",)))


def refuse_another_id(found: str | None, wanted: str, foreign: str | None) -> None:
    """Raise RowRefused for an evaluation_id of a third run, which must not get that of another."""
    if foreign is not None and found not in {wanted, foreign}:
        raise RowRefused(
            "evaluation_id is neither that of the aggregate nor that of the first row; rows of "
            "several runs cannot get one id"
        )


_MISPLACED: Final = {
    supplied.OUTPUT: "a row with a transcript has an output as well",
    supplied.TRANSCRIPT: "a single-turn row has a transcript, or a row has two",
}
