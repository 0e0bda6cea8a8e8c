"""The edit scripts about the public store: a made store, changed file by file."""

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import made_store
from made_store import (
    NEW,
    entries_file,
    latest_manifest,
    manifest_text,
    object_at,
    seal_manifest,
    sha,
    uuid_of,
)

import evalstream
from edits.case import contains
from evalstream.api.store import verify
from evalstream.store.verify import Choice

_SHOWN = re.compile(r"(\S+/\S+) has (.+)")


@dataclass(frozen=True, slots=True)
class StoreCase:
    """A store on disk after a script; `moves` says that its manifest changes under the check."""

    root: Path
    options: dict[str, Any] = field(default_factory=dict)
    moves: bool = False

    def check(self, **settings: Any) -> evalstream.Report:
        """Verify the store with some options of a check."""
        with moving(self.root) if self.moves else nullcontext():
            options = evalstream.Options(**settings)
            return verify(self.root, options=options, **self.options)


def moving(root: Path) -> Any:
    """Let the latest manifest change once the store was listed and its entries were read."""
    draw = Choice.draw

    def draw_and_move(self: Choice, *arguments: Any) -> None:
        draw(self, *arguments)
        latest = root / "flat/latest_manifest.json"
        latest.write_bytes(latest.read_bytes().replace(b"03:00:00", b"04:00:00"))

    return patch.object(Choice, "draw", draw_and_move)


def apply(script: str, folder: Path) -> StoreCase:
    """Make a store in `folder`, and change it; `PATH has JSON` is demanded, not made."""
    made_store.make_store(folder)
    case = StoreCase(folder)
    for directive in filter(None, map(str.strip, script.splitlines())):
        shown = _SHOWN.fullmatch(directive)
        if shown:
            _demand(folder / shown[1], json.loads(shown[2]))
            continue
        name, _, rest = directive.partition(" ")
        case = _DIRECTIVES[name](case, rest) or case
    return case


def _demand(path: Path, part: Any) -> None:
    lines = path.read_bytes().splitlines() if path.suffix == ".jsonl" else [path.read_bytes()]
    if not any(contains(json.loads(line), part) for line in lines):
        raise ValueError(f"{path} does not have {part}")


def _manifest(case: StoreCase, rest: str) -> None:
    name, _, value = rest.partition(" = ")
    old = latest_manifest(case.root)
    own = ("created_at", "entries_path", "manifest_core_sha256", "manifest_path")
    core = {key: member for key, member in old.items() if key not in own}
    new = seal_manifest({**core, name: json.loads(value)}, NEW)
    (case.root / old["manifest_path"]).parent.rename((case.root / new["manifest_path"]).parent)
    for path in (new["manifest_path"], "flat/latest_manifest.json"):
        (case.root / path).write_bytes(manifest_text(new))


def _entry(case: StoreCase, rest: str) -> None:
    number, name, _, value = rest.split(" ", maxsplit=3)
    edit = {name: json.loads(value)}
    made_store.edit_entries(case.root, lambda entries: entries[int(number) - 1].update(edit))


def _delete(case: StoreCase, rest: str) -> None:
    (case.root / rest).unlink()


def _write(case: StoreCase, rest: str) -> None:
    path, _, text = rest.partition(" ")
    made_store.write(case.root / path, text.encode())


def _replace(case: StoreCase, rest: str) -> None:
    path, old, new = rest.split(" ")
    _edit(case.root / path, old, new)


def _cut(case: StoreCase, rest: str) -> None:
    path = case.root / rest
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def _forge(case: StoreCase, rest: str) -> None:
    old, new = rest.split(" ")
    uuid = uuid_of(0)
    (data,) = (case.root / "data").rglob(f"{uuid}.json")
    for path in (data, object_at(case.root, uuid)):
        _edit(path, old, new)
    edit = {"sha256": sha(data.read_bytes())}
    made_store.edit_entries(case.root, lambda entries: entries[0].update(edit))


def _older(case: StoreCase, rest: str) -> None:
    old, new = rest.split(" ")
    latest = entries_file(case.root).parent
    (folder,) = (one for one in latest.parent.iterdir() if one != latest)
    _edit(folder / "manifest.json", f'count": {old}', f'count": {new}')


def _acknowledge(case: StoreCase, rest: str) -> StoreCase:
    listed = case.root / "acknowledged.txt"
    listed.write_text(f"{rest}\n", "utf-8")
    return StoreCase(case.root, {"acknowledged": listed})


def _moves(case: StoreCase, _rest: str) -> StoreCase:
    return StoreCase(case.root, moves=True)


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    if old not in text:
        raise ValueError(f"{path} does not have {old}")
    path.write_text(text.replace(old, new, 1), "utf-8")


_DIRECTIVES: dict[str, Callable[[StoreCase, str], StoreCase | None]] = {
    "manifest": _manifest,
    "entry": _entry,
    "delete": _delete,
    "write": _write,
    "replace": _replace,
    "cut": _cut,
    "forge": _forge,
    "older": _older,
    "acknowledge": _acknowledge,
    "moves": _moves,
}
