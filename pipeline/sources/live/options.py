"""The options of ``rocketmq``, for loads from live brokers and saves to them.

    namesrv, accessKey, tls …: see pipeline.sources.live.access                addresses and account
    subscribe | subscribePattern | assign                             which queues
    startingTimestamp > startingOffsetsByTimestamp > startingOffsets  where reading begins
    ending… of the same three                                         where a batch ends
    startingOffsetsByTimestampStrategy (error, latest)                no message so late
    filterExpression, filterType (TAG, SQL92)                         what brokers leave out
    maxOffsetsPerTrigger, maxBytesPerTrigger                          how much at once
    minPartitions, maxRecordsPerPartition                             … by one task
    failOnDataLoss, pullBatchSize, pullTimeoutMs, reportGroup, columns, checkCrc
    topic, dedup, dedupKey, sendsInFlight, sendRetries, deliverBy      the sink

Rule: names and meanings are those of Spark's Kafka source. JSON is topic -> broker -> queue ->
offset, with -2 for the earliest offset and -1 for the latest. Spark lower-cases names, so they are
looked up without regard to case, and unknown names are refused.
"""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from mqclient.consumer.subscription import TAG, Subscription
from mqclient.errors import ClientError
from pipeline.errors import BadOption
from pipeline.sources.live.access import ACCESS_OPTIONS, Access, access_of
from pipeline.sources.live.table import DEFAULT_COLUMNS, live_schema
from remoting.bodies import MessageQueue

EARLIEST: Final = -2
LATEST: Final = -1
_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}
_SOURCE: Final = (
    "subscribe",
    "subscribePattern",
    "assign",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsets",
    "startingOffsetsByTimestampStrategy",
    "filterExpression",
    "filterType",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "pullBatchSize",
    "pullTimeoutMs",
    "columns",
    "checkCrc",
)
_BATCH: Final = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_STREAM: Final = ("maxOffsetsPerTrigger", "maxBytesPerTrigger", "reportGroup")
_ROW: Final = ("columns", "checkCrc")
_SINK: Final = (
    "topic",
    "dedup",
    "dedupKey",
    "sendsInFlight",
    "sendRetries",
    "deliverBy",
    # This is Spark's own option for a stream, which it passes to the sink as well.
    "checkpointLocation",
    "path",
)


class Use(Enum):
    """What the options are used for; the value has the names that this use knows."""

    BATCH = (*ACCESS_OPTIONS, *_SOURCE, *_BATCH)
    STREAM = (*ACCESS_OPTIONS, *_SOURCE, *_STREAM)
    SCHEMA = (*ACCESS_OPTIONS, *_SOURCE, *_BATCH, *_STREAM)
    ARCHIVE = (*ACCESS_OPTIONS, *(name for name in _SOURCE if name not in _ROW), *_STREAM)
    SINK = (*ACCESS_OPTIONS, *_SINK)


class Wanted(NamedTuple):
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
    """

    offset: int
    by_queue: Mapping[MessageQueue, int] = {}
    is_time: bool = False
    time_ms: int | None = None


class Live(NamedTuple):
    """What a source reads; the defaults are those of the options."""

    access: Access
    wanted: Wanted
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
    report_group: str = ""
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    check_crc: bool = False

    @property
    def filters(self) -> bool:
        """Whether brokers leave messages out, so that gaps between offsets are no loss."""
        return self.filter != "*"


class Sink(NamedTuple):
    """Where rows are sent; with ``by_timer`` delayed rows use the timer messages of 5.x."""

    access: Access
    topic: str = ""
    dedup: bool = False
    dedup_key: str = ""
    in_flight: int = 32
    retries: int = 3
    by_timer: bool = False


def live_of(options: Mapping[str, str], *, use: Use) -> Live:
    """Return the settings of a source.

    Raises:
        BadOption: an option is unknown, missing, given twice, or has an invalid value.
    """
    check_names(options, use)
    columns = DEFAULT_COLUMNS
    if "columns" in options:
        columns = tuple(name.strip() for name in options["columns"].split(",") if name.strip())
    live_schema(columns)
    is_stream = use is Use.STREAM
    starting = _edge(options, "starting", default=LATEST if is_stream else EARLIEST)
    ending = _edge(options, "ending", default=LATEST)
    if use in (Use.BATCH, Use.ARCHIVE):
        _check_batch_edges(starting, ending)
    kind = options.get("filterType", TAG).upper()
    expression = options.get("filterExpression", "*")
    try:
        Subscription.parse(expression, kind=kind)
    except ClientError as error:
        raise BadOption(f"option filterExpression is {expression!r}: {error}") from error
    return Live(
        access=_access(options),
        wanted=_wanted(options),
        starting=starting,
        ending=ending,
        late_is_latest=_word(
            options, "startingOffsetsByTimestampStrategy", {"error": False, "latest": True}
        ),
        filter=expression or "*",
        filter_kind=kind,
        max_offsets=_number(options, "maxOffsetsPerTrigger"),
        max_bytes=_number(options, "maxBytesPerTrigger"),
        min_partitions=_number(options, "minPartitions") or 1,
        max_records=_number(options, "maxRecordsPerPartition"),
        fail_on_data_loss=_word(options, "failOnDataLoss", {"true": True, "false": False}),
        pull_batch_size=_number(options, "pullBatchSize") or 32,
        pull_timeout_s=(_number(options, "pullTimeoutMs") or 10_000) / 1000,
        report_group=options.get("reportGroup", ""),
        columns=columns,
        check_crc=_word(options, "checkCrc", {"false": False, "true": True}),
    )


def sink_of(options: Mapping[str, str]) -> Sink:
    """Return the settings of a sink.

    Raises:
        BadOption: as ``live_of``.
    """
    check_names(options, Use.SINK)
    dedup_key = options.get("dedupKey", "")
    return Sink(
        access=_access(options),
        topic=options.get("topic", ""),
        dedup=bool(dedup_key) or _word(options, "dedup", {"false": False, "true": True}),
        dedup_key=dedup_key,
        in_flight=_number(options, "sendsInFlight") or 32,
        retries=_number(options, "sendRetries") or 3,
        by_timer=_word(options, "deliverBy", {"level": False, "timer": True}),
    )


def check_names(options: Mapping[str, str], use: Use) -> None:
    """Check that a use knows all names of the options.

    Raises:
        BadOption: a name is unknown.
    """
    known = {name.lower() for name in use.value}
    for name in options:
        if name.lower() in known:
            continue
        elsewhere = [
            other.name.lower()
            for other in (Use.BATCH, Use.STREAM, Use.SINK)
            if name.lower() in {one.lower() for one in other.value}
        ]
        if elsewhere:
            raise BadOption(
                f"rocketmq option {name!r} is for a {' or '.join(elsewhere)}, "
                f"not for a {use.name.lower()}"
            )
        raise BadOption(f"rocketmq has no option {name!r}; it has {', '.join(use.value)}")


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
    if not topic or not broker or not queue_id.isdecimal():
        raise BadOption(f"{text!r} is no queue, expected topic@broker@queue")
    return MessageQueue(topic, broker, int(queue_id))


def _access(options: Mapping[str, str]) -> Access:
    return access_of(
        options,
        timeout_ms=_number(options, "timeoutMs") or 5_000,
        tls=_word(options, "tls", {"false": False, "true": True}),
    )


def _wanted(options: Mapping[str, str]) -> Wanted:
    ways = ("subscribe", "subscribePattern", "assign")
    given = [name for name in ways if options.get(name)]
    if len(given) != 1:
        raise BadOption(
            f"rocketmq needs one of the options {', '.join(ways)}, not {', '.join(given) or 'none'}"
        )
    if given == ["subscribe"]:
        topics = [name.strip() for name in options["subscribe"].split(",") if name.strip()]
        return Wanted(topics=tuple(sorted(set(topics))))
    if given == ["subscribePattern"]:
        return Wanted(pattern=options["subscribePattern"])
    return Wanted(queues=tuple(_assigned(options["assign"])))


def _assigned(text: str) -> list[MessageQueue]:
    found: set[MessageQueue] = set()
    for topic, brokers in _tree(text, "assign").items():
        for broker, queues in _branch(brokers, "assign").items():
            if not isinstance(queues, list) or not all(isinstance(one, int) for one in queues):
                raise BadOption(f"option assign: {topic}, {broker} has {queues!r}, expected [0, 1]")
            found |= {MessageQueue(topic, broker, number) for number in queues}
    return sorted(found)


def _edge(options: Mapping[str, str], side: str, *, default: int) -> Edge:
    """Return an edge; the first given of its three options counts, as in Spark's Kafka source."""
    time_text = options.get(f"{side}Timestamp")
    if time_text is not None:
        return Edge(default, is_time=True, time_ms=_number(options, f"{side}Timestamp", low=0))
    name = f"{side}OffsetsByTimestamp"
    if name in options:
        return Edge(default, _by_queue(options[name], name), is_time=True)
    name = f"{side}Offsets"
    text = options.get(name)
    if text is None:
        return Edge(default)
    if text.lower() in _WORDS:
        return Edge(_WORDS[text.lower()])
    return Edge(default, _by_queue(text, name))


def _check_batch_edges(starting: Edge, ending: Edge) -> None:
    for name, edge, refused, why in (
        ("startingOffsets", starting, LATEST, "latest, which is for a stream, not a batch"),
        ("endingOffsets", ending, EARLIEST, "earliest, with which a batch would have no rows"),
    ):
        if edge.offset == refused:
            raise BadOption(f"option {name} is {why}")
        found = [queue for queue, offset in edge.by_queue.items() if offset == refused]
        if found and not edge.is_time:
            raise BadOption(f"option {name}: {queue_text(found[0])} has {refused}, {why}")


def _by_queue(text: str, name: str) -> dict[MessageQueue, int]:
    found: dict[MessageQueue, int] = {}
    is_time = "Timestamp" in name
    expected = "ms since 1970" if is_time else "an offset, -2 (earliest) or -1 (latest)"
    low = 0 if is_time else EARLIEST
    for topic, brokers in _tree(text, name).items():
        for broker, queues in _branch(brokers, name).items():
            for queue_id, value in _branch(queues, name).items():
                if not queue_id.isdecimal() or not isinstance(value, int) or value < low:
                    raise BadOption(
                        f"option {name}: {topic}, {broker} has {queue_id!r}: {value!r}, "
                        f"expected a queue id and {expected}"
                    )
                found[MessageQueue(topic, broker, int(queue_id))] = value
    return found


def _tree(text: str, name: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadOption(f"option {name} is {text!r}, no word it knows and no JSON") from error
    return _branch(value, name)


def _branch(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BadOption(f"option {name} has {value!r}, expected JSON topic -> broker -> queue")
    return {str(key): item for key, item in value.items()}


def _number(options: Mapping[str, str], name: str, *, low: int = 1) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < low:
        raise BadOption(f"option {name} is {text!r}, expected a whole number of at least {low}")
    return int(text)


def _word(options: Mapping[str, str], name: str, words: Mapping[str, bool]) -> bool:
    """Return what one of two words means; the first is the default."""
    text = options.get(name, next(iter(words))).lower()
    if text not in words:
        raise BadOption(f"option {name} is {text!r}, expected {' or '.join(words)}")
    return words[text]
