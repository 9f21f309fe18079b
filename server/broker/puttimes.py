"""How long messages took to be stored: the bands and percentiles that Java's broker shows.

    turn ── add(ms, messages) ── roll, once a minute ── the last whole minute is shown

Rule: one addition a turn, not one a message: all messages of a turn are stored by one write
and made durable by one sync. Before the first whole minute there is nothing to show.

Source: store/StoreStatsService.java#setPutMessageEntireTimeMax, #findPutMessageEntireTimePX.
"""

from bisect import bisect_left, bisect_right
from typing import Final

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
    """The times of one broker since its start, and in the last whole minute."""

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
        """Show the minute that ended, once it has; call it every second."""
        if now_ms - self._rolled_ms <= ROLL_MS:
            return
        self._rolled_ms = now_ms
        self._shown_bands, self._bands = self._bands, [0] * len(_BANDS)
        self._shown_edges, self._edges = self._edges, [0] * len(_EDGES)

    def text(self) -> str:
        """Return messages by band as Java prints them, ``null`` before the first minute."""
        if not self._shown_bands:
            return "null"
        pairs = zip(_BANDS, self._shown_bands, strict=True)
        return "".join(f"{name}:{count} " for name, count in pairs)

    def percentile(self, part: float) -> float:
        """Return within how many ms this part of the messages was stored, between the edges."""
        wanted = int(sum(self._shown_edges) * part)
        passed = low = 0
        for edge, count in zip(_EDGES, self._shown_edges, strict=True):
            if wanted <= passed + count:
                return low + (edge - low) * (wanted - passed) / count if count else float(low)
            passed += count
            low = edge
        return 0.0
