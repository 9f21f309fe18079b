"""Reads fastjson text that is not strict JSON, and follows its references.

    object  { name : value , … }     name: "…" '…' bare 12 -3 or an object
    list    [ value , … ]
    value   object list "…" '…' number true false null NaN undefined
    between tokens: blanks, /* … */, // …; a comma may stand before } and ]

Rule: the text may come from an attacker. Nesting is limited to ``DEPTH_MAX``, each token is matched
once, and references may neither form a circle nor multiply the value beyond ``VALUES_MAX``.

Source: com.alibaba.fastjson (1.2.69) parser/JSONLexerBase, parser/DefaultJSONParser,
JSONPath (the few forms of it that serializer/SerialContext writes).
"""

import math
import re
from typing import Final

from storefmt.errors import ConfigDamaged

Scalar = str | int | float | bool | None


class ObjectKey(tuple[tuple[str, Scalar], ...]):
    """An object in the place of a key: its (name, value) pairs, sorted by name."""

    __slots__ = ()

    def get(self, name: str) -> Scalar:
        """Return the value of ``name``, None where there is none."""
        return next((value for key, value in self if key == name), None)


Key = str | int | ObjectKey
Json = Scalar | list["Json"] | dict[Key, "Json"]

DEPTH_MAX: Final = 100
"""Deepest nesting of objects and lists that is read; the deepest of RocketMQ's is 7."""
VALUES_MAX: Final = 1_000_000
"""Most values that a text may stand for once its references are followed."""

_BLANKS: Final = re.compile(r"(?:[ \t\r\n\f\x08]+|/\*.*?\*/|//[^\n]*)*", re.DOTALL)
_STRING: Final = re.compile(r"""\"((?:[^"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)'""", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_INT_NAME: Final = re.compile(r"-?[0-9]+")
_BARE_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.\-]*")
_WORDS: Final = {"true": True, "false": False, "null": None, "NaN": None, "undefined": None}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES: Final = {
    **{str(digit): chr(digit) for digit in range(8)},
    "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "F": "\f", "r": "\r",
    '"': '"', "'": "'", "/": "/", "\\": "\\",
}  # fmt: skip
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_STEP: Final = re.compile(r"\.((?:[^.\[\\]|\\.)+)|\[([0-9]+)\]|\['([^']*)'\]", re.DOTALL)
_REFERENCE: Final = "$ref"


def read_lenient(text: str) -> Json:
    """Return the value of a fastjson text, references not yet followed.

    Raises:
        ConfigDamaged: with line and column.
    """
    return _Reader(text).document()


def to_object_key(value: dict[Key, Json]) -> ObjectKey:
    """Return an object as a key.

    Raises:
        ConfigDamaged: a value in it is itself an object or a list.
    """
    pairs: list[tuple[str, Scalar]] = []
    for name, item in value.items():
        if isinstance(item, dict | list):
            raise ConfigDamaged(f"object key {excerpt(str(value))} holds an object or a list")
        pairs.append((str(name), item))
    return ObjectKey(sorted(pairs, key=lambda pair: pair[0]))


def excerpt(text: str) -> str:
    """Return ``text`` for an error message: quoted, and not more than 40 characters."""
    return repr(text if len(text) <= 40 else text[:40] + "…")


class _Reader:
    """One pass over a text; ``_pos`` is always at the next unread character."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pos = 0

    def document(self) -> Json:
        if not self._next():
            return None
        value = self._value(0)
        if self._next():
            raise self._error("more text after the end of the value")
        return value

    def _value(self, depth: int) -> Json:
        char = self._next()
        if char == "{":
            return self._object(depth + 1)
        if char == "[":
            return self._list(depth + 1)
        if char in ("'", '"'):
            return self._string()
        if (number := _NUMBER.match(self._text, self._pos)) is not None:
            return self._number(number)
        word = _BARE_NAME.match(self._text, self._pos)
        if word is None or word[0] not in _WORDS:
            raise self._error("expected a value")
        self._pos = word.end()
        return _WORDS[word[0]]

    def _object(self, depth: int) -> dict[Key, Json]:
        self._enter(depth)
        value: dict[Key, Json] = {}
        while (char := self._next()) != "}":
            if char == ",":
                # fastjson skips any number of commas between members.
                self._pos += 1
                continue
            name = self._name(depth)
            if self._next() != ":":
                raise self._error(f"expected : after {excerpt(str(name))}")
            self._pos += 1
            value[name] = self._value(depth)
            if self._next() not in (",", "}"):
                raise self._error("expected , or }")
        self._pos += 1
        return value

    def _list(self, depth: int) -> list[Json]:
        self._enter(depth)
        value: list[Json] = []
        while (char := self._next()) != "]":
            if char == ",":
                self._pos += 1
                continue
            value.append(self._value(depth))
            if self._next() not in (",", "]"):
                raise self._error("expected , or ]")
        self._pos += 1
        return value

    def _enter(self, depth: int) -> None:
        if depth > DEPTH_MAX:
            raise self._error(f"nested deeper than {DEPTH_MAX}")
        self._pos += 1

    def _name(self, depth: int) -> Key:
        char = self._next()
        if char == "{":
            return to_object_key(self._object(depth + 1))
        if char in ("'", '"'):
            return self._string()
        if (number := _INT_NAME.match(self._text, self._pos)) is not None:
            self._pos = number.end()
            return self._int(number[0])
        if (bare := _BARE_NAME.match(self._text, self._pos)) is None:
            raise self._error("expected a name")
        self._pos = bare.end()
        return bare[0]

    def _string(self) -> str:
        match = _STRING.match(self._text, self._pos)
        if match is None:
            raise self._error("text in quotes does not end")
        self._pos = match.end()
        inner: str = match[match.lastindex or 1]
        if "\\" not in inner:
            return inner
        plain = _ESCAPE.sub(self._unescape, inner)
        if _SURROGATE.search(plain):
            # Pairs become one character; a lone half cannot be encoded and becomes U+FFFD.
            plain = plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return plain

    def _unescape(self, match: re.Match[str]) -> str:
        code: str = match[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code not in _ESCAPES:
            raise self._error(f"unknown escape {excerpt(match[0])} before this place")
        return _ESCAPES[code]

    def _number(self, match: re.Match[str]) -> int | float:
        self._pos = match.end()
        if match[1] is None and match[2] is None:
            return self._int(match[0])
        value = float(match[0])
        if not math.isfinite(value):
            raise self._error(f"number {excerpt(match[0])} is too large")
        return value

    def _int(self, digits: str) -> int:
        try:
            return int(digits)
        except ValueError:
            raise self._error(f"number of {len(digits)} digits is too large") from None

    def _next(self) -> str:
        """Skip blanks and comments, and return the next character, or "" at the end."""
        text, pos = self._text, self._pos
        char = text[pos : pos + 1]
        if char in " \t\r\n\f\b/" and char:
            blanks = _BLANKS.match(text, pos)
            self._pos = pos = blanks.end() if blanks else pos
            char = text[pos : pos + 1]
        return char

    def _error(self, what: str) -> ConfigDamaged:
        line = self._text.count("\n", 0, self._pos) + 1
        column = self._pos - self._text.rfind("\n", 0, self._pos)
        there = self._text[self._pos : self._pos + 41]
        return ConfigDamaged(
            f"json text at line {line}, column {column}: {what}, found "
            f"{excerpt(there) if there else 'the end of the text'}"
        )


def follow_references(root: Json) -> Json:
    """Return ``root`` with every ``{"$ref": path}`` replaced by what it names (not copied).

    Raises:
        ConfigDamaged: a path names nothing or leads in a circle, or the whole stands for
            more than ``VALUES_MAX`` values.
    """
    holders: list[dict[Key, Json] | list[Json]] = []
    pending: list[Json] = [root]
    while pending:
        holder = pending.pop()
        if isinstance(holder, dict | list):
            holders.append(holder)
            pending += holder.values() if isinstance(holder, dict) else holder
    # All targets are looked up before anything is replaced: paths name the text as written.
    targets: list[tuple[dict[Key, Json] | list[Json], Key, Json]] = []
    for holder in holders:
        items = list(holder.items() if isinstance(holder, dict) else enumerate(holder))
        for place, item in items:
            if (path := _path_of(item)) is not None:
                targets.append((holder, place, _lookup(root, path)))
    for holder, place, target in targets:
        if isinstance(holder, dict):  # noqa: SIM114 - two branches, two types of key
            holder[place] = target
        elif isinstance(place, int):
            holder[place] = target
    if _path_of(root) is not None:
        raise ConfigDamaged("json text is only a reference")
    if targets:
        _count(root, 0, {})
    return root


def _path_of(item: Json) -> str | None:
    if isinstance(item, dict) and len(item) == 1:
        path = item.get(_REFERENCE)
        return path if isinstance(path, str) else None
    return None


def _lookup(root: Json, path: str) -> Json:
    """Return what ``$.name[0]`` names; names escape every special character with ``\\``."""
    value = root
    pos = 1 if path.startswith("$") else len(path) + 1
    while pos < len(path):
        step = _STEP.match(path, pos)
        if step is None:
            break
        pos = step.end()
        if step[2] is not None and isinstance(value, list) and int(step[2]) < len(value):
            value = value[int(step[2])]
            continue
        name: Key = step[3] if step[1] is None else re.sub(r"\\(.)", r"\1", step[1])
        if step[2] is not None:
            name = int(step[2])
        if not isinstance(value, dict) or name not in value:
            break
        value = value[name]
    else:
        if pos == len(path) and _path_of(value) is None:
            return value
    # "@" and ".." name the object itself and what it lies in: always a circle.
    raise ConfigDamaged(f"json reference {excerpt(path)} names nothing, or what it lies in")


_OPEN: Final = (-1, -1)


def _count(value: Json, depth: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return how many values ``value`` stands for, shared ones each time, and its height."""
    if not isinstance(value, dict | list):
        return 1, 0
    size_and_depth = known.get(id(value))
    if size_and_depth == _OPEN:
        raise ConfigDamaged("json references lead in a circle")
    if size_and_depth is None and depth <= DEPTH_MAX:
        known[id(value)] = _OPEN
        items = value.values() if isinstance(value, dict) else value
        counts = [_count(item, depth + 1, known) for item in items]
        size_and_depth = (
            1 + sum(size for size, _ in counts),
            1 + max((h for _, h in counts), default=0),
        )
        known[id(value)] = size_and_depth
    if size_and_depth is None or depth + size_and_depth[1] > DEPTH_MAX + 1:
        raise ConfigDamaged(f"json references nest deeper than {DEPTH_MAX}")
    if size_and_depth[0] > VALUES_MAX:
        raise ConfigDamaged(f"json references make more than {VALUES_MAX} values of the text")
    return size_and_depth
