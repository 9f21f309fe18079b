"""One read of a file in a thread, for who has something to do until it is there.

    begin ──> thread: pread ──> bytes or OSError
      └─────> wait() ─────────────┘

Rule: the outcome belongs to who waits for it; a read that nobody waits for has none. While it
reads, the thread holds no lock of the interpreter.
"""

import threading
from collections.abc import Callable


class _Reading:
    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._data = b""
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="read ahead", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._data = self._read()
        except OSError as error:
            self._error = error

    def wait(self) -> bytes:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._data


def begin(read: Callable[[], bytes]) -> Callable[[], bytes]:
    """Let a thread read; returns what waits for the bytes, and raises what the read raised."""
    return _Reading(read).wait
