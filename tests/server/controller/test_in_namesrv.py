"""A controller inside a name server."""

from pathlib import Path

import pytest

from mqserver.controller.controller_config import ControllerConfig
from mqserver.controller.group_store import StoreUnavailable
from mqserver.namesrv.app import NamesrvApp
from mqserver.namesrv.namesrv_config import NamesrvConfig
from mqserver.runtime.clock import SystemClock
from remoting.codes import LaterCode
from tests import ports
from tests.server.controller.test_handlers import Caller, controller


def namesrv_with(root: Path, port: int) -> NamesrvApp:
    settings = ControllerConfig(
        controller_listen_port=port,
        bind_address="127.0.0.1",
        controller_store_path=str(root / "controller"),
    )
    config = NamesrvConfig(
        listen_port=0,
        bind_address="127.0.0.1",
        kv_config_path=str(root / "kvConfig.json"),
        controller=settings,
    )
    return NamesrvApp(config, SystemClock())


async def test_it_starts_and_stops_with_the_name_server(tmp_path: Path) -> None:
    port = ports.free_ports(1)
    for _ in range(2):
        app = namesrv_with(tmp_path, port)
        await app.start()
        caller = Caller(f"127.0.0.1:{port}")
        answer = await caller.ask(LaterCode.CONTROLLER_GET_METADATA_INFO)
        await caller.client.close()
        await app.stop()

        assert answer.ext["controllerLeaderAddress"] == f"127.0.0.1:{port}"


async def test_records_of_a_running_controller_end_the_start(tmp_path: Path) -> None:
    async with controller(tmp_path / "controller"):
        with pytest.raises(StoreUnavailable, match="in use by a running controller"):
            await namesrv_with(tmp_path, ports.free_ports(1)).start()
