"""Members that are added to an aggregate: those of 0.1.0 that moved, and required ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.formats.eee.changes.supplied import (
    AVAILABILITIES,
    DATASET,
    DEPLOYMENT,
    DEPLOYMENT_TYPES,
    KEPT,
    LIBRARY,
    MIGRATED,
    MOVED,
    Supplied,
)
from evalstream.model.changes import Applied, ChangeKind, Need, make_applied
from evalstream.parsing.json import pointer
from evalstream.parsing.json_tree import (
    JsonType,
    Node,
    Splices,
    encode_string,
    parse_tree,
    read_string,
)
from evalstream.parsing.reshape import Place, reshape

Path = tuple[str | int, ...]

MISSING: Final = "is missing or not an object"


class AggregateRefused(ValueError):
    """An aggregate that cannot be changed as asked; the message says why."""


class Additions:
    """Collects members by the path of their object; they are written all at once.

    Each object that gets members is written once, so that it exists only once.
    """

    def __init__(self, splices: Splices) -> None:
        self._splices = splices
        self._members: dict[Path, dict[str, str]] = {}

    def set(self, path: Path, name: str, value: str) -> None:
        """Give an object a member with a JSON text, in place of one of that name."""
        self._members.setdefault(path, {})[name] = value

    def keep(self, where: Path, value: Node, target: Path, *, is_unknown: bool = False) -> Applied:
        """Keep the value at a path as a text of an object, and return that change.

        The pattern of the change names the member unless that `is_unknown` to the version. Raises
        AggregateRefused if the object has a member of that name.
        """
        name, holder = MIGRATED + str(where[-1]), value_at(self._splices.tree, target)
        has_it = holder is not None and holder.member(name) is not None
        if has_it or name in self._members.get(target, {}):
            raise AggregateRefused(f"{pointer(target)} already has a member {name}")
        before, after = self._splices.of(value), self._splices.as_text(value)
        self.set(target, name, after)
        pattern = path_pattern((*where[:-1], 0) if is_unknown else where)
        return make_applied(KEPT, pointer(where), before, after, pattern)

    def check(self) -> None:
        """Raise AggregateRefused where an object around new members is missing."""
        for path in self._members:
            self._place(path)

    def write(self) -> str:
        """Return the text with all splices and members. Raises AggregateRefused as `check` does."""
        splices = self._splices
        for path, members in self._members.items():
            holder, node = self._place(path)
            if node is None:
                splices.add_object(holder, str(path[-1]), members)
            elif node.type is JsonType.NULL:
                splices.replace(node, splices.object_text(holder, members))
            else:
                for key, value in members.items():
                    _write_member(splices, node, key, value)
        return splices.apply()

    def _place(self, path: Path) -> tuple[Node, Node | None]:
        """Return the object around a member, and the value of the member: null or an object."""
        holder, node = value_at(self._splices.tree, path[:-1]), value_at(self._splices.tree, path)
        if holder is None or holder.type is not JsonType.OBJECT:
            raise AggregateRefused(f"{pointer(path[:-1])} {MISSING}")
        if node is None or self._splices.is_dropped(holder, str(path[-1])):
            return holder, None
        if node.type not in {JsonType.NULL, JsonType.OBJECT}:
            raise AggregateRefused(f"{pointer(path)} is not an object")
        return holder, node


def _write_member(splices: Splices, holder: Node, name: str, value: str) -> None:
    known = holder.member(name)
    if known is None or splices.is_dropped(holder, name):
        splices.add(holder, name, value)
    else:
        splices.replace(known.value, value)


def path_pattern(path: Path) -> str:
    """Return the JSON Pointer of a path with `*` for each index."""
    return pointer("*" if isinstance(key, int) else key for key in path)


def value_at(node: Node | None, path: Sequence[str | int]) -> Node | None:
    """Return the value at a path of names and indices, or None if there is none."""
    for key in path:
        if node is None:
            return None
        if isinstance(key, int):
            node = node.items[key] if key < len(node.items) else None
        else:
            found = node.member(key)
            node = None if found is None else found.value
    return node


SOURCE_DATA: Final = "source_data"
ENGINE: Final = "inference_engine"
DETAILS: Final = "additional_details"


def move_old_members(
    splices: Splices, additions: Additions, applied: list[Applied], place: Place, supplied: Supplied
) -> Iterator[Need]:
    """Move what an aggregate has in a place or form of version 0.1.0, and yield what is missing."""
    _name_engine(splices, additions, applied)
    _open_details(splices, additions, applied)
    yield from _share_source_data(splices, applied, place, supplied)


def _name_engine(splices: Splices, additions: Additions, applied: list[Applied]) -> None:
    model = splices.tree.value("model_info")
    engine = splices.tree.value("model_info", ENGINE)
    if model is None or engine is None or engine.type is not JsonType.TEXT:
        return
    before = splices.of(engine)
    splices.drop(model, ENGINE)
    additions.set(("model_info", ENGINE), "name", before)
    where = f"/model_info/{ENGINE}"
    applied.append(make_applied(MOVED, where, before, f'{{"name": {before}}}'))


def _open_details(splices: Splices, additions: Additions, applied: list[Applied]) -> None:
    results = splices.tree.value("evaluation_results")
    for index, result in enumerate([] if results is None else results.items):
        config = result.value("generation_config")
        details = result.value("generation_config", DETAILS)
        if config is None or details is None or details.type is not JsonType.TEXT:
            continue
        before, name = splices.of(details), MIGRATED + DETAILS
        splices.drop(config, DETAILS)
        path = ("evaluation_results", index, "generation_config", DETAILS)
        additions.set(path, name, before)
        after = f'{{"{name}": {before}}}'
        applied.append(make_applied(MOVED, pointer(path), before, after, path_pattern(path)))


def _share_source_data(
    splices: Splices, applied: list[Applied], place: Place, supplied: Supplied
) -> Iterator[Need]:
    """Give the source of the data of the whole run to each result without one."""
    source, results = splices.tree.value(SOURCE_DATA), splices.tree.value("evaluation_results")
    if source is None or results is None or source.type not in {JsonType.LIST, JsonType.OBJECT}:
        return
    if any(result.type is not JsonType.OBJECT for result in results.items):
        return
    lacking = [result for result in results.items if result.value(SOURCE_DATA) is None]
    if not lacking:
        return
    items = place.members["evaluation_results"].items
    inner = Place() if items is None else items.members[SOURCE_DATA]
    before = splices.of(source)
    splices.drop(splices.tree, SOURCE_DATA)
    needs: dict[Need, None] = {}
    for result in lacking:
        text, need, filled, changes = _move_source(splices, source, result, inner, supplied)
        splices.add(result, SOURCE_DATA, text)
        applied += changes
        if need is not None:
            needs[need] = None
        if filled:
            pattern = f"/evaluation_results/*/{SOURCE_DATA}"
            applied.append(make_applied(DATASET, f"/{SOURCE_DATA}", None, filled, pattern))
        applied.append(make_applied(MOVED, f"/{SOURCE_DATA}", before, text))
    yield from needs


def _move_source(
    splices: Splices, source: Node, result: Node, place: Place, supplied: Supplied
) -> tuple[str, Need | None, str, list[Applied]]:
    """Return the source of a result's data, what it lacks, what was filled in, and the changes."""
    written = splices.of(source)
    if source.type is JsonType.LIST:
        name = read_string(splices.text, result.value("evaluation_name")) or ""
        dataset = supplied.find_dataset(name)
        need = None
        if dataset is None and not supplied.fill:
            need = Need("source_data.dataset_name is missing", _DATASET_OPTIONS)
        filled = encode_string(dataset or UNKNOWN, ascii_only=True)
        text = f'{{"dataset_name": {filled}, "source_type": "url", "url": {written}}}'
        return text, need, filled, []
    inner = Splices(written, parse_tree(written))
    changes = [
        one._replace(example=one.example._replace(pointer=f"/{SOURCE_DATA}{one.example.pointer}"))
        for one in reshape(inner, place)
    ]
    need, filled = None, ""
    if inner.tree.value("source_type") is None:
        repository = inner.tree.value("hf_repo")
        kind = "hf_dataset" if repository is not None and repository.type is JsonType.TEXT else ""
        if not kind:
            kind = filled = "other"
            if not supplied.fill:
                need = Need("source_data.source_type is missing", "--fill, which writes other")
        inner.add(inner.tree, "source_type", f'"{kind}"')
    return inner.apply(), need, filled and f'"{filled}"', changes


_DATASET_OPTIONS: Final = "--map FILE with [dataset] or --fill"

UNKNOWN: Final = "unknown"

_MODEL: Final[Path] = ("model_info",)
_LIBRARY: Final[Path] = ("eval_library",)
_ENUMS: Final = (("deployment_type", DEPLOYMENT_TYPES), ("model_availability", AVAILABILITIES))


class Required:
    """Sees to required members; `applied` and `needs` say what was written and what is missing."""

    def __init__(self, splices: Splices, additions: Additions, supplied: Supplied) -> None:
        self._splices, self._additions, self._supplied = splices, additions, supplied
        self.applied: list[Applied] = []
        self.needs: list[Need] = []

    def see_to_all(self) -> None:
        """See to the harness, and to how each model was deployed."""
        model = self._text((*_MODEL, "id")) or ""
        library = self._supplied.find_library(model)
        for name in ("name", "version"):
            if self._text((*_LIBRARY, name)) is None:
                self._keep_other(_LIBRARY, name, (*_LIBRARY, "additional_details"))
                value = None if library is None else getattr(library, name)
                options = "--eval-library NAME@VERSION or --fill"
                self._supply(LIBRARY, _LIBRARY, name, value, options)
        self._deployment(_MODEL, is_judge=False)
        for judge in self._judges():
            self._deployment(judge, is_judge=True)

    def _deployment(self, path: Path, *, is_judge: bool) -> None:
        model = self._text((*path, "id")) or ""
        known = self._supplied.find_deployment(model, is_judge=is_judge)
        by_option = "--map FILE with [deployment]" if is_judge else "--deployment TYPE/AVAILABILITY"
        for place, (name, allowed) in enumerate(_ENUMS):
            holder = (*path, "additional_details")
            if self._text((*holder, name)) in allowed:
                continue
            self._keep_other(holder, name, holder)
            value = None if known is None else known[place]
            self._supply(DEPLOYMENT, holder, name, value, f"{by_option} or --fill")

    def _keep_other(self, holder: Path, name: str, target: Path) -> None:
        node = value_at(self._splices.tree, (*holder, name))
        if node is None or node.type is JsonType.NULL:
            return
        self.applied.append(self._additions.keep((*holder, name), node, target))

    def _supply(
        self, kind: ChangeKind, holder: Path, name: str, value: str | None, options: str
    ) -> None:
        if value is None and not self._supplied.fill:
            where = ".".join(map(str, (*holder, name)))
            self.needs.append(Need(f"{where} is missing", options))
            return
        text = encode_string(value or UNKNOWN, ascii_only=self._splices.ascii_only)
        self._additions.set(holder, name, text)
        path = (*holder, name)
        before = value_at(self._splices.tree, path)
        written = None if before is None else self._splices.of(before)
        self.applied.append(make_applied(kind, pointer(path), written, text, path_pattern(path)))

    def _judges(self) -> Iterator[Path]:
        results = self._splices.tree.value("evaluation_results")
        for index, result in enumerate([] if results is None else results.items):
            judges = result.value("metric_config", "llm_scoring", "judges")
            for place, judge in enumerate([] if judges is None else judges.items):
                model = judge.value("model_info")
                if model is not None and model.type is JsonType.OBJECT:
                    scoring = ("metric_config", "llm_scoring", "judges", place)
                    yield ("evaluation_results", index, *scoring, "model_info")

    def _text(self, path: Path) -> str | None:
        return read_string(self._splices.text, value_at(self._splices.tree, path))
