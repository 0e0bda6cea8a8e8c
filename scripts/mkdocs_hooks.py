"""The hook of MkDocs: adds generated pages and those of the root of the repository to the site.

Links of pages work in the repository as well as here. The reference is generated, so that pages
link to its page in the repository, with the part of the reference as the anchor.
"""

import posixpath
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
# The pages describe this checkout, even if another evalstream is installed.
sys.path.insert(0, str(ROOT))

from reference.pages import FOLDER, pages  # noqa: E402

ROOT_PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "LICENSE": "project/licence.md",
    "SECURITY.md": "project/security.md",
}
"""Files of the root of the repository, and their pages on the site."""

PARTS = {
    "command-line": "command-line.md",
    "comparisons": "comparison.md",
    "formats": "formats.md",
    "gates": "gates.md",
    "python": "python.md",
    "reports": "report.md",
    "rules": "rules/index.md",
    "settings": "settings.md",
}
"""Generated pages by the anchor of their section in `reference/README.md`."""

_LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]*)(#[^)\s]*)?(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and those of the root, to the files of the site."""
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    for name, path in ROOT_PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        if name == "LICENSE":
            text = f"# Licence\n\n{text.partition(chr(10))[2]}"
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page with links that lead to pages of the site."""
    del config, files
    place = page.file.src_uri
    names = {path: name for name, path in ROOT_PAGES.items()}
    source = names.get(place, f"docs/{place}")
    return _LINK.sub(lambda found: site_link(found, source, place), markdown)


def site_link(found: re.Match[str], source: str, place: str) -> str:
    """Return a link of the file `source` of the repository as a link of the page at `place`."""
    link, anchor = found[1], found[2] or ""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link)) if link else source
    if target == f"docs/{FOLDER}/README.md" and anchor[1:] in PARTS:
        page, anchor = f"{FOLDER}/{PARTS[anchor[1:]]}", ""
    elif link and target in ROOT_PAGES:
        page = ROOT_PAGES[target]
    elif link and source in ROOT_PAGES and target.startswith("docs/"):
        page = target.removeprefix("docs/")
    else:
        return found[0]
    return posixpath.relpath(page, posixpath.dirname(place) or ".") + anchor
