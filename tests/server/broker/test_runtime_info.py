"""Numbers as Java prints them."""

import pytest

from mqserver.broker.handlers.broker_settings import disk_ratio, readable_size, running_time
from mqserver.store.disk.disk import DiskUsage


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (1_782_579, "1.7 MiB"),
        (66 * 1024**3 + 512 * 1024**2, "66.5 GiB"),
        (2**70, "1024.0 EiB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert readable_size(size) == text


@pytest.mark.parametrize(
    ("used", "usable", "text"), [(39, 53, "0.43"), (1, 1, "0.5"), (5, 0, "1.0"), (0, 9, "0.0")]
)
def test_ratio_of_a_disk_counts_only_what_may_be_used(used: int, usable: int, text: str) -> None:
    assert disk_ratio(DiskUsage(used, usable)) == text


def test_running_time() -> None:
    assert running_time(15_999) == "[ 0 days, 0 hours, 0 minutes, 15 seconds ]"
    assert running_time(90_061_000) == "[ 1 days, 1 hours, 1 minutes, 1 seconds ]"
    assert running_time(-5) == "[ 0 days, 0 hours, 0 minutes, 0 seconds ]"
