"""The recall handle of a timer message, which the answer to its send has (RocketMQ 5).

    base64url("v1 TOPIC BROKER DELIVER_MS UNIQUE_KEY")

Rule: this module knows the text, and is as lenient as Java: padding may be missing, and further
words mean nothing. A broker checks the rest: the topic, its own name and the time.

Source: common/producer/RecallMessageHandle.java (5.4.0).
"""

import base64
import binascii
from typing import Final, NamedTuple

from remoting.errors import BadHeader

_VERSION: Final = "v1"
_WORDS: Final = 5


class RecallHandle(NamedTuple):
    """Names a message that waits in the timer wheel of a broker.

    Attributes:
        topic: the topic that it will be delivered to.
        broker_name: the broker that has it.
        timestamp: when it will be delivered, in ms since 1970, as a text.
        unique_key: the id that its producer gave it.
    """

    topic: str
    broker_name: str
    timestamp: str
    unique_key: str

    def encode(self) -> str:
        """Return the text of the handle."""
        return base64.urlsafe_b64encode(" ".join((_VERSION, *self)).encode()).decode()


def decode_recall(text: str) -> RecallHandle:
    """Return the handle that a text is.

    Raises:
        BadHeader: the text is not a handle; no broker gave it.
    """
    try:
        data = text.encode("ascii") + b"=" * (-len(text) % 4)
        words = base64.b64decode(data, altchars=b"-_", validate=True).decode().split(" ")
        if len(words) < _WORDS or words[0] != _VERSION:
            raise ValueError(f"{len(words)} words, expected {_WORDS} and {_VERSION} first")
    except (binascii.Error, ValueError) as error:
        raise BadHeader(
            f"recall handle {text[:60]!r}: {error}", header="RecallMessage", field="recallHandle"
        ) from None
    return RecallHandle(*words[1:_WORDS])
