"""Messages in, and messages handed to a client.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.header import Header, Int32, Int64, key
from remoting.headers.rpc import Rpc


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessage(Rpc):
    """Store one message, long field names (request codes 10 and 324)."""

    producer_group: str
    topic: str
    default_topic: str
    """Template for a topic that does not exist yet, TBW102."""
    default_topic_queue_nums: Int32
    queue_id: Int32
    """Queue; a negative one lets the broker choose."""
    sys_flag: Int32
    """See ``storefmt.formats.sysflag``: compression, transaction."""
    born_timestamp: Int64
    """When the producer made the message, ms."""
    flag: Int32
    """The user's own flag, stored and not looked at."""
    properties: str | None = None
    """Property string, see ``storefmt.formats.properties``."""
    reconsume_times: Int32 | None = None
    unit_mode: bool = False
    batch: bool = False
    max_reconsume_times: Int32 | None = None
    """Only sent to retry topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageV2(Header):
    """Store one message or a batch, one-letter field names (request codes 310, 320, 325)."""

    producer_group: str = field(metadata=key("a"))
    topic: str = field(metadata=key("b"))
    default_topic: str = field(metadata=key("c"))
    """Template for a topic that does not exist yet, TBW102."""
    default_topic_queue_nums: Int32 = field(metadata=key("d"))
    queue_id: Int32 = field(metadata=key("e"))
    """Queue; a negative one lets the broker choose."""
    sys_flag: Int32 = field(metadata=key("f"))
    """See ``storefmt.formats.sysflag``: compression, transaction."""
    born_timestamp: Int64 = field(metadata=key("g"))
    """When the producer made the message, ms."""
    flag: Int32 = field(metadata=key("h"))
    """The user's own flag, stored and not looked at."""
    properties: str | None = field(default=None, metadata=key("i"))
    """Property string, see ``storefmt.formats.properties``."""
    reconsume_times: Int32 | None = field(default=None, metadata=key("j"))
    unit_mode: bool = field(default=False, metadata=key("k"))
    max_reconsume_times: Int32 | None = field(default=None, metadata=key("l"))
    """Only sent to retry topics."""
    batch: bool = field(default=False, metadata=key("m"))
    """True when the body is a batch; without it a batch is stored as one message."""
    broker_name: str | None = field(default=None, metadata=key("n"))
    """Broker the producer means; the broker does not look at it."""
    rpc_broker_name: str | None = field(default=None, metadata=key("bname"))
    """The same under its long name; 4.9 clients send ``n`` only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageResponse(Header):
    """Where a message was stored; also sent with codes 10, 11 and 12, which mean stored."""

    msg_id: str
    """Offset id: address and commit log offset; comma separated for a batch."""
    queue_id: Int32
    queue_offset: Int64
    """Place in the queue, in entries."""
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
    """When the reply was made, ms."""
    flag: Int32
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool = False
    born_host: str
    """Address of the replying client, ``ip:port``."""
    store_host: str
    """Address of the broker that passes it on, ``ip:port``."""
    store_timestamp: Int64 = 0
    """When the reply reached the broker, ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeMessageDirectlyResult(Header):
    """Run one message through one live consumer (request code 309)."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    """Offset id of the message."""
    broker_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSendMsgBack(Rpc):
    """Queue a message again for its group, later (request code 36)."""

    offset: Int64
    """Commit log offset of the message, bytes."""
    group: str
    delay_level: Int32
    """0 lets the broker choose, below 0 sends it to the dead letter queue."""
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: Int32 | None = None
