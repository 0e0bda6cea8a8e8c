"""Change the package in random places, and see whether the nearest tests notice.

A mutant is one small change: a comparison turned, a constant off by one, a statement left out,
`and` for `or`, a `not` removed, another value returned. It is made in a copy of the checkout. The
tests of its module run there, then those of the rules that it names, of the modules that import it,
of the command line, of its package, and of the corpus. A mutant is killed if a test fails, or does
not end, that passes in a second copy without the change. One that survives is shown as a diff: add
a test, or know why nobody can tell the difference.

Tests run in forks of this process, which has loaded libraries and nothing of the package.
"""

import argparse
import ast
import difflib
import importlib
import os
import random
import re
import resource
import runpy
import shutil
import signal
import string
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from hypothesis import Phase, settings

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
LIBRARIES = (
    "hypothesis.strategies", "hypothesis.provisional", "jsonschema_rs", "msgspec", "numpy",
    "scipy.stats", "scipy.optimize", "typer", "unittest.mock", "xxhash", "yaml", "zstandard",
)  # fmt: skip
"""What tests take long to load."""

MOST_BYTES = 16 << 30
LAST = ("acceptance/test_positions.py", "rules/test_cases.py", "compatibility/test_corpus.py")
"""What shows the most of any part of the package."""

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
        subject = path.stem.removesuffix("_scores").removeprefix("eee_")
        yield [str(one) for one in sorted(tests.rglob(f"test_*{subject}*.py"))]
        yield [str(tests / one) for one in NEAREST_IN_C]
        return
    module = path.relative_to(copy / "evalstream").with_suffix("")
    folder = tests / "unit" / module.parent
    of_module = f"test_{module.name}_"
    mirrors = [
        one for one in sorted(folder.glob("test_*.py")) if f"{one.stem}_".startswith(of_module)
    ]
    if mirrors:
        yield [str(one) for one in mirrors]
    codes = set(re.findall(r"\b(?:ES|LME|INS|INF|HAR|EVG|SWE|HLM)\d{3}\b", path.read_text()))
    rules = codes | rules_of_format(module, copy)
    if rules:
        yield [str(tests / "rules" / "test_cases.py"), "-k", " or ".join(sorted(rules))]
    users = [one for one in tests_that_name(module, codes, tests) if one not in mirrors]
    yield [str(one) for one in users]
    near = {name for part in module.parts for name in ACCEPTANCE.get(part, ())}
    of_format = [tests / "compatibility" / f"test_{part}.py" for part in module.parts]
    yield [
        *(str(tests / "acceptance" / name) for name in sorted(near)),
        *(str(path) for path in of_format if path.exists()),
    ]
    while not any(folder.rglob("test_*.py")):
        folder = folder.parent
    yield [str(one) for one in sorted(folder.rglob("test_*.py")) if one not in (*mirrors, *users)]


def rules_of_format(module: Path, copy: Path) -> set[str]:
    """Return how the codes of the format begin that a module is of, if any."""
    pages = copy.joinpath("evalstream", *module.parts[:2], "rules").glob("*.md")
    return {page.stem.rstrip(string.digits) for page in pages} if len(module.parts) > 2 else set()


def tests_that_name(module: Path, codes: set[str], tests: Path) -> list[Path]:
    """Return tests that import a module or name its codes, most often first, and of its subject."""
    name = re.compile(rf"\bevalstream\.{'.'.join(module.parts)}\b|\bimport .*\b{module.name}\b")
    texts = {path: path.read_text() for path in sorted(tests.rglob("test_*.py"))}
    importers = [path for path, text in texts.items() if name.search(text)]
    importers.sort(key=lambda path: -len(re.findall(rf"\b{module.name}\b", texts[path])))
    of_codes = {path: sum(map(text.count, codes)) for path, text in texts.items()}
    by_code = sorted((path for path in texts if of_codes[path]), key=lambda one: -of_codes[one])
    word = module.name.partition("_")[0]
    by_word = [path for path in texts if path.name.startswith(f"test_{word}")]
    found = (importers, by_code, by_word)
    return list(dict.fromkeys(path for paths in found for path in paths[:MOST_IMPORTERS]))


class Ended(NamedTuple):
    """How tests ended: whether they passed, whether in time, and which of them began last."""

    passed: bool
    in_time: bool
    last: str


class Watch:
    """A plugin of pytest: notes which test has begun, and makes no failing example smaller."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note a test that begins."""
        self.path.write_text(nodeid, encoding="utf-8")

    def pytest_collection(self) -> None:
        """Let properties end at the first example that fails: smaller ones take minutes."""
        phases = [Phase.explicit, Phase.reuse, Phase.generate]
        settings.register_profile("mutants", settings.default, phases=phases)
        settings.load_profile("mutants")


class Laboratory:
    """Two copies of the checkout: one in which mutants are made, and one to compare with."""

    def __init__(self, folder: Path, limit: int, *, is_near: bool) -> None:
        self.copy, self._sound_copy = folder / "copy", folder / "sound" / "copy"
        self._limit, self._note = limit, folder / "last"
        self._last = () if is_near else LAST
        self._sound = set[str]()
        self._times = count(int(time.time()) - 1_000_000)
        ignored = shutil.ignore_patterns(".venv*", ".git", "__pycache__", ".*_cache", "site")
        shared = ROOT.parent / "shared"
        for source, copy in ((ROOT, self.copy), (self.copy, self._sound_copy)):
            shutil.copytree(source, copy, ignore=ignored, symlinks=True)
            if shared.is_dir():
                copy.parent.joinpath("shared").symlink_to(shared)
            # The scanner of the checkout may be of other sources, and would not be used.
            if source is ROOT and not compile_copy(copy):
                raise SystemExit("the scanner cannot be compiled")
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        # Kept byte code of modules and tests saves half of a short run.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False
        for name in LIBRARIES:
            with suppress(ImportError):
                importlib.import_module(name)

    def find_killer(self, mutant: Mutant, tests: Sequence[str]) -> str | None:
        """Make a change, run tests, by default the nearest, undo it; return what noticed it."""
        with self._change(mutant) as is_compiled:
            if not is_compiled:
                return "the compiler"
            chosen = [[str(self.copy / one)] for one in tests]
            last = [str(self.copy / "tests" / one) for one in self._last]
            groups = chosen or chain(nearest_tests(mutant.path, self.copy), [last])
            return next(filter(None, map(self._failing_test, filter(None, groups))), None)

    @contextmanager
    def _change(self, mutant: Mutant) -> Iterator[bool]:
        """Make a change for a while; give whether it compiles."""
        in_c = mutant.path.suffix != ".py"
        native = self.copy / "evalstream" / "parsing" / "native"
        paths = [mutant.path, *(native.glob("libscanner*") if in_c else ())]
        before = {path: path.read_bytes() for path in paths}
        try:
            self._write(mutant.path, mutated(mutant, before[mutant.path]))
            yield not in_c or compile_copy(self.copy)
        finally:
            for path, data in before.items():
                self._write(path, data)

    def _write(self, path: Path, data: bytes) -> None:
        """Replace a file at a time of its own, by which Python knows old byte code."""
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        now = next(self._times)
        os.utime(path, (now, now))

    def _failing_test(self, arguments: list[str]) -> str | None:
        """Run tests of the copy; return the first that fails here and passes without the change."""
        while not (ended := self._run(self.copy, arguments)).passed:
            if not ended.last:
                paths = [one for one in arguments if one.endswith(".py")]
                is_sound = self._run(self._sound_copy, [*paths, "--collect-only"]).passed
                return "the collection of tests" if is_sound else None
            # Many tests may take long together: only one that takes long by itself hangs.
            if self._is_sound(ended.last) and (
                ended.in_time or not self._run(self.copy, [ended.last]).passed
            ):
                return ended.last
            arguments = [*arguments, "--deselect", ended.last]
        return None

    def _is_sound(self, test: str) -> bool:
        """Tell whether a test passes without the change."""
        if test not in self._sound and self._run(self._sound_copy, [test]).passed:
            self._sound.add(test)
        return test in self._sound

    def _run(self, copy: Path, arguments: list[str]) -> Ended:
        """Run tests of a copy until one fails."""
        self._note.write_text("")
        pid = os.fork()
        if not pid:
            run_pytest(copy, [self._in(copy, one) for one in arguments], self._note, self._limit)
        _, status = os.waitpid(pid, 0)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        in_time = not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGALRM
        # 5: no test was selected.
        is_fine = os.WIFEXITED(status) and os.WEXITSTATUS(status) in {0, 5}
        return Ended(is_fine, in_time, self._note.read_text("utf-8"))

    def _in(self, copy: Path, argument: str) -> str:
        """Return an argument about the copy as one about another copy."""
        return argument.replace(str(self.copy), str(copy))


def run_pytest(copy: Path, arguments: list[str], note: Path, limit: int) -> NoReturn:
    """Become a process that runs tests of a copy, and ends after some seconds at the latest."""
    code = 99
    try:
        os.setsid()
        os.chdir(copy)
        os.environ["PYTHONPATH"] = str(copy)
        sys.path[0] = str(copy)
        with suppress(ValueError, OSError):  # not every system bounds memory
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, resource.RLIM_INFINITY))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        signal.alarm(limit)
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        options += ["-o", "tmp_path_retention_policy=none"]
        code = pytest.main([*options, *arguments], plugins=[Watch(note)])
    finally:
        os._exit(code)


def mutated(mutant: Mutant, before: bytes) -> bytes:
    """Return the bytes of a file with the change."""
    return before[: mutant.start] + mutant.text.encode() + before[mutant.end :]


def compile_copy(copy: Path) -> bool:
    """Compile the scanner of the copy; return whether that worked."""
    build = runpy.run_path(str(copy / "scripts" / "build_scanner.py"))
    return not build["compile_scanner"](copy)


def every_mutant(copy: Path, only: str) -> list[Mutant]:
    """Return all mutants of files whose path matches."""
    return [
        mutant
        for path in sorted((copy / "evalstream").rglob("*.[pc]*"))
        if path.suffix in {".py", ".c"} and "acceptors" not in path.parts
        if re.search(only, path.relative_to(copy).as_posix())
        for mutant in (PythonMutants(path) if path.suffix == ".py" else c_mutants(path))
    ]


def main() -> None:
    """Make and judge some mutants."""
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("number", type=int, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first of them")
    parser.add_argument("--only", default="", help="only files whose path matches this expression")
    parser.add_argument("--limit", type=int, default=300, help="seconds for a group of tests")
    parser.add_argument(
        "--near", action="store_true", help="leave out the long tests of the corpus"
    )
    parser.add_argument("--tests", nargs="*", default=(), help="run these and not the nearest ones")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        laboratory = Laboratory(Path(folder), given.limit, is_near=given.near)
        mutants = every_mutant(laboratory.copy, given.only)
        random.Random(given.seed).shuffle(mutants)
        chosen = mutants[given.skip : given.skip + given.number]
        survivors = 0
        for number, mutant in enumerate(chosen, given.skip + 1):
            began = time.monotonic()
            killer = laboratory.find_killer(mutant, given.tests)
            survivors += killer is None
            before = mutant.path.read_bytes()
            line = before[: mutant.start].count(b"\n") + 1
            name = mutant.path.relative_to(laboratory.copy)
            said = f"killed by {killer}" if killer else "SURVIVED"
            print(f"{number} {name}:{line} {said} ({time.monotonic() - began:.0f} s)", flush=True)
            if not Path(os.devnull).is_char_device():
                # Only root can, and every program of the machine would write into that file.
                sys.exit(f"this one replaced {os.devnull}: `mknod -m 666 {os.devnull} c 1 3`")
            if killer is None:
                lines = [one.decode().splitlines() for one in (before, mutated(mutant, before))]
                print(
                    "\n".join(list(difflib.unified_diff(*lines, n=2, lineterm=""))[2:]), flush=True
                )
    print(f"{len(chosen) - survivors} of {len(chosen)} killed")


if __name__ == "__main__":
    main()
