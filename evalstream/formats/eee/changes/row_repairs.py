"""Repair one row on the exact path: its version stays, and so does every other byte."""

from __future__ import annotations

from collections.abc import Collection

from evalstream.formats.eee.changes.kept_values import keep_in_metadata, replaced_id
from evalstream.formats.eee.changes.row_places import other_ids, repair_place
from evalstream.formats.eee.changes.rows import refuse_another_id
from evalstream.formats.eee.versions import ANNOTATION_PREFIX, KNOWN_VERSIONS, nearest_version
from evalstream.model.changes import Applied
from evalstream.model.data_class import DataClass
from evalstream.parsing.json_tree import JsonType, Node, Splices, decode_string, parse_tree
from evalstream.parsing.reshape import Place, RowPlace, reshape
from evalstream.rules.base import RepairAction


class RowRepairs(DataClass, frozen=True):
    """How the rows of a run are repaired.

    `version` is the one that most rows follow, and that rows without a version are repaired by;
    those of unknown versions are repaired by the nearest one, as they are checked. `actions` are
    those of the rules whose findings are mended. With `evaluation_id` each row gets that id,
    provided that its own is that of the first row, `foreign_id`, if that has one.
    """

    version: str
    actions: Collection[RepairAction]
    evaluation_id: str | None = None
    foreign_id: str | None = None

    def place(self) -> RowPlace:
        """Return the places of the rows of its version; the exact path takes the others."""
        place = repair_place(self.version, self.actions, self.evaluation_id)
        if self.evaluation_id is None or self.foreign_id is None:
            return place
        return place._replace(exact=(*place.exact, other_ids(self.evaluation_id, self.foreign_id)))


class RowRepairer:
    """Repairs rows on the exact path."""

    def __init__(self, repairs: RowRepairs) -> None:
        self._repairs = repairs
        self._places: dict[tuple[str, bool], Place] = {}

    def rewrite(self, text: str) -> tuple[str, list[Applied]]:
        """Return the text of a repaired row, and the changes in it.

        Raises ValueError for a text that is not one JSON object, and for a row of a third run.
        """
        tree = parse_tree(text)
        if tree.type is not JsonType.OBJECT:
            raise ValueError("the line is not a JSON object")
        self._refuse_another_id(text, tree)
        splices = Splices(text, tree)
        applied = reshape(splices, self._place(*self._version(text, tree)))
        keep_in_metadata(splices, replaced_id(splices, applied))
        return splices.apply(), applied

    def _refuse_another_id(self, text: str, tree: Node) -> None:
        wanted = self._repairs.evaluation_id
        if wanted is None:
            return
        node = tree.value("evaluation_id")
        is_text = node is not None and node.type is JsonType.TEXT
        found = decode_string(text, node) if is_text and node is not None else None
        refuse_another_id(found, wanted, self._repairs.foreign_id)

    def _version(self, text: str, tree: Node) -> tuple[str, bool]:
        """Return the version that a row is checked by, and whether it is in annotation form."""
        declared = tree.value("schema_version")
        if declared is None or declared.type is not JsonType.TEXT:
            return self._repairs.version, False
        version = decode_string(text, declared)
        nearest = nearest_version(version, instance=True)
        # A variant of the declared number has been recognised by the other rows.
        if self._repairs.version.partition("+")[0] == nearest:
            nearest = self._repairs.version
        return nearest, version in KNOWN_VERSIONS and version.startswith(ANNOTATION_PREFIX)

    def _place(self, version: str, annotated: bool) -> Place:
        known = self._places.get((version, annotated))
        if known is None:
            actions, evaluation_id = self._repairs.actions, self._repairs.evaluation_id
            known = repair_place(version, actions, evaluation_id, annotated=annotated).place
            self._places[version, annotated] = known
        return known
