"""What a version requires of an aggregate and older ones do not: supplied, filled, or needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evalstream.formats.eee.changes.additions import Additions, Path, value_at
from evalstream.formats.eee.changes.kinds import DEPLOYMENT, KEPT, LIBRARY, MIGRATED
from evalstream.formats.eee.changes.supplied import AVAILABILITIES, DEPLOYMENT_TYPES, Supplied
from evalstream.model.changes import Applied, Change, ChangeKind, Example, Need
from evalstream.parsing.json import pointer
from evalstream.parsing.json_tree import (
    JsonType,
    Node,
    Splices,
    compact,
    decode_string,
    encode_string,
    quote_text,
)

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
        """Keep a value that the version does not allow in an object of texts."""
        node = value_at(self._splices.tree, (*holder, name))
        if node is None or node.type is JsonType.NULL:
            return
        before = self._splices.of(node)
        is_text = node.type is JsonType.TEXT
        after = before if is_text else quote_text(compact(self._splices.text, node))
        self._additions.keep(target, MIGRATED + name, after)
        self._apply(KEPT, (*holder, name), before, after)

    def _supply(
        self, kind: ChangeKind, holder: Path, name: str, value: str | None, options: str
    ) -> None:
        """Write a supplied or unknown value, or note that it is needed."""
        if value is None and not self._supplied.fill:
            where = ".".join(map(str, (*holder, name)))
            self.needs.append(Need(f"{where} is missing", options))
            return
        text = encode_string(value or UNKNOWN, ascii_only=self._splices.ascii_only)
        self._additions.set(holder, name, text)
        before = value_at(self._splices.tree, (*holder, name))
        written = None if before is None else self._splices.of(before)
        self._apply(kind, (*holder, name), written, text)

    def _judges(self) -> Iterator[Path]:
        """Iterate over the paths of the models that judged results."""
        results = self._splices.tree.value("evaluation_results")
        for index, result in enumerate([] if results is None else results.items):
            judges = result.value("metric_config", "llm_scoring", "judges")
            for place, judge in enumerate([] if judges is None else judges.items):
                model = judge.value("model_info")
                if model is not None and model.type is JsonType.OBJECT:
                    scoring = ("metric_config", "llm_scoring", "judges", place)
                    yield ("evaluation_results", index, *scoring, "model_info")

    def _text(self, path: Path) -> str | None:
        node: Node | None = value_at(self._splices.tree, path)
        if node is None or node.type is not JsonType.TEXT:
            return None
        return decode_string(self._splices.text, node)

    def _apply(self, kind: ChangeKind, path: Path, before: str | None, after: str) -> None:
        pattern = pointer("*" if isinstance(key, int) else key for key in path)
        self.applied.append(Applied(Change(kind, pattern), Example(pointer(path), before, after)))
