"""ACL 2.0 of our broker beside that of 5.4.0: the same requests get the same answers.

namesrv (5.4.0) ── broker-a (5.4.0), broker-b (ours, aclStrict=false), a Super user ``root``
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Final, NamedTuple

import grpc
import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqserver.broker.acl.rules import OPEN_CODES
from mqserver.mqproxy import endpoint_of
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.proxy_config import proxy_config
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.typed_config import Value
from remoting import bodies, headers
from remoting.acl import sign
from remoting.aio.client import RemotingClient
from remoting.codes import LaterCode, RequestCode
from remoting.command import Command
from remoting.header import Header
from tests.interop.kit.java_build import JAVA_FIVE, class_path, need_java
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide
from tests.interop.kit.toolbox import Toolbox
from tests.interop.test_auth_five import LINES, PASSWORD, ROOT, SECRET, SETTINGS, acl_of
from tests.server.broker.acl.test_every_code import BODIES, FIELDS
from tests.server.broker.desk import create
from tests.server.proxy.client import Client, message, signed
from tests.waiting import eventually

ALICE, BOB = "alice", "bob"
Answer = tuple[int, str]
SendAnswer = tuple[Code, str]


class Beside(NamedTuple):
    """A broker of 5.4.0 and ours, with the same users."""

    java: Broker
    ours: Broker
    namesrv: str
    tool: Toolbox

    def mqadmin(self, broker: Broker, line: str, name: str) -> str:
        """Return what Java's tool prints for a line of ``test_auth_five`` about one broker."""
        words = line.format(a=broker.address, u=name, v="unused").split()
        return self.tool.mqadmin(*words, "-n", self.namesrv).stdout.replace(broker.address, "X")


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    need_java()
    home = tmp_path_factory.mktemp("beside")
    side = JavaSide(home, class_path(JAVA_FIVE))
    (home / "conf" / "tools.yml").write_text(f"accessKey: {ROOT}\nsecretKey: {PASSWORD}\n")
    strict = {"aclStrict": "false", "brokerName": "broker-b"}
    with ExitStack() as stack:
        namesrv = stack.enter_context(Namesrv(side))
        java = Broker(side, store=home / "a", namesrv=namesrv.address, settings=SETTINGS)
        ours = Broker(
            OurSide(home / "ours"),
            store=home / "b",
            namesrv=namesrv.address,
            settings=SETTINGS | strict,
        )
        tool = Toolbox(side, main="FiveAdmin")
        stack.callback(tool.stop)
        brokers = stack.enter_context(java), stack.enter_context(ours)
        yield Beside(*brokers, namesrv.address, tool.await_ready())


def request(code: int, header: Header | None = None, *, body: bytes = b"", **ext: str) -> Command:
    command = Command.request(code, header, body=body)
    command.ext.update(ext)
    return command


async def ask(
    broker: Broker, command: Command, *, by: str | None = ROOT, secret: str = PASSWORD
) -> Command:
    """Send a request, signed as a Java client signs it; None leaves it unsigned."""
    copy = Command.request(command.code, body=command.body)
    copy.ext.update(command.ext)
    if by is not None:
        sign(copy, by, secret)
    client = RemotingClient()
    try:
        return await client.invoke(broker.address, copy, timeout_s=30)
    finally:
        await client.close()


def on_both(beside: Beside, command: Command, **by: str | None) -> tuple[Command, Command]:
    """Return the answers of the broker of 5.4.0 and of ours."""

    async def both() -> tuple[Command, Command]:
        return await ask(beside.java, command, **by), await ask(beside.ours, command, **by)

    return asyncio.run(both())


def user(name: str, **fields: str) -> bytes:
    return bodies.UserInfo(username=name, **fields).encode()


def rules(subject: str | None, *texts: str) -> bytes:
    acl = acl_of(texts)
    acl.subject = subject
    return acl.encode()


def acl(subject: str | None = f"User:{ALICE}", *texts: str, code: int = 3006) -> Command:
    return request(code, headers.CreateAcl(subject=subject), body=rules(subject, *texts))


def entry(**fields: object) -> Command:
    """Return a request that creates one rule; ``fields`` replace those of a right one."""
    right = {"resource": "Topic:T", "actions": ["Pub"], "decision": "Allow", "sourceIps": None}
    policy = {"policyType": "Custom", "entries": [right | fields]}
    body = json.dumps({"subject": f"User:{ALICE}", "policies": [policy]}).encode()
    return request(3006, headers.CreateAcl(subject=f"User:{ALICE}"), body=body)


CREATE, CHANGE, DELETE = LaterCode.AUTH_CREATE_USER, LaterCode.AUTH_UPDATE_USER, 3003
STORY: Final[Mapping[str, Command]] = {
    "no name": request(CREATE, body=user(ALICE, password=SECRET)),
    "no password": request(CREATE, username=ALICE, body=user(ALICE)),
    "created": request(CREATE, username=ALICE, body=user(ALICE, password=SECRET)),
    "created again": request(CREATE, username=ALICE, body=user(ALICE, password=SECRET)),
    "another": request(CREATE, username=BOB, body=user("x", password=SECRET, user_type="super")),
    "odd type": request(
        CREATE, username="carol", body=user("carol", password="p", user_type="odd", user_status="x")
    ),
    "shown": request(3004, username=ALICE),
    "shown, unknown": request(3004, username="nobody"),
    "shown, no name": request(3004),
    "changed, unknown": request(CHANGE, username="nobody", body=user("nobody", password="x")),
    "changed, no name": request(CHANGE, body=user(ALICE)),
    "changed": request(CHANGE, username=BOB, body=user(BOB, user_status="DISABLE")),
    "listed": request(3005),
    "listed in part": request(3005, filter="b"),
    "no rules yet": request(3009, subject=f"User:{ALICE}"),
    "rules of nobody": request(3009, subject="User:nobody"),
    "rules of no subject": request(3009, subject=""),
    "rules of an odd subject": request(3009, subject="Role:x"),
    "no policies": request(3006, subject=f"User:{ALICE}", body=b'{"policies":[]}'),
    "empty policies": request(
        3006, subject=f"User:{ALICE}", body=b'{"policies":[{"policyType":"Custom","entries":[]}]}'
    ),
    "for nobody": acl("User:nobody", "Topic:T Pub Allow"),
    "no resource": entry(resource=None),
    "odd resource": entry(resource="Thing:T"),
    "no actions": entry(actions=[]),
    "odd actions": entry(actions=["Odd"]),
    "any action": entry(actions=["Any"]),
    "odd address": entry(sourceIps=["10.0.0.1.2"]),
    "odd network": entry(sourceIps=["10.0.0.0/33"]),
    "masked network": entry(sourceIps=["10.0.0.0/255.0.0.0"]),
    "blank address": entry(sourceIps=[" "]),
    "no decision": entry(decision=None),
    "odd decision": entry(decision="Maybe"),
    "first rules": acl(
        f"User:{ALICE}", "topic:T pub,SUB allow 10.0.0.1,::1/64", "Group:g* All Deny"
    ),
    "more rules": acl(f"User:{ALICE}", "Topic:T Get Deny", "* List Allow", code=3007),
    "shown rules": request(3009, subject=f"User:{ALICE}"),
    "subject of the header": request(
        3006, subject=f"User:{BOB}", body=rules(None, "Cluster:* Get Allow")
    ),
    "listed rules": request(3010),
    "of a subject": request(3010, subjectFilter="ali"),
    "of a resource": request(3010, resourceFilter="Group"),
    "deleted, nobody's": request(3008, subject="User:nobody"),
    "deleted, none": request(3008, subject="User:carol"),
    "deleted, other": request(3008, subject=f"User:{ALICE}", resource="Topic:X"),
    "deleted, default": request(
        3008, subject=f"User:{ALICE}", resource="Topic:T", policyType="Default"
    ),
    "deleted": request(3008, subject=f"User:{ALICE}", resource="Topic:T"),
    "what is left": request(3009, subject=f"User:{ALICE}"),
    "all deleted": request(3008, subject=f"User:{ALICE}"),
    "gone, nobody": request(DELETE, username="nobody"),
    "gone, no name": request(DELETE, username=""),
    "gone": request(DELETE, username=BOB),
    "rules of one that is gone": request(3010),
    "gone too": request(DELETE, username="carol"),
    "alice gone": request(DELETE, username=ALICE),
}


def told(answer: Command) -> tuple[int, str, object]:
    """Return code, remark and content; of an exception that Java did not expect, its message."""
    body = json.loads(answer.body) if answer.body else None
    remark = (answer.remark or "").partition("Exception: ")
    return answer.code, (remark[2] or remark[0]).partition(", org.apache")[0], body


def test_users_and_rules_are_answered_alike(beside: Beside) -> None:
    for name, command in STORY.items():
        java, ours = on_both(beside, command)
        assert (name, *told(ours)) == (name, *told(java))


def test_javas_tool_prints_the_same_about_both(beside: Beside) -> None:
    lines = [line for line in LINES if "{a}" in line and "{b}" not in line and "{v}" not in line]
    printed = {
        broker: [beside.mqadmin(broker, line, "tool-user") for line in lines]
        for broker in (beside.java, beside.ours)
    }

    for line, java, ours in zip(lines, *printed.values(), strict=True):
        assert (line, ours) == (line, java)
    assert sum(map(bool, printed[beside.java])) > len(lines) * 0.7


def test_the_java_client_sends_and_consumes_by_its_rules(beside: Beside, toolbox: Toolbox) -> None:
    """The client is that of 4.9.7, which signs like that of 5.4.0."""
    for command in (
        request(CREATE, username="client", body=user("client", password=SECRET)),
        acl("User:client", "Topic:Java Pub,Sub,Get Allow", "Group:JavaGroup Sub Allow"),
        *(request(17, create(topic), topic=topic) for topic in ("Java", "Other")),
    ):
        assert [answer.code for answer in on_both(beside, command)] == [0, 0]
    spec = {
        "namesrv": beside.namesrv,
        "group": "JavaGroup",
        "subscription": "*",
        "mode": "sync",
        "timeoutMs": 120_000,
        "accessKey": "client",
        "secretKey": SECRET,
    }

    def send(topic: str) -> list[dict[str, object]]:
        queues = [{"body": name, "queue": 0, "broker": name} for name in ("broker-a", "broker-b")]
        return toolbox.run("Producer", {**spec, "topic": topic, "messages": queues})

    sent, refused = send("Java"), send("Other")
    consumer = toolbox.start(
        "PushConsumer", {**spec, "topic": "Java", "mode": "concurrent", "count": 2}
    )
    got = consumer.messages(2)
    consumer.stop()

    assert [line["event"] for line in sent] == ["sent", "sent"]
    assert [(line["event"], line["code"]) for line in refused] == [("refused", 16)] * 2
    for line in refused:
        assert "User:client has no permission to access Topic:Other" in str(line["error"])
    assert len(got) == 2


def test_mqproxy_checks_users_of_both_kinds_of_brokers(beside: Beside) -> None:
    """The Java broker is asked for its users like ours, and takes what the proxy signs."""
    name, topic = "grpc", "Grpc"
    for command in (
        request(CREATE, username=name, body=user(name, password=SECRET)),
        acl(f"User:{name}", f"Topic:{topic} Pub Allow"),
        *(request(17, create(each), topic=each) for each in (topic, "Other")),
    ):
        assert [answer.code for answer in on_both(beside, command)] == [0, 0]

    async def sends() -> tuple[list[bodies.UserInfo], list[bodies.UserInfo], list[SendAnswer]]:
        keys = {"access_key": ROOT, "secret_key": PASSWORD}
        async with MQClient(beside.namesrv, timeout_s=60, **keys) as root:
            lists = [
                await Admin(root).list_users(broker.address, name)
                for broker in (beside.java, beside.ours)
            ]
        settings = {
            "namesrvAddr": beside.namesrv,
            "grpcServerPort": "0",
            "authenticationEnabled": "true",
            "authorizationEnabled": "true",
            "innerClientAuthenticationCredentials": json.dumps(
                {"accessKey": ROOT, "secretKey": PASSWORD}
            ),
        }
        values = [Value(key, text, "test") for key, text in settings.items()]
        endpoint = endpoint_of(proxy_config(values), SystemClock())
        port = await endpoint.start()
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                client = Client(channel, metadata=signed(name, SECRET))

                async def send(to: str) -> SendAnswer:
                    status = (await client.send(message(to))).status
                    return status.code, status.message

                first = await eventually(
                    lambda: send(topic), lambda said: said[0] != Code.INTERNAL_SERVER_ERROR
                )
                # Sends take turns with the brokers.
                return *lists, [first, *[await send(topic) for _ in range(3)], await send("Other")]
        finally:
            await endpoint.stop()

    java, ours, (*sent, refused) = asyncio.run(sends())

    assert java == ours
    assert [code for code, _ in sent] == [Code.OK] * 4
    assert refused == (
        Code.UNAUTHORIZED,
        f"User:{name} has no permission to access Topic:Other from 127.0.0.1, no matched policies.",
    )


SIGNERS: Final = {
    "unsigned": (None, ""),
    "wrong": (ALICE, "wrong"),
    "unknown": ("nobody", "x"),
    "disabled": (BOB, SECRET),
    "alice": (ALICE, SECRET),
}
CODES: Final = sorted(
    {int(code) for kind in (RequestCode, LaterCode) for code in kind} - OPEN_CODES
)
"""Our broker lets a controller, which has no user, announce a change of roles (1008)."""
RULES: Final = (
    (),
    ("Topic:T All Allow",),
    ("Group:G All Allow",),
    ("Topic:* Pub Allow", "Group:* Get Allow"),
    ("Topic:* Sub Allow", "Group:* Sub Allow"),
    ("Topic:* Get,Update Allow", "Group:* Update Allow"),
    ("* Create,Delete Allow", "Cluster:* Get,Update Deny"),
    ("Cluster:TestCluster Get Allow", "Cluster:* Update Allow"),
    ("* All Allow 10.0.0.0/8",),
)
"""Rules that between them tell every need from every other."""
NOT_HANDLED: Final = 3


def refusal(answer: Command) -> str | None:
    """Return why a request was not let through; None if it was."""
    text = answer.remark or ""
    is_refused = answer.code == 16 and any(
        part in text for part in ("has no permission to access", "username", "User:", "signature")
    )
    return text if is_refused else None


def requests_of(code: int) -> Iterator[Command]:
    for topic in ("T", "%RETRY%G", "%DLQ%G"):
        command = request(code, body=BODIES.get(code, b"x"))
        command.ext.update(FIELDS)
        command.ext.update({"topic": topic, "b": topic})
        yield command


async def refusals(
    broker: Broker, by: str | None, secret: str
) -> dict[tuple[int, int], str | None]:
    client = RemotingClient()
    found = {}
    try:
        for code in CODES:
            for number, command in enumerate(requests_of(code)):
                if by is not None:
                    sign(command, by, secret)
                answer = await client.invoke(broker.address, command, timeout_s=30)
                if answer.code != NOT_HANDLED:
                    found[code, number] = refusal(answer)
    finally:
        await client.close()
    return found


async def compare(beside: Beside, by: str | None, secret: str) -> dict[object, object]:
    """Return what the two brokers decide differently, by request code."""
    java, ours = await asyncio.gather(
        refusals(beside.java, by, secret), refusals(beside.ours, by, secret)
    )
    return {key: (java[key], ours[key]) for key in java.keys() & ours if java[key] != ours[key]}


@pytest.fixture(scope="module")
def peopled(beside: Beside) -> Beside:
    """Create alice, and bob, who is disabled."""
    for command in (
        request(CREATE, username=ALICE, body=user(ALICE, password=SECRET)),
        request(CREATE, username=BOB, body=user(BOB, password=SECRET, user_status="disable")),
    ):
        assert [answer.code for answer in on_both(beside, command)] == [0, 0]
    return beside


@pytest.mark.parametrize("signer", SIGNERS)
def test_signatures_are_refused_alike(peopled: Beside, signer: str) -> None:
    assert asyncio.run(compare(peopled, *SIGNERS[signer])) == {}


@pytest.mark.parametrize("texts", RULES, ids=" + ".join)
def test_rules_are_decided_alike(peopled: Beside, texts: tuple[str, ...]) -> None:
    on_both(peopled, request(3008, subject=f"User:{ALICE}"))
    if texts:
        on_both(peopled, acl(f"User:{ALICE}", *texts))

    assert asyncio.run(compare(peopled, ALICE, SECRET)) == {}
