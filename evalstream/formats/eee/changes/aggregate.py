"""Migrate an aggregate: what a version demands, and where its other values go."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from evalstream._version import __version__
from evalstream.formats.eee import versions
from evalstream.formats.eee.changes import moves
from evalstream.formats.eee.changes.places import aggregate_migration_place
from evalstream.formats.eee.changes.supplied import (
    ALGORITHM,
    DEVELOPER,
    FILE_PATH,
    MOVED,
    PROVENANCE,
    SEAL,
    Supplied,
)
from evalstream.formats.eee.datastore import (
    TargetPlace,
    Unaddressable,
    derive_address,
    place_for,
    read_uuid,
)
from evalstream.model.changes import MARK_REMOVED, Applied, Need, make_applied
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.parsing.json import UTF8_MARK, pointer
from evalstream.parsing.json_tree import (
    JsonMember,
    JsonType,
    Node,
    Splices,
    encode_string,
    parse_tree,
    read_string,
)
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.parsing.limits import TooLarge, refuse_many_values
from evalstream.parsing.reshape import reshape

SEALED: Final = "detailed_evaluation_results"
INLINE: Final = "detailed_evaluation_results_per_samples"
DETAILS: Final = ("source_metadata", "additional_details")
MIGRATED_FROM: Final = "migrated_from"


class NewSeal(NamedTuple):
    """The seal of the new rows: their path, their SHA-256, and how many they are."""

    file_path: str
    checksum: str
    total_rows: int


class Source(NamedTuple):
    """Where a migrated aggregate came from: its name, and the SHA-256 of its files.

    `sealed` tells whether it had a seal that is that of its rows; None where it has no rows.
    """

    name: str
    sha256: str
    rows_sha256: str | None = None
    sealed: bool | None = None


class AggregateMigration:
    """The migration of one aggregate to a version.

    `needs` is what the aggregate lacks and what is not supplied. Raises AggregateRefused for a text
    that is not an aggregate of a known version up to the target.
    """

    def __init__(self, text: bytes, target: str, supplied: Supplied) -> None:
        self._target, self._supplied = target, supplied
        self._has_mark = text.startswith(UTF8_MARK)
        self.text, self._tree = parsed_aggregate(text.removeprefix(UTF8_MARK))
        self.version = self._version()
        self._splices = Splices(self.text, self._tree)
        self._additions, self._applied = moves.Additions(self._splices), list[Applied]()
        self.needs = self._change()

    @property
    def evaluation_id(self) -> str | None:
        """The id that rows must have."""
        return self._string("evaluation_id")

    @property
    def model_id(self) -> str | None:
        """The id of the model."""
        return self._string("model_info", "id")

    @property
    def is_migrated(self) -> bool:
        """Whether it is the result of a migration to this version."""
        details = moves.value_at(self._tree, DETAILS)
        has_source = details is not None and details.member(MIGRATED_FROM) is not None
        return has_source and self.version == self._target

    @cached_property
    def result_ids(self) -> Mapping[str, str]:
        """The evaluation_result_id for each evaluation_name that exactly one result has."""
        names: Counter[str] = Counter()
        ids: dict[str, str] = {}
        for result in self.results():
            name, own = (self.read_string(result, key) for key in _JOINING)
            names[name or ""] += 1
            if name and own:
                ids[name] = own
        return {name: own for name, own in ids.items() if names[name] == 1}

    @property
    def inline_samples(self) -> Node | None:
        """The samples that it lists itself, None if it lists none."""
        samples = self._tree.value(INLINE)
        is_list = samples is not None and samples.type is JsonType.LIST and bool(samples.items)
        return samples if is_list else None

    def place(self, collection: str) -> TargetPlace | str:
        """Return where the run belongs in a collection, or why it belongs nowhere."""
        model = self.model_id
        if model is None:
            return "model_info.id is not text"
        own, supplied = self._string("model_info", "developer"), self._new_developer()
        return place_for(collection, model, supplied or own)

    def migrate(self, source: Source, seal: NewSeal | None) -> tuple[bytes, list[Applied]]:
        """Return the text in the new version, and the changes in it; call this once.

        Raises AggregateRefused where the version has no place for what it says.
        """
        applied = self._applied
        self._set_source(applied, source)
        if seal is not None:
            self._set_seal(applied, seal)
        text = self._additions.write().encode()
        if self._has_mark:
            applied.insert(0, MARK_REMOVED)
        return text, applied

    def _change(self) -> tuple[Need, ...]:
        """Make all changes but those that depend on the rows; return what is missing."""
        splices, additions, applied = self._splices, self._additions, self._applied
        place = aggregate_migration_place(self._target)
        needs = list(moves.move_old_members(splices, additions, applied, place, self._supplied))
        self._keep_unknown(place.members)
        applied += reshape(splices, place)
        required = moves.Required(splices, additions, self._supplied)
        required.see_to_all()
        applied += required.applied
        self._set_developer()
        additions.check()
        return (*needs, *required.needs)

    def _keep_unknown(self, known: Mapping[str, Any]) -> None:
        """Move members that closed objects of the version do not know to additional details."""
        if self.inline_samples is not None:
            self._splices.drop(self._tree, INLINE)
            self._applied.append(make_applied(MOVED, f"/{INLINE}", "[…]", None))
        for member in self._tree.members:
            if member.name not in known and not self._splices.is_dropped(self._tree, member.name):
                self._keep_member(self._tree, member, (member.name,), DETAILS)
        for index, result in enumerate(self.results()):
            arguments = result.value("generation_config", "generation_args")
            if arguments is None:
                continue
            inner = known["evaluation_results"].items.members["generation_config"]
            names = inner.members["generation_args"].members
            config = ("evaluation_results", index, "generation_config")
            for member in arguments.members:
                if member.name not in names:
                    where = (*config, "generation_args", member.name)
                    target = (*config, "additional_details")
                    self._keep_member(arguments, member, where, target)

    def _keep_member(
        self, holder: Node, member: JsonMember, where: moves.Path, target: moves.Path
    ) -> None:
        """Move a member to an object of texts, under a name that says so."""
        self._applied.append(self._additions.keep(where, member.value, target, is_unknown=True))
        self._splices.drop(holder, member.name)

    def _set_developer(self) -> None:
        supplied = self._new_developer()
        if supplied is None:
            return
        text = encode_string(supplied, ascii_only=self.text.isascii())
        self._additions.set(("model_info",), "developer", text)
        where = ("model_info", "developer")
        before, written = self._tree.value(*where), self._read_written(*where)
        if before is not None and before.type is not JsonType.NULL:
            target = ("model_info", "additional_details")
            self._applied.append(self._additions.keep(where, before, target))
        self._applied.append(make_applied(DEVELOPER, pointer(where), written, text))

    def _new_developer(self) -> str | None:
        """Return the supplied developer of a model whose own gives no folder, else None."""
        model, own = self.model_id or "", self._string("model_info", "developer")
        address = derive_address(model, own)
        if "/" in model or not isinstance(address, Unaddressable) or address.member == "id":
            return None
        return self._supplied.find_developer(model)

    def _set_source(self, applied: list[Applied], source: Source) -> None:
        """Say in the aggregate where it came from; an earlier source stays within."""
        is_md5 = self._string(SEALED, "hash_algorithm") == "md5"
        origin: dict[str, Any] = {
            "checksum": self._string(SEALED, "checksum") if is_md5 else None,
            "file_path": self._string(SEALED, "file_path"),
            "name": source.name,
            "rows_sha256": source.rows_sha256,
            "sealed": source.sealed,
            "sha256": source.sha256,
            "tool": f"evalstream {__version__}",
            "uuid": read_uuid(source.name),
            "version": self.version,
        }
        earlier = self._tree.value(*DETAILS, MIGRATED_FROM)
        if earlier is not None and earlier.type is not JsonType.NULL:
            origin[MIGRATED_FROM] = json.loads(self._splices.as_text(earlier))
        known = {key: value for key, value in origin.items() if value is not None}
        text = json.dumps(json.dumps(known, sort_keys=True))
        self._additions.set(DETAILS, MIGRATED_FROM, text)
        where = pointer((*DETAILS, MIGRATED_FROM))
        before = self._read_written(*DETAILS, MIGRATED_FROM)
        applied.append(make_applied(PROVENANCE, where, before, text))

    def _set_seal(self, applied: list[Applied], seal: NewSeal) -> None:
        """Set the seal of the new rows; a member of the same value keeps its spelling."""
        members = {
            "format": "jsonl",
            "file_path": seal.file_path,
            "hash_algorithm": "sha256",
            "checksum": seal.checksum,
            "total_rows": seal.total_rows,
        }
        is_md5 = self._string(SEALED, "hash_algorithm") == "md5"
        kinds = {"file_path": FILE_PATH, "hash_algorithm": ALGORITHM if is_md5 else SEAL}
        for name, value in members.items():
            where = f"/{SEALED}/{name}"
            before, after = self._read_written(SEALED, name), json.dumps(value)
            if before != after:
                applied.append(make_applied(kinds.get(name, SEAL), where, before, after))
            known = None if before is None else json.loads(before)
            if isinstance(known, bool) or known != value:
                written = json.dumps(value, ensure_ascii=self._splices.ascii_only)
                self._additions.set((SEALED,), name, written)

    def _version(self) -> str:
        declared = self._string("schema_version")
        if declared is None:
            raise moves.AggregateRefused("schema_version is missing")
        number = declared.removeprefix(versions.ANNOTATION_PREFIX)
        if number not in versions.DECLARED:
            known = ", ".join(versions.DECLARED)
            name = f"version {declared}" if _VERSION.fullmatch(declared) else "schema_version"
            raise moves.AggregateRefused(f"{name} is not known; known are {known}")
        if versions.DECLARED.index(number) > versions.DECLARED.index(self._target):
            raise moves.AggregateRefused(f"version {number} is newer than {self._target}")
        return number

    def results(self) -> Iterator[Node]:
        """Iterate over its results."""
        results = self._tree.value("evaluation_results")
        return iter(() if results is None else results.items)

    def read_string(self, node: Node, name: str) -> str | None:
        """Return a member of one of its objects, None if it is not text."""
        return read_string(self.text, node.value(name))

    def _string(self, *path: str) -> str | None:
        return read_string(self.text, self._tree.value(*path))

    def _read_written(self, *path: str) -> str | None:
        value = self._tree.value(*path)
        return None if value is None else self.text[value.start : value.end]


_VERSION: Final = LazyPattern(r"v?[0-9]{1,4}(\.[0-9]{1,4}){0,3}")
"""An unknown version that reports may show; other values may be any text."""

_JOINING: Final = ("evaluation_name", "evaluation_result_id")


def parsed_aggregate(text: bytes) -> tuple[str, Node]:
    """Return the text of an aggregate and its tree. Raises AggregateRefused, and CannotCheck."""
    try:
        refuse_many_values(text)
    except TooLarge as error:
        # A check of the result would say so, but only after much time and memory.
        raise CannotCheck(f"the aggregate cannot be read: {error}") from error
    try:
        characters = text.decode()
        tree = parse_tree(characters)
    except ValueError as error:
        raise moves.AggregateRefused(f"the aggregate cannot be read: {error}") from error
    if tree.type is not JsonType.OBJECT:
        raise moves.AggregateRefused("the aggregate is not a JSON object")
    return characters, tree
