"""A name server without sockets, which takes frames and returns commands, and one with sockets."""

from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from mqserver.namesrv import handlers
from mqserver.namesrv.app import NamesrvApp
from mqserver.namesrv.kvconfig import KvConfig
from mqserver.namesrv.namesrv_config import NamesrvConfig
from mqserver.namesrv.namesrv_state import NamesrvState
from mqserver.namesrv.request_gate import make_gate
from mqserver.runtime.clock import SystemClock
from mqserver.runtime.registry import collect
from mqserver.runtime.request_dispatcher import RequestDispatcher, UnknownCode
from remoting.command import Command
from remoting.frame import RawFrame
from remoting.header import Header
from remoting.headers import RegisterBroker
from tests.server.doubles import FakeClock, FakeConn, frame_of

Result = TypeVar("Result")


def registration(address: str = "10.0.0.1:10911", **changes: object) -> RegisterBroker:
    """Return the registration of the master of the pair ``a``."""
    values: dict = {
        "broker_name": "a",
        "broker_addr": address,
        "cluster_name": "C",
        "ha_server_addr": "10.0.0.1:10912",
        "broker_id": 0,
    }
    return RegisterBroker(**{**values, **changes})


@asynccontextmanager
async def serving(root: Path) -> AsyncIterator[tuple[NamesrvApp, str]]:
    """Run a name server that keeps its file in ``root``; yield it and its address."""
    path = str(root / "kvConfig.json")
    config = NamesrvConfig(listen_port=0, bind_address="127.0.0.1", kv_config_path=path)
    app = NamesrvApp(config, SystemClock())
    port = await app.start()
    try:
        yield app, f"127.0.0.1:{port}"
    finally:
        await app.stop()


class Desk:
    """The tables and the dispatcher of one name server."""

    def __init__(self, directory: Path, **settings: str) -> None:
        path = directory / "kvConfig.json"
        self.clock = FakeClock()
        self.conn = FakeConn()
        self.state = NamesrvState(
            NamesrvConfig(kv_config_path=str(path), **settings),  # type: ignore[arg-type]
            KvConfig.open(path),
        )
        self._dispatcher = RequestDispatcher(
            collect(handlers),
            self.state,
            clock=self.clock,
            unknown=UnknownCode.IGNORE,
            gate=make_gate(self.state.config),
        )

    def frame(self, raw: RawFrame, conn: FakeConn | None = None) -> Command | None:
        """Handle one frame and return the answer."""
        conn = conn or self.conn
        count = len(conn.sent)
        self._dispatcher.on_frame(conn, raw)
        assert len(conn.sent) <= count + 1
        return conn.sent[count] if len(conn.sent) > count else None

    def ask(
        self,
        code: int,
        header: Header | None = None,
        *,
        body: bytes = b"",
        conn: FakeConn | None = None,
        ext: dict[str, str] | None = None,
        version: int = 407,
    ) -> Command:
        """Send one request and return its answer."""
        command = Command.request(code, header, body=body)
        command.opaque, command.version = 5, version
        command.ext.update(ext or {})
        answer = self.frame(frame_of(command), conn)
        assert answer is not None
        assert answer.opaque == 5
        return answer


def finished(steps: Generator[None, None, Result]) -> Result:
    """Run all slices and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
