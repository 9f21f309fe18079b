"""Patterns of peer addresses, in the syntax of white lists in RocketMQ's ACL.

    *   10.1.2.3   10.1.2.*   10.1.*.*   10.1.2.1-20   10.1.2.{1,2}   10.1.2.3,10.1.2.4
    *:*:*:*:*:*:*:*   fe80::1   fe80::5:*   fe80::5:1-20   fe80::1-20:*   fe80::5:{1,2f}

A pattern is converted to boxes; a box has the lowest and highest value of each of the 4 or 8
parts of an address.

Rule: a pattern matches exactly the addresses it describes. A pattern that cannot be read is an
error, because guessing could admit strangers. (Java ignores everything after the first range in an
IPv4 pattern.)

Source: acl/plain/RemoteAddressStrategyFactory.java, acl/common/AclUtils.java.
"""

import ipaddress
from collections.abc import Iterable
from typing import Final

Box = tuple[tuple[int, int], ...]

_EVERYBODY: Final = ("*", "*.*.*.*", "*:*:*:*:*:*:*:*")
_V4_PARTS: Final = 4
_V6_PARTS: Final = 8
_V6_TAIL_MAX: Final = 2
"""Number of parts at the end of an IPv6 pattern that may be a range or a star."""


class BadAddress(ValueError):
    """A pattern that cannot be read; the text of the error is Java's."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"Netaddress examine Exception netaddress is {pattern}")


class AddressPattern:
    """One pattern; a blank one matches no address.

    Raises:
        BadAddress: the pattern cannot be read.
    """

    __slots__ = ("_boxes", "_everybody", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._everybody = text.strip() in _EVERYBODY
        self._boxes: frozenset[Box] | None = None
        if not self._everybody:
            self._boxes = frozenset(_boxes(text.strip()))

    def matches(self, ip: str) -> bool:
        """Return whether the pattern matches an address; False if ``ip`` is not an address."""
        if self._everybody:
            return True
        if not self._boxes:
            return False
        try:
            parts = _parts(ip)
        except ValueError:
            return False
        return any(
            len(box) == len(parts)
            and all(low <= part <= high for part, (low, high) in zip(parts, box, strict=True))
            for box in self._boxes
        )


class AddressList:
    """Several patterns, separated by commas outside of braces.

    Raises:
        BadAddress: one of the patterns cannot be read.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [AddressPattern(pattern) for pattern in patterns]

    @classmethod
    def read(cls, text: str) -> "AddressList":
        """Return the list in the text of a setting, such as ``127.0.0.1,10.1.2.{1,2}``.

        Raises:
            BadAddress: one of the patterns cannot be read.
        """
        return cls(split_patterns(text))

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def matches(self, ip: str) -> bool:
        """Return whether any of the patterns matches ``ip``."""
        return any(pattern.matches(ip) for pattern in self._patterns)

    @property
    def is_everybody(self) -> bool:
        """Whether one of the patterns matches every address."""
        return any(pattern.text.strip() in _EVERYBODY for pattern in self._patterns)


def split_patterns(text: str) -> list[str]:
    """Return the patterns in a text, which are separated by commas outside of braces."""
    patterns, depth, start = [], 0, 0
    for index, sign in enumerate(text):
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
        elif sign == "," and depth == 0:
            patterns.append(text[start:index])
            start = index + 1
    patterns.append(text[start:])
    return [pattern.strip() for pattern in patterns if pattern.strip()]


def _boxes(text: str) -> list[Box]:
    if not text:
        return []
    if text.endswith("}"):
        head, brace, last = text[:-1].partition("{")
        if not brace or not head.endswith((".", ":")):
            raise BadAddress(text)
        return [_exact(head + part.strip()) for part in last.split(",")]
    if "," in text:
        return [_exact(part.strip()) for part in text.split(",")]
    if "*" not in text and "-" not in text:
        return [_exact(text)]
    return [_range_v6(text) if ":" in text else _range_v4(text)]


def _parts(ip: str) -> tuple[int, ...]:
    packed = ipaddress.ip_address(ip).packed
    if len(packed) == _V4_PARTS:
        return tuple(packed)
    return tuple(int.from_bytes(packed[i : i + 2], "big") for i in range(0, 16, 2))


def _exact(text: str) -> Box:
    try:
        return tuple((part, part) for part in _parts(text))
    except ValueError:
        raise BadAddress(text) from None


def _range_v4(text: str) -> Box:
    words = [word.strip() for word in text.split(".")]
    # Java requires a number in the first part: there a pattern such as *.1.2.3 matches no address.
    if len(words) != _V4_PARTS or not words[0].isdecimal():
        raise BadAddress(text)
    return tuple(_span(word, text, base=10, top=255) for word in words)


def _range_v6(text: str) -> Box:
    words = text.split(":")
    tail: list[tuple[int, int]] = []
    while words and ("*" in words[-1] or "-" in words[-1]) and len(tail) < _V6_TAIL_MAX:
        tail.insert(0, _span(words.pop().strip(), text, base=16, top=0xFFFF))
    head = ":".join(words)
    # In "fe80::*" the parts that the two colons stand for end directly before the range.
    filled = head + (":" if head.endswith(":") else ":0" * len(tail))
    try:
        box = _exact(filled)
    except BadAddress:
        raise BadAddress(text) from None
    return (*box[: _V6_PARTS - len(tail)], *tail)


def _span(word: str, text: str, *, base: int, top: int) -> tuple[int, int]:
    """Return the lowest and highest value that one part of a pattern allows."""
    if word == "*":
        return 0, top
    low, dash, high = word.partition("-")
    high = high if dash else low
    # int() alone would also accept signs, blanks and underscores.
    if not (low.isalnum() and high.isalnum() and word.isascii()):
        raise BadAddress(text)
    try:
        span = int(low, base), int(high, base)
    except ValueError:
        raise BadAddress(text) from None
    if not span[0] <= span[1] <= top:
        raise BadAddress(text)
    return span
