"""Counters and rates with a clock moved by hand."""

from mqserver.broker.stats.counters import Statistics, StatsSnapshot

DAY_MS = 86_400_000
START_MS = 100 * DAY_MS + 1_000


def test_minute_is_the_difference_of_its_samples() -> None:
    stats = Statistics(now_ms=START_MS, cluster="C")
    counter = stats.counter("TOPIC_PUT_NUMS", "T")
    for value in (1, 2, 3):
        counter.add(value)
    one_sample = counter.minute()

    stats.sample(START_MS + 5_000, put_count=0)
    stats.sample(START_MS + 10_000, put_count=0)

    assert one_sample == StatsSnapshot(0, 0.0, 0.0)
    assert counter.minute() == StatsSnapshot(6, 0.6, 2.0)


def test_minute_forgets_and_hour_and_day_remember() -> None:
    stats = Statistics(now_ms=START_MS, cluster="C")
    counter = stats.counter("TOPIC_PUT_NUMS", "T")
    counter.add(10)

    for at_ms in range(START_MS + 10_000, START_MS + 4_300_001, 10_000):
        stats.sample(at_ms, put_count=0)

    assert counter.minute().sum == 0
    assert counter.hour().sum == 0
    assert counter.day().sum == 10


def test_group_rate_and_unknown_keys() -> None:
    stats = Statistics(now_ms=START_MS, cluster="C")
    stats.counter("GROUP_GET_NUMS", "T@G").add(50)
    stats.sample(START_MS + 10_000, put_count=0)

    assert stats.group_get_tps("T", "G") == 5.0
    assert stats.group_get_tps("T", "H") == 0.0
    assert stats.find("TOPIC_PUT_NUMS", "T") is None
    assert stats.find("GROUP_GET_NUMS", "T@G") is not None


def test_rates_are_printed_as_java_prints_them() -> None:
    stats = Statistics(now_ms=START_MS, cluster="C")

    empty = stats.put.text()
    for second in range(61):
        stats.get_found.count = stats.get_missed.count = second
        stats.sample(START_MS + 1_000 * second, put_count=30 * second)

    assert empty == "0.0  "
    assert stats.put.text() == "30.0 30.0 "
    assert stats.get_total.text(missing="0.0") == "2.0 2.0 0.0"


def test_midnight_moves_the_daily_totals() -> None:
    stats = Statistics(now_ms=START_MS, cluster="C")
    stats.transferred.count = 3
    stats.sample(START_MS + DAY_MS, put_count=5)
    stats.sample(START_MS + 2 * DAY_MS, put_count=12)

    assert tuple(stats.get_day) == (3, 3)
    assert tuple(stats.put_day) == (5, 12)


def test_deleted_topic_takes_its_counters_along() -> None:
    stats = Statistics(now_ms=START_MS, cluster="C")
    stats.counter("TOPIC_PUT_NUMS", "T").add(1)
    stats.count_given_back("G", "T")
    stats.counter("TOPIC_PUT_NUMS", "U").add(1)

    stats.forget_topic("T")

    assert stats.find("TOPIC_PUT_NUMS", "T") is None
    assert stats.find("SNDBCK_PUT_NUMS", "T@G") is None
    assert stats.find("TOPIC_PUT_NUMS", "U") is not None
    assert stats.find("BROKER_PUT_NUMS", "C") == stats.broker_put
    assert (stats.broker_put.sum, stats.broker_put.times) == (2, 0)
