"""JSON bodies: one dataclass per body class of RocketMQ 4.9.7, under Java's own names.

``Xxx.decode(data)`` reads what a Java peer wrote, and ``xxx.encode()`` writes what a Java peer can
read.

Rule: a set of Java is a list here, in the order in which it was received. Java writes sets in the
order of its hash tables, so two bodies with the same meaning may differ in their bytes.

Each class is loaded when it is first used, because loading all of them takes 40 ms, which is longer
than most commands run.
"""

from typing import TYPE_CHECKING, Final

from remoting.lazy import on_demand

if TYPE_CHECKING:
    from remoting.bodies.acl import (
        AclConfig,
        ClusterAclVersionInfo,
        GetBrokerClusterAclConfigResponseBody,
        PlainAccessConfig,
    )
    from remoting.bodies.base import Body
    from remoting.bodies.clients import (
        CMResult,
        Connection,
        ConsumeMessageDirectlyResult,
        ConsumerConnection,
        ConsumerRunningInfo,
        ConsumeStatus,
        ProcessQueueInfo,
        ProducerConnection,
        ProducerInfo,
        ProducerTableInfo,
    )
    from remoting.bodies.configs import (
        SubscriptionGroupWrapper,
        TopicConfigSerializeWrapper,
        decode_value,
        encode_value,
    )
    from remoting.bodies.consumequeue import ConsumeQueueData, QueryConsumeQueueResponseBody
    from remoting.bodies.filters import BloomFilterData, ConsumerFilterData
    from remoting.bodies.heartbeat import (
        CheckClientRequestBody,
        ConsumeFromWhere,
        ConsumerData,
        ConsumeType,
        HeartbeatData,
        MessageModel,
        ProducerData,
        SubscriptionData,
    )
    from remoting.bodies.locks import (
        LockBatchRequestBody,
        LockBatchResponseBody,
        UnlockBatchRequestBody,
    )
    from remoting.bodies.offsets import (
        ConsumerOffsetSerializeWrapper,
        DelayOffsetSerializeWrapper,
        GetConsumerStatusBody,
        MessageQueueForC,
        OffsetMovedEvent,
        OffsetSerializeWrapper,
        QueryConsumeTimeSpanBody,
        QueryCorrectionOffsetBody,
        QueueTimeSpan,
        ResetOffsetBody,
        ResetOffsetBodyForC,
    )
    from remoting.bodies.queues import MessageQueue
    from remoting.bodies.register import RegisterBrokerBody
    from remoting.bodies.route import BrokerData, ClusterInfo, QueueData, TopicRouteData
    from remoting.bodies.stats import (
        BrokerStatsData,
        BrokerStatsItem,
        ConsumeStats,
        ConsumeStatsList,
        OffsetWrapper,
        RollbackStats,
        TopicOffset,
        TopicStatsTable,
    )
    from remoting.bodies.tables import (
        ConsumeByWho,
        GetConsumerListByGroupResponseBody,
        GroupList,
        KVConfigSerializeWrapper,
        KVTable,
        TopicList,
    )
    from storefmt.config.tables import DataVersion, SubscriptionGroup, TopicConfig

__all__ = [
    "AclConfig",
    "BloomFilterData",
    "Body",
    "BrokerData",
    "BrokerStatsData",
    "BrokerStatsItem",
    "CMResult",
    "CheckClientRequestBody",
    "ClusterAclVersionInfo",
    "ClusterInfo",
    "Connection",
    "ConsumeByWho",
    "ConsumeFromWhere",
    "ConsumeMessageDirectlyResult",
    "ConsumeQueueData",
    "ConsumeStats",
    "ConsumeStatsList",
    "ConsumeStatus",
    "ConsumeType",
    "ConsumerConnection",
    "ConsumerData",
    "ConsumerFilterData",
    "ConsumerOffsetSerializeWrapper",
    "ConsumerRunningInfo",
    "DataVersion",
    "DelayOffsetSerializeWrapper",
    "GetBrokerClusterAclConfigResponseBody",
    "GetConsumerListByGroupResponseBody",
    "GetConsumerStatusBody",
    "GroupList",
    "HeartbeatData",
    "KVConfigSerializeWrapper",
    "KVTable",
    "LockBatchRequestBody",
    "LockBatchResponseBody",
    "MessageModel",
    "MessageQueue",
    "MessageQueueForC",
    "OffsetMovedEvent",
    "OffsetSerializeWrapper",
    "OffsetWrapper",
    "PlainAccessConfig",
    "ProcessQueueInfo",
    "ProducerConnection",
    "ProducerData",
    "ProducerInfo",
    "ProducerTableInfo",
    "QueryConsumeQueueResponseBody",
    "QueryConsumeTimeSpanBody",
    "QueryCorrectionOffsetBody",
    "QueueData",
    "QueueTimeSpan",
    "RegisterBrokerBody",
    "ResetOffsetBody",
    "ResetOffsetBodyForC",
    "RollbackStats",
    "SubscriptionData",
    "SubscriptionGroup",
    "SubscriptionGroupWrapper",
    "TopicConfig",
    "TopicConfigSerializeWrapper",
    "TopicList",
    "TopicOffset",
    "TopicRouteData",
    "TopicStatsTable",
    "UnlockBatchRequestBody",
    "decode_value",
    "encode_value",
]

_FAMILIES: Final = {
    "storefmt.config.tables": "DataVersion SubscriptionGroup TopicConfig",
    "remoting.bodies.acl": (
        "AclConfig ClusterAclVersionInfo GetBrokerClusterAclConfigResponseBody PlainAccessConfig"
    ),
    "remoting.bodies.base": "Body",
    "remoting.bodies.clients": (
        "CMResult Connection ConsumeMessageDirectlyResult ConsumeStatus ConsumerConnection "
        "ConsumerRunningInfo ProcessQueueInfo ProducerConnection ProducerInfo "
        "ProducerTableInfo"
    ),
    "remoting.bodies.configs": (
        "SubscriptionGroupWrapper TopicConfigSerializeWrapper decode_value encode_value"
    ),
    "remoting.bodies.consumequeue": "ConsumeQueueData QueryConsumeQueueResponseBody",
    "remoting.bodies.filters": "BloomFilterData ConsumerFilterData",
    "remoting.bodies.heartbeat": (
        "CheckClientRequestBody ConsumeFromWhere ConsumeType ConsumerData HeartbeatData "
        "MessageModel ProducerData SubscriptionData"
    ),
    "remoting.bodies.locks": "LockBatchRequestBody LockBatchResponseBody UnlockBatchRequestBody",
    "remoting.bodies.offsets": (
        "ConsumerOffsetSerializeWrapper DelayOffsetSerializeWrapper GetConsumerStatusBody "
        "MessageQueueForC OffsetMovedEvent OffsetSerializeWrapper QueryConsumeTimeSpanBody "
        "QueryCorrectionOffsetBody QueueTimeSpan ResetOffsetBody ResetOffsetBodyForC"
    ),
    "remoting.bodies.queues": "MessageQueue",
    "remoting.bodies.register": "RegisterBrokerBody",
    "remoting.bodies.route": "BrokerData ClusterInfo QueueData TopicRouteData",
    "remoting.bodies.stats": (
        "BrokerStatsData BrokerStatsItem ConsumeStats ConsumeStatsList OffsetWrapper "
        "RollbackStats TopicOffset TopicStatsTable"
    ),
    "remoting.bodies.tables": (
        "ConsumeByWho GetConsumerListByGroupResponseBody GroupList KVConfigSerializeWrapper "
        "KVTable TopicList"
    ),
}
"""The classes that each module has."""

__getattr__ = on_demand(__name__, _FAMILIES)
