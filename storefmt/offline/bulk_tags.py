"""Where the tags of many records lie in their properties, found for all of them at once.

    \\x02 properties \\x02 properties … ──every TAGS\\x01──> the first one of each ──> its value

Rule: nothing is judged here; what is not one tag with a value, at the start of a property, is
odd, and its record is looked at by itself.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from storefmt.properties import TAGS

_NAME: Final = TAGS.encode()
_NAMED: Final = len(_NAME) + 1


class Tags(NamedTuple):
    """Where the tag of each record lies; no bytes where there is none."""

    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    odd: npt.NDArray[np.bool_]


def find_tags(joined: bytes, sizes: npt.NDArray[np.int64]) -> Tags:
    """Return where the tags lie in properties of these sizes, each behind a separator."""
    view = np.frombuffer(joined, dtype=np.uint8)
    ends = (sizes + 1).cumsum()
    names = np.flatnonzero(view == 1) - len(_NAME)
    names = names[names >= 0]
    for number, letter in enumerate(_NAME):
        names = names[view[names + number] == letter]
    # What is looked for behind the last one lies in no properties.
    names = np.append(names, [len(view), len(view)])
    separators = np.append(np.flatnonzero(view == 2), len(view))
    at = np.searchsorted(names, ends - sizes)
    first = names[at]
    has_tag = first + _NAMED <= ends
    start = np.where(has_tag, first + _NAMED, ends)
    end = np.minimum(separators[np.searchsorted(separators, start)], ends)
    odd = (names[at + 1] + _NAMED <= ends) | (start == end) | (view[first - 1] != 2)
    return Tags(start, end, has_tag & odd)
