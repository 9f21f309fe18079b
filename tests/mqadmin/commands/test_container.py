"""``broker container …`` and ``ha reset-flush-offset``, at a server that notes the requests."""

import asyncio

import pytest

from remoting.codes import LaterCode, ResponseCode
from tests.mqadmin.conftest import Run, cells
from tests.mqclient.fake import FakeServer


async def test_a_broker_is_started_and_stopped_in_a_container(run: Run) -> None:
    async with FakeServer() as container:
        container.say(LaterCode.ADD_BROKER)
        container.say(LaterCode.REMOVE_BROKER, ResponseCode.SYSTEM_ERROR, remark="no such broker")
        where = ("-n", container.address, "-o", "json", "-y")
        words = ("broker", "container", "add", container.address, "/etc/b.conf")
        planned = await asyncio.to_thread(run, *words, *where, "--dry-run")
        added = await asyncio.to_thread(run, *words, *where)
        words = ("broker", "container", "remove", container.address, "c:b:2")
        removed = await asyncio.to_thread(run, *words, *where)
        (start,) = container.asked_for(LaterCode.ADD_BROKER)
        (stop,) = container.asked_for(LaterCode.REMOVE_BROKER)

    assert cells(planned.rows, "broker", "result") == [("/etc/b.conf", "would change")]
    assert (added.exit_code, added.rows[0]["result"]) == (0, "changed")
    assert start.ext == {"configPath": "/etc/b.conf"}
    assert removed.exit_code == 1
    assert "no such broker" in removed.rows[0]["remark"]
    assert stop.ext == {"brokerName": "b", "brokerClusterName": "c", "brokerId": "2"}


@pytest.mark.parametrize("broker", ["b", "c:b", "c:b:x", "c:b:-1", "c::1", "c:b:1:2"])
def test_a_broker_of_a_container_is_cluster_name_and_id(run: Run, broker: str) -> None:
    words = ("broker", "container", "remove", "127.0.0.1:1", broker, "-n", "127.0.0.1:1", "-y")
    done = run(*words)

    assert done.exit_code == 2
    assert "is not CLUSTER:NAME:ID" in done.err


async def test_the_flush_offset_of_the_master_is_reset_at_a_slave(run: Run) -> None:
    async with FakeServer() as slave:
        slave.say(LaterCode.RESET_MASTER_FLUSH_OFFSET)
        words = ("ha", "reset-flush-offset", slave.address, "4096", "-n", slave.address)
        done = await asyncio.to_thread(run, *words, "-y", "-o", "json")
        (request,) = slave.asked_for(LaterCode.RESET_MASTER_FLUSH_OFFSET)

    assert cells(done.rows, "offset", "result") == [(4096, "changed")]
    assert request.ext == {"masterFlushOffset": "4096"}
