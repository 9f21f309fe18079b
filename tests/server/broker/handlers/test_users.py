"""Users and rules of ACL 2.0 on a whole broker: who may change them, and what is on the disk."""

import os
import time
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import BrokerRefused
from mqserver.broker.acl.rules import OPEN_CODES
from remoting import bodies
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.signing import sign_for
from storefmt.paths import StorePaths
from tests.server.broker.acl.test_every_code import CODES, requests_of
from tests.server.broker.desk import Desk, create, running, send

ROOT, ROOT_PASSWORD = "root", "rootSecret"
PASSWORDS = {ROOT: ROOT_PASSWORD, "alice": "aliceSecret", "chief": "chiefSecret"}
USERS = {
    "authentication_enabled": True,
    "authorization_enabled": True,
    "init_authentication_user": f'{{"username":"{ROOT}","password":"{ROOT_PASSWORD}"}}',
}


async def ask(desk: Desk, by: str | None, command: Command) -> Command:
    if by is not None:
        now_ms = time.time_ns() // 1_000_000
        sign_for(command, by, PASSWORDS[by], receiver=desk.address, now_ms=now_ms)
    return await desk.client.invoke(desk.address, command, timeout_s=60)


def admin_of(client: MQClient) -> Admin:
    return Admin(client)


def signed_in(desk: Desk, name: str) -> MQClient:
    return MQClient(desk.address, access_key=name, secret_key=PASSWORDS[name])


async def make(desk: Desk, name: str, *rules: tuple[str, str], kind: str = "Normal") -> None:
    """Let root create a user; each rule allows actions on a resource."""
    async with signed_in(desk, ROOT) as root:
        user = bodies.UserInfo(username=name, password=PASSWORDS[name], user_type=kind)
        await Admin(root).create_user(desk.address, user)
        entries = [
            bodies.PolicyEntryInfo(resource=what, actions=actions.split(","), decision="Allow")
            for actions, what in rules
        ]
        if entries:
            policies = [bodies.PolicyInfo(policy_type="Custom", entries=entries)]
            acl = bodies.AclInfo(subject=f"User:{name}", policies=policies)
            await Admin(root).create_acl(desk.address, acl)


async def test_a_user_may_do_what_its_rules_allow_at_once_and_after_a_restart(
    tmp_path: Path,
) -> None:
    sent = [Command.request(RequestCode.SEND_MESSAGE_V2, send(), body=b"x") for _ in range(3)]
    async with running(tmp_path, **USERS) as desk:
        await make(desk, "alice", ("Pub", "Topic:T"))
        made = Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T"))
        codes = [(await ask(desk, by, made)).code for by in ("alice", ROOT)]
        codes += [(await ask(desk, by, sent[0])).code for by in ("alice", ROOT)]
    async with running(tmp_path, **USERS) as desk:
        codes.append((await ask(desk, "alice", sent[1])).code)
        async with signed_in(desk, ROOT) as root:
            await Admin(root).delete_acl(desk.address, "User:alice")
        refused = await ask(desk, "alice", sent[2])

    assert codes == [16, 0, 0, 0, 0]
    assert (refused.code, refused.remark) == (
        ResponseCode.NO_PERMISSION,
        "User:alice has no permission to access Topic:T from 127.0.0.1, no matched policies.",
    )


async def test_only_a_super_user_changes_one_and_sees_passwords(tmp_path: Path) -> None:
    async with running(tmp_path, **USERS) as desk:
        await make(desk, "chief", ("Get,Update", "Cluster:*"))
        await make(desk, "alice")
        async with signed_in(desk, "chief") as client:
            chief, refused = Admin(client), []
            for call in (
                chief.create_user(
                    desk.address, bodies.UserInfo(username="x", password="y", user_type="super")
                ),
                chief.update_user(desk.address, bodies.UserInfo(username=ROOT, password="mine")),
                chief.update_user(desk.address, bodies.UserInfo(username="x", user_type="Super")),
                chief.delete_user(desk.address, ROOT),
            ):
                with pytest.raises(BrokerRefused) as caught:
                    await call
                refused.append(caught.value.code)
            await chief.update_user(
                desk.address, bodies.UserInfo(username="alice", password="newSecret")
            )
            seen = [user.password for user in await chief.list_users(desk.address)]
        async with signed_in(desk, ROOT) as client:
            all_seen = [user.password for user in await Admin(client).list_users(desk.address)]

    assert refused == [1, 16, 1, 16]
    assert seen == [None, None, None]
    assert all_seen == ["newSecret", "chiefSecret", ROOT_PASSWORD]


async def test_passwords_are_in_one_private_file_and_in_no_setting_or_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = StorePaths(tmp_path).config_file("authUsers.json")
    async with running(tmp_path, **USERS) as desk:
        # The first users are saved at the start, the others before the answer.
        await make(desk, "alice")
        on_disk = path.read_text()
        answer = await ask(desk, ROOT, Command.request(RequestCode.GET_BROKER_CONFIG))
        config = repr(desk.app.broker.config)

    others = [
        file
        for file in tmp_path.rglob("*")
        if file.is_file() and not file.name.startswith("authUsers.json")
    ]
    for password in (ROOT_PASSWORD, PASSWORDS["alice"]):
        assert password in on_disk
        assert password not in answer.body.decode() + caplog.text + config
        assert not any(password.encode() in file.read_bytes() for file in others)
    assert b"initAuthenticationUser=******" in answer.body
    for file in tmp_path.rglob("authUsers.json*"):
        assert os.stat(file).st_mode & 0o777 == 0o600


async def test_without_authentication_the_requests_are_not_supported(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        answer = await desk.ask(3005)

    assert (answer.code, answer.remark) == (
        ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
        " request type 3005 not supported: authenticationEnabled is false",
    )


async def test_accounts_of_4_9_are_not_there(tmp_path: Path) -> None:
    async with running(tmp_path, **USERS) as desk:
        code = RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG
        answer = await ask(desk, ROOT, Command.request(code))

    assert answer.remark == "this broker has no accounts: aclEnable is false"


async def test_no_code_does_anything_for_nobody_or_for_a_user_without_rules(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, **USERS) as desk:
        await make(desk, "alice")
        made = Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T"))
        assert (await ask(desk, ROOT, made)).code == 0
        done = {
            (code, by)
            for code in CODES
            for by in (None, "alice")
            for _, command in requests_of(code)
            if (await ask(desk, by, command)).code == ResponseCode.SUCCESS
        }

    assert {code for code, _ in done} <= OPEN_CODES
