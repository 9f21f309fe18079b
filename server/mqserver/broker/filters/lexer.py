"""Split an SQL92 filter into tokens, one at a time, as the scanner of the real broker does.

    price BETWEEN 1 AND 5.5 -- text      NAME BETWEEN INTEGER AND FLOAT
                                         (a comment needs the end of its line)

Rule: the longest match wins, and keywords may be upper or lower case. Only the tokens that the
parser asks for are scanned, so an unknown character after the last one is not an error. There
are no hexadecimal or octal numbers: ``0x1F`` is 0 and a name, ``010`` is 0 and 10.

Source: filter/parser/SelectorParser.jj (4.9.7), without the keywords that 5.x adds.
"""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from storefmt.errors import StoreError


class BadExpression(StoreError):
    """An expression that cannot be compiled; the text is sent to the consumer."""


class TooLong(BadExpression):
    """An expression that the real broker would accept but that exceeds a limit of this one."""


class TokenKind(StrEnum):
    """The kind of a token; the value is how Java prints it in an error."""

    NOT = '"NOT"'
    AND = '"AND"'
    OR = '"OR"'
    BETWEEN = '"BETWEEN"'
    IN = '"IN"'
    TRUE = '"TRUE"'
    FALSE = '"FALSE"'
    NULL = '"NULL"'
    IS = '"IS"'
    LIKE = '"LIKE"'
    ESCAPE = '"ESCAPE"'
    INTEGER = "<DECIMAL_LITERAL>"
    FLOAT = "<FLOATING_POINT_LITERAL>"
    STRING = "<STRING_LITERAL>"
    NAME = "<ID>"
    EQUAL = '"="'
    NOT_EQUAL = '"<>"'
    GREATER = '">"'
    GREATER_EQUAL = '">="'
    LESS = '"<"'
    LESS_EQUAL = '"<="'
    OPEN = '"("'
    COMMA = '","'
    CLOSE = '")"'
    PLUS = '"+"'
    MINUS = '"-"'
    END = "<EOF>"


class Token(NamedTuple):
    """One token and the index of its first character."""

    kind: TokenKind
    text: str
    pos: int


_RESERVED: Final = ("NOT", "AND", "OR", "BETWEEN", "IN", "TRUE", "FALSE", "NULL", "IS")
_RESERVED_STRICT: Final = (*_RESERVED, "LIKE", "ESCAPE")
_SKIPPED: Final = re.compile(
    r"(?:[ \t\n\r\f]+|--[^\n\r]*(?:\r\n|\n|\r)|/\*[^*]*\*(?:\*|[^*/][^*]*\*)*/)+"
)
# Floats come first: where both a float and an integer match, the float is longer.
_TOKEN: Final = re.compile(
    r"""
    (?P<FLOAT>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
  | (?P<INTEGER>0|[1-9][0-9]*[lL]?)
  | (?P<STRING>'(?:''|[^'])*')
  | (?P<NAME>[a-zA-Z_$][a-zA-Z0-9_$]*)
  | (?P<NOT_EQUAL><>)|(?P<GREATER_EQUAL>>=)|(?P<LESS_EQUAL><=)
  | (?P<EQUAL>=)|(?P<GREATER>>)|(?P<LESS><)
  | (?P<OPEN>\()|(?P<CLOSE>\))|(?P<COMMA>,)|(?P<PLUS>\+)|(?P<MINUS>-)
    """,
    re.VERBOSE,
)
_ESCAPES: Final = {
    "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r",
    '"': '\\"', "'": "\\'", "\\": "\\\\", "\0": "",
}  # fmt: skip
_TAB: Final = 8
_ASCII_MAX: Final = 0x7E
_PARSER: Final = "org.apache.rocketmq.filter.parser"


class Lexer:
    """The tokens of one expression.

    Args:
        text: the expression.
        strict: LIKE and ESCAPE are keywords instead of names.
    """

    def __init__(self, text: str, *, strict: bool = False) -> None:
        self._text = text
        self._words = _RESERVED_STRICT if strict else _RESERVED
        self._pos = 0
        self._next: Token | None = None

    def peek(self) -> Token:
        """Return the next token without consuming it.

        Raises:
            BadExpression: the next characters begin no token.
        """
        if self._next is None:
            self._next = self._cut()
        return self._next

    def next_token(self) -> Token:
        """Return and consume the next token; raises the same errors as ``peek``."""
        token = self.peek()
        self._next = None
        return token

    def rest(self) -> str:
        """Return the text from the next token on."""
        return self._text[self.peek().pos :]

    def expect(self, kind: TokenKind) -> Token:
        """Return and consume the next token, which must be of this kind.

        Raises:
            BadExpression: it is of another kind.
        """
        if self.peek().kind is not kind:
            raise self.unexpected(kind)
        return self.next_token()

    def unexpected(self, *expected: TokenKind, at: Token | None = None) -> BadExpression:
        """Return the error for a token (the next one by default) of an unexpected kind."""
        token = self.peek() if at is None else at
        at_end = token.kind is TokenKind.END
        # Java reports the end of the text at the position of the last character.
        line, column = self._place(token.pos - at_end) if token.pos else (1 - at_end, 1 - at_end)
        text = token.kind.value if at_end else f' {token.kind.value} "{escape(token.text)} "'
        which = "".join(f"{kind.value} ...\n    " for kind in expected)
        return BadExpression(
            f'{_PARSER}.ParseException: Encountered "{text}" at line {line}, column {column}.\n'
            f"Was expecting{' one of' if len(expected) > 1 else ''}:\n    {which}"
        )

    def _cut(self) -> Token:
        skipped = _SKIPPED.match(self._text, self._pos)
        pos = self._pos if skipped is None else skipped.end()
        if pos == len(self._text):
            self._pos = pos
            return Token(TokenKind.END, "", pos)
        match = _TOKEN.match(self._text, pos)
        if match is None:
            raise self._unknown(pos)
        self._pos = match.end()
        text, name = match[0], match.lastgroup or ""
        if name == "NAME" and text.upper() in self._words:
            name = text.upper()
        return Token(TokenKind[name], text, pos)

    def _unknown(self, pos: int) -> BadExpression:
        """Return the error with Java's text for characters that begin no token."""
        text, end = self._text, pos
        if text[pos] == "'" or text.startswith("/*", pos):
            end = len(text)
        elif text[pos] in "/.":
            end = pos + 1
        if end >= len(text) - (end == pos):
            # Java has reached the end here, and shows the characters only if there are several.
            end = len(text)
            text_before, after = "<EOF> ", text[pos:] if end - pos > 1 else ""
        else:
            # Of a character beyond the BMP, Java sees only the first UTF-16 unit.
            first = text[end].encode("utf-16-be", "surrogatepass")[:2]
            unit = int.from_bytes(first, "big")
            shown = escape(text[end]) if unit <= _ASCII_MAX else f"\\u{unit:04x}"
            text_before, after = f'"{shown}" ({unit}), ', text[pos:end]
        line, column = self._place(end)
        return BadExpression(
            f"{_PARSER}.TokenMgrError: Lexical error at line {line}, column {column}.  "
            f'Encountered: {text_before}after : "{escape(after)}"'
        )

    def _place(self, pos: int) -> tuple[int, int]:
        """Return line and column, both from 1; a tab advances to the next multiple of 8."""
        before = self._text[:pos].replace("\r\n", "\n").replace("\r", "\n")
        line = before.rpartition("\n")[2]
        column = 0
        for char in line:
            column = column - column % _TAB + _TAB if char == "\t" else column + 1
        return before.count("\n") + 1, column + 1


def escape(text: str) -> str:
    """Return a text with the escapes that Java's parser uses in errors."""
    shown = []
    for char in text:
        if char in _ESCAPES:
            shown.append(_ESCAPES[char])
        elif " " <= char <= "~":
            shown.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            shown += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
    return "".join(shown)
