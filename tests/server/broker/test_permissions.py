"""The three permission bits."""

from mqserver.broker.names import is_inherited, is_readable, is_writable
from storefmt.names import perm_text


def test_bits_and_text() -> None:
    texts = [perm_text(perm) for perm in range(8)]

    assert texts == ["---", "--X", "-W-", "-WX", "R--", "R-X", "RW-", "RWX"]
    assert [is_readable(perm) for perm in (3, 4)] == [False, True]
    assert [is_writable(perm) for perm in (5, 2)] == [False, True]
    assert [is_inherited(perm) for perm in (6, 7)] == [False, True]
