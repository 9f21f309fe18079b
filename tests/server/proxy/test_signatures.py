"""With accounts, a call is refused by its header: its body is neither kept nor read."""

import gzip

import pytest

from mqserver.proxy.cluster import Cluster
from mqserver.proxy.context import ALGORITHM, signature_of
from mqserver.proxy.http2.frames import FrameType, frame
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.protocol.requests import Response, TelemetryCommand
from mqserver.proxy.proxy_config import ProxyConfig
from mqserver.proxy.service import NAME, Service, methods_of
from remoting.aio.resources import Budget
from tests.mqclient.fake import serving
from tests.server.proxy.http2.peer import Peer

WRONG = (
    ("x-mq-date-time", "20261128T000000Z"),
    ("authorization", f"{ALGORITHM} Credential=key, Signature={signature_of('other', 'x')}"),
)


@pytest.mark.parametrize("more", [(), WRONG], ids=["unsigned", "badly signed"])
@pytest.mark.parametrize("called", ["SendMessage", "ReceiveMessage", "Telemetry", "Heartbeat"])
async def test_a_call_without_a_right_signature_is_refused_before_its_body(
    called: str, more: tuple[tuple[str, str], ...]
) -> None:
    async with serving() as (_, client):
        service = Service(ProxyConfig(), Cluster(client), lambda: 0)
        methods = methods_of(service, secret_of={"key": "secret"}.get)
        found = {path.removeprefix(f"/{NAME}/"): each for path, each in methods.items()}
        budget = Budget()
        peer = Peer(found, budget=budget)
        gzipped = (("grpc-encoding", "gzip"), ("x-mq-client-id", "c"))

        stream = peer.call(called, ends=False, more=(*gzipped, *more))
        (answer,), fields = await peer.answer(stream)
        peer.say(frame(FrameType.DATA, 0, stream, b"\x01" + gzip.compress(bytes(100_000))))
        await peer.heard()

        kind = TelemetryCommand if called == "Telemetry" else Response
        refusal = kind.decode(answer).status
        assert refusal is not None
        assert refusal.code is Code.UNAUTHORIZED
        assert fields["grpc-status"] == "0"
        assert not peer.wire.was_closed
        assert budget.used_size == 0
