"""Checks of parameters: numbers in their range, choices of their enumeration.

Rule: a value that cannot be is an error where settings are made, not later.
"""

from enum import Enum

from mqclient.errors import BadRequest


def check_range(name: str, value: object, *, low: int, high: int) -> None:
    """Refuse what is no whole number between two, both allowed.

    Raises:
        BadRequest: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadRequest(f"{name} is {value!r}, allowed are {low} to {high}")


def check_kind(name: str, value: object, kind: type[Enum]) -> None:
    """Refuse what is no member of an enumeration, its name as a text as well.

    Raises:
        BadRequest: it is none.
    """
    if not isinstance(value, kind):
        members = ", ".join(kind.__members__)
        raise BadRequest(
            f"{name} is {value!r}, not of {kind.__name__}", hint=f"{kind.__name__} has {members}"
        )
