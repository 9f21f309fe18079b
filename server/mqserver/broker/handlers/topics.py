"""Topics: create (17), delete (215), list (21, 305), one (351), statistics (202), groups (300), and
removal of queues whose topic no longer exists (316).

Source: broker/processor/AdminBrokerProcessor.java.
"""

from functools import partial

from mqserver.broker import names
from mqserver.broker.cold_handler import read_each
from mqserver.broker.deletions import delete_topic as delete_topic_of
from mqserver.broker.files.saves import answer_when_saved
from mqserver.broker.state import Broker
from mqserver.broker.topics import require_master
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, in_slices, large
from remoting.bodies import (
    GroupList,
    MessageQueue,
    TopicConfigSerializeWrapper,
    TopicList,
    TopicOffset,
    TopicStatsTable,
)
from remoting.codes import LaterCode, RequestCode, ResponseCode
from remoting.command import UNSET_REMARK, Command
from remoting.headers import (
    CreateTopic,
    DeleteTopic,
    GetAllTopicConfigResponse,
    GetTopicStatsInfo,
    QueryTopicConsumeByWho,
)
from remoting.headers.topic import GetTopicConfig
from storefmt.config import fastjson
from storefmt.config.tables import MULTI_TAG, SINGLE_TAG, TopicConfig
from storefmt.config.topic_attributes import alter_attributes
from storefmt.errors import BadCall

QUEUE_COUNT_MAX = 65_536


@handles(RequestCode.UPDATE_AND_CREATE_TOPIC)
def create_topic(broker: Broker, request: Request) -> None:
    """Create or replace a topic; answered when topics.json and the name servers have it."""
    require_master(broker.config)
    fields = request.command.header(CreateTopic)
    _check_name(broker, fields.topic)
    fault = _fault(fields)
    if fault is not None:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, fault)
    old = broker.topics.get(fields.topic)
    try:
        attributes = alter_attributes(
            old.attributes if old else {}, fields.attributes or "", is_new=old is None
        )
    except BadCall as error:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
    topic_settings = TopicConfig(
        topic_name=fields.topic,
        read_queue_nums=fields.read_queue_nums,
        write_queue_nums=fields.write_queue_nums,
        perm=fields.perm,
        topic_filter_type=fields.topic_filter_type,
        topic_sys_flag=fields.topic_sys_flag or 0,
        # Whether a topic is ordered is decided by the name servers' ORDER_TOPIC_CONFIG.
        order=old is not None and old.order,
    )
    broker.topics.put(topic_settings.with_attributes(attributes), now_ms=request.now_ms)
    # The sender will use the topic at once, so the name servers must know it before the answer.
    answer_when_saved(
        broker.files, request, name="topics", remark=UNSET_REMARK, then=broker.when_registered
    )


@handles(LaterCode.GET_TOPIC_CONFIG)
def get_topic(broker: Broker, request: Request) -> Command:
    """Return the settings of one topic, with its attributes."""
    name = request.command.header(GetTopicConfig).topic
    topic = broker.topics.get(name)
    if topic is None:
        raise RequestRefused(
            ResponseCode.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {name}"
        )
    return request.command.response(body=fastjson.dumps(topic.to_json()).encode())


@handles(RequestCode.DELETE_TOPIC_IN_BROKER)
def delete_topic(broker: Broker, request: Request) -> None:
    """Delete a topic and its queues; a missing topic is not an error."""
    require_master(broker.config)
    topic = request.command.header(DeleteTopic).topic
    _check_name(broker, topic)

    def done(failure: str) -> None:
        if failure:
            code = ResponseCode.SYSTEM_ERROR
            request.reply(request.command.response(code, remark=failure))
        else:
            answer_when_saved(broker.files, request, name="topics")

    delete_topic_of(broker, topic, now_ms=request.now_ms, done=done)


def _check_name(broker: Broker, topic: str) -> None:
    names.check_topic(topic)
    if broker.topics.is_system(topic):
        text = f"The topic[{topic}] is conflict with system topic."
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, text)


def _fault(fields: CreateTopic) -> str | None:
    for what, count in (
        ("readQueueNums", fields.read_queue_nums),
        ("writeQueueNums", fields.write_queue_nums),
    ):
        if not 0 <= count <= QUEUE_COUNT_MAX:
            return f"{what} is {count}, expected 0 to {QUEUE_COUNT_MAX}"
    if not 0 <= fields.perm <= 7:
        return f"perm is {fields.perm}, expected 0 to 7"
    if fields.topic_filter_type not in (SINGLE_TAG, MULTI_TAG):
        return f"topicFilterType is {fields.topic_filter_type}, expected SINGLE_TAG or MULTI_TAG"
    return None


@handles(RequestCode.GET_ALL_TOPIC_CONFIG)
@in_slices
def get_all_topics(broker: Broker, request: Request) -> Steps[Command]:
    """Return all topics and the table's data version."""
    table = broker.topics.table()
    body = TopicConfigSerializeWrapper(
        topic_config_table=table.topics, data_version=table.data_version
    )
    text = yield from large(body.encode, count=len(table.topics))
    return request.command.response(header=GetAllTopicConfigResponse(), body=text)


@handles(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
def get_system_topics(broker: Broker, request: Request) -> Command:
    """Return the system topics, which no request may create or delete."""
    body = TopicList(topic_list=sorted(broker.topics.system_names))
    return request.command.response(body=body.encode())


@handles(RequestCode.GET_TOPIC_STATS_INFO)
@in_slices
def get_topic_stats(broker: Broker, request: Request) -> Steps[Command]:
    """Return min offset, max offset and last store time of each write queue of a topic."""
    topic = request.command.header(GetTopicStatsInfo).topic
    config = broker.topics.get(topic)
    if config is None:
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
    store = broker.store

    def ends(queue_id: int) -> TopicOffset:
        last = store.max_offset(topic, queue_id)
        return TopicOffset(
            min_offset=store.min_offset(topic, queue_id),
            max_offset=last,
            last_update_timestamp=store.reader.store_time(topic, queue_id, last - 1) if last else 0,
        )

    queue_ids = range(config.write_queue_nums)
    ends_of = yield from read_each(broker, (partial(ends, queue_id) for queue_id in queue_ids))
    name = broker.config.broker_name

    def encode() -> bytes:
        table = {
            MessageQueue(topic=topic, broker_name=name, queue_id=queue_id): offsets
            for queue_id, offsets in enumerate(ends_of)
        }
        return TopicStatsTable(offset_table=table).encode()

    return request.command.response(body=(yield from large(encode, count=len(ends_of))))


@handles(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO)
def query_groups_of_topic(broker: Broker, request: Request) -> Command:
    """Return the groups that subscribe to a topic or have offsets in it."""
    topic = request.command.header(QueryTopicConsumeByWho).topic
    groups = {*broker.consumers.groups_on(topic), *broker.offsets.groups_of(topic)}
    return request.command.response(body=GroupList(group_list=sorted(groups)).encode())


@handles(RequestCode.CLEAN_UNUSED_TOPIC)
@in_slices
def clean_unused_topics(broker: Broker, request: Request) -> Steps[Command | None]:
    """Remove the queues of topics that no longer exist; answered when that is done.

    A slave does not remove any. Its log may have messages of a new topic that it has not copied
    from its master yet, and it removes the queues of deleted topics when it copies the topics.
    """
    if broker.config.is_slave:
        return request.command.response(remark="a slave keeps the queues that its master has")
    kept = broker.topics.names() | broker.topics.system_names
    left = {topic for topic, _ in broker.store.queues()} - kept
    failures: list[str] = []

    def done(topic: str, failure: str) -> None:
        left.discard(topic)
        if failure:
            failures.append(failure)
        if left:
            return
        code = ResponseCode.SYSTEM_ERROR if failures else ResponseCode.SUCCESS
        request.reply(request.command.response(code, remark=failures[0] if failures else None))

    if not left:
        return request.command.response()
    for topic in sorted(left):
        delete_topic_of(broker, topic, now_ms=request.now_ms, done=partial(done, topic))
        yield None
    return None
