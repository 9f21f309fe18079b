"""Faults of the master of a group, in cycles under load: what is lost, how long sends fail.

    python -m benchmarks.failover --brokers java java java --controller java --cycles 10
    python -m benchmarks.failover --brokers ours ours ours --controller ours --faults kill hang

    all in sync ──> fault of the master ──> sends are accepted again, or not ──> mended ──┐
        ^─────────────────────────────────────────────────────────────────────────────────┘

Each cycle takes the next of ``--faults``. A fault lasts for ``--hold`` seconds at least. While the
old master lives, one more sender stays at its address, as a client with an old route. Prints one
line of JSON for each cycle, and one for all:

    gap_s       the longest time without SEND_OK around the fault
    lost        acknowledged, and not in the log of the last master
    moved       acknowledged at another queue offset than it has in the end
    taken back  given to a reader, and not at this place in the end
    doubled     messages that are there twice
    unexpected  in the log and never sent

It runs itself in namespaces of its own; ``--loopback`` does without, and has no faults of the
network.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.failover_load import (
    QUEUES,
    TOPIC,
    Compass,
    Seen,
    read_all,
    read_on,
    send_on,
)
from benchmarks.failover_servers import (
    BROKER_NAME,
    ETCD_FAULTS,
    FAULTS,
    NAMESPACE_FAULTS,
    Group,
    Machines,
    machines,
)
from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from remoting.bodies import ReplicasInfo
from storefmt.config.tables import TopicConfig
from tests.interop.kit.java_build import JAVA_FIVE, class_path
from tests.programs import ran

WAIT_S: Final = 240.0
SETTLED_COUNT: Final = 40
"""How many sends are accepted after a fault before it counts as over."""
INSIDE: Final = "MQ_FAILOVER_INSIDE"


@dataclass(frozen=True, slots=True)
class Cycle:
    """How one fault went.

    ``gap_s`` is None if sends were not accepted again while it lasted; then ``accepted_s`` is how
    long after its end they were. ``complete_s`` is how long after its end all brokers were in the
    in-sync set, None if not within ``WAIT_S``.
    """

    number: int
    fault: str
    old_master: str
    new_master: str
    gap_s: float | None
    accepted_s: float | None
    complete_s: float | None
    epoch: int
    load: float


class Cluster:
    """Asks controllers and name server what there is; ``error`` is the last one."""

    def __init__(self, net: Machines) -> None:
        self._net = net
        self.error = ""
        self.leader = ""
        """Name of the machine of the controller that answered last as the leader."""

    async def info(self) -> ReplicasInfo | None:
        """Return the group as the controllers know it, None if none answers as the leader."""
        async with MQClient(self._net.namesrv, timeout_s=3) as client:
            for address in self._net.controllers:
                try:
                    table = await Admin(client).sync_state_data(address, [BROKER_NAME])
                except ClientError as error:
                    self.error = str(error)
                    continue
                self.leader = self._net.controllers[address]
                return table.get(BROKER_NAME)
            return None

    async def make_topic(self, master: str) -> bool:
        """Create the topic; False if the broker does not answer."""
        async with MQClient(self._net.namesrv, timeout_s=5) as client:
            try:
                await Admin(client).create_topic(master, TopicConfig(TOPIC, QUEUES, QUEUES))
            except ClientError as error:
                self.error = str(error)
                return False
            return True


async def until(holds: Callable[[], Awaitable[bool]], what: str, *, wait_s: float = WAIT_S) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: it does not within ``wait_s``.
    """
    deadline = time.monotonic() + wait_s
    while not await holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {wait_s:g} s: {what}")
        await asyncio.sleep(0.1)


class Play:
    """All cycles of one group."""

    def __init__(self, group: Group, options: argparse.Namespace) -> None:
        self._group = group
        self._options = options
        self._cluster = Cluster(group.net)
        self._compass = Compass(group.net.namesrv, BROKER_NAME)
        self._chance = random.Random(options.seed)
        self._tasks: list[asyncio.Task[None]] = []
        self.seen = Seen()
        self.cycles: list[Cycle] = []

    async def run(self) -> dict[str, object]:
        """Run the cycles and return what was counted."""
        self._group.start()
        self._start(self._compass.follow())
        try:
            await until(self._all_in_sync, "the group is complete")
            await until(lambda: self._cluster.make_topic(self._compass.master), "there is a topic")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the last answer was: {self._cluster.error}") from None
        net = self._group.net
        for number in range(self._options.senders):
            self._start(send_on(self.seen, f"s{number}", lambda: self._compass.master))
        for queue_id in range(QUEUES):
            self._start(read_on(self.seen, net.namesrv, BROKER_NAME, queue_id))
        await self._accepted(SETTLED_COUNT)
        for number in range(self._options.cycles):
            await self._cycle(number, self._options.faults[number % len(self._options.faults)])
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return counted(self.seen, await read_all(net.namesrv, BROKER_NAME))

    def _start(self, work: "Awaitable[None]") -> "asyncio.Task[None]":
        task = asyncio.ensure_future(work)
        self._tasks.append(task)  # type: ignore[arg-type]
        return task  # type: ignore[return-value]

    async def _all_in_sync(self) -> bool:
        info = await self._cluster.info()
        return (
            info is not None
            and len(info.in_sync_replicas) == len(self._group.brokers)
            and info.master_address == self._compass.master
        )

    async def _accepted(self, count: int, *, wait_s: float = WAIT_S, but: str = "") -> bool:
        """Wait until so many more sends are accepted, by another broker than ``but``."""
        first = len(self.seen.ok_s)

        async def enough() -> bool:
            return sum(address != but for address in self.seen.ok_address[first:]) >= count

        try:
            await until(enough, "sends are accepted", wait_s=wait_s)
        except TimeoutError:
            return False
        return True

    async def _complete_s(self, mended_s: float) -> float | None:
        try:
            await until(self._all_in_sync, "the group is complete")
        except TimeoutError:
            # It goes on with the master that it has.
            return None
        return round(time.monotonic() - mended_s, 1)

    async def _cycle(self, number: int, fault: str) -> None:
        await self._accepted(self._chance.randrange(SETTLED_COUNT, 5 * SETTLED_COUNT))
        old = self._compass.master
        begin_s = time.monotonic()
        fixed = self._start(send_on(self.seen, f"old{number}", lambda: old, is_old_route=True))
        await self._cluster.info()
        self._group.break_master(fault, old, self._cluster.leader)
        # A master with a full disk stays the master.
        wait_s = self._options.hold if fault == "full disk" else self._options.limit
        is_back = await self._accepted(SETTLED_COUNT, wait_s=wait_s, but=old)
        end_s = time.monotonic()
        await asyncio.sleep(max(0.0, begin_s + self._options.hold - end_s))
        mended_s = time.monotonic()
        self._group.mend(fault, old)
        if not is_back:
            await self._accepted(SETTLED_COUNT)
        accepted_s = None if is_back else round(time.monotonic() - mended_s, 2)
        # The old master may still answer for a moment after it hears of the new one.
        await asyncio.sleep(3)
        fixed.cancel()
        complete_s = await self._complete_s(mended_s)
        info = await self._cluster.info()
        self.cycles.append(
            Cycle(
                number, fault, old, self._compass.master,
                round(self.seen.longest_gap(begin_s - 0.2, end_s), 2) if is_back else None,
                accepted_s, complete_s,
                (info.master_epoch or 0) if info is not None else 0,
                round(os.getloadavg()[0], 1),
            )
        )  # fmt: skip
        print(json.dumps(asdict(self.cycles[-1])), flush=True)


def counted(seen: Seen, stored: dict[tuple[int, int], bytes]) -> dict[str, object]:
    """Compare what was acknowledged and read with what is there in the end."""
    places: dict[bytes, list[tuple[int, int]]] = {}
    for place, body in stored.items():
        places.setdefault(body, []).append(place)
    lost = {body for body in seen.acknowledged if body not in places}
    taken_back = {place for place, body in seen.read.items() if stored.get(place) != body}
    return {
        "sent": len(seen.sent),
        "acknowledged": len(seen.acknowledged),
        "by_old_route": len(seen.by_old_route),
        "read": len(seen.read),
        "lost": len(lost),
        "lost_of_old_route": len(lost & seen.by_old_route),
        "moved": sum(
            body in places and place not in places[body]
            for body, place in seen.acknowledged.items()
        ),
        "taken_back": len(taken_back | seen.taken_back),
        "doubled": sum(len(where) - 1 for where in places.values()),
        "unexpected": len(places.keys() - seen.sent),
    }


def namespaces_fail() -> str:
    """Return why there are no network namespaces here; empty when there are."""
    probe = ["unshare", "-n", "-m", "ip", "link", "add", "p", "type", "veth"]
    try:
        tried = ran(*probe, code=None)
    except OSError as error:
        return str(error)
    return tried.stderr.strip() if tried.returncode else ""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    sides = ("java", "ours")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--brokers", nargs="+", choices=sides, default=["java"] * 3)
    parser.add_argument("--controller", choices=sides, default="java", help="and name server")
    parser.add_argument("--controllers", type=int, default=1, help="with etcd if there are several")
    parser.add_argument("--faults", nargs="+", choices=FAULTS, help="all that are possible")
    parser.add_argument("--cycles", type=int, help="as many as faults")
    parser.add_argument("--hold", type=float, default=5.0, help="seconds that a fault lasts")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds to wait for sends")
    parser.add_argument("--senders", type=int, default=8)
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--jars", help="class path of another RocketMQ 5")
    parser.add_argument("--directory", type=Path, help="kept; else a temporary one")
    parser.add_argument("--loopback", action="store_true", help="no namespaces")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of brokers"
    )
    options = parser.parse_args()
    impossible = NAMESPACE_FAULTS if options.loopback else frozenset()
    if options.controllers == 1:
        impossible |= ETCD_FAULTS
    if options.faults is None:
        options.faults = [fault for fault in FAULTS if fault not in impossible]
    elif refused := impossible.intersection(options.faults):
        parser.error(f"{', '.join(sorted(refused))}: not with --loopback, or with one controller")
    if options.cycles is None:
        options.cycles = len(options.faults)
    return options


def main() -> None:
    """Run the cycles in namespaces of their own and print what was counted."""
    options = arguments()
    if not options.loopback and INSIDE not in os.environ:
        if why := namespaces_fail():
            raise SystemExit(f"network namespaces are refused: {why}; see --loopback")
        words = ["unshare", "-n", "-m", sys.executable, "-m", "benchmarks.failover", *sys.argv[1:]]
        os.execvpe("unshare", words, {**os.environ, INSIDE: "1"})
    directory = options.directory or Path(tempfile.mkdtemp(prefix="failover-"))
    directory.mkdir(parents=True, exist_ok=True)
    needs_java = "java" in {*options.brokers, options.controller}
    jars = options.jars or (class_path(JAVA_FIVE) if needs_java else "")
    settings = {"allAckInSyncStateSet": "true", **dict(one.split("=", 1) for one in options.set)}
    net = machines(
        len(options.brokers), controllers=options.controllers, apart=not options.loopback
    )
    group = Group(
        directory, net, brokers=options.brokers, controller=options.controller,
        jars=jars, settings=settings, disks_get_full="full disk" in options.faults,
    )  # fmt: skip
    # Without this a signal would leave the servers behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        total = asyncio.run(Play(group, options).run())
        print(json.dumps({"cycles": options.cycles, "seed": options.seed, **total}))
    finally:
        group.kill()
    if options.directory is None:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
