"""One round of transaction checks on the loop, in steps between which others have their turn.

    step ─ all in memory ──> pause, next step
         └ not ─ thread reads it ─> next step

Rule: a round begins when the one before is on the disk, and ends when it is there itself.
"""

import asyncio
from typing import Final

from server.broker.cold import ColdReads
from server.broker.transactioncheck import TransactionChecks
from server.runtime.clock import Clock
from server.store.disk.nowait import ColdRead

PAUSE_S: Final = 0.01
"""Between two steps; a step takes two or three ms."""
SETTLE_S: Final = 0.1


async def run_round(checks: TransactionChecks, clock: Clock, *, cold: ColdReads) -> None:
    """Check every half message that is there now."""
    while not checks.begin(clock.now_ms()):
        await asyncio.sleep(SETTLE_S)
    tries = 0
    while checks.step(clock.now_ms(), may_wait=tries >= cold.tries_max):
        missing = checks.take_missing()
        if missing is None:
            tries = 0
            await asyncio.sleep(PAUSE_S)
        else:
            tries += 1
            await _warmed(missing, cold)
    while not checks.settle():
        await asyncio.sleep(SETTLE_S)


async def _warmed(missing: ColdRead, cold: ColdReads) -> None:
    """Return when a thread has read what was not in memory."""
    is_warm = asyncio.Event()
    cold.warm(missing, lambda at_ms: is_warm.set())
    await is_warm.wait()
