"""Runs of the simulation that must hold, and what the simulation itself promises."""

import itertools
import time

import pytest

from tests import soak
from tests.simulation.faults import Fault, Kind
from tests.simulation.simulation import Outcome, Shape, Simulation, simulate

SEEDS_PER_CASE = 20
CALM = Shape(broker_count=3, controller_count=1, fault_ms=14_000)


def assert_holds(seed: int) -> Outcome:
    """Run a seed; a failure prints its plan and its trace."""
    outcome = simulate(seed)
    if outcome.violation is not None:
        pytest.fail(outcome.report(), pytrace=False)
    return outcome


@pytest.mark.parametrize("first", range(0, 200, SEEDS_PER_CASE))
def test_every_invariant_holds_in_every_run(first: int) -> None:
    outcomes = [assert_holds(seed) for seed in range(first, first + SEEDS_PER_CASE)]

    assert all(outcome.acked_count for outcome in outcomes)
    assert sum(outcome.master_changes for outcome in outcomes) > SEEDS_PER_CASE


@pytest.mark.soak
def test_every_invariant_holds_for_as_long_as_there_is_time() -> None:
    end_s = time.monotonic() + soak.seconds(minutes=5)
    count = 0
    for seed in itertools.count(soak.SEED * 1_000):
        if time.monotonic() > end_s:
            break
        assert_holds(seed)
        count += 1
    print(f"seeds from {soak.SEED * 1_000}: {count} runs")


def test_a_seed_is_the_same_run_each_time() -> None:
    first, second = simulate(7), simulate(7)

    assert first.trace
    assert first.event_count == second.event_count
    assert list(map(str, first.trace)) == list(map(str, second.trace))


@pytest.mark.parametrize("begin_ms", [5_000, 15_000])
def test_unreachable_controllers_alone_stop_no_send(begin_ms: int) -> None:
    """Neither a controller that has just started nor an old one replaces the master meanwhile."""
    simulation = Simulation(1, CALM)
    simulation.start()
    simulation.world.run_until(begin_ms)
    assert not simulation.observer.unhealthy(simulation.brokers.values())
    refused, acked = simulation.refused_count, simulation.observer.acked_count

    for target in range(3):
        fault = Fault(Kind.PART_CONTROLLERS, begin_ms, 8_000, target, 0)
        simulation.faults.begin(fault)
    simulation.world.run_until(begin_ms + 12_000)

    assert simulation.refused_count == refused
    assert simulation.observer.acked_count > acked + 50
    assert simulation.observer.master_changes == 1
    assert not simulation.observer.unhealthy(simulation.brokers.values())


def test_a_group_without_faults_never_changes_its_master() -> None:
    outcome = simulate(3, shape=CALM, plan=())

    assert outcome.violation is None
    assert outcome.master_changes == 1


@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.name)
def test_a_group_survives_each_kind_of_fault_of_its_master(kind: Kind) -> None:
    plan = (Fault(kind, 5_000, 2_700, -1, 0), Fault(kind, 9_500, 2_700, -1, 1))

    outcome = simulate(11, shape=CALM, plan=plan)

    if outcome.violation is not None:
        pytest.fail(outcome.report(), pytrace=False)
