"""Requests recorded from real Java clients, replayed: code, fields and serialisation agree."""

import asyncio
import contextlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from remoting.command import Command
from remoting.frame import FrameReader, decode_frame
from tests.server.broker.desk import running

NO_ANSWER_S: Final = 0.1
ANSWER_S = 60.0

TRANSACTION = "a transactional message, refused by this broker"
DELETION = "deletion of old data, refused by this broker"
DELAYED = "the recorded broker had delivered a delayed message by then"
FILTER = "the recorded broker filtered by SQL92"
RELAYED = "needs a live client that answers the broker"
SUBSCRIBED = "the heartbeat that registered this subscription was not recorded"
SETTING = "a setting that does not change while this broker runs"
REGION = "Java answers bodies read from a file in its own serialisation"
PLACE = "names a log offset of the recorded broker"
VIP = "was sent to the port that does not serve pulls"
WORDING = "the same code with another text and no or more fields"
STATE = "the offset it needs was committed by a recorded client that is not replayed"

DIFFERENT: Final[dict[str, dict[int, str]]] = {
    "frames_json.jsonl": {
        **dict.fromkeys((30, 32, 34), TRANSACTION),
        **dict.fromkeys((44, 47), DELAYED),
        **dict.fromkeys((64, 65, 75, 132, 134, 136), SUBSCRIBED),
        **dict.fromkeys((77, 98, 100, 108), RELAYED),
        **dict.fromkeys((125, 126), DELETION),
        70: FILTER,
        92: SETTING,
        105: STATE,
    },
    "frames_rocketmq.jsonl": {
        **dict.fromkeys((163, 165), TRANSACTION),
        **dict.fromkeys((175, 177), DELAYED),
        **dict.fromkeys((190, 192, 193, 247, 248), SUBSCRIBED),
        **dict.fromkeys((191, 249), PLACE),
        **dict.fromkeys((199, 219, 221, 226), RELAYED),
        **dict.fromkeys((223, 231), REGION),
        **dict.fromkeys((241, 242), DELETION),
        197: FILTER,
        213: SETTING,
        224: STATE,
    },
    "frames_raw_probe.jsonl": {
        **dict.fromkeys((323, 374), WORDING),
        **dict.fromkeys((332, 372), PLACE),
        **dict.fromkeys((355, 356, 368, 366, 369), TRANSACTION),
        367: VIP,
        413: SETTING,
    },
}
"""Exchanges that differ, with the reason; every other one has to agree."""


class Exchange(NamedTuple):
    """One recorded request and its answer."""

    pair: int
    request: dict[str, object]
    response: dict[str, object] | None


def exchanges(path: Path) -> Iterator[Exchange]:
    """Yield what clients asked the recorded broker, in order."""
    pairs: dict[int, list[dict[str, object]]] = {}
    for line in path.read_text().splitlines():
        frame = json.loads(line)
        if frame["role"] == "broker":
            pairs.setdefault(frame["pair"], []).append(frame)
    for pair, (request, *others) in pairs.items():
        # Bodies are recorded up to 4096 bytes; a longer one cannot be replayed.
        whole = len(str(request["body_hex"])) == 2 * int(str(request["body_len"]))
        if request["direction"] == "client>server" and request["kind"] != "response" and whole:
            answers = [other for other in others if other["kind"] == "response"]
            yield Exchange(pair, request, answers[0] if answers else None)


def frame_bytes(frame: dict[str, object]) -> bytes:
    """Return the frame as it was on the wire."""
    is_json = frame["serialize"] == "JSON"
    text = str(frame["header_raw"])
    header = text.encode() if is_json else bytes.fromhex(text)
    body = bytes.fromhex(str(frame["body_hex"]))
    mark = len(header) | (0 if is_json else 1 << 24)
    return struct.pack(">iI", 4 + len(header) + len(body), mark) + header + body


class Client:
    """Sends each request on a connection of its own, and keeps all of them open."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._writers: list[asyncio.StreamWriter] = []

    async def ask(self, request: dict[str, object], *, wait_s: float) -> Command | None:
        reader, writer = await asyncio.open_connection(*self._address)
        self._writers.append(writer)
        writer.write(frame_bytes(request))
        await writer.drain()
        if request["kind"] == "oneway":
            return None
        frames = FrameReader()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while data := await reader.read(1 << 20):
                    for raw in frames.feed(data):
                        if (command := decode_frame(raw)).is_response:
                            return command
        return None

    async def close(self) -> None:
        for writer in self._writers:
            writer.close()
            await writer.wait_closed()


def shape(exchange: Exchange) -> tuple[object, ...] | None:
    """Return what has to agree of a recorded answer."""
    answer = exchange.response
    if answer is None:
        return None
    header = answer["header_json"]
    assert isinstance(header, dict)
    fields = header.get("extFields") or {}
    return answer["code"], frozenset(fields), answer["body_len"] != 0, answer["serialize"]


def shape_of(answer: Command | None) -> tuple[object, ...] | None:
    """Return the same of an answer of ours."""
    if answer is None:
        return None
    return answer.code, frozenset(answer.ext), answer.body != b"", answer.serialize.name


@pytest.mark.parametrize("name", DIFFERENT)
async def test_answers_to_recorded_requests_agree_with_the_java_broker(
    tmp_path: Path, fact_tables: Path, name: str
) -> None:
    found: dict[int, object] = {}
    count = 0
    async with running(tmp_path, broker_name="hfct-a", broker_cluster_name="HFCT_CLUSTER") as desk:
        host, port = desk.address.split(":")
        client = Client(host, int(port))
        for exchange in exchanges(fact_tables / "captures" / name):
            # A recording without an answer (too long, or held for ever) says nothing.
            says = exchange.response is not None and exchange.pair not in DIFFERENT[name]
            wait_s = ANSWER_S if says else NO_ANSWER_S
            answer = await client.ask(exchange.request, wait_s=wait_s)
            count += 1
            if says and shape_of(answer) != shape(exchange):
                found[exchange.pair] = (exchange.request["name"], shape(exchange), answer)
        await client.close()

    assert found == {}
    assert count > 30
