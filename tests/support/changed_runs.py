"""Runs that are fixed or migrated: their files, their findings, and faulty ones of the corpus."""

import hashlib
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from corpus import CORPUS, expectations

import evalstream
from evalstream.model.finding import Severity


def files_of(folder: Path) -> dict[Path, tuple[bytes, int]]:
    """Return the files below a folder with their contents and times."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def errors_in(path: Path, **more: Any) -> Counter[str]:
    """Count the errors that a check finds, by code."""
    report = evalstream.check(path, max_findings=0, jobs=1, **more)
    return Counter(found.code for found in report if found.severity is Severity.ERROR)


def link_cases() -> list[str]:
    """Return the names of the faulty pairs of the corpus."""
    return [case["case"] for case in expectations("link-cases/expected.json").get("cases", [])]


def older(case: str, folder: Path) -> Path:
    """Copy a faulty pair as one of version 0.2.2; what was sealed right stays so."""
    expected = expectations("link-cases/expected.json")
    shutil.copytree(CORPUS / "link-cases" / case, folder)
    rows, aggregate = folder / expected["samples_path"], folder / expected["aggregate_path"]
    data = rows.read_bytes() if rows.exists() else b""
    text = aggregate.read_bytes().replace(b'"0.3.0"', b'"0.2.2"')
    aged = data.replace(b'"0.3.0"', b'"0.2.2"')
    for algorithm in ("sha256", "md5"):
        old, new = (hashlib.new(algorithm, one).hexdigest() for one in (data, aged))
        text = text.replace(old.encode(), new.encode())
        text = text.replace(old.upper().encode(), new.upper().encode())
    aggregate.write_bytes(text)
    if rows.exists():
        rows.write_bytes(aged)
    return folder


def codes_in(path: Path) -> Counter[str]:
    """Count all findings of a check, by code."""
    report = evalstream.check(path, max_findings=0, jobs=1)
    return Counter(found.code for found in report)
