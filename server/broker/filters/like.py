"""LIKE of SQL: a pattern of plain characters, ``_`` for any one and ``%`` for any number.

    'a_c%d'  ->  pieces  a.c | d      the first at the start, the last at the end,
                                      those between where they are found first

Rule: a piece repeats nothing and is looked for once, so that no pattern of a hostile
consumer takes more than pattern size times text size. Both sizes are bounded by who asks.

Source: ISO/IEC 9075 (like predicate); the real 4.9.7 broker has none.
"""

import re
from typing import NamedTuple


class _Piece(NamedTuple):
    size: int
    pattern: re.Pattern[str]


class LikePattern:
    """One pattern.

    Args:
        escape: makes the ``%``, ``_`` or escape behind it plain; empty for none.

    Raises:
        ValueError: the escape is longer than one character or stands before another.
    """

    def __init__(self, pattern: str, escape: str = "") -> None:
        if len(escape) > 1:
            raise ValueError(f"escape {escape!r} of LIKE, expected one character")
        pieces: list[list[str]] = [[]]
        chars = iter(pattern)
        for char in chars:
            if escape and char == escape:
                plain = next(chars, "")
                if plain not in ("%", "_", escape):
                    raise ValueError(f"escape {escape!r} of LIKE before {plain!r}, expected % or _")
                pieces[-1].append(re.escape(plain))
            elif char == "%":
                pieces.append([])
            else:
                pieces[-1].append("." if char == "_" else re.escape(char))
        self._first, *self._more = (
            _Piece(len(piece), re.compile("".join(piece), re.DOTALL)) for piece in pieces
        )

    def matches(self, text: str) -> bool:
        """Tell whether the whole text is like the pattern."""
        if not self._more:
            return self._first.pattern.fullmatch(text) is not None
        found = self._first.pattern.match(text)
        for piece in self._more[:-1]:
            if found is None:
                return False
            found = piece.pattern.search(text, found.end())
        last = self._more[-1]
        start = len(text) - last.size
        return (
            found is not None
            and found.end() <= start
            and last.pattern.fullmatch(text, start) is not None
        )
