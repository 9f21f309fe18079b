"""One child process whose output lines are waited for, with a deadline and no busy loop.

Rule: stdout is read by one thread into a queue, so that a full pipe never blocks the child;
stderr goes to a file, which every error message quotes.
"""

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path


class ChildEnded(Exception):
    """The process ended, or stayed silent, while a line of it was awaited."""


class Child:
    """A running child process.

    Args:
        words: program and arguments.
        log: where stderr goes.
        directory: the working directory.
        piped: True gives the child a pipe as stdin, see ``tell``.
    """

    def __init__(self, words: list[str], *, log: Path, directory: Path, piped: bool = False):
        self.log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                words,
                cwd=directory,
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"},
            )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.decode("utf-8", "replace").rstrip("\n"))
        self._lines.put(None)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def line(self, *, timeout_s: float) -> str:
        """Return the next line of stdout; raises ChildEnded."""
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            raise ChildEnded(
                f"nothing from pid {self.pid} in {timeout_s} s; {self._tail()}"
            ) from None
        if line is None:
            self._lines.put(None)
            raise ChildEnded(f"pid {self.pid} ended with {self._process.wait()}; {self._tail()}")
        return line

    def await_line(self, wanted: Callable[[str], bool], *, timeout_s: float) -> str:
        """Return the first line that ``wanted`` takes; raises ChildEnded."""
        end = time.monotonic() + timeout_s
        while True:
            line = self.line(timeout_s=max(end - time.monotonic(), 0.001))
            if wanted(line):
                return line

    def rest(self, *, timeout_s: float) -> list[str]:
        """Return the lines until the child ends by itself; raises ChildEnded when it fails."""
        lines: list[str] = []
        try:
            while True:
                lines.append(self.line(timeout_s=timeout_s))
        except ChildEnded:
            if self.stop() != 0:
                raise
        return lines

    def tell(self, text: str) -> None:
        """Write one line to the child's stdin."""
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode() + b"\n")
        self._process.stdin.flush()

    def stop(self, *, timeout_s: float = 120.0) -> int:
        """End the child by SIGTERM, wait, return its exit code; SIGKILL when it hangs."""
        return self._end(signal.SIGTERM, timeout_s)

    def kill(self) -> int:
        """End the child by SIGKILL, as a power cut would."""
        return self._end(signal.SIGKILL, 10.0)

    def _end(self, number: int, timeout_s: float) -> int:
        if self.is_running:
            self._process.send_signal(number)
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._reader.join(5)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        return code

    def _tail(self) -> str:
        text = self.log.read_text(errors="replace")
        return f"end of {self.log.name}: {text[-2000:] or 'empty'}"
