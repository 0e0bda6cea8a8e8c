"""The wheel works by itself, outside the checkout."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from functools import cache
from pathlib import Path

import pytest
from paths import EXAMPLES, REPOSITORY, SCHEMAS

import evalstream
from evalstream.formats.registry import CATALOGUE
from evalstream.parsing.native import binding
from evalstream.parsing.native.sources import sources_digest

NEEDED = ("evalstream", "schemas", "scripts", "pyproject.toml", "README.md", "LICENSE")
"""What a wheel is made of."""


def unpacked_wheel(checkout: Path, folder: Path, **environment: str) -> Path:
    """Build a wheel and unpack it, with its name beside it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    variables = {**os.environ, **environment}
    subprocess.run(command, check=True, capture_output=True, cwd=checkout, env=variables)
    (wheel,) = folder.glob("evalstream-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a wheel is made of: a build writes into the folder, where other tests read."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in NEEDED:
        source = REPOSITORY / name
        take = shutil.copytree if source.is_dir() else shutil.copy2
        take(source, copy / name)
    return copy


@pytest.fixture(scope="module")
def unpacked(copied: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with the library that was compiled when the checkout was installed."""
    folder = tmp_path_factory.mktemp("wheel")
    compiler = folder / "compiler"
    compiler.write_text(
        f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp {binding.LIBRARY} "$2"\n'
    )
    compiler.chmod(0o755)
    return unpacked_wheel(copied, folder, CC=str(compiler))


@pytest.fixture(scope="module")
def without_compiler(copied: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that was built where the compiler does not work."""
    return unpacked_wheel(copied, tmp_path_factory.mktemp("pure"), CC="false")


@pytest.mark.deep
def test_the_sources_hold_every_file_of_the_repository(tmp_path: Path) -> None:
    """They hold what runs and tests it as well; scripts/wheel tries them."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("the sources are not a repository")
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", tmp_path]
    subprocess.run([*command, REPOSITORY], check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        held = {one.name.partition("/")[2] for one in sources.getmembers()}
        modes = {one.name.partition("/")[2]: one.mode for one in sources.getmembers()}
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    assert {name for name in listed if name and (REPOSITORY / name).is_file()} - held == set()
    assert all(modes[name] & 0o100 for name in ("scripts/run", "scripts/test", ".ci/run"))


def test_links_of_the_description_lead_to_the_repository(unpacked: Path) -> None:
    (metadata,) = unpacked.glob("*.dist-info/METADATA")
    text = metadata.read_text(encoding="utf-8")
    version = re.escape(evalstream.__version__)
    address = rf"https://github\.com/[\w-]+/[\w-]+/blob/v{version}"
    assert re.search(rf"\]\({address}/docs/tutorial\.md\)", text)
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []
    assert "Project-URL: Repository, https://github.com/" in text


def run_from(site: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(site)!r}); {code}"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=site.parent,
    )


def test_the_wheel_brings_every_schema(unpacked: Path) -> None:
    ours = {path.relative_to(SCHEMAS) for path in SCHEMAS.rglob("*.schema.*")}
    theirs = unpacked / "evalstream" / "schemas"
    assert {path.relative_to(theirs) for path in theirs.glob("**/*.schema.*")} == ours
    assert ours


def test_the_wheel_brings_the_page_of_every_rule(unpacked: Path) -> None:
    assert {path.stem for path in unpacked.glob("evalstream/**/rules/*.md")} == set(CATALOGUE)
    ran = run_from(unpacked, "from evalstream.cli import main; main()", "explain", "ES401")
    assert "\n\nHow to fix: " in ran.stdout, ran.stderr


def test_the_wheel_holds_the_package_and_nothing_else(unpacked: Path) -> None:
    top = {path.name for path in unpacked.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"evalstream"}
    assert (unpacked / "evalstream" / "py.typed").is_file()


def test_the_schemas_are_found_inside_the_wheel(unpacked: Path) -> None:
    ran = run_from(
        unpacked, "from evalstream.parsing.schema_files import schema_folder as f; print(f())"
    )
    assert ran.stdout.strip() == str(unpacked / "evalstream" / "schemas"), ran.stderr


def test_the_main_job_runs_from_the_wheel(unpacked: Path) -> None:
    rows, aggregate = EXAMPLES / "run.jsonl", EXAMPLES / "aggregate.json"
    code = "from evalstream.cli import main; main()"
    ran = run_from(unpacked, code, "check", str(rows), "--aggregate", str(aggregate))
    assert ran.returncode == 0, ran.stderr
    assert ": 8 rows, no findings" in ran.stdout


def test_the_wheel_brings_the_scanner_and_no_sources(unpacked: Path) -> None:
    assert list(unpacked.glob("evalstream/parsing/native/libscanner.*"))
    assert not list(unpacked.glob("**/*.[ch]"))
    (wheel,) = unpacked.parent.glob("*.whl")
    assert "-py3-none-" in wheel.name
    assert not wheel.name.endswith("-any.whl")


def version_of(site: Path) -> str:
    ran = run_from(site, "from evalstream.cli import main; main()", "--version")
    return ran.stdout.strip() or ran.stderr


@pytest.mark.deep
def test_without_a_compiler_the_same_is_checked_and_the_version_says_so(
    unpacked: Path, without_compiler: Path
) -> None:
    plain = f"evalstream {evalstream.__version__}"
    assert version_of(unpacked) == plain
    assert version_of(without_compiler).startswith(f"{plain}, without its scanner")
    (wheel,) = without_compiler.parent.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    arguments = ("check", str(EXAMPLES), "--format", "jsonl")
    code = "from evalstream.formats.eee import row_engine; row_engine.WORTH_A_SCANNER_BYTES = 0; "
    code += "from evalstream.cli import main; main()"
    reports = [run_from(site, code, *arguments) for site in (unpacked, without_compiler)]
    told = [re.sub(r'"seconds":[0-9.e-]+', "", ran.stdout) for ran in reports]
    assert told[0] == told[1]
    assert '"rows":8' in told[0], reports[0].stderr


def test_a_build_without_the_scanner_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = runpy.run_path(str(REPOSITORY / "scripts" / "build_scanner.py"))
    for value, pure in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("EVALSTREAM_PURE", value)
        assert hook["is_pure"]() is pure


def test_a_wheel_that_works_is_known_from_one_without_its_scanner(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = runpy.run_path(str(REPOSITORY / "scripts" / "wheel_works.py"))["main"]
    monkeypatch.chdir(unpacked)
    monkeypatch.setenv("PYTHONPATH", str(unpacked))
    monkeypatch.setitem(works.__globals__, "evalstream", cache(works.__globals__["evalstream"]))
    assert [works(EXAMPLES, pure=pure) for pure in (False, True)] == [0, 1]


def test_a_library_of_other_sources_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = Path(binding.LIBRARY).parent
    shutil.copytree(native, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(binding, "LIBRARY", str(tmp_path / Path(binding.LIBRARY).name))
    # When something was written says nothing of what it was compiled from.
    os.utime(binding.LIBRARY, (0, 0))
    assert binding.library.__wrapped__() is not None
    source = tmp_path / "shape.c"
    content = source.read_text()
    source.write_text(f"{content}/* changed */\n")
    assert binding.library.__wrapped__() is None
    source.write_text(content)
    assert binding.library.__wrapped__() is not None
    (tmp_path / "more.h").touch()
    assert binding.library.__wrapped__() is None


def test_without_sources_the_digest_of_the_build_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, written = tmp_path / Path(binding.LIBRARY).name, tmp_path / binding.DIGEST
    shutil.copy(binding.LIBRARY, compiled)
    monkeypatch.setattr(binding, "LIBRARY", str(compiled))
    assert binding.library.__wrapped__() is None
    digest = sources_digest(REPOSITORY / "evalstream" / "parsing" / "native")
    for text, is_used in ((f"{digest}\n", True), ("0" * 64, False), ("\u00fc", False)):
        written.write_text(text, encoding="utf-8")
        assert (binding.library.__wrapped__() is not None) == is_used


@pytest.mark.parametrize("content", [None, b"no library", b""])
def test_what_is_no_library_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    compiled = tmp_path / Path(binding.LIBRARY).name
    if content is not None:
        compiled.write_bytes(content)
    monkeypatch.setattr(binding, "LIBRARY", str(compiled))
    assert binding.library.__wrapped__() is None


def test_a_scanner_with_other_structures_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "_SIZES", (1, *binding._SIZES[1:]))
    assert binding.library.__wrapped__() is None
