"""The wheel works by itself, outside the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
EXAMPLES = CHECKOUT / "examples"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*command, str(CHECKOUT)], check=True, capture_output=True, cwd=folder)
    (wheel,) = folder.glob("evalstream-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


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
    ours = {
        path.relative_to(CHECKOUT / "schemas") for path in CHECKOUT.glob("schemas/**/*.schema.*")
    }
    theirs = unpacked / "evalstream" / "schemas"
    assert {path.relative_to(theirs) for path in theirs.glob("**/*.schema.*")} == ours
    assert ours


def test_the_wheel_holds_the_package_and_nothing_else(unpacked: Path) -> None:
    top = {path.name for path in unpacked.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"evalstream"}
    assert (unpacked / "evalstream" / "py.typed").is_file()


def test_the_schemas_are_found_inside_the_wheel(unpacked: Path) -> None:
    ran = run_from(unpacked, "from evalstream.schema import schema_folder as f; print(f())")
    assert ran.stdout.strip() == str(unpacked / "evalstream" / "schemas"), ran.stderr


def test_the_main_job_runs_from_the_wheel(unpacked: Path) -> None:
    rows, aggregate = EXAMPLES / "run.jsonl", EXAMPLES / "aggregate.json"
    code = "from evalstream.cli import main; main()"
    ran = run_from(unpacked, code, "check", str(rows), "--aggregate", str(aggregate))
    assert ran.returncode == 0, ran.stderr
    assert ": passed: 8 rows, no findings" in ran.stdout
