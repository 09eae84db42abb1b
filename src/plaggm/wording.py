"""Formatting of values, counts and lists of names in messages."""

from __future__ import annotations

from collections.abc import Iterable
from reprlib import Repr
from typing import Any

# Largest number of characters of a value in a message, and of listed names.
LONGEST, MOST = 60, 5


def shown(value: Any) -> str:
    """A value in one short line, for a message.

    Examples
    --------
    >>> shown("x" * 200)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
    """
    shape = getattr(value, "shape", None)
    if shape:
        return f"{type(value).__name__} of shape {shape}"
    # NumPy scalars are written as numbers. NumPy is not imported, which would delay the command line.
    value = value.item() if shape == () and hasattr(value, "item") else value
    short = Repr()
    short.maxstring = short.maxother = short.maxlong = LONGEST
    try:
        return " ".join(short.repr(value).split())
    except ValueError:
        # Python refuses to convert integers with thousands of digits to text.
        return "a number of thousands of digits"


def listed(items: Iterable[str], most: int = MOST) -> str:
    """The first few items separated by commas, and the number of further items.

    Examples
    --------
    >>> listed("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    items = list(items)
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "edge"), counted(1200, "edge")
    ('1 edge', '1,200 edges')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
