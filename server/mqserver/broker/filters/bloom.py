"""The bloom filter of the groups whose filters a message matches, bit for bit as in Java.

    positions("group#topic")  ->  k of m bits        the bit map of a message has these bits
                                                     set for each group whose filter it matches

Rule: k and m follow from the error rate and the expected number of groups. The k positions come
from one 64 bit hash and are always below m. Bit 0 is the lowest bit of the first byte.

Source: filter/util/BloomFilter.java, BitsArray.java (4.9.7);
MurmurHash3_x64_128 by Austin Appleby (public domain), as guava's murmur3_128().
"""

import math
from collections.abc import Iterable
from typing import Final

_MASK: Final = (1 << 64) - 1
_C1: Final = 0x87C37B91114253D5
_C2: Final = 0x4CF5AD432745937F
_BYTE: Final = 8


class BloomFilter:
    """The size of the bit map and the number of bits per group.

    Args:
        error_percent: how many of 100 messages that do not match may seem to match, 1 to 99.
        group_count: expected number of groups with filters on a topic, at least 1.

    Raises:
        ValueError: one of the arguments is out of range.
    """

    def __init__(self, error_percent: int, group_count: int) -> None:
        if not 1 <= error_percent < 100:
            raise ValueError(f"error rate is {error_percent} percent, expected 1 to 99")
        if group_count < 1:
            raise ValueError(f"group count is {group_count}, expected at least 1")
        rate = error_percent / 100.0
        self.hash_count = math.ceil(math.log(rate) / math.log(0.5))
        bits = math.ceil(group_count * (math.log(1 / rate) / math.log(2)) * (1.0 / math.log(2)))
        self.bit_count = _BYTE * math.ceil(bits / _BYTE)

    def positions(self, text: str) -> list[int]:
        """Return the bit positions of a text, ``hash_count`` of them; some may be equal."""
        hash64 = murmur3_64(text.encode("utf-8", "replace"))
        first, second = hash64 & 0xFFFFFFFF, hash64 >> 32
        positions = []
        for number in range(1, self.hash_count + 1):
            mixed = (first + number * second) & 0xFFFFFFFF
            positions.append((mixed if mixed < 1 << 31 else ~mixed & 0xFFFFFFFF) % self.bit_count)
        return positions

    def fits(self, positions: Iterable[int] | None, bit_count: int) -> bool:
        """Return whether positions came from a bloom filter with these sizes."""
        bits = [] if positions is None else list(positions)
        return (
            bit_count == self.bit_count
            and len(bits) == self.hash_count
            and all(0 <= position < bit_count for position in bits)
        )


def bit_map(bit_count: int, positions: Iterable[int]) -> bytes:
    """Return a bit map of ``bit_count`` bits in which these positions are set."""
    bits = 0
    for position in positions:
        bits |= 1 << position
    return bits.to_bytes(bit_count // _BYTE, "little")


def has_all(bits: bytes, positions: Iterable[int]) -> bool:
    """Return whether the bits at all of these positions are set."""
    return all(bits[position // _BYTE] >> position % _BYTE & 1 for position in positions)


def murmur3_64(data: bytes) -> int:
    """Return the first 64 of the 128 bits of MurmurHash3 with seed 0."""
    first = second = 0
    whole = len(data) - len(data) % 16
    for pos in range(0, whole, 16):
        first ^= _mixed(int.from_bytes(data[pos : pos + 8], "little"), _C1, 31, _C2)
        first = ((_rotated(first, 27) + second) * 5 + 0x52DCE729) & _MASK
        second ^= _mixed(int.from_bytes(data[pos + 8 : pos + 16], "little"), _C2, 33, _C1)
        second = ((_rotated(second, 31) + first) * 5 + 0x38495AB5) & _MASK
    tail = data[whole:]
    second ^= _mixed(int.from_bytes(tail[8:], "little"), _C2, 33, _C1)
    first ^= _mixed(int.from_bytes(tail[:8], "little"), _C1, 31, _C2)
    first ^= len(data)
    second ^= len(data)
    first = (first + second) & _MASK
    second = (second + first) & _MASK
    return (_finished(first) + _finished(second)) & _MASK


def _rotated(value: int, count: int) -> int:
    return (value << count | value >> (64 - count)) & _MASK


def _mixed(value: int, before: int, count: int, after: int) -> int:
    return _rotated(value * before & _MASK, count) * after & _MASK


def _finished(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33


def bit_text(bits: bytes) -> str:
    """Return a bit map as text for tools: highest bit first, a newline after every 64 bits."""
    parts = []
    for number in range(len(bits) - 1, -1, -1):
        parts.append(f"{bits[number]:08b}")
        if number % _BYTE == 0:
            parts.append("\n")
    return "".join(parts)
