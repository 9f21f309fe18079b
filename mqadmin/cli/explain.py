"""``--explain``: each request of a command, as one line on standard error.

    GET_BROKER_CLUSTER_INFO  127.0.0.1:9876  1.2 ms  SUCCESS

Rule: a line never holds names or bodies of messages.
"""

from typing import Final

from mqadmin.session.console import Console
from remoting.codes import (
    ExtensionCode,
    LaterCode,
    LaterResponseCode,
    RequestCode,
    ResponseCode,
)
from remoting.command import Command
from remoting.errors import RemotingError

REQUESTS: Final = {int(code): code.name for code in (*LaterCode, *RequestCode, *ExtensionCode)}
RESPONSES: Final = {int(code): code.name for code in (*LaterResponseCode, *ResponseCode)}
"""Where 4.9.7 and 5.x mean different things by a code, the meaning of 4.9.7 counts."""


def explain(
    console: Console,
    address: str,
    request: Command,
    answer: Command | RemotingError | None,
    elapsed_ms: float,
) -> None:
    """Print one exchange; a one-way request has no answer."""
    if answer is None:
        end = "one-way"
    elif isinstance(answer, RemotingError):
        end = type(answer).__name__
    else:
        end = f"{answer.code} {RESPONSES.get(answer.code, 'unknown')}"
    name = REQUESTS.get(request.code, "request")
    console.warn(f"{name} ({request.code})  {address}  {elapsed_ms:.1f} ms  {end}")
