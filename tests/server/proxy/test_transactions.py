"""Transaction ids: what they say, how often and how long they may be used, and by whom."""

import pytest

from mqserver.proxy.clients.transactions import (
    HalfMessage,
    TransactionId,
    Transactions,
    decode_transaction_id,
)
from mqserver.proxy.proxy_config import ProxyConfig

EXPIRE_MS = ProxyConfig().transaction_data_expire_ms


class Clock:
    """The time of a test, in ms."""

    def __init__(self) -> None:
        self.now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


def begin(transactions: Transactions, *, log_offset: int = 7) -> str:
    return transactions.add(
        "T", "KEY 1", broker_name="broker-a", queue_offset=3, log_offset=log_offset
    )


def place(named: TransactionId | None) -> int | None:
    return None if named is None else named.half.log_offset


def test_an_id_says_where_the_half_message_is() -> None:
    named = decode_transaction_id(begin(Transactions(ProxyConfig(), Clock())))

    assert named is not None
    assert named.half == HalfMessage("broker-a", 3, 7, 1_000 + EXPIRE_MS)
    assert named.unique_key == "KEY 1"


def test_an_endpoint_uses_an_id_of_its_own_once() -> None:
    transactions = Transactions(ProxyConfig(), Clock())
    transaction_id = begin(transactions)

    taken = [place(transactions.take_transaction("T", transaction_id)) for _ in range(2)]

    assert taken == [7, None]


def test_an_id_of_another_endpoint_is_used_until_it_expires() -> None:
    clock = Clock()
    transaction_id = begin(Transactions(ProxyConfig(), clock))
    restarted = Transactions(ProxyConfig(), clock)

    in_time = place(restarted.take_transaction("T", transaction_id))
    clock.now_ms += EXPIRE_MS + 1
    late = place(restarted.take_transaction("T", transaction_id))

    assert (in_time, late) == (7, None)


def test_the_newest_place_counts_for_an_older_id() -> None:
    clock = Clock()
    transaction_id = begin(Transactions(ProxyConfig(), clock))
    restarted = Transactions(ProxyConfig(), clock)
    # The broker asked in the meantime, which moved the half message.
    begin(restarted, log_offset=500)

    assert place(restarted.take_transaction("T", transaction_id)) == 500


def test_expired_entries_are_forgotten() -> None:
    clock = Clock()
    transactions = Transactions(ProxyConfig(), clock)
    begin(transactions)

    transactions.drop_expired(1_000 + EXPIRE_MS + 1)

    assert not transactions._known


@pytest.mark.parametrize(
    "text",
    [
        "", "KEY", "e b 1 2 3", "e b 1 2 3 ", " b 1 2 3 K", "e  1 2 3 K", "e b -1 2 3 K",
        "e b 1 two 3 K", "e b 1 2 \u0663 K", f"e b 1 2 {1 << 63} K", f"e b 1 {'9' * 5_000} 3 K",
    ],
)  # fmt: skip
def test_what_is_not_an_id_of_ours_is_not_found(text: str) -> None:
    assert decode_transaction_id(text) is None
    assert Transactions(ProxyConfig(), Clock()).take_transaction("T", text) is None
