"""Python code that accepts what a schema allows, from fastjsonschema: as the build writes it.

The hook that builds the package runs this file by its path, before evalstream is installed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from pathlib import Path
from typing import Any, Final

import fastjsonschema

_REFUSAL: Final = "ValueError"


def write_acceptors(schemas: Path, folder: Path) -> None:
    """Write a module into a folder for each JSON schema below `schemas`, in place of older ones."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.py"):
        old.unlink()
    suffix = ".schema.json"
    for file in sorted(schemas.rglob(f"*{suffix}")):
        text = file.read_bytes()
        name = file.relative_to(schemas.parent).as_posix().removesuffix(suffix)
        digest, code = hashlib.sha256(text).hexdigest(), acceptor_code(json.loads(text))
        module = re.sub("[^a-z0-9]", "_", name)
        (folder / f"{module}.py").write_text(
            f"# mypy: ignore-errors\nSCHEMA = {digest!r}\n{code}\n", encoding="utf-8"
        )


def acceptor_code(schema: Any) -> str:
    """Return the code of a module whose `validate` raises ValueError for a value that is not valid.

    Raises SyntaxError where fastjsonschema generates invalid code: before version 2.22 it does so
    for `items` without keywords.
    """
    code = fastjsonschema.compile_to_code(
        _with_ecma_patterns(schema), use_default=False, use_formats=False
    )
    tree = _WithoutMessages().visit(ast.parse(code))
    # The first function checks the whole value; its name is that of the schema.
    first = next(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return ast.unparse(tree) if first == "validate" else f"{ast.unparse(tree)}\nvalidate = {first}"


def ecma(pattern: str) -> str:
    """Make a final `$` match only at the very end, as in ECMA 262, not before a newline."""
    escaped = len(pattern) - len(pattern.rstrip("$").rstrip("\\")) - 1
    return pattern if not pattern.endswith("$") or escaped % 2 else pattern[:-1] + r"\Z"


class _WithoutMessages(ast.NodeTransformer):
    """Leaves out what takes long to load: the messages, fastjsonschema, and decimals."""

    def visit_Raise(self, _: ast.Raise) -> ast.Raise:
        return ast.Raise(ast.Name(_REFUSAL, ast.Load()))

    def visit_Call(self, call: ast.Call) -> ast.AST:
        # The third argument of a function that checks a part is the name of that in messages.
        if isinstance(call.func, ast.Name) and call.func.id.startswith("validate"):
            del call.args[2:]
        return self.generic_visit(call)

    def visit_Name(self, name: ast.Name) -> ast.Name:
        others = {
            "Decimal": "float",
            "JsonSchemaValueException": _REFUSAL,
            "JsonSchemaValuesException": _REFUSAL,
        }
        return ast.Name(others.get(name.id, name.id), name.ctx)

    def visit_ImportFrom(self, _: ast.ImportFrom) -> None:
        return None


def _with_ecma_patterns(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_ecma_patterns(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    return {
        key: ecma(inner)
        if key == "pattern" and isinstance(inner, str)
        else _with_ecma_patterns(inner)
        for key, inner in node.items()
    }
