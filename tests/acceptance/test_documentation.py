"""The documents show what the program prints, and name only what exists."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest
from commands import shell_environment
from each import each
from paths import EXAMPLES, FINDINGS, REPOSITORY, TESTS

import evalstream
from evalstream.batch.ledger.entries import FORMS
from evalstream.cli.command import COMMANDS, load_command, option_spellings
from evalstream.cli.thresholds import FORMATS as ANSWERS
from evalstream.formats import PREFIXES
from evalstream.formats.eee.sample_hash import RECIPES
from evalstream.formats.registry import CATALOGUE, FORMATS
from evalstream.reporters import COMPARISON_REPORTERS, REPORTERS

DOCS = REPOSITORY / "docs"
ROOT_PAGES = tuple(
    REPOSITORY / name
    for name in ("README.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
)
PAGES = (*ROOT_PAGES, *sorted(DOCS.rglob("*.md")))
TEXTS = {path: path.read_text(encoding="utf-8") for path in PAGES}
NAMES = {path: str(path.relative_to(REPOSITORY)) for path in PAGES}
SESSIONS = [path for path in PAGES if "```console\n" in TEXTS[path]]
DECISIONS = "".join(text for path, text in TEXTS.items() if path.parent.name == "decisions")
FOREIGN_TOOLS = "cluster.md"
"""This page shows the options of Slurm, Dask and Kubernetes, too."""
PACKAGE = REPOSITORY / "evalstream"
EXAMPLE_CODE = "ES322"
"""The rule that CONTRIBUTING.md adds as an example."""
EXAMPLE_FORMAT = "scorecard"
"""The format that it adds."""
EXAMPLE_PATHS = {
    "schemas/eee/99.0.0/",
    "reporters/example.py",
    "reporters/comparison/example.py",
    "cli/hello.py",
}
"""The files that CONTRIBUTING.md adds as examples."""

_CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
_CODE = re.compile(rf"\b(?:{'|'.join(PREFIXES.values())})\d{{3}}\b")
_PATH = re.compile(r"`((?:[\w.+-]+/)+(?:[\w-]+\.(?:py|c|h|json|toml|txt|svg))?)`")
_FILE_NAME = re.compile(r"`(\w+\.(?:py|c|h))`")
_MODULE = re.compile(r"\bevalstream((?:\.[a-z_0-9]+)+)\b")
_FILE = re.compile(r"\bevalstream\.(?:cdx\.json|fish|html|sarif|toml|xml)\b")
"""Names of files that begin like modules."""

_DEFAULT = re.compile(r"`(--[a-z-]+)`(?:,| \((?:default:? )?) ?([\d,]+(?:\.\d+)?)( MiB)?")
"""An option with a number behind it, which is its default."""

_END = "--- end of this command ---"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which `evalstream` runs this package."""
    return shell_environment(tmp_path)


def commands_of(block: str) -> Iterator[str]:
    """Yield the commands of a console block; `> ` at the start of a line continues one."""
    command: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            if command:
                yield "\n".join(command)
            command = [line[2:]]
            goes_on = True
        elif command and goes_on and line.startswith("> "):
            command.append(line[2:])
        else:
            goes_on = False
    if command:
        yield "\n".join(command)


def run_all(commands: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    """Run commands in one shell, as a reader does, and return what each of them prints."""
    end = f"printf '%s\\n' {shlex.quote(_END)}"
    # The exit code of a command is still there for a following `echo $?`.
    script = "".join(f"{one}\ncode=$?; {end}; (exit $code)\n" for one in commands)
    ran = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    *outputs, rest = ran.stdout.split(f"{_END}\n")
    assert not rest, rest
    return outputs


@pytest.mark.parametrize("path", SESSIONS, ids=NAMES.get)
def test_console_blocks_show_the_real_output(
    path: Path, tmp_path: Path, environment: dict[str, str], compare: Callable[[Path, str], None]
) -> None:
    """Run the console blocks of a page in order, in one folder; `--rewrite` writes them anew."""
    folder = tmp_path / "checkout"
    shutil.copytree(EXAMPLES, folder / "examples")
    text = TEXTS[path]
    commands = [list(commands_of(block)) for block in _CONSOLE.findall(text)]
    assert all(commands)
    outputs = iter(run_all([one for some in commands for one in some], folder, environment))
    blocks = iter(
        "".join("$ " + one.replace("\n", "\n> ") + "\n" + next(outputs) for one in some)
        for some in commands
    )
    compare(path, _CONSOLE.sub(lambda _: next(blocks), text))


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_first_pages_show_real_output(page: str) -> None:
    assert REPOSITORY / page in SESSIONS


RUN_ALL = """\
import os, runpy, sys
for name in sys.argv[1:]:
    os.chdir(os.path.dirname(name))
    runpy.run_path(name, None, "__main__")
"""


def test_python_examples_run(tmp_path: Path, environment: dict[str, str]) -> None:
    """Those of a page run in one folder, and all of them in one process."""
    programs, tests = [], []
    for place, text in enumerate(TEXTS.values()):
        folder = tmp_path / str(place)
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL)):
            if "import evalstream" in code and "dask_jobqueue" not in code:
                if not folder.exists():
                    folder.mkdir()
                    (folder / "examples").symlink_to(EXAMPLES)
                program = folder / f"test_example{number}.py"
                program.write_text(code, encoding="utf-8")
                (tests if "def test_" in code else programs).append(program)
    assert programs
    subprocess.run([sys.executable, "-c", RUN_ALL, *programs], check=True, env=environment)
    for test in tests:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test.name]
        subprocess.run(words, check=True, cwd=test.parent, env=environment)


@each("path", PAGES, ids=NAMES.get)
def test_links_lead_somewhere_in_the_repository(path: Path) -> None:
    """The build of the site checks that they do so there, too."""
    text = re.sub(r"```.*?```", "", TEXTS[path], flags=re.DOTALL)
    for link in re.findall(r"\]\((?!http)([^)#\s]+)", text):
        assert (path.parent / link).exists(), link


@each("path", PAGES, ids=NAMES.get)
def test_pages_name_only_what_exists(path: Path) -> None:
    text = TEXTS[path]
    for code in _CODE.findall(text):
        assert code in CATALOGUE or (code == EXAMPLE_CODE and path.name == "CONTRIBUTING.md"), code
    for line in text.splitlines():
        known = FORMS if "evalstream ledger" in line else set(REPORTERS)
        known = set(ANSWERS) if "evalstream thresholds" in line else known
        known = set(COMPARISON_REPORTERS) if "evalstream compare" in line else known
        for name in re.findall(r"evalstream .*--format (\w+)", line):
            assert name in known, name
    for name in re.findall(r"`(tests/\w+\.py)`", text):
        assert (REPOSITORY / name).exists(), name


def test_the_conformance_table_names_commands_and_schemas_that_exist() -> None:
    text = TEXTS[DOCS / "conformance.md"]
    named = re.findall(r"`evalstream ([a-z]+)(?: (types|show|list))?", text)
    assert {command for command, _ in named} <= {name.partition(" ")[0] for name in COMMANDS}
    schemas = {
        f"{one.name}/{version}/{document}"
        for one in FORMATS.values()
        for version, documents in one.versions.items()
        for document in documents
    }
    shown = re.findall(r"`evalstream schema show ([^` ]+)", text)
    assert shown
    assert set(shown) <= schemas


def conformance_rows() -> list[list[str]]:
    """Return the rows of the tables on the page of conformance."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in TEXTS[DOCS / "conformance.md"].splitlines()
        if line.startswith("| ") and not line.startswith("| section")
    ]


def test_every_row_of_the_conformance_table_says_whether_and_how() -> None:
    rows = conformance_rows()
    assert len(rows) > 80
    for row in rows:
        assert len(row) == 5, row
        assert row[2] in {"yes", "partly", "no"}, row
        assert row[3], row


def names_of_tests() -> set[str]:
    """Return the names of all test functions."""
    texts = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    return set(re.findall(r"^def (test_\w+)", texts, re.MULTILINE))


@pytest.mark.parametrize(
    ("page", "least"), [(REPOSITORY / "SECURITY.md", 60), (DOCS / "how-to/untrusted-input.md", 8)]
)
def test_each_promise_names_a_test_that_exists(page: Path, least: int) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)`", text)
    assert set(named) <= names_of_tests()
    assert len(named) >= least
    for row in re.findall(r"^\| (?!promise|you name|a )(.+) \|$", text, re.MULTILINE):
        assert page.name != "SECURITY.md" or "`test_" in row, row


def test_every_row_of_the_conformance_table_names_tests_that_exist() -> None:
    known = names_of_tests()
    for row in conformance_rows():
        names = re.findall(r"`(\w+)`", row[4])
        cases = re.findall(r"\bcase (\w+)", row[4])
        assert set(names) <= known, row
        assert all((FINDINGS / f"{code}.json").is_file() for code in cases), row
        assert bool(names or cases) is (row[2] != "no"), row


@each("path", PAGES, ids=NAMES.get)
def test_pages_name_only_paths_that_exist(path: Path) -> None:
    """Paths of the repository and of the package; capitals stand for a name to choose."""
    roots = (REPOSITORY, REPOSITORY / "evalstream", DOCS)
    for name in _PATH.findall(TEXTS[path]):
        is_ours = any((root / name.partition("/")[0]).is_dir() for root in roots)
        to_choose = rf"\b[A-Z]{{4,}}\b|_MODULE|{EXAMPLE_FORMAT}"
        is_example = name in EXAMPLE_PATHS or re.search(to_choose, name)
        if is_ours and not (path.name == "CONTRIBUTING.md" and is_example):
            assert any((root / name).exists() for root in roots), name


def test_contributing_names_only_files_that_exist() -> None:
    known = {path.name for root in (PACKAGE, TESTS) for path in root.rglob("*.*")}
    named = _FILE_NAME.findall(TEXTS[REPOSITORY / "CONTRIBUTING.md"])
    assert [name for name in named if name not in known and "MODULE" not in name] == []


def test_modules_that_texts_name_exist() -> None:
    """Pages, and docstrings and comments of the package, name modules with their dots."""
    sources = {one: one.read_text(encoding="utf-8") for one in PACKAGE.rglob("*.py")}
    for path, text in {**TEXTS, **sources}.items():
        for dotted in _MODULE.findall(_FILE.sub("", text)):
            *parents, last = dotted[1:].split(".")
            if EXAMPLE_FORMAT in parents:
                continue
            place = PACKAGE.joinpath(*parents)
            if not parents or place.is_dir():
                is_module = (place / last).is_dir() or (place / f"{last}.py").is_file()
                assert is_module or hasattr(evalstream, last), (path, dotted)
            else:
                assert place.with_suffix(".py").is_file(), (path, dotted)


def test_the_architecture_shows_every_package() -> None:
    text = TEXTS[DOCS / "architecture.md"].partition("\n## Packages\n")[2]
    shown = set(re.findall(r"^  ([a-z]+)/ ", text, re.MULTILINE))
    assert shown == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_pages_name_only_options_that_exist() -> None:
    options = chain.from_iterable(load_command(name).options for name in COMMANDS)
    # What every command takes, and what git does.
    known = " ".join(
        ["--help --version", "--no-renames", *chain.from_iterable(map(option_spellings, options))]
    )
    for path, text in TEXTS.items():
        if "decisions" in path.parts or path.name in {FOREIGN_TOOLS, "CONTRIBUTING.md"}:
            continue
        for option in re.findall(r"`(--[a-z-]+)", text):
            assert option in known, (path, option)


def test_pipes_fail_with_the_program_that_writes_into_them() -> None:
    blocks = [one for text in TEXTS.values() for one in re.findall(r"```sh\n(.*?)```", text, re.S)]
    piped = [block for block in blocks if "| evalstream" in block]
    assert piped
    for block in piped:
        assert block.startswith("set -o pipefail\n")


def test_every_dependency_has_its_reason() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    listed = project.partition("\ndependencies = [")[2].partition("]")[0]
    names = re.findall(r'"([A-Za-z-]+)>=', listed)
    assert len(names) >= 7
    for name in names:
        assert f"**{name}**" in DECISIONS


def test_decisions_are_numbered_and_listed() -> None:
    records = sorted(path.name for path in (DOCS / "decisions").glob("[0-9]*.md"))
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1))
    index = TEXTS[DOCS / "decisions" / "index.md"]
    for name in records:
        assert f"]({name})" in index
        for part in ("Context", "Decision", "Alternatives", "Consequences"):
            assert f"\n## {part}\n" in TEXTS[DOCS / "decisions" / name], (name, part)


def test_the_site_loads_nothing_from_other_hosts() -> None:
    site = os.environ.get("EVALSTREAM_SITE", "")
    if not site:
        pytest.skip("scripts/test builds the site and names its folder in EVALSTREAM_SITE")
    pages = list(Path(site).rglob("*.html"))
    assert pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"?(?:https?:)?//", text)
        loaded += re.findall(r"<link[^>]*\srel=\"?(?:stylesheet|preconnect)[^>]*//", text)
        assert not loaded, (page, loaded)
        # The theme's scripts would ask the host of the repository, and load a helper for search.
        assert 'data-md-component="source"' not in text
        assert "iframe-worker" not in text


def test_pages_say_the_defaults_of_today() -> None:
    defaults: dict[str, set[float]] = {}
    for option in chain.from_iterable(load_command(name).options for name in COMMANDS):
        if isinstance(option.default, int | float) and not isinstance(option.default, bool):
            for flag in option_spellings(option):
                defaults.setdefault(flag, set()).add(option.default)
    said = [
        (NAMES[path], found)
        for path, text in TEXTS.items()
        for found in _DEFAULT.finditer(text)
        if found[1] in defaults
    ]
    for page, found in said:
        number = float(found[2].replace(",", "")) * (1 << 20 if found[3] else 1)
        assert number in defaults[found[1]], f"{page}: {found[0]} is not {defaults[found[1]]}"
    assert len(said) >= 5


def test_the_page_about_formats_has_every_recipe() -> None:
    page = DOCS / "formats.md"
    missing = [name for name in RECIPES if f"\n| `{name}` | " not in TEXTS[page]]
    assert not missing, f"{NAMES[page]} has no line of {missing} in its table of recipes"
