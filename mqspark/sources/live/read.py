"""Reading ranges of queues from brokers into Arrow batches.

    Range --pulls--> raw records --storefmt.arrow.columns.batch_of--> rows of the range, no others

Rule: a range is read whole or not at all. Its rows depend only on queue, start and end, so that a
task that is tried again returns the same rows. Without a filter offsets have no gaps: a missing
offset is data that the broker has lost, which is an error unless ``failOnDataLoss`` is false.
Batches have at most 10,000 rows, and 8 MiB or the answer to one pull.

Source: mqclient.consumer.pull.pull_request; client/consumer/PullStatus.java (4.9.7).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullApi, PullRequest, PullStatus, RawPull
from mqclient.consumer.subscription import Subscription
from mqclient.errors import ClientError
from mqspark.errors import DataLost
from mqspark.schemas import ORIGIN
from mqspark.sources.inflated import inflate_bodies, is_changed_by_inflating, with_needed
from mqspark.sources.live.options import LiveReadOptions, queue_text
from mqspark.sources.live.patience import Patience
from mqspark.sources.live.plan import Range
from mqspark.sources.live.table import live_schema
from remoting.bodies import MessageQueue
from storefmt.arrow.columns import BYTES_MAX, ROWS_MAX, batch_of
from storefmt.names import TOOLS_GROUP

LOG = logging.getLogger(__name__)

_T = TypeVar("_T")
_TRIES: Final = 4
_PAUSE_S: Final = 0.5


def read_ranges(live: LiveReadOptions, ranges: Iterable[Range]) -> Iterator[Any]:
    """Yield the messages of ranges as record batches with ``live.columns``, in queue order.

    Raises:
        DataLost: messages of a range are gone, and ``live.fail_on_data_loss`` is true.
        ClientError: a broker does not answer, or refuses.
        StoreError: a broker sent bytes that are not a record.
    """
    with asyncio.Runner() as runner:
        client = live.access.client()
        try:
            for range_ in ranges:
                reader = RangeReader(client, live, range_)
                while (batch := runner.run(reader.next_batch())) is not None:
                    if batch.num_rows:
                        yield from _as_asked(batch, live)
        finally:
            runner.run(client.close())


def _as_asked(batch: Any, live: LiveReadOptions) -> Iterator[Any]:
    """Yield the rows of a batch with ``live.columns``, decompressed where that is asked for."""
    if not _inflates(live):
        yield batch
        return
    for part in inflate_bodies(batch, bytes_max=BYTES_MAX, fail_on_damage=False):
        yield part.as_sent().select(list(live.columns))


def _inflates(live: LiveReadOptions) -> bool:
    return live.decompress and is_changed_by_inflating(live.columns)


class _Chunk(NamedTuple):
    """Records one after the other, and the range of queue offsets that they cover."""

    data: bytes
    start: int
    end: int


class RangeReader:
    """Reads one range, a batch at a time."""

    def __init__(self, client: MQClient, live: LiveReadOptions, range_: Range) -> None:
        self._client = client
        self._live = live
        self._range = range_
        self._position = range_.start
        self._puller = PullApi(client, TOOLS_GROUP)
        self._subscription = Subscription.parse(live.filter, kind=live.filter_kind)
        self._origin: dict[str, str] = {}

    async def next_batch(self) -> Any | None:
        """Return a batch with the next rows, perhaps an empty one; None at the end of the range.

        Raises:
            DataLost, ClientError, StoreError: as ``read_ranges``.
        """
        if self._position >= self._range.end:
            return None
        if not self._origin:
            self._origin = await self._patiently(lambda: _origin(self._client, self._range.queue))
        chunk = await self._chunk()
        self._position = chunk.end
        return self._rows(chunk)

    async def _chunk(self) -> _Chunk:
        """Pull until a batch is full or the range ends."""
        start = queue_offset = self._position
        parts: list[bytes] = []
        size = 0
        while (
            queue_offset < self._range.end and size < BYTES_MAX and queue_offset - start < ROWS_MAX
        ):
            raw = await self._pull(queue_offset)
            queue_offset = max(queue_offset, self._next(raw, queue_offset))
            parts.append(raw.data)
            size += len(raw.data)
        return _Chunk(b"".join(parts), start, min(queue_offset, self._range.end))

    def _next(self, raw: RawPull, queue_offset: int) -> int:
        """Return the queue offset at which to go on after an answer."""
        if raw.status in (PullStatus.FOUND, PullStatus.NO_MATCHED_MSG):
            if raw.next_offset <= queue_offset:
                raise DataLost(
                    f"{queue_text(self._range.queue)} at offset {queue_offset}: {raw.address} "
                    "answers "
                    f"{raw.status} and goes on at {raw.next_offset}"
                )
            return raw.next_offset
        if self._live.fail_on_data_loss:
            raise self._lost(
                queue_offset, f"{raw.address} has {raw.min_offset} to {raw.max_offset} now"
            )
        if queue_offset < raw.min_offset:
            return raw.min_offset
        # The queue ends before the range does: it was created again, or a recovery cut it.
        return self._range.end

    def _lost(self, queue_offset: int, why: str) -> DataLost:
        end = self._range.end
        return DataLost(
            f"{queue_text(self._range.queue)}: messages {queue_offset} up to {end} are not all "
            f"there, {why}; "
            "failOnDataLoss=false goes on without them"
        )

    async def _pull(self, queue_offset: int) -> RawPull:
        """Pull once; try again if a slave lags, or while the broker is away."""
        live, queue = self._live, self._range.queue
        count = min(live.pull_batch_size, self._range.end - queue_offset)
        asked = PullRequest(queue, queue_offset, self._subscription, count)
        for turn in range(_TRIES):
            raw = await self._patiently(
                lambda: self._puller.pull_raw(asked, timeout_s=live.pull_timeout_s)
            )
            if raw.status in (PullStatus.FOUND, PullStatus.NO_MATCHED_MSG):
                break
            self._puller.forget(queue)
            if turn < _TRIES - 1:
                await asyncio.sleep(_PAUSE_S * turn)
        return raw

    async def _patiently(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Return the answer of ``ask``, which is asked again while servers are away."""
        patience = Patience(self._live.retry_s)
        loop = asyncio.get_running_loop()
        while True:
            try:
                return await ask()
            except ClientError as error:
                pause_s = patience.next_pause_s(error, now_s=loop.time())
                if pause_s is None:
                    raise
                LOG.warning("%s; asked again in %.1f s (retryTimeoutMs)", error, pause_s)
                self._client.doubt_route(self._range.queue.topic)
                self._puller.forget(self._range.queue)
                await asyncio.sleep(pause_s)

    def _rows(self, chunk: _Chunk) -> Any:
        asked = self._live.columns
        names = with_needed(asked) if _inflates(self._live) else asked
        names_of_rows = [name for name in names if name not in ORIGIN]
        extra = ("queue_offset", "tags") if self._subscription.tags else ("queue_offset",)
        columns = tuple(dict.fromkeys((*names_of_rows, *extra)))
        batch = batch_of(chunk.data, columns=columns, check_crc=self._live.check_crc)
        places = batch.column("queue_offset")
        inside = pc.and_(pc.greater_equal(places, chunk.start), pc.less(places, chunk.end))
        if not pc.all(inside, min_count=0).as_py():
            batch = batch.filter(inside)
        if self._live.fail_on_data_loss and not self._live.filters:
            self._check_whole(batch, chunk)
        if self._subscription.tags:
            # Brokers compare only the hashes of tags.
            tags = pa.array(sorted(self._subscription.tags), pa.string())
            batch = batch.filter(pc.is_in(batch.column("tags"), value_set=tags))
        arrays = [
            pa.repeat(pa.scalar(self._origin[name], pa.string()), batch.num_rows)
            if name in ORIGIN
            else batch.column(name)
            for name in names
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=live_schema(names))

    def _check_whole(self, batch: Any, chunk: _Chunk) -> None:
        places = batch.column("queue_offset").to_numpy()
        expected = np.arange(chunk.start, chunk.end)
        if len(places) == len(expected) and bool((places == expected).all()):
            return
        missing = np.setdiff1d(expected, places)
        raise self._lost(int(missing[0]), f"{len(missing)} were passed over")


async def _origin(client: MQClient, queue: MessageQueue) -> dict[str, str]:
    """Return the values of the columns that say where a row came from."""
    route = await client.route(queue.topic)
    clusters = {data.broker_name: data.cluster or "" for data in route.broker_datas}
    return {
        "cluster": clusters.get(queue.broker_name, ""),
        "broker_name": queue.broker_name,
        "broker_address": await client.master_of(queue),
    }
