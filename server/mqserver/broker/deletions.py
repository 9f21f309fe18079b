"""What ends when a topic or a group is deleted.

    topic    its queues, held pulls and pops, open pops, queue locks, the pop retry topics
             kept: the offsets of its groups, as in Java
    group    its offsets if that is asked for, and with them its open pops and pop retry topics

Messages that wait for the topic (delayed, timer and half messages) stay where they are; see
``undelivered`` for what becomes of them.

Source: broker/processor/AdminBrokerProcessor.java#deleteTopic, #deleteSubscriptionGroup (4.9.7).
"""

import logging
from collections.abc import Callable
from functools import partial

from mqserver.broker.pop.retry_topics import pop_retry_topics
from mqserver.broker.state import Broker
from mqserver.store.store_errors import StoreFailed
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)


def delete_topic(broker: Broker, topic: str, *, now_ms: int, done: Callable[[str], None]) -> None:
    """Delete a topic, its queues, and the retry topics of the groups that popped from it.

    Args:
        broker: the broker.
        topic: the topic; it is not an error if it does not exist.
        now_ms: time of the change.
        done: called with "" when the deletion is durable, or with the reason why not.
    """
    retries = pop_retry_topics(broker.topics, broker.groups, topic=topic)
    _delete(broker, [*retries, topic], now_ms=now_ms, done=done)


def delete_offsets(broker: Broker, group: str, *, now_ms: int) -> None:
    """Delete the offsets of a deleted group, and end what it has popped."""
    broker.offsets.delete_group(group)
    broker.pops.popper.drop_group(group, now_ms=now_ms)
    retries = pop_retry_topics(broker.topics, broker.groups, group=group)
    _delete(broker, retries, now_ms=now_ms, done=lambda why: None)
    broker.files.mark("consumerOffset")


def _delete(broker: Broker, topics: list[str], *, now_ms: int, done: Callable[[str], None]) -> None:
    left = {
        topic
        for topic in topics
        if broker.topics.delete(topic, now_ms=now_ms) or broker.store.has(topic)
    }
    if not left:
        done("")
        return
    failures: list[str] = []

    def ended(topic: str, failure: str) -> None:
        left.discard(topic)
        if failure:
            failures.append(failure)
        if not left:
            done("; ".join(failures))

    # Commit first, so that no pending message goes into a queue that is being deleted.
    broker.group_commit.commit()
    for topic in sorted(left):
        delete_queues(broker, topic, done=partial(ended, topic))


def delete_queues(
    broker: Broker,
    topic: str,
    *,
    log_end: int | None = None,
    done: Callable[[str], None] = lambda why: None,
) -> None:
    """Delete the queues of a topic, and end what waits for them.

    Args:
        broker: the broker.
        topic: the topic.
        log_end: log offset below which its records never get queue entries again; None for
            the end of the log.
        done: called with "" when the deletion is durable, or with the reason why not.
    """
    store, now_ms = broker.store, broker.clock.now_ms()
    _, job = store.begin_delete(topic, log_end)
    broker.puller.drop_topic(topic, now_ms=now_ms)
    broker.pops.popper.drop_topic(topic, now_ms=now_ms)
    broker.locks.drop_topic(topic)
    broker.stats.forget_topic(topic)
    broker.sender.forget_routes()

    def ended(at_ms: int) -> None:
        try:
            store.end_flush(job)
        except StoreFailed as error:
            LOG.error("topic %s is not deleted: %s", topic, error)
            done(str(error))
        else:
            done("")

    def record(code: ResponseCode) -> None:
        # A write that failed has undone messages that were put before the deletion.
        job.log_end = min(job.log_end, store.raw.end)
        broker.cold.run_in_thread(job.do_work, ended)

    if broker.group_commit.is_writing:
        broker.group_commit.when_safe(record)
    else:
        record(ResponseCode.SUCCESS)
