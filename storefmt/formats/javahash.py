"""Java's String.hashCode, and the two numbers that RocketMQ makes of it.

    hash = c0 * 31^(n-1) + c1 * 31^(n-2) + … + c(n-1)   modulo 2^32, signed

Rule: the c are UTF-16 code units, so a character beyond the BMP counts as two.

Source: java.lang.String#hashCode, store/index/IndexFile.java#indexKeyHashMethod,
common/message/MessageExtBrokerInner.java#tagsString2tagsCode.
"""

from array import array
from collections.abc import Callable, Iterable
from functools import lru_cache
from operator import mul
from typing import Final

from storefmt.kernels import load

_MASK: Final = 0xFFFFFFFF
_SIGN: Final = 0x80000000
_CHUNK: Final = 64
_TAIL: Final = 3
_TAIL_FACTOR: Final = pow(31, _TAIL, 1 << 32)
_CACHED_SIZE_MAX: Final = 256
# _POWERS[n] are the factors of a text of n units; one C-level sum(map(mul)) per chunk
# is about twice as fast as a loop, and index building hashes every key of every message.
_POWERS: Final = tuple(
    tuple(pow(31, n - 1 - i, 1 << 32) for i in range(n)) for n in range(_CHUNK + 1)
)

Hash = Callable[[str], int]


def string_hash(text: str) -> int:
    """Return ``text.hashCode()`` of Java, a signed 32 bit number."""
    return _hash(text)


def tags_code(tags: str | None) -> int:
    """Return the number a consume queue entry holds for ``tags``; 0 without a tag."""
    return _cached_hash(tags) if tags else 0


def index_key_hash(key: str) -> int:
    """Return the hash of an index entry for ``key``, 0 <= n < 2^31.

    Args:
        key: ``topic#key``, joined as Java joins it.
    """
    value = abs(_hash(key))
    # Math.abs(Integer.MIN_VALUE) stays negative in Java, which then takes 0.
    return 0 if value == _SIGN else value


def hash_pure(text: str) -> int:
    """Do what ``string_hash`` does, in plain Python."""
    if _TAIL < len(text) <= _CACHED_SIZE_MAX and text.isascii():
        # Message ids and order numbers share long beginnings, and their last characters are
        # some of a few thousand, so both parts are usually cached.
        value = (_cached_head(text[:-_TAIL]) * _TAIL_FACTOR + _cached_tail(text[-_TAIL:])) & _MASK
    else:
        value = _unsigned(text)
    return value - 0x100000000 if value & _SIGN else value


def _unsigned(text: str) -> int:
    units: bytes | array[int]
    if text.isascii():
        units = text.encode("ascii")
    else:
        units = array("H", text.encode("utf-16-le", "surrogatepass"))
        if _BIG_ENDIAN:
            units.byteswap()
    value = 0
    for start in range(0, len(units), _CHUNK):
        chunk = units[start : start + _CHUNK]
        count = len(chunk)
        value = (value * pow(31, count, 1 << 32) + _sum(chunk, count)) & _MASK
    return value


def _sum(units: Iterable[int], size: int) -> int:
    total: int = sum(map(mul, units, _POWERS[size]))
    return total


_BIG_ENDIAN: Final = array("H", b"\0\1")[0] == 1
_hash: Hash = load("storefmt.formats.javahash_kernel", "hash_compiled", pure=hash_pure)
# There are few tags, and they recur with every message.
_cached_hash = lru_cache(maxsize=4096)(string_hash)
_cached_head = lru_cache(maxsize=4096)(_unsigned)
_cached_tail = lru_cache(maxsize=1 << 14)(_unsigned)
