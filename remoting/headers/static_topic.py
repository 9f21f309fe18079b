"""Requests about static topics, whose logical queues keep their number on any broker.

Source: client/impl/MQClientAPIImpl.java#createStaticTopic (5.4.0), which sends the header of an
ordinary topic.
"""

from dataclasses import dataclass

from remoting.header import Header, Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStaticTopic(Header):
    """Create or change one broker's part of a static topic (request code 513)."""

    topic: str
    default_topic: str
    read_queue_nums: Int32
    write_queue_nums: Int32
    perm: Int32
    topic_filter_type: str
    topic_sys_flag: Int32 | None = None
    order: bool = False
    force: bool = False
    """True to take a mapping whose epoch is older than that of the broker."""
