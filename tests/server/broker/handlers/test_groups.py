"""Consumer groups' settings over the wire."""

from pathlib import Path

import pytest

from remoting.bodies import SubscriptionGroupWrapper, encode_value
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import DeleteSubscriptionGroup
from storefmt.config.tables import GroupTable, SubscriptionGroup
from tests.server.broker.desk import GROUP, TOPIC, Desk, running


async def put(desk: Desk, group: SubscriptionGroup) -> Command:
    code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
    return await desk.ask(code, body=encode_value(group))


async def listed(desk: Desk) -> SubscriptionGroupWrapper:
    answer = await desk.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    return SubscriptionGroupWrapper.decode(answer.body)


async def test_created_group_is_listed_and_on_disk_when_answered(tmp_path: Path) -> None:
    group = SubscriptionGroup(group_name=GROUP, retry_max_times=3, consume_enable=False)

    async with running(tmp_path) as desk:
        assert (await put(desk, group)).code == 0
        stored = GroupTable.decode((tmp_path / "config/subscriptionGroup.json").read_text())
        await desk.send()
        table = await listed(desk)
        refused = await desk.pull()

    assert table.subscription_group_table[GROUP] == stored.groups[GROUP] == group
    assert "TOOLS_CONSUMER" in table.subscription_group_table
    assert (refused.code, refused.remark) == (16, "subscription group no permission, G")


@pytest.mark.parametrize(
    "group",
    [
        SubscriptionGroup(group_name=""),
        SubscriptionGroup(group_name="a/b"),
        SubscriptionGroup(group_name="g" * 256),
        SubscriptionGroup(group_name=GROUP, retry_queue_nums=-1),
    ],
)
async def test_bad_groups_are_refused(desk: Desk, group: SubscriptionGroup) -> None:
    answer = await put(desk, group)

    assert (answer.code, bool(answer.remark)) == (1, True)


async def test_attributes_that_a_request_of_5_signs_are_kept_without_signs(desk: Desk) -> None:
    signed = {"attributes": {"+priority.factor": "50", "-other": ""}}
    await put(desk, SubscriptionGroup(group_name=GROUP, extra=signed))

    kept = (await listed(desk)).subscription_group_table[GROUP]
    assert kept.extra == {"attributes": {"priority.factor": "50"}}


@pytest.mark.parametrize(("remove", "left"), [(True, -1), (False, 4)])
async def test_deleted_group_keeps_its_offsets_unless_asked(
    desk: Desk, remove: bool, left: int
) -> None:
    await put(desk, SubscriptionGroup(group_name=GROUP))
    await desk.commit(4)
    header = DeleteSubscriptionGroup(group_name=GROUP, remove_offset=remove)
    answer = await desk.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, header)

    assert answer.code == 0
    assert GROUP not in (await listed(desk)).subscription_group_table
    assert desk.app.broker.offsets.get(GROUP, TOPIC, queue_id=0) == left
