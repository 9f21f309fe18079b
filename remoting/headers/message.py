"""Requests that store a message, and requests that hand one to a client.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.header import Header, Int32, Int64, key
from remoting.headers.rpc import Rpc


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessage(Rpc):
    """Store one message; the fields have long names (request codes 10 and 324)."""

    producer_group: str
    topic: str
    default_topic: str
    """The template for a topic that does not exist yet, usually TBW102."""
    default_topic_queue_nums: Int32
    queue_id: Int32
    """The queue; a negative number lets the broker choose."""
    sys_flag: Int32
    """Bits for compression and transactions, see ``storefmt.formats.sysflag``."""
    born_timestamp: Int64
    """When the producer made the message, in ms since 1970."""
    flag: Int32
    """The application's own number; the broker stores it and does not use it."""
    properties: str | None = None
    """The properties as one text, see ``storefmt.formats.properties``."""
    reconsume_times: Int32 | None = None
    unit_mode: bool = False
    batch: bool = False
    max_reconsume_times: Int32 | None = None
    """How often a message may be delivered again; only sent to retry topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageV2(Header):
    """Store one message or a batch (request codes 310, 320 and 325).

    The names of the fields on the wire are single letters.
    """

    producer_group: str = field(metadata=key("a"))
    topic: str = field(metadata=key("b"))
    default_topic: str = field(metadata=key("c"))
    """The template for a topic that does not exist yet, usually TBW102."""
    default_topic_queue_nums: Int32 = field(metadata=key("d"))
    queue_id: Int32 = field(metadata=key("e"))
    """The queue; a negative number lets the broker choose."""
    sys_flag: Int32 = field(metadata=key("f"))
    """Bits for compression and transactions, see ``storefmt.formats.sysflag``."""
    born_timestamp: Int64 = field(metadata=key("g"))
    """When the producer made the message, in ms since 1970."""
    flag: Int32 = field(metadata=key("h"))
    """The application's own number; the broker stores it and does not use it."""
    properties: str | None = field(default=None, metadata=key("i"))
    """The properties as one text, see ``storefmt.formats.properties``."""
    reconsume_times: Int32 | None = field(default=None, metadata=key("j"))
    unit_mode: bool = field(default=False, metadata=key("k"))
    max_reconsume_times: Int32 | None = field(default=None, metadata=key("l"))
    """How often a message may be delivered again; only sent to retry topics."""
    batch: bool = field(default=False, metadata=key("m"))
    """True when the body is a batch; otherwise the broker stores it as one message."""
    broker_name: str | None = field(default=None, metadata=key("n"))
    """The broker that the producer means; the broker does not check it."""
    rpc_broker_name: str | None = field(default=None, metadata=key("bname"))
    """The same under its long name; clients of 4.9 send only ``n``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageResponse(Header):
    """The broker returns where it stored a message.

    The response codes 10, 11 and 12 also carry this header: the message is stored in these cases.
    """

    msg_id: str
    """The offset id (broker address and commit log offset); comma separated for a batch."""
    queue_id: Int32
    queue_offset: Int64
    """The offset of the message in its queue, in entries; that of a batch's first message."""
    transaction_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyMessage(Header):
    """A broker hands a reply to the producer that asked (request code 326)."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int32
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    """When the reply was made, in ms since 1970."""
    flag: Int32
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool = False
    born_host: str
    """The address of the client that replies, ``ip:port``."""
    store_host: str
    """The address of the broker that passes the reply on, ``ip:port``."""
    store_timestamp: Int64 = 0
    """When the reply reached the broker, in ms since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeMessageDirectly(Header):
    """Let one connected consumer consume one stored message (request code 309)."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    """The offset id of the message."""
    broker_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSendMsgBack(Rpc):
    """Send a message back, so that its group gets it again later (request code 36)."""

    offset: Int64
    """The commit log offset of the message, in bytes."""
    group: str
    delay_level: Int32
    """0 lets the broker choose, and a level below 0 means the dead letter queue."""
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: Int32 | None = None
