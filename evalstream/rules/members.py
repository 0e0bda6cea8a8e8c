"""Requirements on the members of objects, stated as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation
from evalstream.parsing.json import pointer, type_name
from evalstream.rules.base import Rule


class MemberRequirement(NamedTuple):
    """A requirement on a member: `noun` says in messages what its value must be.

    `expected` is shown with a value that is not accepted. Without `is_needed` the member may be
    missing.
    """

    key: str
    noun: str
    accepts: Callable[[Any], bool]
    expected: Any = None
    is_needed: bool = True


def check_members(
    rule: Rule,
    value: Mapping[str, Any],
    requirements: Iterable[MemberRequirement],
    place: str = "",
    *,
    names_type: bool = False,
) -> Iterator[Violation]:
    """Yield the members of the object at a pointer that are missing or not accepted.

    With `names_type` messages name the type of the value.
    """
    for key, noun, accepts, expected, is_needed in requirements:
        if key not in value:
            if is_needed:
                yield rule.violation(f"{key} is missing", place)
        elif not accepts(found := value[key]):
            message = f"{key} must be {noun}" + (f", not {type_name(found)}" if names_type else "")
            yield rule.violation(message, place + pointer([key]), expected=expected, found=found)


def is_a(*types: type) -> Callable[[Any], bool]:
    """Return a test whether a value has one of some types; true and false are not integers."""

    def accepts(value: Any) -> bool:
        return isinstance(value, types) and (bool in types or not isinstance(value, bool))

    return accepts
