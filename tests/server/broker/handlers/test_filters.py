"""SQL92 through a running broker: heartbeats, checks, pulls, long polls, the state file."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from mqserver.broker.filters.sql import EXPRESSION_SIZE_MAX, OPERANDS_MAX
from mqserver.store.commitlog.log_window import WORK_MAX
from remoting.bodies import CheckClientRequestBody, SubscriptionData
from remoting.codes import RequestCode
from remoting.command import Command
from storefmt.formats.message import decode_records
from storefmt.formats.properties import format_properties
from tests.server.broker import desk
from tests.server.broker.desk import GROUP, TOPIC, Desk
from tests.waiting import until

OPEN = {"enable_property_filter": True}


@pytest.fixture
def one(tmp_path: Path) -> AbstractAsyncContextManager[Desk]:
    """Run a broker that filters by SQL92, with a topic."""
    return desk.with_topic(tmp_path, **OPEN)


def sql_heartbeat(
    expression: str, *, topic: str = TOPIC, version: int = 1, group: str = GROUP
) -> bytes:
    body = desk.HeartbeatData.decode(desk.heartbeat("c1", (topic,), group=group, version=version))
    for one in body.consumer_data_set[0].subscription_data_set:
        one.sub_string, one.expression_type = expression, "SQL92"
    return body.encode()


async def said(one: Desk, expression: str, **more: object) -> None:
    body = sql_heartbeat(expression, **more)  # type: ignore[arg-type]
    assert (await one.ask(RequestCode.HEART_BEAT, body=body)).code == 0


async def put(one: Desk, **properties: str) -> None:
    assert (await one.send(properties=format_properties(properties))).code == 0


async def numbers(one: Desk, **changes: object) -> list[str]:
    changes = {"expression_type": "SQL92", **changes}
    return [record.properties["n"] for record in await one.messages(**changes)]


async def pull(one: Desk, expression: str, **changes: object) -> Command:
    return await one.pull(subscription=expression, expression_type="SQL92", **changes)


async def check(one: Desk, text: str | None, kind: str | None = "SQL92") -> Command:
    body = CheckClientRequestBody(
        client_id="c1",
        group=GROUP,
        subscription_data=SubscriptionData(topic=TOPIC, sub_string=text, expression_type=kind),
    )
    return await one.ask(RequestCode.CHECK_CLIENT_CONFIG, body=body.encode())


async def test_pulls_that_carry_an_expression_get_what_matches(one: Desk) -> None:
    for n in range(40):
        await put(one, n=str(n), odd=str(n % 2))

    assert await numbers(one, subscription="n > 30 AND odd = 1") == [
        "31", "33", "35", "37", "39",
    ]  # fmt: skip
    assert await numbers(one, subscription="n > 39") == []
    # A bad one filters nothing, and what follows a good one is dropped.
    assert len(await numbers(one, subscription="n !")) == 40
    assert len(await numbers(one, subscription="n = 1 LIKE 'x%'")) == 1
    nothing = await pull(one, "")
    assert (nothing.code, nothing.remark) == (
        23, "parse the consumer's subscription failed",
    )  # fmt: skip
    assert await numbers(one, subscription="A", expression_type="") == []


async def test_a_pull_without_a_match_says_how_far_it_looked(one: Desk) -> None:
    for _ in range(3):
        await put(one, n="1")

    answer = await pull(one, "n = 2")

    assert (answer.code, answer.remark) == (20, "NO_MATCHED_MESSAGE")
    assert answer.ext["nextBeginOffset"] == "3"


async def test_registered_filters_are_used_and_checked(one: Desk) -> None:
    for n in range(5):
        await put(one, n=str(n))
    await said(one, "n BETWEEN 1 AND 3", version=7)

    assert await numbers(one, sys_flag=0, sub_version=7) == ["1", "2", "3"]
    late = await one.pull(sys_flag=0, sub_version=8)
    assert (late.code, late.remark) == (25, "the consumer's subscription not latest")
    await said(one, "n BETWEEN", version=8)
    gone = await one.pull(sys_flag=0, sub_version=8)
    assert (gone.code, gone.remark) == (
        27,
        "The broker's consumer filter data is not exist!Your expression may be wrong!",
    )


async def test_an_older_filter_than_the_subscription_is_not_latest(one: Desk) -> None:
    await said(one, "n = 1", version=7)
    one.app.broker.filters.get(TOPIC, GROUP).data.client_version = 6

    answer = await one.pull(sys_flag=0, sub_version=7)

    assert (answer.code, answer.remark) == (
        28, "the consumer's consumer filter data not latest",
    )  # fmt: skip


@pytest.mark.parametrize("flag", [0, 4])
async def test_a_stock_broker_refuses_filters(tmp_path: Path, flag: int) -> None:
    async with desk.with_topic(tmp_path) as one:
        await said(one, "n = 1")
        text = "The broker does not support consumer to filter message by SQL92"

        answer = await pull(one, "n = 1", sys_flag=flag)
        checked = await check(one, "n = 1")

        assert (answer.code, answer.remark) == (checked.code, checked.remark) == (1, text)


async def test_a_waiting_pull_is_woken_by_what_it_wants(one: Desk) -> None:
    waiting = asyncio.ensure_future(pull(one, "n = 2", sys_flag=6, suspend_timeout_millis=60_000))
    await until(lambda: len(one.app.broker.puller.held))
    await put(one, n="1")
    assert len(one.app.broker.puller.held) == 1
    await put(one, n="2")

    answer = await waiting

    assert [record.properties["n"] for record in decode_records(answer.body)] == ["2"]
    assert answer.ext["nextBeginOffset"] == "2"


async def test_check_client_config_tells_what_is_wrong(tmp_path: Path) -> None:
    async with desk.running(tmp_path, **OPEN) as one:
        assert (await check(one, "a = 1")).code == 0
        assert (await check(one, "anything", "TAG")).code == 0
        bad = await check(one, "a > 'x'")
        assert (bad.code, bad.remark) == (
            23, "java.lang.RuntimeException: Value ''x'' cannot be compared.",
        )  # fmt: skip
        assert (await check(one, "")).code == 23
        assert (await check(one, "a = 1", "SQL93")).code == 23
        # Dropped in silence, as the real broker does.
        assert (await check(one, "s LIKE 'x%'")).code == 0


async def test_strict_filters_refuse_what_would_be_ignored(tmp_path: Path) -> None:
    async with desk.with_topic(tmp_path, strict_filters=True, **OPEN) as one:
        await put(one, n="abc")

        assert await numbers(one, subscription="n LIKE 'a%'") == ["abc"]
        assert await numbers(one, subscription="n LIKE 'b%'") == []
        assert (await check(one, "n = 'abc' x")).code == 23
        for text in ("n !", "n = 'abc' x"):
            answer = await pull(one, text)
            assert answer.code == 23
            assert "Encountered" in (answer.remark or "")


async def test_retry_messages_are_held_against_the_filter_of_their_topic(tmp_path: Path) -> None:
    retry = f"%RETRY%{GROUP}"
    for filters_retry, wanted in ((True, ["1"]), (False, ["0", "1", "2"])):
        root = tmp_path / str(filters_retry)
        async with desk.with_topic(root, filter_support_retry=filters_retry, **OPEN) as one:
            await said(one, "n = 1")
            for n in range(3):
                properties = format_properties({"n": str(n), "RETRY_TOPIC": TOPIC})
                assert (await one.send(topic=retry, properties=properties)).code == 0

            assert await numbers(one, topic=retry, expression_type="TAG") == wanted


async def test_filters_die_with_their_group_and_outlive_a_restart(tmp_path: Path) -> None:
    async with desk.with_topic(tmp_path, **OPEN) as one:
        await said(one, "n = 1", version=5)
        found = one.app.broker.filters.get(TOPIC, GROUP)
        assert not found.is_dead
        await one.client.close()
        await until(lambda: one.app.broker.consumers.group(GROUP) is None)
        assert found.is_dead
    async with desk.running(tmp_path, **OPEN) as one:
        again = one.app.broker.filters.get(TOPIC, GROUP)
        assert again.is_dead
        assert (again.data.expression, again.data.client_version) == ("n = 1", 5)
        await said(one, "n = 1", version=5)
        assert not again.is_dead
    assert '"expression":"n = 1"' in (tmp_path / "config" / "consumerFilter.json").read_text()


COSTLY = " OR ".join(["n = 'no'"] * (OPERANDS_MAX // 2 - 1)) + " OR n = '{n}'"
"""As many operands as there may be, all of which are looked at."""


async def test_a_costly_expression_is_evaluated_for_some_messages_a_pull(one: Desk) -> None:
    for n in range(60):
        await put(one, n=str(n))
    wanted = COSTLY.format(n=50)
    first = await pull(one, wanted)

    answer = first
    while answer.code == 20:
        answer = await pull(one, wanted, queue_offset=int(answer.ext["nextBeginOffset"]))

    assert (first.code, first.remark) == (20, "NO_MATCHED_MESSAGE")
    assert 0 < int(first.ext["nextBeginOffset"]) <= WORK_MAX // OPERANDS_MAX
    assert [record.properties["n"] for record in decode_records(answer.body)] == ["50"]


TOO_LONG = ["n = 1".ljust(EXPRESSION_SIZE_MAX + 1), "n = 1" + " AND n = 1" * (OPERANDS_MAX // 2)]


@pytest.mark.parametrize("text", TOO_LONG)
async def test_an_expression_beyond_the_limits_is_refused_and_says_which(
    one: Desk, text: str
) -> None:
    await put(one, n="1")

    checked = await check(one, text)
    carried = await pull(one, text)
    await said(one, text)
    registered = await one.pull(sys_flag=0, sub_version=1)

    assert (checked.code, carried.code, registered.code) == (23, 23, 27)
    for answer in (checked, carried, registered):
        assert "limit" in (answer.remark or "")
