"""The body with which a broker registers its topics at a name server (request code 103).

The body is JSON. When the header says that it is compressed, the body is a zlib stream of

    i32 n, DataVersion as JSON | i32 topic count | (i32 n, "name read write perm filter")* |
    i32 n, JSON list of filter servers                                    big endian

Rule: the compressed form has no ``topic_sys_flag`` and no ``order``. The decompressed size is
limited while the stream is read, because a few bytes could otherwise become gigabytes.

Source: common/protocol/body/RegisterBrokerBody.java, common/TopicConfig.java#encode.
"""

import struct
import zlib
from dataclasses import dataclass, field
from typing import Final, Self

from remoting.bodies.base import Body
from remoting.bodies.configs import (
    TopicConfigSerializeWrapper,
    decode_value,
    encode_value,
)
from remoting.errors import BadBody
from storefmt.config import fastjson
from storefmt.config.tables import DataVersion, TopicConfig
from storefmt.errors import ConfigDamaged

PLAIN_SIZE_MAX: Final = 64 * 1024 * 1024
"""The limit on a decompressed registration, in bytes; a topic takes about 40 bytes."""

_INT: Final = struct.Struct(">i")
_TOPIC_PARTS: Final = 5


@dataclass(slots=True, kw_only=True)
class RegisterBrokerBody(Body):
    """A broker registers all its topics and its filter servers."""

    topic_config_serialize_wrapper: TopicConfigSerializeWrapper = field(
        default_factory=TopicConfigSerializeWrapper
    )
    filter_server_list: list[str] = field(default_factory=list)

    def encode_compressed(self) -> bytes:
        """Return the body in its compressed form."""
        wrapper = self.topic_config_serialize_wrapper
        parts = [encode_value(wrapper.data_version)]
        parts += [_topic_text(topic).encode() for topic in wrapper.topic_config_table.values()]
        parts.append(fastjson.dumps(list(self.filter_server_list)).encode())
        sized = [_INT.pack(len(part)) + part for part in parts]
        sized.insert(1, _INT.pack(len(wrapper.topic_config_table)))
        return zlib.compress(b"".join(sized), zlib.Z_BEST_COMPRESSION)

    @classmethod
    def decode_compressed(cls, data: bytes, *, size_max: int = PLAIN_SIZE_MAX) -> Self:
        """Return the body that the compressed form contains.

        Args:
            data: the whole zlib stream.
            size_max: the limit on the decompressed size, in bytes.

        Raises:
            BadBody: this is not a zlib stream, it is too large or cut, or a part cannot be read.
        """
        parts = _Parts(_unfold(data, size_max))
        version = decode_value(DataVersion, parts.sized())
        topics = [_topic_of(parts.sized()) for _ in range(parts.count())]
        try:
            filters = fastjson.loads(parts.sized())
        except ConfigDamaged as error:
            raise _bad(f"filter servers: {error}") from None
        return cls(
            topic_config_serialize_wrapper=TopicConfigSerializeWrapper(
                topic_config_table={topic.topic_name: topic for topic in topics},
                data_version=version,
            ),
            filter_server_list=[str(name) for name in filters] if isinstance(filters, list) else [],
        )


def _bad(text: str) -> BadBody:
    return BadBody(f"compressed RegisterBrokerBody: {text}", body="RegisterBrokerBody")


def _unfold(data: bytes, size_max: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(data, size_max)
    except zlib.error as error:
        raise _bad(str(error)) from None
    if not stream.eof:
        why = f"unfolds to more than {size_max} bytes" if stream.unconsumed_tail else "is cut"
        raise _bad(f"stream of {len(data)} bytes {why}")
    return plain


class _Parts:
    """Reads the parts of the decompressed form, each of which begins with its size."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pos = 0

    def count(self) -> int:
        """Return the next int as a number of parts; each part takes at least 4 bytes."""
        return self._int("count", (len(self._data) - self._pos) // 4)

    def sized(self) -> bytes:
        """Return the next part."""
        size = self._int("size", len(self._data) - self._pos - 4)
        self._pos += size
        return self._data[self._pos - size : self._pos]

    def _int(self, what: str, most: int) -> int:
        if len(self._data) - self._pos < _INT.size:
            raise _bad(f"cut at byte {self._pos}")
        number: int = _INT.unpack_from(self._data, self._pos)[0]
        if not 0 <= number <= most:
            raise _bad(f"{what} {number} at byte {self._pos}, at most {most} expected")
        self._pos += _INT.size
        return number


def _topic_text(topic: TopicConfig) -> str:
    return (
        f"{topic.topic_name} {topic.read_queue_nums} {topic.write_queue_nums} "
        f"{topic.perm} {topic.topic_filter_type}"
    )


def _topic_of(text: bytes) -> TopicConfig:
    parts = text.decode("utf-8", "replace").split(" ")
    if len(parts) != _TOPIC_PARTS:
        raise _bad(f"topic {text[:60]!r}, expected `name read write perm filter`")
    name, *numbers, filter_type = parts
    try:
        read, write, perm = (int(number) for number in numbers)
    except ValueError:
        raise _bad(f"topic {text[:60]!r} contains an invalid number") from None
    return TopicConfig(
        topic_name=name,
        read_queue_nums=read,
        write_queue_nums=write,
        perm=perm,
        topic_filter_type=filter_type,
    )
