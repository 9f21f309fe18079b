"""Transactions over the wire: half messages, decisions, checks, and the list of open ones."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from mqserver.runtime.clock import SystemClock
from remoting.codes import ExtensionCode, RequestCode
from remoting.command import UNSET_REMARK, Command
from remoting.headers import CheckTransactionState, ResumeCheckHalfMessage
from storefmt.formats.message import Record, decode_record, decode_records
from tests.server.broker.desk import Desk, end_transaction, place_of, running, with_topic
from tests.server.cold_disk import forget, hold_cold_reads, skip_unless_cold
from tests.waiting import eventually, until

OP = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
PROPERTIES = "TRAN_MSG\1true\2PGROUP\1PG\2UNIQ_KEY\1K1\2TAGS\1a"
COMMIT, ROLLBACK, NOT_KNOWN = 8, 12, 0
QUICK = {"transaction_time_out_ms": 0, "transaction_check_interval_ms": 20}


@pytest.fixture
def desk(tmp_path: Path) -> AbstractAsyncContextManager[Desk]:
    """Run a broker that has the topic."""
    return with_topic(tmp_path)


async def half(desk: Desk, **changes: object) -> tuple[int, int]:
    """Send a prepared message; return its log offset and half queue offset."""
    # A message born long ago would be given up at once.
    fields = {"properties": PROPERTIES, "sys_flag": 4, "born_timestamp": SystemClock().now_ms()}
    return place_of(await desk.send(b"paid", **{**fields, **changes}))


def ops_of(desk: Desk) -> list[Record]:
    """Return the op messages; their topic has no configuration, so no pull gets them."""
    found = desk.app.broker.store.reader.get_message(OP, 0, 0, count_max=32)
    return decode_records(b"".join(found.chunks))


async def end(
    desk: Desk, place: tuple[int, int], how: int = COMMIT, *, timeout_s: float = 60, **more: object
) -> Command:
    """Decide on the half message at a place."""
    header = end_transaction(*place, **{"commit_or_rollback": how, **more})
    return await desk.ask(RequestCode.END_TRANSACTION, header, timeout_s=timeout_s)


async def resume(desk: Desk, msg_id: str | None) -> Command:
    header = ResumeCheckHalfMessage(msg_id=msg_id)
    return await desk.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, header)


async def pushed(desk: Desk, code: RequestCode, count: int = 1) -> list[Command]:
    """Return the first requests of the broker with a code."""
    found: list[Command] = []

    def have_come() -> bool:
        found[:] = [command for command in desk.pushed if command.code == code]
        return len(found) >= count

    await until(have_come, what=f"{count} requests {code.name}")
    return found[:count]


async def test_commit_delivers_and_leaves_an_op_message(desk: Desk) -> None:
    await desk.create_topic(queues=2)
    place = await half(desk, queue_id=1)
    before = await desk.messages(queue_id=1)
    answer = await end(desk, place)
    (message,) = await desk.messages(queue_id=1)

    assert before == []
    assert (answer.code, answer.remark) == (0, None)
    assert (message.body, message.tags, message.sys_flag) == (b"paid", "a", 8)
    assert message.prepared_transaction_offset == place[0]
    assert [(op.body, op.tags) for op in ops_of(desk)] == [(b"0", "d")]


async def test_rollback_leaves_an_op_message_and_delivers_nothing(desk: Desk) -> None:
    answer = await end(desk, await half(desk), ROLLBACK)

    assert (answer.code, answer.remark) == (0, UNSET_REMARK)
    assert await desk.messages() == []
    assert [op.body for op in ops_of(desk)] == [b"0"]


async def test_not_known_yet_is_not_answered_and_changes_nothing(desk: Desk) -> None:
    place = await half(desk)
    with pytest.raises(Exception, match=r"did not answer"):
        await end(desk, place, NOT_KNOWN, timeout_s=0.2)

    assert ops_of(desk) == []


@pytest.mark.parametrize("wish", [4, 5, -1])
async def test_what_is_no_decision_is_refused(desk: Desk, wish: int) -> None:
    answer = await end(desk, await half(desk), wish)

    assert answer.code == 1
    assert f"commitOrRollback is {wish}" in (answer.remark or "")
    assert ops_of(desk) == []


@pytest.mark.parametrize(
    ("changes", "remark"),
    [
        ({"producer_group": "Other"}, "The producer group wrong"),
        ({"tran_state_table_offset": 1}, "The transaction state table offset wrong"),
        ({"commit_log_offset": 1}, "Find prepared transaction message failed"),
        ({"commit_log_offset": -1}, "Find prepared transaction message failed"),
        ({"commit_log_offset": 1 << 40}, "Find prepared transaction message failed"),
    ],
)
@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
async def test_wrong_decisions_are_refused_in_javas_words(
    desk: Desk, changes: dict[str, object], remark: str, how: int
) -> None:
    answer = await end(desk, await half(desk), how, **changes)

    assert (answer.code, answer.remark) == (1, remark)
    assert ops_of(desk) == []


async def test_decision_on_an_ordinary_message_is_refused(desk: Desk) -> None:
    answer = await end(desk, await half(desk, properties="PGROUP\1PG", sys_flag=0))

    assert answer.remark == "Find prepared transaction message failed"


async def test_transactions_can_be_forbidden(tmp_path: Path) -> None:
    async with with_topic(tmp_path, reject_transaction_message=True) as desk:
        answer = await desk.send(properties=PROPERTIES)

        assert answer.code == 16
        assert "sending transaction message is forbidden" in (answer.remark or "")
        assert (await desk.send(properties="TRAN_MSG\1no")).code == 0


async def test_flag_without_the_property_is_stored_as_java_stores_it(desk: Desk) -> None:
    prepared = await desk.send(b"unseen", sys_flag=4)
    committed = await desk.send(b"seen", sys_flag=8)

    assert (prepared.code, committed.code) == (0, 0)
    assert await desk.bodies() == [b"seen"]


async def test_delay_of_a_transaction_begins_with_its_commit(desk: Desk) -> None:
    await end(desk, await half(desk, properties=PROPERTIES + "\2DELAY\0013"))

    (waiting,) = await desk.messages(topic="SCHEDULE_TOPIC_XXXX", queue_id=2)
    assert (waiting.body, waiting.properties["REAL_TOPIC"]) == (b"paid", "T")


async def test_producer_is_asked_and_its_answer_counts(tmp_path: Path) -> None:
    async with with_topic(tmp_path, **QUICK) as desk:
        await desk.heartbeat()
        await half(desk)
        (question,) = await pushed(desk, RequestCode.CHECK_TRANSACTION_STATE)
        shown = decode_record(question.body)
        asked = question.header(CheckTransactionState)
        place = asked.commit_log_offset, asked.tran_state_table_offset
        answer = await end(desk, place, from_transaction_check=True)

        assert question.is_oneway
        assert (shown.topic, shown.body) == ("T", b"paid")
        assert (asked.msg_id, asked.transaction_id) == ("K1", "K1")
        assert answer.code == 0
        assert await desk.bodies() == [b"paid"]


async def test_restart_asks_again_and_resume_begins_anew(tmp_path: Path) -> None:
    async with with_topic(tmp_path) as desk:
        await half(desk)
    async with running(tmp_path, transaction_check_max=5, **QUICK) as desk:
        await desk.heartbeat()
        await pushed(desk, RequestCode.CHECK_TRANSACTION_STATE)
        ended = await eventually(lambda: desk.messages(topic="TRANS_CHECK_MAX_TIME_TOPIC"))
        answer = await resume(desk, ended[0].msg_id)
        await pushed(desk, RequestCode.CHECK_TRANSACTION_STATE, 2)

        assert answer.code == 0


@pytest.mark.parametrize("msg_id", [None, "", "nonsense", "7F00000100002A9F0000000000FFFFFF"])
async def test_resume_of_what_is_not_there_is_refused(desk: Desk, msg_id: str | None) -> None:
    answer = await resume(desk, msg_id)

    assert answer.code == 1
    assert (answer.remark or "").startswith("Exception was thrown when putting message")


async def test_resume_of_an_ordinary_message_is_refused(desk: Desk) -> None:
    answer = await resume(desk, (await desk.send()).ext["msgId"])

    assert (answer.code, "it is not a half message" in (answer.remark or "")) == (1, True)


async def test_open_transactions_are_listed(desk: Desk) -> None:
    first, second = await half(desk), await half(desk)
    await end(desk, first)
    answer = await desk.ask(ExtensionCode.GET_OPEN_TRANSACTIONS)

    body = json.loads(answer.body)
    assert (body["complete"], body["halfOffset"], body["opOffset"]) == (True, 0, 0)
    (row,) = body["transactions"]
    assert (row["commitLogOffset"], row["halfOffset"]) == second
    assert (row["topic"], row["queueId"], row["checkTimes"]) == ("T", 0, 0)
    assert (row["producerGroup"], row["uniqueKey"]) == ("PG", "K1")


@pytest.mark.parametrize("decisions", [[COMMIT], [ROLLBACK], [COMMIT, ROLLBACK]])
async def test_decision_on_a_cold_half_message_goes_by_way_of_a_thread(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decisions: list[int]
) -> None:
    place = await half(desk)
    may_read = hold_cold_reads(monkeypatch)
    forget(tmp_path)
    ends = [asyncio.ensure_future(end(desk, place, how)) for how in decisions]
    await until(lambda: desk.app.broker.cold.count or all(one.done() for one in ends))
    # Sends pass while the disk is waited for.
    assert (await desk.send(b"meanwhile")).code == 0
    may_read.set()

    assert [(await one).code for one in ends] == [0] * len(ends)
    assert set(await desk.bodies()) == {b"meanwhile", *([b"paid"] * (COMMIT in decisions))}
    assert [op.body for op in ops_of(desk)] == [b"0"] * len(ends)
    skip_unless_cold(desk.app.broker.cold.count)


async def test_open_transactions_in_cold_data_are_listed_as_ever(
    desk: Desk, tmp_path: Path
) -> None:
    places = [await half(desk) for _ in range(300)]
    for place in places[::2]:
        await end(desk, place, ROLLBACK)
    warm = await desk.ask(ExtensionCode.GET_OPEN_TRANSACTIONS)
    forget(tmp_path)
    cold = await desk.ask(ExtensionCode.GET_OPEN_TRANSACTIONS)

    assert cold.body == warm.body
    assert len(json.loads(cold.body)["transactions"]) == 150
