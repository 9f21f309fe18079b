"""A whole broker, with accounts and without, refuses peers that lack the permission."""

import asyncio
from pathlib import Path

import pytest

from remoting.acl import sign
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import EndTransaction
from server.broker.acl.gate import topic_at
from tests.server.broker.acl.homes import ADMIN, OTHER, SECRETS, USER
from tests.server.broker.desk import Desk, create, pull, running, send
from tests.server.cold_disk import forget, hold_cold_reads


async def ask(desk: Desk, command: Command, by: str | None) -> Command:
    if by is not None:
        sign(command, by, SECRETS[by])
    return await desk.client.invoke(desk.address, command)


def sent(**changes: object) -> Command:
    return Command.request(RequestCode.SEND_MESSAGE_V2, send(**changes), body=b"hello")


def committing(sent: Command, group: str) -> Command:
    """Return the request that commits what was sent."""
    header = EndTransaction(
        producer_group=group,
        tran_state_table_offset=int(sent.ext["queueOffset"]),
        commit_log_offset=int(sent.ext["msgId"][16:], 16),
        commit_or_rollback=8,
        msg_id="K1",
    )
    return Command.request(RequestCode.END_TRANSACTION, header)


async def test_a_broker_with_accounts_answers_those_who_sign(guarded: Desk) -> None:
    topic = Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T"))
    answers = [
        await ask(guarded, topic, ADMIN),
        await ask(guarded, sent(), USER),
        await ask(guarded, Command.request(RequestCode.PULL_MESSAGE, pull()), USER),
        await ask(guarded, sent(), None),
        await ask(guarded, Command.request(RequestCode.PULL_MESSAGE, pull()), None),
    ]
    answers = [(answer.code, answer.remark) for answer in answers]

    text = "org.apache.rocketmq.acl.common.AclException: No accessKey is configured"
    assert [code for code, _ in answers[:3]] == [0, 0, 0]
    assert answers[3:] == [(1, text)] * 2


async def test_secrets_are_in_no_setting_and_no_account_that_is_answered(guarded: Desk) -> None:
    codes = (
        RequestCode.GET_BROKER_CONFIG,
        RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
        RequestCode.GET_BROKER_CLUSTER_ACL_INFO,
        RequestCode.GET_BROKER_RUNTIME_INFO,
    )
    answers = [await ask(guarded, Command.request(code), ADMIN) for code in codes]

    assert [answer.code for answer in answers] == [0, 0, 0, 0]
    for answer in answers:
        text = answer.body.decode() + repr(answer.ext)
        assert not any(secret in text for secret in SECRETS.values())
    assert b"******" in answers[1].body


@pytest.mark.parametrize(("listed", "code"), [("", 16), ("10.0.0.0", 16), ("10.0.0.*", 0)])
async def test_without_accounts_other_machines_administer_only_when_listed(
    tmp_path: Path, listed: str, code: int
) -> None:
    async with running(tmp_path, admin_addresses=listed) as desk:
        await desk.create_topic()
        (conn,) = desk.app._server.connections
        conn.peer = ("10.0.0.8", 1)
        asked = Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T2"))
        assert ((await ask(desk, asked, None)).code, (await desk.send()).code) == (code, 0)


async def test_a_message_that_waits_counts_for_its_real_topic(desk: Desk) -> None:
    await desk.create_topic()
    plain = await desk.send()
    delayed = await desk.send(properties="DELAY\x013")
    offsets = [int(answer.ext["msgId"][16:], 16) for answer in (plain, delayed)]
    store = desk.app.broker.store
    assert (
        topic_at(store, offsets[0]),
        topic_at(store, offsets[1]),
        topic_at(store, offsets[1] + 10_000),
    ) == ("T", "T", None)


async def test_only_who_may_send_to_its_topic_decides_on_a_half_message_of_its_group(
    guarded: Desk,
) -> None:
    await ask(guarded, Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T")), ADMIN)
    half = await ask(guarded, sent(properties="TRAN_MSG\1true\2PGROUP\1PG", sys_flag=4), USER)
    plain = await ask(guarded, sent(properties="PGROUP\1PG"), USER)
    assert (half.code, plain.code) == (0, 0)

    async def end(answer: Command, by: str | None, group: str) -> tuple[int, str]:
        told = await ask(guarded, committing(answer, group), by)
        return told.code, (told.remark or "").rpartition(": ")[2]

    assert [
        await end(half, None, "PG"),
        await end(half, OTHER, "PG"),
        await end(half, USER, "another"),
        await end(plain, USER, "PG"),
        await end(half, USER, "PG"),
    ] == [
        (1, "No accessKey is configured"),
        (1, "No default permission for topic:T"),
        (1, "The producer group wrong"),
        (1, "Find prepared transaction message failed"),
        (0, ""),
    ]


@pytest.mark.parametrize("by", [USER, OTHER])
async def test_gate_that_has_to_read_a_cold_message_lets_sends_pass(
    tmp_path: Path, guarded: Desk, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    await ask(guarded, Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T")), ADMIN)
    half = await ask(guarded, sent(properties="TRAN_MSG\1true\2PGROUP\1PG", sys_flag=4), USER)
    may_read = hold_cold_reads(monkeypatch)
    forget(tmp_path / "store")
    command = committing(half, "PG")
    sign(command, by, SECRETS[by])
    told = asyncio.ensure_future(guarded.client.invoke(guarded.address, command, timeout_s=60))
    cold = guarded.app.broker.cold
    while not cold.count and not told.done():
        await asyncio.sleep(0)
    assert (await ask(guarded, sent(), USER)).code == 0
    assert not cold.count or not told.done()
    may_read.set()
    code = (await told).code
    count = cold.count

    assert code == (0 if by == USER else 1)
    if not count:
        pytest.skip("this file system does not tell what it has in memory")
