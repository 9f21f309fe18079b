"""A condition on a JSON body: a path that must exist, and optionally its value.

    order.items[0].id=17      {"order": {"items": [{"id": 17}]}}
    [2].name=Ann              [..., ..., {"name": "Ann"}]
    total                     anything under "total", even null

Rule: a name does not contain a dot, bracket or equals sign. A value that is valid JSON is compared
as JSON, so 17 is not "17"; any other value is a string. A body that is not JSON never matches.
"""

import json
import re
from dataclasses import dataclass
from typing import Final

_PATH: Final = re.compile(r"(?:[^.\[\]=]+|\[\d+\])(?:\.[^.\[\]=]+|\[\d+\])*")
_STEP: Final = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class JsonCondition:
    """A path, and the value expected there.

    Attributes:
        path: names in objects, numbers in arrays.
        value: as JSON; None for any.
    """

    path: tuple[str | int, ...]
    value: str | None = None

    def is_in(self, text: str) -> bool:
        """Return whether a body meets the condition."""
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            return False
        for step in self.path:
            value = _below(value, step)
        if value is _NOTHING:
            return False
        return self.value is None or json.dumps(value, sort_keys=True) == self.value


def parse_json_condition(text: str) -> JsonCondition:
    """Read ``PATH`` or ``PATH=VALUE``.

    Raises:
        ValueError: the path is not valid.
    """
    path, equals, value = text.partition("=")
    if not _PATH.fullmatch(path):
        raise ValueError(f"{path!r} is not a path such as order.items[0].id")
    steps = tuple(int(number) if number else name for number, name in _STEP.findall(path))
    return JsonCondition(steps, _as_json(value) if equals else None)


def _as_json(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return json.dumps(text)


def _below(value: object, step: str | int) -> object:
    if isinstance(value, dict) and isinstance(step, str):
        return value.get(step, _NOTHING)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return _NOTHING
