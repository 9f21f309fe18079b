"""What calls of gRPC clients need under ACL 2.0, and a broker that checks it."""

from pathlib import Path
from typing import get_type_hints

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqserver.broker.acl.accounts import UserRefused
from mqserver.broker.acl.call_rights import needs_of_call
from mqserver.proxy.context import FAILED
from mqserver.proxy.drafts import SendDraft
from mqserver.proxy.protocol import requests
from mqserver.proxy.protocol.codes import ClientType, Code
from mqserver.proxy.protocol.definitions import MessageQueue, Resource, Settings
from mqserver.proxy.protocol.protobuf import WireMessage
from mqserver.proxy.protocol.requests import (
    HeartbeatRequest,
    NotifyClientTerminationRequest,
    QueryRouteRequest,
    QueryRouteResponse,
    ReceiveMessageRequest,
    Response,
    SendMessageRequest,
)
from mqserver.proxy.service import NAME
from mqserver.runtime.typed_config import Value
from remoting import bodies
from remoting.codes import RequestCode
from tests.server.broker.desk import create
from tests.server.proxy.client import Bench, Client, bench, consumer, message, producer, signed

T, G = Resource(name="T"), Resource(name="G")
PUB, SUB, GROUP_SUB = "Pub Topic:T", "Sub Topic:T", "Sub Group:G"
PASSWORDS = {"root": "rootPw", "alice": "alicePw", "bob": "bobPw", "carol": "carolPw"}


def needs(request: object) -> list[str]:
    return [f"{','.join(need.actions)} {need.resource.key}" for need in needs_of_call(request)]


def with_names(name: str) -> WireMessage:
    """Return a request of a class with whatever it has of topic T and group G."""
    kind = getattr(requests, name)
    known = {"topic": T, "group": G}
    fields = get_type_hints(kind)
    request: WireMessage = kind(**{field: known[field] for field in known if field in fields})
    return request


@pytest.mark.parametrize(
    ("request_name", "expected"),
    [
        ("EndTransactionRequest", [PUB]),
        ("RecallMessageRequest", [PUB]),
        ("AckMessageRequest", [GROUP_SUB, SUB]),
        ("ForwardToDeadLetterQueueRequest", [GROUP_SUB, SUB]),
        ("QueryAssignmentRequest", [GROUP_SUB, SUB]),
        ("ChangeInvisibleDurationRequest", [GROUP_SUB]),
        ("NotifyClientTerminationRequest", [GROUP_SUB]),
        ("QueryRouteRequest", ["Pub,Sub Topic:T"]),
    ],
)
def test_a_request_needs_rights_to_what_it_names(request_name: str, expected: list[str]) -> None:
    assert needs(with_names(request_name)) == expected


def test_rights_that_depend_on_the_content() -> None:
    draft = SendDraft("T", None, None, None, 0)  # type: ignore[arg-type]
    receive = ReceiveMessageRequest(group=G, message_queue=MessageQueue(topic=T))
    beats = [HeartbeatRequest(group=G, client_type=kind) for kind in ClientType]
    consumers = {ClientType.PUSH_CONSUMER, ClientType.SIMPLE_CONSUMER, ClientType.PULL_CONSUMER}

    assert needs(draft) == [PUB]
    assert needs(SendMessageRequest(messages=[message("T"), message("U"), message("T")])) == [
        PUB, "Pub Topic:U",
    ]  # fmt: skip
    assert needs(receive) == [GROUP_SUB, SUB]
    assert {beat.client_type for beat in beats if needs(beat) == [GROUP_SUB]} == consumers
    assert all(needs(beat) == [] for beat in beats if beat.client_type not in consumers)
    assert needs(NotifyClientTerminationRequest()) == []
    assert needs(producer("T", "U")) == [PUB, "Pub Topic:U"]
    assert needs(consumer("G", "T")) == [GROUP_SUB, SUB]


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (SendMessageRequest(), "message is null."),
        (ReceiveMessageRequest(group=G), "messageQueue is null."),
        (ReceiveMessageRequest(message_queue=MessageQueue(topic=T)), "group is null."),
        (QueryRouteRequest(topic=Resource(name=" ")), "topic is null."),
        (QueryRouteResponse(), "there is no rule for QueryRouteResponse"),
    ],
)
def test_a_request_that_names_nothing_is_refused(request_: object, text: str) -> None:
    with pytest.raises(UserRefused, match=text):
        needs(request_)


def client_of(desk: Bench, name: str, password: str | None = None) -> Client:
    return desk.client(name, metadata=signed(name, password or PASSWORDS[name]))


async def make(desk: Bench, name: str, *rules: str) -> None:
    """Create a user with rules, such as ``Pub Topic:T 10.0.0.0/8``."""
    async with MQClient(desk.at.namesrv, access_key="root", secret_key="rootPw") as client:
        admin = Admin(client)
        user = bodies.UserInfo(username=name, password=PASSWORDS[name])
        await admin.create_user(desk.at.broker, user)
        entries = []
        for rule in rules:
            actions, resource, *addresses = rule.split()
            entries.append(
                bodies.PolicyEntryInfo(
                    resource=resource,
                    actions=actions.split(","),
                    decision="Allow",
                    source_ips=addresses or None,
                )
            )
        policies = [bodies.PolicyInfo(policy_type="Custom", entries=entries)]
        await admin.create_acl(
            desk.at.broker, bodies.AclInfo(subject=f"User:{name}", policies=policies)
        )


def refused(name: str, resource: str) -> str:
    return (
        f"User:{name} has no permission to access {resource} from 127.0.0.1, no matched policies."
    )


def first_status(answer: Response) -> tuple[Code, str]:
    assert answer.status is not None
    return answer.status.code, answer.status.message


async def test_users_send_and_receive_by_their_rules(tmp_path: Path) -> None:
    settings = {
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "initAuthenticationUser": '{"username":"root","password":"rootPw"}',
        "innerClientAuthenticationCredentials": '{"accessKey":"root","secretKey":"rootPw"}',
    }
    values = (Value(key, text, "test") for key, text in settings.items())
    async with bench(tmp_path, *values) as desk:
        await make(desk, "alice", "Pub Topic:T")
        await make(desk, "bob", "Sub Topic:T", "Sub Group:G")
        await make(desk, "carol", "All * 10.0.0.0/8")
        alice, bob, carol = (client_of(desk, name) for name in ("alice", "bob", "carol"))
        async with MQClient(desk.at.namesrv, access_key="root", secret_key="rootPw") as root:
            code = RequestCode.UPDATE_AND_CREATE_TOPIC
            await root.call(desk.at.broker, code, create("T"), what="topic T")
        route = QueryRouteRequest(topic=T)
        routed = await alice.ask("QueryRoute", route, QueryRouteResponse)
        sent = [await alice.send(message("T")) for _ in range(3)]
        unsigned = await desk.client().ask("QueryRoute", route, QueryRouteResponse)
        answers = [
            await client_of(desk, "alice", "wrong").send(message("T")),
            await bob.send(message("T")),
            await alice.send(message("U")),
            await carol.ask("QueryRoute", route, QueryRouteResponse),
        ]
        async with bob.telemetry(consumer("G", "T")):
            got = await bob.receive("T", "G")
            (handle,) = [
                part.message.system_properties.receipt_handle
                for part in got
                if part.message is not None
            ][:1]
            acked = await bob.ack("T", "G", handle)
            stolen = await alice.ack("T", "G", handle)
        by_alice = await alice.receive("T", "G")
        streams = [
            await told(client, settings)
            for client, settings in ((alice, consumer("G", "T")), (alice, producer("T", "U")))
        ]

    assert first_status(routed)[0] is Code.OK
    assert [first_status(answer)[0] for answer in sent] == [Code.OK] * 3
    assert first_status(unsigned) == (Code.UNAUTHORIZED, FAILED)
    assert [first_status(answer) for answer in answers] == [
        (Code.UNAUTHORIZED, FAILED),
        (Code.UNAUTHORIZED, refused("bob", "Topic:T")),
        (Code.UNAUTHORIZED, refused("alice", "Topic:U")),
        (Code.UNAUTHORIZED, refused("carol", "Topic:T")),
    ]
    assert first_status(acked)[0] is Code.OK
    assert first_status(stolen) == (Code.UNAUTHORIZED, refused("alice", "Group:G"))
    assert first_status(by_alice[0]) == (Code.UNAUTHORIZED, refused("alice", "Group:G"))
    assert streams == [
        (Code.UNAUTHORIZED, refused("alice", "Group:G")),
        (Code.UNAUTHORIZED, refused("alice", "Topic:U")),
    ]


async def told(client: Client, settings: Settings) -> tuple[Code, str]:
    """Return the status that a Telemetry stream answers to settings."""
    stream = client._channel.stream_stream(f"/{NAME}/Telemetry")(metadata=client._metadata)
    await stream.write(requests.TelemetryCommand(settings=settings).encode())
    command = requests.TelemetryCommand.decode(await stream.read())
    stream.cancel()
    assert command.status is not None
    return command.status.code, command.status.message
