"""Request codes of RocketMQ 4.9.7 that no broker handles, each with the reason.

Rule: every code is either handled or listed here; a test checks all of ``RequestCode``. As in
Java, a code that is meant for a name server or a client is answered like an unknown code.

Source: common/protocol/RequestCode.java.
"""

from typing import Final

from remoting.codes import RequestCode

_NAMESRV: Final = "answered by name servers"
_CLIENT: Final = "answered by clients"
_UNUSED: Final = "a code that nothing in 4.9.7 handles"

NOT_FOR_BROKERS: Final = {
    RequestCode.PUT_KV_CONFIG: _NAMESRV,
    RequestCode.GET_KV_CONFIG: _NAMESRV,
    RequestCode.DELETE_KV_CONFIG: _NAMESRV,
    RequestCode.REGISTER_BROKER: _NAMESRV,
    RequestCode.UNREGISTER_BROKER: _NAMESRV,
    RequestCode.GET_ROUTEINFO_BY_TOPIC: _NAMESRV,
    RequestCode.GET_BROKER_CLUSTER_INFO: _NAMESRV,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: _NAMESRV,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: _NAMESRV,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: _NAMESRV,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: _NAMESRV,
    RequestCode.GET_KVLIST_BY_NAMESPACE: _NAMESRV,
    RequestCode.GET_TOPICS_BY_CLUSTER: _NAMESRV,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: _NAMESRV,
    RequestCode.GET_UNIT_TOPIC_LIST: _NAMESRV,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: _NAMESRV,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: _NAMESRV,
    RequestCode.UPDATE_NAMESRV_CONFIG: _NAMESRV,
    RequestCode.GET_NAMESRV_CONFIG: _NAMESRV,
    RequestCode.QUERY_DATA_VERSION: _NAMESRV,
    RequestCode.CHECK_TRANSACTION_STATE: _CLIENT,
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: _CLIENT,
    RequestCode.RESET_CONSUMER_CLIENT_OFFSET: _CLIENT,
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: _CLIENT,
    RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT: _CLIENT,
    RequestCode.QUERY_BROKER_OFFSET: _UNUSED,
    RequestCode.GET_TOPIC_CONFIG_LIST: _UNUSED,
    RequestCode.GET_TOPIC_NAME_LIST: _UNUSED,
    RequestCode.TRIGGER_DELETE_FILES: _UNUSED,
    RequestCode.SUSPEND_CONSUMER: _UNUSED,
    RequestCode.RESUME_CONSUMER: _UNUSED,
    RequestCode.RESET_CONSUMER_OFFSET_IN_CONSUMER: _UNUSED,
    RequestCode.RESET_CONSUMER_OFFSET_IN_BROKER: _UNUSED,
    RequestCode.ADJUST_CONSUMER_THREAD_POOL: _UNUSED,
    RequestCode.WHO_CONSUME_THE_MESSAGE: _UNUSED,
}
"""Codes that this broker answers like an unknown code, as a Java broker does."""
