"""Many cases in a few tests: collecting and running thousands of tests costs more than they do."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from depth import is_deep

GROUP = 64
"""The number of cases of one test."""

NAMED = 8
"""How many of the cases that fail the first line of a report names."""

Ids = Iterable[Any] | Callable[[Any], Any] | None


def each(
    names: str | Sequence[str], cases: Iterable[Any], ids: Ids = None, group: int = GROUP
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each case, `group` cases at a time; all that fail are reported together.

    It takes names, cases and ids as `pytest.mark.parametrize` does; cases that are `deep` run in a
    deep search alone. A test is called by its first and its last case, and `-k` finds it by any of
    them (`case_labels`). If no case fails and some cannot run here, the test counts as skipped,
    with their number. Each case gets a `tmp_path`, a `monkeypatch` and a `caplog` of its own.
    """
    listed = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    kept = (case for case in cases if is_deep() or not isinstance(case, ParameterSet))
    values = [_values(case, len(listed)) for case in kept]
    labelled = list(zip(_labels(values, ids), values, strict=True))
    groups = [labelled[start : start + group] for start in range(0, len(labelled), group)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run_group(*, _group: Sequence[tuple[str, tuple[Any, ...]]], **fixtures: Any) -> None:
            failures: dict[str, Exception] = {}
            skipped: list[str] = []
            for number, (label, case) in enumerate(_group):
                try:
                    _run_case(test, number, {**fixtures, **dict(zip(listed, case, strict=True))})
                except pytest.skip.Exception as error:
                    skipped.append(f"{label}: {error.msg}")
                except Exception as error:  # noqa: BLE001 - any failure is the case's
                    error.add_note(f"in the case {label}")
                    failures[f"{label} ({number})" if label in failures else label] = error
            if failures:
                named = [*failures][:NAMED] + ["..."] * (len(failures) > NAMED)
                failed = ExceptionGroup(f"of {len(_group)} cases", [*failures.values()])
                raise AssertionError(f"{', '.join(named)} failed") from failed
            if skipped:
                pytest.skip(f"{len(skipped)} of {len(_group)} cases ({skipped[0]})")

        signature = inspect.signature(test)
        first = inspect.Parameter("_group", inspect.Parameter.KEYWORD_ONLY)
        others = [
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in signature.parameters.values()
            if one.name not in listed
        ]
        run_group.__signature__ = signature.replace(parameters=[first, *others])  # type: ignore[attr-defined]
        labels = ["..".join(dict.fromkeys((some[0][0], some[-1][0]))) for some in groups]
        return pytest.mark.parametrize("_group", groups, ids=labels)(run_group)

    return decorate


def case_labels(item: pytest.Item) -> list[str]:
    """Return the labels of the cases of a test."""
    call = getattr(item, "callspec", None)
    return [] if call is None else [label for label, _ in call.params.get("_group", ())]


def _run_case(test: Callable[..., None], number: int, given: dict[str, Any]) -> None:
    if isinstance(folder := given.get("tmp_path"), Path):
        given["tmp_path"] = folder / str(number)
        given["tmp_path"].mkdir()
    if isinstance(log := given.get("caplog"), pytest.LogCaptureFixture):
        log.clear()
    if "monkeypatch" in given:
        with pytest.MonkeyPatch.context() as given["monkeypatch"]:
            test(**given)
    else:
        test(**given)


def _values(case: Any, number: int) -> tuple[Any, ...]:
    if isinstance(case, ParameterSet):
        return case.values
    return (case,) if number == 1 else tuple(case)


def _labels(values: Sequence[tuple[Any, ...]], ids: Ids) -> list[str]:
    if ids is None:
        return ["-".join(map(_label, case)) for case in values]
    if callable(ids):
        return ["-".join(str(ids(value)) for value in case) for case in values]
    return [str(one) for one, _ in zip(ids, values, strict=False)]


def _label(value: Any) -> str:
    if isinstance(value, str | bytes | int | float | None):
        return repr(value)[:60]
    # Not the text of other values: that of a set differs between the processes of one run.
    return str(getattr(value, "__name__", type(value).__name__))
