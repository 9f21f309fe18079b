"""The frames that answer sends and pulls, formatted in one go.

Two answers make up nearly all that a broker says, so they are written as text with the
numbers filled in, in the layout of ``remoting.serialize`` (tested against it). Everything
else goes through ``Command``.

Rule: an answer is in the serialisation of its request.

Source: broker/processor/SendMessageProcessor.java, PullMessageProcessor.java.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from remoting.codes import FLAG_RESPONSE, VERSION, LanguageCode, ResponseCode, SerializeType
from remoting.command import Command
from remoting.frame import encode_frame
from server.store.results import Chunk
from storefmt.formats.properties import MSG_REGION, TRACE_ON

_HEAD: Final = struct.Struct(">iI")
_CODE: Final = struct.Struct(">h")
_HEADER_SIZE_MASK: Final = 0xFFFFFF
_HEAD_SIZE: Final = 8
_STORED: Final = (0, 10)
"""Codes that say that a message is stored."""
_JSON: Final = int(SerializeType.JSON)
_END: Final = f'"serializeTypeCurrentRPC":"JSON","version":{VERSION}}}'
_LANGUAGE: Final = LanguageCode.PYTHON.name


class SendAnswers:
    """Answers to sends.

    Args:
        region: the broker's regionId, told with every answer.
        trace_on: whether producers should trace.
        store_host: the packed host that offset message ids begin with.
    """

    def __init__(self, *, region: str, trace_on: bool, store_host: bytes) -> None:
        self._id_format = f"{store_host.hex().upper()}%016X"
        # A method of this class around it would cost as much again, for every message.
        self.message_id: Callable[[int], str] = self._id_format.__mod__
        """Returns the offset id of a message at a log offset."""
        self.tell(region=region, trace_on=trace_on)

    def tell(self, *, region: str, trace_on: bool) -> None:
        """Tell this region, and whether producers should trace, from now on."""
        self._ext = {TRACE_ON: "true" if trace_on else "false", MSG_REGION: region}
        # A region with a quote or backslash in it would break the text below.
        quotable = region.isascii() and region.isprintable() and not set(region) & {'"', "\\"}
        self._common = (
            f'"TRACE_ON":"{self._ext[TRACE_ON]}","MSG_REGION":"{region}"' if quotable else None
        )

        # The same as in ``stored``; bytes, to be filled in with bytes.
        self._known = (
            b'{"code":0,"extFields":{"queueId":"%%b",%b,"msgId":"%b","queueOffset":"%%d"},'
            b'"flag":1,"language":"%b","opaque":%%b,%b'
            % (
                (self._common or "").replace("%", "%%").encode(),
                self._id_format.encode(),
                _LANGUAGE.encode(),
                _END.encode(),
            )
            if quotable
            else None
        )

    def message_ids(self, log_offsets: Sequence[int]) -> str:
        """Return the offset ids of the messages of a batch, as its answer lists them."""
        # One format for all is half the cost of one for each.
        return ",".join([self._id_format] * len(log_offsets)) % tuple(log_offsets)

    def stored(
        self, serialize: int, opaque: int, *, queue_id: int, queue_offset: int, message_id: str
    ) -> bytes:
        """Return the frame that says a message was stored, and where."""
        if serialize == _JSON and self._common is not None:
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
        return _frame(serialize, opaque, code=ResponseCode.SUCCESS, remark=None, ext=ext)

    def stored_known(
        self, opaque: bytes, *, queue_id: bytes, queue_offset: int, log_offset: int
    ) -> bytes:
        """Return what ``stored`` does for JSON, from the digits of the request."""
        if self._known is None:
            message_id = self.message_id(log_offset)
            return self.stored(
                _JSON,
                int(opaque),
                queue_id=int(queue_id),
                queue_offset=queue_offset,
                message_id=message_id,
            )
        header = self._known % (queue_id, log_offset, queue_offset, opaque)
        size = len(header)
        return _HEAD.pack(4 + size, size) + header

    def refused(self, serialize: int, opaque: int, *, code: int, remark: str) -> bytes:
        """Return the frame that says why a message was not stored."""
        return _frame(serialize, opaque, code=code, remark=remark, ext=self._ext)


def with_code(stored: bytes, code: int) -> bytes:
    """Return the frame of a stored message with another code (10: stored, disk not sure).

    One that says that nothing is stored stays as it is.
    """
    mark = _HEAD.unpack_from(stored)[1]
    header = stored[_HEAD_SIZE:]
    if mark >> 24 == _JSON:
        for known in _STORED:
            header = header.replace(b'{"code":%d,' % known, b'{"code":%d,' % code, 1)
    elif _CODE.unpack_from(header)[0] in _STORED:
        header = _CODE.pack(code) + header[_CODE.size :]
    size = len(header)
    return _HEAD.pack(4 + size, mark & ~_HEADER_SIZE_MASK | size) + header


def pulled(
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
    """Return the frame that answers a pull, records joined behind the header once."""
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


def pull_refused(serialize: int, opaque: int, *, code: int, remark: str) -> bytes:
    """Return the frame that refuses a pull before the queue was looked at."""
    return _frame(serialize, opaque, code=code, remark=remark, ext={})


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
