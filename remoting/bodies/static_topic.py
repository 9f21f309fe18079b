"""Static topics of RocketMQ 5: logical queues that keep their number while they change brokers.

    logical queue 0    broker-a:0 [0, 10000)  ->  broker-b:3 [10000, ...)

Each broker of the cluster has a TopicQueueMappingDetail, with the logical queues that it leads or
led. The last item of a queue is its leader, which takes new messages.

Source: remoting/protocol/statictopic/LogicQueueMappingItem.java, TopicQueueMappingDetail.java,
TopicConfigAndQueueMapping.java, TopicRemappingDetailWrapper.java (5.4.0).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body

GLOBAL_SCOPE = "__global__"


@dataclass(slots=True, kw_only=True)
class LogicQueueMappingItem(Body):
    """A part of a logical queue, which lies in one queue of one broker."""

    gen: int = 0
    """Counts the parts of the logical queue, from 0."""
    queue_id: int = 0
    """The queue of the broker."""
    bname: str = ""
    """The broker."""
    logic_offset: int = 0
    """The logical offset at which the part begins; -1 until it is decided."""
    start_offset: int = 0
    """The queue offset at which it begins; always 0."""
    end_offset: int = -1
    """The queue offset after its end; -1 while it is open."""
    time_of_start: int = -1
    time_of_end: int = -1


@dataclass(slots=True, kw_only=True)
class TopicQueueMappingDetail(Body):
    """The logical queues of a topic that one broker leads or led."""

    topic: str = ""
    scope: str = GLOBAL_SCOPE
    total_queues: int = 0
    """Logical queues of the topic, on all brokers."""
    bname: str = ""
    epoch: int = 0
    """Grows with each change; the same on every broker."""
    dirty: bool = False
    hosted_queues: dict[int, list[LogicQueueMappingItem]] = field(default_factory=dict)
    """The parts of each logical queue, by its id, the oldest first."""


@dataclass(slots=True, kw_only=True)
class TopicQueueMappingInfo(Body):
    """The logical queues that one broker leads, as a name server tells clients."""

    topic: str = ""
    scope: str = GLOBAL_SCOPE
    total_queues: int = 0
    """Logical queues of the topic, on all brokers."""
    bname: str = ""
    epoch: int = 0
    curr_id_map: dict[int, int] = field(default_factory=dict)
    """The queue of the broker, by the id of the logical queue."""


@dataclass(slots=True, kw_only=True)
class TopicConfigAndQueueMapping(Body):
    """The settings of a topic on one broker, and its mapping (request code 351)."""

    topic_name: str = ""
    read_queue_nums: int = 0
    write_queue_nums: int = 0
    perm: int = 6
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: int = 0
    order: bool = False
    mapping_detail: TopicQueueMappingDetail | None = None


@dataclass(slots=True, kw_only=True)
class TopicRemappingDetailWrapper(Body):
    """A mapping as Java's tool writes it to a file, before and after a change."""

    topic: str = ""
    type: str = "CREATE_OR_UPDATE"
    epoch: int = 0
    broker_config_map: dict[str, TopicConfigAndQueueMapping] = field(default_factory=dict)
    broker_to_map_in: list[str] = field(default_factory=list)
    broker_to_map_out: list[str] = field(default_factory=list)
