"""Passes each frame of a connection to its handler, and returns the handler's answer.

    raw frame ─ peek code ─ raw handler ──────────────── sends its own answer
                    └────── decode ── response? ──────── on_response
                                └─ gate ─ ordinary handler ─ answer, or None: answered later
                                └──── no handler ─────── code 3 (broker), no answer (namesrv)

Rule: no peer can stop the server. A frame that cannot be read closes its own connection. If a
handler raises, the answer is code 1 with the text of the exception, and it is logged at most
once a minute per code and type: with a traceback if the fault is ours, in one line if the peer
sent a bad header or body.

Source: remoting/netty/NettyRemotingAbstract.java#processRequestCommand. A real 4.9.7 name
server was seen to send no answer to an unknown code.
"""

import logging
from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar

from mqserver.runtime.clock import Clock
from mqserver.runtime.registry import Handlers
from mqserver.runtime.request import Request, RequestRefused
from remoting.aio.server import ServerConn
from remoting.codes import ResponseCode
from remoting.command import Command
from remoting.errors import BadBody, BadFrame, BadHeader
from remoting.frame import RawFrame, decode_frame, peek_code

AppT = TypeVar("AppT")

LOG = logging.getLogger(__name__)

LOG_AGAIN_MS = 60_000
LOG_KINDS_MAX = 1_000
"""Most pairs of code and error that are logged, so that made-up codes fill no memory."""


class UnknownCode(Enum):
    """What a server does with a request code that has no handler."""

    REFUSE = "answer code 3, as a broker does"
    IGNORE = "answer nothing, as a name server does"


class RequestDispatcher(Generic[AppT]):
    """Runs the handlers of one server.

    Args:
        handlers: the result of ``collect``.
        app: the first argument of every handler.
        clock: read once per frame.
        unknown: what to do with a code that has no handler.
        gate: called before each request that no raw handler has answered; it raises
            RequestRefused. A raw handler checks by itself whether a request is allowed.
        on_response: receives answers to requests that this server sent to a client.
    """

    def __init__(
        self,
        handlers: Handlers,
        app: AppT,
        *,
        clock: Clock,
        unknown: UnknownCode = UnknownCode.REFUSE,
        gate: Callable[[Request], None] | None = None,
        on_response: Callable[[ServerConn, Command], None] | None = None,
    ) -> None:
        self._ordinary = handlers.ordinary
        self._raw = handlers.raw
        self._app = app
        self._clock = clock
        self._unknown = unknown
        self._gate = gate
        self._on_response = on_response
        self._logged_ms: dict[tuple[int, str], int] = {}

    def on_frame(self, conn: ServerConn, raw: RawFrame) -> None:
        """Process one frame; never raises, whatever the peer sent."""
        now_ms = self._clock.now_ms()
        command: Command | None = None
        try:
            if self._raw:
                handler = self._raw.get(peek_code(raw))
                if handler is not None and handler(self._app, conn, raw, now_ms) is not False:
                    return
            command = decode_frame(raw)
            if not command.is_response:
                self._answer(Request(conn, command, now_ms))
            elif self._on_response is not None:
                self._on_response(conn, command)
        except BadFrame as error:
            LOG.warning("closing %s: %s", conn.address, error)
            conn.close()
        except Exception as error:
            self._refuse(conn, raw, command, error, now_ms)

    def _answer(self, request: Request) -> None:
        if self._gate is not None:
            self._gate(request)
        handler = self._ordinary.get(request.command.code)
        if handler is None:
            self._unknown_code(request)
            return
        response = handler(self._app, request)
        if isinstance(response, Command):
            request.reply(response)

    def _unknown_code(self, request: Request) -> None:
        code = request.command.code
        # Each code is logged only once, since an old client may repeat it every few seconds.
        if (code, "") not in self._logged_ms and self._may_log(code, "", request.now_ms):
            LOG.warning("%s sent the unknown request code %d", request.conn.address, code)
        if self._unknown is UnknownCode.REFUSE:
            request.reply(
                request.command.response(
                    ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
                    remark=f" request type {code} not supported",
                )
            )

    def _refuse(
        self,
        conn: ServerConn,
        raw: RawFrame,
        command: Command | None,
        error: Exception,
        now_ms: int,
    ) -> None:
        """Answer with code 1 and the text of ``error``, as Java answers an exception."""
        try:
            command = command or decode_frame(raw)
        except BadFrame as bad:
            LOG.warning("closing %s: %s", conn.address, bad)
            conn.close()
            return
        if isinstance(error, RequestRefused):
            answer = command.response(error.code, remark=error.remark)
        else:
            self._log(conn, command, error, now_ms)
            remark = f"{type(error).__name__}: {error}"
            answer = command.response(ResponseCode.SYSTEM_ERROR, remark=remark)
        if not command.is_response:
            Request(conn, command, now_ms).reply(answer)

    def _log(self, conn: ServerConn, command: Command, error: Exception, now_ms: int) -> None:
        kind = type(error).__name__
        if not self._may_log(command.code, kind, now_ms):
            return
        if isinstance(error, BadHeader | BadBody):
            LOG.warning("request code %d of %s: %s", command.code, conn.address, error)
        else:
            LOG.error(
                "request code %d of %s: %s", command.code, conn.address, error, exc_info=error
            )

    def _may_log(self, code: int, kind: str, now_ms: int) -> bool:
        last_ms = self._logged_ms.get((code, kind))
        if last_ms is None:
            if len(self._logged_ms) >= LOG_KINDS_MAX:
                return False
        elif now_ms - last_ms < LOG_AGAIN_MS:
            return False
        self._logged_ms[code, kind] = now_ms
        return True
