"""Masters and slaves as ``mqadmin`` shows them, and a slave that becomes the master."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from remoting.codes import RequestCode
from server.broker.config import BrokerRole
from tests.mqadmin.conftest import Result
from tests.server.broker.pairs import Pair, equal_ends, pair_in, state_of, until

Run = Callable[..., Result]


async def mqadmin(run: Run, pair: Pair, *words: str) -> tuple[int, list[dict[str, object]], str]:
    """Run one command in a thread; returns exit code, rows and what went to standard error."""
    done = await asyncio.to_thread(run, *words, "-n", pair.namesrv, "-o", "json")
    made = json.loads(done.out or "[]")
    return done.exit_code, made if isinstance(made, list) else [made], done.err


def test_status_tells_lag_and_state_and_promotion_makes_a_master(tmp_path: Path, run: Run) -> None:
    async def act() -> None:
        async with pair_in(tmp_path) as pair:
            master = await pair.start("m", BrokerRole.ASYNC_MASTER)
            slave = await pair.start("s", BrokerRole.SLAVE)
            await master.send(b"0")
            await equal_ends(master, slave)

            code, rows, _ = await mqadmin(run, pair, "ha", "status")
            assert code == 0
            assert [(row["role"], row["lag"], row["state"], row["slaves"]) for row in rows] == [
                ("ASYNC_MASTER", None, "", 1),
                ("SLAVE", 0, "RECEIVING", None),
            ]
            code, java, _ = await mqadmin(run, pair, "haStatus", "-b", master.address, "-i", "1")
            assert [row["address"] for row in java] == [master.address, slave.address]

            code, rows, _ = await mqadmin(run, pair, "broker", "promote", "broker-a", "-y")
            assert (code, rows[0]["result"]) == (1, "refused")
            assert "its master is alive" in str(rows[0]["remark"])
            code, _, err = await mqadmin(run, pair, "broker", "promote", "nobody", "-y")
            assert (code, "no slave 'nobody'" in err) == (3, True)

            await pair.stop("m")
            await until(lambda: state_of(slave) == "CONNECTING", what="the master is gone")
            code, rows, _ = await mqadmin(run, pair, "ha", "status")
            assert (code, [(row["role"], row["state"]) for row in rows]) == (
                0,
                [("SLAVE", "CONNECTING")],
            )
            code, _, err = await mqadmin(run, pair, "topic", "create", "T")
            assert (code, "no master is registered, only slaves: broker-a" in err) == (3, True)
            code, rows, _ = await mqadmin(run, pair, "broker", "promote", "broker-a", "--dry-run")
            assert rows[0]["result"] == "would change"
            code, rows, _ = await mqadmin(run, pair, "broker", "promote", slave.address, "-y")
            assert (code, rows[0]["result"]) == (0, "changed")
            assert (await slave.send(b"1")).code == 0
            code, rows, _ = await mqadmin(run, pair, "ha", "status")
            assert [(row["broker_id"], row["role"]) for row in rows] == [(0, "ASYNC_MASTER")]
            assert (await slave.ask(RequestCode.GET_BROKER_CONFIG)).code == 0

    asyncio.run(act())
