"""Changes of settings that a tool sends to a running server, as ``key=value`` lines.

Rule: either all of them are made or none. Only listed keys can change, since a path or an address
of a stranger could do harm, and only until the next start: no file is written. (Java changes nearly
every key, and rewrites its -c file.)

Source: common/Configuration.java#update.
"""

import logging
from collections.abc import Collection
from typing import Final

from mqserver.runtime.properties import BadProperties, parse_properties
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.typed_config import SettingsError, Value, convert, keys_of
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)

SETTINGS_SIZE_MAX: Final = 16_384


def change_settings(
    request: Request,
    config: object,
    *,
    changeable: Collection[str],
    fixed: Collection[str],
    fixed_remark: str,
    server: str,
) -> None:
    """Change the settings that the body of a request names.

    Args:
        request: the request.
        config: the settings of the server; a dataclass as ``typed_config`` describes.
        changeable: the keys that may change.
        fixed: the keys that Java's server refuses to change.
        fixed_remark: Java's text for those, which clients may compare.
        server: what the server is called in the refusal of other keys.

    Raises:
        RequestRefused: a key may not be changed, or a value is not valid.
    """
    keys = keys_of(type(config))
    changes: list[tuple[str, object]] = []
    for value in _values(request):
        if value.key in fixed:
            raise RequestRefused(ResponseCode.NO_PERMISSION, fixed_remark)
        if value.key not in changeable:
            raise RequestRefused(
                ResponseCode.NO_PERMISSION,
                f"{value.key} cannot change while the {server} runs; "
                f"these can: {', '.join(sorted(changeable))}",
            )
        try:
            changes.append((keys[value.key].attribute, convert(value, keys[value.key])))
        except SettingsError as error:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
    for attribute, new in changes:
        LOG.info("%s set %s to %s", request.conn.address, attribute, new)
        setattr(config, attribute, new)


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
