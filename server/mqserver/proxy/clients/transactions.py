"""The transactions that are not ended: where the half message of each is.

    send ─────────────> add ──> transaction id, which the client sends back
    a broker's question ─┘             └──> take_transaction ──> END_TRANSACTION at the broker

    transaction id   "ENDPOINT BROKER QUEUE_OFFSET LOG_OFFSET EXPIRES_MS UNIQUE_KEY"

A transaction id itself says where the half message is. So an endpoint that was restarted, or
another one in front of the same brokers, can end a transaction that it did not begin.

Rule: an endpoint uses an entry of its own once, and never after it has expired, because then the
broker asks again. The newest entry of a transaction is the valid one, because a broker moves a half
message when it asks. The broker checks that a half message of this topic is there.

Source: proxy/service/transaction/TransactionDataManager.java (5.4.0), which keeps all of this in
memory: there the unique key is the transaction id.
"""

import secrets
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from mqserver.proxy.proxy_config import ProxyConfig

OPEN_MAX: Final = 65_536
"""How many transactions are remembered; the broker asks again about one that was forgotten."""
_WORDS: Final = 6
_LONG_DIGITS: Final = 19
_LONG: Final = 1 << 63


class HalfMessage(NamedTuple):
    """Where a half message is, and until when the entry may be used (ms since 1970)."""

    broker_name: str
    queue_offset: int
    log_offset: int
    expires_ms: int


class TransactionId(NamedTuple):
    """The decoded id of a transaction.

    Attributes:
        endpoint: names the endpoint that gave the id.
        half: where the half message was then.
        unique_key: the id of the message.
    """

    endpoint: str
    half: HalfMessage
    unique_key: str

    def encode(self) -> str:
        """Return the text of the id."""
        return " ".join((self.endpoint, *map(str, self.half), self.unique_key))


def decode_transaction_id(text: str) -> TransactionId | None:
    """Return the decoded id; None if no endpoint of ours made it."""
    words = text.split(" ", _WORDS - 1)
    if len(words) < _WORDS or not all(words):
        return None
    endpoint, broker_name, *numbers, unique_key = words
    # The length is checked first, because a stranger may send many digits.
    if not all(
        len(each) <= _LONG_DIGITS and each.isascii() and each.isdecimal() and int(each) < _LONG
        for each in numbers
    ):
        return None
    return TransactionId(endpoint, HalfMessage(broker_name, *map(int, numbers)), unique_key)


class Transactions:
    """The transactions of one proxy.

    Args:
        config: how long an entry may be used, and how many one transaction has.
        now_ms: the wall clock.
    """

    def __init__(self, config: ProxyConfig, now_ms: Callable[[], int]) -> None:
        self._config = config
        self._now_ms = now_ms
        self._endpoint = secrets.token_hex(4)
        self._known: dict[tuple[str, str], deque[HalfMessage]] = {}
        """By topic and unique key."""

    def add(
        self, topic: str, unique_key: str, *, broker_name: str, queue_offset: int, log_offset: int
    ) -> str:
        """Remember where a half message is, and return the id of its transaction."""
        expires_ms = self._now_ms() + self._config.transaction_data_expire_ms
        half = HalfMessage(broker_name, queue_offset, log_offset, expires_ms)
        halves = self._known.setdefault(
            (topic, unique_key), deque(maxlen=self._config.transaction_data_max_num)
        )
        if len(self._known) > OPEN_MAX:
            del self._known[next(iter(self._known))]
        halves.append(half)
        return TransactionId(self._endpoint, half, unique_key).encode()

    def take_transaction(self, topic: str, transaction_id: str) -> TransactionId | None:
        """Return the newest entry of a transaction and forget it; None if none may be used."""
        named = decode_transaction_id(transaction_id)
        if named is None:
            return None
        halves = self._known.get((topic, named.unique_key))
        if halves:
            half = halves.pop()
        elif named.endpoint != self._endpoint:
            half = named.half
        else:
            return None
        if not halves or half.expires_ms < self._now_ms():
            self._known.pop((topic, named.unique_key), None)
        return named._replace(half=half) if half.expires_ms >= self._now_ms() else None

    def drop_expired(self, now_ms: int) -> None:
        """Forget the entries that have expired."""
        for key, halves in list(self._known.items()):
            while halves and halves[0].expires_ms < now_ms:
                halves.popleft()
            if not halves:
                del self._known[key]
