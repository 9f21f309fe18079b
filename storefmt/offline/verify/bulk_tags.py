"""Finds the tags of many records with numpy, and their codes.

    window ──texts_of──> properties of similar size, copied side by side
           ──find_tags──> where each tag lies, and which need a closer look ──codes_of──> codes

Rule: a record whose tag is not plain (named twice, empty, behind another name's end) is only marked
as odd; the check of that record alone decides. The copies are small and stay in the cache of the
core, so this costs less than a search of whole windows as in ``storefmt.arrow.columns_decode``.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from storefmt.arrow.record_positions import Bytes, Flags, Ints
from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import TAGS

_NAME: Final = TAGS.encode()
_NAMED: Final = len(_NAME) + 1
_SEPARATOR: Final = 2
_SIZE_MAX: Final = 32
"""Codes of longer tags are computed one by one."""


class Texts(NamedTuple):
    """Properties of some records: those of record ``rows[k]`` are ``data[start[k]:end[k]]``.

    A separator precedes each of them; the bytes between them have no meaning.
    """

    rows: Ints
    data: bytes
    start: Ints
    end: Ints


class Tags(NamedTuple):
    """The position of each record's tag; an empty range if there is none."""

    start: Ints
    end: Ints
    odd: Flags


def texts_of(view: Bytes, pos: Ints, sizes: Ints) -> Iterator[Texts]:
    """Yield the properties at these positions (above 0) in groups of similar size.

    Properties at the very end of ``view`` may be left out. At most twice their bytes are copied:
    a small part of the window, which stays in the cache of the core.
    """
    like = np.frexp(sizes)[1]
    for kind in np.unique(like).tolist():
        rows = np.flatnonzero(like == kind)
        width = int(sizes[rows].max()) + 1
        rows = rows[pos[rows] - 1 + width <= len(view)]
        if not len(rows):
            continue
        table = np.lib.stride_tricks.sliding_window_view(view, width)[pos[rows] - 1]
        table[:, 0] = _SEPARATOR
        start = np.arange(len(rows)) * width + 1
        data = table.tobytes() + bytes(_SIZE_MAX)
        yield Texts(rows, data, start, start + sizes[rows])


def find_tags(texts: Texts) -> Tags:
    """Return the positions of the tags."""
    view = np.frombuffer(texts.data, dtype=np.uint8)
    names = np.flatnonzero(view == 1) - len(_NAME)
    names = names[names >= 0]
    for number, letter in enumerate(_NAME):
        names = names[view[names + number] == letter]
    # What is looked for after the last one lies in no properties.
    names = np.append(names, [len(view), len(view)])
    separators = np.append(np.flatnonzero(view == _SEPARATOR), len(view))
    name_rows = np.searchsorted(names, texts.start)
    first = names[name_rows]
    has_tag = first + _NAMED <= texts.end
    start = np.where(has_tag, first + _NAMED, texts.end)
    end = np.minimum(separators[np.searchsorted(separators, start)], texts.end)
    odd = (
        (names[name_rows + 1] + _NAMED <= texts.end)
        | (start == end)
        | (view[first - 1] != _SEPARATOR)
    )
    return Tags(start, end, has_tag & odd)


def codes_of(data: bytes, start: Ints, end: Ints) -> Ints:
    """Return the code of each tag ``data[start[k]:end[k]]``; ``data`` is that of ``Texts``."""
    sizes = end - start
    width = min(int(sizes.max(initial=1)), _SIZE_MAX)
    view = np.frombuffer(data, dtype=np.uint8)
    table = np.lib.stride_tricks.sliding_window_view(view, width)[start]
    codes = np.zeros(len(start), dtype=np.int32)
    is_plain = sizes <= width
    for number in range(width):
        letters, inside = table[:, number], sizes > number
        codes = np.where(inside, codes * 31 + letters, codes)
        is_plain &= ~inside | (letters < 128)
    tags_codes: Ints = codes.astype(np.int64)
    for row in np.flatnonzero(~is_plain).tolist():
        tags_codes[row] = tags_code(data[start[row] : end[row]].decode("utf-8", "replace"))
    return tags_codes
