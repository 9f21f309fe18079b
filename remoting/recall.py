"""The recall handle of a timer message, which the answer to its send has (RocketMQ 5).

    base64url("v1 TOPIC BROKER DELIVER_MS UNIQUE_KEY")

Rule: this module knows the text. A broker checks the rest: the topic, its own name and the time.

Source: common/producer/RecallMessageHandle.java (5.4.0).
"""

import base64
import binascii
from dataclasses import dataclass
from typing import Final

from remoting.errors import BadHeader
from remoting.header import parse_int

_VERSION: Final = "v1"
_WORDS: Final = 5


@dataclass(frozen=True, slots=True)
class RecallHandle:
    """Names a message that waits in the timer wheel of a broker.

    Attributes:
        topic: the topic that it will be delivered to.
        broker_name: the broker that has it.
        deliver_ms: when it will be delivered, in ms since 1970.
        unique_key: the id that its producer gave it.
    """

    topic: str
    broker_name: str
    deliver_ms: int
    unique_key: str

    def encode(self) -> str:
        """Return the text of the handle."""
        words = f"{_VERSION} {self.topic} {self.broker_name} {self.deliver_ms} {self.unique_key}"
        return base64.urlsafe_b64encode(words.encode()).decode()


def decode_recall(text: str) -> RecallHandle:
    """Return the handle that a text is; padding may be missing.

    Raises:
        BadHeader: the text is not a handle; no broker gave it.
    """
    try:
        padded = text + "=" * (-len(text) % 4)
        words = base64.b64decode(padded, altchars=b"-_", validate=True).decode().split(" ")
        if len(words) != _WORDS or words[0] != _VERSION or not all(words):
            raise ValueError(f"{len(words)} words, expected {_WORDS} and {_VERSION} first")
        return RecallHandle(words[1], words[2], parse_int(words[3]), words[4])
    except (binascii.Error, ValueError) as error:
        raise BadHeader(
            f"recall handle {text[:60]!r}: {error}", header="RecallMessage", field="recallHandle"
        ) from None
