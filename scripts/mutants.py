"""Change the package in random places, and see whether the nearest tests notice.

A mutant is one small change: a comparison turned, a constant off by one, a statement left out,
`and` for `or`, a `not` removed, another value returned. It is made in a copy of the checkout. The
tests of its module run there, then those of the modules that import it, of the rules that it names,
of the command line, and of the corpus. A mutant is killed if one of them fails or takes too long.
One that survives is shown as a diff: add a test, or know why nobody can tell the difference.
"""

import argparse
import ast
import difflib
import os
import random
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAIRS = (("is not", "is"), ("not in", "in"), ("==", "!="), ("<", "<="), (">", ">="))
TURNED = {**dict(PAIRS), **{new: old for old, new in PAIRS}}
IN_C = (
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
    (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r" \+ 1\b", " + 2"),
    (r" - 1\b", ""), (r"(?<=return )true(?=;)", "false"), (r"(?<=return )false(?=;)", "true"),
    (r"(?<=^ )\s+[\w>.\[\]-]+(\+\+| \+= [^;]+);", " ;"), (r"!(?=[a-z(])", ""),
)  # fmt: skip
"""What is changed in C, by regular expression."""

NEAREST_IN_C = ("unit/parsing/native", "properties/test_fast_path_agrees.py", "fuzz")
MOST_IMPORTERS = 6
ACCEPTANCE = {
    "changes": ("test_fix.py", "test_migrate.py"),
    "rewriting": ("test_fix.py", "test_migrate.py"),
    "comparing": ("test_compare.py",),
    "comparison": ("test_compare.py",),
    "cli": ("test_command_line.py",),
}
"""Tests of the command line for parts of the package that it alone puts together."""


class Mutant(NamedTuple):
    """One change: the file, the bytes that are replaced, and what replaces them."""

    path: Path
    start: int
    end: int
    text: str


class PythonMutants:
    """Every change of a Python module."""

    def __init__(self, path: Path) -> None:
        self.path, self.source = path, path.read_bytes()
        self.starts = [0]
        for line in self.source.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def __iter__(self) -> Iterator[Mutant]:
        for node in walk_code(ast.parse(self.source)):
            match node:
                case ast.Compare(left=left, comparators=[right, *_]):
                    yield from self.between(left, right, TURNED)
                case ast.BoolOp(values=[left, right, *_]):
                    yield from self.between(left, right, {"and": "or", "or": "and"})
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    yield Mutant(self.path, self.at(node), self.at(operand), "")
                case _:
                    yield from (self.whole(node, text) for text in replacements(node))

    def at(self, node: ast.AST, *, end: bool = False) -> int:
        """Return where a node begins or ends, in bytes."""
        line, column = ("end_lineno", "end_col_offset") if end else ("lineno", "col_offset")
        return self.starts[getattr(node, line) - 1] + int(getattr(node, column))

    def whole(self, node: ast.AST, text: str) -> Mutant:
        """Replace a node."""
        target = node.value if isinstance(node, ast.Return) and node.value else node
        return Mutant(self.path, self.at(target), self.at(target, end=True), text)

    def between(self, left: ast.AST, right: ast.AST, words: dict[str, str]) -> Iterator[Mutant]:
        """Replace the operator between two nodes."""
        start = self.at(left, end=True)
        text = self.source[start : self.at(right)].decode()
        found = re.search(r"\b(?:is not|not in|is|in|and|or)\b|[=!<>]=|[<>]", text)
        if found and found[0] in words:
            yield Mutant(self.path, start + found.start(), start + found.end(), words[found[0]])


def replacements(node: ast.AST) -> Iterator[str]:
    """Yield what a node may be replaced by."""
    match node:
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() as value):
            yield from (str(value - 1), str(value + 1))
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield "pass"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "None"


def walk_code(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through what runs: without annotations."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in {
                "annotation",
                "returns",
                "decorator_list",
            }:
                yield child
                yield from walk_code(child)


def c_mutants(path: Path) -> Iterator[Mutant]:
    """Yield every change of a C file, outside comments and the preprocessor."""
    place, in_comment = 0, False
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        size = len(line.encode())
        code = line.lstrip()
        in_comment = (in_comment or code.startswith("/*")) and "*/" not in line
        if line.isascii() and not in_comment and not code.startswith(("/*", "*", "//", "#")):
            for pattern, text in IN_C:
                for found in re.finditer(pattern, line):
                    yield Mutant(path, place + found.start(), place + found.end(), text)
        place += size


def nearest_tests(path: Path, copy: Path) -> Iterator[list[str]]:
    """Yield arguments of pytest, the nearest tests first."""
    tests = copy / "tests"
    if path.suffix != ".py":
        yield [str(tests / one) for one in NEAREST_IN_C]
        yield [
            str(tests / "compatibility" / "test_corpus.py"),
            str(tests / "rules" / "test_cases.py"),
        ]
        return
    module = path.relative_to(copy / "evalstream").with_suffix("")
    mirror = tests / "unit" / module.parent / f"test_{module.name}.py"
    if mirror.exists():
        yield [str(mirror)]
    folder = mirror.parent
    while not any(folder.glob("test_*.py")) and folder != tests / "unit":
        folder = folder.parent
    name = re.compile(rf"\bevalstream\.{'.'.join(module.parts)}\b|\bimport .*\b{module.name}\b")
    word = module.name.partition("_")[0]
    by_word = set(sorted((tests / "unit").rglob(f"test_{word}*.py"))[:MOST_IMPORTERS])
    users = (one for one in sorted(tests.rglob("test_*.py")) if name.search(one.read_text()))
    wider = {*list(users)[:MOST_IMPORTERS], *([] if mirror.exists() else folder.glob("test_*.py"))}
    yield [str(one) for one in sorted((wider | by_word) - {mirror})]
    codes = set(re.findall(r"\b(?:ES|LME|INS|INF|HAR|EVG|SWE)\d{3}\b", path.read_text()))
    if codes:
        yield [str(tests / "rules" / "test_cases.py"), "-k", " or ".join(sorted(codes))]
    near = {name for part in module.parts for name in ACCEPTANCE.get(part, ())}
    of_format = [tests / "compatibility" / f"test_{part}.py" for part in module.parts]
    yield [
        *(str(tests / "acceptance" / name) for name in sorted(near)),
        *(str(path) for path in of_format if path.exists()),
    ]
    yield [str(tests / "compatibility" / "test_corpus.py")]


def is_killed(mutant: Mutant, copy: Path, limit: float) -> bool:
    """Make a change in the copy, run the nearest tests, and undo it."""
    before = mutant.path.read_bytes()
    mutant.path.write_bytes(mutated(mutant, before))
    try:
        if mutant.path.suffix != ".py" and not compile_copy(copy):
            return True
        return any(fails(arguments, copy, limit) for arguments in nearest_tests(mutant.path, copy))
    finally:
        mutant.path.write_bytes(before)
        if mutant.path.suffix != ".py":
            compile_copy(copy)


def mutated(mutant: Mutant, before: bytes) -> bytes:
    """Return the bytes of a file with the change."""
    return before[: mutant.start] + mutant.text.encode() + before[mutant.end :]


def compile_copy(copy: Path) -> bool:
    """Compile the scanner of the copy; return whether that worked."""
    build = runpy.run_path(str(copy / "scripts" / "build_scanner.py"))
    return not build["compile_scanner"](copy)


def fails(arguments: list[str], copy: Path, limit: float) -> bool:
    """Run some tests of the copy; return whether one fails, or none ends in time."""
    if not arguments:
        return False
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0"]
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in {0, 5}  # 5: no test was selected


def main() -> None:
    """Make and judge some mutants."""
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("number", type=int, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", default="", help="only files whose path contains this")
    parser.add_argument("--limit", type=float, default=120, help="seconds for a group of tests")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".venv*", ".git", "__pycache__", ".*_cache", "site")
        shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
        shared = ROOT.parent / "shared"
        if shared.is_dir():
            copy.parent.joinpath("shared").symlink_to(shared)
        files = sorted(
            path for path in (copy / "evalstream").rglob("*.[pc]*") if given.only in str(path)
        )
        everything = [
            mutant
            for path in files
            if path.suffix in {".py", ".c"} and "acceptors" not in path.parts
            for mutant in (PythonMutants(path) if path.suffix == ".py" else c_mutants(path))
        ]
        chosen = random.Random(given.seed).sample(everything, min(given.number, len(everything)))
        survivors = 0
        for number, mutant in enumerate(chosen, 1):
            killed = is_killed(mutant, copy, given.limit)
            survivors += not killed
            line = mutant.path.read_bytes()[: mutant.start].count(b"\n") + 1
            name = mutant.path.relative_to(copy)
            print(f"{number} {'killed' if killed else 'SURVIVED'} {name}:{line}", flush=True)
            if not killed:
                before = mutant.path.read_bytes()
                lines = [one.decode().splitlines() for one in (before, mutated(mutant, before))]
                print(
                    "\n".join(list(difflib.unified_diff(*lines, n=2, lineterm=""))[2:]), flush=True
                )
    print(f"{len(chosen) - survivors} of {len(chosen)} killed")


if __name__ == "__main__":
    main()
