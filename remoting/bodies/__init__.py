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

# ruff: noqa: F403
# These imports are for type checkers; at runtime ``_FAMILIES`` says where a class is.
if TYPE_CHECKING:
    from remoting.bodies.acl import *
    from remoting.bodies.auth import *
    from remoting.bodies.base import *
    from remoting.bodies.clients import *
    from remoting.bodies.configs import *
    from remoting.bodies.controller import *
    from remoting.bodies.filters import *
    from remoting.bodies.ha import *
    from remoting.bodies.heartbeat import *
    from remoting.bodies.offsets import *
    from remoting.bodies.pop import *
    from remoting.bodies.queues import *
    from remoting.bodies.register import *
    from remoting.bodies.route import *
    from remoting.bodies.static_topic import *
    from remoting.bodies.stats import *
    from remoting.bodies.storage import *
    from remoting.bodies.tables import *
    from remoting.bodies.transactions import *

_FAMILIES: Final = {
    "remoting.bodies.acl": "AclConfig GetBrokerClusterAclConfigResponseBody PlainAccessConfig",
    "remoting.bodies.auth": "AclInfo PolicyEntryInfo PolicyInfo UserInfo",
    "remoting.bodies.base": "Body",
    "remoting.bodies.clients": (
        "CMResult Connection ConsumeMessageDirectlyResult ConsumeStatus ConsumerConnection "
        "ConsumerRunningInfo ProcessQueueInfo ProducerConnection ProducerInfo ProducerTableInfo"
    ),
    "remoting.bodies.configs": (
        "SubscriptionGroupWrapper TopicConfigSerializeWrapper decode_value encode_value"
    ),
    "remoting.bodies.filters": "BloomFilterData ConsumerFilterData",
    "remoting.bodies.heartbeat": (
        "CheckClientRequestBody ConsumeFromWhere ConsumeType ConsumerData HeartbeatData "
        "MessageModel ProducerData SubscriptionData"
    ),
    "remoting.bodies.offsets": (
        "ConsumerOffsetSerializeWrapper DelayOffsetSerializeWrapper GetConsumerStatusBody "
        "MessageQueueForC OffsetMovedEvent OffsetSerializeWrapper QueryConsumeTimeSpanBody "
        "QueryCorrectionOffsetBody QueueTimeSpan ResetOffsetBody ResetOffsetBodyForC"
    ),
    "remoting.bodies.pop": (
        "BatchAck BatchAckMessageRequestBody MessageQueueAssignment MessageRequestMode "
        "MessageRequestModeSerializeWrapper QueryAssignmentRequestBody "
        "QueryAssignmentResponseBody SetMessageRequestModeRequestBody"
    ),
    "remoting.bodies.queues": (
        "LockBatchRequestBody LockBatchResponseBody MessageQueue UnlockBatchRequestBody"
    ),
    "remoting.bodies.register": "RegisterBrokerBody",
    "remoting.bodies.route": "BrokerData ClusterInfo QueueData TopicRouteData",
    "remoting.bodies.static_topic": (
        "LogicQueueMappingItem TopicConfigAndQueueMapping TopicQueueMappingDetail "
        "TopicQueueMappingInfo TopicRemappingDetailWrapper"
    ),
    "remoting.bodies.stats": (
        "BrokerStatsData BrokerStatsItem ConsumeStats ConsumeStatsList OffsetWrapper "
        "TopicOffset TopicStatsTable"
    ),
    "remoting.bodies.storage": (
        "CheckRocksdbCqWriteResult ColdDataFlowCtrInfo ColdDataReads ConsumeQueueData "
        "QueryConsumeQueueResponseBody TimerMetric TimerMetrics"
    ),
    "remoting.bodies.tables": (
        "GetConsumerListByGroupResponseBody GroupList KVConfigSerializeWrapper KVTable TopicList"
    ),
    "remoting.bodies.controller": (
        "BrokerMemberGroup BrokerReplicasInfo ElectMasterResponseBody EpochEntry EpochEntryCache "
        "ReplicaIdentity ReplicasInfo SyncStateSet"
    ),
    "remoting.bodies.ha": "HAClientRuntimeInfo HAConnectionRuntimeInfo HARuntimeInfo",
    "remoting.bodies.transactions": "OpenTransaction OpenTransactions",
}
"""The classes that each module has."""

__all__ = sorted(" ".join(_FAMILIES.values()).split())

__getattr__ = on_demand(__name__, _FAMILIES)
