"""The page about the Python API: every public name with its signature and documentation."""

import ast
import dataclasses
import inspect
import re
from collections.abc import Collection, Iterator
from enum import Enum
from importlib import import_module
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import evalstream
from evalstream.cli.command import COMMANDS, load_command, long_flag
from evalstream.cli.typer_app import argument_help, option_help
from evalstream.model.data_class import REQUIRED, DataClass, Field
from reference.markdown import code, fence, paragraphs, sentence, table
from reference.signatures import annotation, shown, signature

INTRODUCTION = """# Python API

These names are stable: `import evalstream` offers them. [Use it from Python](../how-to/python.md)
shows how.
"""

KINDS = ("Functions", "Classes", "Exceptions", "Constants")


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    for kind in KINDS:
        names = [name for name in sorted(evalstream.__all__) if _kind(name) == kind]
        parts += [f"## {kind}\n"] if names else []
        for name in names:
            parts += _section(name, getattr(evalstream, name))
    return "\n".join(parts)


def _kind(name: str) -> str:
    """Return the heading under which a name stands."""
    value = getattr(evalstream, name)
    if inspect.isclass(value):
        return "Exceptions" if issubclass(value, BaseException) else "Classes"
    return "Functions" if callable(value) else "Constants"


def _section(name: str, value: Any) -> Iterator[str]:
    yield f"### {name.replace('_', chr(92) + '_')}\n"
    if inspect.isclass(value):
        yield from _class(value)
    elif callable(value):
        yield from _function(name, value)
        yield _table_of_parameters(name, value)
        yield _table_of_errors(value.__doc__ or "")
    else:
        yield fence(f"{name}: {type(value).__name__}", "python")
        yield f"{paragraphs(_text_of_constant(name))}\n"


def _function(name: str, function: Any) -> Iterator[str]:
    yield fence(signature(name, function), "python")
    yield f"{paragraphs(function.__doc__ or '')}\n"


def _class(value: type[Any]) -> Iterator[str]:
    fields = dict(_fields(value))
    if issubclass(value, BaseException):
        yield fence(f"class {value.__name__}({_bases(value)})", "python")
    elif issubclass(value, Enum):
        yield fence(f"class {value.__name__}({_bases(value)})", "python")
        yield table(["member", "value"], ((code(one.name), code(repr(one.value))) for one in value))
    elif not fields:
        yield fence(signature(value.__name__, value), "python")
    prose, _, _ = cleandoc(value.__doc__ or "").partition("\n\nAttributes:\n")
    yield f"{paragraphs(prose)}\n"
    if fields:
        meanings = {one.name: one.metadata["doc"] for one in dataclasses.fields(value)}
        helps = _helps("check") if _is_options(value) else {}
        yield _table_of_fields(fields, meanings | helps)
    yield from _members(value, fields)


def _bases(value: type[Any]) -> str:
    return ", ".join(base.__name__ for base in value.__bases__)


def _fields(value: type[Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the fields of a data class or named tuple with their types and defaults."""
    if issubclass(value, DataClass):
        for name, one in value.__data_fields__.items():
            yield name, (annotation(one.type), _default(one))
    elif hasattr(value, "_fields"):
        types, defaults = inspect.get_annotations(value), value._field_defaults
        for name in value._fields:
            given = shown(defaults[name]) if name in defaults else ""
            yield name, (annotation(types[name]), given)


def _default(field: Field) -> str:
    if field.default_factory is not None:
        return shown(field.default_factory())
    return "" if field.default is REQUIRED else shown(field.default)


def _table_of_fields(fields: dict[str, tuple[str, str]], helps: dict[str, str]) -> str:
    """Return a table of fields; a column is left out if no field has a value for it."""
    has_defaults = any(default for _, default in fields.values())
    head = ["field", "type", *(["default"] if has_defaults else [])]
    rows = [
        [code(name), code(typed), *([code(default) if default else ""] if has_defaults else [])]
        for name, (typed, default) in fields.items()
    ]
    if helps.keys() & fields.keys():
        head.append("meaning")
        rows = [[*row, helps.get(name, "")] for name, row in zip(fields, rows, strict=True)]
    return table(head, rows)


def _is_options(value: type[Any]) -> bool:
    """Tell whether the fields of a class are options of the command line."""
    return value in (evalstream.Options, evalstream.RowRouting)


def _table_of_parameters(name: str, function: Any) -> str:
    """Return a table of all parameters: type, default and meaning."""
    known = inspect.signature(function).parameters
    meanings = _meanings(name, function.__doc__ or "", known)
    rows = (
        (
            code(one),
            code(annotation(given.annotation)),
            "" if given.default is given.empty else code(shown(given.default)),
            meanings.get(one, ""),
        )
        for one, given in known.items()
    )
    return table(["parameter", "type", "default", "meaning"], rows)


def _meanings(name: str, text: str, known: Collection[str]) -> dict[str, str]:
    """Return the meaning of parameters by name.

    It is a sentence of the documentation that begins with the name, else the help of the option of
    this name, else any sentence that names it, else one about this parameter of `check`.
    """
    said = _sentences(text, known)
    about = {one: part for one, part in said.items() if part.startswith(f"`{one}`")}
    general = _sentences(evalstream.check.__doc__ or "", known)
    return general | _helps("check") | _helps("seal") | said | _helps(name) | about


def _sentences(text: str, names: Collection[str]) -> dict[str, str]:
    """Return by name the sentences of a text, after its first paragraph, that name it."""
    _, _, details = cleandoc(text).partition("\n\n")
    parts = re.split(r"(?<=[.;])\s+(?=`|[A-Z])", details.partition("Raises ")[0])
    found = {one: " ".join(part for part in parts if f"`{one}`" in part) for one in names}
    return {one: sentence(part.rstrip(";")) for one, part in found.items() if part}


def _table_of_errors(text: str) -> str:
    """Return a table of the exceptions that a documentation names, and when they are raised."""
    ours = [one for one in evalstream.__all__ if _kind(one) == "Exceptions"]
    names = "|".join([*ours, "AttributeError", "OSError", "TypeError", "ValueError"])
    raised = re.search(r"Raises (.*?)\.(?:\s|$)", text, re.DOTALL)
    parts = re.split(rf"(?:[;,]? (?:and )?)?\b({names})\b", raised[1] if raised else "")
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return table(["error", "raised"], ((code(name), when) for name, when in pairs))


def _helps(name: str) -> dict[str, str]:
    """Return the name and the help of each parameter of a command."""
    if name not in COMMANDS:
        return {}
    command = load_command(name)
    arguments = {one.name: (one.text.metavar, argument_help(one)) for one in command.arguments}
    options = {one.name: (long_flag(one), option_help(one)) for one in command.options}
    return {
        one: f"{code(shown)}: {sentence(text)}"
        for one, (shown, text) in (arguments | options).items()
    }


def _members(value: type[Any], fields: dict[str, Any]) -> Iterator[str]:
    """Yield the public methods and properties that a class defines, or its bases of ours."""
    ours = [one for one in reversed(value.__mro__) if one.__module__.startswith("evalstream.")]
    for name, member in {name: one for base in ours for name, one in vars(base).items()}.items():
        if name.startswith("_") or name in fields:
            continue
        plain = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if isinstance(member, property):
            result = annotation(inspect.signature(member.fget).return_annotation)  # type: ignore[arg-type]
            yield f"#### {value.__name__}.{name}\n"
            yield fence(f"{name}: {result}", "python")
            yield f"{paragraphs(member.__doc__ or '')}\n"
        elif inspect.isfunction(plain):
            yield f"#### {value.__name__}.{name}()\n"
            yield from _function(name, plain)


def _text_of_constant(name: str) -> str:
    """Return the text below the definition of a constant, in the module that it comes from."""
    module = _origin(name)
    body = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8")).body
    for defined, after in pairwise(body):
        targets = getattr(defined, "targets", [getattr(defined, "target", None)])
        is_it = any(isinstance(one, ast.Name) and one.id == name for one in targets)
        if is_it and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return str(after.value.value)
    return ast.get_docstring(ast.parse(inspect.getsource(module))) or ""


def _origin(name: str) -> ModuleType:
    """Return the module from which the package imports a name."""
    for one in ast.walk(ast.parse(inspect.getsource(evalstream))):
        if isinstance(one, ast.ImportFrom) and name in {alias.name for alias in one.names}:
            return import_module(one.module or "")
    return evalstream
