"""A server process starts, says so, stops on a signal and exits with the right code."""

import asyncio
import errno
import gc
import os
import signal
import socket
from pathlib import Path

import pytest

from mqserver.runtime.program.process import EXIT_FAILED, EXIT_OK, StartFailed, serve, start


class OneShot:
    """A server that asks for its own end as soon as it runs."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.stopped = 0

    async def start(self) -> int:
        if self.error is not None:
            raise self.error
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
        return 9876

    async def stop(self) -> None:
        self.stopped += 1


def run(server: OneShot, **options) -> int:
    options.setdefault("ready", "listening on {}".format)
    return serve(lambda: server, program="mqtest", address="127.0.0.1:9876", **options)


def test_a_signal_stops_the_server_cleanly(capsys) -> None:
    server = OneShot()

    assert run(server) == EXIT_OK

    assert server.stopped == 1
    assert capsys.readouterr().out == "listening on 9876\n"


def test_a_full_collection_does_not_walk_what_was_loaded_before_the_start() -> None:
    class Counting(OneShot):
        async def start(self) -> int:
            asyncio.get_running_loop().call_later(0, self.count)
            return 9876

        def count(self) -> None:
            self.frozen_count, self.walked_count = gc.get_freeze_count(), len(gc.get_objects())
            os.kill(os.getpid(), signal.SIGTERM)

    server = Counting()

    assert run(server) == EXIT_OK

    assert server.frozen_count > 10 * server.walked_count
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_systemd_is_told_when_the_port_is_open_and_when_it_closes(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify") if kind == "path" else "")
        name = systemd.getsockname()
        monkeypatch.setenv(
            "NOTIFY_SOCKET", name if kind == "path" else "@" + name.removeprefix(b"\0").decode()
        )

        assert run(OneShot()) == EXIT_OK

        systemd.setblocking(False)
        assert [systemd.recv(64) for _ in range(2)] == [b"READY=1", b"STOPPING=1"]


def test_server_that_asks_for_another_one_is_stopped_before_that_one_starts(capsys) -> None:
    again, steps = asyncio.Event(), []

    class First(OneShot):
        async def start(self) -> int:
            steps.append("first starts")
            again.set()
            return 9876

        async def stop(self) -> None:
            steps.append("first stops")

    class Second(OneShot):
        async def start(self) -> int:
            steps.append("second starts")
            return await super().start()

    made = iter([First(), Second()])

    code = serve(
        lambda: next(made), program="mqtest", address="x:1", ready="on {}".format, again=again
    )

    assert code == EXIT_OK
    assert steps == ["first starts", "first stops", "second starts"]
    assert capsys.readouterr().out == "on 9876\non 9876\n"


@pytest.mark.parametrize("number", [errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL])
def test_a_port_that_cannot_be_had_is_one_line(number: int, capsys) -> None:
    server = OneShot(OSError(number, "error while attempting to bind"))

    assert run(server) == EXIT_FAILED

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mqtest: cannot listen on 127.0.0.1:9876: ")
    assert "listenPort" in line


def test_an_expected_error_is_one_line(capsys) -> None:
    assert run(OneShot(LookupError("store is locked")), expected=(LookupError,)) == EXIT_FAILED

    assert capsys.readouterr().err == "mqtest: store is locked\n"


def test_an_unexpected_error_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run(OneShot(ZeroDivisionError("a bug")))


def test_other_system_errors_keep_their_own_text() -> None:
    with pytest.raises(OSError, match="disk"):
        asyncio.run(start(OneShot(OSError(errno.EIO, "disk")), address="x:1"))
    with pytest.raises(StartFailed, match="cannot listen on x:1"):
        asyncio.run(start(OneShot(OSError(errno.EADDRINUSE, "taken")), address="x:1"))
