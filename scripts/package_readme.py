"""Gives the package its description: README.md with links that work outside the repository.

It is a hook of hatchling. The package index shows the description on a site of its own, where a
relative link leads nowhere.
"""

import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(?<=\]\()(?!https?:|#)")


class ReadmeHook(MetadataHookInterface):
    """Adds the description to the metadata of a build."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field `readme`."""
        root = Path(self.root)
        version = runpy.run_path(str(root / "evalstream" / "_version.py"))["__version__"]
        text = (root / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, f"{metadata['urls']['Repository']}/blob/v{version}/"),
        }


def absolute_links(text: str, base: str) -> str:
    """Return Markdown text whose relative links begin with the address of the sources."""
    return _RELATIVE.sub(base, text)
