"""Users and rules of ACL 2.0, on brokers of 5.4.0 that check both, beside Java's tool.

namesrv (5.4.0) ── broker-a, broker-b (5.4.0), a Super user ``root``
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import BrokerRefused, ClientError
from remoting import bodies, headers
from remoting.codes import LaterCode, RequestCode, ResponseCode
from remoting.policies import decide, parse_resource
from tests.interop.kit.java_build import JAVA_FIVE, class_path, need_java
from tests.interop.kit.our_clients import await_registered
from tests.interop.kit.our_mqadmin import OurMqadmin, Row
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, Servers
from tests.interop.kit.toolbox import Toolbox
from tests.mqadmin.conftest import cells

ROOT, PASSWORD = "root", "rootPassword"
SECRET = "somePassword"
PROVIDERS = "org.apache.rocketmq.auth"
SETTINGS = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "authenticationMetadataProvider": f"{PROVIDERS}.authentication.provider."
    "LocalAuthenticationMetadataProvider",
    "authorizationMetadataProvider": f"{PROVIDERS}.authorization.provider."
    "LocalAuthorizationMetadataProvider",
    "initAuthenticationUser": f'{{"username":"{ROOT}","password":"{PASSWORD}"}}',
    "innerClientAuthenticationCredentials": f'{{"accessKey":"{ROOT}","secretKey":"{PASSWORD}"}}',
}


class Guarded(NamedTuple):
    """Two brokers with ACL 2.0 and Java's tool, which signs in as root."""

    namesrv: Namesrv
    brokers: tuple[Broker, Broker]
    tool: Toolbox

    def words(self, line: str, **names: str) -> list[str]:
        """Return the words of a line in which brokers and users are named."""
        first, second = self.brokers
        known = {"a": first.address, "b": second.address, "cluster": first.cluster}
        return line.format(**known, **names).split()

    def java(self, words: list[str]) -> str:
        """Return what Java's tool prints, without passwords, which ours never prints."""
        said = self.tool.mqadmin(*words, "-n", self.namesrv.address)
        shown = said.stdout
        for password in (PASSWORD, SECRET):
            shown = shown.replace(f"{password:<22}", f"{'******':<22}")
        return shown


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    need_java()
    home = tmp_path_factory.mktemp("auth")
    side = JavaSide(home, class_path(JAVA_FIVE))
    keys = f"accessKey: {ROOT}\nsecretKey: {PASSWORD}\n"
    (home / "conf" / "tools.yml").write_text(keys)
    with ExitStack() as stack:
        namesrv = stack.enter_context(Namesrv(side))
        brokers = [
            stack.enter_context(
                Broker(
                    side,
                    store=home / name,
                    namesrv=namesrv.address,
                    settings=SETTINGS | {"brokerName": name},
                )
            )
            for name in ("broker-a", "broker-b")
        ]
        for broker in brokers:
            await_registered(Servers(side.name, namesrv, broker))
        tool = Toolbox(side, main="FiveAdmin")
        stack.callback(tool.stop)
        yield Guarded(namesrv, (brokers[0], brokers[1]), tool.await_ready())


@pytest.fixture
def ours(guarded: Guarded, tmp_path: Path) -> OurMqadmin:
    """Return our mqadmin, which signs in as root."""
    env = {
        "HOME": str(tmp_path),
        "MQADMIN_ACCESS_KEY": ROOT,
        "MQADMIN_SECRET_KEY": PASSWORD,
    }
    return OurMqadmin(guarded.namesrv.address, env)


LINES = (
    f"createUser -b {{a}} -u {{u}} -p {SECRET}",
    f"createUser -c {{cluster}} -u {{v}} -p {SECRET} -t Super",
    "updateUser -b {a} -u {u} -t Super",
    # The tool takes one of -p, -t and -s at a time.
    "updateUser -c {cluster} -u {v} -t Normal",
    "updateUser -c {cluster} -u {v} -s disable",
    "updateUser -b {a} -u {u} -t Normal",
    "getUser -b {a} -u {u}",
    "getUser -b {a} -u nobody",
    "getUser -c {cluster} -u {v}",
    "listUser -b {a}",
    "listUser -b {a} -f nobody",
    "listUser -c {cluster} -f {u}",
    "createAcl -b {a} -s User:{u} -r Topic:orders,Group:bill* -a Pub,Sub -d Allow",
    "createAcl -b {a} -s User:{u} -r Topic:bills -a All -d Deny -i 10.0.0.0/8,127.0.0.1",
    "createAcl -c {cluster} -s User:{v} -r * -a Get -d Allow",
    "updateAcl -b {a} -s User:{u} -r Topic:orders -a Sub -d Deny",
    "getAcl -b {a} -s User:{u}",
    "getAcl -c {cluster} -s User:{v}",
    "listAcl -b {a}",
    "listAcl -b {a} -s {v}",
    "listAcl -b {a} -r bills",
    "copyAcl -f {a} -t {b} -s User:{v}",
    f"createUser -b {{b}} -u {{u}} -p {SECRET}",
    "copyUser -f {a} -t {b} -u {u},{v}",
    "copyAcl -f {a} -t {b}",
    "deleteAcl -b {a} -s User:{u} -r Topic:orders",
    "getAcl -b {a} -s User:{u}",
    "deleteAcl -c {cluster} -s User:{v}",
    "getAcl -b {a} -s User:{v}",
    "deleteUser -b {a} -u {u}",
    "deleteUser -b {a} -u nobody",
    "deleteUser -c {cluster} -u {v}",
    "deleteUser -b {b} -u {u}",
    "listAcl -c {cluster}",
    "listUser -c {cluster}",
)
"""A story that ends as it began; each side has users of its own."""


def test_lines_of_javas_tool_print_the_same(guarded: Guarded, ours: OurMqadmin) -> None:
    def told(side: str) -> list[list[str]]:
        printed = []
        for line in LINES:
            words = guarded.words(line, u=f"{side}-user-one", v=f"{side}-user-two")
            if side == "java":
                shown = guarded.java(words)
            else:
                shown = ours.text(*words, "--compat=strict", "-y")
            printed.append([f"$ {line}", *shown.splitlines()])
        return [[row.replace(side, "side") for row in rows] for rows in printed]

    java = told("java")

    for expected, actual in zip(java, told("ours"), strict=True):
        assert actual == expected
    assert sum(len(rows) > 1 for rows in java) > len(LINES) * 0.7


ALICE = "alice"
RULES = (
    (),
    ("* All Allow",),
    ("Topic:orders Pub,Get Allow",),
    ("Topic:orders All Deny", "Topic:* All Allow", "* All Allow"),
    ("Topic:ord* All Deny", "Topic:o* All Allow", "Group:* Sub Allow"),
    ("Topic:orders* Get Deny", "Topic:orders All Allow", "Cluster:* All Allow"),
    ("Topic:orders All Allow 10.0.0.0/8", "Topic:* Get Allow 127.0.0.0/8,10.0.0.1"),
    ("Topic:orders All Deny 10.0.0.0/8", "Topic:* Pub,Get Allow 127.0.0.1"),
    ("Group:bill* Sub,Delete Deny", "Group:billing Sub Allow", "* All Allow"),
    ("Cluster:TestCluster Get Allow", "Cluster:* Get Deny", "Group:billing Delete Allow"),
    ("Topic:orders Pub Allow", "Topic:orders All Deny", "Topic:orders Get Allow"),
)
"""Rules of one user: resource, actions, decision, addresses."""
REQUESTS = {
    ("Pub", "Topic:orders"): (
        RequestCode.SEND_MESSAGE_V2,
        headers.SendMessageV2(
            producer_group="producers",
            topic="orders",
            default_topic="TBW102",
            default_topic_queue_nums=1,
            queue_id=0,
            sys_flag=0,
            born_timestamp=0,
            flag=0,
        ),
    ),
    ("Get", "Topic:orders"): (
        RequestCode.GET_TOPIC_STATS_INFO,
        headers.GetTopicStatsInfo(topic="orders"),
    ),
    ("Sub", "Group:billing"): (
        RequestCode.UNREGISTER_CLIENT,
        headers.UnregisterClient(client_id="c", consumer_group="billing"),
    ),
    ("Delete", "Group:billing"): (
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
        headers.DeleteSubscriptionGroup(group_name="billing"),
    ),
    ("Get", "Cluster:TestCluster"): (LaterCode.AUTH_LIST_USER, headers.ListUsers()),
}
"""Requests that need one action on one resource."""


def acl_of(rules: tuple[str, ...]) -> bodies.AclInfo:
    entries = []
    for resource, actions, decision, *addresses in map(str.split, rules):
        entries.append(
            bodies.PolicyEntryInfo(
                resource=resource,
                actions=actions.split(","),
                decision=decision,
                source_ips=addresses[0].split(",") if addresses else None,
            )
        )
    policy = bodies.PolicyInfo(policy_type="Custom", entries=entries)
    return bodies.AclInfo(subject=f"User:{ALICE}", policies=[policy])


async def is_allowed(client: MQClient, address: str, need: tuple[str, str]) -> bool:
    """Return whether a broker lets a request through, whatever it answers then."""
    code, header = REQUESTS[need]
    try:
        await client.call(address, code, header, what="test", body=b"x")
    except BrokerRefused as error:
        return not (error.code == ResponseCode.NO_PERMISSION and "has no permission" in str(error))
    except ClientError:
        return True
    return True


async def decisions_of_broker(
    address: str, namesrv: str, rules: tuple[str, ...]
) -> dict[tuple[str, str], bool]:
    async with (
        MQClient(namesrv, access_key=ROOT, secret_key=PASSWORD) as root,
        MQClient(namesrv, access_key=ALICE, secret_key=SECRET) as alice,
    ):
        admin = Admin(root)
        if await admin.get_user(address, ALICE) is not None:
            await admin.delete_user(address, ALICE)
        await admin.create_user(address, bodies.UserInfo(username=ALICE, password=SECRET))
        if rules:
            await admin.create_acl(address, acl_of(rules))
        return {need: await is_allowed(alice, address, need) for need in REQUESTS}


@pytest.mark.parametrize("rules", RULES, ids=" + ".join)
def test_a_decision_is_that_of_the_broker(
    guarded: Guarded, ours: OurMqadmin, rules: tuple[str, ...]
) -> None:
    address = guarded.brokers[0].address

    expected = asyncio.run(decisions_of_broker(address, guarded.namesrv.address, rules))

    user = bodies.UserInfo(username=ALICE, user_type="Normal", user_status="enable")
    made = {
        (action, resource): decide(
            user,
            acl_of(rules),
            actions=(action,),
            resource=parse_resource(resource),
            source_ip="127.0.0.1",
        ).is_allowed
        for action, resource in REQUESTS
    }
    assert made == expected
    for (action, resource), allowed in expected.items():
        words = ("acl2", "test", ALICE, action, resource, "--source-ip", "127.0.0.1")
        (row,) = ours(*words, "--broker", address, exit_code=0 if allowed else 1)
        assert row["decision"] == ("Allow" if allowed else "Deny")
    ours("user", "delete", ALICE, "--broker", address, "-y")


def make_user(ours: OurMqadmin, name: str, *more: str) -> list[Row]:
    return ours("user", "create", name, "--password", "-", *more, stdin=f"{SECRET}\n")


def test_users_and_rules_are_made_changed_deleted_and_put_back(ours: OurMqadmin) -> None:
    made = make_user(ours, "bob")
    rule = ("acl2", "set", "bob", "topic:orders", "Group:bill*")
    dry = ours(*rule, "--actions", "pub,SUB", "--dry-run")
    first = ours(*rule, "--actions", "pub,SUB")
    again = ours(*rule, "--actions", "Pub,Sub")
    changed = ours("acl2", "set", "bob", "Topic:orders", "--source-ip", "10.0.0.0/8")
    lifted = ours("acl2", "set", "bob", "Topic:orders", "--source-ip", "any", "--decision", "Deny")
    rules = ours("acl2", "show", "bob")
    gone = ours("user", "delete", "bob", "-y")
    nothing = ours("acl2", "list", "bob")
    back = ours("undo", "-y")

    assert [row["result"] for row in made] == ["changed"] * 2
    assert [row["result"] for row in (*dry, *first, *again)] == [
        *(["would change"] * 4 + ["changed"] * 4 + ["unchanged"] * 4)
    ]
    assert [row["was"] for row in changed] == [{"source_ips": []}] * 2
    assert lifted[0]["was"] == {"source_ips": ["10.0.0.0/8"], "decision": "Allow"}
    assert cells(rules[:2], "resource", "actions", "source_ips", "decision") == [
        ("Topic:orders", ["Pub", "Sub"], [], "Deny"),
        ("Group:bill*", ["Pub", "Sub"], [], "Allow"),
    ]
    assert [row["result"] for row in (*gone, *back)] == ["changed"] * 6
    assert nothing == []
    assert ours("acl2", "show", "bob") == rules
    ours("user", "delete", "bob", "-y")


def test_only_what_is_named_changes_of_a_user(ours: OurMqadmin) -> None:
    make_user(ours, "carol", "--type", "super")

    changed = ours("user", "update", "carol", "--status", "disable")
    secret = ours("user", "update", "carol", "--password", "otherPassword")
    again = ours("user", "create", "carol", "--password", "x", exit_code=1)

    assert (
        cells(changed, "user_type", "user_status", "was")
        == [("Super", "disable", {"user_status": "enable"})] * 2
    )
    assert [row["was"] for row in secret] == [{"password": "******"}] * 2
    assert "`user update` changes it" in again[0]["remark"]
    ours("user", "delete", "carol", "-y")
    assert ours("user", "update", "carol", "--type", "Super", exit_code=3)[0]["result"] == (
        "not found"
    )


def test_users_and_rules_are_copied_to_another_broker(guarded: Guarded, ours: OurMqadmin) -> None:
    first, second = (broker.address for broker in guarded.brokers)
    make_user(ours, "dave", "--broker", first)
    ours("acl2", "set", "dave", "*", "--actions", "List", "--broker", first)

    missing = ours(
        *("acl2", "copy", "dave", "--from-broker", first, "--broker", second, "-y"), exit_code=1
    )
    users = ours("user", "copy", "dave", "--from-broker", "broker-a", "-y")
    rules = ours("acl2", "copy", "dave", "--from", guarded.namesrv.address, "-y")

    assert "make it first" in missing[0]["remark"]
    assert cells(users, "address", "username", "result") == [(second, "dave", "changed")]
    assert cells(rules, "address", "result") == [(first, "unchanged"), (second, "changed")]
    assert ours("acl2", "test", "dave", "List", "Topic:x")[1]["rule"] == "Allow List on *"
    ours("user", "delete", "dave", "-y")


def test_a_context_signs_in_and_a_refusal_says_what_to_do(
    guarded: Guarded, ours: OurMqadmin, tmp_path: Path
) -> None:
    make_user(ours, "erin")
    bare = OurMqadmin(guarded.namesrv.address, {"HOME": str(tmp_path)})

    bare.text("user", "list", exit_code=1)
    unsigned = bare.err
    bare.env = {**bare.env, "ERIN": SECRET}
    keys = ("--access-key", "erin", "--secret-key", "env:ERIN")
    bare.text("context", "add", "guarded", *keys)
    bare.text("context", "use", "guarded")
    bare.text("user", "list", exit_code=1)
    denied = bare.err
    bare.env = {**bare.env, "ERIN": "wrong"}
    bare.text("user", "list", exit_code=1)

    assert "sign in with a context" in unsigned
    assert "User:erin has no permission to access Cluster:" in denied
    assert "`acl2 test` shows the rule" in denied
    assert "the secret key is not the password" in bare.err
    ours.text("acl", "list", exit_code=1)
    assert "it has ACL 2.0" in ours.err
    ours("user", "delete", "erin", "-y")


def test_signed_queries_by_key_and_by_unique_key_are_answered(ours: OurMqadmin) -> None:
    """A broker of 5.x checks signatures with Java's mark of unique keys, one of 4.9 without it."""
    ours("topic", "create", "asked", "-q", "1")
    sent = ours("message", "send", "asked", "x", "--key", "k-1")[0]

    by_key = ours("message", "query", "key", "asked", "k-1")
    by_unique_key = ours("message", "query", "unique-key", "asked", sent["unique_key"])

    assert [row["body"] for row in by_key + by_unique_key] == ["x", "x"]
    ours("topic", "delete", "asked", "-y")
