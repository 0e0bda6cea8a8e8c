"""Writes what a release fixes into the files that name it, and checks these files.

    python scripts/release.py fill VERSION OWNER/NAME CONTACT
    python scripts/release.py check TAG

`fill` writes the version, its date, the address of the repository and the contact for reports;
`check` prints what is missing, and its exit code is the number of these problems.
"""

import re
import runpy
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPOSITORY, CONTACT = "OWNER/REPOSITORY", "CONTACT_ADDRESS"
"""What stands for the address at GitHub and for the contact, until a release fills them in."""

PUBLISHED = {
    "It is not in a package index yet; install it\nfrom a checkout of this repository:": (
        "Install it from\nthe package index:"
    ),
    "In a checkout of the repository:\n\n```sh\npip": "From the package index:\n\n```sh\npip",
}
"""What the first pages say about the installation, before and after the first release."""

NEXT = "\nsince: NEXT\n"
"""What the page of a new rule says until the release that has it first."""

_PINNED_TAG = re.compile(r"(?:(?<=\w@)|(?<=\brev: )|(?<=\btag `))v\d+\.\d+\.\d+")
_FREE_ACTION = re.compile(r"^\s*-?\s*uses: (?!\./)(\S+@(?![0-9a-f]{40}\b)\S+)", re.MULTILINE)
_LOCAL_INSTALL = re.compile(r"(?<=pip install )('?)\.(\[[\w,]+\])?(?=['\s])")


def texts(root: Path) -> Iterator[Path]:
    """Yield the files that name the address, the contact or the version."""
    named = ("pyproject.toml", "mkdocs.yml", "CITATION.cff", "evalstream/_version.py")
    yield from (root / name for name in named)
    yield from (path for path in sorted(root.glob("*.md")) if path.name != "CHANGELOG.md")
    yield from sorted((root / "docs").rglob("*.md"))
    yield from sorted((root / ".github").rglob("*.*"))


def pages(root: Path) -> Iterator[Path]:
    """Yield the pages of rules."""
    yield from sorted((root / "evalstream").rglob("rules/*.md"))


def fill(root: Path, version: str, repository: str, contact: str) -> None:
    """Write version, today's date, address and contact wherever they stand."""
    today = datetime.now(UTC).date().isoformat()
    for path in texts(root):
        text = path.read_text(encoding="utf-8")
        filled = text.replace(REPOSITORY, repository).replace(CONTACT, contact)
        if any(before in filled for before in PUBLISHED):
            for before, after in PUBLISHED.items():
                filled = filled.replace(before, after)
            filled = _LOCAL_INSTALL.sub(r"\1evalstream\2", filled)
        if path.parent != root:
            filled = _PINNED_TAG.sub(f"v{version}", filled)
        elif path.name == "CITATION.cff":
            filled = re.sub(r"(?m)^version: .*$", f"version: {version}", filled)
            filled = re.sub(r"(?m)^date-released: .*$", f"date-released: {today}", filled)
        if filled != text:
            path.write_text(filled, encoding="utf-8")
    written = root / "evalstream" / "_version.py"
    text = written.read_text(encoding="utf-8")
    written.write_text(re.sub(r'"\d[^"]*"', f'"{version}"', text), encoding="utf-8")
    for path in pages(root):
        text = path.read_text(encoding="utf-8")
        if NEXT in text:
            path.write_text(text.replace(NEXT, f"\nsince: {version}\n", 1), encoding="utf-8")
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if f"\n## [{version}]" not in text:
        heading = f"## [Unreleased]\n\n## [{version}] - {today}"
        changelog.write_text(text.replace("## [Unreleased]", heading, 1), encoding="utf-8")


def problems(root: Path, tag: str) -> list[str]:
    """Return what a release of this tag still needs, in sentences."""
    version = runpy.run_path(str(root / "evalstream" / "_version.py"))["__version__"]
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, but evalstream/_version.py has {version}")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading: ## [{version}] - YYYY-MM-DD")
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        found.append(f"CITATION.cff does not name the version {version}")
    for path in texts(root):
        name, text = path.relative_to(root), path.read_text(encoding="utf-8")
        found += [f"{name} has {one}" for one in (REPOSITORY, CONTACT) if one in text]
        if any(before in text for before in PUBLISHED):
            found.append(f"{name} says that evalstream is in no package index")
        if name.parts[0] == "docs":
            found += [f"{name} names {one}" for one in {*_PINNED_TAG.findall(text)} - {tag}]
    new = (one for one in pages(root) if NEXT in one.read_text(encoding="utf-8"))
    found += [f"{one.relative_to(root)} says: since: NEXT" for one in new]
    for path in [root / "action.yml", *sorted((root / ".github" / "workflows").glob("*.yml"))]:
        free = _FREE_ACTION.findall(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(root)}: {one} is not pinned to a commit" for one in free]
    return found


def main(arguments: list[str]) -> int:
    """Fill the files, or print what a release still needs and return how much that is."""
    match arguments:
        case ["fill", version, repository, contact] if repository.count("/") == 1:
            fill(ROOT, version, repository, contact)
            found = problems(ROOT, f"v{version}")
        case ["check", tag]:
            found = problems(ROOT, tag)
        case _:
            sys.exit(__doc__)
    for one in found:
        print(one, file=sys.stderr)
    return len(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
