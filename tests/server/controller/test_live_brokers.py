"""When a broker counts as alive."""

from dataclasses import replace

from mqserver.controller.live_brokers import BROKERS_MAX, BrokerKey, LiveBrokers
from tests.server.controller.examples import live_broker

NOW_MS = 1_000_000


def living(brokers: LiveBrokers, now_ms: int = NOW_MS) -> set[int]:
    return set(brokers.of_group("C", "g", (1, 2), now_ms))


def test_a_broker_is_alive_until_its_timeout_has_passed() -> None:
    brokers = LiveBrokers()
    brokers.accept_heartbeat(live_broker(1, timeout_ms=2_000))

    assert living(brokers, NOW_MS + 2_000) == {1}
    assert living(brokers, NOW_MS + 2_001) == set()
    assert brokers.expire(NOW_MS + 2_000) == []
    assert [broker.key.broker_id for broker in brokers.expire(NOW_MS + 2_001)] == [1]
    assert brokers.expire(NOW_MS + 2_001) == []


def test_a_closed_connection_makes_a_suspect_that_is_still_alive() -> None:
    brokers = LiveBrokers()
    brokers.accept_heartbeat(live_broker(1))
    brokers.accept_heartbeat(live_broker(2))

    (suspect,) = brokers.connection_closed(1)

    assert suspect.is_suspect
    assert living(brokers) == {1, 2}
    assert brokers.refused(suspect)
    assert living(brokers) == {2}


def test_a_suspect_that_is_heard_again_is_not_forgotten() -> None:
    brokers = LiveBrokers()
    brokers.accept_heartbeat(live_broker(1))
    (suspect,) = brokers.connection_closed(1)
    brokers.accept_heartbeat(live_broker(1, conn_id=7))

    assert not brokers.refused(suspect)
    assert living(brokers) == {1}
    assert brokers.connection_closed(1) == []


def test_what_a_broker_said_before_it_started_again_counts_no_more() -> None:
    brokers = LiveBrokers()
    brokers.accept_heartbeat(live_broker(1))
    brokers.accept_heartbeat(live_broker(2))

    brokers.forget(BrokerKey("C", "g", 1))
    brokers.forget(BrokerKey("C", "g", 9))

    assert living(brokers) == {2}


def test_made_up_names_fill_no_memory() -> None:
    brokers = LiveBrokers()
    for number in range(BROKERS_MAX):
        broker = live_broker(1)
        assert brokers.accept_heartbeat(
            type(broker)(
                **{
                    **{name: getattr(broker, name) for name in broker.__slots__},
                    "key": BrokerKey("C", f"g{number}", 1),
                }
            )
        )

    assert not brokers.accept_heartbeat(live_broker(1))


def test_the_last_heartbeat_of_a_dead_broker_is_kept_until_it_is_heard_again() -> None:
    brokers = LiveBrokers()
    first = live_broker(1, timeout_ms=2_000)
    brokers.accept_heartbeat(first)
    brokers.expire(NOW_MS + 2_001)

    assert living(brokers) == set()
    assert brokers.last_heartbeat(first.key) == first
    assert brokers.last_heartbeat(BrokerKey("C", "g", 2)) is None

    again = live_broker(1, conn_id=7)
    brokers.accept_heartbeat(again)
    assert brokers.last_heartbeat(first.key) == again


def test_made_up_names_of_the_dead_fill_no_memory() -> None:
    brokers = LiveBrokers()
    names = [f"g{number}" for number in range(BROKERS_MAX + 1)]
    for name in names:
        key = BrokerKey("C", name, 1)
        brokers.accept_heartbeat(replace(live_broker(1, timeout_ms=0), key=key))
        brokers.expire(NOW_MS + 1)

    assert brokers.last_heartbeat(BrokerKey("C", names[0], 1)) is None
    assert brokers.last_heartbeat(BrokerKey("C", names[-1], 1)) is not None
