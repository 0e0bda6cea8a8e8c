"""The hook of MkDocs that adds the reference pages to the site."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
# The pages describe this checkout, even if another evalstream is installed.
sys.path.insert(0, str(ROOT))

from reference.pages import pages  # noqa: E402


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the files of the site."""
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files
