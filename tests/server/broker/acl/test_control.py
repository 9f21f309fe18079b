"""Requests with and without keys, and accounts that change while a broker runs."""

import logging
from pathlib import Path

import pytest

from mqserver.broker.acl import access as access_module
from mqserver.broker.acl.accounts import AclError
from mqserver.broker.acl.control import HIDDEN, AccessControl
from remoting.acl import Proof, content_of
from remoting.bodies import PlainAccessConfig
from remoting.codes import RequestCode
from remoting.command import Command
from storefmt.errors import ConfigDamaged
from tests.server.broker.acl.homes import (
    ACCOUNTS,
    ADMIN,
    ELSEWHERE,
    OTHER,
    SECRETS,
    USER,
    control,
    signed,
    write_home,
)
from tests.server.broker.desk import create, pull, send


def refusal(root: Path, command, *, ip: str = ELSEWHERE, **options) -> str | None:
    try:
        control(root, **options).check(ip, command)
    except AclError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"by": None}, "No accessKey is configured"),
        ({"by": "whoIsThat", "secret": "secretKey"}, "No acl config for whoIsThat"),
        ({"secret": "wrongSecret"}, f"Check signature failed for accessKey={USER}"),
        ({}, None),
        ({"token": "a token is signed too"}, None),
    ],
)
def test_a_key_has_to_be_known_and_to_sign(tmp_path: Path, change, text) -> None:
    command = signed(RequestCode.SEND_MESSAGE_V2, send(), body=b"x", **change)

    assert refusal(write_home(tmp_path), command) == text


def test_what_was_signed_may_not_change_on_the_way(tmp_path: Path) -> None:
    root = write_home(tmp_path)
    body = signed(RequestCode.SEND_MESSAGE_V2, send(), body=b"x")
    body.body = b"y"
    field = signed(RequestCode.SEND_MESSAGE_V2, send())
    field.ext["e"] = "7"

    assert [refusal(root, c) for c in (body, field)] == [
        f"Check signature failed for accessKey={USER}"
    ] * 2


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("T", None),
        ("P", None),
        ("S", "No default permission for topic:S"),
        ("D", "No default permission for topic:D"),
        ("unnamed", "No default permission for topic:unnamed"),
        ("%RETRY%G", None),
        ("%RETRY%G2", "No default permission for group:G2"),
        ("RMQ_SYS_TRACE_TOPIC", None),
    ],
)
def test_a_send_needs_pub(tmp_path: Path, topic: str, text: str | None) -> None:
    command = signed(RequestCode.SEND_MESSAGE_V2, send(topic=topic))

    assert refusal(write_home(tmp_path), command) == text


def test_a_pull_needs_sub_of_topic_and_group(tmp_path: Path) -> None:
    root = write_home(tmp_path)
    pulls = [pull(), pull(topic="P"), pull(consumer_group="X")]

    assert [refusal(root, signed(RequestCode.PULL_MESSAGE, header)) for header in pulls] == [
        None,
        "No default permission for topic:P",
        "No default permission for group:X",
    ]


def test_an_administrators_code_needs_an_admin(tmp_path: Path) -> None:
    root = write_home(tmp_path)
    header = create("T")

    assert refusal(root, signed(RequestCode.UPDATE_AND_CREATE_TOPIC, header)) == (
        f"Need admin permission for request code=17, but accessKey={USER} is not"
    )
    assert refusal(root, signed(RequestCode.UPDATE_AND_CREATE_TOPIC, header, by=ADMIN)) is None


def test_an_admin_with_permissions_is_held_to_them_as_in_java(tmp_path: Path) -> None:
    root = write_home(tmp_path, accounts=[{**ACCOUNTS[2], "topicPerms": ["T=SUB"]}])
    command = signed(RequestCode.SEND_MESSAGE_V2, send(), by=ADMIN)

    assert refusal(root, command) == "No default permission for topic:T"
    assert refusal(root, signed(RequestCode.DELETE_ACL_CONFIG, by=ADMIN)) is None


def test_white_addresses_need_no_key_or_no_signature(tmp_path: Path) -> None:
    accounts = [{**ACCOUNTS[0], "whiteRemoteAddress": "10.1.2.*"}]
    root = write_home(tmp_path, globalWhiteRemoteAddresses=["10.10.*.*"], accounts=accounts)
    unsigned = signed(RequestCode.UPDATE_AND_CREATE_TOPIC, create("X"), by=None)
    named = signed(RequestCode.UPDATE_AND_CREATE_TOPIC, create("X"), secret="wrongSecret")

    assert refusal(root, unsigned, ip="10.10.0.1") is None
    assert refusal(root, unsigned, ip="10.1.2.3") == "No accessKey is configured"
    assert refusal(root, named, ip="10.1.2.3") is None
    assert refusal(root, named) == f"Check signature failed for accessKey={USER}"


def test_a_query_passes_signed_with_and_without_its_mark(tmp_path: Path) -> None:
    root = write_home(tmp_path)
    fields = {"topic": "T", "key": "k"}
    whole = signed(RequestCode.QUERY_MESSAGE, **fields, _UNIQUE_KEY_QUERY="true")
    without = signed(RequestCode.QUERY_MESSAGE, **fields)
    without.ext["_UNIQUE_KEY_QUERY"] = "true"

    assert [refusal(root, command) for command in (whole, without)] == [None, None]


def test_bodies_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    command = signed(RequestCode.HEART_BEAT, body=b"{")

    assert "HeartbeatData" in (refusal(write_home(tmp_path), command) or "")


def test_changed_files_count_at_the_second_look_and_broken_ones_do_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    access = control(write_home(tmp_path))
    command = signed(RequestCode.SEND_MESSAGE_V2, send())
    access.check(ELSEWHERE, command)
    access.reload(1)
    assert caplog.records == []

    write_home(tmp_path, accounts=ACCOUNTS[1:])
    access.reload(2)
    access.check(ELSEWHERE, command)
    access.reload(2)
    with pytest.raises(AclError, match=f"No acl config for {USER}"):
        access.check(ELSEWHERE, command)

    (tmp_path / "conf" / "plain_acl.yml").write_text("accounts: 5")
    access.reload(3)
    access.reload(3)
    access.check(ELSEWHERE, signed(RequestCode.GET_BROKER_CONFIG, by=ADMIN))
    access.reload(4)
    texts = [record.message for record in caplog.records]
    assert texts[0] == "2 accounts after a change of their files"
    assert len(texts) == 2
    assert "the accounts stay as they were" in texts[1]
    assert not any(secret in caplog.text for secret in SECRETS.values())


def allowed(access: AccessControl, command: Command, *, ip: str = ELSEWHERE) -> bool:
    """Return whether the short way allows a request, which has to be what ``check`` says."""
    ext = command.ext
    proof = Proof(
        ext.get("AccessKey"), ext.get("Signature", "").encode(), content_of(ext, command.body)
    )
    if command.code == RequestCode.PULL_MESSAGE:
        group = ext["consumerGroup"]
        found = access.allows_pull(ip, command.code, ext["topic"], group, proof)
    else:
        found = access.allows_send(ip, command.code, ext["b"], proof)
    try:
        access.check(ip, command)
    except AclError:
        assert not found
    else:
        # The short way leaves to ``check`` what may be copied to other topics.
        assert found or b"INNER_MULTI_DISPATCH" in content_of(ext, command.body)
    return found


@pytest.mark.parametrize("strict", [True, False])
def test_the_short_way_of_sends_says_what_the_check_says(tmp_path: Path, strict: bool) -> None:
    white = {**ACCOUNTS[1], "accessKey": "whiteKey", "whiteRemoteAddress": "10.9.1.*"}
    home = write_home(
        tmp_path, accounts=[*ACCOUNTS, white], globalWhiteRemoteAddresses=["10.9.2.*"]
    )
    access = control(home, strict=strict)
    code = RequestCode.SEND_MESSAGE_V2
    found = {}
    for topic in ("T", "T2", "S", "unnamed", "RMQ_SYS_TRACE_TOPIC"):
        for by in (USER, OTHER, ADMIN, "whiteKey", "nobody", None):
            for secret in (SECRETS.get(by or "", "otherSecret"), "wrongSecret"):
                for ip in (ELSEWHERE, "10.9.1.1", "10.9.2.1"):
                    command = signed(code, send(topic=topic), by=by, secret=secret, body=b"x")
                    is_right = secret != "wrongSecret"
                    # Once as something new, once as something known.
                    for _ in range(2):
                        found[topic, by, is_right, ip] = allowed(access, command, ip=ip)

    assert found["T", USER, True, ELSEWHERE]
    assert not found["T", USER, False, ELSEWHERE]
    assert not found["T2", USER, True, ELSEWHERE]
    assert found["S", "whiteKey", False, "10.9.1.1"]
    assert found["S", None, True, "10.9.2.1"]


@pytest.mark.parametrize("strict", [True, False])
def test_the_short_way_of_pulls_says_what_the_check_says(tmp_path: Path, strict: bool) -> None:
    access = control(write_home(tmp_path), strict=strict)
    found = {}
    for topic in ("T", "P", "S", "unnamed"):
        for group in ("G", "G2", "unnamed"):
            for by in (USER, OTHER, ADMIN):
                for secret in (SECRETS[by], "wrongSecret"):
                    header = pull(topic=topic, consumer_group=group)
                    command = signed(RequestCode.PULL_MESSAGE, header, by=by, secret=secret)
                    is_right = secret != "wrongSecret"
                    for _ in range(2):
                        found[topic, group, by, is_right] = allowed(access, command)

    assert {key for key, is_allowed in found.items() if is_allowed and key[2] == USER} == {
        ("T", "G", USER, True),
        ("S", "G", USER, True),
    }
    assert found["unnamed", "unnamed", ADMIN, True]


def test_the_short_way_of_sends_leaves_messages_that_are_copied(tmp_path: Path) -> None:
    access = control(write_home(tmp_path))
    sends = [
        signed(RequestCode.SEND_MESSAGE_V2, send(), body=b"x"),
        signed(RequestCode.SEND_MESSAGE_V2, send(properties="INNER_MULTI_DISPATCH\1T"), body=b"x"),
        signed(RequestCode.SEND_MESSAGE_V2, send(), body=b"INNER_MULTI_DISPATCH\1%LMQ%a"),
    ]

    assert [allowed(access, command) for command in sends] == [True, False, False]


def test_the_short_way_of_sends_ends_when_the_accounts_change(tmp_path: Path) -> None:
    access = control(write_home(tmp_path))
    command = signed(RequestCode.SEND_MESSAGE_V2, send(topic="T"), body=b"x")
    assert allowed(access, command)

    write_home(tmp_path, accounts=[{**ACCOUNTS[0], "topicPerms": ["T=DENY"]}])
    access.reload(1)
    access.reload(2)
    assert not allowed(access, command)
    access.update(account(secret_key=SECRETS[USER], topic_perms=["T=PUB"]), 2)
    assert allowed(access, command)
    access.delete(USER, 3)
    assert not allowed(access, command)


def test_the_memory_of_the_short_way_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_module, "SIGNERS_MAX", 3)
    access = control(write_home(tmp_path))
    command = signed(RequestCode.SEND_MESSAGE_V2, send(), body=b"x")

    found = [allowed(access, command, ip=f"10.9.9.{number}") for number in range(10)]

    assert found == [True] * 10
    assert len(access._signers) <= 3


def test_a_broken_file_stops_the_start(tmp_path: Path) -> None:
    write_home(tmp_path, accounts=[{"accessKey": "short"}])
    with pytest.raises(ConfigDamaged):
        control(tmp_path)


def account(**changes: object) -> PlainAccessConfig:
    values = {"access_key": USER, "secret_key": "newSecret", **changes}
    return PlainAccessConfig(**values)  # type: ignore[arg-type]


def test_an_update_changes_what_it_says_at_once(tmp_path: Path) -> None:
    access = control(write_home(tmp_path))
    access.update(account(default_group_perm="SUB"), 50)
    (changed,) = [one for one in access.accounts if one.access_key == USER]

    access.check(ELSEWHERE, signed(RequestCode.SEND_MESSAGE_V2, send(), secret="newSecret"))
    assert changed.topic_perms == ACCOUNTS[0]["topicPerms"]
    assert changed.default_group_perm == "SUB"
    assert changed.secret_key == HIDDEN
    assert (access.version.counter, access.version.timestamp_ms) == (1, 50)


def test_a_new_account_goes_to_plain_acl_and_a_known_one_to_its_own_file(tmp_path: Path) -> None:
    write_home(tmp_path, accounts=ACCOUNTS[1:])
    own = tmp_path / "conf" / "acl" / "own.yml"
    own.parent.mkdir()
    own.write_text(f"accounts:\n- {{accessKey: {USER}, secretKey: userSecret}}\n")
    access = control(tmp_path)
    access.update(account(), 1)
    access.update(account(access_key="brandNew"), 2)

    assert "newSecret" in own.read_text()
    assert "brandNew" in (tmp_path / "conf" / "plain_acl.yml").read_text()
    assert access.delete(USER, 3)
    assert not access.delete(USER, 4)
    assert "newSecret" not in own.read_text()


@pytest.mark.parametrize(
    "changes",
    [
        {"secret_key": None},
        {"secret_key": "short"},
        {"topic_perms": ["T=ALL"]},
        {"group_perms": ["G"]},
        {"white_remote_address": "10.0"},
    ],
)
def test_an_update_that_cannot_be_leaves_the_file_alone(tmp_path: Path, changes) -> None:
    access = control(write_home(tmp_path))
    before = (tmp_path / "conf" / "plain_acl.yml").read_bytes()
    with pytest.raises(AclError):
        access.update(account(**changes), 1)

    assert (tmp_path / "conf" / "plain_acl.yml").read_bytes() == before


def test_the_white_list_is_replaced_in_one_of_the_files_only(tmp_path: Path) -> None:
    access = control(write_home(tmp_path))
    unsigned = signed(RequestCode.SEND_MESSAGE_V2, send(), by=None)
    outside = tmp_path / "elsewhere.yml"
    outside.write_text("")

    assert access.set_white(["10.9.8.*"], "", 1)
    access.check(ELSEWHERE, unsigned)
    assert access.white == ["10.9.8.*"]
    assert access.set_white([""], str(tmp_path / "conf" / "plain_acl.yml"), 2)
    with pytest.raises(AclError, match="No accessKey"):
        access.check(ELSEWHERE, unsigned)
    for path in (str(outside), str(tmp_path / "conf" / ".." / "elsewhere.yml"), "/etc/passwd"):
        assert not access.set_white(["*"], path, 3)
    with pytest.raises(AclError, match="netaddress is 10"):
        access.set_white(["10"], "", 4)
    assert outside.read_text() == ""
