"""Short cuts for a client's sends: the request written from its parts, the answer read at once.

    {"code":310,"extFields":{"a":..,"e":"3",   "f":..,..,"i":..   ,"j":..},..,"opaque":   7  ,..}
    `-- the same for a producer and queue: written once --'      `------ likewise -----'

Rule: ``SendFrames`` writes what ``encode_frame`` would write. ``read_stored`` answers what
``decode_frame`` and the typed header would, or None: then take the general path. None comes for
any other layout, a refusal, a remark, an escape, the answer to a transaction; it never raises.

Source: the layouts are HashMap orders seen in recorded frames of 4.9.7 and 5.4.0 brokers.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, cast

from remoting.codes import VERSION, LanguageCode, RequestCode, SerializeType
from remoting.errors import BadCall
from remoting.frame import RawFrame, frame_bytes
from remoting.serialize import quote

_STORED: Final = re.compile(
    r'\{"code":0,"extFields":\{"queueId":"([0-9]{1,9})","TRACE_ON":"(true|false)",'
    r'"MSG_REGION":"([^"\\]*)","msgId":"([^"\\]*)","queueOffset":"([0-9]{1,18})"\},"flag":1,'
    r'"language":"[A-Z]{1,12}","opaque":(0|[1-9][0-9]{0,8}),"serializeTypeCurrentRPC":"JSON",'
    r'"version":(?:0|[1-9][0-9]{0,8})\}'
)


def send_v2_ext(
    *,
    producer_group: str,
    topic: str,
    default_topic: str,
    default_topic_queue_nums: int,
    queue_id: int,
    sys_flag: int,
    born_ms: int,
    flag: int,
    properties: str,
    unit_mode: bool,
    batch: bool,
    broker_name: str,
) -> dict[str, str]:
    """Return what ``SendMessageV2(...).to_ext()`` does for a first send, four times as fast.

    The caller answers for the ranges: only ``flag`` comes from a user, who may give any 32 bits.
    """
    return {
        "a": producer_group,
        "b": topic,
        "c": default_topic,
        "d": str(default_topic_queue_nums),
        "e": str(queue_id),
        "f": str(sys_flag),
        "g": str(born_ms),
        "h": str(flag),
        "i": properties,
        "j": "0",
        "k": "true" if unit_mode else "false",
        "m": "true" if batch else "false",
        "n": broker_name,
    }


class SendFrames:
    """Writes one producer's sends to one queue (code 310): its names only once.

    Args:
        ext: what ``send_v2_ext`` gives for any of these sends.
    """

    __slots__ = ("_back", "_end", "_front")

    def __init__(self, ext: Mapping[str, str]) -> None:
        code = int(RequestCode.SEND_MESSAGE_V2)
        front = "".join(f"{quote(name)}:{quote(ext[name])}," for name in "abcde")
        back = ",".join(f"{quote(name)}:{quote(ext[name])}" for name in "jkmn")
        language = LanguageCode.PYTHON.name
        self._front = f'{{"code":{code},"extFields":{{{front}"f":"'
        self._back = f',{back}}},"flag":0,"language":"{language}","opaque":'
        self._end = f',"serializeTypeCurrentRPC":"JSON","version":{VERSION}}}'

    def frame(
        self,
        opaque: int,
        *,
        sys_flag: int,
        born_ms: int,
        flag: int,
        properties: str,
        body: bytes,
    ) -> bytes:
        """Return one send as a frame.

        Raises:
            BadCall: the properties have no UTF-8 form, or the frame is too large.
        """
        header = (
            f'{self._front}{sys_flag}","g":"{born_ms}","h":"{flag}",'
            f'"i":{quote(properties)}{self._back}{opaque}{self._end}'
        )
        try:
            return frame_bytes(SerializeType.JSON, header.encode(), body)
        except UnicodeEncodeError as error:
            raise BadCall(f"properties of a send have no UTF-8 form: {error}") from None


class Stored(NamedTuple):
    """What the answer to a send says that was stored as it should be."""

    opaque: int
    queue_id: int
    trace_on: bool
    region_id: str
    msg_id: str
    queue_offset: int


# A third of the time that calling the class takes.
_new_stored: Final = cast("Callable[[type[Stored], tuple[object, ...]], Stored]", tuple.__new__)


def read_stored(raw: RawFrame) -> Stored | None:
    """Return what the answer to a send says in the usual layout, None for any other frame."""
    serialize, header, _ = raw
    if serialize:
        return None
    try:
        found = _STORED.fullmatch(header.decode())
    except UnicodeDecodeError:
        return None
    if found is None:
        return None
    queue_id, trace_on, region_id, msg_id, queue_offset, opaque = found.groups()
    return _new_stored(
        Stored,
        (int(opaque), int(queue_id), trace_on == "true", region_id, msg_id, int(queue_offset)),
    )
