"""What an unclean election is said to lose."""

from types import SimpleNamespace
from typing import cast

import pytest

from mqadmin.cluster.replica_loss import LossEstimate, common_end, estimate_loss, measure_loss
from mqadmin.cluster.replicas import ReplicaLog, with_end
from mqclient.admin.admin import Admin
from mqclient.errors import NotFound
from remoting.bodies import EpochEntry, MessageQueue, TopicOffset

END_MAX = (1 << 63) - 1


def log_of(
    broker_id: int,
    starts: list[tuple[int, int]],
    end: int,
    *,
    in_sync: bool = False,
    confirm_offset: int | None = None,
) -> ReplicaLog:
    """Return the log of a broker that answers, by (epoch, start offset)."""
    ends = [*(start for _, start in starts), END_MAX][1:]
    entries = [
        EpochEntry(epoch=epoch, start_offset=start, end_offset=entry_end)
        for (epoch, start), entry_end in zip(starts, ends, strict=True)
    ]
    return ReplicaLog(
        broker_id,
        f"127.0.0.1:{broker_id}",
        in_sync,
        epochs=with_end(entries, end),
        end=end,
        newest_epoch=entries[-1].epoch if entries else None,
        confirm_offset=confirm_offset,
    )


def silent(
    broker_id: int, *, epoch: int | None, end: int | None, confirm: int | None
) -> ReplicaLog:
    """Return an in-sync broker of which only the last heartbeat is known."""
    return ReplicaLog(
        broker_id, f"127.0.0.1:{broker_id}", True, is_alive=False, end=end, newest_epoch=epoch,
        confirm_offset=confirm, silent_ms=12_400, error="refused",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "theirs", "end"),
    [
        # One is a beginning of the other.
        (([(1, 0)], 500), ([(1, 0)], 900), 500),
        (([(1, 0)], 900), ([(1, 0)], 500), 500),
        (([(1, 0)], 500), ([(1, 0), (2, 700)], 900), 500),
        # An old master went on for itself (facts: run e4).
        (([(1, 0)], 527952), ([(1, 0), (2, 256632)], 1229304), 256632),
        # Both were master after epoch 1, from other offsets on.
        (([(1, 0), (3, 400)], 600), ([(1, 0), (2, 300)], 900), 300),
        # The same epoch from other offsets on is not the same epoch.
        (([(1, 0), (2, 400)], 600), ([(1, 0), (2, 300)], 900), 300),
        # No epoch in common, or no epoch at all.
        (([(2, 0)], 600), ([(1, 0)], 900), 0),
        (([], 0), ([(1, 0)], 900), 0),
    ],
)
def test_two_logs_are_equal_up_to_the_end_of_their_newest_common_epoch(
    ours: tuple[list[tuple[int, int]], int], theirs: tuple[list[tuple[int, int]], int], end: int
) -> None:
    assert common_end(log_of(1, *ours), log_of(2, *theirs)) == end
    assert common_end(log_of(2, *theirs), log_of(1, *ours)) == end


def test_of_a_silent_broker_only_the_same_newest_epoch_is_comparable() -> None:
    ours = log_of(3, [(1, 0), (2, 100)], 500)

    assert common_end(ours, silent(1, epoch=2, end=900, confirm=None)) == 500
    assert common_end(ours, silent(1, epoch=3, end=900, confirm=None)) is None
    assert common_end(ours, silent(1, epoch=None, end=None, confirm=None)) is None


def test_what_the_longest_log_of_the_set_has_more_is_lost() -> None:
    candidate = log_of(3, [(1, 0), (2, 5000)], 7000)
    others = [
        log_of(1, [(1, 0), (2, 5000)], 9000, in_sync=True, confirm_offset=8400),
        log_of(2, [(1, 0), (2, 5000)], 8500, in_sync=True, confirm_offset=8300),
        log_of(4, [(1, 0)], 99_000, confirm_offset=None),
    ]

    assert estimate_loss(candidate, others) == LossEstimate(7000, 2000, 1400)


def test_the_last_heartbeat_counts_where_a_broker_is_silent() -> None:
    candidate = log_of(3, [(2, 0)], 7000)

    made = estimate_loss(candidate, [silent(1, epoch=2, end=9000, confirm=8000)])

    assert (made.kept_end, made.most_size, made.least_size) == (7000, 2000, 1000)
    assert made.unseen == (
        "broker 1 (127.0.0.1:1) does not answer; "
        "its log ended at 9000 in its last heartbeat, 12 s ago",
    )


def test_what_is_not_known_is_said() -> None:
    candidate = log_of(3, [(2, 0)], 7000)
    nothing = estimate_loss(candidate, [silent(1, epoch=None, end=None, confirm=None)])
    parted = estimate_loss(candidate, [silent(1, epoch=3, end=9000, confirm=None)])
    diverged = estimate_loss(
        log_of(3, [(1, 0)], 900),
        [log_of(1, [(1, 0), (2, 500)], 800, in_sync=True, confirm_offset=800)],
    )

    assert nothing.text == "the loss is not known"
    assert "nothing is known of its log" in nothing.unseen[0]
    assert parted.most_size == 2000
    assert "may lack more" in parted.unseen[1]
    assert "only a controller of ours reports" in parted.unseen[2]
    assert (diverged.kept_end, diverged.most_size) == (500, 300)
    assert "has other messages from offset 500 on" in diverged.unseen[0]


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (LossEstimate(7, 0, 0), "it lacks nothing of what could be seen"),
        (LossEstimate(7, 20, 0), "it lacks up to 20 bytes"),
        (
            LossEstimate(7, 20, 10, 3, 1_795_845_620_712),
            "it lacks up to 20 bytes (3 messages), 10 bytes of them surely acknowledged, "
            "stored from 2026-11-28T06:00:20.712Z on",
        ),
    ],
)
def test_the_text_of_an_estimate(estimate: LossEstimate, text: str) -> None:
    assert estimate.text == text


class Brokers:
    """Two brokers that answer: queue ends by address, and the store time of one message."""

    def __init__(self, ends: dict[str, dict[str, list[int]]], first: tuple[int, int]) -> None:
        self._ends = ends
        self._first = first

    async def topic_configs(self, address: str) -> SimpleNamespace:
        return SimpleNamespace(topics=self._ends[address])

    async def topic_stats_at(self, address: str, topic: str) -> dict[MessageQueue, TopicOffset]:
        if topic not in self._ends[address]:
            raise NotFound("no such topic")
        return {
            MessageQueue(topic, "g", queue_id): TopicOffset(
                max_offset=end, last_update_timestamp=1000 + end
            )
            for queue_id, end in enumerate(self._ends[address][topic])
        }

    async def view_message_at(self, address: str, log_offset: int) -> SimpleNamespace:
        if log_offset != self._first[0]:
            raise NotFound("no record starts there")
        return SimpleNamespace(record=SimpleNamespace(store_ms=self._first[1]))


ENDS = {"127.0.0.1:1": {"T": [10, 20], "new": [5]}, "127.0.0.1:3": {"T": [10, 17]}}


@pytest.mark.parametrize(("first", "since_ms"), [((7000, 999), 999), ((0, 0), 1017)])
async def test_messages_and_times_are_those_of_queues_and_of_the_first_message(
    first: tuple[int, int], since_ms: int
) -> None:
    candidate = log_of(3, [(1, 0)], 7000)
    longest = log_of(1, [(1, 0)], 9000, in_sync=True, confirm_offset=9000)

    made = await measure_loss(cast("Admin", Brokers(ENDS, first)), candidate, [longest])

    assert made == LossEstimate(7000, 2000, 2000, message_count=8, since_ms=since_ms)


async def test_without_an_answer_of_the_set_the_last_message_of_the_candidate_gives_the_time() -> (
    None
):
    candidate = log_of(3, [(2, 0)], 7000)
    dead = silent(1, epoch=2, end=9000, confirm=8000)

    made = await measure_loss(cast("Admin", Brokers(ENDS, (0, 0))), candidate, [dead])

    assert (made.most_size, made.message_count, made.since_ms) == (2000, None, 1017)
