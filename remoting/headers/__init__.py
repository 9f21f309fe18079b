"""Typed headers: one dataclass per header class of RocketMQ 4.9.7, and some of 5.4.0.

Java's ``XxxRequestHeader`` is called ``Xxx`` here, and ``XxxResponseHeader`` is called
``XxxResponse``; only ``ConsumeMessageDirectly`` leaves out Java's ``Result``, the name of the body
that answers it. Attributes have the Java names in snake_case, except in ``SendMessageV2``, whose
names on the wire are single letters.

Rule: a class declares the fields on the wire; the handler of a request checks whether a value makes
sense.

Each class is loaded when it is first used, because loading all of them takes 40 ms, which is longer
than most commands run.
"""

from typing import TYPE_CHECKING, Final

from remoting.lazy import on_demand

# ruff: noqa: F403
# These imports are for type checkers; at runtime ``_FAMILIES`` says where a class is.
if TYPE_CHECKING:
    from remoting.headers.acl import *
    from remoting.headers.auth import *
    from remoting.headers.broker import *
    from remoting.headers.controller import *
    from remoting.headers.group import *
    from remoting.headers.message import *
    from remoting.headers.namesrv import *
    from remoting.headers.offset import *
    from remoting.headers.pop import *
    from remoting.headers.pull import *
    from remoting.headers.query import *
    from remoting.headers.route import *
    from remoting.headers.rpc import *
    from remoting.headers.static_topic import *
    from remoting.headers.storage import *
    from remoting.headers.topic import *
    from remoting.headers.transaction import *

_FAMILIES: Final = {
    "remoting.headers.acl": (
        "CreateAccessConfig DeleteAccessConfig GetBrokerAclConfigResponse "
        "UpdateGlobalWhiteAddrsConfig"
    ),
    "remoting.headers.auth": (
        "CreateAcl CreateUser DeleteAcl DeleteUser GetAcl GetUser ListAcls ListUsers UpdateAcl "
        "UpdateUser"
    ),
    "remoting.headers.broker": (
        "DemoteMaster GetBrokerConfigResponse GetEpoch GetEpochResponse HaEpoch PromoteSlave "
        "RegisterFilterServer RegisterFilterServerResponse RegisterMessageFilterClass "
        "ViewBrokerStatsData"
    ),
    "remoting.headers.controller": (
        "AddBroker AlterSyncStateSet AlterSyncStateSetResponse ApplyBrokerId "
        "ApplyBrokerIdResponse BrokerHeartbeat CleanBrokerData ElectMaster ElectMasterResponse "
        "ExchangeHaInfo GetMetaDataResponse GetNextBrokerId GetNextBrokerIdResponse GetReplicaInfo "
        "GetReplicaInfoResponse NotifyBrokerRoleChanged RegisterBrokerToController "
        "RegisterBrokerToControllerResponse RemoveBroker ResetMasterFlushOffset"
    ),
    "remoting.headers.group": (
        "DeleteSubscriptionGroup GetAllProducerInfo GetConsumeStats GetConsumeStatsInBroker "
        "GetConsumerConnectionList GetConsumerListByGroup GetConsumerListByGroupResponse "
        "GetConsumerRunningInfo GetProducerConnectionList NotifyConsumerIdsChanged "
        "UnregisterClient UnregisterClientResponse"
    ),
    "remoting.headers.message": (
        "ConsumeMessageDirectly ConsumerSendMsgBack ReplyMessage SendMessage "
        "SendMessageResponse SendMessageV2"
    ),
    "remoting.headers.namesrv": (
        "AddWritePermOfBroker AddWritePermOfBrokerResponse DeleteKVConfig "
        "DeleteTopicFromNamesrv GetKVConfig GetKVConfigResponse GetKVListByNamespace "
        "PutKVConfig QueryDataVersion QueryDataVersionResponse RegisterBroker "
        "RegisterBrokerResponse UnRegisterBroker WipeWritePermOfBroker "
        "WipeWritePermOfBrokerResponse"
    ),
    "remoting.headers.offset": (
        "CloneGroupOffset GetAllConsumerOffset GetConsumerStatus GetEarliestMsgStoretime "
        "GetEarliestMsgStoretimeResponse GetMaxOffset GetMaxOffsetResponse GetMinOffset "
        "GetMinOffsetResponse QueryConsumeTimeSpan QueryConsumerOffset "
        "QueryConsumerOffsetResponse QueryCorrectionOffset ResetOffset SearchOffset "
        "SearchOffsetResponse UpdateConsumerOffset UpdateConsumerOffsetResponse"
    ),
    "remoting.headers.pop": (
        "AckMessage ChangeInvisibleTime ChangeInvisibleTimeResponse Notification "
        "NotificationResponse PeekMessage PollingInfo PollingInfoResponse PopMessage "
        "PopMessageResponse RecallMessage RecallMessageResponse"
    ),
    "remoting.headers.pull": "PullMessage PullMessageResponse QueryConsumeQueue",
    "remoting.headers.query": "QueryMessage QueryMessageResponse ViewMessage",
    "remoting.headers.route": "GetRouteInfo",
    "remoting.headers.rpc": "Rpc",
    "remoting.headers.static_topic": "CreateStaticTopic",
    "remoting.headers.storage": (
        "CheckRocksdbCqWriteProgress ExportRocksDBConfigToJson SetReadAheadMode SwitchTimerEngine"
    ),
    "remoting.headers.topic": (
        "CreateTopic DeleteTopic GetAllTopicConfigResponse GetTopicStatsInfo GetTopicsByCluster "
        "QueryTopicConsumeByWho"
    ),
    "remoting.headers.transaction": "CheckTransactionState EndTransaction ResumeCheckHalfMessage",
}
"""The classes that each module has."""

__all__ = sorted(" ".join(_FAMILIES.values()).split())

__getattr__ = on_demand(__name__, _FAMILIES)
