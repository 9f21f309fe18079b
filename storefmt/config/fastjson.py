"""The JSON of Alibaba's fastjson, which RocketMQ writes on disk and on the wire.

    {"offsetTable":{"T@G":{0:5,1:7}}}                    bare integer keys
    {"offsetTable":{{"brokerName":"b","queueId":1}:7}}   an object as a key
    {a:'x',"b":[1,2,],/* c */}                           what else fastjson reads
    [{"x":1},{"$ref":"$[0]"}]                            the same object once more

Rule: reading accepts all of that and strict JSON. It refuses everything else with a
``ConfigDamaged`` that says where, and never with a RecursionError or unbounded work. The C parser
of the standard library reads strict JSON, and ``storefmt.config.fastjson_reader`` reads the rest.
Writing gives the text that fastjson 1.2 gives for the same values, in the order of the dict. This
includes its odd pretty layout, in which a map with bare keys begins on the line of its brace.
RocketMQ 5.x writes with fastjson2, whose pretty layout puts every bare key and the inside of an
empty map on a line of its own; ``dialect_of`` says which library wrote a text.

Source: com.alibaba.fastjson (1.2.69) parser/DefaultJSONParser, serializer/MapSerializer,
serializer/SerialContext, serializer/SerializeWriter, as RocketMQ 4.9.7 uses it;
com.alibaba.fastjson2 (2.0.43) JSONWriterUTF16 with PrettyFormat, as 5.4.0 does.
"""

import json
import json.scanner
import math
import re
import threading
from collections.abc import Mapping
from enum import Enum
from typing import Final, NoReturn

from storefmt.config.fastjson_reader import (
    DEPTH_MAX,
    Json,
    Key,
    ObjectKey,
    excerpt,
    follow_references,
    read_lenient,
    to_object_key,
)
from storefmt.config.quoting import quote
from storefmt.errors import ConfigDamaged

__all__ = [
    "DEPTH_MAX",
    "Dialect",
    "Json",
    "JsonText",
    "Key",
    "ObjectKey",
    "be_patient",
    "dialect_of",
    "dumps",
    "java_double",
    "loads",
    "object_key",
]  # fmt: skip


class Dialect(Enum):
    """The library that wrote a text; the two differ only in the pretty layout."""

    FASTJSON = 1
    """fastjson 1.2, RocketMQ 4.9."""
    FASTJSON2 = 2
    """fastjson2, RocketMQ 5.x."""


# A bare key that begins a line, or an empty map or list with an indented line inside.
_FASTJSON2: Final = re.compile(r"\n\t+-?[0-9]+:|[{\[]\n\t+\n\t*[}\]]")

# A strict text takes the quick way unless it holds a lone surrogate or a reference.
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_REFERENCE: Final = "$ref"


def loads(text: str | bytes) -> Json:
    """Return the value of a fastjson text; None for a blank one, as in Java.

    Bare integer keys become int, quoted ones stay str: a reader of integer keys takes
    both. ``NaN`` and ``undefined`` become None. References are followed, so one list or
    dict may stand in several places: do not change it.

    Raises:
        ConfigDamaged: the text is not such JSON, nested too deep, or refers to itself.
    """
    text = _decoded(text)
    if _REFERENCE in text or _SURROGATE.search(text):
        return follow_references(read_lenient(text))
    try:
        value: Json = (_PATIENT if _THREAD.is_patient else _STRICT).decode(text)
    except (ValueError, RecursionError):
        return read_lenient(text)
    _check_depth(value)
    return value


def dialect_of(text: str | bytes) -> Dialect:
    """Return which library formatted a pretty text; the older one if both would do it alike."""
    match = _FASTJSON2.search(text if isinstance(text, str) else str(text, "utf-8", "replace"))
    return Dialect.FASTJSON if match is None else Dialect.FASTJSON2


class JsonText(str):
    """The text of a value, which ``dumps`` made for the place where it stands now."""

    __slots__ = ()


def dumps(
    value: Json, *, pretty: bool = False, dialect: Dialect = Dialect.FASTJSON, depth: int = 0
) -> str:
    """Return the text fastjson writes; None in an object is left out, NaN becomes null.

    Args:
        pretty: the layout of the files in ``config/``: tabs, except that in fastjson's a
            bare or object key does not begin a line, and in both an item of a list of
            numbers does not.
        dialect: whose pretty layout; compact texts are the same.
        depth: how deep the value lies in the text that it is for.
    """
    parts: list[str] = []
    _write(value, parts, "\n" + "\t" * depth if pretty else "", dialect is Dialect.FASTJSON2)
    return "".join(parts)


def object_key(key: Key) -> ObjectKey:
    """Return ``key`` as an object key; Java also takes a string that holds the object.

    Raises:
        ConfigDamaged: it is neither.
    """
    if isinstance(key, ObjectKey):
        return key
    value = loads(key) if isinstance(key, str) else None
    if not isinstance(value, dict):
        raise ConfigDamaged(f"key {excerpt(str(key))} is not an object")
    return to_object_key(value)


def java_double(value: float) -> str:
    """Return the text of ``Double.toString``; null for NaN and the infinities, as fastjson."""
    if not math.isfinite(value):
        return "null"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        # repr turns to exponents only outside this range.
        return repr(float(value))
    digits, _, exponent = f"{value:e}".partition("e")
    # The shortest digits that read back, in Java's form: one digit, a point, at least one.
    shortest = repr(value).replace("-", "").partition("e")[0].replace(".", "").strip("0")
    sign = "-" if digits.startswith("-") else ""
    return f"{sign}{shortest[0]}.{shortest[1:] or '0'}E{int(exponent)}"


def _decoded(text: str | bytes) -> str:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigDamaged(
                f"json text is not UTF-8 at byte {error.start}; read the file's .bak"
            ) from error
    return text.removeprefix("\ufeff")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


# NaN and numbers beyond a double take the slow path, which handles them.
_STRICT: Final = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, strict=False
)


# The same in Python, because the parser in C lets no other thread run until it has finished.
_PATIENT: Final = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, strict=False
)
_PATIENT.scan_once = json.scanner.py_make_scanner(_PATIENT)  # type: ignore[attr-defined]


class _Thread(threading.local):
    is_patient = False


_THREAD: Final = _Thread()


def be_patient() -> None:
    """Make this thread parse in Python, which takes longer and lets other threads run."""
    _THREAD.is_patient = True


def _check_depth(value: Json) -> None:
    level: list[Json] = [value]
    for _ in range(DEPTH_MAX + 1):
        below: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return
        level = below
    raise ConfigDamaged(f"json text is nested deeper than {DEPTH_MAX}; RocketMQ's is 7 at most")


# Layout of fastjson's serializers: `line` is what begins a new line at this depth, "" for
# compact text.


def _write(value: Json, parts: list[str], line: str, two: bool) -> None:
    if value is None:
        parts.append("null")
    elif value is True or value is False:
        parts.append("true" if value else "false")
    elif isinstance(value, str):
        parts.append(value if type(value) is JsonText else quote(value))
    elif isinstance(value, int):
        parts.append(str(value))
    elif isinstance(value, float):
        parts.append(java_double(value))
    elif isinstance(value, dict):
        _write_object(value, parts, line, two)
    else:
        _write_list(value, parts, line, two)


def _write_object(value: Mapping[Key, Json], parts: list[str], line: str, two: bool) -> None:
    inner = line and line + "\t"
    parts.append("{")
    separator = ""
    for key, item in value.items():
        if item is None:
            continue
        parts.append(separator)
        separator = ","
        if isinstance(key, str):
            parts.append(inner + quote(key))
        elif isinstance(key, ObjectKey):
            _write_object(dict(key), parts, inner, two)
        else:
            parts.append(f"{inner}{key}" if two else str(key))
        parts.append(":")
        _write(item, parts, inner, two)
    if separator:
        parts.append(line)
    elif two:
        parts.append(inner + line)
    parts.append("}")


def _write_list(value: list[Json], parts: list[str], line: str, two: bool) -> None:
    # A list of numbers is an int[] in RocketMQ's classes, which fastjson keeps on one line.
    numbers = all(isinstance(item, int | float) for item in value)
    flat = not line or (numbers and not (two and not value))
    inner = "" if flat else line + "\t"
    parts.append("[")
    if two and not value:
        parts.append(inner)
    for number, item in enumerate(value):
        if number:
            parts.append(",")
        parts.append(inner)
        _write(item, parts, inner, two)
    parts.append("]" if flat else line + "]")
