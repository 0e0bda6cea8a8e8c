"""Make a case that fails smaller: fewer lines, fewer options, smaller rows."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson

from fuzz.cases import PROBED, Case

Fails = Callable[[Case], bool]


def shrunk(case: Case, fails: Fails, seconds: float = 20.0) -> Case:
    """Return a smaller case that fails in the same way; it takes so many seconds at most."""
    end = time.monotonic() + seconds

    def still(other: Case) -> bool:
        return time.monotonic() < end and fails(other)

    for _ in range(2):
        case = _simpler(case, still)
        case = _fewer_lines(case, still)
        case = _fewer_settings(case, still)
        case = _smaller_rows(case, still)
    return case


_PLAIN: Final[tuple[dict[str, Any], ...]] = (
    {"is_run": False},
    {"is_array": False},
    {"rooms": None},
    {"cuts": ()},
    {"aggregate": None},
)


def _simpler(case: Case, fails: Fails) -> Case:
    for change in _PLAIN:
        case = _first_that(fails, [case._replace(**change)], case)
    return case


def _first_that(fails: Fails, candidates: list[Case], case: Case) -> Case:
    return next((other for other in candidates if other != case and fails(other)), case)


def _with_lines(case: Case, lines: tuple[bytes, ...]) -> list[Case]:
    """Return a case with other lines, and such a head, or with the head as it was."""
    fewer = case._replace(lines=lines, cuts=())
    return [fewer._replace(head=b"".join(lines[:PROBED])), fewer]


def _fewer_lines(case: Case, fails: Fails) -> Case:
    size = len(case.lines)
    while size:
        start = 0
        while start < len(case.lines):
            left = case.lines[:start] + case.lines[start + size :]
            smaller = _first_that(fails, _with_lines(case, left), case) if left else case
            start += size if smaller is case else 0
            case = smaller
        size //= 2
    return case


def _fewer_settings(case: Case, fails: Fails) -> Case:
    for name in [*case.settings]:
        kept = {one: value for one, value in case.settings.items() if one != name}
        case = _first_that(fails, [case._replace(settings=kept)], case)
    for name in ("select", "ignore"):
        for code in case.settings.get(name, ()):
            rest = tuple(one for one in case.settings[name] if one != code)
            if rest:
                other = case._replace(settings={**case.settings, name: rest})
                case = _first_that(fails, [other], case)
    return case


def _smaller_rows(case: Case, fails: Fails) -> Case:
    if len(case.lines) > 4:
        return case
    for place in range(len(case.lines)):
        for keys in list(_places(_parsed(case.lines[place]))):
            row = _parsed(case.lines[place])
            if _removed(row, keys):
                end = b"\n" if case.lines[place].endswith(b"\n") else b""
                lines = (
                    *case.lines[:place], orjson.dumps(row) + end, *case.lines[place + 1 :],
                )  # fmt: skip
                case = _first_that(fails, _with_lines(case, lines), case)
    return case


def _parsed(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        return None


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = reversed([*enumerate(value)])
    for key, inner in items:
        yield (*place, key)
        yield from _places(inner, (*place, key))


def _removed(row: Any, place: tuple[Any, ...]) -> bool:
    inner = row
    try:
        for key in place[:-1]:
            inner = inner[key]
        del inner[place[-1]]
    except (KeyError, IndexError, TypeError):
        return False
    return True
