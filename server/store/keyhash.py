"""The hash of index keys, fast enough to be taken of every message.

    topic#            AC110001234518B4AAC2… 04CE
    └ hashed once ┘   └ seen before ──────┘ └ last 9 characters, 3 lookups

Rule: the value is ``storefmt.javahash.index_key_hash(f"{topic}#{key}")``, always; this is
only a shorter way to it. Ids and order numbers share long beginnings and differ at the
end, so the hash of everything but the last 9 characters is remembered. Characters beyond
the BMP count as two in Java: such keys take the long way.

Source: java.lang.String#hashCode, store/index/IndexFile.java#indexKeyHashMethod.
"""

from typing import Final

from storefmt.javahash import index_key_hash, string_hash

_MASK: Final = 0xFFFFFFFF
_SIGN: Final = 0x80000000
_P3: Final = 31**3
_TAIL: Final = 9
_PREFIXES_MAX: Final = 4096
_CHUNKS_MAX: Final = 1 << 14


class TopicKeyHash:
    """Hashes keys of one topic; every index file takes the same number."""

    __slots__ = ("_chunks", "_prefixes", "_topic")

    def __init__(self, topic: str, chunks: dict[str, int]) -> None:
        self._topic = topic
        self._chunks = chunks
        self._prefixes: dict[str, int] = {}

    def __call__(self, key: str) -> int:
        """Return the hash of ``topic#key`` as an index entry holds it."""
        prefix = key[:-_TAIL]
        chunks = self._chunks
        try:
            value = (
                (self._prefixes[prefix] * _P3 + chunks[key[-9:-6]]) * _P3 + chunks[key[-6:-3]]
            ) * _P3 + chunks[key[-3:]]
        except KeyError:
            return self._learn(key)
        value &= _MASK
        if value & _SIGN:
            return (0x100000000 - value) & 0x7FFFFFFF
        return value

    def _learn(self, key: str) -> int:
        # The shortcut needs a whole tail of characters that are one UTF-16 unit each.
        if len(key) >= _TAIL and key.isascii():
            if len(self._prefixes) >= _PREFIXES_MAX:
                self._prefixes.clear()
            if len(self._chunks) >= _CHUNKS_MAX:
                self._chunks.clear()
            prefix = key[:-_TAIL]
            self._prefixes[prefix] = string_hash(f"{self._topic}#{prefix}") & _MASK
            for part in (key[-9:-6], key[-6:-3], key[-3:]):
                self._chunks[part] = string_hash(part)
        return index_key_hash(f"{self._topic}#{key}")
