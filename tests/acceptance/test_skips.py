"""Continuous integration fails where too many tests are skipped."""

from types import SimpleNamespace

import pytest
from paths import REPOSITORY, TESTS


@pytest.mark.parametrize(("count", "is_asked", "code"), [(3, True, 0), (4, True, 1), (4, False, 0)])
def test_too_many_skips_fail_where_it_is_asked(
    count: int,
    is_asked: bool,
    code: int,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conftest = request.config.pluginmanager.get_plugin(str(TESTS / "conftest.py"))
    monkeypatch.setattr(conftest, "MOST_SKIPPED", 3)
    lines: list[str] = []
    reporter = SimpleNamespace(stats={"skipped": [None] * count}, write_line=lines.append)
    plugins = SimpleNamespace(get_plugin={"terminalreporter": reporter}.get)
    config = SimpleNamespace(pluginmanager=plugins, getoption={"--few-skips": is_asked}.get)
    session = SimpleNamespace(config=config, exitstatus=0)
    conftest.pytest_sessionfinish(session)
    assert session.exitstatus == code
    assert bool(lines) == ("tests were skipped, more than" in "".join(lines)) == bool(code)


def test_continuous_integration_asks() -> None:
    assert "scripts/test --few-skips" in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
