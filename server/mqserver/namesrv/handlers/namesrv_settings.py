"""The name server's own settings: request codes 318 and 319.

Rule: only keys of ``CHANGEABLE`` change while it runs, never a path. Who may ask is decided before
(``mqserver.namesrv.request_gate``).

Source: namesrv/processor/DefaultRequestProcessor.java.
"""

from mqserver.namesrv.namesrv_config import CHANGEABLE
from mqserver.namesrv.namesrv_state import NamesrvState
from mqserver.runtime.properties import format_properties
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request
from mqserver.runtime.setting_changes import change_settings
from remoting.codes import RequestCode
from remoting.command import Command

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
    change_settings(
        request,
        state.config,
        changeable=CHANGEABLE,
        fixed=PATHS,
        fixed_remark="Can not update config path",
        server="name server",
    )
    return request.command.response()
