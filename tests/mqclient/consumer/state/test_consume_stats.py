"""The rates of a consumer cover the last minute, its failures the last hour."""

from mqclient.consumer.state.consume_stats import HOUR_MS, MINUTE_MS, TopicStats

T0 = 1_700_000_000_000 // MINUTE_MS * MINUTE_MS


def test_means_and_rates_are_those_of_the_last_minute() -> None:
    stats = TopicStats()
    stats.pulled(elapsed_ms=10, message_count=30, now_ms=T0)
    stats.pulled(elapsed_ms=30, message_count=30, now_ms=T0 + 20_000)
    stats.consumed(elapsed_ms=4, ok_count=30, failed_count=0, now_ms=T0 + 20_000)
    stats.consumed(elapsed_ms=8, ok_count=24, failed_count=6, now_ms=T0 + 30_000)

    now = stats.status(T0 + 30_000)

    assert (now.pull_rt, now.pull_tps) == (20.0, 1.0)
    assert (now.consume_rt, now.consume_ok_tps, now.consume_failed_tps) == (6.0, 0.9, 0.1)
    assert now.consume_failed_msgs == 6


def test_what_is_older_falls_out_failures_after_an_hour() -> None:
    stats = TopicStats()
    stats.pulled(elapsed_ms=10, message_count=60, now_ms=T0)
    stats.consumed(elapsed_ms=5, ok_count=0, failed_count=3, now_ms=T0)

    minute_later = stats.status(T0 + MINUTE_MS)
    hour_later = stats.status(T0 + HOUR_MS)

    assert (minute_later.pull_tps, minute_later.pull_rt) == (0.0, 0.0)
    assert (minute_later.consume_failed_tps, minute_later.consume_failed_msgs) == (0.0, 3)
    assert hour_later.consume_failed_msgs == 0


def test_nothing_yet_is_zero_everywhere() -> None:
    status = TopicStats().status(T0)

    assert (status.pull_rt, status.consume_rt, status.consume_ok_tps) == (0.0, 0.0, 0.0)
