"""One JVM with the real Java client and the real mqadmin, driven over its stdin.

    toolbox.run("Producer", spec)     waits, returns the lines the program printed
    toolbox.start("PushConsumer", …)  returns a Job: read its lines while it runs, then stop it
    toolbox.mqadmin("topicList", …)   returns what the real mqadmin wrote

Rule: one JVM for a whole test session, because a start costs more than most tests. Programs
are described at their Java classes in ``java/src``.
"""

import base64
import json
import os
import queue
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.interop.kit.process import Child, ChildEnded
from tests.interop.kit.servers import START_TIMEOUT_S, JavaSide, Servers

LINE_TIMEOUT_S = 120.0
RESET_TIMEOUT_S = 30.0
"""How long a consumer is silent before its positions are reset again, see ``every_again``."""
RESETS_MAX = 5
Line = dict[str, Any]
"""One JSON object of a program; ``event`` says what it is."""


class Output(NamedTuple):
    """What one mqadmin command wrote."""

    stdout: str
    stderr: str


class LineTimedOut(ChildEnded):
    """The program runs and printed nothing while a line of it was awaited."""


class ProgramFailed(Exception):
    """The Java program ended with an exception; its trace is the text."""


class Job:
    """One program that runs in the toolbox."""

    def __init__(self, toolbox: "Toolbox", number: int) -> None:
        self._toolbox = toolbox
        self._number = number
        self.arrived: queue.Queue[Line] = queue.Queue()
        self._is_done = False

    def line(self, *, timeout_s: float = LINE_TIMEOUT_S) -> Line | None:
        """Return the next line, None after the last; raises ProgramFailed or ChildEnded."""
        if self._is_done:
            return None
        try:
            told = self.arrived.get(timeout=timeout_s)
        except queue.Empty:
            raise LineTimedOut(f"job {self._number} printed nothing in {timeout_s} s") from None
        if not told.get("done"):
            return dict(told["line"])
        self._is_done = True
        if told.get("error"):
            raise ProgramFailed(told["error"])
        return None

    def until(self, event: str, *, timeout_s: float = LINE_TIMEOUT_S) -> list[Line]:
        """Return the lines up to and with the first ``event``; raises ChildEnded without one."""
        lines: list[Line] = []
        while not lines or lines[-1]["event"] != event:
            line = self.line(timeout_s=timeout_s)
            if line is None:
                raise ChildEnded(f"job {self._number} ended before {event!r}, it said {lines[-3:]}")
            lines.append(line)
        return lines

    def messages(self, count: int, *, timeout_s: float = LINE_TIMEOUT_S) -> list[Line]:
        """Return the next ``count`` received messages; raises ChildEnded when they do not come."""
        got: list[Line] = []
        while len(got) < count:
            line = self.line(timeout_s=timeout_s)
            if line is None or line["event"] == "timeout":
                raise ChildEnded(f"{len(got)} messages of {count} came")
            if line["event"] == "message":
                got.append(line)
        return got

    def every(self, field: str, wanted: Collection[object]) -> list[Line]:
        """Return the messages up to the one with which all ``wanted`` came; ChildEnded otherwise.

        A message may come twice: that is what clients of RocketMQ promise.
        """
        got: list[Line] = []
        while set(wanted) - {line[field] for line in got}:
            got += self.messages(1)
        return got

    def every_again(
        self, reset: Callable[[], object], field: str, wanted: Collection[object]
    ) -> list[Line]:
        """Return what ``every`` does, after ``reset`` has moved the positions of the consumer.

        A Java consumer that hears of a reset waits for ten seconds, tells the broker the new
        position in a one-way request, and asks for its position at once. A Java broker serves
        the two in different threads, so that the answer may be the old position. The consumer
        is then silent, and the positions are reset again.

        Source: client/impl/factory/MQClientInstance.java#resetOffset.
        """
        got: list[Line] = []
        for _ in range(RESETS_MAX):
            reset()
            try:
                while set(wanted) - {line[field] for line in got}:
                    got += self.messages(1, timeout_s=RESET_TIMEOUT_S)
            except LineTimedOut:
                continue
            return got
        raise ChildEnded(f"job {self._number} did not go back in {RESETS_MAX} resets")

    def rest(self, *, timeout_s: float = LINE_TIMEOUT_S) -> list[Line]:
        """Return the lines until the program ends."""
        lines: list[Line] = []
        while (line := self.line(timeout_s=timeout_s)) is not None:
            lines.append(line)
        return lines

    def stop(self) -> list[Line]:
        """Ask the program to end, return the lines not read so far."""
        self._toolbox.tell({"id": self._number, "stop": True})
        return self.rest()


def spec_of(servers: Servers, topic: str, **more: object) -> dict[str, object]:
    """Return what a Java client has to know; ``more`` is what a test is about."""
    return {
        "namesrv": servers.namesrv.address,
        "topic": topic,
        "group": f"G_{topic}",
        "subscription": "*",
        "timeoutMs": 120_000,
        **more,
    }


class Toolbox:
    """The JVM; one per test session.

    Args:
        main: the class that takes the orders; ``FiveAdmin`` runs mqadmin of 5.4.0 alone.
    """

    def __init__(self, home: JavaSide, *, main: str = "Toolbox") -> None:
        words = home.java(main)
        log = home.logs / "toolbox.err"
        self._child = Child(words, log=log, directory=home.directory, piped=True)
        self._jobs: dict[int, Job] = {}
        self._mutex = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def await_ready(self) -> "Toolbox":
        """Return self once the JVM takes orders."""
        self._child.await_line(lambda line: '"ready"' in line, timeout_s=START_TIMEOUT_S)
        self._reader.start()
        return self

    def _read(self) -> None:
        while True:
            try:
                told = json.loads(self._child.line(timeout_s=3600.0))
            except ChildEnded as error:
                for job in self._jobs.values():
                    job.arrived.put({"done": True, "error": str(error)})
                return
            self._jobs[told["id"]].arrived.put(told)

    def tell(self, order: Mapping[str, object]) -> None:
        """Send one order line to the JVM."""
        with self._mutex:
            self._child.tell(json.dumps(order))

    def start(self, program: str, spec: Mapping[str, object]) -> Job:
        """Start a program, return its job."""
        job = self._jobs[len(self._jobs) + 1] = Job(self, len(self._jobs) + 1)
        self.tell({"id": len(self._jobs), "program": program, "spec": spec})
        return job

    def run(
        self, program: str, spec: Mapping[str, object], *, timeout_s: float = LINE_TIMEOUT_S
    ) -> list[Line]:
        """Run a program to its end, return its lines."""
        return self.start(program, spec).rest(timeout_s=timeout_s)

    def mqadmin(self, *words: str) -> Output:
        """Run the real mqadmin, return what it wrote."""
        (line,) = self.run("MqAdmin", {"args": words})
        return Output(line["stdout"], line["stderr"])

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the JVM by a signal, and let it go on afterwards."""
        os.kill(self._child.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._child.pid, signal.SIGCONT)

    def stop(self) -> int:
        """End the JVM."""
        return self._child.stop()


def body_of(line: Line) -> bytes:
    """Return the body of a received message."""
    return base64.b64decode(line["body"])


def alone(
    side: JavaSide, program: str, spec: Mapping[str, object], *, flags: Sequence[str]
) -> list[Line]:
    """Run one program in a JVM of its own, with JVM flags; return its lines."""
    java, *words = side.java(program, json.dumps(spec))
    log = side.logs / f"{program}.err"
    child = Child([java, *flags, *words], log=log, directory=side.directory)
    # RocketMQ's remoting layer logs to stdout when nobody configures logging.
    lines = child.rest(timeout_s=LINE_TIMEOUT_S)
    return [json.loads(line) for line in lines if line.startswith("{")]
