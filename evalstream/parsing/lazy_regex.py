"""Regular expressions that are compiled on first use: a small run needs few of all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import AnyStr

    class LazyPattern(re.Pattern[AnyStr]):  # type: ignore[misc]  # only there it is final
        """A regular expression with the methods of `re.Pattern`."""

        def __init__(self, pattern: AnyStr, flags: int = 0) -> None: ...

else:

    class LazyPattern:
        """A regular expression with the methods of `re.Pattern`; the first call compiles it."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self._source = pattern, flags

        def __getattr__(self, name: str) -> Any:
            """Take over a method of the compiled pattern, which is found at once from now on."""
            if name.startswith("_"):
                raise AttributeError(name)
            method = getattr(re.compile(*self._source), name)
            setattr(self, name, method)
            return method
