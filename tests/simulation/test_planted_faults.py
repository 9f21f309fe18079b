"""The simulation finds faults that real controllers and brokers had, when they are put in.

Each test plants one fault in the real class (or in the simulated broker, where the real one is
files and sockets) and looks for a seed that fails within ``SEEDS`` runs.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import pytest

from mqserver.broker.replicas.in_sync_set import Committed, InSyncSet
from mqserver.broker.replicas.role import RoleMachine
from mqserver.controller import elections, group_rules, groups
from mqserver.controller.group_record import GroupRecord
from mqserver.controller.group_rules import GRANTED, Ruling
from mqserver.controller.handlers import brokers
from mqserver.controller.live_brokers import LiveBroker
from tests.simulation.disk import SimLog
from tests.simulation.observer import Violation
from tests.simulation.replica import SimReplica
from tests.simulation.simulation import simulate

SEEDS: Final = 150


def first_violation(of: Collection[str]) -> tuple[int, Violation]:
    """Return the first seed that fails, and how."""
    for seed in range(SEEDS):
        outcome = simulate(seed)
        if outcome.violation is not None:
            print(outcome.report())
            assert outcome.violation.name in of
            return seed, outcome.violation
    raise AssertionError(f"not found in {SEEDS} seeds")
