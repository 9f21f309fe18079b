"""Topics and routes: request codes 105, 106, 206, 216, 224, 304, 311, 312 and 313.

Source: namesrv/processor/ClientRequestProcessor.java, DefaultRequestProcessor.java.
"""

from collections.abc import Callable

from mqserver.namesrv.kvconfig import ORDER_TOPIC_CONFIG
from mqserver.namesrv.namesrv_state import NamesrvState
from mqserver.namesrv.routes import UnitTopics
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, in_slices, large
from remoting.bodies import TopicList
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import DeleteTopicFromNamesrv, GetTopicsByCluster

FAQ_HINT = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


@handles(RequestCode.GET_ROUTEINFO_BY_TOPIC)
def get_route(state: NamesrvState, request: Request) -> Command:
    """Answer with brokers and queues of a topic, or code 17."""
    ext = request.command.ext
    # GetRouteInfo would refuse a request without a topic; Java answers it with code 17 as well.
    topic = ext.get("topic", "null")
    route = state.routes.route(topic)
    if route is None:
        raise RequestRefused(
            ResponseCode.TOPIC_NOT_EXIST,
            f"No topic route info in name server for the topic: {topic}{FAQ_HINT}",
        )
    if state.config.order_message_enable:
        route.order_topic_conf = state.kv.get(ORDER_TOPIC_CONFIG, topic)
    strict_only = ext.get("acceptStandardJsonOnly", "").lower() == "true"
    body = route.encode_for(request.command.version, strict_only=strict_only)
    return request.command.response(body=body)


@handles(RequestCode.GET_BROKER_CLUSTER_INFO)
@in_slices
def get_cluster_info(state: NamesrvState, request: Request) -> Steps[Command]:
    """Answer with all brokers and clusters, with unquoted integer keys for every version."""
    info = state.routes.cluster_info()
    text = yield from large(info.encode, count=len(info.broker_addr_table))
    return request.command.response(body=text)


@handles(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
@in_slices
def get_topics(state: NamesrvState, request: Request) -> Steps[Command]:
    """Answer with the names of all topics."""
    return (yield from _answer(request, state.routes.topics()))


@handles(RequestCode.GET_TOPICS_BY_CLUSTER)
@in_slices
def get_topics_of_cluster(state: NamesrvState, request: Request) -> Steps[Command]:
    """Answer with the topics of one cluster; an unknown cluster has none."""
    header = request.command.header(GetTopicsByCluster)
    return (
        yield from _list(state, request, lambda: state.routes.topics_of_cluster(header.cluster))
    )


@handles(RequestCode.DELETE_TOPIC_IN_NAMESRV)
def delete_topic(state: NamesrvState, request: Request) -> Command:
    """Delete a topic everywhere, or only on the brokers of one cluster."""
    header = request.command.header(DeleteTopicFromNamesrv)
    state.routes.delete_topic(header.topic, header.cluster_name)
    return request.command.response()


@handles(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
@in_slices
def get_system_topics(state: NamesrvState, request: Request) -> Steps[Command]:
    """Answer with cluster and broker names, and a broker that knows the other system topics."""
    return (yield from _answer(request, state.routes.system_topics()))


@handles(RequestCode.GET_UNIT_TOPIC_LIST)
@in_slices
def get_unit_topics(state: NamesrvState, request: Request) -> Steps[Command]:
    """Answer with the topics that have the unit flag."""
    return (yield from _list(state, request, lambda: state.routes.unit_topics(UnitTopics.UNIT)))


@handles(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST)
@in_slices
def get_unit_sub_topics(state: NamesrvState, request: Request) -> Steps[Command]:
    """Answer with the topics that have the unit subscription flag."""
    return (yield from _list(state, request, lambda: state.routes.unit_topics(UnitTopics.UNIT_SUB)))


@handles(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST)
@in_slices
def get_unit_sub_not_unit_topics(state: NamesrvState, request: Request) -> Steps[Command]:
    """Answer with the topics that have the unit subscription flag and not the unit flag."""
    return (
        yield from _list(
            state, request, lambda: state.routes.unit_topics(UnitTopics.UNIT_SUB_NOT_UNIT)
        )
    )


def _answer(request: Request, topics: TopicList) -> Steps[Command]:
    text = yield from large(topics.encode, count=len(topics.topic_list))
    return request.command.response(body=text)


def _list(state: NamesrvState, request: Request, find: Callable[[], TopicList]) -> Steps[Command]:
    """Answer with topics that ``find`` selects from all topics."""
    text = yield from large(lambda: find().encode(), count=state.routes.topic_count)
    return request.command.response(body=text)
