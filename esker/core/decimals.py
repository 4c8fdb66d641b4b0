"""How is a decimal made of a whole number and a scale, and taken apart, without losing a digit?

Python rounds what it computes to 28 digits; decimals here have up to 38.
"""

from decimal import Context, Decimal

_EXACT = Context(prec=100)


def scaled(unscaled: int, scale: int) -> Decimal:
    """The number with `scale` of its digits behind the point."""
    return _EXACT.scaleb(Decimal(unscaled), -scale)


def unscaled(value: Decimal, scale: int) -> int:
    """The whole number that `scaled` makes the value of; digits beyond the scale are cut off."""
    return int(_EXACT.scaleb(value, scale))


def rescaled(value: Decimal, scale: int) -> Decimal:
    """The value with exactly `scale` digits behind the point."""
    return _EXACT.quantize(value, Decimal(1).scaleb(-scale))
