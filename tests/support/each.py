"""Many cases in a few tests: collecting and running thousands of tests costs more than they do."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

GROUP = 64
"""The number of cases of one test."""


def each(
    name: str, cases: Sequence[Any], ids: Callable[[Any], str] = str, group: int = GROUP
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each case, `group` cases at a time; all that fail are reported together.

    If none fails and some cannot run here, the test counts as skipped, with their number.
    Each case of a test with `tmp_path` gets a folder of its own.
    """
    groups = [cases[start : start + group] for start in range(0, len(cases), group)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run_group(*, _group: Sequence[Any], **fixtures: Any) -> None:
            failures: list[Exception] = []
            skipped: list[str] = []
            for number, case in enumerate(_group):
                given = {**fixtures, name: case}
                if isinstance(folder := given.get("tmp_path"), Path):
                    given["tmp_path"] = folder / str(number)
                    given["tmp_path"].mkdir()
                try:
                    test(**given)
                except pytest.skip.Exception as error:
                    skipped.append(f"{ids(case)}: {error.msg}")
                except Exception as error:  # noqa: BLE001 - any failure is the case's
                    error.add_note(f"in the case {ids(case)}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(_group)} cases failed", failures)
            if skipped:
                pytest.skip(f"{len(skipped)} of {len(_group)} cases ({skipped[0]})")

        signature = inspect.signature(test)
        swapped = [
            one.replace(name="_group") if one.name == name else one
            for one in signature.parameters.values()
        ]
        run_group.__signature__ = signature.replace(parameters=swapped)  # type: ignore[attr-defined]
        labels = [ids(some[0]) for some in groups]
        return pytest.mark.parametrize("_group", groups, ids=labels)(run_group)

    return decorate
