"""SIGKILL while consumers pop: what is acknowledged does not come again, the rest does.

Every life has producers and consumers. A consumer acknowledges most of what it pops, hides some of
it longer, and leaves the rest. A message counts as acknowledged when the broker answered so before
the message would have come again. A message that was hidden longer only after that time was
delivered twice, as with the real broker, and may come again. In the end everything that was sent is
popped and acknowledged, except for messages whose acknowledgement is uncertain, because the broker
was killed before it answered, or answered late. This holds with ASYNC_FLUSH as well, because a
SIGKILL leaves the page cache.
"""

import asyncio
import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.errors import RemotingError
from remoting.header import Header
from storefmt.formats.message import decode_records
from tests.server.broker.desk import GROUP, TOPIC, create, pull, send
from tests.server.broker.pop.popdesk import Popped, ack, hidden_handle, hide, pop
from tests.server.kills.supervisor import Supervisor
from tests.waiting import eventually, until

SEED = int(os.environ.get("KILL_SEED", "20261123"))
PRODUCERS, CONSUMERS, QUEUES = 3, 6, 4
INVISIBLE_MS = 1_500
QUIET_S = 4.0
"""How long nothing may come in the end, longer than a message is hidden before it is revived."""


class Asker:
    """A client of the broker that is killed."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.client = RemotingClient()

    async def ask(self, code: int, header: Header | None = None, *, body: bytes = b"") -> Command:
        command = Command.request(code, header, body=body)
        return await self.client.invoke(self._address, command, timeout_s=30)


class Load:
    """Producers and consumers, and the messages that they sent and got."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.sent: set[bytes] = set()
        self.acknowledged: set[bytes] = set()
        self.perhaps: set[bytes] = set()
        """An acknowledgement was sent, and no answer came, or too late."""
        self.twice: set[bytes] = set()
        """A request to hide the message longer was answered too late, or not."""
        self.dead: set[bytes] = set()
        self.again: Counter[bytes] = Counter()
        """Messages that came although they were acknowledged."""
        self.popped_count = 0
        self._number = 0

    async def run(self, address: str, more: int, kill: Callable[[], None]) -> None:
        """Send and pop until some more messages are acknowledged, then kill."""
        wanted = len(self.acknowledged) + more
        asker = Asker(address)
        answer = await eventually(lambda: _made(asker), lambda answer: answer is not None)
        assert answer.code == 0
        workers = [asyncio.create_task(self._produce(asker)) for _ in range(PRODUCERS)]
        workers += [asyncio.create_task(self._consume(asker)) for _ in range(CONSUMERS)]
        await until(lambda: len(self.acknowledged) >= wanted, what="acknowledgements")
        kill()
        await asyncio.gather(*workers)
        await asker.client.close()

    async def _produce(self, asker: Asker) -> None:
        with contextlib.suppress(RemotingError, OSError):
            while True:
                self._number += 1
                body = b"%d" % self._number
                header = send(queue_id=self.chance.randrange(QUEUES))
                answer = await asker.ask(RequestCode.SEND_MESSAGE_V2, header, body=body)
                if answer.code == 0:
                    self.sent.add(body)

    async def _consume(self, asker: Asker) -> None:
        with contextlib.suppress(RemotingError, OSError):
            while True:
                for one in await self._pop(asker, INVISIBLE_MS, poll_ms=500):
                    await self._finish(asker, one)

    async def _pop(self, asker: Asker, invisible_ms: int, *, poll_ms: int = 0) -> list[Popped]:
        born_ms = int(time.time() * 1_000)
        popped = await pop(
            asker, max_msg_nums=8, invisible_time=invisible_ms, poll_time=poll_ms, born_time=born_ms
        )
        self.popped_count += len(popped)
        self.again.update(
            one.body
            for one in popped
            if one.body in self.acknowledged and one.body not in self.twice
        )
        return popped

    async def _finish(self, asker: Asker, one: Popped) -> None:
        handle, draw = one.handle, self.chance.random()
        if draw < 0.2:
            return
        if draw < 0.4:
            try:
                answer = await hide(asker, handle, invisible_ms=INVISIBLE_MS)
            finally:
                if time.time() * 1_000 >= handle.expires_at_ms:
                    self.twice.add(one.body)
            if answer.code:
                return
            handle = hidden_handle(handle, answer)
            if draw < 0.3:
                return
        await self.acknowledge(asker, one._replace(handle=handle))

    async def acknowledge(self, asker: Asker, one: Popped) -> None:
        self.perhaps.add(one.body)
        answer = await ack(asker, one.handle)
        if answer.code == 0 and time.time() * 1_000 < one.handle.expires_at_ms:
            self.acknowledged.add(one.body)

    @property
    def left(self) -> set[bytes]:
        """The messages that still have to come."""
        return self.sent - self.acknowledged - self.perhaps - self.dead

    async def drain(self, address: str) -> None:
        """Pop and acknowledge until nothing has come for a while."""
        asker = Asker(address)
        quiet_since = time.monotonic()
        while time.monotonic() - quiet_since < QUIET_S or self.left:
            assert time.monotonic() - quiet_since < 60, f"{len(self.left)} are forgotten"
            for one in await self._pop(asker, 30_000, poll_ms=500):
                quiet_since = time.monotonic()
                await self.acknowledge(asker, one)
            # On a slow machine a message can be left as often as its group allows.
            header = pull(topic=f"%DLQ%{GROUP}", queue_offset=len(self.dead))
            found = await asker.ask(RequestCode.PULL_MESSAGE, header)
            if found.code == 0:
                self.dead.update(record.body for record in decode_records(found.body))
        await asker.client.close()


async def _made(asker: Asker) -> Command | None:
    try:
        return await asker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create(TOPIC, QUEUES))
    except (RemotingError, OSError):
        return None


@pytest.mark.timeout(0)
@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=pytest.mark.soak)])
def test_kills_forget_no_message_and_repeat_none_that_was_acknowledged(
    tmp_path: Path, kills: int, flush: str
) -> None:
    print(f"seed {SEED}")
    load = Load(random.Random(SEED))
    with contextlib.closing(Supervisor(tmp_path, target="ours", flush=flush)) as supervisor:
        for _ in range(kills):
            supervisor.start()
            asyncio.run(
                load.run(supervisor.address, load.chance.randrange(50, 600), supervisor.kill)
            )
        supervisor.start()
        asyncio.run(load.drain(supervisor.address))
        wrong = supervisor.stop()

    print(
        f"{kills} kills, {len(load.sent)} sent, {load.popped_count} popped, "
        f"{len(load.acknowledged)} acknowledged, {sum(load.again.values())} of these came again, "
        f"{len(load.perhaps - load.acknowledged)} perhaps, {len(load.twice)} hidden too late, "
        f"{len(load.dead)} dead letters"
    )
    assert load.again == {}
    assert load.left == set()
    assert wrong == []
