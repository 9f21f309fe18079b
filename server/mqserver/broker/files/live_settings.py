"""Settings that change while the broker runs (request code 25), and are kept for its next start.

    key                                              a change is
    CHANGEABLE                                       checked, applied at once, kept
    another key that this broker uses                refused, unless the value is the same
    a key of 4.9.7 that this broker does not use     kept and reported (26), without effect
      and that is a path, class, address or role     refused, unless the value is the same
    any other key                                    refused, and the nearest known key is named

    request ── all changes valid? ──> BrokerConfig, StoreConfig ──> Broker.apply_settings
                    └───────────────> <storePathRootDir>/config/changedSettings.properties
    start   ── configuration ── changedSettings.properties overrides it ──> Broker

Rule: either all changes of a request are applied or none, and the resulting configuration is
checked as at the start. At the next start these changes override file, environment and flags, and
the log says so. If the file or a line of it is deleted, the configuration applies again. The
sender's permission to change settings is checked before this module is called.

Source: common/Configuration.java#update, #persist, which accepts every key (CVE-2023-33246),
ignores unknown ones, and writes all settings into the -c file. CHANGEABLE has the keys that 4.9.7
reads at each use.
"""

import copy
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mqserver.broker.config import NOT_TO_BE_IGNORED, BrokerConfig, faults, printed
from mqserver.runtime.javakeys import broker_defaults
from mqserver.runtime.jsonfile import load_state_file
from mqserver.runtime.properties import format_properties, parse_properties
from mqserver.runtime.tls import PREFIX as TLS_PREFIX
from mqserver.runtime.typed_config import Key, SettingsError, Value, convert, keys_of, unknown_key
from mqserver.store.store_config import StoreConfig
from storefmt.errors import ConfigDamaged
from storefmt.paths import StorePaths

LOG = logging.getLogger(__name__)

FILE_NAME: Final = "changedSettings.properties"

_CHANGEABLE = """
    accessMessageInMemoryMaxRatio autoCreateSubscriptionGroup autoCreateTopicEnable
    brokerFastFailureEnable brokerPermission cleanFileForciblyEnable cleanResourceInterval
    compressedRegister defaultQueryMaxNum deleteCommitLogFilesInterval
    deleteConsumeQueueFilesInterval deleteWhen diskMaxUsedSpaceRatio enableCalcFilterBitMap
    enablePropertyFilter fileReservedTime filterDataCleanTimeSpan filterSupportRetry
    flushCommitLogLeastPages flushCommitLogThoroughInterval flushConsumeQueueThoroughInterval
    flushConsumerOffsetInterval flushDelayOffsetInterval flushIntervalCommitLog
    flushIntervalConsumeQueue flushLeastPagesWhenWarmMapedFile forceRegister
    haHousekeepingInterval haSendHeartbeatInterval haSlaveFallbehindMax haTransferBatchSize
    longPollingEnable maxLmqConsumeQueueNum maxMessageSize maxMsgsNumBatch
    maxTransferBytesOnMessageInDisk maxTransferBytesOnMessageInMemory
    maxTransferCountOnMessageInDisk maxTransferCountOnMessageInMemory
    notifyConsumerIdsChangedEnable offsetCheckInSlave osPageCacheBusyTimeOutMills regionId
    registerBrokerTimeoutMills registerNameServerPeriod rejectTransactionMessage
    shortPollingTimeMills slaveReadEnable slaveTimeout startAcceptSendRequestTimeStamp
    storeReplyMessageEnable syncFlushTimeout traceOn transactionCheckInterval
    transactionCheckMax transactionTimeOut waitTimeMillsInSendQueue warmMapedFileEnable
"""

CHANGEABLE: Final = frozenset(_CHANGEABLE.split())
"""None of these is a path, an address, a class, or a size that existing files depend on."""

AT_START_ELSEWHERE: Final = frozenset({
    *NOT_TO_BE_IGNORED, "dLegerGroup", "dLegerPeers", "dLegerSelfId",
    "fetchNamesrvAddrByAddressServer", "preferredLeaderId", "storePathCommitLog",
})  # fmt: skip
"""Keys that this broker does not use, and that name a path, class, address or role in Java."""


def without_meaning() -> frozenset[str]:
    """Return the keys of 4.9.7 that may be changed but have no effect in this broker."""
    return frozenset(broker_defaults(1)) - AT_START_ELSEWHERE


class LiveSettings:
    """The settings of one broker, and the changes that were made while it ran.

    Args:
        config: changed in place.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._broker_keys = keys_of(BrokerConfig)
        self._store_keys = keys_of(StoreConfig)
        paths = StorePaths(Path(config.store.store_path_root_dir))
        self._without_meaning = {
            **broker_defaults(os.cpu_count() or 1),
            "storePathCommitLog": str(paths.commitlog),
            **config.not_used,
        }
        self.path = paths.config_file(FILE_NAME)
        """Path of changedSettings.properties."""
        self.changed: dict[str, str] = {}
        """The changes of this run and of earlier runs, by key."""

    def load(self) -> None:
        """Apply the changes that earlier runs have kept.

        Raises:
            ConfigDamaged: the file cannot be read, or a line of it is not a valid setting.
            OSError: the disk cannot be read.
        """
        entries = load_state_file(self.path, lambda data: parse_properties(data.decode()))
        if entries is None:
            return
        before = self.as_dict()
        try:
            self.change(Value(entry.key, entry.value, f"line {entry.line}") for entry in entries)
        except SettingsError as error:
            raise ConfigDamaged(
                f"{self.path}: {error}; delete the line to start with the configured value"
            ) from error
        for key, text in self.changed.items():
            if before[key] != text:
                LOG.info(
                    "%s is %r, a change made while the broker ran, instead of %r; see %s",
                    key, text, before[key], self.path,
                )  # fmt: skip

    def change(self, values: Iterable[Value]) -> list[str]:
        """Apply all changes or none; return the keys that have no effect in this broker.

        Raises:
            SettingsError: a key is unknown or may not change, or a value is wrong.
        """
        fresh = copy.copy(self._config)
        fresh.store = copy.copy(fresh.store)
        wrong: list[str] = []
        changed: dict[str, str] = {}
        idle: list[str] = []
        for value in values:
            try:
                if value.key in self._without_meaning:
                    self._check_without_meaning(value)
                    idle.append(value.key)
                else:
                    self._set(fresh, value)
            except SettingsError as error:
                wrong.append(str(error))
            changed[value.key] = value.text
        wrong = wrong or list(faults(fresh))
        if wrong:
            raise SettingsError("\n".join(wrong))
        for keys, of, new in (
            (self._broker_keys, self._config, fresh),
            (self._store_keys, self._config.store, fresh.store),
        ):
            for name in changed.keys() & keys.keys() & CHANGEABLE:
                attribute = keys[name].attribute
                setattr(of, attribute, getattr(new, attribute))
        self._without_meaning |= {key: changed[key] for key in idle}
        self.changed |= {key: text for key, text in changed.items() if self._is_kept(key)}
        return idle

    def _is_kept(self, key: str) -> bool:
        return key in CHANGEABLE or (key in self._without_meaning and key not in AT_START_ELSEWHERE)

    def _set(self, fresh: BrokerConfig, value: Value) -> None:
        """Set one value in the copy of the configuration that a request is tried on."""
        config = fresh.store if value.key in self._store_keys else fresh
        key = self._store_keys.get(value.key) or self._broker_keys.get(value.key)
        if value.key.startswith(TLS_PREFIX):
            raise _fixed(value)
        if key is None:
            raise SettingsError(unknown_key(value, self.as_dict()))
        if value.key in CHANGEABLE:
            setattr(config, key.attribute, convert(value, key))
            return
        try:
            is_same = convert(value, key) == getattr(config, key.attribute)
        except SettingsError:
            is_same = False
        if not is_same:
            raise _fixed(value)

    def _check_without_meaning(self, value: Value) -> None:
        """Refuse a value that Java could not parse, and a key that may not change while running."""
        old = self._without_meaning[value.key]
        if value.key in AT_START_ELSEWHERE:
            if value.text != old:
                raise _fixed(value)
            return
        kind = bool if old in ("true", "false") else int if old.isdecimal() else str
        convert(value, Key(value.key, "", kind, False, 0, (1 << 63) - 1, False))

    def as_dict(self) -> dict[str, str]:
        """Return all keys of 4.9.7 and of this project with their values; none is a secret."""
        return dict(sorted({**self._without_meaning, **dict(printed(self._config))}.items()))

    def text(self) -> str:
        """Return the content of the file."""
        return format_properties(sorted(self.changed.items()))


def _fixed(value: Value) -> SettingsError:
    return SettingsError(
        f"{value.source}: {value.key} cannot be changed while the broker runs; set it where the "
        "broker is started"
    )
