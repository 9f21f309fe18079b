"""The statistics of a broker: totals since the start, rates of the last minute, hour and day.

    count (hot path) -> Counter.sum, .times
    sample every 10 s -> minute   every 10 min -> hour   every hour -> day
    the store's own count of records -> put.count, once a second

Rule: the hot path only adds to a Counter that it holds; the rest is computed when samples are
taken or read. A rate is (newest - oldest sample) divided by the time between them, as in Java, so
it is 0 until there are two samples.

``PutTimes`` holds how long messages took to be stored, in the bands and percentiles that Java's
broker shows. One group commit adds to it once, because one write and one sync store all of its
messages. It shows the last whole minute.

Source: common/stats/StatsItem.java, store/stats/BrokerStatsManager.java,
store/StoreStatsService.java#setPutMessageEntireTimeMax, #findPutMessageEntireTimePX.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from storefmt.names import TOOLS_GROUP

ROLL_MS: Final = 60_000
_BANDS: Final = {
    "[<=0ms]": 1, "[0~10ms]": 10, "[10~50ms]": 50, "[50~100ms]": 100, "[100~200ms]": 200,
    "[200~500ms]": 500, "[500ms~1s]": 1_000, "[1~2s]": 2_000, "[2~3s]": 3_000,
    "[3~4s]": 4_000, "[4~5s]": 5_000, "[5~10s]": 10_000, "[10s~]": 1 << 63,
}  # fmt: skip
_LIMITS: Final = list(_BANDS.values())[:-1]
_EDGES: Final = [
    *range(1, 21), *range(22, 51, 2), *range(55, 101, 5), *range(110, 201, 10),
    *range(250, 501, 50), *range(600, 1_001, 100), *range(2_000, 10_001, 1_000), (1 << 63) - 1,
]  # fmt: skip


class PutTimes:
    """How long puts took: the longest since the start, and all of the last whole minute."""

    def __init__(self, now_ms: int) -> None:
        self.longest_ms = 0
        self._rolled_ms = now_ms
        self._bands = [0] * len(_BANDS)
        self._edges = [0] * len(_EDGES)
        self._shown_bands: list[int] = []
        self._shown_edges = [0] * len(_EDGES)

    def add(self, elapsed_ms: int, *, count: int) -> None:
        """Count messages that took ``elapsed_ms`` from their put to being safe."""
        if elapsed_ms <= 0:
            self._bands[0] += count
            self._edges[0] += count
            return
        self._bands[bisect_right(_LIMITS, elapsed_ms)] += count
        self._edges[bisect_left(_EDGES, elapsed_ms)] += count
        if elapsed_ms > self.longest_ms:
            self.longest_ms = elapsed_ms

    def roll(self, now_ms: int) -> None:
        """Show the current minute and begin a new one, if it has ended; call it every second."""
        if now_ms - self._rolled_ms <= ROLL_MS:
            return
        self._rolled_ms = now_ms
        self._shown_bands, self._bands = self._bands, [0] * len(_BANDS)
        self._shown_edges, self._edges = self._edges, [0] * len(_EDGES)

    def text(self) -> str:
        """Return the count of each band as Java prints it; ``null`` in the first minute."""
        if not self._shown_bands:
            return "null"
        pairs = zip(_BANDS, self._shown_bands, strict=True)
        return "".join(f"{name}:{count} " for name, count in pairs)

    def percentile(self, part: float) -> float:
        """Return the time in ms within which a part of the messages was stored, interpolated.

        Args:
            part: of all messages, 0 to 1.
        """
        rank = int(sum(self._shown_edges) * part)
        passed = low = 0
        for edge, count in zip(_EDGES, self._shown_edges, strict=True):
            if rank <= passed + count:
                return low + (edge - low) * (rank - passed) / count if count else float(low)
            passed += count
            low = edge
        return 0.0


TOPIC_PUT_NUMS: Final = "TOPIC_PUT_NUMS"
TOPIC_PUT_SIZE: Final = "TOPIC_PUT_SIZE"
GROUP_GET_NUMS: Final = "GROUP_GET_NUMS"
GROUP_GET_SIZE: Final = "GROUP_GET_SIZE"
SEND_BACK_PUT_NUMS: Final = "SNDBCK_PUT_NUMS"
BROKER_PUT_NUMS: Final = "BROKER_PUT_NUMS"
BROKER_GET_NUMS: Final = "BROKER_GET_NUMS"

MINUTE_SAMPLE_MS: Final = 10_000
HOUR_SAMPLE_MS: Final = 600_000
DAY_SAMPLE_MS: Final = 3_600_000
TPS_SECONDS: Final = (10, 60, 600)


class StatsSnapshot(NamedTuple):
    """One statistic over one period: Java's sum, tps (per second) and avgpt (per call)."""

    sum: int
    tps: float
    average: float


class _Sample(NamedTuple):
    at_ms: int
    sum: int
    times: int


def _compute(samples: Iterable[_Sample]) -> StatsSnapshot:
    snapshot = list(samples)
    if len(snapshot) < 2:
        return StatsSnapshot(0, 0.0, 0.0)
    first, last = snapshot[0], snapshot[-1]
    total = last.sum - first.sum
    span_ms = last.at_ms - first.at_ms
    times = last.times - first.times
    return StatsSnapshot(
        total,
        total * 1000 / span_ms if span_ms > 0 else 0.0,
        total / times if times > 0 else 0.0,
    )


@dataclass(slots=True, eq=False)
class Counter:
    """One statistic: the sum of what was added, and how many times."""

    sum: int = 0
    times: int = 0
    _minute: deque[_Sample] = field(default_factory=lambda: deque(maxlen=7))
    _hour: deque[_Sample] = field(default_factory=lambda: deque(maxlen=7))
    _day: deque[_Sample] = field(default_factory=lambda: deque(maxlen=25))

    def add(self, value: int) -> None:
        """Count ``value`` once."""
        self.sum += value
        self.times += 1

    def minute(self) -> StatsSnapshot:
        """Return the statistic of the last minute."""
        return _compute(self._minute)

    def hour(self) -> StatsSnapshot:
        """Return the statistic of the last hour."""
        return _compute(self._hour)

    def day(self) -> StatsSnapshot:
        """Return the statistic of the last day."""
        return _compute(self._day)

    def sample(self, now_ms: int, *, hour: bool, day: bool) -> None:
        """Add the present values as a sample to the minute, and on request to hour and day."""
        sample = _Sample(now_ms, self.sum, self.times)
        self._minute.append(sample)
        if hour:
            self._hour.append(sample)
        if day:
            self._day.append(sample)


class Rates:
    """Rate of one kind of event per second, over the last 10, 60 and 600 seconds."""

    def __init__(self) -> None:
        self.count = 0
        self._samples: deque[tuple[int, int]] = deque(maxlen=TPS_SECONDS[-1] + 1)

    def sample(self, now_ms: int) -> None:
        """Add the present count as a sample; call it once a second."""
        self._samples.append((now_ms, self.count))

    def text(self, *, missing: str = "") -> str:
        """Return the three rates as Java prints them, separated by blanks.

        Args:
            missing: text for the second and third rate while they lack samples.
        """
        return " ".join(self._rate(seconds, missing) for seconds in TPS_SECONDS)

    def _rate(self, seconds: int, missing: str) -> str:
        if len(self._samples) <= seconds:
            return "0.0" if seconds == TPS_SECONDS[0] else missing
        now_ms, count = self._samples[-1]
        then_ms, before = self._samples[-1 - seconds]
        return str((count - before) / ((now_ms - then_ms) / 1000)) if now_ms > then_ms else "0.0"


class Today(NamedTuple):
    """Totals at the last two midnights."""

    yesterday_morning: int
    today_morning: int


class Statistics:
    """Every counter of one broker; days begin at midnight of the local time zone."""

    def __init__(self, *, now_ms: int, cluster: str) -> None:
        self.boot_ms = now_ms
        self._sampled_ms = now_ms
        self._counters: dict[tuple[str, str], Counter] = {}
        self._group_gets: dict[tuple[str, str], tuple[Counter, Counter]] = {}
        """Two of those counters, by topic and group, since every pull needs them."""
        self.broker_put = self.counter(BROKER_PUT_NUMS, cluster)
        self.broker_get = self.counter(BROKER_GET_NUMS, cluster)
        self.put = Rates()
        self.get_found = Rates()
        self.get_missed = Rates()
        self.get_total = Rates()
        self.transferred = Rates()
        self.put_times = PutTimes(now_ms)
        self.longest_get_ms = 0
        """Longest time of a pull that waited for the disk; others take less than a ms."""
        self.put_failed_count = 0
        self.put_day = Today(0, 0)
        self.get_day = Today(0, 0)
        self._hour_ms = self._day_ms = now_ms
        self._today = _local_day(now_ms)
        self._forgotten_put_count = 0

    def counter(self, name: str, key: str) -> Counter:
        """Return a counter, and create it if it is missing; callers on a hot path keep it."""
        counter = self._counters.get((name, key))
        if counter is None:
            counter = self._counters[name, key] = Counter()
            # Its periods begin at the time of the last sample, when its sum was still 0.
            counter.sample(self._sampled_ms, hour=True, day=True)
        return counter

    def find(self, name: str, key: str) -> Counter | None:
        """Return a counter that has counted something; None if there is no such counter."""
        if name == BROKER_PUT_NUMS:
            self._count_broker_puts()
        counter = self._counters.get((name, key))
        return counter if counter is not None and (counter.times or counter.sum) else None

    def group_get_tps(self, topic: str, group: str) -> float:
        """Return how many messages per second a group read from a topic in the last minute."""
        counter = self._counters.get((GROUP_GET_NUMS, f"{topic}@{group}"))
        return 0.0 if counter is None else counter.minute().tps

    def count_put(self, topic: str, size: int) -> None:
        """Count a client's message that was put into a topic, outside of the hot path.

        Args:
            size: bytes of the record.
        """
        self.counter(TOPIC_PUT_NUMS, topic).add(1)
        self.counter(TOPIC_PUT_SIZE, topic).add(size)

    def count_get(self, topic: str, group: str, count: int, size: int) -> None:
        """Count what a pull or a pop gave to a group.

        Args:
            topic: the topic that was read, which may be a retry topic.
            group: the consumer group.
            count: messages.
            size: bytes of their records.
        """
        counters = self._group_gets.get((topic, group))
        if counters is None:
            name = f"{topic}@{group}"
            counters = self.counter(GROUP_GET_NUMS, name), self.counter(GROUP_GET_SIZE, name)
            self._group_gets[topic, group] = counters
        nums, sizes = counters
        nums.sum += count
        nums.times += 1
        sizes.sum += size
        sizes.times += 1
        self.get_found.count += 1
        # What a tool shows to a person is not consumption: it may not look like a group at work.
        if group != TOOLS_GROUP:
            self.broker_get.sum += count
            self.transferred.count += count

    def count_given_back(self, group: str, topic: str) -> None:
        """Count a message that a consumer sent back."""
        self.counter(SEND_BACK_PUT_NUMS, f"{topic}@{group}").add(1)

    def sample(self, now_ms: int, *, put_count: int) -> None:
        """Take samples; call it about once a second.

        Args:
            put_count: records stored since the start, including the broker's own.
        """
        self.put.count = put_count
        self.get_total.count = self.get_found.count + self.get_missed.count
        for rates in (
            self.put,
            self.get_found,
            self.get_missed,
            self.get_total,
            self.transferred,
        ):
            rates.sample(now_ms)
        self.put_times.roll(now_ms)
        today = _local_day(now_ms)
        if today != self._today:
            self._today = today
            self.put_day = Today(self.put_day.today_morning, put_count)
            self.get_day = Today(self.get_day.today_morning, self.transferred.count)
        if now_ms - self._sampled_ms < MINUTE_SAMPLE_MS:
            return
        self._count_broker_puts()
        self._sampled_ms = now_ms
        hour = now_ms - self._hour_ms >= HOUR_SAMPLE_MS
        day = now_ms - self._day_ms >= DAY_SAMPLE_MS
        self._hour_ms = now_ms if hour else self._hour_ms
        self._day_ms = now_ms if day else self._day_ms
        for counter in self._counters.values():
            counter.sample(now_ms, hour=hour, day=day)

    def _count_broker_puts(self) -> None:
        """Set BROKER_PUT_NUMS to the sum over all topics."""
        self.broker_put.sum = self._forgotten_put_count + sum(
            counter.sum for (name, _), counter in self._counters.items() if name == TOPIC_PUT_NUMS
        )

    def forget_topic(self, topic: str) -> None:
        """Drop the counters of a deleted topic."""
        self._group_gets.clear()
        for name, key in [key for key in self._counters if _topic_of(*key) == topic]:
            gone = self._counters.pop((name, key))
            if name == TOPIC_PUT_NUMS:
                self._forgotten_put_count += gone.sum


def _topic_of(name: str, key: str) -> str:
    return key.partition("@")[0] if name.startswith(("TOPIC_", "GROUP_", "SNDBCK_")) else ""


def _local_day(now_ms: int) -> int:
    """Return the number of the local day; Java's daily totals change at local midnight."""
    return datetime.fromtimestamp(now_ms / 1000).toordinal()
