"""Values of a row that are kept as texts in its metadata, because others take their places."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from evalstream.formats.eee.changes.kinds import EVALUATION_ID, MIGRATED
from evalstream.model.changes import Applied
from evalstream.model.data_class import replace
from evalstream.parsing.json_tree import JsonType, Node, Splices, compact, quote_text
from evalstream.parsing.reshape import Action, Place

METADATA: Final = "metadata"
KEPT_ID: Final = f"{MIGRATED}evaluation_id"


class RowRefused(ValueError):
    """A row that cannot be changed as asked: the message says why, and what would allow it."""


def with_evaluation_id(members: Mapping[str, Place], evaluation_id: str) -> dict[str, Place]:
    """Return the places of members of a row that gets an evaluation_id and keeps its own."""
    own = replace(
        members["evaluation_id"],
        actions=dict.fromkeys(JsonType, Action.SET),
        constant=json.dumps(evaluation_id, ensure_ascii=False),
        kind=EVALUATION_ID,
        is_kept=True,
    )
    metadata = replace(members[METADATA], keeps=json.dumps(KEPT_ID))
    return {**members, "evaluation_id": own, METADATA: metadata}


def replaced_id(splices: Splices, applied: Iterable[Applied]) -> dict[str, str]:
    """Return the member of the metadata that keeps a replaced evaluation_id, if there is any."""
    node = splices.tree.value("evaluation_id")
    is_replaced = any(one.change.kind == EVALUATION_ID for one in applied)
    if node is None or not is_replaced or node.type is JsonType.NULL:
        return {}
    return {KEPT_ID: value_text(splices, node)}


def value_text(splices: Splices, node: Node) -> str:
    """Return a value as a JSON string: a text as it is written, the text of any other value."""
    is_text = node.type is JsonType.TEXT
    return splices.of(node) if is_text else quote_text(compact(splices.text, node))


def keep_in_metadata(splices: Splices, kept: Mapping[str, str]) -> None:
    """Add texts to the metadata of a row. Raises RowRefused where there is no room for them."""
    if not kept:
        return
    tree = splices.tree
    metadata = tree.value(METADATA)
    if metadata is None or splices.is_dropped(tree, METADATA):
        splices.add_object(tree, METADATA, kept)
    elif metadata.type is JsonType.NULL:
        splices.replace(metadata, splices.object_text(tree, kept))
    elif metadata.type is JsonType.OBJECT:
        for name, value in kept.items():
            if metadata.member(name) is not None:
                raise RowRefused(f"metadata already has a member {name}")
            splices.add(metadata, name, value)
    else:
        raise RowRefused("metadata is not an object, so that it cannot keep other members")
