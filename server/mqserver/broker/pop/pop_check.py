"""Check what pops and acknowledgements have in common, with the codes and texts of 5.4.0.

Rule: a time that a client names is bounded here, before anything adds to it. Java's long
overflows instead, and its message comes again at once.

Source: broker/processor/PopMessageProcessor.java, AckMessageProcessor.java (5.4.0).
"""

from typing import Final

from mqserver.broker import names
from mqserver.broker.config import BrokerConfig
from mqserver.broker.topics import Topics
from mqserver.runtime.request import RequestRefused
from remoting.codes import ResponseCode

TIME_MS_MAX: Final = 1 << 61
"""Largest time that is accepted, in ms: sums and differences of three fit in a long."""


def check_times(pop_time_ms: int, invisible_ms: int) -> None:
    """Refuse times of a pop that no clock shows.

    Args:
        pop_time_ms: when a message was popped, in ms since 1970.
        invisible_ms: how long it is hidden from then on; below 0 it comes again at once.

    Raises:
        RequestRefused: one of them is out of range.
    """
    if not 0 <= pop_time_ms <= TIME_MS_MAX or not -TIME_MS_MAX <= invisible_ms <= TIME_MS_MAX:
        text = (
            f"a message popped at {pop_time_ms} ms cannot be hidden for {invisible_ms} ms; "
            f"the largest time is {TIME_MS_MAX} ms"
        )
        raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, text)


def check_role(config: BrokerConfig) -> None:
    """Refuse every request about pops on a slave.

    Raises:
        RequestRefused: this broker is a slave.
    """
    if config.is_slave:
        text = f"this broker is a slave, the master of {config.broker_name} serves pops"
        raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, text)


def check_queue(topics: Topics, topic: str, queue_id: int, *, code: int, peer: str) -> None:
    """Refuse a topic or queue that does not exist, with Java's codes and texts.

    Args:
        topics: the topics.
        topic: the topic of a request.
        queue_id: the queue of a request.
        code: response code for a queue that does not exist.
        peer: address of the client.

    Raises:
        RequestRefused: one of them does not exist.
    """
    found = topics.get(topic)
    if found is None:
        text = names.see_later_faq(f"topic[{topic}] not exist, apply first please! ")
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, text)
    if not 0 <= queue_id < found.read_queue_nums:
        text = (
            f"queueId[{queue_id}] is illegal, topic:[{topic}] topicConfig."
            f"readQueueNums:[{found.read_queue_nums}] consumer:[/{peer}]"
        )
        raise RequestRefused(code, text)
