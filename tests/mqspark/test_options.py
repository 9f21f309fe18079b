"""The readers of option texts."""

import pytest

from mqspark.options import size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("1000", 1_000),
        ("64k", 64 << 10),
        ("64KB", 64 << 10),
        ("256m", 256 << 20),
        ("256 MiB", 256 << 20),
        ("1g", 1 << 30),
        ("2t", 2 << 40),
        ("1p", 1 << 50),
        ("12b", 12),
    ],
)
def test_sizes_are_read_as_spark_writes_them(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "m", "0", "0k", "-1", "1.5g", "many", "1x", "1mm"])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="whole number of bytes"):
        size(text)
