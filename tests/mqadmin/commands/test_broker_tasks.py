"""A task for several brokers: each has its row, whatever becomes of the others."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from mqadmin.cluster.brokers import ServerNode
from mqadmin.commands.broker._shared import StorageTask, give_task
from mqadmin.output.rows import Outcome
from mqclient.errors import Unreachable

NODES = [ServerNode("c", name, 0, f"{name}:1") for name in ("broken", "files", "rocksdb")]


class Brokers:
    """Three brokers: one is down, one has nothing to do, and one takes the task."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def broker_config(self, address: str) -> dict[str, str]:
        if address == "broken:1":
            raise Unreachable("connection refused", address=address)
        return {"storeType": "defaultRocksDB" if address == "rocksdb:1" else "default"}


async def tasks(brokers: Brokers, *, dry_run: bool = False) -> Outcome:
    async def admin() -> Brokers:
        return brokers

    async def ask(node: ServerNode) -> None:
        brokers.asked.append(node.broker)

    call = cast(Any, SimpleNamespace(admin=admin, dry_run=dry_run))
    needs = ("storeType", "defaultRocksDB")
    return await give_task(call, NODES, ask, needs=needs, otherwise="nothing to do")


def results(outcome: Outcome) -> dict[str, str]:
    return {row.broker: row.result for row in cast("list[StorageTask]", outcome.rows)}


def test_a_broker_that_is_down_has_a_row_and_the_others_are_asked() -> None:
    brokers = Brokers()

    outcome = asyncio.run(tasks(brokers))

    assert results(outcome) == {
        "broken": "unreachable",
        "files": "unchanged",
        "rocksdb": "changed",
    }
    assert brokers.asked == ["rocksdb"]
    assert outcome.exit_code == 5


def test_a_dry_run_gives_no_task() -> None:
    brokers = Brokers()

    outcome = asyncio.run(tasks(brokers, dry_run=True))

    assert results(outcome)["rocksdb"] == "would change"
    assert not brokers.asked
