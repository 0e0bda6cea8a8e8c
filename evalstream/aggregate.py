"""The aggregate file as a small typed view: what it claims about its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from evalstream.digest import ALGORITHMS, is_hex_digest, normalised

DETAILS: Final = "/detailed_evaluation_results"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate document and the claims that rows can bear out or refute.

    Claims are None where the document makes none, or makes one of the wrong type; the
    schema speaks of the latter.
    """

    file: str
    document: dict[str, Any]

    @property
    def version(self) -> str | None:
        """The schema_version it declares."""
        return _text(self.document.get("schema_version"))

    @property
    def evaluation_id(self) -> str | None:
        """The id that its rows must carry."""
        return _text(self.document.get("evaluation_id"))

    @property
    def model_id(self) -> str | None:
        """The model that its rows must name: model_info.id."""
        model = self.document.get("model_info")
        return _text(model.get("id")) if isinstance(model, dict) else None

    @property
    def evaluation_names(self) -> frozenset[str] | None:
        """The names of its results, None where it lists none."""
        names = frozenset(
            name
            for result in self.results()
            if isinstance(name := result.get("evaluation_name"), str)
        )
        return names or None

    @property
    def details(self) -> dict[str, Any] | None:
        """The object that seals the rows file, None where there is none."""
        details = self.document.get("detailed_evaluation_results")
        return details if isinstance(details, dict) else None

    @property
    def hash_algorithm(self) -> str | None:
        """The declared algorithm, if it is one that we know."""
        algorithm = self.claim("hash_algorithm")
        return algorithm if algorithm in ALGORITHMS else None

    @property
    def checksum(self) -> str | None:
        """The declared checksum as bare lower-case hex, None where it is no digest."""
        declared = self.claim("checksum")
        if not isinstance(declared, str):
            return None
        bare = normalised(declared)
        return bare if is_hex_digest(bare) else None

    @property
    def file_path(self) -> str | None:
        """The declared path of the rows file."""
        return _text(self.claim("file_path"))

    def claim(self, member: str) -> Any:
        """Return a member of detailed_evaluation_results as it stands, None where absent."""
        return None if self.details is None else self.details.get(member)

    def results(self) -> Iterator[dict[str, Any]]:
        """Iterate over the results that are objects."""
        results = self.document.get("evaluation_results")
        if isinstance(results, list):
            yield from (result for result in results if isinstance(result, dict))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
