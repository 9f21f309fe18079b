"""Messages of one group go to the queue that Java's proxy chooses."""

import pytest

from server.proxy.sending import consistent_hash
from storefmt.formats.javahash import string_hash


@pytest.mark.parametrize(
    ("group", "queues", "bucket"),
    [
        ("grp", 4, 0), ("grp", 16, 0), ("order-1", 1, 0), ("order-1", 4, 3), ("order-1", 16, 3),
        ("中文", 4, 3), ("中文", 8, 3), ("", 16, 0), ("x", 1, 0), ("x", 4, 1), ("x", 8, 4),
        ("x", 16, 12),
    ],
)  # fmt: skip
def test_the_bucket_is_that_of_guava(group: str, queues: int, bucket: int) -> None:
    assert consistent_hash(string_hash(group), queues) == bucket
