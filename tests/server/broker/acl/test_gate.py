"""A whole broker, with accounts and without, refuses peers that lack the permission."""

import asyncio
from pathlib import Path

import pytest

from mqserver.broker.acl.gate import topic_at
from remoting.acl import sign
from remoting.codes import RequestCode
from remoting.command import Command
from tests.server.broker.acl.homes import ADMIN, OTHER, SECRETS, USER, ask_as, make_topics
from tests.server.broker.desk import (
    Desk,
    create,
    end_transaction,
    place_of,
    pull,
    send,
    with_topic,
)
from tests.server.cold_disk import forget, hold_cold_reads, skip_unless_cold
from tests.waiting import until


def sent(**changes: object) -> Command:
    return Command.request(RequestCode.SEND_MESSAGE_V2, send(**changes), body=b"hello")


def committing(sent: Command, group: str) -> Command:
    """Return the request that commits what was sent."""
    header = end_transaction(*place_of(sent), producer_group=group)
    return Command.request(RequestCode.END_TRANSACTION, header)


async def test_a_broker_with_accounts_answers_those_who_sign(guarded: Desk) -> None:
    await make_topics(guarded, "T")

    for command in (sent(), Command.request(RequestCode.PULL_MESSAGE, pull())):
        refused = await ask_as(guarded, None, command)
        assert (await ask_as(guarded, USER, command)).code == 0
        assert (refused.code, refused.remark) == (
            1,
            "org.apache.rocketmq.acl.common.AclException: No accessKey is configured",
        )


async def test_secrets_are_in_no_setting_and_no_account_that_is_answered(guarded: Desk) -> None:
    codes = (
        RequestCode.GET_BROKER_CONFIG,
        RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG,
        RequestCode.GET_BROKER_CLUSTER_ACL_INFO,
        RequestCode.GET_BROKER_RUNTIME_INFO,
    )
    answers = [await ask_as(guarded, ADMIN, Command.request(code)) for code in codes]

    assert [answer.code for answer in answers] == [0, 0, 0, 0]
    for answer in answers:
        text = answer.body.decode() + repr(answer.ext)
        assert not any(secret in text for secret in SECRETS.values())
    assert b"******" in answers[1].body


@pytest.mark.parametrize(("listed", "code"), [("", 16), ("10.0.0.0", 16), ("10.0.0.*", 0)])
async def test_without_accounts_other_machines_administer_only_when_listed(
    tmp_path: Path, listed: str, code: int
) -> None:
    async with with_topic(tmp_path, admin_addresses=listed) as desk:
        (conn,) = desk.app._server.connections
        conn.peer = ("10.0.0.8", 1)
        asked = Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T2"))
        assert ((await ask_as(desk, None, asked)).code, (await desk.send()).code) == (code, 0)


async def test_a_message_that_waits_counts_for_its_real_topic(desk: Desk) -> None:
    await desk.create_topic()
    plain = await desk.send()
    delayed = await desk.send(properties="DELAY\x013")
    offsets = [place_of(answer)[0] for answer in (plain, delayed)]
    store = desk.app.broker.store
    assert (
        topic_at(store, offsets[0]),
        topic_at(store, offsets[1]),
        topic_at(store, offsets[1] + 10_000),
    ) == ("T", "T", None)


async def test_only_who_may_send_to_its_topic_decides_on_a_half_message_of_its_group(
    guarded: Desk,
) -> None:
    await make_topics(guarded, "T")
    half = await ask_as(guarded, USER, sent(properties="TRAN_MSG\1true\2PGROUP\1PG", sys_flag=4))
    plain = await ask_as(guarded, USER, sent(properties="PGROUP\1PG"))
    assert (half.code, plain.code) == (0, 0)

    async def end(answer: Command, by: str | None, group: str) -> tuple[int, str]:
        told = await ask_as(guarded, by, committing(answer, group))
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
    await make_topics(guarded, "T")
    half = await ask_as(guarded, USER, sent(properties="TRAN_MSG\1true\2PGROUP\1PG", sys_flag=4))
    may_read = hold_cold_reads(monkeypatch)
    forget(tmp_path / "store")
    command = committing(half, "PG")
    sign(command, by, SECRETS[by])
    told = asyncio.ensure_future(guarded.client.invoke(guarded.address, command, timeout_s=60))
    cold = guarded.app.broker.cold
    await until(lambda: cold.count or told.done())
    assert (await ask_as(guarded, USER, sent())).code == 0
    assert not cold.count or not told.done()
    may_read.set()

    assert (await told).code == (0 if by == USER else 1)
    skip_unless_cold(cold.count)
