"""Settings that change while the broker runs (request code 25), and are kept for its next start.

    key                                              a change is
    CHANGEABLE                                       checked, taken at once, kept
    another one that the broker acts on              refused, but for the value that it has
    one of 4.9.7's that has no meaning here          kept and told (26), nothing else happens
      and is a path, a class, an address, a role     refused, but for the value that it has
    any other                                        refused, with the nearest key there is

    request ── all of it good? ──> BrokerConfig, StoreConfig ──> Broker.settings_changed
                    └────────────> <storePathRootDir>/config/changedSettings.properties
    start   ── configuration ── changedSettings.properties on top of it ──> Broker

Rule: a request is taken whole or not at all, and what it leads to is checked as at the start. What
was changed this way wins at the next start over file, environment and flags, and the log says so:
without the file, or a line of it, the configuration counts again. Who may ask is decided before.

Source: common/Configuration.java#update, #persist, which takes every key (CVE-2023-33246), passes
over unknown ones, and writes all settings into the -c file. CHANGEABLE are the keys that 4.9.7
reads at each use.
"""

import copy
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from server.broker.config import NOT_TO_BE_IGNORED, BrokerConfig, faults, printed
from server.runtime.javakeys import broker_defaults
from server.runtime.jsonfile import load_state_file
from server.runtime.properties import format_properties, parse_properties
from server.runtime.settings import Key, SettingsError, Value, convert, keys_of, unknown_key
from server.runtime.tls import PREFIX as TLS_PREFIX
from server.store.config import StoreConfig
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
"""None of them is a path, an address, a class or a size that files on the disk have."""

AT_START_ELSEWHERE: Final = frozenset({
    *NOT_TO_BE_IGNORED, "dLegerGroup", "dLegerPeers", "dLegerSelfId",
    "fetchNamesrvAddrByAddressServer", "preferredLeaderId", "storePathCommitLog",
})  # fmt: skip
"""Keys without a meaning here that name a path, a class, an address or a role in Java."""


def without_meaning() -> frozenset[str]:
    """Return the keys of 4.9.7 that may be changed and change nothing here."""
    return frozenset(broker_defaults(1)) - AT_START_ELSEWHERE


class LiveSettings:
    """What one broker goes by, and how that is changed.

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
        """Where the changes are kept."""
        self.changed: dict[str, str] = {}
        """Everything that was changed since the file was begun."""

    def load(self) -> None:
        """Take the changes that were kept by earlier runs.

        Raises:
            ConfigDamaged: the file cannot be read, or holds what is no setting.
            OSError: the disk refused.
        """
        found = load_state_file(self.path, lambda data: parse_properties(data.decode()))
        if found is None:
            return
        before = self.told()
        try:
            self.change(Value(one.key, one.value, f"line {one.line}") for one in found)
        except SettingsError as error:
            raise ConfigDamaged(
                f"{self.path}: {error}; delete the line to start with what is configured"
            ) from error
        for key, text in self.changed.items():
            if before[key] != text:
                LOG.info(
                    "%s is %r, as it was changed while the broker ran, and not %r; see %s",
                    key, text, before[key], self.path,
                )  # fmt: skip

    def change(self, values: Iterable[Value]) -> list[str]:
        """Take changes, all of them or none; return the keys that change nothing here.

        Raises:
            SettingsError: a key that is unknown or may not change, or a value that is wrong.
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
        """Set one value of the copies that a request is tried on."""
        config = fresh.store if value.key in self._store_keys else fresh
        key = self._store_keys.get(value.key) or self._broker_keys.get(value.key)
        if value.key.startswith(TLS_PREFIX):
            raise _fixed(value)
        if key is None:
            raise SettingsError(unknown_key(value, self.told()))
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
        """Refuse a value that Java could not read either, and a key that no request may change."""
        known = self._without_meaning[value.key]
        if value.key in AT_START_ELSEWHERE:
            if value.text != known:
                raise _fixed(value)
            return
        kind = bool if known in ("true", "false") else int if known.isdecimal() else str
        convert(value, Key(value.key, "", kind, False, 0, (1 << 63) - 1, False))

    def told(self) -> dict[str, str]:
        """Return every key of 4.9.7 and of ours, with its value; no key holds a secret."""
        return dict(sorted({**self._without_meaning, **dict(printed(self._config))}.items()))

    def text(self) -> str:
        """Return the content of the file."""
        return format_properties(sorted(self.changed.items()))


def _fixed(value: Value) -> SettingsError:
    return SettingsError(
        f"{value.source}: {value.key} cannot be changed while the broker runs; set it where the "
        "broker is started"
    )
