"""The official Python client of RocketMQ 5, driven by JSON lines on stdin.

Its commands and answers are those of every program here: see ``tests.interop.kit.five_clients``.
It runs in a virtual environment of its own, and imports nothing of this repository.
"""

import json
import sys
import threading
from typing import Any, Final

from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
    SimpleConsumer,
    TransactionChecker,
    TransactionResolution,
)
from rocketmq.grpc_protocol import FilterType
from rocketmq.v5.exception import ClientException

Line = dict[str, Any]
REQUEST_TIMEOUT_S: Final = 30
AWAIT_S: Final = 5
RESOLUTIONS: Final = {
    "commit": TransactionResolution.COMMIT,
    "rollback": TransactionResolution.ROLLBACK,
}
_lock = threading.Lock()


def say(line: Line) -> None:
    with _lock:
        print(json.dumps(line), flush=True)


def described(message: Message) -> Line:
    return {
        "id": message.message_id,
        "body": message.body.decode(),
        "tag": message.tag or "",
        "keys": sorted(message.keys),
        "properties": dict(message.properties),
        "group": message.message_group or "",
        "attempt": message.delivery_attempt,
    }


def expression(command: Line) -> FilterExpression:
    kind = FilterType.SQL if command["sql"] else FilterType.TAG
    return FilterExpression(command["filter"], kind)


class Checker(TransactionChecker):
    """Tells of every question about a transaction, and gives the same answer to all."""

    def __init__(self, answer: str) -> None:
        self._answer = answer

    def check(self, message: Message) -> Any:
        say({"event": "checked", **described(message)})
        return RESOLUTIONS[self._answer]


class Listener(MessageListener):
    """Tells of every message, and refuses its first deliveries."""

    def __init__(self, failures: int) -> None:
        self._failures = failures

    def consume(self, message: Message) -> ConsumeResult:
        say({"event": "message", **described(message)})
        is_refused = message.delivery_attempt <= self._failures
        return ConsumeResult.FAILURE if is_refused else ConsumeResult.SUCCESS


class Client:
    """What one scenario has started, and one method for each command."""

    def __init__(self, endpoint: str) -> None:
        self._configuration = ClientConfiguration(
            endpoint, Credentials(), request_timeout=REQUEST_TIMEOUT_S
        )
        self._started: list[Any] = []
        self._producer: Any = None
        self._consumer: Any = None
        self._received: list[Message] = []

    def _start(self, client: Any) -> Any:
        client.startup()
        self._started.append(client)
        return client

    def produce(self, command: Line) -> Line:
        checker = Checker(command["check"]) if command["check"] else None
        topics = command["topics"]
        self._producer = self._start(Producer(self._configuration, topics, checker))
        return {}

    def send(self, command: Line) -> Line:
        message = Message()
        message.topic = command["topic"]
        message.body = command["body"].encode()
        if command["tag"]:
            message.tag = command["tag"]
        for key in command["keys"]:
            # Its setter takes one key, and adds it.
            message.keys = key
        for name, value in command["properties"].items():
            message.add_property(name, value)
        if command["group"]:
            message.message_group = command["group"]
        if command["deliver_s"]:
            message.delivery_timestamp = command["deliver_s"]
        if not command["end"]:
            receipt = self._producer.send(message)
            return {"id": receipt.message_id, "handle": receipt.recall_handle or ""}
        transaction = self._producer.begin_transaction()
        receipt = self._producer.send(message, transaction)
        if command["end"] == "commit":
            transaction.commit()
        elif command["end"] == "rollback":
            transaction.rollback()
        return {"id": receipt.message_id, "handle": ""}

    def recall(self, command: Line) -> Line:
        return {"id": self._producer.recall_message(command["topic"], command["handle"])}

    def consume(self, command: Line) -> Line:
        subscriptions = {command["topic"]: expression(command)}
        self._consumer = self._start(
            SimpleConsumer(self._configuration, command["group"], subscriptions, AWAIT_S)
        )
        return {}

    def receive(self, command: Line) -> Line:
        messages = self._consumer.receive(command["count"], command["invisible_s"]) or []
        first = len(self._received)
        self._received += messages
        return {
            "messages": [
                {"number": number, **described(message)}
                for number, message in enumerate(messages, first)
            ]
        }

    def ack(self, command: Line) -> Line:
        self._consumer.ack(self._received[command["number"]])
        return {}

    def hide(self, command: Line) -> Line:
        message = self._received[command["number"]]
        self._consumer.change_invisible_duration(message, command["invisible_s"])
        return {}

    def listen(self, command: Line) -> Line:
        subscriptions = {command["topic"]: expression(command)}
        listener = Listener(command["failures"])
        self._start(PushConsumer(self._configuration, command["group"], listener, subscriptions))
        return {}

    def close(self, _: Line) -> Line:
        while self._started:
            self._started.pop().shutdown()
        self._received.clear()
        return {}


def main() -> None:
    client = Client(sys.argv[1])
    say({"event": "ready"})
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(client, command["do"])(command)
        except ClientException as error:
            answer = {"error": {"code": error.code, "text": str(error)}}
        say({"re": command["re"], **answer})


if __name__ == "__main__":
    main()
