"""The plan of a log: what its solvers leave as the model gave it, and the settings of the model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import list_or_empty, object_or_empty

_SETTINGS: Final = ("temperature", "top_p", "top_k", "seed", "num_choices", "max_tokens")
"""Settings that the harness passes on to models as they are."""

_PLAIN_SOLVERS: Final = frozenset(
    {"assistant_message", "chain_of_thought", "generate", "prompt_template", "system_message"}
    | {"use_tools", "user_message"}
)
"""Solvers of the harness that change neither outputs nor messages of the model."""

_AGENTS: Final = frozenset({"basic_agent", "basic_agent_loop", "react", "submit_tool"})
"""Agents of the harness, which change outputs, and no messages of tools."""


class Plan:
    """The plan of a log, any JSON value, and the settings of its model."""

    def __init__(self, value: Any, of_model: Any) -> None:
        self._steps, self._config = list_or_empty(member(value, "steps")), member(value, "config")
        self._of_model = object_or_empty(of_model)

    @cached_property
    def is_plain(self) -> bool:
        """Whether all solvers leave outputs as the model gave them."""
        return bool(self._steps) and all(map(_is_plain, self._steps))

    @cached_property
    def leaves_tools(self) -> bool:
        """Whether all solvers leave the messages of tools as they are, also agents."""
        return bool(self._steps) and all(
            _is_plain(one) or text_or_none(member(one, "solver")) in _AGENTS for one in self._steps
        )

    @cached_property
    def ends_with_choices(self) -> bool:
        """Whether the last solver is `multiple_choice`, which selects choices by the completion."""
        return bool(self._steps) and member(self._steps[-1], "solver") == "multiple_choice"

    @cached_property
    def declared_settings(self) -> dict[str, Any]:
        """The declared settings of generation, without those that a step may set.

        Earlier releases have the settings of a step in an object, `kwargs`.
        """
        steps = [object_or_empty(member(one, "params")) for one in self._steps]
        steps += [object_or_empty(one.get("kwargs")) for one in steps]
        found: Mapping[str, Any] = object_or_empty(self._config)
        values = {name: found.get(name) for name in _SETTINGS}
        for name, value in values.items():
            values[name] = self._of_model.get(name) if value is None else value
        return {
            name: value
            for name, value in values.items()
            if value is not None and not any(name in one for one in steps)
        }


def _is_plain(step: Any) -> bool:
    """Tell whether a step leaves outputs as they are; shuffled choices are put in order again."""
    solver = text_or_none(member(step, "solver"))
    if solver == "multiple_choice":
        return not member(member(step, "params"), "shuffle")
    return solver in _PLAIN_SOLVERS
