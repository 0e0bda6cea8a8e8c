"""The places of an aggregate: what `migrate` and `fix` do with each of its values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final

from evalstream.formats.eee import versions
from evalstream.formats.eee.changes.kinds import VERSION
from evalstream.formats.eee.changes.row_places import only
from evalstream.formats.eee.changes.schema_places import TO_TEXT, SchemaPlaces
from evalstream.model.data_class import replace
from evalstream.parsing.json_tree import JsonType
from evalstream.parsing.reshape import Action, Place
from evalstream.parsing.schema_files import builtin_schema
from evalstream.rules.base import RepairAction

RESULT: Final = ("evaluation_results", "*")
SAMPLE_IDS: Final = (*RESULT, "source_data", "sample_ids", "*")
STEPS: Final = (*RESULT, "generation_config", "generation_args", "eval_plan", "steps", "*")


@lru_cache(maxsize=8)
def aggregate_migration_place(target: str) -> Place:
    """Return the place of an aggregate that is migrated to a version."""
    place = SchemaPlaces(builtin_schema(versions.aggregate_schema_name(target))).root()
    number = Place(
        "/schema_version", dict.fromkeys(JsonType, Action.SET), constant=f'"{target}"', kind=VERSION
    )
    place = replace(place, members={**place.members, "schema_version": number})
    place = _acting(place, SAMPLE_IDS, {JsonType.NUMBER: Action.TEXT})
    return _acting(place, STEPS, TO_TEXT)


@lru_cache(maxsize=32)
def aggregate_repair_place(version: str, repairs: Collection[RepairAction]) -> Place:
    """Return the place of an aggregate of a version, for the repairs that are to be made."""
    return only(
        SchemaPlaces(builtin_schema(versions.aggregate_schema_name(version))).root(), repairs
    )


def _acting(place: Place, path: tuple[str, ...], actions: Mapping[JsonType, Action]) -> Place:
    """Return a place with more actions at a path below it."""
    if not path:
        return replace(place, actions={**place.actions, **actions})
    first, *rest = path
    if first == "*":
        return replace(place, items=_acting(place.items or Place(), tuple(rest), actions))
    inner = _acting(place.members[first], tuple(rest), actions)
    return replace(place, members={**place.members, first: inner})
