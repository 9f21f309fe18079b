r"""Java ``.properties`` text: the format of broker.conf and of config requests.

    # comment        ! comment
    key=value        key : value      key value       white space around them is dropped
    long=one \
         two         a backslash at the line end joins the next line
    \t \n \r \f \uXXXX and ``\x`` for any other x

Rule: an entry keeps its line number, so that an error can name the line.

Source: java.util.Properties#load. Java reads the bytes as ISO 8859-1; here they are
UTF-8, which differs only outside ASCII.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANK = " \t\f"


class Property(NamedTuple):
    """One ``key=value`` pair and the number of the line where it starts, from 1."""

    key: str
    value: str
    line: int


class BadProperties(ValueError):
    """The text breaks the rules of .properties files; the message names the line."""


def parse_properties(text: str) -> list[Property]:
    r"""Return the entries in the order of the file; a key may occur twice.

    Raises:
        BadProperties: ``\u`` without four hex digits.
    """
    entries = []
    for line, number in _logical_lines(text):
        key_end, value_start = _split(line)
        key = _unescape(line[:key_end], number)
        entries.append(Property(key, _unescape(line[value_start:], number), number))
    return entries


def format_properties(pairs: Iterable[tuple[str, str]]) -> str:
    r"""Return one line ``key=value`` for each pair, escaped so that parsing returns the pair.

    Java's ``MixAll#properties2String`` escapes nothing, so the text differs for values with a
    backslash, a line break or leading white space, and for keys with a separator.
    """
    return "".join(f"{_escape(key, is_key=True)}={_escape(value)}\n" for key, value in pairs)


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield each line, joined with its continuation lines, and the number of its first line."""
    joined: str | None = None
    first = 0
    for number, natural in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = natural.lstrip(_BLANK)
        if joined is None:
            if not line or line[0] in "#!":
                continue
            joined, first = "", number
        # An even number of backslashes at the end consists of escaped backslashes.
        continues = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        joined += line[:-1] if continues else line
        if not continues:
            yield joined, first
            joined = None
    if joined:
        yield joined, first


def _split(line: str) -> tuple[int, int]:
    """Return the position where the key ends and the position where the value starts."""
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANK:
        end += 2 if line[end] == "\\" else 1
    start = min(end, len(line))
    while start < len(line) and line[start] in _BLANK:
        start += 1
    if start < len(line) and line[start] in "=:":
        start += 1
        while start < len(line) and line[start] in _BLANK:
            start += 1
    return end, start


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    out, pos = [], 0
    while pos < len(text):
        char = text[pos]
        pos += 1
        if char == "\\" and pos < len(text):
            char = text[pos]
            pos += 1
            if char == "u":
                digits = text[pos : pos + 4]
                if len(digits) < 4 or not all(d in "0123456789abcdefABCDEF" for d in digits):
                    raise BadProperties(f"line {line}: \\u{digits} is not \\u and four hex digits")
                char = chr(int(digits, 16))
                pos += 4
            else:
                char = _ESCAPES.get(char, char)
        out.append(char)
    return "".join(out)


def _escape(text: str, *, is_key: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    if text[:1] in (" ", "\t", "\f"):
        text = "\\" + text
    if is_key:
        for char in "=: #!":
            text = text.replace(char, "\\" + char)
    return text
