"""Numbers from their whole range and odd texts in every field of every request code.

    each code ── fields of an ordinary request, one of them replaced ──> an answer, or none for an
                                                                      oneway code; never a fault

Rule: a fault is what is logged with a traceback. Whoever else is connected keeps his connection.
"""

import asyncio
import logging
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from remoting.codes import ExtensionCode, LaterCode, ResponseCode
from remoting.command import Command
from remoting.frame import FRAME_SIZE_MAX, FrameReader, decode_frame, encode_frame
from tests.server.broker.acl.test_every_code import BODIES, CODES, FIELDS
from tests.server.broker.desk import Desk, running

SEED: Final = 20_261_128
TRIES: Final = 40
"""Requests of each code; 276,000 were sent to a broker and a name server by hand."""
NUMBERS: Final = (
    "-1", "0", "1", str(2**31 - 1), str(-(2**31)), str(2**31), str(2**63 - 1), str(-(2**63)),
    str(2**63), "9" * 30, "9" * 5_000, "1e9", "0x10", "+5", " 7", "", "true", "NaN", "1_000", "٣",
)  # fmt: skip
TEXTS: Final = (
    "", "/", "../../x", "..", "%", "a\0b", "\1", "x\1y\2", "\n", "T" * 128, "T" * 256, "T" * 32_768,
    "%RETRY%G", "%DLQ%G", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "%LMQ%x", "TBW102",
    "rmq_sys_REVIVE_LOG_TestCluster", "😀", "{}", "[]", "null", "*", "a || b", "a@b@c", "1:2",
    "G;H",
)  # fmt: skip
LEFT_ALONE: Final = frozenset({ExtensionCode.PROMOTE_SLAVE, ExtensionCode.DEMOTE_MASTER})
"""Their answer is the end of the broker."""
WITHOUT_REMARK: Final = frozenset({(LaterCode.BATCH_ACK_MESSAGE, ResponseCode.NO_MESSAGE)})
"""As in Java: the acknowledgement of nothing."""


def requests_of(code: int, rng: random.Random) -> list[Command]:
    """Return requests of a code with one field each that is not as it should be."""
    found = []
    for opaque in range(TRIES):
        name = rng.choice(list(FIELDS))
        value = rng.choice(NUMBERS if rng.random() < 0.5 else TEXTS)
        command = Command(code=code, opaque=opaque, body=BODIES.get(code, b""), version=407)
        command.ext, command.ext_written = {**FIELDS, name: value}, True
        found.append(command)
    return found


async def answers_to(desk: Desk, commands: list[Command]) -> Mapping[int, Command]:
    """Send requests without waiting, then one that is answered; return what came until then."""
    reader, writer = await asyncio.open_connection(*desk.address.split(":"))
    last = Command(code=-1, opaque=-7, version=407)
    writer.write(b"".join(map(encode_frame, [*commands, last])))
    found: dict[int, Command] = {}
    frames = FrameReader(header_size_max=FRAME_SIZE_MAX)
    while last.opaque not in found:
        data = await reader.read(65_536)
        assert data, "the connection was closed"
        for command in map(decode_frame, frames.feed(data)):
            if command.is_response:
                found[command.opaque] = command
    writer.close()
    return found


async def test_odd_values_are_answered_and_nobody_else_notices(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    print(f"seed {SEED}")
    caplog.set_level(logging.INFO)
    rng = random.Random(SEED)
    async with running(tmp_path / "store") as desk:
        await desk.create_topic(queues=4)
        await desk.send()
        (conn,) = desk.app._server.connections
        silent = set()
        for code in CODES:
            if code in LEFT_ALONE:
                continue
            for answer in (await answers_to(desk, requests_of(code, rng))).values():
                if answer.code and answer.remark is None:
                    silent.add((code, answer.code))
        faults = [record.getMessage() for record in caplog.records if record.exc_info]

        assert faults == []
        assert silent <= WITHOUT_REMARK
        assert conn in desk.app._server.connections
        assert (await desk.send(b"still here")).code == ResponseCode.SUCCESS
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
