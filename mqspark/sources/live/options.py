"""The options of ``rocketmq``, for loads from live brokers and saves to them.

    where reading begins     startingTimestamp > startingOffsetsByTimestamp > startingOffsets
    where a batch ends       ending… of the same three

Rule: names and meanings are those of Spark's Kafka source. JSON is topic -> broker -> queue ->
offset, with -2 for the earliest offset and -1 for the latest. Spark lower-cases names, so they are
looked up without regard to case, and unknown names are refused.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from mqclient.consumer.subscription import TAG, Subscription
from mqclient.errors import ClientError
from mqspark.errors import BadOption
from mqspark.options import Option, names, number, one_of, size, time_ms, truth, values
from mqspark.sources.live.access import ACCESS, Access, access_of
from mqspark.sources.live.table import DEFAULT_COLUMNS, live_schema
from remoting.bodies import MessageQueue
from storefmt.config.foreign_json import read_json

EARLIEST: Final = -2
LATEST: Final = -1
QUEUE_ID_MAX: Final = (1 << 31) - 1
_LONG_MAX: Final = (1 << 63) - 1
_OF: Final = "rocketmq"
_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}
_SUBSCRIBE: Final = (
    Option("subscribe", "topics, separated by commas"),
    Option("subscribePattern", "a regular expression for the names of topics"),
    Option("assign", "JSON topic -> broker -> [queues]"),
)
_ROW: Final = (
    Option(
        "columns",
        "the columns to decode, separated by commas",
        names,
        shown="all but `properties_raw` and `crc_ok`",
    ),
    Option("checkCrc", "checks the CRC of bodies and fills `crc_ok`", truth, "false"),
)
_DECOMPRESS: Final = Option(
    "decompress",
    "returns bodies as their producers sent them, and `sys_flag` without the bits of compression",
    truth,
    "true",
)
_SOURCE: Final = (
    *_SUBSCRIBE,
    Option(
        "startingTimestamp",
        "the store time to begin at, as `2026-11-23T10:00:00Z` or in ms since 1970",
        time_ms,
    ),
    Option("startingOffsetsByTimestamp", "JSON topic -> broker -> queue -> ms since 1970"),
    Option(
        "startingOffsets",
        "`earliest`, `latest`, or JSON topic -> broker -> queue -> offset, with -2 for the "
        "earliest and -1 for the latest (a batch cannot start there); it names every queue. "
        "`[offset, store time in ms of the message before it]` instead of an offset shows whether "
        "the topic was deleted and made anew",
        shown="earliest (batch), latest (stream)",
    ),
    Option(
        "startingOffsetsByTimestampStrategy",
        "with `latest` a queue that has no message at or after the time begins at its end",
        one_of("error", "latest"),
        "error",
    ),
    Option(
        "filterExpression",
        "which messages brokers return. They are asked first whether they can read the "
        "expression, since a pull ignores one that they cannot",
        str,
        "*",
    ),
    Option("filterType", "`TAG`, or `SQL92` if the brokers allow it", str.upper, TAG),
    Option("minPartitions", "divides large queues into at least so many tasks", number(), "1"),
    Option("maxRecordsPerPartition", "the most messages of one task", number()),
    Option(
        "failOnDataLoss",
        "messages that a broker no longer has are an error, and so is a start beyond the end of a "
        "queue",
        truth,
        "true",
    ),
    Option("pullBatchSize", "the messages of one pull", number(), "32"),
    Option("pullTimeoutMs", "the timeout of a pull", number(), "10000"),
    Option(
        "retryTimeoutMs",
        "how long a stream, or a task that reads, waits for brokers and name servers that are "
        "away, as while they are restarted",
        number(0),
        "180000",
    ),
)
_BATCH: Final = (
    Option("endingTimestamp", "the store time at which a batch ends", time_ms),
    Option("endingOffsetsByTimestamp", "as `startingOffsetsByTimestamp`"),
    Option("endingOffsets", "as `startingOffsets`", shown="latest"),
)
_STREAM: Final = (
    Option(
        "maxOffsetsPerTrigger",
        "the most messages of one batch of a stream, divided in proportion to backlog (Spark 4.2)",
        number(),
    ),
    Option(
        "maxBytesPerTrigger",
        "about the same limit in bytes of records: brokers tell the sizes of the next 64 messages "
        "of each queue (of the 256 queues with the largest backlog). Both limits may be set",
        size,
    ),
    Option(
        "reportGroup",
        "a group whose offsets are set to the progress of a stream, for display only",
        str,
        "",
    ),
)
_SINK: Final = (
    Option("topic", "the topic of rows that have no column `topic`", str, ""),
    Option("dedup", "gives each message the property `RMQ_SPARK_ID`", truth, "false"),
    Option("dedupKey", "the column whose value is that property", str, ""),
    Option(
        "deliverBy",
        "`timer` passes `deliver_at` to a broker of 5.x; a `level` is what 4.9 has",
        one_of("level", "timer"),
        "level",
    ),
    Option("sendsInFlight", "the sends of a task that wait for an answer", number(), "32"),
    Option("sendRetries", "how often a send is tried again", number(), "3"),
)
OF_SPARK: Final = ("checkpointLocation", "path")
"""Spark's own options of a stream, which it passes to the sink as well."""


class Use(Enum):
    """What the options are used for; the value has the options that this use knows."""

    BATCH = (*ACCESS, *_SOURCE, *_ROW, _DECOMPRESS, *_BATCH)
    STREAM = (*ACCESS, *_SOURCE, *_ROW, _DECOMPRESS, *_STREAM)
    SCHEMA = (*ACCESS, *_SOURCE, *_ROW, _DECOMPRESS, *_BATCH, *_STREAM)
    ARCHIVE = (*ACCESS, *_SOURCE, _DECOMPRESS, *_STREAM)
    SINK = (*ACCESS, *_SINK)


class QueueSelection(NamedTuple):
    """The queues to read: those of ``topics``, of topics that match, or exactly ``queues``."""

    topics: tuple[str, ...] = ()
    pattern: str = ""
    queues: tuple[MessageQueue, ...] = ()


class Edge(NamedTuple):
    """Where reading begins or ends.

    Attributes:
        offset: the queue offset for queues that are not in ``by_queue``, or EARLIEST or LATEST.
        by_queue: queue offsets, or times in ms.
        is_time: ``by_queue`` has times, and ``time_ms`` is for all other queues if not None.
        store_times: the store time (ms since 1970) of the message before an offset, where given.
    """

    offset: int
    by_queue: Mapping[MessageQueue, int] = {}
    is_time: bool = False
    time_ms: int | None = None
    store_times: Mapping[MessageQueue, int] = {}


class LiveReadOptions(NamedTuple):
    """What a source reads; the defaults are those of the options."""

    access: Access
    wanted: QueueSelection
    starting: Edge
    ending: Edge
    late_is_latest: bool = False
    filter: str = "*"
    filter_kind: str = TAG
    max_offsets: int | None = None
    max_bytes: int | None = None
    min_partitions: int = 1
    max_records: int | None = None
    fail_on_data_loss: bool = True
    pull_batch_size: int = 32
    pull_timeout_s: float = 10.0
    retry_s: float = 180.0
    report_group: str = ""
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    check_crc: bool = False
    decompress: bool = True

    @property
    def filters(self) -> bool:
        """Whether brokers leave messages out, so that gaps between offsets are not losses."""
        return self.filter != "*"


class SinkSettings(NamedTuple):
    """Where rows are sent; with ``by_timer`` delayed rows use the timer messages of 5.x."""

    access: Access
    topic: str = ""
    dedup: bool = False
    dedup_key: str = ""
    in_flight: int = 32
    retries: int = 3
    by_timer: bool = False


def live_settings(options: Mapping[str, str], *, use: Use) -> LiveReadOptions:
    """Return the settings of a source.

    Raises:
        BadOption: an option is unknown, missing, given twice, or has an invalid value.
    """
    given = _values(options, use)
    # An option that this use does not have has its default.
    read_options = values({}, (*_ROW, *_BATCH, *_STREAM), of=_OF) | given
    columns = read_options["columns"] or DEFAULT_COLUMNS
    live_schema(columns)
    is_stream = use is Use.STREAM
    starting = _edge(read_options, "starting", default=LATEST if is_stream else EARLIEST)
    ending = _edge(read_options, "ending", default=LATEST)
    if use in (Use.BATCH, Use.ARCHIVE):
        _check_batch_edges(starting, ending)
    try:
        Subscription.parse(read_options["filterExpression"], kind=read_options["filterType"])
    except ClientError as error:
        raise BadOption(
            f"option filterExpression is {read_options['filterExpression']!r}: {error}"
        ) from error
    return LiveReadOptions(
        access=access_of(read_options),
        wanted=_wanted(read_options),
        starting=starting,
        ending=ending,
        late_is_latest=read_options["startingOffsetsByTimestampStrategy"] == "latest",
        filter=read_options["filterExpression"] or "*",
        filter_kind=read_options["filterType"],
        max_offsets=read_options["maxOffsetsPerTrigger"],
        max_bytes=read_options["maxBytesPerTrigger"],
        min_partitions=read_options["minPartitions"],
        max_records=read_options["maxRecordsPerPartition"],
        fail_on_data_loss=read_options["failOnDataLoss"],
        pull_batch_size=read_options["pullBatchSize"],
        pull_timeout_s=read_options["pullTimeoutMs"] / 1000,
        retry_s=read_options["retryTimeoutMs"] / 1000,
        report_group=read_options["reportGroup"],
        columns=columns,
        check_crc=read_options["checkCrc"],
        decompress=read_options["decompress"],
    )


def sink_settings(options: Mapping[str, str]) -> SinkSettings:
    """Return the settings of a sink.

    Raises:
        BadOption: as ``live_settings``.
    """
    sink_options = _values(options, Use.SINK)
    return SinkSettings(
        access=access_of(sink_options),
        topic=sink_options["topic"],
        dedup=bool(sink_options["dedupKey"]) or sink_options["dedup"],
        dedup_key=sink_options["dedupKey"],
        in_flight=sink_options["sendsInFlight"],
        retries=sink_options["sendRetries"],
        by_timer=sink_options["deliverBy"] == "timer",
    )


def _values(options: Mapping[str, str], use: Use) -> dict[str, Any]:
    for name in options:
        if _knows(use, name):
            continue
        others = (Use.BATCH, Use.STREAM, Use.SINK)
        elsewhere = [other.name.lower() for other in others if _knows(other, name)]
        if elsewhere:
            raise BadOption(
                f"rocketmq option {name!r} is for a {' or '.join(elsewhere)}, "
                f"not for a {use.name.lower()}"
            )
    return values(options, use.value, of=_OF, own=OF_SPARK if use is Use.SINK else ())


def _knows(use: Use, name: str) -> bool:
    return name.lower() in {option.name.lower() for option in use.value}


def queue_text(queue: MessageQueue) -> str:
    """Return a queue as it is written in streams' offsets and archives: ``topic@broker@queue``."""
    return f"{queue.topic}@{queue.broker_name}@{queue.queue_id}"


def queue_of(text: str) -> MessageQueue:
    """Return the queue that ``queue_text`` wrote.

    Raises:
        BadOption: the text does not name a queue.
    """
    topic, _, rest = text.partition("@")
    broker, _, queue_id = rest.rpartition("@")
    if not topic or not broker or not _is_queue_id(queue_id):
        raise BadOption(f"{text!r} is no queue, expected topic@broker@queue")
    return MessageQueue(topic, broker, int(queue_id))


def _is_queue_id(text: str) -> bool:
    return text.isdecimal() and len(text) <= 10 and int(text) <= QUEUE_ID_MAX


def _wanted(options: Mapping[str, Any]) -> QueueSelection:
    ways = [option.name for option in _SUBSCRIBE]
    given = [name for name in ways if options[name]]
    if len(given) != 1:
        raise BadOption(
            f"rocketmq needs one of the options {', '.join(ways)}, not {', '.join(given) or 'none'}"
        )
    if given == ["subscribe"]:
        return QueueSelection(topics=tuple(sorted(set(names(options["subscribe"])))))
    if given == ["subscribePattern"]:
        return QueueSelection(pattern=options["subscribePattern"])
    return QueueSelection(queues=tuple(_assigned(options["assign"])))


def _assigned(text: str) -> list[MessageQueue]:
    queues_assigned: set[MessageQueue] = set()
    for topic, brokers in _tree(text, "assign").items():
        for broker, queues in _branch(brokers, "assign").items():
            if not isinstance(queues, list) or not all(map(_is_number_of_queue, queues)):
                raise BadOption(f"option assign: {topic}, {broker} has {queues!r}, expected [0, 1]")
            queues_assigned |= {MessageQueue(topic, broker, number) for number in queues}
    return sorted(queues_assigned)


def _is_number_of_queue(value: object) -> bool:
    return type(value) is int and 0 <= value <= QUEUE_ID_MAX


def _edge(options: Mapping[str, Any], side: str, *, default: int) -> Edge:
    """Return an edge; the first given of its three options counts, as in Spark's Kafka source."""
    time = options[f"{side}Timestamp"]
    if time is not None:
        return Edge(default, is_time=True, time_ms=time)
    name = f"{side}OffsetsByTimestamp"
    if options[name] is not None:
        return Edge(default, _by_queue(options[name], name), is_time=True)
    name = f"{side}Offsets"
    text = options[name]
    if text is None:
        return Edge(default)
    if text.lower() in _WORDS:
        return Edge(_WORDS[text.lower()])
    store_times: dict[MessageQueue, int] = {}
    by_queue = _by_queue(text, name, store_times)
    return Edge(default, by_queue, store_times=store_times)


def _check_batch_edges(starting: Edge, ending: Edge) -> None:
    for name, edge, refused, why in (
        ("startingOffsets", starting, LATEST, "latest, which is for a stream, not a batch"),
        ("endingOffsets", ending, EARLIEST, "earliest, with which a batch would have no rows"),
    ):
        if edge.offset == refused:
            raise BadOption(f"option {name} is {why}")
        queues = [queue for queue, offset in edge.by_queue.items() if offset == refused]
        if queues and not edge.is_time:
            raise BadOption(f"option {name}: {queue_text(queues[0])} has {refused}, {why}")


def _by_queue(
    text: str, name: str, store_times: dict[MessageQueue, int] | None = None
) -> dict[MessageQueue, int]:
    """Return the offsets or times of a JSON text; ``store_times`` gets those beside offsets."""
    offsets: dict[MessageQueue, int] = {}
    is_time = "Timestamp" in name
    expected = "ms since 1970" if is_time else "an offset, -2 (earliest) or -1 (latest)"
    low = 0 if is_time else EARLIEST
    for topic, brokers in _tree(text, name).items():
        for broker, queues in _branch(brokers, name).items():
            for queue_id, value in _branch(queues, name).items():
                is_known = _is_queue_id(queue_id)
                queue = MessageQueue(topic, broker, int(queue_id) if is_known else -1)
                match value:
                    case [int(offset), int(time_ms)] if store_times is not None and offset > 0:
                        value, store_times[queue] = offset, time_ms
                if (
                    not is_known
                    or not isinstance(value, int)
                    or isinstance(value, bool)
                    or not low <= value <= _LONG_MAX
                ):
                    raise BadOption(
                        f"option {name}: {topic}, {broker} has {queue_id!r}: {value!r}, "
                        f"expected a queue id and {expected}"
                    )
                offsets[queue] = value
    return offsets


def _tree(text: str, name: str) -> dict[str, object]:
    try:
        value = read_json(text)
    except ValueError as error:
        raise BadOption(f"option {name} is {text!r}, no word it knows and no JSON") from error
    return _branch(value, name)


def _branch(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BadOption(f"option {name} has {value!r}, expected JSON topic -> broker -> queue")
    return {str(key): item for key, item in value.items()}
