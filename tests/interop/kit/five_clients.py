"""One official client of RocketMQ 5 as a process that is told what to do, a JSON line a step.

    command                                           answer, besides "re"
    produce  topics, check                            (a producer is started)
    send     topic, body, tag, keys, properties,      id, handle (to recall it)
             group, deliver_s, end
    recall   topic, handle                            id
    consume  group, topic, filter, sql                (a simple consumer is started)
    receive  count, invisible_s                       messages, each with its number
    ack      number
    hide     number, invisible_s                      (the invisible time is changed)
    listen   group, topic, filter, sql, failures      (a push consumer is started)
    close                                             (what was started is shut down)

    event    ready      the program takes commands
             checked    the endpoint asked about a transaction; it was told ``check``
             message    the push consumer got it, and refused it while attempt <= failures

Rule: a command has a number, ``re``, and exactly one answer has the same number. What the client
refuses or the endpoint answers with an error is an answer ``error``: code, if the client tells it,
and text. A program knows its client and nothing of scenarios; texts may be empty, ``end`` is
commit, rollback, leave, or empty for a message without a transaction.
"""

import json
from pathlib import Path
from typing import Any, Final

from mqserver.proxy.protocol.codes import Code
from tests.interop.kit.five_build import FIVE, program
from tests.interop.kit.process import Child

ANSWER_TIMEOUT_S: Final = 90.0
Line = dict[str, Any]


class Refused(Exception):
    """The client or the endpoint refused a command.

    Attributes:
        code: of the protocol, None where the client does not tell it.
    """

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text


class FiveClient:
    """A running program, see the module.

    Args:
        name: a folder of ``tests/interop/five``.
        endpoint: host and port of a gRPC endpoint.
        scratch: what stands in for the user's home, where clients write their logs.
    """

    def __init__(self, name: str, endpoint: str, scratch: Path) -> None:
        self.name = name
        home = ("env", f"HOME={scratch}", f"JAVA_TOOL_OPTIONS=-Duser.home={scratch}")
        words = [*home, *program(name), endpoint]
        self._child = Child(words, log=scratch / f"{name}.err", directory=FIVE / name, piped=True)
        self._count = 0
        self._listens = False
        self._events: list[Line] = []
        self.event("ready")

    def _line(self, timeout_s: float) -> Line:
        while True:
            line = self._child.line(timeout_s=timeout_s)
            # Some of the clients print words of their own.
            if line.startswith("{"):
                return dict(json.loads(line))

    def ask(self, do: str, **fields: object) -> Line:
        """Return the answer to a command; raises Refused or ChildEnded."""
        self._count += 1
        self._child.tell(json.dumps({"re": self._count, "do": do, **fields}))
        while True:
            line = self._line(ANSWER_TIMEOUT_S)
            if line.get("re") == self._count:
                break
            if "event" in line:
                self._events.append(line)
        if "error" in line:
            raise Refused(line["error"]["code"], line["error"]["text"])
        return line

    def event(self, kind: str, *, timeout_s: float = ANSWER_TIMEOUT_S) -> Line:
        """Return the next event of a kind; raises ChildEnded when none comes."""
        while True:
            for index, line in enumerate(self._events):
                if line["event"] == kind:
                    return self._events.pop(index)
            line = self._line(timeout_s)
            if "event" in line:
                self._events.append(line)

    def send(self, topic: str, body: str, **fields: object) -> Line:
        """Send a message: its id, and its handle when it can be recalled.

        Args:
            topic: where to.
            body: of the message.
            fields: tag, keys, properties, the message group, the time of delivery in seconds since
                1970, and the end of its transaction; see the module.
        """
        usual = {"tag": "", "keys": [], "properties": {}, "group": "", "deliver_s": 0, "end": ""}
        return self.ask("send", topic=topic, body=body, **usual | fields)

    def produce(self, *topics: str, check: str = "") -> None:
        """Start a producer; ``check`` is what it says of a transaction that it is asked about."""
        self.ask("produce", topics=topics, check=check)

    def consume(self, group: str, topic: str, expression: str = "*", *, sql: bool = False) -> None:
        """Start a simple consumer."""
        self.ask("consume", group=group, topic=topic, filter=expression, sql=sql)

    def listen(
        self, group: str, topic: str, expression: str = "*", *, sql: bool = False, failures: int = 0
    ) -> None:
        """Start a push consumer that refuses the first ``failures`` deliveries of a message."""
        self._listens = True
        self.ask("listen", group=group, topic=topic, filter=expression, sql=sql, failures=failures)

    def receive(self, count: int = 16, *, invisible_s: int = 60) -> list[Line]:
        """Return what one call of the simple consumer gives; empty when nothing came in time."""
        try:
            return list(self.ask("receive", count=count, invisible_s=invisible_s)["messages"])
        except Refused as error:
            # The Python client receives before the endpoint has its settings; the real proxy then
            # answers with a NullPointerException, and ours says that it has none.
            if "getSubscription" in error.text or error.code == Code.UNRECOGNIZED_CLIENT_TYPE:
                return []
            raise

    def ack(self, message: Line) -> None:
        """Acknowledge a received message."""
        self.ask("ack", number=message["number"])

    def hide(self, message: Line, invisible_s: int) -> None:
        """Change the invisible time of a received message."""
        self.ask("hide", number=message["number"], invisible_s=invisible_s)

    def close(self) -> None:
        """Shut down what was started, and forget events that nobody asked for."""
        if self._listens:
            # A push consumer ends with its last long poll: with Java's, 20 s later.
            self.kill()
            return
        self.ask("close")
        self._events.clear()

    @property
    def is_running(self) -> bool:
        """False when the program has ended."""
        return self._child.is_running

    def kill(self) -> None:
        """End the program."""
        self._child.kill()
