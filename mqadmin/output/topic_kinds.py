"""What several topic commands share: kinds of topics, permissions as text.

Source: common/constant/PermName.java (4.9.7); ``storefmt.names`` for the names.
"""

import re
from collections.abc import Collection
from typing import Final, Literal

from storefmt import names
from storefmt.names import TopicKind

TopicKindName = Literal["normal", "retry", "dead_letter", "system"]

_NAMES: Final[dict[TopicKind, TopicKindName]] = {
    TopicKind.ORDINARY: "normal",
    TopicKind.LMQ: "normal",
    TopicKind.RETRY: "retry",
    TopicKind.DLQ: "dead_letter",
}

PERM_TEXT: Final = re.compile(r"[rR-]?[wW-]?[xX-]?")


def kind_of(topic: str, *, brokers_and_clusters: Collection[str] = ()) -> TopicKindName:
    """Return the kind of a topic; every broker and cluster has a topic of its own name."""
    kind = _NAMES.get(names.kind_of(topic), "system")
    return "system" if kind == "normal" and topic in brokers_and_clusters else kind


def parse_perm(text: str) -> int:
    """Return the permission that ``6``, ``RW``, ``r`` or ``RW-`` means.

    Raises:
        ValueError: it is not a permission.
    """
    if text.isdecimal():
        value = int(text)
        if value in range(8):
            return value
    elif text and PERM_TEXT.fullmatch(text):
        letters = text.lower()
        bits = (("r", names.PERM_READ), ("w", names.PERM_WRITE), ("x", names.PERM_INHERIT))
        return sum(bit for letter, bit in bits if letter in letters)
    raise ValueError(f"{text!r} is not a permission; expected 2 (write), 4 (read), 6, or RW, R, W")
