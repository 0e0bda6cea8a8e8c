"""Check a response of EvalGuard's API (section 4.5): its paging, and the documents in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.evalguard.documents import LISTS, detect_endpoint, schema_name
from evalstream.formats.evalguard.rules.documents import EVG101, without_unknown
from evalstream.formats.evalguard.rules.responses import paging
from evalstream.formats.evalguard.views import Document, Folder, Subject, as_list
from evalstream.model.finding import Violation
from evalstream.parsing.json import pointer

Check = Callable[[Subject], Iterator[Violation]]
"""Returns what is wrong with a document among others."""


class Response(NamedTuple):
    """A response: the endpoint that answered, its content, and its documents by their index."""

    endpoint: str
    value: Mapping[str, Any]
    entries: tuple[tuple[int, Document], ...]

    def violations(
        self, documents: DocumentCheck, folder: Folder, check: Check
    ) -> Iterator[Violation]:
        """Yield what is wrong with the response and, by `check`, with the documents in it.

        References lead to the documents of the folder, if that was named, too.
        """
        schema = schema_name(f"{self.endpoint}_response")
        found = documents.schema_violations(schema, dict(self.value), EVG101.code)
        yield from map(without_unknown, found)
        yield from paging(self.endpoint, self.value)
        among = self._among(folder)
        for index, document in self.entries:
            start = pointer((self.endpoint, index))
            for violation in check(Subject(document, among)):
                yield violation._replace(pointer=start + (violation.pointer or ""))

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents in the response."""
        return tuple(document for _, document in self.entries)

    def _among(self, folder: Folder) -> Folder:
        """Return the documents that those of the response may refer to, and they themselves.

        A response may repeat documents of the folder: each id belongs to its own document here.
        """
        alone = Folder(followed=False)
        for document in self.documents:
            alone.add(document)
        if not folder.followed:
            return alone
        owners = {kind: {**known, **alone.owners[kind]} for kind, known in folder.owners.items()}
        return replace(folder, owners=owners, _ranges={}, _listed={}, _last=None)


def make_response(name: str, value: Mapping[str, Any]) -> Response:
    """Return the response in a file, whose name in reports is `name`."""
    endpoint = detect_endpoint(value) or ""
    kind = LISTS.get(endpoint)
    listing = () if kind is None else enumerate(as_list(value.get(endpoint)))
    entries = (
        (index, Document(name, kind, one, None))
        for index, one in listing
        if kind is not None and isinstance(one, dict)
    )
    return Response(endpoint, value, tuple(entries))
