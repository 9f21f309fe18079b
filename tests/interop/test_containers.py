"""Requests of the tool of 5.4.0 to a BrokerContainer, and ours, at a container that notes them.

The jars of the tests have no container, so the requests are compared, and what is printed.
"""

import asyncio
import subprocess
from pathlib import Path

import pytest

from remoting.codes import LaterCode
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import JavaSide
from tests.mqclient.fake import FakeServer

TOOL = "org.apache.rocketmq.tools.command.MQAdminStartup"
LINES = (
    ("addBroker -c {container} -b /etc/rmq/broker-b.conf", LaterCode.ADD_BROKER),
    ("removeBroker -c {container} -b cluster-a:broker-b:0", LaterCode.REMOVE_BROKER),
    ("resetMasterFlushOffset -b {container} -o 4096", LaterCode.RESET_MASTER_FLUSH_OFFSET),
)


@pytest.mark.parametrize(("line", "code"), LINES)
async def test_requests_and_output_are_those_of_javas_tool(
    five: JavaSide, line: str, code: LaterCode, tmp_path: Path
) -> None:
    async with FakeServer() as container:
        container.say(code)
        words = line.format(container=container.address).split()
        command = five.java(TOOL, *words, "-n", container.address)
        java = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, check=False
        )
        mqadmin = OurMqadmin(container.address, {"HOME": str(tmp_path)})
        ours = await asyncio.to_thread(mqadmin.text, *words, "--compat", "-y")
        theirs, own = container.asked_for(code)

    assert ours == java.stdout
    assert own.ext == theirs.ext
    assert (own.body, theirs.body) == (b"", b"")
