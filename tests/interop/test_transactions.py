"""The real TransactionMQProducer on the real broker and on ours, and open transactions in
a store that one of them began and the other ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storefmt.formats.message import Record
from storefmt.offline.views.storedir import StoreDir
from tests.interop.kit.servers import Broker, Namesrv, Side
from tests.interop.kit.toolbox import Job, Toolbox
from tests.waiting import wait

TOPIC, GROUP = "Paid", "PaidProducers"
QUICK = {
    "transactionCheckInterval": "1500",
    "transactionTimeOut": "2000",
    "transactionCheckMax": "3",
    "defaultTopicQueueNums": "1",
}
NEVER = {"transactionCheckInterval": "600000", "defaultTopicQueueNums": "1"}
ANSWERS = {"later": "commit", "no": "rollback", "never": "unknown", "spared": "commit"}
IMMUNE = {"CHECK_IMMUNITY_TIME_IN_SECONDS": "3"}
HALF, OP = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
GIVEN_UP = "TRANS_CHECK_MAX_TIME_TOPIC"


@contextmanager
def broker(side: Side, store: Path, namesrv: Namesrv, settings: dict[str, str]) -> Iterator[Broker]:
    """Run a broker on a store; it is shut down cleanly."""
    with Broker(side, store=store, namesrv=namesrv.address, settings=settings) as running:
        yield running
        running.stop()


def producer(toolbox: Toolbox, namesrv: Namesrv, *messages: dict[str, object]) -> Job:
    """Send messages and answer questions until the job is stopped."""
    spec = {
        "namesrv": namesrv.address,
        "topic": TOPIC,
        "group": GROUP,
        "answers": ANSWERS,
        "messages": messages,
    }
    return toolbox.start("TransactionProducer", spec)


def consumed(toolbox: Toolbox, namesrv: Namesrv, group: str, keys: set[str]) -> set[str]:
    """Return the keys of the messages a group gets, once it has these."""
    spec = {
        "namesrv": namesrv.address,
        "topic": TOPIC,
        "group": group,
        "subscription": "*",
        "from": "first",
        "linger": True,
    }
    job = toolbox.start("PushConsumer", spec)
    lines = job.every("keys", keys) + job.stop()
    return {line["keys"] for line in lines if line["event"] == "message"}


def records(store: Path, topic: str) -> list[Record]:
    return [
        item
        for item in StoreDir.open(store).records()
        if isinstance(item, Record) and item.topic == topic
    ]


def times(found: list[Record]) -> list[tuple[str, str | None]]:
    """Return key and check count of records."""
    return [(record.keys[0], record.properties.get("TRANSACTION_CHECK_TIMES")) for record in found]


def await_given_up(store: Path) -> list[Record]:
    """Return what a running broker gave up, once it gave up something."""
    return wait(lambda: records(store, GIVEN_UP), what="a half message is given up", pause_s=0.2)


def test_producer_commits_rolls_back_and_is_asked(
    side: Side, namesrv: Namesrv, toolbox: Toolbox, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with broker(side, store, namesrv, QUICK):
        job = producer(
            toolbox,
            namesrv,
            {"key": "yes", "first": "commit"},
            {"key": "rolled", "first": "rollback"},
            {"key": "later", "first": "unknown"},
            {"key": "no", "first": "unknown"},
            {"key": "spared", "first": "unknown", "properties": IMMUNE},
            {"key": "never", "first": "unknown"},
        )
        sent = job.until("ready")[:-1]
        assert [line for line in sent if line["event"] == "refused"] == []
        got = consumed(toolbox, namesrv, f"{side.name}-readers", {"yes", "later", "spared"})
        (given_up,) = await_given_up(store)
        asked = [line for line in job.stop() if line["event"] == "asked"]

    assert [line["status"] for line in sent] == ["SEND_OK"] * 6
    assert {line.get("transactionId") for line in sent} == {None}
    assert got == {"yes", "later", "spared"}
    assert {line["topic"] for line in asked} == {TOPIC}
    assert all(line["transactionId"] == line["properties"]["UNIQ_KEY"] for line in asked)
    counts = {key: [line["keys"] for line in asked].count(key) for key in ANSWERS}
    assert counts["never"] == 3
    assert times([given_up]) == [("never", "3")]
    # What the checks wrote, by key: times looked at, in this order.
    copies = times(records(store, HALF))
    # Each question is one copy; it is asked again only if the answer takes a whole interval.
    for key in ("later", "no", "never"):
        looks = [count for name, count in copies if name == key]
        assert looks == [None, *map(str, range(1, counts[key] + 1))]
        assert len(looks) > 1
    first, *rest = [count for name, count in copies if name == "spared"]
    assert first is None
    assert counts["spared"] >= 1
    if side.name == "java":
        assert rest == list("123")[: len(rest)]
        assert counts["spared"] <= len(rest) <= 3
    else:
        # Ours counts questions alone: a look within the immunity time writes the same count again.
        looked = [int(count or 0) for count in rest]
        assert looked == sorted(looked)
        assert looked[-1] <= counts["spared"]
    final = records(store, TOPIC)
    assert {(record.keys[0], record.sys_flag, record.queue_id) for record in final} == {
        ("yes", 8, 0), ("later", 8, 0), ("spared", 8, 0),
    }  # fmt: skip
    # Ours writes one more behind each copy that it asks about.
    moved = len(asked) if side.name == "ours" else 0
    decided = 2 + counts["later"] + counts["no"] + counts["spared"]
    assert len(records(store, OP)) == decided + moved


def test_open_transactions_are_ended_by_the_other_broker(
    sides: list[Side], namesrv: Namesrv, toolbox: Toolbox, tmp_path: Path
) -> None:
    before, after = sides
    store = tmp_path / "store"
    with broker(before, store, namesrv, NEVER):
        job = producer(
            toolbox,
            namesrv,
            {"key": "yes", "first": "commit"},
            {"key": "later", "first": "unknown"},
            {"key": "rolled", "first": "rollback"},
            {"key": "no", "first": "unknown"},
        )
        job.until("ready")
        job.stop()

    with broker(after, store, namesrv, QUICK):
        job = producer(toolbox, namesrv)
        asked = job.until("asked") + job.until("asked")
        got = consumed(toolbox, namesrv, f"after-{before.name}", {"yes", "later"})
        job.stop()

    # Nothing is left to ask for: neither side may begin again.
    with broker(before, store, namesrv, QUICK):
        job = producer(toolbox, namesrv, {"key": "never", "first": "unknown"})
        asked_last = job.until("asked")
        job.stop()

    assert {line["keys"] for line in asked if line["event"] == "asked"} == {"later", "no"}
    assert got == {"yes", "later"}
    assert [line["keys"] for line in asked_last if line["event"] == "asked"] == ["never"]
    # A late answer is a second commit.
    assert list(dict.fromkeys(record.keys[0] for record in records(store, TOPIC))) == [
        *("yes", "later"),
    ]
