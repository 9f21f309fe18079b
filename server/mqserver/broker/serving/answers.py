"""Format the frames that answer sends and pulls.

Nearly all answers of a broker are one of two kinds, so these are written as JSON text with the
numbers filled in, in the layout of ``remoting.serialize`` (a test compares the two). All other
answers are encoded with ``Command``.

Rule: an answer has the serialization of its request.

Source: broker/processor/SendMessageProcessor.java, PullMessageProcessor.java.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mqserver.store.results import Chunk
from remoting.codes import FLAG_RESPONSE, VERSION, LanguageCode, ResponseCode, SerializeType
from remoting.command import Command
from remoting.frame import encode_frame
from remoting.serialize import encode_header
from storefmt.formats.properties import MSG_REGION, TRACE_ON

_HEAD: Final = struct.Struct(">iI")
_CODE: Final = struct.Struct(">h")
_HEADER_SIZE_MASK: Final = 0xFFFFFF
_HEAD_SIZE: Final = 8
_STORED: Final = (0, 10)
"""The codes of answers to a message that was stored: SUCCESS and FLUSH_DISK_TIMEOUT."""
_JSON: Final = int(SerializeType.JSON)
_BINARY: Final = SerializeType.ROCKETMQ
_OPAQUE_POS: Final = 5
_PAIRS_POS: Final = 21
_INT_SIZE: Final = 4
_END: Final = f'"serializeTypeCurrentRPC":"JSON","version":{VERSION}}}'
_LANGUAGE: Final = LanguageCode.PYTHON.name


class SendAnswers:
    """Formats the answers to sends.

    Args:
        region: the broker's regionId, which every answer carries.
        trace_on: whether producers should send message traces.
        store_host: the packed host that offset message ids begin with.
    """

    def __init__(self, *, region: str, trace_on: bool, store_host: bytes) -> None:
        self._id_format = f"{store_host.hex().upper()}%016X"
        # A method around this call would double its cost for every message.
        self.message_id: Callable[[int], str] = self._id_format.__mod__
        """Returns the offset id of a message at a log offset."""
        self.set_region(region, trace_on=trace_on)

    def set_region(self, region: str, *, trace_on: bool) -> None:
        """Set the region and the trace switch that answers carry from now on."""
        self._ext = {TRACE_ON: "true" if trace_on else "false", MSG_REGION: region}
        # A region with a quote or backslash in it would break the text below.
        quotable = region.isascii() and region.isprintable() and not set(region) & {'"', "\\"}
        self._common = (
            f'"TRACE_ON":"{self._ext[TRACE_ON]}","MSG_REGION":"{region}"' if quotable else None
        )

        # The text of ``stored`` around queue id, offset id, queue offset and opaque.
        host = self._id_format.removesuffix("%016X")
        texts = (
            '{"code":0,"extFields":{"queueId":"',
            f'",{self._common},"msgId":"',
            host,
            '","queueOffset":"',
            f'"}},"flag":1,"language":"{_LANGUAGE}","opaque":',
            f",{_END}",
        )
        self.pieces = tuple(text.encode() for text in texts) if quotable else None
        """The constant parts of ``stored`` for JSON: before the queue id, before an offset id, the
        host in each offset id, before the queue offset, before the opaque, and the end."""
        self.binary_pieces = (
            encode_header(Command(code=0, serialize=_BINARY))[:_OPAQUE_POS],
            _key("queueId"),
            host.encode(),
            _pairs(self._ext) + _key("msgId"),
            _key("queueOffset"),
        )
        """The constant parts for the binary serialization: before the opaque, the key of the queue
        id, the host in each offset id, the common pairs and the key of the offset ids, and the key
        of the queue offset."""

    def message_ids(self, log_offsets: Sequence[int]) -> str:
        """Return the offset ids of the messages of a batch, as its answer lists them."""
        # One format operation for all takes half the time of one for each.
        return ",".join([self._id_format] * len(log_offsets)) % tuple(log_offsets)

    def stored(
        self,
        serialize: int,
        opaque: int,
        *,
        queue_id: int,
        queue_offset: int,
        message_id: str,
        recall_handle: str | None = None,
    ) -> bytes:
        """Return the frame that says that a message was stored, and where.

        Args:
            serialize: serialization code of the request.
            opaque: number of the request, which the answer repeats.
            queue_id: queue of the message.
            queue_offset: of the message or of the first one of a batch, in entries.
            message_id: offset id, or the ids of a batch joined with commas.
            recall_handle: handle with which the producer can recall a timer message.
        """
        if recall_handle is None and serialize == _JSON and self._common is not None:
            header = (
                f'{{"code":0,"extFields":{{"queueId":"{queue_id}",{self._common},'
                f'"msgId":"{message_id}","queueOffset":"{queue_offset}"}},"flag":1,'
                f'"language":"{_LANGUAGE}","opaque":{opaque},{_END}'
            ).encode()
            size = len(header)
            return _HEAD.pack(4 + size, size) + header
        ext = {
            "queueId": str(queue_id),
            **self._ext,
            "msgId": message_id,
            "queueOffset": str(queue_offset),
        }
        if recall_handle is not None:
            ext["recallHandle"] = recall_handle
        return _frame(serialize, opaque, code=ResponseCode.SUCCESS, remark=None, ext=ext)

    def refused(self, serialize: int, opaque: int, *, code: int, remark: str) -> bytes:
        """Return the frame that says why a message was not stored.

        Args:
            serialize: serialization code of the request.
            opaque: number of the request, which the answer repeats.
            code: response code.
            remark: the reason, which the producer's exception shows.
        """
        return _frame(serialize, opaque, code=code, remark=remark, ext=self._ext)


def with_code(answers: bytes, code: int) -> bytes:
    """Return answers to stored messages with another code (10: not known to be on disk).

    An answer that says that the message was not stored keeps its code.
    """
    parts, pos = [], 0
    while pos < len(answers):
        end = pos + 4 + _HEAD.unpack_from(answers, pos)[0]
        parts.append(_with_code(answers[pos:end], code))
        pos = end
    return b"".join(parts)


def _with_code(stored: bytes, code: int) -> bytes:
    mark = _HEAD.unpack_from(stored)[1]
    header = stored[_HEAD_SIZE:]
    if mark >> 24 == _JSON:
        for usual in _STORED:
            header = header.replace(b'{"code":%d,' % usual, b'{"code":%d,' % code, 1)
    elif _CODE.unpack_from(header)[0] in _STORED:
        header = _CODE.pack(code) + header[_CODE.size :]
    size = len(header)
    return _HEAD.pack(4 + size, mark & ~_HEADER_SIZE_MASK | size) + header


def encode_pull_answer(
    serialize: int,
    opaque: int,
    *,
    code: int,
    remark: str,
    next_offset: int,
    min_offset: int,
    max_offset: int,
    chunks: Sequence[Chunk] = (),
    suggested_broker_id: int = 0,
) -> bytes:
    """Return the frame that answers a pull; the records are copied once, after the header.

    Args:
        serialize: serialization code of the request.
        opaque: number of the request, which the answer repeats.
        code: response code.
        remark: name of the read's status; it needs no escaping in JSON.
        next_offset: queue offset of the next pull, in entries.
        min_offset: first queue offset of the queue, in entries.
        max_offset: queue offset after the last entry.
        chunks: bytes of the records, in order.
        suggested_broker_id: broker to pull from next; 0 is the master.
    """
    if serialize != _JSON:
        ext = {
            "suggestWhichBrokerId": str(suggested_broker_id),
            "nextBeginOffset": str(next_offset),
            "maxOffset": str(max_offset),
            "minOffset": str(min_offset),
        }
        body = b"".join(chunks)
        return _frame(serialize, opaque, code=code, remark=remark, ext=ext, body=body)
    header = (
        f'{{"code":{int(code)},"extFields":{{"suggestWhichBrokerId":"{suggested_broker_id}",'
        f'"nextBeginOffset":"{next_offset}","maxOffset":"{max_offset}",'
        f'"minOffset":"{min_offset}"}},"flag":1,"language":"{_LANGUAGE}","opaque":{opaque},'
        f'"remark":"{remark}",{_END}'
    ).encode()
    size = len(header)
    length = 4 + size + sum(map(len, chunks))
    return b"".join((_HEAD.pack(length, size), header, *chunks))


def encode_pull_refusal(serialize: int, opaque: int, *, code: int, remark: str) -> bytes:
    """Return the frame that refuses a pull before its queue was read.

    Args:
        serialize: serialization code of the request.
        opaque: number of the request, which the answer repeats.
        code: response code.
        remark: the reason, for people.
    """
    return _frame(serialize, opaque, code=code, remark=remark, ext={})


def _pairs(ext: Mapping[str, str]) -> bytes:
    """Return fields as a binary header ends with them."""
    return encode_header(Command(code=0, ext=dict(ext), serialize=_BINARY))[_PAIRS_POS:]


def _key(name: str) -> bytes:
    """Return the name of a field as in a binary header; the size of the value comes next."""
    return _pairs({name: ""})[:-_INT_SIZE]


def _frame(
    serialize: int,
    opaque: int,
    *,
    code: int,
    remark: str | None,
    ext: Mapping[str, str],
    body: bytes = b"",
) -> bytes:
    return encode_frame(
        Command(
            code=int(code),
            opaque=opaque,
            flag=FLAG_RESPONSE,
            remark=remark,
            ext=dict(ext),
            body=body,
            serialize=SerializeType(serialize),
            ext_written=True,
        )
    )
