"""The broker's own settings and numbers: read (26), change (25), runtime information (28).

Rule: what may change, and where a change is kept, is decided in ``server.broker.livesettings``.

Source: broker/processor/AdminBrokerProcessor.java.
"""

from remoting.bodies import KVTable
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import GetBrokerConfigResponse
from server.broker.coldhandler import reads_cold
from server.broker.livesettings import FILE_NAME
from server.broker.runtimeinfo import runtime_info
from server.broker.saves import answer_when_saved
from server.broker.state import Broker
from server.runtime.properties import BadProperties, parse_properties
from server.runtime.registry import handles
from server.runtime.request import Request
from server.runtime.settings import SettingsError, Value


@handles(RequestCode.GET_BROKER_CONFIG)
def get_broker_config(broker: Broker, request: Request) -> Command:
    """Return every setting as ``key=value`` lines."""
    lines = "".join(f"{key}={text}\n" for key, text in broker.settings.told().items())
    header = GetBrokerConfigResponse(version=broker.version_text)
    return request.command.response(header=header, body=lines.encode())


BODY_SIZE_MAX = 16_384
"""Bytes of settings that one request may change."""


@handles(RequestCode.UPDATE_BROKER_CONFIG)
def update_broker_config(broker: Broker, request: Request) -> Command | None:
    """Change settings now and for the next start; what may not change is refused by name."""
    command = request.command
    if len(command.body) > BODY_SIZE_MAX:
        remark = f"settings have {len(command.body)} bytes, the limit is {BODY_SIZE_MAX}"
        return command.response(ResponseCode.SYSTEM_ERROR, remark=remark)
    try:
        entries = parse_properties(command.body.decode())
        idle = broker.settings.change(
            Value(entry.key, entry.value.strip(), f"line {entry.line}") for entry in entries
        )
    except (SettingsError, BadProperties, UnicodeDecodeError) as error:
        return command.response(ResponseCode.SYSTEM_ERROR, remark=str(error))
    if not entries:
        return command.response()
    broker.settings_changed(now_ms=request.now_ms)
    if any(entry.key == "brokerPermission" for entry in entries):
        broker.topics.touch(request.now_ms)
    told = f"kept, and without a meaning here: {', '.join(idle)}" if idle else None
    answer_when_saved(broker.files, request, name=FILE_NAME, remark=told)
    return None


@handles(RequestCode.GET_BROKER_RUNTIME_INFO)
@reads_cold
def get_runtime_info(broker: Broker, request: Request) -> Command:
    """Return the broker's numbers under Java's keys."""
    table = runtime_info(broker, now_ms=request.now_ms)
    return request.command.response(body=KVTable(table=table).encode())
