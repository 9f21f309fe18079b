"""The broker's own settings and numbers: read (26), change (25), runtime information (28).

Rule: a setting is changed over the wire only when its key is on the list below, and only with
a legal value; a request is taken whole or not at all. Who may ask is decided before.
Changes last until the broker stops: the configuration file is never written.

Source: broker/processor/AdminBrokerProcessor.java; the list is ours (Java takes any key,
CVE-2023-33246).
"""

import os
from typing import Final

from remoting.bodies import KVTable
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import GetBrokerConfigResponse
from server.broker.coldhandler import reads_cold
from server.broker.config import BrokerConfig, printed
from server.broker.runtimeinfo import runtime_info
from server.broker.state import Broker
from server.runtime.properties import BadProperties, parse_properties
from server.runtime.registry import handles
from server.runtime.request import Request
from server.runtime.settings import SettingsError, Value, convert, keys_of

CHANGEABLE: Final = frozenset({
    "autoCreateSubscriptionGroup",
    "autoCreateTopicEnable",
    "brokerPermission",
    "compressedRegister",
    "defaultQueryMaxNum",
    "forceRegister",
    "longPollingEnable",
    "notifyConsumerIdsChangedEnable",
    "rejectTransactionMessage",
    "shortPollingTimeMills",
    "slaveReadEnable",
    "storeReplyMessageEnable",
    "transactionCheckMax",
    "transactionTimeOut",
})  # fmt: skip
"""Keys that may be changed while the broker runs: none names a path, address or class."""

TOOLS_ASK_FOR: Final = {
    "clientCallbackExecutorThreads": str(os.cpu_count() or 1),
    "filterServerNums": "0",
    "slaveReadEnable": "false",
    "useTLS": "false",
}
"""Java's keys without which its tools fail (exportConfigs, exportMetrics), and what they are
here, where nobody sets them."""


@handles(RequestCode.GET_BROKER_CONFIG)
def get_broker_config(broker: Broker, request: Request) -> Command:
    """Return every setting as ``key=value`` lines."""
    settings = {**TOOLS_ASK_FOR, **dict(printed(broker.config))}
    lines = "".join(f"{key}={text}\n" for key, text in settings.items())
    header = GetBrokerConfigResponse(version=broker.version_text)
    return request.command.response(header=header, body=lines.encode())


BODY_SIZE_MAX = 16_384
"""Bytes of settings that one request may change."""


@handles(RequestCode.UPDATE_BROKER_CONFIG)
def update_broker_config(broker: Broker, request: Request) -> Command:
    """Change settings on the list; anything else is refused by name."""
    command = request.command
    if len(command.body) > BODY_SIZE_MAX:
        remark = f"settings have {len(command.body)} bytes, the limit is {BODY_SIZE_MAX}"
        return command.response(ResponseCode.SYSTEM_ERROR, remark=remark)
    try:
        changes = _read(command.body)
    except (SettingsError, BadProperties, UnicodeDecodeError) as error:
        return command.response(ResponseCode.SYSTEM_ERROR, remark=str(error))
    for attribute, value in changes.items():
        setattr(broker.config, attribute, value)
    if changes:
        broker.settings_changed(now_ms=request.now_ms)
    if "broker_permission" in changes:
        broker.topics.touch(request.now_ms)
    return command.response(
        remark="applied until the broker stops; its configuration file is not changed"
    )


def _read(body: bytes) -> dict[str, object]:
    """Return attribute and value of every change.

    Raises:
        SettingsError: a key that is unknown or may not change, or a value that is wrong.
    """
    keys = keys_of(BrokerConfig)
    changes = {}
    for entry in parse_properties(body.decode()):
        if entry.key not in CHANGEABLE or entry.key not in keys:
            raise SettingsError(
                f"line {entry.line}: {entry.key} cannot be changed while the broker runs; "
                f"these can: {', '.join(sorted(CHANGEABLE))}"
            )
        key = keys[entry.key]
        value = Value(entry.key, entry.value.strip(), f"line {entry.line}")
        changes[key.attribute] = convert(value, key)
    return changes


@handles(RequestCode.GET_BROKER_RUNTIME_INFO)
@reads_cold
def get_runtime_info(broker: Broker, request: Request) -> Command:
    """Return the broker's numbers under Java's keys."""
    table = runtime_info(broker, now_ms=request.now_ms)
    return request.command.response(body=KVTable(table=table).encode())
