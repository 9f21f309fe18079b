"""Accounts over the wire: request codes 50 to 54."""

from pathlib import Path

import pytest

from mqserver.broker.acl.control import AccessControl
from mqserver.broker.handlers import pull as handlers_pull
from remoting.acl import read_proof, read_proof_pure
from remoting.bodies import GetBrokerClusterAclConfigResponseBody
from remoting.codes import RequestCode, SerializeType
from remoting.command import Command
from remoting.headers import (
    CreateAccessConfig,
    DeleteAccessConfig,
    GetBrokerAclConfigResponse,
    UpdateGlobalWhiteAddrsConfig,
)
from tests.server.broker.acl.homes import ADMIN, USER, ask_as, make_topics, signed
from tests.server.broker.desk import Desk, pull, send

NEW = CreateAccessConfig(
    access_key="brandNew",
    secret_key="newSecret",
    topic_perms="A=PUB,B=SUB",
    default_group_perm="SUB",
)


PULLS = {
    "allowed": {},
    "as escaped text": {"subscription": "TAGS\\"},
    "by another group": {"consumer_group": "G2"},
    "of another topic": {"topic": "P"},
    "with a wrong key": {"secret": "wrongSecret"},
    "without a key": {"by": None},
}


async def pulls(desk: Desk) -> dict[str, tuple[int, str | None, bytes]]:
    """Return code, remark and body of the answers to all kinds of pulls."""
    found = {}
    for serialize in SerializeType:
        for name, changes in PULLS.items():
            keys = {key: changes[key] for key in ("by", "secret") if key in changes}
            header = pull(**{key: changes[key] for key in changes if key not in keys})
            command = signed(RequestCode.PULL_MESSAGE, header, **keys)
            command.serialize = serialize
            answer = await desk.client.invoke(desk.address, command)
            found[f"{name} {serialize.name}"] = (answer.code, answer.remark, answer.body[100:])
    return found


async def test_pulls_are_checked_alike_with_the_kernel_and_without(
    guarded: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[int] = []
    check = AccessControl.check

    def noted(self: AccessControl, ip: str, command: Command, *, at: str = "") -> None:
        checked.append(command.code)
        check(self, ip, command, at=at)

    monkeypatch.setattr(AccessControl, "check", noted)
    await make_topics(guarded, "T")
    stored = Command.request(RequestCode.SEND_MESSAGE_V2, send(topic="T"), body=b"x")
    await ask_as(guarded, ADMIN, stored)
    fast = await pulls(guarded)
    checked_fast = checked.count(RequestCode.PULL_MESSAGE)
    checked.clear()
    monkeypatch.setattr(handlers_pull, "parse_pull", lambda serialize, header: None)
    plain = await pulls(guarded)

    assert fast == plain
    assert fast["allowed JSON"][:2] == fast["allowed ROCKETMQ"][:2] == (0, "FOUND")
    assert all(code == 1 for name, (code, _, _) in fast.items() if name[0] != "a")
    assert checked.count(RequestCode.PULL_MESSAGE) == 2 * len(PULLS)
    if read_proof is not read_proof_pure:
        # Allowed in both serialisations; the text with an escape is allowed by the check only.
        assert checked_fast == 2 * len(PULLS) - 3


async def ask(desk: Desk, code: int, header=None) -> Command:
    return await ask_as(desk, ADMIN, Command.request(code, header))


async def test_an_account_is_created_listed_and_deleted(guarded: Desk) -> None:
    delete = DeleteAccessConfig(access_key=USER)
    for code, header, accounts in (
        (RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, NEW, [USER, "otherKey", ADMIN, "brandNew"]),
        (RequestCode.DELETE_ACL_CONFIG, delete, ["otherKey", ADMIN, "brandNew"]),
    ):
        assert (await ask(guarded, code, header)).code == 0
        answer = await ask(guarded, RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG)
        body = GetBrokerClusterAclConfigResponseBody.decode(answer.body)
        assert [one.access_key for one in body.plain_access_configs or []] == accounts


async def test_versions_of_the_files_count_up(tmp_path: Path, guarded: Desk) -> None:
    found = []
    for _ in range(2):
        await ask(guarded, RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, NEW)
        answer = await ask(guarded, RequestCode.GET_BROKER_CLUSTER_ACL_INFO)
        found.append(answer.header(GetBrokerAclConfigResponse))
    first, second = found

    assert first.version.startswith('{"counter":1,"timestamp":')
    assert second.version.startswith('{"counter":2,"timestamp":')
    assert (second.broker_name, second.cluster_name) == ("broker-a", "TestCluster")
    assert f'{tmp_path}/home/conf/plain_acl.yml":{{"counter":2' in str(second.all_acl_file_version)


@pytest.mark.parametrize(
    ("code", "header", "expected", "text"),
    [
        (
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
            CreateAccessConfig(access_key="short", secret_key="secretKey"),
            209,
            "The accessKey=short and secretKey=****** cannot be null and "
            "length should longer than 6",
        ),
        (
            RequestCode.DELETE_ACL_CONFIG,
            DeleteAccessConfig(access_key="unknown1"),
            210,
            "The accesskey[unknown1] corresponding to accessConfig has been deleted failed.",
        ),
        (
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
            UpdateGlobalWhiteAddrsConfig(
                global_white_addrs="10.0.0.1", acl_file_full_path="/etc/passwd"
            ),
            211,
            "The globalWhiteAddresses[10.0.0.1] has been updated failed.",
        ),
        (
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
            UpdateGlobalWhiteAddrsConfig(global_white_addrs="10.0", acl_file_full_path=""),
            211,
            "Netaddress examine Exception netaddress is 10.0",
        ),
    ],
)
async def test_what_cannot_be_has_its_own_code_and_javas_text(
    guarded: Desk, code: int, header, expected: int, text: str
) -> None:
    answer = await ask(guarded, code, header)

    assert (answer.code, answer.remark) == (expected, text)


async def test_the_white_list_is_replaced(guarded: Desk) -> None:
    header = UpdateGlobalWhiteAddrsConfig(global_white_addrs="10.0.0.*,::1", acl_file_full_path="")

    code = (await ask(guarded, RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, header)).code
    answer = await ask(guarded, RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG)

    body = GetBrokerClusterAclConfigResponseBody.decode(answer.body)
    assert (code, body.global_white_addrs) == (0, ["10.0.0.*", "::1"])


@pytest.mark.parametrize(("code", "expected"), [(50, 209), (51, 210), (53, 211), (52, 1), (54, 1)])
async def test_a_broker_without_accounts_says_so(desk: Desk, code: int, expected: int) -> None:
    header = {
        50: NEW,
        51: DeleteAccessConfig(access_key=USER),
        53: UpdateGlobalWhiteAddrsConfig(global_white_addrs="", acl_file_full_path=""),
    }.get(code)

    answer = await ask(desk, code, header)

    assert (answer.code, answer.remark) == (
        expected,
        "this broker has no accounts: aclEnable is false",
    )
