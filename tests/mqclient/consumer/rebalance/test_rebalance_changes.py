"""Which queues a rebalance drops and begins."""

from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.rebalance.rebalancing import assigned_queues, changed_queues
from mqclient.consumer.state.process_queue import ProcessQueue
from remoting.bodies import MessageModel, MessageQueue

QUEUES = [MessageQueue("T", "broker-a", queue_id) for queue_id in range(4)]


def held(*queues: MessageQueue, now_ms: int = 0) -> dict[MessageQueue, ProcessQueue]:
    return {queue: ProcessQueue(queue, next_offset=0, now_ms=now_ms) for queue in queues}


def test_clustering_shares_and_broadcasting_does_not() -> None:
    shared = assigned_queues(
        PushSettings(), "g", client_id="b", queues=QUEUES, client_ids=["b", "a"]
    )
    everything = assigned_queues(
        PushSettings(message_model=MessageModel.BROADCASTING),
        "g",
        client_id="b",
        queues=QUEUES,
        client_ids=[],
    )

    assert shared == QUEUES[2:]
    assert everything == QUEUES


def test_nobody_to_share_with_means_nothing() -> None:
    assert assigned_queues(PushSettings(), "g", client_id="b", queues=QUEUES, client_ids=[]) == []


def test_what_is_not_wanted_goes_and_what_is_new_comes() -> None:
    dropped, new = changed_queues(held(*QUEUES[:2]), QUEUES[1:3], topic="T", now_ms=1)

    assert dropped == [QUEUES[0]]
    assert new == [QUEUES[2]]


def test_a_queue_whose_pull_got_lost_is_begun_anew() -> None:
    dropped, new = changed_queues(held(QUEUES[0]), QUEUES[:1], topic="T", now_ms=120_001)

    assert dropped == new == [QUEUES[0]]


def test_other_topics_and_dropped_queues_are_left_alone() -> None:
    other = MessageQueue("Other", "broker-a", 0)
    have = held(QUEUES[0], other)
    have[QUEUES[0]].dropped = True

    assert changed_queues(have, QUEUES[:1], topic="T", now_ms=1) == ([], [])
