"""The edit scripts about the files of EvalGuard: changes to the example folder."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from paths import EXAMPLES

from edits.case import Case, contains, fit, parent_of

EXAMPLE = EXAMPLES / "evalguard"


def apply(script: str, folder: Path) -> Case:
    """Copy the example into `folder` and edit it directive by directive.

    A directive begins with a document: `PATH /pointer = JSON`, `PATH /pointer removed`,
    `PATH copied to PATH`, `PATH moved to PATH`, `PATH missing`, `PATH written: JSON`,
    `PATH has JSON`.
    """
    root = folder / "evalguard"
    shutil.copytree(EXAMPLE, root)
    for directive in script.splitlines():
        _follow(directive.strip(), root)
    documents = {
        path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()
    }
    return Case(root, None, {"input_format": "evalguard"}, documents=documents)


def _follow(directive: str, root: Path) -> None:
    for pattern, action in _DIRECTIVES:
        found = re.fullmatch(pattern, directive)
        if found:
            name, *others = found.groups()
            action(root / name, *others)
            return
    raise ValueError(f"no such directive: {directive}")


def _set(path: Path, place: str, value: str) -> None:
    document, owner, key = _opened(path, place)
    owner[key] = json.loads(value)
    _write(path, document)


def _remove(path: Path, place: str) -> None:
    document, owner, key = _opened(path, place)
    del owner[key]
    _write(path, document)


def _copy(path: Path, other: str) -> None:
    shutil.copy(path, path.parent.parent / other)


def _move(path: Path, other: str) -> None:
    path.rename(path.parent.parent / other)


def _delete(path: Path) -> None:
    path.unlink()


def _create(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, json.loads(text))


def _fit(path: Path, text: str) -> None:
    if not path.exists():
        _create(path, text)
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)
    if not contains(document, json.loads(text)):
        _write(path, fit(document, json.loads(text)))


def _opened(path: Path, place: str) -> tuple[Any, Any, Any]:
    """Return a document, and where a pointer leads in it: the object or list, and the key."""
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)
    return document, *parent_of(document, place)


def _write(path: Path, document: Any) -> None:
    """Write a document; as it stands in YAML 1.2, of which JSON is a part."""
    text = json.dumps(document, indent=2)
    if path.suffix == ".yaml":
        text = yaml.dump(document, sort_keys=False, Dumper=Dumper)
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


class Loader(yaml.SafeLoader):
    """Reads the example, in which `no` is a language."""


class Dumper(yaml.SafeDumper):
    """Writes it so."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent the items of lists, as the example does."""
        del indentless
        super().increase_indent(flow, False)


_TYPES_OF_OLD = (":bool", ":timestamp")
"""Types that YAML 1.1 sees in plain texts; true and false do not occur in the example."""

for _class in (Loader, Dumper):
    _class.yaml_implicit_resolvers = {
        letter: [one for one in resolvers if not one[0].endswith(_TYPES_OF_OLD)]
        for letter, resolvers in _class.yaml_implicit_resolvers.items()
    }

_DIRECTIVES: list[tuple[str, Callable[..., None]]] = [
    (r"(\S+) (/\S*) = (.*)", _set),
    (r"(\S+) (/\S*) removed", _remove),
    (r"(\S+) copied to (\S+)", _copy),
    (r"(\S+) moved to (\S+)", _move),
    (r"(\S+) missing", _delete),
    (r"(\S+) written: (.*)", _create),
    (r"(\S+) has (.*)", _fit),
]
