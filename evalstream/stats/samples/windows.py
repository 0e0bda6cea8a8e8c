"""Two sorted streams of records, read side by side in windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from evalstream.parsing.native.sample_layouts import Window

Results = tuple[bytes, bytes, bytes]

Step = Callable[[Window, Window], Results]
"""Uses what it can of both windows, and says which of them it wants more of."""


def zip_windows(a: Iterable[bytes], b: Iterable[bytes], size: int, step: Step) -> Iterator[Results]:
    """Iterate over the results of `step` for two streams of records of `size` bytes."""
    sides = [(Window(), iter(a)), (Window(), iter(b))]
    while True:
        for window, chunks in sides:
            if window.wants_more:
                _read(window, chunks, size)
        results = step(sides[0][0], sides[1][0])
        if any(results):
            yield results
        if not any(window.wants_more for window, _ in sides):
            return


def _read(window: Window, chunks: Iterator[bytes], size: int) -> None:
    """Read the next chunk of a window, behind what was not used."""
    chunk = next(chunks, None)
    if chunk is None:
        window.is_last = True
        return
    rest = window.records[window.used * size :]
    window.records, window.used = rest + chunk if rest else chunk, 0
