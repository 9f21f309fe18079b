"""Users and rules as a broker stores them; ``tests/interop/test_auth_beside_five.py`` has more."""

import pytest

from mqserver.broker.acl.accounts import UserRefused
from mqserver.broker.acl.users import Users
from remoting.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from storefmt.errors import ConfigDamaged

ALICE = "User:alice"


def entry(resource: str | None = "Topic:T", **fields: object) -> PolicyEntryInfo:
    right: dict[str, object] = {"actions": ["Pub"], "decision": "Allow", **fields}
    return PolicyEntryInfo(resource=resource, **right)  # type: ignore[arg-type]


def acl(*entries: PolicyEntryInfo, kind: str | None = "Custom") -> AclInfo:
    return AclInfo(policies=[PolicyInfo(policy_type=kind, entries=list(entries))])


def with_alice() -> Users:
    users = Users()
    users.create_user(UserInfo(username="alice", password="p1"))
    return users


def test_a_new_user_is_normal_and_enabled_and_a_change_keeps_what_it_does_not_name() -> None:
    users = with_alice()
    users.update_user(UserInfo(username="alice", password=" ", user_type="SUPER"))

    assert users.users["alice"] == UserInfo(
        username="alice", password="p1", user_type="Super", user_status="enable"
    )
    assert users.is_super("alice")
    assert not users.is_super(None)


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (UserInfo(username=" ", password="p"), "username can not be blank"),
        (UserInfo(username="bob"), "password can not be blank"),
        (UserInfo(username="alice", password="p"), "The user is existed"),
    ],
)
def test_an_incomplete_or_known_user_is_not_created(info: UserInfo, text: str) -> None:
    with pytest.raises(UserRefused, match=text):
        with_alice().create_user(info)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"resource": None}, "The resource is null."),
        ({"resource": "Thing:x"}, "The resource is null."),
        ({"actions": None}, "The actions is empty."),
        ({"actions": ["odd"]}, "The actions is empty."),
        ({"actions": ["Pub", "any"]}, "The actions can not be Any."),
        ({"source_ips": [" "]}, "The source ip is empty."),
        ({"source_ips": ["10.0.0.0/255.0.0.0"]}, "The source ip is invalid."),
        ({"source_ips": ["10.0.0.0/33"]}, "The source ip is invalid."),
        ({"source_ips": ["fe80::1%eth0"]}, "The source ip is invalid."),
        ({"source_ips": ["host"]}, "The source ip is invalid."),
        ({"decision": "maybe"}, "The decision is null or illegal."),
    ],
)
def test_a_rule_that_is_not_complete_changes_nothing(changes: dict, text: str) -> None:
    users = with_alice()

    with pytest.raises(UserRefused, match=text):
        users.create_acl(ALICE, acl(entry(), entry(**changes)))
    assert users.acls == {}


def test_rules_are_replaced_by_resource_and_type() -> None:
    users = with_alice()
    users.create_acl(ALICE, acl(entry("topic:T", actions=["pub"], decision="ALLOW"), entry("*")))
    users.create_acl(ALICE, acl(entry(decision="Deny", source_ips=["10.0.0.0/8"])))
    users.create_acl(ALICE, acl(entry("Topic:*"), kind="default"))

    policies = users.acls[ALICE].policies
    assert policies is not None
    assert [(each.policy_type, each.entries) for each in policies] == [
        ("Custom", [entry(decision="Deny", source_ips=["10.0.0.0/8"]), entry("*")]),
        ("Default", [entry("Topic:*")]),
    ]


@pytest.mark.parametrize(
    ("kind", "resource", "left"),
    [
        (None, "Topic:T", [("Custom", ["*"]), ("Default", ["Topic:T"])]),
        ("Default", "Topic:T", [("Custom", ["Topic:T", "*"])]),
        ("Custom", "Topic:X", [("Custom", ["Topic:T", "*"]), ("Default", ["Topic:T"])]),
        ("Custom", None, []),
    ],
)
def test_one_rule_goes_or_all_of_them(kind: str | None, resource: str | None, left: list) -> None:
    users = with_alice()
    users.create_acl(ALICE, acl(entry(), entry("*")))
    users.create_acl(ALICE, acl(entry(), kind="Default"))

    users.delete_acl(ALICE, policy_type=kind, resource=resource)

    shown = [
        (policy.policy_type, [each.resource for each in policy.entries or ()])
        for info in users.list_acls(None, None)
        for policy in info.policies or ()
    ]
    assert shown == left


def test_the_rules_of_a_user_go_with_it() -> None:
    users = with_alice()
    users.create_acl(ALICE, acl(entry()))

    users.delete_user("alice")
    users.delete_user("alice")

    assert (users.users, users.acls) == ({}, {})
    for call in (users.acl_of, lambda subject: users.create_acl(subject, acl(entry()))):
        with pytest.raises(UserRefused, match="exist"):
            call(ALICE)


def test_lists_are_ordered_and_filtered() -> None:
    users = Users()
    for name in ("bob", "alice", "Carl"):
        users.create_user(UserInfo(username=name, password="p"))
        users.create_acl(f"User:{name}", acl(entry(f"Topic:{name}"), entry("Group:g")))

    assert [user.username for user in users.list_users(None)] == ["Carl", "alice", "bob"]
    assert [user.username for user in users.list_users("l")] == ["Carl", "alice"]
    assert [info.subject for info in users.list_acls("bob", "Topic")] == ["User:bob"]
    assert list(users.list_acls("bob", "alice")) == []


def test_the_file_reads_back_and_a_snapshot_stays_as_it_was() -> None:
    users = with_alice()
    users.create_acl(ALICE, acl(entry(source_ips=["::1"])))
    snapshot = users.snapshot()

    users.delete_user("alice")

    assert Users.decode(snapshot.encode().encode()) == snapshot
    assert (len(snapshot.users), len(snapshot.acls)) == (1, 1)


@pytest.mark.parametrize("data", [b"[]", b'{"users":{}}', b'{"users":[1]}', b"{", b""])
def test_a_damaged_file_is_refused(data: bytes) -> None:
    with pytest.raises(ConfigDamaged):
        Users.decode(data)
