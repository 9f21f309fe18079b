"""The identity of a store, as files of 5.4.0 have it."""

import pytest

from storefmt.config.broker_identity import BrokerIdentity, decode, encode
from storefmt.errors import ConfigDamaged


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("C#g#1", BrokerIdentity("C", "g", 1)),
        (
            "C#g#1#127.0.0.11:24311;1795845620712",
            BrokerIdentity("C", "g", 1, "127.0.0.11:24311;1795845620712"),
        ),
    ],
)
def test_files_of_java_are_read_and_written(text: str, identity: BrokerIdentity) -> None:
    assert decode(text.encode()) == identity
    assert encode(identity) == text


@pytest.mark.parametrize(
    "data", [b"", b"C#g", b"C##1", b"C#g#0", b"C#g#-1", b"C#g#x", b"C#g#1#", b"C#g#1#a#b",
             b"C#g#" + b"9" * 5_000, b"\xff#g#1"],
)  # fmt: skip
def test_a_damaged_file_is_refused(data: bytes) -> None:
    with pytest.raises(ConfigDamaged):
        decode(data)
