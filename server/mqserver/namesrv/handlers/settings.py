"""The name server's own settings: request codes 318 and 319.

Rule: only keys of ``CHANGEABLE`` change while it runs, never a path, and only until the next
start: no file is written. Who may ask is decided before (``mqserver.namesrv.request_gate``).
(Java takes every key but two paths from everyone, and rewrites its -c file.)

Source: namesrv/processor/DefaultRequestProcessor.java.
"""

import logging

from mqserver.namesrv.config import CHANGEABLE
from mqserver.namesrv.state import NamesrvState
from mqserver.runtime.properties import BadProperties, format_properties, parse_properties
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.settings import SettingsError, Value, convert, keys_of
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command

LOG = logging.getLogger(__name__)

SETTINGS_SIZE_MAX = 16_384
PATHS = ("kvConfigPath", "configStorePath")


@handles(RequestCode.GET_NAMESRV_CONFIG)
def get_namesrv_config(state: NamesrvState, request: Request) -> Command:
    """Answer with every setting, as ``key=value`` lines."""
    body = format_properties(state.config.all_settings().items()).encode()
    return request.command.response(body=body)


@handles(RequestCode.UPDATE_NAMESRV_CONFIG)
def update_namesrv_config(state: NamesrvState, request: Request) -> Command:
    """Change the settings given as ``key=value`` lines, all of them or none.

    Raises:
        RequestRefused: a key may not be changed, or a value is not valid.
    """
    keys = keys_of(type(state.config))
    changes: list[tuple[str, object]] = []
    for value in _values(request):
        if value.key in PATHS:
            # This is Java's text, which clients may compare.
            raise RequestRefused(ResponseCode.NO_PERMISSION, "Can not update config path")
        if value.key not in CHANGEABLE:
            raise RequestRefused(
                ResponseCode.NO_PERMISSION,
                f"{value.key} cannot change while the name server runs; "
                f"these can: {', '.join(sorted(CHANGEABLE))}",
            )
        try:
            changes.append((keys[value.key].attribute, convert(value, keys[value.key])))
        except SettingsError as error:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
    for attribute, new in changes:
        LOG.info("%s set %s to %s", request.conn.address, attribute, new)
        setattr(state.config, attribute, new)
    return request.command.response()


def _values(request: Request) -> list[Value]:
    if len(request.command.body) > SETTINGS_SIZE_MAX:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR,
            f"settings body: {len(request.command.body)} bytes, the limit is {SETTINGS_SIZE_MAX}",
        )
    try:
        entries = parse_properties(request.command.body.decode())
    except (UnicodeDecodeError, BadProperties) as error:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"settings body: {error}") from error
    return [Value(e.key, e.value.strip(), f"settings body line {e.line}") for e in entries]
