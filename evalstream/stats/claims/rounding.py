"""Compare a claimed figure with the exact one, at the digits that the claim was written with."""

from __future__ import annotations

import math
import struct
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, localcontext
from enum import IntEnum
from fractions import Fraction
from typing import Final

WHOLE_BELOW: Final = 10
"""A smaller whole number does not show its precision: 1 is the exact 1, 75 may be rounded."""

CERTAIN_DIGITS: Final = 3
"""Fewer digits leave too much room for rounding; from this many on truncation counts, too."""

ROUNDING: Final = Decimal("1e-9")
"""The largest rounding error of float sums, relative to the larger value."""

TIE: Final = Decimal("1e-3")
"""How far from a tie, in last units of a claim, a rounding error may turn it to either side."""

CERTAIN: Final = 1e-10
"""The largest difference of two doubles, relative to one, that is surely below ROUNDING."""

NOTHING: Final = Decimal("1e-12")
"""The difference that is negligible beside scores of about 1 and above."""

EXACT: Final = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""A decimal context that keeps all digits of sums and products, not of quotients and powers."""

HALF: Final = Decimal("0.5")

WHOLE_UNIT: Final = Decimal("0.001")
"""The precision of a small whole number: 0.9997 is also written as 1.0 after rounding."""


class Agreement(IntEnum):
    """The relation of a claim to a recomputed figure.

    ROUGH means that the figure rounds to the claim, but that the claim has too few digits to be
    significant: 0.8 is the rounded form of everything from 0.75 to 0.85.
    """

    NONE = 0
    ROUGH = 1
    FULL = 2


SINGLE_DIGITS: Final = 9
"""The digits that identify every single-precision number; more digits show that it was one."""

LARGEST_SINGLE: Final = 3e38

FLOAT: Final = struct.Struct("f")

FLOAT_STRAY: Final = Decimal("1e-6")
"""The largest error of a mean summed in single precision, relative to the larger value."""


def agrees(claim: Decimal, exact: Fraction | float) -> bool:
    """Return whether a claim is the exact value, at the digits of the claim."""
    return agreement(claim, exact) is not Agreement.NONE


def agreement(claim: Decimal, exact: Fraction | float, nothing: Decimal = NOTHING) -> Agreement:
    """Compare a claim with the exact value, at the digits of the claim.

    The value must round to the claim; from CERTAIN_DIGITS decimals on it may also be truncated.
    Rounding errors of float sums are allowed, which round a tie to either side, also those of
    single precision if the claim is such a number. A whole number below ten shows no digits, since
    most writers write 1 as 1.0: it must equal the value to WHOLE_UNIT. A difference of `nothing` is
    negligible.
    """
    if isinstance(exact, float) and not math.isfinite(exact):
        return Agreement.NONE
    if is_surely_exact(claim, exact):
        return Agreement.FULL
    with localcontext(EXACT):
        # Multiplying both by the denominator avoids a division.
        value, scale = map(Decimal, exact.as_integer_ratio())
        claimed = claim * scale
        difference, largest = abs(claimed - value), max(abs(claimed), abs(value))
        stray = (FLOAT_STRAY if _is_single(claim) else ROUNDING) * largest
        if difference <= max(stray, nothing * scale):
            return Agreement.FULL
        if is_small_whole(claim):
            is_near = difference <= scale * WHOLE_UNIT * HALF
            return Agreement.ROUGH if is_near else Agreement.NONE
        unit = scale * last_unit(claim)
        is_truncated = 0 <= abs(value) - abs(claimed) < unit and claimed * value >= 0
        half = unit * HALF + min(stray, unit * TIE)
        decimals = -int(claim.as_tuple().exponent)
        if difference <= half or (is_truncated and decimals >= CERTAIN_DIGITS):
            return Agreement.FULL if _digits(claim) >= CERTAIN_DIGITS else Agreement.ROUGH
        return Agreement.NONE


def is_surely_exact(claim: Decimal, exact: Fraction | float) -> bool:
    """Tell quickly whether a claim is certainly the exact value, up to the rounding of a sum.

    Both are compared as doubles, whose own error is far below the difference that is allowed. If
    the answer is no, the numbers may still agree.
    """
    try:
        claimed, value = float(claim), float(exact)
    except OverflowError:
        return False
    return abs(claimed - value) <= CERTAIN * abs(value)


def _is_single(claim: Decimal) -> bool:
    """Return whether a claim is a single-precision number written with excess digits.

    Zeros at the end do not count: any writer may fill up a number with them.
    """
    number = float(claim)
    digits = "".join(map(str, claim.as_tuple().digits)).strip("0")
    if len(digits) <= SINGLE_DIGITS or not abs(number) < LARGEST_SINGLE:
        return False
    return bool(FLOAT.unpack(FLOAT.pack(number))[0] == number)


def last_unit(claim: Decimal) -> Decimal:
    """Return the value of one unit in the last decimal of a claim, 1 for a whole number."""
    return Decimal(1).scaleb(min(0, int(claim.as_tuple().exponent)))


def _digits(claim: Decimal) -> int:
    """Return the number of digits of a claim, from the first that is not 0 on.

    Zeros at the end of a whole number do not count; a zero has its decimals as digits.
    """
    _, digits, exponent = claim.as_tuple()
    if not any(digits):
        return max(0, -int(exponent))
    written = "".join(map(str, digits)).lstrip("0")
    return len(written if int(exponent) < 0 else written.rstrip("0"))


def is_small_whole(claim: Decimal) -> bool:
    """Tell whether a claim is a whole number that says nothing of its precision."""
    return claim == claim.to_integral_value() and abs(claim) < WHOLE_BELOW


def as_float(value: Fraction | Decimal | float | None) -> float | None:
    """Return a value as a float, None for one that is out of range."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return None
