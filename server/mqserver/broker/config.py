"""The settings of one broker, under RocketMQ's own keys.

The keys of a broker.conf are one flat list. :class:`BrokerConfig` has those of the broker and the
network, and its ``store`` (``mqserver.store.store_config``) has those of the store.

Rule: an attribute exists only if this broker uses it. A key that only Java uses is accepted with
a warning (``mqserver.runtime.javakeys``). A role or value that this broker does not support is
refused, and the error names it.

Source: common/BrokerConfig.java, store/config/MessageStoreConfig.java,
remoting/netty/NettyServerConfig.java.
"""

import dataclasses
import logging
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from mqserver.runtime.access.admin_gate import address_list
from mqserver.runtime.access.hostaddress import is_any_address, join_address, local_ip
from mqserver.runtime.javakeys import BROKER_KEYS, USER_KEYS
from mqserver.runtime.program.limits import IN_FLIGHT_SIZE_MIN, in_flight_size
from mqserver.runtime.tls import Tls, split_tls, tls_settings
from mqserver.runtime.typed_config import (
    RawSettings,
    SettingsError,
    Value,
    computed,
    format_settings,
    keys_of,
    setting,
)
from mqserver.store.store_config import StoreConfig
from storefmt.paths import StorePaths

LOG = logging.getLogger(__name__)

NAME_SIZE_MAX = 127
"""Longest broker or cluster name; they are also topics, and a record limits a topic to this."""
HELD_COUNT_MAX: Final = 65_536
"""Default limit of all held pulls together: one for each connection that may be open."""

NOT_TO_BE_IGNORED: Final[Mapping[str, tuple[str, ...]]] = {
    "enableDLegerCommitLog": ("false",),
    "filterServerNums": ("0",),
    "messageStorePlugIn": ("",),
    "readOnlyCommitLogStorePaths": ("",),
    "storePathDLedgerCommitLog": ("",),
}
"""Unsupported keys that are refused unless they have one of the values listed, which mean the same
here as in Java. A warning is not enough: other values decide where data lies or who has access."""

_AUTH: Final = "org.apache.rocketmq.auth"
AUTH_CLASSES: Final[Mapping[str, str]] = {
    "authenticationProvider": f"{_AUTH}.authentication.provider.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": (
        f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider"
    ),
    "authenticationStrategy": f"{_AUTH}.authentication.strategy.StatelessAuthenticationStrategy",
    "authorizationProvider": f"{_AUTH}.authorization.provider.DefaultAuthorizationProvider",
    "authorizationMetadataProvider": (
        f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider"
    ),
    "authorizationStrategy": f"{_AUTH}.authorization.strategy.StatelessAuthorizationStrategy",
}
"""The Java classes whose work this broker does, by the key that names one. The stateful strategies
of 5.x remember decisions and make the same."""

IMPORTANT_OF_STORE: Final = frozenset(
    {
        "accessMessageInMemoryMaxRatio",
        "cleanFileForciblyEnable",
        "deleteWhen",
        "fileReservedTime",
        "flushDiskType",
        "flushIntervalCommitLog",
        "maxTransferBytesOnMessageInDisk",
        "maxTransferBytesOnMessageInMemory",
        "maxTransferCountOnMessageInDisk",
        "maxTransferCountOnMessageInMemory",
        "messageIndexEnable",
        "storePathRootDir",
    }
)
"""Keys of the store that ``-m`` prints, as Java's ``@ImportantField`` marks them."""


MAY_BE_ZERO_IN_STORE: Final = frozenset(
    {
        "accessMessageInMemoryMaxRatio",
        "deleteCommitLogFilesInterval",
        "deleteConsumeQueueFilesInterval",
        "deleteWhen",
        "fileReservedTime",
        "flushCommitLogLeastPages",
    }
)


INT_MAX: Final = (1 << 31) - 1
"""Highest value of an integer setting of the store, which is an int32 in Java."""

HIGHEST_IN_STORE: Final = {
    "accessMessageInMemoryMaxRatio": 100,
    "diskMaxUsedSpaceRatio": 100,
}


def default_home() -> Path | None:
    """Return ROCKETMQ_HOME, the directory that contains ``conf``, or None if it is not set."""
    home = os.environ.get("ROCKETMQ_HOME")
    return Path(home) if home else None


def default_store_path() -> Path:
    """Return the default storePathRootDir, which is Java's."""
    return Path.home() / "store"


class BrokerRole(Enum):
    """The role of a broker in replication."""

    ASYNC_MASTER = "a master that does not wait for its slaves"
    SYNC_MASTER = "a master that waits for a slave"
    SLAVE = "a copy of a master"


class SlaveStart(Enum):
    """Where the log of an empty slave begins (slaveStartsAt)."""

    LAST_FILE = "the last file and what follows, as in Java"
    FIRST_FILE = "all that the master has"


def _default_store() -> StoreConfig:
    return StoreConfig(store_path_root_dir=default_store_path())


@dataclass(slots=True)
class BrokerConfig:
    """Settings of the broker and its network; times in ms, sizes in bytes.

    A setting whose docstring begins with "Extension" does not exist in RocketMQ 4.9.
    """

    broker_name: str = computed(socket.gethostname, important=True)
    """The name of the broker, which a master and its slaves share; the default is the host
    name."""
    broker_cluster_name: str = setting("DefaultCluster", important=True)
    """The cluster that the broker registers in; also the name of a topic."""
    broker_id: int = setting(0, low=0, important=True)
    """0 for a master, 1 or more for a slave."""
    broker_role: BrokerRole = dataclasses.field(
        default=BrokerRole.ASYNC_MASTER, metadata={"important": True}
    )
    """ASYNC_MASTER answers a send without waiting for slaves, SYNC_MASTER waits for one of them,
    and SLAVE copies a master."""
    broker_ip1: str = computed(local_ip, key="brokerIP1", important=True)
    """The address that clients connect to, as registered at the name servers."""
    broker_ip2: str = computed(local_ip, key="brokerIP2")
    """The address that slaves connect to, as registered at the name servers."""
    bind_address: str = setting("0.0.0.0")
    """Extension: the interface to listen on; Java 4.9 always listens on all of them."""
    listen_port: int = setting(10911, low=0, high=65535, important=True)
    """The port for clients; 0 takes a free port."""
    namesrv_addr: str | None = setting(None, important=True)
    """The name servers to register with, ``host:port`` joined by ``;``."""
    grpc_server_port: int | None = setting(None, low=0, high=65535)
    """Extension: the port for gRPC clients of RocketMQ 5, usually 8081; 0 takes a free port.
    Without this key there is no such port. Java has the key in the settings of its proxy."""
    broker_permission: int = setting(6, low=0, high=7)
    """What clients may do: 2 for sends, 4 for reads, 6 for both."""
    default_topic_queue_nums: int = setting(8, low=1, high=65536)
    """The most queues that a topic gets when a send creates it."""
    auto_create_topic_enable: bool = setting(True, important=True)
    """Let a send create its topic after the model of the topic TBW102."""
    auto_create_subscription_group: bool = setting(True, important=True)
    """Let a consumer group be used that has no settings; it gets the default settings."""
    cluster_topic_enable: bool = setting(True)
    """Open the topic with the name of the cluster to sends and reads."""
    broker_topic_enable: bool = setting(True)
    """Open the topic with the name of the broker to sends and reads."""
    msg_trace_topic_name: str = setting("RMQ_SYS_TRACE_TOPIC", important=True)
    """The topic of message traces."""
    trace_topic_enable: bool = setting(False, important=True)
    """Create the topic of message traces at the start."""
    trace_on: bool = setting(True)
    """Tell producers, in the answers to their sends, to trace messages."""
    region_id: str = setting("DefaultRegion")
    """The region that answers to sends name; producers write it into their traces."""
    reject_transaction_message: bool = setting(False, important=True)
    """Refuse transactional messages."""
    recall_message_enable: bool = setting(True)
    """Extension: let producers take timer messages back; false in 5.x, where it has this name."""
    allow_recall_when_broker_not_writeable: bool = setting(True)
    """Extension: accept recalls of timer messages while brokerPermission forbids sends, as in
    5.x."""
    store_reply_message_enable: bool = setting(True)
    """Store replies to request messages as well as pushing them to the requester."""
    transaction_time_out_ms: int = setting(6_000, key="transactionTimeOut", low=0, important=True)
    """How long in ms a half message stays undecided before its producer is asked."""
    transaction_check_max: int = setting(15, low=0, important=True)
    """How often a producer is asked about a half message before the message is given up."""
    transaction_check_interval_ms: int = setting(
        60_000, key="transactionCheckInterval", low=1, important=True
    )
    """The time in ms between two rounds of transaction checks."""
    slave_read_enable: bool = setting(False)
    """Let slaves serve pulls, and let the master send slow consumer groups to them."""
    ha_listen_port: int = setting(0, low=0, high=65535)
    """The HA port, to which slaves connect; 0 takes listenPort + 1, as Java always does."""
    ha_master_address: str = setting("", important=True)
    """The master's HA port, ``host:port``; empty to ask the name server for it."""
    ha_send_heartbeat_interval_ms: int = setting(5_000, key="haSendHeartbeatInterval", low=1)
    """The time in ms after which an idle replication connection sends a heartbeat."""
    ha_housekeeping_interval_ms: int = setting(20_000, key="haHousekeepingInterval", low=1)
    """The silence in ms after which a replication connection is closed."""
    ha_transfer_batch_size: int = setting(32 << 10, low=1)
    """The most bytes of the log in one frame to a slave."""
    ha_slave_fallbehind_max: int = setting(256 << 20, low=1)
    """Bytes that a slave may be behind so that SYNC_MASTER still waits for it."""
    slave_timeout_ms: int = setting(3_000, key="slaveTimeout", low=1)
    """How long in ms a SYNC_MASTER waits for a slave before it answers FLUSH_SLAVE_TIMEOUT."""
    offset_check_in_slave: bool = setting(False)
    """Let a slave report that an offset has moved; otherwise its answer is to pull again, since it
    may be behind its master."""
    slave_addresses: str = setting("")
    """Extension: addresses that may connect as slaves, besides this machine."""
    broker_addresses: str = setting("")
    """Extension: the other brokers of this name, ``host:port`` joined by ``;``. A master asks them
    whether another one was promoted; needed with name servers that do not report epochs."""
    slave_starts_at: SlaveStart = SlaveStart.LAST_FILE
    """Extension: where the log of an empty slave begins."""
    slave_resync: bool = setting(False)
    """Extension: when a slave starts, cut its log where it was found to diverge from its
    master's."""
    enable_controller_mode: bool = setting(False)
    """Extension: join the group of brokerName, whose master a controller elects, as in 5.x;
    brokerId and brokerRole have no effect then."""
    controller_addr: str = setting("")
    """Extension: the controllers, ``host:port`` joined by ``;``, as in 5.x."""
    broker_heartbeat_interval_ms: int = setting(500, key="brokerHeartbeatInterval", low=10)
    """Extension: the time in ms between two heartbeats to controllers; 1,000 in 5.x."""
    controller_heartbeat_timeout_ms: int = setting(
        2_000, key="controllerHeartBeatTimeoutMills", low=100
    )
    """Extension: the silence in ms after which controllers take this broker for dead; 10,000 in
    5.x."""
    sync_broker_metadata_period_ms: int = setting(1_000, key="syncBrokerMetadataPeriod", low=10)
    """Extension: how often in ms a slave asks who the master is; 5,000 in 5.x."""
    broker_election_priority: int = setting((1 << 31) - 1, low=0)
    """Extension: of equal logs the broker with the lower number is elected, as in 5.x."""
    all_ack_in_sync_state_set: bool = setting(True)
    """Extension: answer a send when every replica of the in-sync set has it; false in 5.x, where a
    failover may lose what was answered."""
    in_sync_replicas: int = setting(1, low=1)
    """Extension: without allAckInSyncStateSet, how many replicas a send waits for, the master
    included, as in 5.x."""
    min_in_sync_replicas: int = setting(1, low=1)
    """Extension: with a smaller in-sync set sends are refused, as in 5.x."""
    ha_max_time_slave_not_catchup_ms: int = setting(2_500, key="haMaxTimeSlaveNotCatchup", low=100)
    """Extension: how long in ms a slave may lack bytes before it leaves the in-sync set; 15,000 in
    5.x, where sends wait for a slave that hangs as long as that."""
    sync_from_last_file: bool = setting(False)
    """Extension: let an empty replica begin with the master's last log file, as in 5.x."""
    async_learner: bool = setting(False)
    """Extension: copy the log and never join the in-sync set, as in 5.x."""
    long_polling_enable: bool = setting(True)
    """Hold a pull that finds no message for as long as the consumer asks; otherwise for
    shortPollingTimeMills."""
    short_polling_time_ms: int = setting(1_000, key="shortPollingTimeMills", low=1)
    """How long in ms a pull without messages is held while longPollingEnable is false."""
    held_pull_count_max: int = setting(HELD_COUNT_MAX, low=0)
    """Extension: most pulls that may wait for messages; further ones are answered at once."""
    notify_consumer_ids_changed_enable: bool = setting(True)
    """Notify the members of a consumer group when a member joins or leaves."""
    enable_property_filter: bool = setting(False)
    """Let consumers filter by SQL92 expressions."""
    filter_support_retry: bool = setting(False)
    """Test messages of retry topics with the filter of their real topic."""
    strict_filters: bool = setting(False)
    """Extension: refuse filters of which Java ignores a part, and allow LIKE."""
    enable_calc_filter_bit_map: bool = setting(False)
    """Store for each message which registered filters it matches; needs enableConsumeQueueExt."""
    expect_consumer_num_use_filter: int = setting(32, low=1)
    """The number of groups for which the bloom filter of a topic is sized."""
    max_error_rate_of_bloom_filter: int = setting(20, low=1, high=99)
    """The percentage of false matches for which the bloom filter is sized."""
    filter_data_clean_time_span_ms: int = setting(
        24 * 3_600_000, key="filterDataCleanTimeSpan", low=0
    )
    """How long in ms the filter of a group without members is kept."""
    flush_consumer_offset_interval_ms: int = setting(
        5_000, key="flushConsumerOffsetInterval", low=1
    )
    """How often in ms changed consumer offsets are saved."""
    flush_delay_offset_interval_ms: int = setting(200, key="flushDelayOffsetInterval", low=1)
    """How often changed delay offsets are saved; 10,000 in Java, where after a crash the messages
    of the last ten seconds are delivered again."""
    send_thread_pool_queue_capacity: int = setting(10_000, low=1)
    """Messages that may wait for the disk with SYNC_FLUSH before sends are refused (code 2)."""
    broker_fast_failure_enable: bool = setting(True)
    """Refuse sends that a slow write delays for longer than waitTimeMillsInSendQueue."""
    wait_time_in_send_queue_ms: int = setting(1_000, key="waitTimeMillsInSendQueue", low=1)
    """How long one write may delay the sends after it before these are refused (code 2); 200 in
    Java, where sends wait in the queue of a thread pool."""
    start_accept_send_request_time_stamp: int = setting(0, low=0)
    """Time in ms before which every send is refused (code 1)."""
    default_query_max_num: int = setting(32, low=1)
    """The most messages that a query by unique key returns."""
    register_name_server_period_ms: int = setting(30_000, key="registerNameServerPeriod", low=1)
    """The time in ms between two registrations at the name servers."""
    register_broker_timeout_ms: int = setting(6_000, key="registerBrokerTimeoutMills", low=1)
    """How long in ms the broker waits for the answer to a registration."""
    compressed_register: bool = setting(False)
    """Compress the body of registrations."""
    force_register: bool = setting(True)
    """Register in every period; otherwise only when a name server has another version of the
    topics."""
    acl_enable: bool = setting(False, important=True)
    """Require the accounts of ``conf/plain_acl.yml`` and ``conf/acl`` below rocketmqHome."""
    acl_strict: bool = setting(True)
    """Extension: ask for more rights than 4.9.7; false brings back its rules, see
    docs/security.md."""
    authentication_enabled: bool = setting(False)
    """Extension: require the users of ACL 2.0, which has this key in 5.x."""
    authorization_enabled: bool = setting(False)
    """Extension: check the rules of ACL 2.0 as well, as in 5.x."""
    authentication_whitelist: str = setting("")
    """Extension: request codes that need no signature, joined by commas, as in 5.x."""
    authorization_whitelist: str = setting("")
    """Extension: request codes that need no rule, joined by commas, as in 5.x."""
    init_authentication_user: str = setting("", secret=True)
    """Extension: a Super user to create at the start if there is no user of this name,
    ``{"username":"…","password":"…"}``, as in 5.x."""
    inner_client_authentication_credentials: str = setting("", secret=True)
    """Extension: the Super user with which this broker signs what it asks of others,
    ``{"accessKey":"…","secretKey":"…"}``; created at the start if there is none, as in 5.x."""
    migrate_auth_from_v1_enabled: bool = setting(False, key="migrateAuthFromV1Enabled")
    """Extension: create users and rules at the start for the accounts of ``conf/plain_acl.yml``
    and ``conf/acl`` that are not users yet, as in 5.x."""
    authentication_provider: str = setting("")
    """Extension: empty or the class of this name that 5.x has by default."""
    authentication_metadata_provider: str = setting("")
    """Extension: empty or LocalAuthenticationMetadataProvider, with its package."""
    authentication_strategy: str = setting("")
    """Extension: empty or one of the two strategies of 5.x, which decide the same."""
    authorization_provider: str = setting("")
    """Extension: empty or the class of this name that 5.x has by default."""
    authorization_metadata_provider: str = setting("")
    """Extension: empty or LocalAuthorizationMetadataProvider, with its package."""
    authorization_strategy: str = setting("")
    """Extension: empty or one of the two strategies of 5.x, which decide the same."""
    rocketmq_home: Path | None = dataclasses.field(default_factory=default_home)
    """Its directory ``conf`` contains the account files."""
    admin_addresses: str = setting("")
    """Extension: addresses that may administer a broker without ACL, besides its own machine."""
    server_channel_max_idle_time_s: int = setting(120, key="serverChannelMaxIdleTimeSeconds", low=1)
    """The silence in seconds after which the connection of a client is closed."""
    connections_max: int = setting(65_536, low=1)
    """Extension: most open connections; further ones are answered SYSTEM_BUSY and closed."""
    connections_per_address_max: int = setting(0, low=0)
    """Extension: most open connections of one address, with the same answer; 0 for no limit."""
    in_flight_size_max: int = computed(in_flight_size, low=IN_FLIGHT_SIZE_MIN)
    """Extension: most bytes of unfinished frames, unread answers, and log that waits for the disk;
    beyond that the connections with the most are closed. The default is a quarter of the memory."""
    server_socket_backlog: int = setting(1_024, low=1)
    """The connections that may wait in the kernel until the broker accepts them."""
    tls: Tls = dataclasses.field(default_factory=Tls)
    store: StoreConfig = dataclasses.field(default_factory=_default_store)
    not_used: dict[str, str] = dataclasses.field(default_factory=dict)
    """Settings of RocketMQ that this broker does not use, with the values that were given."""

    @property
    def broker_addr(self) -> str:
        """The address for clients, ``brokerIP1:listenPort``, as registered."""
        return join_address(self.broker_ip1, self.listen_port)

    @property
    def ha_server_addr(self) -> str:
        """The address for slaves, ``brokerIP2`` and the HA port, as registered."""
        return join_address(self.broker_ip2, self.ha_listen_port or self.listen_port + 1)

    @property
    def is_slave(self) -> bool:
        """Return whether this broker is a slave."""
        return self.broker_role is BrokerRole.SLAVE

    @property
    def namesrv_addrs(self) -> list[str]:
        """The name servers to register with, each ``host:port``."""
        return _addresses(self.namesrv_addr)

    @property
    def controller_addrs(self) -> list[str]:
        """The controllers, each ``host:port``."""
        return _addresses(self.controller_addr)

    @property
    def other_brokers(self) -> list[str]:
        """The other brokers of this name in brokerAddresses, each ``host:port``."""
        return _addresses(self.broker_addresses)


def broker_config(values: Iterable[Value]) -> BrokerConfig:
    """Return the configuration for raw settings.

    One warning lists all settings that only Java uses.

    Raises:
        SettingsError: a value or a combination cannot be used; the text has a line for each.
    """
    keys = keys_of(BrokerConfig).keys() | keys_of(StoreConfig).keys()
    plain, tls = split_tls(values)
    settings = RawSettings(plain, known=keys, java_keys=BROKER_KEYS | USER_KEYS)
    config = settings.build(BrokerConfig, tls=tls_settings(tls))
    config.store = settings.build(StoreConfig, store_path_root_dir=default_store_path())
    # A broker that binds one interface can usually be reached only there.
    if not is_any_address(config.bind_address):
        config.broker_ip1 = settings.text("brokerIP1") or config.bind_address
        config.broker_ip2 = settings.text("brokerIP2") or config.bind_address
    problems = [*_ignored_in_vain(settings.not_used, config.store), *faults(config)]
    if problems:
        raise SettingsError("\n".join(problems))
    config.not_used = {value.key: value.text for value in settings.not_used}
    if config.acl_enable and not config.acl_strict:
        LOG.warning("aclStrict is false: keys may do what docs/security.md lists as holes of 4.9.7")
    if config.authorization_enabled and not config.acl_strict:
        LOG.warning(
            "aclStrict is false: users may do what docs/security.md lists as holes of 5.4.0"
        )
    if settings.not_used:
        names = ", ".join(value.key for value in settings.not_used)
        LOG.warning("settings that RocketMQ has and that change nothing here: %s", names)
    return config


def _ignored_in_vain(not_used: Iterable[Value], store: StoreConfig) -> Iterator[str]:
    """Yield an error for each unsupported setting that must not be ignored."""
    for value in not_used:
        harmless = NOT_TO_BE_IGNORED.get(value.key)
        if harmless is not None and value.text not in harmless:
            yield f"{value.source}: {value.key} is {value.text!r}, which is not supported yet"
        elif value.key == "storePathCommitLog" and Path(value.text) != _commitlog_of(store):
            yield (
                f"{value.source}: storePathCommitLog is {value.text!r}, and only "
                f"{str(_commitlog_of(store))!r}, inside storePathRootDir, is supported yet"
            )


def _commitlog_of(store: StoreConfig) -> Path:
    return StorePaths(store.store_path_root_dir).commitlog


def faults(config: BrokerConfig) -> Iterator[str]:
    """Yield an error for each value that the type allows and the broker cannot use."""
    if config.enable_controller_mode:
        yield from _group_faults(config)
    elif config.is_slave and config.broker_id == 0:
        yield "brokerId is 0, expected 1 or more for a slave"
    elif not config.is_slave and config.broker_id != 0:
        yield f"brokerId is {config.broker_id}, expected 0 for a master"
    for key, name in (
        ("brokerName", config.broker_name),
        ("brokerClusterName", config.broker_cluster_name),
    ):
        if not name or len(name) > NAME_SIZE_MAX or not name.isprintable() or " " in name:
            yield f"{key} is {name!r}, expected 1 to {NAME_SIZE_MAX} printable characters, no blank"
    if config.grpc_server_port is not None and not config.namesrv_addrs:
        yield "grpcServerPort is set, and no namesrvAddr says where gRPC clients find routes"
    if config.acl_enable and config.rocketmq_home is None:
        yield "aclEnable is true, and neither rocketmqHome nor ROCKETMQ_HOME says where conf is"
    yield from _auth_faults(config)
    for key, text in (
        ("adminAddresses", config.admin_addresses),
        ("slaveAddresses", config.slave_addresses),
    ):
        try:
            address_list(text, key=key)
        except SettingsError as error:
            yield str(error)
    for key, addresses in (
        ("namesrvAddr", config.namesrv_addrs),
        ("brokerAddresses", config.other_brokers),
        ("controllerAddr", config.controller_addrs),
    ):
        for address in addresses:
            if not _is_address(address):
                yield f"{key} has {address!r}, expected host:port, several joined by ;"
    if config.ha_master_address and not _is_address(config.ha_master_address):
        yield f"haMasterAddress is {config.ha_master_address!r}, expected host:port"
    for key, text in format_settings(config.store):
        low, high = 0 if key in MAY_BE_ZERO_IN_STORE else 1, HIGHEST_IN_STORE.get(key, INT_MAX)
        if not text.lstrip("-").isdecimal():
            continue
        if int(text) < low:
            yield f"{key} is {text}, expected an integer, at least {low}"
        elif int(text) > high:
            yield f"{key} is {text}, expected an integer, at most {high}"
    for check in (config.store.delays_ms, config.store.delete_hours):
        try:
            check()
        except ValueError as error:
            yield str(error)


def _auth_faults(config: BrokerConfig) -> Iterator[str]:
    """Yield an error for each setting of ACL 2.0 that this broker cannot use."""
    for key, name in AUTH_CLASSES.items():
        given = getattr(config, keys_of(BrokerConfig)[key].attribute)
        if given and given not in (name, name.replace(".Stateless", ".Stateful")):
            yield f"{key} is {given}, and only {name}, which is the default, is supported"
    if config.authorization_enabled and not config.authentication_enabled:
        yield (
            "authorizationEnabled is true and authenticationEnabled is not: without signatures "
            "any client could claim to be any user"
        )
    if not config.authentication_enabled:
        return
    if config.acl_enable:
        yield (
            "aclEnable and authenticationEnabled are both true: choose one kind of accounts; "
            "migrateAuthFromV1Enabled makes users of the accounts in plain_acl.yml"
        )
    if config.grpc_server_port is not None and not config.inner_client_authentication_credentials:
        yield (
            "grpcServerPort and authenticationEnabled are set, and no "
            "innerClientAuthenticationCredentials says who asks brokers for gRPC clients"
        )
    if config.migrate_auth_from_v1_enabled and config.rocketmq_home is None:
        yield (
            "migrateAuthFromV1Enabled is true, and neither rocketmqHome nor ROCKETMQ_HOME says "
            "where conf is"
        )


def _group_faults(config: BrokerConfig) -> Iterator[str]:
    """Yield an error for each value that a broker with a controller cannot use."""
    if not config.controller_addrs:
        yield "enableControllerMode is true, and no controllerAddr says where controllers are"
    if config.controller_heartbeat_timeout_ms < 2 * config.broker_heartbeat_interval_ms:
        yield (
            f"controllerHeartBeatTimeoutMills is {config.controller_heartbeat_timeout_ms}, "
            "expected at least twice brokerHeartbeatInterval, which is "
            f"{config.broker_heartbeat_interval_ms}"
        )
    if config.ha_master_address:
        yield "haMasterAddress is set; with enableControllerMode the controller names the master"


def _addresses(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").replace(",", ";").split(";") if part.strip()]


def _is_address(address: str) -> bool:
    host, _, port = address.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 65536


def printed(config: BrokerConfig, *, important_only: bool = False) -> list[tuple[str, str]]:
    """Return key and text of every setting, or only of those that Java marks as important."""
    store = format_settings(config.store)
    return [
        *format_settings(config, important_only=important_only),
        *(pair for pair in store if pair[0] in IMPORTANT_OF_STORE or not important_only),
    ]
