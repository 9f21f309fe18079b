"""Checks of what an application passes: each error names the parameter and what is allowed.

Rule: a check looks at one value and knows nothing about what it is for.
"""

from datetime import datetime
from enum import Enum
from typing import TypeVar

from mqclient.errors import BadRequest

_S = TypeVar("_S")


def check_range(name: str, value: object, *, low: int, high: int) -> None:
    """Check that a value is a whole number in a range.

    Args:
        name: of the setting, for the error text.
        value: the value.
        low, high: the limits; both are allowed.

    Raises:
        BadRequest: the value is not such a number.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadRequest(f"{name} is {value!r}, allowed are {low} to {high}")


def check_kind(name: str, value: object, kind: type[Enum]) -> None:
    """Check that a value is a member of an enumeration; its name as a text is not.

    Raises:
        BadRequest: the value is not a member.
    """
    if not isinstance(value, kind):
        members = ", ".join(kind.__members__)
        raise BadRequest(
            f"{name} is {value!r}, not of {kind.__name__}", hint=f"{kind.__name__} has {members}"
        )


def check_text(name: str, value: object) -> None:
    """Check that a value is a text.

    Raises:
        BadRequest: it is not.
    """
    if not isinstance(value, str):
        raise BadRequest(f"{name} is {value!r}, expected a text")


def check_seconds(name: str, value: object, *, limit: float) -> None:
    """Check that a value is a number of seconds above 0 and below a limit.

    Raises:
        BadRequest: it is not.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < limit:
        raise BadRequest(f"{name} is {value!r}, expected a number of seconds above 0")


def check_moment(name: str, value: object) -> None:
    """Check that a value is a time with a time zone.

    Raises:
        BadRequest: it is not.
    """
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise BadRequest(
            f"{name} is {value!r}, expected a datetime with a time zone",
            hint="as: datetime.now(UTC) + timedelta(hours=1)",
        )


def checked_settings(value: _S | None, kind: type[_S]) -> _S:
    """Return settings of a class; None stands for the defaults.

    Raises:
        BadRequest: the value is not of the class.
    """
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise BadRequest(f"settings is {value!r}, expected {kind.__name__}")
    return value
