"""Sends that are checked and packed, and only need a queue.

    SendMessageRequest ──┬── plain: read by ``plain_send_kernel`` ──┬──> SendDraft
                         └── decoded, ``sending`` packs it ─────────┘

Rule: the kernel is optional, and a draft is the same by both ways.

Source: proxy/grpc/v2/producer/SendMessageActivity.java (5.4.0).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mqclient.producer.send_request import PackedMessage
from mqserver.proxy.cluster import TopicType
from mqserver.proxy.grpc_validator import topic_of
from mqserver.proxy.message_conversion import OWN_NAMES
from mqserver.proxy.protocol.definitions import Resource
from mqserver.proxy.proxy_config import ProxyConfig
from storefmt.formats.properties import hashmap_order
from storefmt.kernels import load


class SendDraft(NamedTuple):
    """A message, or a batch, that was checked.

    Attributes:
        topic: the topic.
        kind: the type of topic that takes it; None if every topic does.
        message_group: chooses the queue; None if any queue will do.
        packed: the message as a broker gets it.
        born_ms: when the message was made, in ms since 1970.
    """

    topic: str
    kind: TopicType | None
    message_group: str | None
    packed: PackedMessage
    born_ms: int


class SendLimits(NamedTuple):
    """The limits of a message: sizes in bytes, 0 for a body of any size."""

    body_max: int
    may_be_empty: bool
    user_size_max: int
    user_count_max: int
    group_size_max: int


ReadPlainSend = Callable[[bytes], tuple[SendDraft, int] | None]
"""Returns the draft of a plain SendMessage and the number of its items; None for any other."""


def send_limits(config: ProxyConfig) -> SendLimits:
    """Return the limits that the settings give."""
    return SendLimits(
        config.max_message_size,
        not config.enable_message_body_empty_check,
        config.max_user_property_size,
        config.user_property_max_num,
        config.max_message_group_size,
    )


def check_topic(name: str) -> None:
    """Check that a client may use a topic.

    Raises:
        ProxyRefused: it may not.
    """
    topic_of(Resource(name=name))


def stored_order(names: Sequence[str], *, own_count: int) -> tuple[int, ...] | None:
    """Return the position of each stored property among the given ones.

    Args:
        names: the names of the properties, in the order in which a message gets them.
        own_count: how many of them are the user's.

    Returns:
        None if a name comes twice, or if the user has one of RocketMQ's own.
    """
    if len(set(names)) < len(names) or not OWN_NAMES.isdisjoint(names[:own_count]):
        return None
    return tuple(map(names.index, hashmap_order(names)))


class LeavesAllSends:
    """The reader without the kernel: it leaves every send to be decoded."""

    def __init__(self, limits: SendLimits) -> None:
        """Make a reader; decoding checks the limits."""

    def read(self, message: bytes) -> tuple[SendDraft, int] | None:
        """Return None."""
        return None


PLAIN_SENDS: Final = load("mqserver.proxy.plain_send_kernel", "PlainSends", pure=LeavesAllSends)
"""Reads the plain sends of one endpoint, made from its limits."""


def plain_send_reader(limits: SendLimits) -> ReadPlainSend:
    """Return a function that reads a plain send, or returns None if the send must be decoded."""
    return PLAIN_SENDS(limits).read
