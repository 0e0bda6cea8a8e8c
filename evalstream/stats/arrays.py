"""The type of arrays whose elements mypy does not follow."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
