"""Doubles for server tests: a clock that the test sets, and a connection that records answers."""

from remoting.command import Command
from remoting.frame import FrameReader, RawFrame, decode_frame, encode_frame


class FakeClock:
    """Clocks that stand still; ``ms`` sets both of them, and ``jump`` only the wall clock."""

    def __init__(self, ms: int = 1_000_000) -> None:
        self.ms = ms
        self._jumped_ms = 0

    def now_ms(self) -> int:
        return self.ms + self._jumped_ms

    def steady_ms(self) -> int:
        return self.ms

    def jump(self, ms: int) -> None:
        """Set the wall clock forward, or back."""
        self._jumped_ms += ms


class FakeConn:
    """A server connection without a socket."""

    def __init__(self, number: int = 1, peer: tuple[str, int] = ("127.0.0.1", 40_000)) -> None:
        self.id = number
        self.peer = peer
        self.peer_host = b"\x7f\0\0\x01\0\0\x9c\x40"
        self.address = f"{peer[0]}:{peer[1]}"
        self.local_ip = "127.0.0.1"
        self.local_port = 0
        self.is_closing = False
        self.sent: list[Command] = []
        self.kept_size = 0

    def count_held(self, size: int) -> None:
        self.kept_size += size

    def send(self, data: bytes) -> None:
        self.sent += [decode_frame(raw) for raw in FrameReader().feed(data)]

    def send_command(self, command: Command) -> None:
        self.send(encode_frame(command))

    def close(self) -> None:
        self.is_closing = True


def frame_of(command: Command) -> RawFrame:
    """Return ``command`` as it arrives at a server."""
    (raw,) = FrameReader().feed(encode_frame(command))
    return raw
