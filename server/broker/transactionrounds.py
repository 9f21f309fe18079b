"""One round of transaction checks on the loop, in steps between which others have their turn.

Rule: a round begins when the one before is on the disk, and ends when it is there itself.
"""

import asyncio
from typing import Final

from server.broker.transactioncheck import TransactionChecks
from server.runtime.clock import Clock

PAUSE_S: Final = 0.01
"""Between two steps; a step takes two or three ms."""
SETTLE_S: Final = 0.1


async def run_round(checks: TransactionChecks, clock: Clock) -> None:
    """Check every half message that is there now."""
    while not checks.begin(clock.now_ms()):
        await asyncio.sleep(SETTLE_S)
    while checks.step(clock.now_ms()):
        await asyncio.sleep(PAUSE_S)
    while not checks.settle():
        await asyncio.sleep(SETTLE_S)
