"""Read JSON from an untrusted source: every fault in it is a ``ValueError``.

``json.loads`` raises RecursionError for deep nesting, returns infinity or NaN, which ``int`` and
comparisons trip over later, for ``1e999``, ``Infinity`` and ``NaN``, and keeps the last of two
values with the same name.

Files that fastjson writes are read by ``storefmt.config.fastjson``.
"""

import json
import math
from typing import Any, Final


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, nested too deep, names something twice in one object, or has a
            number that is too large.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in fields if names.count(name) > 1)
        raise ValueError(f"{double[:40]!r} occurs twice in one object")
    return fields


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_without_doubles, parse_float=_finite, parse_constant=_refuse_constant
)
