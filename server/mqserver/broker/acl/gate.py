"""The check before every request of a broker: its accounts, or the rule for administrators.

Rule: with ``aclEnable`` or ``authenticationEnabled`` the accounts decide about every request, from
everywhere. Without them what an administrator writes is accepted only from this machine
(``mqserver.runtime.access.admin_gate``).

Source: broker/BrokerController.java#initialAcl.
"""

from collections.abc import Callable, Collection
from functools import partial

from mqserver.broker.acl.access import BrokerAccess
from mqserver.broker.acl.accounts import AclError, Perm
from mqserver.broker.acl.acl_files import AclFiles
from mqserver.broker.acl.control import AccessControl
from mqserver.broker.acl.first_users import codes_in, first_users
from mqserver.broker.acl.rules import ADMIN_WRITES
from mqserver.broker.acl.scope import Scopes
from mqserver.broker.acl.user_access import UserAccess, UserSettings
from mqserver.broker.config import BrokerConfig
from mqserver.broker.names import retry_topic
from mqserver.runtime.access.admin_gate import LocalGate, address_list, warn_if_open
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.request import Request, RequestRefused
from mqserver.store.store import MessageStore
from remoting.acl import ACCESS_KEY
from storefmt.errors import RecordDamaged
from storefmt.formats.message import decode_record
from storefmt.formats.properties import REAL_TOPIC
from storefmt.names import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC

Gate = Callable[[Request], None]


def open_access(
    config: BrokerConfig,
    store: MessageStore,
    *,
    now_ms: Callable[[], int],
    filter_servers: Callable[[], Collection[str]] = list,
) -> BrokerAccess | None:
    """Return the access control of a broker, or None if neither kind of accounts is enabled.

    Args:
        config: the settings.
        store: has the messages that requests refer to.
        now_ms: returns the wall clock.
        filter_servers: returns the addresses of the filter servers, which pass requests on.

    Raises:
        ConfigDamaged: an account file, or a setting that names a user, cannot be read.
        OSError: a damaged file that has a good ``.bak`` cannot be moved aside.
    """
    scopes = Scopes(lambda: own_addresses(config, filter_servers()), now_ms)
    find_topic = partial(topic_at, store)
    if config.authentication_enabled:
        settings = UserSettings(
            config.broker_cluster_name,
            checks_rules=config.authorization_enabled,
            strict=config.acl_strict,
            unsigned_codes=codes_in(config.authentication_whitelist),
            open_codes=codes_in(config.authorization_whitelist),
        )
        return UserAccess(first_users(config), settings, topic_at=find_topic, scopes=scopes)
    if not config.acl_enable or config.rocketmq_home is None:
        return None
    return AccessControl(
        AclFiles(config.rocketmq_home),
        strict=config.acl_strict,
        topic_at=find_topic,
        scopes=scopes,
    )


def own_addresses(config: BrokerConfig, filter_servers: Collection[str]) -> set[str]:
    """Return the addresses for which requests to a broker are signed."""
    fast = join_address(config.broker_ip1, config.listen_port - 2)
    return {config.broker_addr, fast, *filter_servers}


def make_gate(config: BrokerConfig, access: BrokerAccess | None) -> Gate:
    """Return a function that raises RequestRefused for a request that is not allowed."""
    if access is None:
        key = "adminAddresses"
        allowed = address_list(config.admin_addresses, key=key)
        warn_if_open(allowed, key=key)
        return LocalGate(ADMIN_WRITES, allowed=allowed, setting=key)

    def check(request: Request) -> None:
        try:
            conn = request.conn
            local_address = join_address(conn.local_ip, conn.local_port)
            access.check(conn.peer[0], request.command, at=local_address)
        except AclError as error:
            raise RequestRefused(error.response_code, error.remark) from error

    return check


def require_group(access: BrokerAccess | None, request: Request, group: str) -> None:
    """Check that the sender has SUB permission for a group; without ACL every sender has it.

    Raises:
        RequestRefused: the sender lacks the permission.
    """
    if access is None:
        return
    try:
        ip, access_key = request.conn.peer[0], request.command.ext.get(ACCESS_KEY)
        access.require(ip, access_key, (retry_topic(group), Perm.SUB))
    except AclError as error:
        raise RequestRefused(error.response_code, error.remark) from error


def topic_at(store: MessageStore, log_offset: int) -> str | None:
    """Return the topic of the message at a log offset, or None if there is no message.

    For a delayed message, a half message and one that was checked too often, this is the real
    topic.

    Bytes inside the body of a message may look like a record of any topic, and even extend over
    the messages behind it. So a record counts only if the entry of its queue points to it.

    Raises:
        AclError: the record cannot be read, or no entry of a queue points to it.
    """
    data = store.reader.read_record(log_offset) if log_offset >= 0 else None
    if data is None:
        return None
    try:
        record = decode_record(data, check_crc=False)
    except RecordDamaged as error:
        raise AclError(f"No message can be read at log offset {log_offset}: {error}") from None
    entries = store.reader.entries(
        record.topic, record.queue_id, start=record.queue_offset, count=1
    )
    if not entries or entries[0][:2] != (log_offset, len(data)):
        raise AclError(f"No entry of a queue points to log offset {log_offset}")
    if record.topic in (SCHEDULE_TOPIC, HALF_TOPIC, CHECK_MAX_TIME_TOPIC, TIMER_TOPIC):
        return record.properties.get(REAL_TOPIC, record.topic)
    return record.topic
