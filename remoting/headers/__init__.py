"""Typed headers: one dataclass per header class of RocketMQ 4.9.7.

Java's ``XxxRequestHeader`` is called ``Xxx`` here, and ``XxxResponseHeader`` is called
``XxxResponse``. Attributes have the Java names in snake_case, except in ``SendMessageV2``, whose
names on the wire are single letters.

Rule: a class declares the fields on the wire; the handler of a request checks whether a value makes
sense.

Each class is loaded when it is first used, because loading all of them takes 40 ms, which is longer
than most commands run.
"""

from typing import TYPE_CHECKING, Final

from remoting.lazy import on_demand

if TYPE_CHECKING:
    from remoting.headers.acl import (
        CreateAccessConfig,
        DeleteAccessConfig,
        GetBrokerAclConfigResponse,
        GetBrokerClusterAclConfigResponse,
        UpdateGlobalWhiteAddrsConfig,
    )
    from remoting.headers.broker import (
        DemoteMaster,
        GetBrokerConfigResponse,
        HaEpoch,
        PromoteSlave,
        RegisterFilterServer,
        RegisterFilterServerResponse,
        RegisterMessageFilterClass,
        ViewBrokerStatsData,
    )
    from remoting.headers.group import (
        DeleteSubscriptionGroup,
        GetAllProducerInfo,
        GetConsumerConnectionList,
        GetConsumerListByGroup,
        GetConsumerListByGroupResponse,
        GetConsumerRunningInfo,
        GetConsumeStats,
        GetConsumeStatsInBroker,
        GetProducerConnectionList,
        NotifyConsumerIdsChanged,
        UnregisterClient,
        UnregisterClientResponse,
    )
    from remoting.headers.message import (
        ConsumeMessageDirectlyResult,
        ConsumerSendMsgBack,
        ReplyMessage,
        SendMessage,
        SendMessageResponse,
        SendMessageV2,
    )
    from remoting.headers.namesrv import (
        AddWritePermOfBroker,
        AddWritePermOfBrokerResponse,
        DeleteKVConfig,
        DeleteTopicFromNamesrv,
        GetKVConfig,
        GetKVConfigResponse,
        GetKVListByNamespace,
        PutKVConfig,
        QueryDataVersion,
        QueryDataVersionResponse,
        RegisterBroker,
        RegisterBrokerResponse,
        RegisterOrderTopic,
        UnRegisterBroker,
        WipeWritePermOfBroker,
        WipeWritePermOfBrokerResponse,
    )
    from remoting.headers.offset import (
        CloneGroupOffset,
        GetConsumerStatus,
        GetEarliestMsgStoretime,
        GetEarliestMsgStoretimeResponse,
        GetMaxOffset,
        GetMaxOffsetResponse,
        GetMinOffset,
        GetMinOffsetResponse,
        QueryConsumerOffset,
        QueryConsumerOffsetResponse,
        QueryConsumeTimeSpan,
        QueryCorrectionOffset,
        ResetOffset,
        SearchOffset,
        SearchOffsetResponse,
        UpdateConsumerOffset,
        UpdateConsumerOffsetResponse,
    )
    from remoting.headers.pull import PullMessage, PullMessageResponse, QueryConsumeQueue
    from remoting.headers.query import (
        QueryMessage,
        QueryMessageResponse,
        ViewMessage,
        ViewMessageResponse,
    )
    from remoting.headers.route import GetRouteInfo
    from remoting.headers.rpc import Rpc
    from remoting.headers.topic import (
        CreateTopic,
        DeleteTopic,
        GetAllTopicConfigResponse,
        GetTopicsByCluster,
        GetTopicStatsInfo,
        QueryTopicConsumeByWho,
    )
    from remoting.headers.transaction import (
        CheckTransactionState,
        CheckTransactionStateResponse,
        EndTransaction,
        EndTransactionResponse,
        ResumeCheckHalfMessage,
    )

__all__ = [
    "AddWritePermOfBroker",
    "AddWritePermOfBrokerResponse",
    "CheckTransactionState",
    "CheckTransactionStateResponse",
    "CloneGroupOffset",
    "ConsumeMessageDirectlyResult",
    "ConsumerSendMsgBack",
    "CreateAccessConfig",
    "CreateTopic",
    "DeleteAccessConfig",
    "DeleteKVConfig",
    "DeleteSubscriptionGroup",
    "DeleteTopic",
    "DeleteTopicFromNamesrv",
    "DemoteMaster",
    "EndTransaction",
    "EndTransactionResponse",
    "GetAllProducerInfo",
    "GetAllTopicConfigResponse",
    "GetBrokerAclConfigResponse",
    "GetBrokerClusterAclConfigResponse",
    "GetBrokerConfigResponse",
    "GetConsumeStats",
    "GetConsumeStatsInBroker",
    "GetConsumerConnectionList",
    "GetConsumerListByGroup",
    "GetConsumerListByGroupResponse",
    "GetConsumerRunningInfo",
    "GetConsumerStatus",
    "GetEarliestMsgStoretime",
    "GetEarliestMsgStoretimeResponse",
    "GetKVConfig",
    "GetKVConfigResponse",
    "GetKVListByNamespace",
    "GetMaxOffset",
    "GetMaxOffsetResponse",
    "GetMinOffset",
    "GetMinOffsetResponse",
    "GetProducerConnectionList",
    "GetRouteInfo",
    "GetTopicStatsInfo",
    "GetTopicsByCluster",
    "HaEpoch",
    "NotifyConsumerIdsChanged",
    "PromoteSlave",
    "PullMessage",
    "PullMessageResponse",
    "PutKVConfig",
    "QueryConsumeQueue",
    "QueryConsumeTimeSpan",
    "QueryConsumerOffset",
    "QueryConsumerOffsetResponse",
    "QueryCorrectionOffset",
    "QueryDataVersion",
    "QueryDataVersionResponse",
    "QueryMessage",
    "QueryMessageResponse",
    "QueryTopicConsumeByWho",
    "RegisterBroker",
    "RegisterBrokerResponse",
    "RegisterFilterServer",
    "RegisterFilterServerResponse",
    "RegisterMessageFilterClass",
    "RegisterOrderTopic",
    "ReplyMessage",
    "ResetOffset",
    "ResumeCheckHalfMessage",
    "Rpc",
    "SearchOffset",
    "SearchOffsetResponse",
    "SendMessage",
    "SendMessageResponse",
    "SendMessageV2",
    "UnRegisterBroker",
    "UnregisterClient",
    "UnregisterClientResponse",
    "UpdateConsumerOffset",
    "UpdateConsumerOffsetResponse",
    "UpdateGlobalWhiteAddrsConfig",
    "ViewBrokerStatsData",
    "ViewMessage",
    "ViewMessageResponse",
    "WipeWritePermOfBroker",
    "WipeWritePermOfBrokerResponse",
]

_FAMILIES: Final = {
    "remoting.headers.acl": (
        "CreateAccessConfig DeleteAccessConfig GetBrokerAclConfigResponse "
        "GetBrokerClusterAclConfigResponse UpdateGlobalWhiteAddrsConfig"
    ),
    "remoting.headers.broker": (
        "DemoteMaster GetBrokerConfigResponse HaEpoch PromoteSlave RegisterFilterServer "
        "RegisterFilterServerResponse RegisterMessageFilterClass ViewBrokerStatsData"
    ),
    "remoting.headers.group": (
        "DeleteSubscriptionGroup GetAllProducerInfo GetConsumeStats GetConsumeStatsInBroker "
        "GetConsumerConnectionList GetConsumerListByGroup GetConsumerListByGroupResponse "
        "GetConsumerRunningInfo GetProducerConnectionList NotifyConsumerIdsChanged "
        "UnregisterClient UnregisterClientResponse"
    ),
    "remoting.headers.message": (
        "ConsumeMessageDirectlyResult ConsumerSendMsgBack ReplyMessage SendMessage "
        "SendMessageResponse SendMessageV2"
    ),
    "remoting.headers.namesrv": (
        "AddWritePermOfBroker AddWritePermOfBrokerResponse DeleteKVConfig "
        "DeleteTopicFromNamesrv GetKVConfig GetKVConfigResponse GetKVListByNamespace "
        "PutKVConfig QueryDataVersion QueryDataVersionResponse RegisterBroker "
        "RegisterBrokerResponse RegisterOrderTopic UnRegisterBroker WipeWritePermOfBroker "
        "WipeWritePermOfBrokerResponse"
    ),
    "remoting.headers.offset": (
        "CloneGroupOffset GetConsumerStatus GetEarliestMsgStoretime "
        "GetEarliestMsgStoretimeResponse GetMaxOffset GetMaxOffsetResponse GetMinOffset "
        "GetMinOffsetResponse QueryConsumeTimeSpan QueryConsumerOffset "
        "QueryConsumerOffsetResponse QueryCorrectionOffset ResetOffset SearchOffset "
        "SearchOffsetResponse UpdateConsumerOffset UpdateConsumerOffsetResponse"
    ),
    "remoting.headers.pull": "PullMessage PullMessageResponse QueryConsumeQueue",
    "remoting.headers.query": "QueryMessage QueryMessageResponse ViewMessage ViewMessageResponse",
    "remoting.headers.route": "GetRouteInfo",
    "remoting.headers.rpc": "Rpc",
    "remoting.headers.topic": (
        "CreateTopic DeleteTopic GetAllTopicConfigResponse GetTopicStatsInfo "
        "GetTopicsByCluster QueryTopicConsumeByWho"
    ),
    "remoting.headers.transaction": (
        "CheckTransactionState CheckTransactionStateResponse EndTransaction "
        "EndTransactionResponse ResumeCheckHalfMessage"
    ),
}
"""The classes that each module has."""

__getattr__ = on_demand(__name__, _FAMILIES)
