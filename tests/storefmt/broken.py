"""Breaks bytes in every small way, and sees that a decoder says so in its own words."""

from collections.abc import Callable
from contextlib import suppress

from hypothesis import settings
from hypothesis import strategies as st

from storefmt.errors import StoreError

FUZZ = settings(derandomize=True, deadline=None, max_examples=200)
"""The same examples on every run."""
ANY_BYTES = st.binary(max_size=300)


def survives(decode: Callable[[bytes], object], data: bytes) -> None:
    """Decode ``data``: a result or a StoreError is right, anything else is not."""
    with suppress(StoreError):
        decode(data)


def every_cut(data: bytes) -> list[bytes]:
    """Return ``data`` cut before each of its bytes."""
    return [data[:size] for size in range(len(data))]


def every_flip(data: bytes) -> list[bytes]:
    """Return ``data`` with each of its bits flipped."""
    whole = int.from_bytes(data, "big")
    return [(whole ^ (1 << bit)).to_bytes(len(data), "big") for bit in range(len(data) * 8)]
